// SPDX-License-Identifier: Apache-2.0
// One rigid or articulated body: tables, the triangles it is drawn with, its servos.
#include "base/log.h"
#include "base/vector.h"
#include "body/guided.h"
#include "scene/compile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MANY 1000 // coordinates of one body: from here on a step takes long

static tdArticulated *rigid_of(const tdBodyWork *w)
{
    return w->model->bodies[w->index].data;
}

// ---------------------------------------------------------------- nodes and triangles

// What a link is drawn with: its visual shapes or, if it has none, those for contact.
static bool is_drawn(const tdTree *tree, const bool *visual, int s)
{
    return visual[tree->shapes[s].link] ? tree->shapes[s].drawn : tree->shapes[s].collides;
}

static tdStatus count_nodes(const tdBodyWork *w, const tdTree *tree, const bool *visual, int64_t *nodes, tdError *error)
{
    int64_t tris = 0;
    *nodes = 4 * (int64_t)tree->n_links;
    for (int s = 0; s < tree->n_shapes; s++)
    {
        int64_t n = 0, t = 0;
        td_shape_drawing_size(&tree->shapes[s].shape, &n, &t);
        *nodes += is_drawn(tree, visual, s) ? n : 0;
        tris += is_drawn(tree, visual, s) ? t : 0;
    }
    if (tris > TD_TREE_TRIS || *nodes > 4 * (int64_t)TD_TREE_TRIS)
        return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, w->given->line, "bodies",
                          "body '%s' is drawn with %lld triangles; %d are allowed", w->given->name, (long long)tris,
                          TD_TREE_TRIS);
    return TD_OK;
}

static void add_node(tdArticulated *rigid, int64_t at, int link, const double local[3])
{
    rigid->node_link[at] = link;
    memcpy(rigid->node_local + 3 * at, local, 3 * sizeof *local);
}

// Corners and triangles of one shape; its triangles are in the group of the link's name.
static bool add_shape(tdBodyWork *w, const tdTreeShape *shape, int group, int64_t *at)
{
    tdMesh *mesh = &w->soft->mesh;
    int64_t nodes = 0, tris = 0;
    td_shape_drawing_size(&shape->shape, &nodes, &tris);
    double *x = td_take((size_t)(3 * nodes + 1), sizeof *x);
    int32_t *tri = td_take((size_t)(3 * tris + 1), sizeof *tri);
    bool good = x != NULL && tri != NULL;
    if (good)
        td_shape_drawing(&shape->shape, x, tri);
    for (int64_t i = 0; i < nodes && good; i++)
    {
        double local[3];
        td_place(&shape->pose, x + 3 * i, local);
        add_node(rigid_of(w), *at + i, shape->link, local);
    }
    for (int64_t t = 0; t < tris && good; t++)
    {
        int32_t corner[3];
        for (int k = 0; k < 3; k++)
            corner[k] = (int32_t)*at + tri[3 * t + k];
        int64_t cell = mesh->cells[TD_CELL_TRI].count;
        good = td_mesh_add_cell(mesh, TD_CELL_TRI, corner) && td_mesh_group_add(mesh, group, TD_CELL_TRI, cell);
    }
    *at += nodes;
    free(x);
    free(tri);
    return good;
}

// Axes of a frame are short beside their link, so that they do not enlarge the body.
static void add_frames(tdBodyWork *w, int64_t nodes)
{
    tdArticulated *rigid = rigid_of(w);
    for (int64_t i = 4 * (int64_t)rigid->n_links; i < nodes; i++)
    {
        double *reach = &rigid->reach[rigid->node_link[i]];
        *reach = fmax(*reach, sqrt(td_dot3(rigid->node_local + 3 * i, rigid->node_local + 3 * i)));
    }
    for (int l = 0; l < rigid->n_links; l++)
    {
        double *reach = &rigid->reach[l];
        *reach = *reach > 0 ? TD_LINK_AXIS * *reach : 1e-2;
        for (int k = 0; k < 4; k++)
        {
            const double local[3] = {k == 1 ? *reach : 0, k == 2 ? *reach : 0, k == 3 ? *reach : 0};
            add_node(rigid, 4 * (int64_t)l + k, l, local);
        }
    }
}

