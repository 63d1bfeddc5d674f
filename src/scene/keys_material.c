// SPDX-License-Identifier: Apache-2.0
// The keys of materials: laws and their parameters. Which keys belong to which law is in
// scene/parse_material.c; the equations are in docs/materials.md.
#include "describe/scene.h"
#include "scene/schema.h"

#define PRESSURE(key, text)                                                                                            \
    {                                                                                                                  \
        .name = (key), .kind = TD_KEY_QUANTITY, .dim = TD_DIM_PRESSURE, .doc = (text)                                  \
    }
#define PLAIN(key, text)                                                                                               \
    {                                                                                                                  \
        .name = (key), .kind = TD_KEY_QUANTITY, .doc = (text)                                                          \
    }

static const tdChoice law_choices[] = {
    {"linear", TD_LAW_LINEAR, "small strain and small rotation", NULL},
    {"corotational", TD_LAW_COROTATIONAL, "small strain, large rotation, exact polar rotation", NULL},
    {"corotational_lagged", TD_LAW_COROTATIONAL_LAGGED,
     "corotational with the rotation of the step's start: quadratic energy in a step", NULL},
    {"stvk", TD_LAW_STVK, "St. Venant-Kirchhoff: large rotation, moderate strain, soft in compression", NULL},
    {"neo_hookean", TD_LAW_NEO_HOOKEAN, "compressible neo-Hookean: large strain; `mu`, the shear modulus", NULL},
    {"mooney_rivlin", TD_LAW_MOONEY_RIVLIN, "rubber to moderate stretch; `c10`, `c01`", NULL},
    {"ogden", TD_LAW_OGDEN, "rubber by powers of the principal stretches; `terms`", NULL},
    {"arruda_boyce", TD_LAW_ARRUDA_BOYCE, "rubber of eight chains that stiffen; `mu`, `lambda_m`", NULL},
    {"veronda_westmann", TD_LAW_VERONDA_WESTMANN, "soft tissue, exponential; `c1`, `c2`", NULL},
    {"costa", TD_LAW_COSTA,
     "muscle with fibres and sheets, exponential and orthotropic; `c`, the six `b_..`, `fibre` and `sheet`", NULL},
    {0},
};

const char *td_scene_law(tdLawKind law)
{
    for (const tdChoice *c = law_choices; c->name != NULL; c++)
        if (c->value == (int)law)
            return c->name;
    return "";
}

static const tdChoice volumetric_choices[] = {
    {"square", TD_VOLUMETRIC_SQUARE, "κ/2 (J - 1)²", NULL},
    {"log", TD_VOLUMETRIC_LOG, "κ/2 ln(J)²", NULL},
    {"mixed", TD_VOLUMETRIC_MIXED, "κ/2 ((J² - 1)/2 - ln J)", NULL},
    {0},
};

static const tdKey term_keys[] = {
    {.name = "mu",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_PRESSURE,
     .required = true,
     .doc = "modulus μ of the term; together they are the shear modulus at small strain"},
    {.name = "alpha", .kind = TD_KEY_QUANTITY, .required = true, .doc = "exponent α of the stretches, not 0"},
    {0},
};
const tdSchema td_schema_term = {
    .title = "terms",
    .doc = "The terms of an Ogden material, Σ 2μ/α² (λ1^α + λ2^α + λ3^α - 3): the form of Abaqus and CalculiX. Ogden's "
           "own "
           "form Σ μ'/α (...) has μ = α μ'/2.",
    .example = "terms: [{mu: 0.6 MPa, alpha: 1.3}, {mu: 10 kPa, alpha: -2}]",
    .keys = term_keys,
};

