// SPDX-License-Identifier: Apache-2.0
// Keys of contact: of the scene, of its pairs and of single bodies.
#include "describe/scene.h"
#include "scene/schema.h"

#define PER_LENGTH ((tdDim){0, 1, -2, 0}) // N/m

static const tdChoice contact_solver_choices[] = {
    {"sap", TD_CONTACT_SAP, "convex, always converges: [theory](theory/contact.md)", NULL},
    {"nlcp", TD_CONTACT_NLCP,
     "Coulomb's law as it is, by Gauss-Seidel on impulses: no gap under sliding points and no creep, but convergence "
     "is not guaranteed, and cost grows with the square of the number of contacts; inverse control "
     "[pivots](theory/inverse.md) between modes",
     NULL},
    {0},
};

static const tdChoice sliding_choices[] = {
    {"convex", TD_SLIDING_CONVEX,
     "one convex problem; a sliding point keeps a gap of the friction coefficient times its displacement in a step",
     NULL},
    {"corrected", TD_SLIDING_CORRECTED,
     "solved again with that gap removed, until nothing changes: Coulomb's law, at two to five times the cost of the "
     "solver "
     "in steps in which something slides",
     NULL},
    {0},
};

static const tdKey exclude_keys[] = {
    {.name = "a", .kind = TD_KEY_NAME, .required = true, .doc = "a body"},
    {.name = "b", .kind = TD_KEY_NAME, .required = true, .doc = "another one, or the same with two links"},
    {.name = "link_a", .kind = TD_KEY_TEXT, .standard_doc = "all links", .doc = "only this link of a"},
    {.name = "link_b", .kind = TD_KEY_TEXT, .standard_doc = "all links", .doc = "only this link of b"},
    {0},
};
const tdSchema td_schema_exclude = {
    .title = "exclude",
    .doc = "Two bodies, or two links, that pass through each other.",
    .example = "contact:\n"
               "  exclude: [{a: finger, b: palm}, {a: robot, link_a: upper_arm, b: robot, link_b: forearm}]",
    .keys = exclude_keys,
};

static const tdChoice overlap_choices[] = {
    {"exempt", TD_OVERLAP_EXEMPT, "do not touch, which the log reports", NULL},
    {"meet", TD_OVERLAP_MEET, "are pushed apart", NULL},
    {0},
};

