// SPDX-License-Identifier: Apache-2.0
// From a checked scene to a model: meshes are read and placed, names resolved, tables built.
#pragma once
#include "body/soft.h"
#include "core/parts.h"
#include "mesh/locate.h"
#include "mesh/shape.h"
#include "mesh/topology.h"

/// What the compilation of one body hands around.
typedef struct tdBodyWork
{
    tdModel *model;
    const tdSceneBody *given;
    const tdSettings *settings;
    tdSoft *soft;
    tdArena scratch;
    bool *chosen;         ///< by node, for the moment only
    tdSurface surface;    ///< boundary of the volume
    int n_lists;          ///< what the body is made of
    tdElementList *lists; ///< in scratch
    int index;
    int64_t n_couplings, couplings_capacity;
    tdBlockCells *couplings; ///< nodes that constraints couple, lists in scratch
} tdBodyWork;

/// compile_body.c: the mesh, supports, loads and tables of one soft body.
tdStatus td_compile_soft(tdModel *model, int index, const tdSettings *settings, tdError *error);
/// compile_material.c: which elements are made of what.
tdStatus td_compile_materials(tdBodyWork *work, tdError *error);
/// Whether a body without supports may be held by what it leans on or hangs from: contact, attachments, rods.
static inline bool td_compile_holds_others(const tdScene *scene)
{
    bool rods = false;
    for (int i = 0; i < scene->n_couplings; i++)
        rods = rods || scene->couplings[i].n_terms == 0;
    return scene->contact.line > 0 || scene->n_attachments > 0 || rods;
}

bool td_body_is_flat(const tdBodyWork *work); ///< made of triangles only
/// compile_load.c; the blocks of the matrix that a pressure adds to are found when the pattern is there.
tdStatus td_compile_loads(tdBodyWork *work, tdError *error);
void td_compile_pressure_blocks(tdSoft *soft);
/// The share of each node in the area of the chosen faces.
tdStatus td_compile_face_shares(tdBodyWork *work, const tdSelect *select, const char *field, double *share,
                                tdError *error);

/// compile_adrift.c: bodies that nothing holds, for training. Six held coordinates, of nodes that w->chosen has; after
/// the tables are there: no weight, and loads in balance.
void td_compile_pin(tdBodyWork *work);
tdStatus td_compile_adrift(tdBodyWork *work, tdError *error);

/// A material point as a weighted mean of nodes.
typedef struct tdMaterialPoint
{
    int n;
    int32_t nodes[TD_SHAPE_NODES];
    double weights[TD_SHAPE_NODES];
} tdMaterialPoint;
/// What is there while a model is compiled, and not later.
typedef struct tdCompileWork
{
    const tdSettings *settings;
    tdLocator *locators; ///< by body, made when the first point is looked for
} tdCompileWork;

/// A point that a scene gives by its place, and what it is of, for messages.
typedef struct tdGivenPoint
{
    const double *at; ///< [m], placed rest shape
    double snap;      ///< how far it may be from the body [m]; NAN: the body's `snap`, or TD_SNAP
    int line;
    const char *field;
} tdGivenPoint;

/// Points of one item that were moved onto the body.
typedef struct tdSnapped
{
    int64_t points;        ///< that were looked for
    int64_t moved;         ///< by more than TD_SNAP_TOLD of an edge
    double distance, edge; ///< of the farthest: by how much, and the mean edge of the element that took it [m]
    int64_t number;        ///< of it, from 0
    double at[3];
} tdSnapped;

#define TD_SNAP      0.5  // of the mean edge of the nearest element: how far outside of it a point may be
#define TD_SNAP_TOLD 0.01 // of it: from here on it is told; below, it is how numbers are rounded and curves drawn

/// compile.c: the point of a soft body nearest to a given one; farther than it may be is an error. snapped: adds to it;
/// may be NULL.
tdStatus td_compile_point(const tdModel *model, int body, const tdGivenPoint *given, tdMaterialPoint *out,
                          tdSnapped *snapped, tdError *error);
/// Warns of points that were moved.
void td_compile_tell_snapped(const tdModel *model, int body, const tdSnapped *snapped, int line, const char *field);
/// The locator of a soft body; NULL: no memory.
const tdLocator *td_compile_locator(const tdModel *model, int body, tdError *error);

