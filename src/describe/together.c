// SPDX-License-Identifier: Apache-2.0
#include "describe/together.h"

static const char *const names[TD_PARTS] = {"contact",
                                            "attachments and couplings",
                                            "inverse control",
                                            "nodes moved by an effort",
                                            "nodes moved by inverse control",
                                            "contact by nlcp",
                                            "torsional and rolling friction",
                                            "sleeping bodies",
                                            "stops of a given effort",
                                            "friction of cables",
                                            "given displacements of actuators",
                                            "soft and reduced bodies",
                                            "backward_euler",
                                            "theta-methods and Newmark that damp",
                                            "midpoint, symplectic, undamped Newmark",
                                            "rk4",
                                            "static"};

#define SETTLE                                                                                                         \
    "take backward_euler or static, theta with 'theta' and 'theta_vq' above 0.5, or newmark with more than half of "   \
    "'gamma' as 'beta', e.g. gamma: 0.6, beta: 0.3025"

#define NODES                                                                                                          \
    "nodes moved by an effort or by inverse control need the integrator backward_euler or static; change the "         \
    "method, or drive it by a motion"

#define NO_TURNING "give the bodies 'contact: {torsional_friction: 0, rolling_friction: 0}'"

#define TURNING                                                                                                        \
    "inverse control does not account for torsional and rolling friction, whose limits follow from the forces that "   \
    "it "                                                                                                              \
    "chooses; " NO_TURNING

#define AWAKE                                                                                                          \
    "bodies sleep in steps of backward_euler with one linearization only; take that integrator without 'newton', or "  \
    "remove 'sleep'"

#define REFERENCE "rk4 computes reference solutions for rigid bodies in free motion: "

static const struct
{
    tdPart a, b;
    const char *why;
} clashes[] = {
    {TD_PART_CONTACT, TD_PART_UNDAMPED,
     "contact forces would oscillate from step to step, because this integrator does not damp impacts; " SETTLE},
    {TD_PART_BONDS, TD_PART_UNDAMPED,
     "attachment forces would oscillate from step to step, because this integrator does not damp impacts; " SETTLE},
    {TD_PART_INVERSE, TD_PART_UNDAMPED,
     "inverse control would oscillate from step to step, because this integrator does not damp fast motions; " SETTLE},
    {TD_PART_MOVED, TD_PART_UNDAMPED, NODES},
    {TD_PART_GUIDED, TD_PART_UNDAMPED, NODES},
    {TD_PART_GUIDED, TD_PART_DAMPED, NODES},
    {TD_PART_COULOMB, TD_PART_UNDAMPED,
     "contact forces would oscillate from step to step, because this integrator does not damp impacts; " SETTLE},
    {TD_PART_COULOMB, TD_PART_RK4, REFERENCE "it does not support contact; use backward_euler, or remove 'contact'"},
    {TD_PART_TURNING, TD_PART_INVERSE, TURNING},
    {TD_PART_TURNING, TD_PART_GUIDED, TURNING},
    {TD_PART_TURNING, TD_PART_COULOMB,
     "torsional and rolling friction are rows of the convex problem; take solver: sap, or " NO_TURNING},
    {TD_PART_TURNING, TD_PART_UNDAMPED,
     "contact forces would oscillate from step to step, because this integrator does not damp impacts; " SETTLE},
    {TD_PART_TURNING, TD_PART_RK4, REFERENCE "it does not support contact; use backward_euler, or remove 'contact'"},
    {TD_PART_TURNING, TD_PART_STATIC,
     "torsional and rolling friction resist a motion that goes on, which an equilibrium does not have; use "
     "backward_euler, or " NO_TURNING},
    {TD_PART_SLEEP, TD_PART_DAMPED, AWAKE},
    {TD_PART_SLEEP, TD_PART_UNDAMPED, AWAKE},
    {TD_PART_SLEEP, TD_PART_RK4, AWAKE},
    {TD_PART_SLEEP, TD_PART_STATIC, AWAKE},
    {TD_PART_GUIDED, TD_PART_RK4,
     REFERENCE "it does not support inverse control; use backward_euler, or remove the targets"},
    {TD_PART_MOVED, TD_PART_DAMPED, NODES},
    {TD_PART_CONTACT, TD_PART_RK4, REFERENCE "it does not support contact; use backward_euler, or remove 'contact'"},
    {TD_PART_BONDS, TD_PART_RK4,
     REFERENCE "it does not support attachments and couplings; use backward_euler, or remove them"},
    {TD_PART_INVERSE, TD_PART_RK4,
     REFERENCE "it does not support inverse control; use backward_euler, or remove the targets"},
    {TD_PART_MOVED, TD_PART_RK4, REFERENCE "it does not support nodes moved by an effort; use backward_euler"},
    {TD_PART_GIVEN_EFFORT, TD_PART_RK4,
     REFERENCE "it does not support stops; use backward_euler, or remove the ranges"},
    {TD_PART_CABLE_FRICTION, TD_PART_RK4,
     REFERENCE "it does not support cable friction; use backward_euler, or remove the friction"},
    {TD_PART_DISPLACEMENT, TD_PART_RK4,
     REFERENCE "it supports given efforts and servos only; drive the actuator by effort, give a joint's drive a "
               "stiffness or damping, or use backward_euler"},
    {TD_PART_SOFT, TD_PART_RK4, REFERENCE "soft bodies need an implicit method; use backward_euler"},
};

const char *td_part_name(tdPart part)
{
    return names[part];
}

const char *td_part_clash(tdPart a, tdPart b)
{
    for (size_t i = 0; i < sizeof clashes / sizeof clashes[0]; i++)
        if ((clashes[i].a == a && clashes[i].b == b) || (clashes[i].a == b && clashes[i].b == a))
            return clashes[i].why;
    return NULL;
}

void td_part_table(tdText *out)
{
    td_text_format(out, "| |");
    for (int b = TD_PARTS - 1; b > 0; b--)
        td_text_format(out, " %s |", names[b]);
    td_text_format(out, "\n|---|");
    for (int b = TD_PARTS - 1; b > 0; b--)
        td_text_format(out, "---|");
    for (int a = 0; a < TD_PART_BACKWARD_EULER; a++)
    {
        td_text_format(out, "\n| %s |", names[a]);
        for (int b = TD_PARTS - 1; b > 0; b--)
            td_text_format(out, " %s |", b <= a ? "" : td_part_clash((tdPart)a, (tdPart)b) != NULL ? "**no**" : "yes");
    }
    td_text_format(out, "\n");
}