static const tdKey viscoelastic_keys[] = {
    {.name = "modulus",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_OPEN,
     .lo = 0,
     .hi = 1,
     .required = true,
     .doc = "fraction of the instantaneous stiffness that relaxes in this time; all fractions together < 1"},
    {.name = "time",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_TIME,
     .range = TD_RANGE_POSITIVE,
     .required = true,
     .doc = "relaxation time"},
    {0},
};
const tdSchema td_schema_viscoelastic = {
    .title = "viscoelastic",
    .doc = "A Prony series: the stress that follows a sudden strain decays as 1 - Σ g (1 - exp(-t/τ)), `modulus` "
           "being g and `time` τ. The material's constants are the instantaneous ones, before it relaxes.",
    .example = "viscoelastic: [{modulus: 0.3, time: 0.1 s}, {modulus: 0.2, time: 2 s}]",
    .keys = viscoelastic_keys,
};

static const tdKey material_keys[] = {
    {.name = "law", .kind = TD_KEY_CHOICE, .choices = law_choices, .required = true, .doc = "constitutive law"},
    {.name = "young",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_PRESSURE,
     .range = TD_RANGE_POSITIVE,
     .doc = "Young's modulus; with `poisson`. All laws but costa"},
    {.name = "poisson",
     .kind = TD_KEY_QUANTITY,
     .range = TD_RANGE_OPEN,
     .lo = -1,
     .hi = 0.5,
     .doc = "Poisson's ratio; with `young`, or beside a law's own parameters instead of `bulk`. All laws but "
            "costa"},
    {.name = "lambda",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_PRESSURE,
     .doc = "first Lamé constant, > -2/3 `mu`; with `mu`, instead of `young` and `poisson`: linear, corotational, "
            "corotational_lagged, stvk, neo_hookean"},
    {.name = "mu",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_PRESSURE,
     .range = TD_RANGE_POSITIVE,
     .doc = "shear modulus; with `lambda`, or neo_hookean's and arruda_boyce's own parameter"},
    {.name = "bulk",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_PRESSURE,
     .range = TD_RANGE_POSITIVE,
     .doc = "bulk modulus κ, beside a law's own parameters"},
    {.name = "volumetric",
     .kind = TD_KEY_CHOICE,
     .choices = volumetric_choices,
     .standard = "square",
     .doc = "energy of a change of volume, for neo_hookean and the laws after it"},
    PRESSURE("c10", "mooney_rivlin: factor of I1 - 3; `c10` + `c01` is half the shear modulus"),
    PRESSURE("c01", "mooney_rivlin: factor of I2 - 3"),
    {.name = "terms",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_term,
     .least = 1,
     .most = TD_OGDEN_TERMS,
     .doc = "ogden: one to six terms"},
    PLAIN("lambda_m", "arruda_boyce: stretch at which the chains lock"),
    PRESSURE("c1", "veronda_westmann: modulus"),
    PLAIN("c2", "veronda_westmann: exponent"),
    PRESSURE("c", "costa: modulus"),
    PLAIN("b_ff", "costa: exponent of the strain along the fibre"),
    PLAIN("b_ss", "costa: along the sheet"),
    PLAIN("b_nn", "costa: across the sheet"),
    PLAIN("b_fs", "costa: shear of fibre and sheet"),
    PLAIN("b_fn", "costa: shear of fibre and normal"),
    PLAIN("b_sn", "costa: shear of sheet and normal"),
    {.name = "fibre",
     .kind = TD_KEY_VECTOR,
     .doc = "costa: direction of the fibres in the placed body, of any length; `transform` does not turn it"},
    {.name = "sheet",
     .kind = TD_KEY_VECTOR,
     .doc = "costa: direction in the sheet; its component across the fibre counts; `transform` does not turn it"},
    {.name = "viscoelastic",
     .kind = TD_KEY_LIST,
     .schema = &td_schema_viscoelastic,
     .least = 1,
     .most = TD_PRONY_TERMS,
     .doc = "how its stress relaxes: stvk, neo_hookean and the laws after it"},
    {.name = "density",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_DENSITY,
     .range = TD_RANGE_POSITIVE,
     .either = 'm',
     .standard_doc = "required, or `total_mass`, unless the scene is static and without gravity",
     .doc = "mass per volume at rest"},
    {.name = "total_mass",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_MASS,
     .range = TD_RANGE_POSITIVE,
     .either = 'm',
     .doc = "mass of the whole body; what its `materials` and membranes leave of it is spread evenly over the rest"},
    {0},
};
const tdSchema td_schema_material = {
    .title = "material",
    .doc = "A law, its constants and the mass. The constants are `young` and `poisson`, or `lambda` and `mu`, or "
           "the law's own parameters with `bulk` or `poisson`: beside a law's own parameters `poisson` sets the bulk "
           "modulus from the shear modulus at small strain, κ = 2μ(1 + ν)/(3(1 - 2ν)). The laws from neo_hookean on "
           "split the energy into a part free of volume change and `volumetric`. [materials.md](materials.md) has the "
           "equations.",
    .example = "material: {law: mooney_rivlin, c10: 80 kPa, c01: 20 kPa, bulk: 10 MPa, density: 1.07 g/cm^3}",
    .keys = material_keys,
};