/// The same for every kind of body. part: of a body that has parts, NULL the nearest; slack: of its size, how far from
/// a part the point may be.
tdStatus td_compile_body_point(const tdModel *model, int body, const char *part, double slack,
                               const tdGivenPoint *given, tdMaterialPoint *out, tdSnapped *snapped, tdError *error);

/// compile_attach.c: makes the point that an element carries nearest to p into the one at p, as if the element reached
/// there: where it turns, the point turns with it. False: a flat one does not reach. Either way *distance is the gap.
bool td_compile_extend(const tdMesh *mesh, tdMaterialPoint *point, const double p[3], double *distance);

/// compile_articulated.c: a rigid or articulated body.
tdStatus td_compile_guided(tdModel *model, int index, const tdSettings *settings, tdError *error);
tdStatus td_compile_articulated(tdModel *model, int index, const tdSettings *settings, tdError *error);

/// Triangles of a soft body that touch.
typedef struct tdTouchSurface
{
    int64_t n_nodes;    ///< in the array of positions
    const double *rest; ///< 3 n_nodes
    int64_t n_tris;     ///< that meet others
    int64_t n_walls;    ///< after them: walls of cavities, which meet nothing but themselves
    const int32_t *tris;
    int32_t *start, *node; ///< where it is not made of nodes of the mesh: those that carry each of its nodes; else NULL
    double *weight;
    double error; ///< largest distance from the surface of the mesh [m]; NAN: it is that
} tdTouchSurface;
/// triangles.c: a surface file of a body, scaled and placed as its mesh is, nodes at one place merged. *mesh is
/// zero-initialized and freed by the caller.
tdStatus td_surface_read(const tdModel *model, int body, const char *path, int line, const char *field, tdMesh *mesh,
                         tdError *error);
/// Triangles of a mesh, all or of a group, quadrilaterals cut in two: how many at most, and which; returns how many.
int64_t td_surface_most(const tdMesh *mesh, const tdGroup *group);
int64_t td_surface_list(const tdMesh *mesh, const tdGroup *group, int32_t *tris);
/// Turns triangles outwards, or says why they enclose no volume, in the scene's unit; "": they do.
tdStatus td_surface_encloses(const tdModel *model, int64_t n_nodes, const double *x, int64_t n_tris, int32_t *tris,
                             char *reason, size_t size, tdError *error);

/// compile_surface.c: when actuators are complete. What it makes lives in scratch, but for start, node and weight.
tdStatus td_compile_touch_surface(tdModel *model, int body, tdArena *scratch, tdTouchSurface *out, tdError *error);

/// compile_actuator.c: before the bodies, with each body (points, and what its matrix must have room for), after them.
tdStatus td_compile_actuators_begin(tdModel *model, tdError *error);
tdStatus td_compile_body_points(tdBodyWork *work, tdError *error);
tdStatus td_compile_actuators_end(tdModel *model, tdError *error);
/// compile_tool.c: when bodies and actuators are there.
tdStatus td_compile_tools(tdModel *model, tdError *error);
tdStatus td_compile_sensors(tdModel *model, tdError *error);
/// plausible.c: warns of what is hardly meant: densities, moduli, sizes, masses, gravity, steps. After the bodies.
void td_compile_plausible(const tdModel *model, const tdSettings *settings);
/// select.c: whether a place is in a box or a sphere, or on a plane; `size` of the mesh is what it may be off by.
double td_select_size(const tdMesh *mesh);
bool td_select_holds(const tdSelect *select, const double x[3], double size);
/// select.c: by node of the mesh, whether the selector chooses it. Choosing none is an error.
tdStatus td_select_nodes(const tdModel *model, const tdMesh *mesh, const tdSelect *select, const char *field,
                         bool *chosen, tdError *error);
/// select_side.c: by triangle of the mesh's boundary, whether a side holds it; whether a face with this outward normal
/// has its direction; by node, whether a connected part has it.
tdStatus td_select_triangles(const tdModel *model, const tdMesh *mesh, const tdSurface *surface, const tdSelect *select,
                             const char *field, bool *chosen, tdError *error);
bool td_select_faces(const tdSelect *select, const double normal[3]);
tdStatus td_select_side(const tdModel *model, const tdMesh *mesh, const tdSelect *select, const char *field,
                        bool *chosen, tdError *error);
tdStatus td_select_part(const tdModel *model, const tdMesh *mesh, const tdSelect *select, const char *field,
                        bool *chosen, tdError *error);
/// Index of an input by name, or -1 for NULL.
int td_compile_input(const tdModel *model, const char *name);
