// SPDX-License-Identifier: Apache-2.0
#include "describe/together.h"

static const char *const names[TD_PARTS] = {"contact",
                                            "attachments and couplings",
                                            "inverse control",
                                            "nodes moved by an effort",
                                            "nodes moved by inverse control",
                                            "contact by nlcp",
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
    "what moves nodes by an effort or by inverse control needs the integrator backward_euler or static; change the "   \
    "method, or drive it by a motion"

#define GUIDED                                                                                                         \
    "inverse control does not know what nodes that it moves do to contacts; drive the translation or rotation by a "   \
    "motion, or move the body by actuators of another type"

#define REFERENCE "rk4 is for references of rigid bodies in free motion: "

static const struct
{
    tdPart a, b;
    const char *why;
} clashes[] = {
    {TD_PART_CONTACT, TD_PART_GUIDED, GUIDED},
    {TD_PART_CONTACT, TD_PART_UNDAMPED,
     "forces of contacts would alternate from step to step, because in this integrator a blow does not die "
     "away; " SETTLE},
    {TD_PART_BONDS, TD_PART_UNDAMPED,
     "forces of attachments would alternate from step to step, because in this integrator a blow does not die "
     "away; " SETTLE},
    {TD_PART_INVERSE, TD_PART_UNDAMPED,
     "inverse control would push and pull from step to step without end, because this integrator damps nothing that is "
     "that fast; " SETTLE},
    {TD_PART_MOVED, TD_PART_UNDAMPED, NODES},
    {TD_PART_GUIDED, TD_PART_UNDAMPED, NODES},
    {TD_PART_GUIDED, TD_PART_DAMPED, NODES},
    {TD_PART_COULOMB, TD_PART_GUIDED, GUIDED},
    {TD_PART_COULOMB, TD_PART_UNDAMPED,
     "forces of contacts would alternate from step to step, because in this integrator a blow does not die "
     "away; " SETTLE},
    {TD_PART_COULOMB, TD_PART_RK4, REFERENCE "it knows no contact; take backward_euler, or remove 'contact'"},
    {TD_PART_GUIDED, TD_PART_RK4, REFERENCE "it knows no inverse control; take backward_euler, or remove the targets"},
    {TD_PART_MOVED, TD_PART_DAMPED, NODES},
    {TD_PART_CONTACT, TD_PART_RK4, REFERENCE "it knows no contact; take backward_euler, or remove 'contact'"},
    {TD_PART_BONDS, TD_PART_RK4,
     REFERENCE "it knows no attachments and couplings; take backward_euler, or remove them"},
    {TD_PART_INVERSE, TD_PART_RK4, REFERENCE "it knows no inverse control; take backward_euler, or remove the targets"},
    {TD_PART_MOVED, TD_PART_RK4, REFERENCE "it knows no nodes that an effort moves; take backward_euler"},
    {TD_PART_GIVEN_EFFORT, TD_PART_RK4, REFERENCE "it knows no stops; take backward_euler, or remove the ranges"},
    {TD_PART_CABLE_FRICTION, TD_PART_RK4,
     REFERENCE "it knows no friction of cables; take backward_euler, or remove the friction"},
    {TD_PART_DISPLACEMENT, TD_PART_RK4,
     REFERENCE "it knows given efforts and servos only; drive the actuator by effort, give a joint's drive a stiffness "
               "or damping, or take backward_euler"},
    {TD_PART_SOFT, TD_PART_RK4, REFERENCE "soft bodies need an implicit method; take backward_euler"},
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
