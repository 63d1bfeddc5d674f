// SPDX-License-Identifier: Apache-2.0
// The surface of a soft body that touches: the boundary of its mesh without the walls of cavities, or one of the user's
// choice, from a file or by leaving nodes out.
//
// A wall is a closed part of the boundary inside of the body, all of which lies on the surface of a cavity that an
// actuator drives. Nothing from outside gets there, and following its nodes would cost as much as those of the skin.
#include "scene/compile.h"

#include "base/log.h"
#include "base/vector.h"
#include "constraint/constraint.h"
#include "contact/contact.h"
#include "mesh/decimate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NEAR 0.5 // edges: how far the wall of a cavity may be from the surface by which the cavity was given

// ---------------------------------------------------------------- walls

/// A closed part of the boundary inside of the body.
typedef struct innerPart
{
    double edge; ///< mean length [m]
    int64_t edges;
    bool wall; ///< of a cavity
    bool near; ///< the cavity that is looked at, so far
} innerPart;

static double distance(const double *a, const double *b)
{
    double u[3];
    td_subtract3(a, b, u);
    return sqrt(td_dot3(u, u));
}

static double mean_edge(int64_t n_tris, const int32_t *tris, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < 3 * n_tris; i++)
        sum += distance(x + 3 * (int64_t)tris[i], x + 3 * (int64_t)tris[i % 3 == 2 ? i - 2 : i + 1]);
    return n_tris > 0 ? sum / (double)(3 * n_tris) : 0;
}

// Marks the parts all of whose nodes are on the surface of a cavity.
static tdStatus match_cavity(const tdSoft *soft, const tdMeasure *cavity, const int32_t *part, int32_t n,
                             innerPart *parts, tdError *error)
{
    tdMesh mesh = {.n_nodes = cavity->n, .x = cavity->rest};
    mesh.cells[TD_CELL_TRI] = (tdCells){cavity->n_tris, cavity->n_tris, cavity->tris};
    tdLocator locator;
    TD_TRY(td_locator_make(&mesh, &locator, error));
    double edge = mean_edge(cavity->n_tris, cavity->tris, cavity->rest);
    for (int32_t p = 0; p < n; p++)
        parts[p].near = !parts[p].wall;
    for (int64_t i = 0; i < 3 * soft->surface_tris; i++)
    {
        innerPart *mine = part[i / 3] >= 0 ? &parts[part[i / 3]] : NULL;
        tdPlace place;
        if (mine != NULL && mine->near)
            mine->near = td_locator_find(&locator, soft->rest + 3 * (int64_t)soft->surface[i], &place) &&
                         place.distance <= NEAR * fmax(edge, mine->edge);
    }
    for (int32_t p = 0; p < n; p++)
        parts[p].wall = parts[p].wall || parts[p].near;
    td_locator_free(&locator);
    return TD_OK;
}

static bool is_cavity_of(const tdActuator *actuator, int body)
{
    return actuator->given->kind == TD_ACTUATOR_CAVITY && actuator->given->body == body;
}

// part[t] = -1 where triangle t is no wall.
static tdStatus find_walls(const tdModel *model, int body, tdArena *scratch, int32_t *part, tdError *error)
{
    const tdSoft *soft = model->bodies[body].soft;
    const tdSceneBody *given = &model->scene.bodies[body];
    int32_t n = 0;
    tdError inner = {0};
    tdStatus status = td_surface_inner(soft->n_nodes, soft->rest, soft->surface_tris, soft->surface, part, &n, &inner);
    if (status != TD_OK)
        return td_fail_at(
            error, status, model->scene.file, given->line, given->name,
            "walls of cavities cannot be distinguished from its skin: %s; or let both touch others by 'contact: "
            "{walls: true}'",
            inner.message);
    innerPart *parts = TD_TAKE(scratch, innerPart, n + 1);
    if (parts == NULL)
        return td_fail_memory(error, "the walls of cavities");
    for (int64_t t = 0; t < soft->surface_tris; t++)
        if (part[t] >= 0)
        {
            parts[part[t]].edge += 3 * mean_edge(1, soft->surface + 3 * t, soft->rest);
            parts[part[t]].edges += 3;
        }
    for (int32_t p = 0; p < n; p++)
        parts[p].edge /= (double)parts[p].edges;
    for (int a = 0; a < model->n_actuators; a++)
        if (is_cavity_of(&model->actuators[a], body))
            TD_TRY(match_cavity(soft, &model->actuators[a].measure, part, n, parts, error));
    for (int64_t t = 0; t < soft->surface_tris; t++)
        if (part[t] >= 0 && !parts[part[t]].wall)
            part[t] = -1;
    return TD_OK;
}

// ---------------------------------------------------------------- a surface of one's choice

#define FAR    0.05 // of the size of the body: how far from it nodes of a surface may be
#define COARSE 0.1  // the same: how far a coarser surface may be from its own
#define LEAST  1e-12

static tdStatus refuse(const tdModel *model, int body, const char *key, const char *why, tdError *error)
{
    const tdSceneBody *given = &model->scene.bodies[body];
    char field[200];
    snprintf(field, sizeof field, "%.150s.contact.%s", given->name, key);
    return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->contact.line, field, "%s", why);
}