static const tdChoice part_choices[] = {
    {"volume", TD_PART_VOLUME, "elements: tetrahedra or hexahedra, or the triangles of a plane body", NULL},
    {"membrane", TD_PART_MEMBRANE, "triangles as a skin without bending stiffness, of `thickness`", NULL},
    {0},
};
static const tdKey part_keys[] = {
    {.name = "group",
     .kind = TD_KEY_TEXT,
     .either = 's',
     .required = true,
     .doc = "group of the mesh that it is for; each one once"},
    {.name = "box",
     .kind = TD_KEY_BOX,
     .dim = TD_DIM_LENGTH,
     .either = 's',
     .required = true,
     .doc = "instead of a group: elements whose centre is in the box; for a membrane, boundary faces with all nodes in "
            "it"},
    {.name = "sphere",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_sphere,
     .either = 's',
     .required = true,
     .doc = "the same of a sphere"},
    {.name = "plane",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_plane,
     .either = 's',
     .required = true,
     .doc = "membrane: faces of the boundary that lie on a plane"},
    {.name = "side",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_side,
     .either = 's',
     .required = true,
     .doc = "membrane: faces of the outer surface, of walls of cavities, or in one direction"},
    {.name = "part",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_connected,
     .either = 's',
     .required = true,
     .doc = "elements of a connected part of the mesh; of a membrane, the faces of its boundary"},
    {.name = "all",
     .kind = TD_KEY_BOOL,
     .either = 's',
     .required = true,
     .doc = "membrane: `true`: the whole boundary"},
    {.name = "nodes",
     .kind = TD_KEY_NUMBERS,
     .least = 0,
     .most = INT32_MAX,
     .either = 's',
     .required = true,
     .doc = "elements, or faces of the boundary, all of whose nodes are listed"},
    {.name = "element", .kind = TD_KEY_CHOICE, .choices = part_choices, .standard = "volume", .doc = "what is chosen"},
    {.name = "thickness",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .standard_doc = "required for a membrane",
     .doc = "thickness of a membrane at rest"},
    {0},
};
const tdSchema td_schema_part = {
    .title = "materials",
    .doc = "Parts of a body that are of another material than its `material`, and membranes on it.",
    .example = "materials:\n"
               "  - {box: [[0, 0, 0], [10, 10, 10]], law: stvk, young: 1 MPa, poisson: 0.3, density: 1100}\n"
               "  - {group: stiff, law: stvk, young: 10 MPa, poisson: 0.3, density: 1100}\n"
               "  - {group: skin, element: membrane, thickness: 0.5 mm, law: neo_hookean, mu: 1 MPa, poisson: 0.49, "
               "density: 1000}",
    .keys = part_keys,
    .also = &td_schema_material,
};
