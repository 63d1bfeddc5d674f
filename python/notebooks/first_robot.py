# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # First robot
#
# A soft arm of silicone, held at one end, with a cable along its top: built in a few lines, simulated, looked at.

# %%
import numpy as np

import tendril

scene = tendril.Scene(time_step="10 ms", gravity=[0, 0, -9.81], steps=100)
scene.add(
    "bodies",
    name="arm",
    mesh={"box": [[0, 0, 0], [0.1, 0.02, 0.02]], "cells": [10, 2, 2]},
    material={"law": "neo_hookean", "young": "150 kPa", "poisson": 0.45, "density": "1.07 g/cm^3"},
    damping={"mass": 10},
    fixed=[{"group": "xmin"}],
)
scene.add(
    "actuators", name="top", type="cable", body="arm", drive="displacement", range=[0, "10 mm"],
    path=[[0.09, 0.01, 0.02], [0.05, 0.01, 0.02], [0, 0.01, 0.02]],
)  # fmt: skip
scene.add("probes", name="tip", body="arm", point=[0.1, 0.01, 0.01])
model = scene.model()
print(model)

# %% [markdown]
# A model never changes; what changes is a state. Inputs are in SI units: the cable is pulled by 6 mm.

# %%
state = model.state()
state.step(50)
sagged = state.probe("tip")
state.set_input("top", 6e-3)
state.step(100)
print("tip under its weight [mm]:", np.round(1e3 * sagged, 1))
print("tip, cable pulled [mm]:   ", np.round(1e3 * state.probe("tip"), 1))
print(f"force of the cable: {state.actuation('top').effort:.2f} N")

# %% [markdown]
# A picture needs no display. A recording is a page that plays by itself, and shows as such in a notebook.

# %%
tendril.write_png("arm.png", state.render(640, 360, azimuth=-70))

# %%
recording = tendril.Recording(model.state(), title="the arm is pulled")
recording.state.set_input("top", 6e-3)
for _ in range(40):
    recording.state.step()
    recording.add()
recording.save("arm.html")

# %% [markdown]
# Many at once: a batch of 64 arms of different stiffness, on all cores. `rollout` takes rows of inputs and gives rows of
# outputs.

# %%
batch = model.batch(64, outputs=["probe:tip", "effort:top"])
factors = np.linspace(0.5, 2, 64)
batch.set_parameter("young", factors)
rows = batch.rollout(np.full((1, 1), 4e-3), hold=60)
efforts = rows[:, -1, batch.slices["effort:top"]][:, 0]
print("softest, stiffest: %.2f N, %.2f N" % (efforts[0], efforts[-1]))
assert (np.diff(efforts) > 0).all()  # the stiffer, the harder to pull