static const tdKey contact_keys[] = {
    {.name = "friction",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard = "0.5",
     .doc = "Coulomb coefficient of bodies that give none; a pair has the harmonic mean 2 a b / (a + b)"},
    {.name = "torsional_friction",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard = "0",
     .doc =
         "of rigid bodies and links that give none: largest torque of a point about its normal, over the force along "
         "it; a pair has the larger one"},
    {.name = "rolling_friction",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard = "0",
     .doc = "the same of the torque about the tangents, which stops what rolls"},
    {.name = "stiffness",
     .kind = TD_KEY_QUANTITY,
     .dim = PER_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "near-rigid: penetration relaxes in about one step",
     .doc = "stiffness of each contact point; a pair has the smaller one"},
    {.name = "dissipation",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_TIME,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard = "0",
     .doc = "time in which a penetration relaxes, beyond the time step; a pair has the longer one"},
    {.name = "margin",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "a hundredth of the size of the smallest body that moves",
     .doc = "distance below which points are tracked before they touch; grows with the speed of approach"},
    {.name = "softness",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_CLOSED,
     .lo = 1e-3,
     .hi = 10,
     .standard = "1",
     .doc = "β: a near-rigid point under a load yields by about (β h / 2π)² times load over the mass that moves with "
            "it; less than 1 where a light body carries many"},
    {.name = "stiction",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_CLOSED,
     .lo = 1e-9,
     .hi = 1,
     .standard = "1e-3",
     .doc = "σ: a body at rest on a slope creeps at about σ g times the time step"},
    {.name = "sleep",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_VELOCITY,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "no body sleeps",
     .doc = "rigid bodies that only weight and contact act on sleep, at almost no cost, once they and all that they "
            "touch have been slower than this for 0.2 s; see [contact](contact.md#sleep)"},
    {.name = "points",
     .kind = TD_KEY_INTEGER,
     .least = 0,
     .most = 32,
     .standard = "0",
     .doc = "n: contact also uses n x n points of each triangle of a surface, for large faces with few nodes"},
    {.name = "solver",
     .kind = TD_KEY_CHOICE,
     .choices = contact_solver_choices,
     .standard = "sap",
     .doc = "of the contact problem"},
    {.name = "sliding",
     .kind = TD_KEY_CHOICE,
     .choices = sliding_choices,
     .standard = "convex",
     .doc = "with `solver: sap`: how sliding points are treated"},
    {.name = "self",
     .kind = TD_KEY_BOOL,
     .standard = "false",
     .doc = "soft bodies can touch themselves, and links other links of their body (except their neighbours)"},
    {.name = "overlapping",
     .kind = TD_KEY_CHOICE,
     .choices = overlap_choices,
     .standard = "exempt",
     .doc = "with `self`: links of one body that overlap at the start"},
    {.name = "exclude",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_exclude,
     .most = 100000,
     .doc = "pairs of bodies, or of links, without contact"},
    {0},
};
const tdSchema td_schema_contact = {
    .title = "contact",
    .doc = "With this key, which may be an empty map, bodies touch: surfaces of soft bodies and shapes of links. Needs "
           "an integrator that damps, or `static`. Without it bodies pass through each other.",
    .example = "contact: {friction: 0.5, stiffness: 1e5 N/m, dissipation: 1 ms}",
    .keys = contact_keys,
};

static const tdKey body_contact_keys[] = {
    {.name = "friction",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard_doc = "that of the scene",
     .doc = "Coulomb coefficient"},
    {.name = "torsional_friction",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard_doc = "that of the scene",
     .doc = "links: largest torque about the normal, over the force along it"},
    {.name = "rolling_friction",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard_doc = "that of the scene",
     .doc = "links: the same about the tangents"},
    {.name = "stiffness",
     .kind = TD_KEY_QUANTITY,
     .dim = PER_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "that of the scene",
     .doc = "of each contact point"},
    {.name = "dissipation",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_TIME,
     .range = TD_RANGE_NOT_NEGATIVE,
     .standard_doc = "that of the scene",
     .doc = "relaxation time"},
    {.name = "points",
     .kind = TD_KEY_INTEGER,
     .least = 0,
     .most = 32,
     .standard_doc = "that of the scene",
     .doc = "n x n points of each triangle"},
    {.name = "self", .kind = TD_KEY_BOOL, .standard_doc = "that of the scene", .doc = "whether it meets itself"},
    {.name = "meets", .kind = TD_KEY_BOOL, .standard = "true", .doc = "`false`: it touches nothing"},
    {.name = "walls",
     .kind = TD_KEY_BOOL,
     .standard = "false",
     .doc =
         "`true`: walls of its cavities touch other bodies; otherwise only themselves, if the body has self-contact"},
    {.name = "surface",
     .kind = TD_KEY_TEXT,
     .standard_doc = "that of the mesh",
     .doc =
         "soft: file of the closed surface that touches, in the coordinates of the mesh: any that a mesh can be read "
         "from. Elements carry its nodes"},
    {.name = "nodes",
     .kind = TD_KEY_INTEGER,
     .least = 4,
     .most = 100000000,
     .standard_doc = "its whole surface",
     .doc = "soft: contact uses a coarser surface with this many of its nodes, as close to the original as possible"},
    {0},
};
const tdSchema td_schema_body_contact = {
    .title = "body-contact",
    .doc = "What differs from the scene's `contact`.",
    .example = "bodies:\n"
               "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true, contact: {friction: 0.8}}",
    .keys = body_contact_keys,
};