// A coarser surface, of nodes of the mesh.
static tdStatus coarsen(const tdModel *model, int body, tdArena *scratch, tdTouchSurface *surface, tdError *error)
{
    int asked = model->scene.bodies[body].contact.nodes;
    int64_t n_tris = 0, nodes = 0;
    int32_t *tris = TD_TAKE(scratch, int32_t, 3 * surface->n_tris);
    if (tris == NULL)
        return td_fail_memory(error, "a coarser surface");
    TD_TRY(td_surface_decimate(surface->n_nodes, surface->rest, surface->n_tris, surface->tris, asked, tris, &n_tris,
                               &nodes, error));
    if (nodes > asked && n_tris < surface->n_tris)
    {
        char why[300];
        snprintf(why, sizeof why,
                 "the surface would fold with fewer than %lld nodes, and %d are requested; request as many, or give a "
                 "surface of your own by 'surface'",
                 (long long)nodes, asked);
        return refuse(model, body, "nodes", why, error);
    }
    surface->n_tris = n_tris;
    surface->tris = tris;
    return TD_OK;
}

static tdStatus bind_node(const tdModel *model, int body, const double p[3], tdMaterialPoint *out, tdError *error)
{
    const tdScene *scene = &model->scene;
    const tdLocator *locator = td_compile_locator(model, body, error);
    const tdGivenPoint given = {p, INFINITY, scene->bodies[body].contact.line, "contact.surface"}; // judged below
    if (locator == NULL)
        return TD_ERROR_MEMORY;
    TD_TRY(td_compile_point(model, body, &given, out, NULL, error));
    double distance, unit = scene->length_unit;
    double most = isnan(scene->bodies[body].snap) ? FAR * locator->size : scene->bodies[body].snap;
    bool reaches = td_compile_extend(&model->bodies[body].soft->mesh, out, p, &distance);
    char why[400];
    snprintf(why, sizeof why,
             "its node at (%g, %g, %g) is %g away from the body (in the scene's unit of length), and at most %g is "
             "allowed; move or scale the surface, or allow more by the body's 'snap'",
             p[0] / unit, p[1] / unit, p[2] / unit, distance / unit, most / unit);
    if (distance > most)
        return refuse(model, body, "surface", why, error);
    snprintf(why, sizeof why,
             "its node at (%g, %g, %g) is %g away from the body (in the scene's unit of length), and triangles carry "
             "only points that lie on them; move it there",
             p[0] / unit, p[1] / unit, p[2] / unit, distance / unit);
    return reaches || distance <= 1e-6 * locator->size ? TD_OK : refuse(model, body, "surface", why, error);
}

// Each node of a surface file as a weighted mean of the nodes of an element.
static tdStatus bind(tdModel *model, int body, tdArena *scratch, const tdMesh *mesh, tdTouchSurface *surface,
                     tdError *error)
{
    int64_t n = mesh->n_nodes;
    double *rest = TD_TAKE(scratch, double, 3 * n);
    surface->start = TD_TAKE(&model->arena, int32_t, n + 1);
    surface->node = TD_TAKE(&model->arena, int32_t, TD_SHAPE_NODES * n);
    surface->weight = TD_TAKE(&model->arena, double, TD_SHAPE_NODES *n);
    if (rest == NULL || surface->start == NULL || surface->node == NULL || surface->weight == NULL)
        return td_fail_memory(error, "the surface of a body");
    int32_t at = 0;
    for (int64_t i = 0; i < n; i++)
    {
        tdMaterialPoint point;
        TD_TRY(bind_node(model, body, mesh->x + 3 * i, &point, error));
        for (int k = 0; k < point.n; k++)
        {
            if (!(fabs(point.weights[k]) > LEAST))
                continue;
            for (int c = 0; c < 3; c++)
                rest[3 * i + c] += point.weights[k] * model->bodies[body].soft->rest[3 * (int64_t)point.nodes[k] + c];
            surface->node[at] = point.nodes[k];
            surface->weight[at++] = point.weights[k];
        }
        surface->start[i + 1] = at;
    }
    surface->n_nodes = n;
    surface->rest = rest;
    return TD_OK;
}

// Nodes that no triangle has would be followed for nothing.
static void drop_loose(tdMesh *mesh, int64_t n_tris, int32_t *tris, int32_t *number)
{
    int32_t n = 0;
    for (int64_t i = 0; i < 3 * n_tris; i++)
        number[tris[i]] = 1;
    for (int64_t i = 0; i < mesh->n_nodes; i++)
    {
        if (number[i] == 0)
            continue;
        memmove(mesh->x + 3 * (int64_t)n, mesh->x + 3 * i, 3 * sizeof(double));
        number[i] = n++;
    }
    for (int64_t i = 0; i < 3 * n_tris; i++)
        tris[i] = number[tris[i]];
    mesh->n_nodes = n;
}