// Nodes where they are at the start.
static tdStatus place_nodes(tdBodyWork *w, int64_t nodes, tdError *error)
{
    const tdArticulated *rigid = rigid_of(w);
    tdMesh *mesh = &w->soft->mesh;
    tdTreeWork work;
    if (!td_tree_work_take(&w->scratch, rigid, &work))
        return td_fail_memory(error, "an articulated body");
    td_tree_kinematics(rigid, rigid->start, rigid->reference, &work);
    for (int64_t i = 0; i < nodes; i++)
    {
        double x[3];
        td_place(&work.pose[rigid->node_link[i]], rigid->node_local + 3 * i, x);
        if (!td_mesh_add_node(mesh, x[0], x[1], x[2]))
            return td_fail_memory(error, "an articulated body");
    }
    return TD_OK;
}

static tdStatus build_shape(tdBodyWork *w, tdError *error)
{
    tdArena *arena = &w->model->arena;
    tdArticulated *rigid = rigid_of(w);
    const tdTree *tree = rigid->tree;
    tdSoft *soft = w->soft;
    int64_t nodes = 0, at = 4 * (int64_t)tree->n_links;
    bool *visual = TD_TAKE(&w->scratch, bool, tree->n_links);
    if (visual == NULL)
        return td_fail_memory(error, "an articulated body");
    for (int s = 0; s < tree->n_shapes; s++)
        visual[tree->shapes[s].link] = visual[tree->shapes[s].link] || tree->shapes[s].drawn;
    TD_TRY(count_nodes(w, tree, visual, &nodes, error));
    rigid->node_link = TD_TAKE(arena, int32_t, nodes);
    rigid->node_local = TD_TAKE(arena, double, 3 * nodes);
    rigid->reach = TD_TAKE(arena, double, tree->n_links);
    bool good = rigid->node_link != NULL && rigid->node_local != NULL && rigid->reach != NULL;
    int group = -1, last = -1;
    for (int s = 0; s < tree->n_shapes && good; s++)
    {
        if (!is_drawn(tree, visual, s))
            continue;
        if (tree->shapes[s].link != last)
            group = td_mesh_new_group(&soft->mesh, tree->links[last = tree->shapes[s].link].name, 2, 0);
        good = group >= 0 && add_shape(w, &tree->shapes[s], group, &at);
    }
    if (!good)
        return td_fail_memory(error, "an articulated body");
    add_frames(w, nodes);
    TD_TRY(place_nodes(w, nodes, error));
    soft->n_nodes = (int32_t)nodes;
    soft->rest = soft->mesh.x;
    return TD_OK;
}

// What output and pictures ask of a body: triangles as elements, the surface, the mass.
static tdStatus describe_shape(tdBodyWork *w, tdError *error)
{
    tdSoft *soft = w->soft;
    const tdCells *tris = &soft->mesh.cells[TD_CELL_TRI];
    soft->elements = soft->surface_tris = tris->count;
    for (int t = TD_CELL_TRI + 1; t <= TD_CELL_TYPES; t++)
        soft->element_start[t] = tris->count;
    soft->element_cell = TD_TAKE(&w->model->arena, int32_t, tris->count);
    soft->surface = TD_TAKE(&w->model->arena, int32_t, 3 * tris->count);
    soft->held = TD_TAKE(&w->model->arena, bool, 3 * (int64_t)soft->n_nodes);
    if (soft->element_cell == NULL || soft->surface == NULL || soft->held == NULL)
        return td_fail_memory(error, "an articulated body");
    for (int64_t t = 0; t < tris->count; t++)
        soft->element_cell[t] = (int32_t)t;
    if (tris->count > 0)
        memcpy(soft->surface, tris->nodes, 3 * (size_t)tris->count * sizeof *soft->surface);
    for (int l = 0; l < rigid_of(w)->n_links; l++)
        soft->total_mass += rigid_of(w)->links[l].mass;
    return TD_OK;
}

// ---------------------------------------------------------------- servos

