# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# # Your own finger: from CAD to control
#
# A finger is drawn as geometry, meshed, given a material from measured stresses, reduced so that it runs in real time,
# and steered so that its tip follows a path. Geometry here is a text for gmsh; a STEP file from a CAD program goes the
# same way.

# %%
import subprocess
from pathlib import Path

import numpy as np

import tendril

Path("finger.geo").write_text("""
SetFactory("OpenCASCADE");
Box(1) = {0, -8, 0, 80, 16, 14};
Cylinder(2) = {25, -9, 14, 0, 18, 0, 5};  // two notches, where it bends
Cylinder(3) = {52, -9, 14, 0, 18, 0, 5};
BooleanDifference{ Volume{1}; Delete; }{ Volume{2, 3}; Delete; }
""")
subprocess.run([tendril.program(), "mesh", "finger.geo", "-o", "finger.msh", "--size", "6", "--quiet"], check=True,
               stdout=subprocess.DEVNULL)  # fmt: skip

# %% [markdown]
# The material from a tensile test: nominal stress against stretch. The law that explains the points best for the
# number of its parameters comes first.

# %%
stretch = np.array([1.05, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0])
stress = np.array([10.5, 20.2, 37.4, 52.6, 79.1, 102.0, 132.0]) * 1e3  # [Pa]
fits = tendril.fit(stretch=stretch, stress=stress, mode="uniaxial", law="neo_hookean")
print(fits)
print(fits.best.material)
young = fits.best.young

# %% [markdown]
# The scene: two cables along the back, whose pull closes or opens the finger.

# %%
scene = tendril.Scene(
    units={"length": "mm", "mass": "kg", "time": "s"}, gravity=[0, 0, "-9.81 m/s^2"], time_step="10 ms", steps=100,
    folder=".",
)  # fmt: skip
scene.add(
    "bodies", name="finger", mesh="finger.msh", damping={"mass": "20 1/s"}, fixed=[{"box": [[-1, -9, -1], [1, 9, 15]]}],
    material={"law": "neo_hookean", "young": f"{young:.6g} Pa", "poisson": 0.45, "density": "1.07 g/cm^3"},
)  # fmt: skip
for name, z in (("close", 2), ("open", 8)):
    scene.add("actuators", name=name, type="cable", body="finger", drive="force", range=[0, "1.5 N"],
              path=[[75, 0, z], [40, 0, z], [0, 0, z]])  # fmt: skip
scene["effectors"] = [{"name": "tip", "body": "finger", "point": [80, 0, 7], "axes": "z"}]
scene["probes"] = [{"name": "tip", "body": "finger", "point": [80, 0, 7]}]
scene["reduction"] = {"samples": "grid", "levels": 3, "steps_between": 2, "pod_tolerance": 1e-3, "ecsw_tolerance": 0.02}
scene["validation"] = {"random": {"steps": 6, "moves": 2, "seed": 1}}
model = scene.model()
print(model)

# %% [markdown]
# Reduced, it has a handful of coordinates.

# %%
got = tendril.reduce(scene, "finger.h5", accept=True)
reduced = scene.model(rom="finger.h5")
print(f"{model.dofs} coordinates became {reduced.dofs}; {got.rid_elements} of {got.elements} elements stand for all")
print(f"error at places that it was not trained on: {got.held_out_error:.1%}")

# %% [markdown]
# Control: the tip is given targets, and the cables are found in each step.

# %%
state = reduced.state()
start = state.effector("tip")
errors = []
for k in range(60):
    target = start + [0, 0, -3e-3 * min(1, k / 30)]
    state.set_target("tip", target)
    state.step()
    errors.append(np.linalg.norm((state.effector("tip") - target)[2:]))
print("pulls [N]:", [round(state.actuation(a.name).effort, 2) for a in reduced.actuators])
print(f"height of the tip is off by {1e3 * errors[-1]:.3f} mm at the end")
assert errors[-1] < 5e-4
tendril.write_png("finger.png", state.render(640, 360, azimuth=-80))