static tdStatus take_file(tdModel *model, int body, tdArena *scratch, tdMesh *mesh, tdTouchSurface *surface,
                          tdError *error)
{
    const tdSceneBodyContact *given = &model->scene.bodies[body].contact;
    const tdSoft *soft = model->bodies[body].soft;
    char reason[400];
    TD_TRY(td_surface_read(model, body, given->surface, given->line, "contact.surface", mesh, error));
    int32_t *tris = TD_TAKE(scratch, int32_t, 3 * td_surface_most(mesh, NULL));
    int32_t *number = TD_TAKE(scratch, int32_t, mesh->n_nodes);
    if (tris == NULL || number == NULL)
        return td_fail_memory(error, "the surface of a body");
    int64_t n_tris = td_surface_list(mesh, NULL, tris);
    TD_TRY(td_surface_encloses(model, mesh->n_nodes, mesh->x, n_tris, tris, reason, sizeof reason, error));
    // What is made of triangles alone has a surface with a rim.
    tdSurfaceCheck own;
    TD_TRY(td_surface_check(soft->n_nodes, soft->rest, soft->surface_tris, soft->surface, &own, error));
    if (reason[0] != '\0' && own.closed)
        return refuse(model, body, "surface", reason, error);
    drop_loose(mesh, n_tris, tris, number);
    surface->n_tris = n_tris;
    surface->n_walls = 0;
    surface->tris = tris;
    return bind(model, body, scratch, mesh, surface, error);
}

// A file may be of a part of the body alone; what the user did not draw must be near.
static tdStatus judge(const tdModel *model, int body, const tdTouchSurface *surface, tdError *error)
{
    const tdLocator *locator = td_compile_locator(model, body, error);
    if (locator == NULL)
        return TD_ERROR_MEMORY;
    double unit = model->scene.length_unit, share = surface->error / locator->size;
    td_log(model->compile->settings, TD_LOG_INFO,
           "body '%s' touches by a surface of %lld triangles, at most %.3g m (%.2g %% of its size) from its own",
           model->bodies[body].name, (long long)surface->n_tris, surface->error, 100 * share);
    if (surface->start != NULL || share <= COARSE)
        return TD_OK;
    char why[300];
    snprintf(why, sizeof why,
             "a surface of %d nodes is up to %.3g away from that of the body (in the scene's unit of length), more "
             "than a tenth of the body's size; request more nodes",
             model->scene.bodies[body].contact.nodes, surface->error / unit);
    return refuse(model, body, "nodes", why, error);
}

static tdStatus choose(tdModel *model, int body, tdArena *scratch, tdTouchSurface *surface, tdError *error)
{
    const tdSceneBodyContact *given = &model->scene.bodies[body].contact;
    const tdTouchSurface own = *surface;
    tdMesh mesh = {0};
    if (given->surface == NULL && given->nodes == 0)
        return TD_OK;
    tdStatus status = given->surface != NULL ? take_file(model, body, scratch, &mesh, surface, error)
                                             : coarsen(model, body, scratch, surface, error);
    td_mesh_free(&mesh);
    TD_TRY(status);
    surface->n_walls = 0; // the walls are not what was chosen
    TD_TRY(td_surface_distance(own.rest, own.n_tris, own.tris, surface->rest, surface->n_tris, surface->tris,
                               &surface->error, error));
    return judge(model, body, surface, error);
}

// ---------------------------------------------------------------- together

// The boundary, walls of cavities last.
static tdStatus sort_walls(tdModel *model, int body, tdArena *scratch, tdTouchSurface *out, tdError *error)
{
    const tdSoft *soft = model->bodies[body].soft;
    int32_t *part = TD_TAKE(scratch, int32_t, soft->surface_tris);
    int32_t *tris = TD_TAKE(scratch, int32_t, 3 * soft->surface_tris);
    if (part == NULL || tris == NULL)
        return td_fail_memory(error, "the walls of cavities");
    TD_TRY(find_walls(model, body, scratch, part, error));
    int64_t at = 0;
    for (int pass = 0; pass < 2; pass++)
    {
        for (int64_t t = 0; t < soft->surface_tris; t++)
            if ((part[t] >= 0) == (pass == 1))
                memcpy(tris + 3 * at++, soft->surface + 3 * t, 3 * sizeof *tris);
        out->n_tris = pass == 0 ? at : out->n_tris;
    }
    out->tris = tris;
    out->n_walls = at - out->n_tris;
    return TD_OK;
}

tdStatus td_compile_touch_surface(tdModel *model, int body, tdArena *scratch, tdTouchSurface *out, tdError *error)
{
    const tdSoft *soft = model->bodies[body].soft;
    bool cavities = false;
    for (int a = 0; a < model->n_actuators; a++)
        cavities = cavities || is_cavity_of(&model->actuators[a], body);
    *out = (tdTouchSurface){.n_nodes = soft->n_nodes,
                            .rest = soft->rest,
                            .n_tris = soft->surface_tris,
                            .tris = soft->surface,
                            .error = NAN};
    if (cavities && !model->scene.bodies[body].contact.walls)
        TD_TRY(sort_walls(model, body, scratch, out, error));
    return choose(model, body, scratch, out, error);
}