static tdStatus add_servos(tdBodyWork *w, tdError *error)
{
    const tdScene *scene = &w->model->scene;
    tdArticulated *rigid = rigid_of(w);
    rigid->servos = TD_TAKE(&w->model->arena, tdServo, scene->n_actuators);
    if (rigid->servos == NULL)
        return td_fail_memory(error, "the actuators");
    for (int a = 0; a < scene->n_actuators; a++)
    {
        const tdSceneActuator *given = &scene->actuators[a];
        if (given->body != w->index || given->drive != TD_DRIVE_SERVO)
            continue;
        const tdLink *link = &rigid->links[given->joint];
        w->model->actuators[a].servo = rigid->n_servos;
        rigid->servos[rigid->n_servos++] = (tdServo){.link = given->joint,
                                                     .coord = link->coord,
                                                     .input = td_compile_input(w->model, given->name),
                                                     .actuator = a,
                                                     .ratio = link->ratio,
                                                     .offset = link->offset,
                                                     .rate = given->rate,
                                                     .weightless = given->weightless,
                                                     .stiffness = given->rate ? 0 : given->stiffness,
                                                     .damping = given->damping,
                                                     .effort = {given->effort[0], given->effort[1]}};
    }
    return TD_OK;
}

// An explicit method follows springs of limits and friction only with steps short beside them. Methods with theta below
// 1/2 take them at the end of the step.
static void warn_about_step(const tdBodyWork *w)
{
    const tdArticulated *rigid = rigid_of(w);
    if (w->model->scene.settings.method == TD_METHOD_RK4 && rigid->n_limits + rigid->n_frictions + rigid->n_servos > 0)
        td_log(
            w->settings, TD_LOG_WARNING,
            "body '%s': rk4 is explicit, and stable with limits, friction and servos of joints for short steps only; "
            "use another method where they matter",
            w->given->name);
}

// The matrix of a tree is dense: what a step does grows with the cube of the number of coordinates.
static void warn_about_size(const tdBodyWork *w)
{
    if (rigid_of(w)->n > MANY)
        td_log(
            w->settings, TD_LOG_WARNING,
            "body '%s' has %d coordinates; time and memory of a step grow with their cube and square, so that it takes "
            "about %.0f times as long as with %d. Fix joints that need not move, or cut it into several bodies",
            w->given->name, rigid_of(w)->n, pow((double)rigid_of(w)->n / MANY, 3), MANY);
}

static tdStatus check_static(const tdBodyWork *w, tdError *error)
{
    const tdScene *scene = &w->model->scene;
    if (scene->settings.method == TD_METHOD_STATIC && rigid_of(w)->links[0].kind == TD_JOINT_FREE &&
        !td_compile_holds_others(scene))
        return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, w->given->line,
                          w->given->type == TD_BODY_RIGID ? "fixed" : "base",
                          "body '%s': nothing holds it, so it has no equilibrium; fix it, add a support ('contact', "
                          "'attachments', a rod of 'couplings'), or use a dynamic integrator",
                          w->given->name);
    return TD_OK;
}

// ---------------------------------------------------------------- body

static tdStatus compile(tdBodyWork *w, tdError *error)
{
    const tdSceneBody *given = w->given;
    tdPose base;
    memcpy(base.R, given->rotation, sizeof base.R);
    memcpy(base.t, given->translate, sizeof base.t);
    for (int k = 0; k < given->tree->n_warnings; k++)
        td_log(w->settings, TD_LOG_WARNING, "%s", given->tree->warnings[k]);
    tdSoft *shape = w->soft;
    TD_TRY(td_articulated_build(&w->model->arena, given->tree, &base, given->velocity, given->angular_velocity,
                                w->model->scene.settings.gravity, rigid_of(w), error));
    rigid_of(w)->shape = shape; // build starts from nothing
    TD_TRY(check_static(w, error));
    TD_TRY(build_shape(w, error));
    TD_TRY(describe_shape(w, error));
    TD_TRY(add_servos(w, error));
    warn_about_step(w);
    warn_about_size(w);
    TD_TRY(td_articulated_parts(&w->model->arena, rigid_of(w), &w->model->bodies[w->index], error));
    w->chosen = td_take((size_t)shape->n_nodes, sizeof *w->chosen);
    return w->chosen == NULL ? td_fail_memory(error, "the body") : td_compile_body_points(w, error);
}

