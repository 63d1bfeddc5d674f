// SPDX-License-Identifier: Apache-2.0
// Keys of meshes that are made from numbers, and of bodies that are repeated.
#include "describe/scene.h"
#include "scene/schema.h"

static const tdKey torus_keys[] = {
    {.name = "major",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .required = true,
     .doc = "radius of the circle through the centres of the sections"},
    {.name = "minor",
     .kind = TD_KEY_QUANTITY,
     .dim = TD_DIM_LENGTH,
     .range = TD_RANGE_POSITIVE,
     .required = true,
     .doc = "radius of a section, smaller than `major`"},
    {.name = "sections",
     .kind = TD_KEY_INTEGER,
     .least = 3,
     .most = 100000,
     .required = true,
     .doc = "number of sections along the torus"},
    {.name = "around",
     .kind = TD_KEY_INTEGER,
     .least = 3,
     .most = 10000,
     .required = true,
     .doc = "points around a section"},
    {.name = "circles",
     .kind = TD_KEY_INTEGER,
     .least = 1,
     .most = 1000,
     .standard = "1",
     .doc = "concentric circles of points in a section of a mesh; a rigid shape has one"},
    {0},
};
const tdSchema td_schema_torus = {
    .title = "torus",
    .doc = "A torus about the z axis, centred: of tetrahedra as a mesh, its surface as a rigid shape.",
    .example = "mesh: {torus: {major: 60 mm, minor: 15 mm, sections: 30, around: 10}}",
    .keys = torus_keys,
};

static const tdChoice element_choices[] = {
    {"tetrahedra", TD_ELEMENTS_TETRAHEDRA, "linear tetrahedra, six to a cell", NULL},
    {"hexahedra", TD_ELEMENTS_HEXAHEDRA, "trilinear hexahedra, one to a cell", NULL},
    {0},
};
static const tdKey mesh_box_keys[] = {
    {.name = "box",
     .kind = TD_KEY_BOX,
     .dim = TD_DIM_LENGTH,
     .either = 'b',
     .required = true,
     .doc = "smallest and largest corner of a block"},
    {.name = "rectangle",
     .kind = TD_KEY_RECTANGLE,
     .dim = TD_DIM_LENGTH,
     .either = 'b',
     .required = true,
     .doc = "smallest and largest corner of a rectangle of triangles at z = 0"},
    {.name = "torus",
     .kind = TD_KEY_MAP,
     .schema = &td_schema_torus,
     .either = 'b',
     .required = true,
     .doc = "a torus of tetrahedra about the z axis"},
    {.name = "cells",
     .kind = TD_KEY_COUNTS,
     .least = 1,
     .most = 1000,
     .standard_doc = "required by a block and a rectangle",
     .doc = "number of cells along x, y and, for a block, z; 20 million in all at most"},
    {.name = "elements",
     .kind = TD_KEY_CHOICE,
     .choices = element_choices,
     .standard = "tetrahedra",
     .doc = "what the cells of a block are made of; those of a rectangle are two triangles each"},
    {0},
};
const tdSchema td_schema_mesh_box = {
    .title = "mesh",
    .doc =
        "A block, a rectangle or a torus that needs no mesh file. The sides of a block are the groups `xmin`, `xmax`, "
        "`ymin`, `ymax`, `zmin`, `zmax`, those of a rectangle `xmin` to `ymax`, that of a torus `surface`; all of its "
        "elements are the group `body`.",
    .example = "mesh: {box: [[0, 0, 0], [100, 10, 10]], cells: [20, 4, 4]}",
    .keys = mesh_box_keys,
};

static const tdKey repeat_keys[] = {
    {.name = "count", .kind = TD_KEY_INTEGER, .least = 1, .most = 10000, .required = true, .doc = "number of bodies"},
    {.name = "translate",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_LENGTH,
     .standard = "[0, 0, 0]",
     .doc = "from each to the next"},
    {.name = "rotate",
     .kind = TD_KEY_VECTOR,
     .dim = TD_DIM_ANGLE,
     .standard = "[0, 0, 0]",
     .doc = "of each against the one before, about fixed axes through its own origin, x first"},
    {0},
};
const tdSchema td_schema_repeat = {
    .title = "repeat",
    .doc = "Identical bodies: `link` becomes `link_1`, `link_2` and so on. The first stands where the transform places "
           "it. "
           "Selectors are in the world, as always, and the same for all.",
    .example = "bodies:\n"
               "  - name: link\n"
               "    mesh: {torus: {major: 60 mm, minor: 15 mm, sections: 30, around: 10}}\n"
               "    material: {law: corotational_lagged, young: 10 MPa, poisson: 0.4, density: 500 kg/m^3}\n"
               "    repeat: {count: 10, translate: [0, 0, -80 mm], rotate: [0, 0, 90 deg]}",
    .keys = repeat_keys,
};