static tdStatus compile_kind(tdModel *model, int index, const tdBodyOps *ops, tdArticulated *rigid,
                             const tdSettings *settings, tdError *error)
{
    tdBody *body = &model->bodies[index];
    tdSoft *shape = TD_TAKE(&model->arena, tdSoft, 1);
    if (shape == NULL)
        return td_fail_memory(error, "the body");
    rigid->shape = shape;
    body->ops = ops;
    body->data = rigid;
    body->soft = shape;
    tdBodyWork w = {
        .model = model, .given = &model->scene.bodies[index], .settings = settings, .soft = shape, .index = index};
    tdStatus status = compile(&w, error);
    rigid->shape = shape;
    free(w.chosen);
    free(w.couplings);
    td_arena_free(&w.scratch);
    body->count = body->unknowns = rigid->n;
    body->nodes = shape->n_nodes;
    body->elements = shape->elements;
    for (int l = 0; status == TD_OK && l < rigid->n_links; l++)
        body->mass += rigid->links[l].mass;
    return status;
}

tdStatus td_compile_articulated(tdModel *model, int index, const tdSettings *settings, tdError *error)
{
    tdArticulated *rigid = TD_TAKE(&model->arena, tdArticulated, 1);
    return rigid == NULL ? td_fail_memory(error, "the body")
                         : compile_kind(model, index, &td_articulated_ops, rigid, settings, error);
}

// The body that a guided one follows, by number; -1: none.
static tdStatus find_leader(const tdModel *model, const tdSceneBody *given, int *leader, tdError *error)
{
    const tdScene *scene = &model->scene;
    *leader = -1;
    for (int b = 0; b < scene->n_bodies && given->follows != NULL; b++)
        if (strcmp(scene->bodies[b].name, given->follows) == 0)
            *leader = b;
    if (given->follows == NULL)
        return TD_OK;
    const tdSceneBody *body = *leader >= 0 ? &scene->bodies[*leader] : NULL;
    if (body == NULL || body == given || body->guided[0] == NULL || body->follows != NULL)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, given->follows_line, "follows",
                          "body '%s' cannot follow '%s'; it follows another body with 'guided: true' that follows none",
                          given->name, given->follows);
    return TD_OK;
}

// A fixed body in all but its coordinates, which inputs give.
tdStatus td_compile_guided(tdModel *model, int index, const tdSettings *settings, tdError *error)
{
    tdBody *body = &model->bodies[index];
    const tdSceneBody *given = &model->scene.bodies[index];
    tdGuided *guided = TD_TAKE(&model->arena, tdGuided, 1);
    if (guided == NULL)
        return td_fail_memory(error, "the body");
    if (model->scene.settings.method == TD_METHOD_RK4)
        return td_fail_at(
            error, TD_ERROR_INPUT, model->scene.file, given->line, "guided",
            "body '%s': rk4 computes reference solutions for rigid bodies in free motion and does not support "
            "prescribed motion; use backward_euler",
            given->name);
    for (int32_t k = 0; k < 6; k++)
    {
        guided->input[k] = td_compile_input(model, given->guided[k]);
        guided->held[k] = k;
    }
    TD_TRY(compile_kind(model, index, &td_guided_ops, &guided->rigid, settings, error));
    body->count = body->n_held = 6;
    body->held = guided->held;
    body->guided = guided;
    guided->through = given->through;
    memcpy(guided->trocar, given->trocar, sizeof guided->trocar);
    memcpy(guided->close, given->close, sizeof guided->close);
    double shaft[3];
    td_subtract3(guided->trocar, guided->rigid.links[0].origin.t, shaft);
    if (guided->through && !(td_dot3(shaft, shaft) > 0))
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, "trocar",
                          "body '%s' has its tip, the origin of its shape, in the trocar; place it farther in",
                          given->name);
    return find_leader(model, given, &guided->follows, error);
}
