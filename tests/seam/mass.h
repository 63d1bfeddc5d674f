// SPDX-License-Identifier: Apache-2.0
// A kind of body that the library does not know: a point mass on a spring, drawn and touching as a ball that does not
// turn. All that makes it is here, so that it shows what a new kind has to bring (core/body.h).
//
//     m dv/dt = -k (x - anchor) + m g
//
// A scene writes it as a rigid ball; td_model_parse_edited() puts mass_compile in the place of what would make that.
#pragma once
#include "body/drawing.h"
#include "scenes.h"

#include "body/spring.h"
#include "collide/collide.h"
#include "core/parts.h"
#include "scene/compile.h"

#define MASS_STIFFNESS 20 // [N/m]

typedef struct mass
{
    double m, k, anchor[3], start[3], velocity[3], gravity[3];
    double *local; // 3 a node, from the centre; node 0 is the centre
    tdSoft shape;
    tdBodyParts parts;
} mass;

typedef struct massState
{
    double A[9], L[9], stiff[9];
    double *x, *v; // of nodes
} massState;

static inline const mass *mass_of(const tdBody *body)
{
    return body->data;
}

static inline massState *mass_mine(const tdBody *body, const tdState *state)
{
    return (massState *)state->bodies[body->index];
}

// ---------------------------------------------------------------- life

static void mass_free_model(tdBody *body)
{
    td_mesh_free(&((mass *)body->data)->shape.mesh);
}

static tdStatus mass_state_create(const tdModel *model, const tdBody *body, tdState *state, tdError *error)
{
    massState *mine = TD_TAKE(&state->arena, massState, 1);
    (void)model;
    if (mine == NULL)
        return td_fail_memory(error, "a mass");
    state->bodies[body->index] = (tdBodyState *)mine;
    mine->x = TD_TAKE(&state->arena, double, 3 * body->nodes);
    mine->v = TD_TAKE(&state->arena, double, 3 * body->nodes);
    memcpy(state->q + body->first, mass_of(body)->start, 3 * sizeof(double));
    memcpy(state->v + body->first, mass_of(body)->velocity, 3 * sizeof(double));
    return mine->x == NULL || mine->v == NULL ? td_fail_memory(error, "a mass") : TD_OK;
}

// ---------------------------------------------------------------- the step

static void mass_nothing(const tdModel *model, const tdBody *body, tdState *state)
{
    (void)model;
    (void)body;
    (void)state;
}

static void mass_kinematics(const tdModel *model, const tdBody *body, tdState *state)
{
    massState *mine = mass_mine(body, state);
    (void)model;
    memset(mine->stiff, 0, sizeof mine->stiff);
}

// Springs of the state, where forces are taken: their stiffness, and with `load` their forces.
static double mass_springs(const tdBody *body, const tdState *state, double *load)
{
    double stiffness = 0;
    tdSpring spring;
    for (int k = 0; k < TD_SPRINGS; k++)
    {
        if (!td_spring_get(state->springs, k, &spring) || spring.body != body->index)
            continue;
        stiffness += spring.stiffness;
        for (int c = 0; c < 3 && load != NULL; c++)
        {
            double x = state->q_e[body->first + c];
            for (int i = 0; i < 3; i++)
                x += spring.weights[i] * mass_of(body)->local[3 * spring.nodes[i] + c];
            load[c] += spring.stiffness * (spring.anchor[c] - x);
        }
    }
    return stiffness;
}

static tdStatus mass_forces(const tdModel *model, const tdBody *body, tdState *state, bool tangent)
{
    const mass *given = mass_of(body);
    double s = model->scheme.s, inertia = 0, inside = 0, outside = 0;
    (void)tangent;
    for (int c = 0; c < 3; c++)
        state->load[body->first + c] = given->m * state->gravity * given->gravity[c];
    mass_springs(body, state, state->load + body->first);
    for (int c = 0; c < 3; c++)
    {
        int64_t i = body->first + c;
        double moving = model->scheme.mass * given->m * state->inertia[i];
        state->force[i] = given->k * (state->q_e[i] - given->anchor[c]);
        state->own[i] = moving + s * state->force[i];
        state->m[i] = state->own[i] - s * state->load[i];
        inertia += moving * moving;
        inside += state->force[i] * state->force[i];
        outside += state->load[i] * state->load[i];
    }
    state->scale = fmax(state->scale, sqrt(fmax(inertia, s * s * fmax(inside, outside))));
    return TD_OK;
}

static tdStatus mass_free_motion(const tdModel *model, const tdBody *body, tdState *state)
{
    const mass *given = mass_of(body);
    massState *mine = mass_mine(body, state);
    double of_K = model->scheme.s * model->scheme.ce, size = 0, *dv = state->dv + body->first;
    double stiffness = given->k + mass_springs(body, state, NULL);
    const double *m = state->m + body->first;
    for (int k = 0; k < 9; k++)
        mine->A[k] = of_K * mine->stiff[k] + (k % 4 == 0 ? model->scheme.mass * given->m + of_K * stiffness : 0);
    memcpy(mine->L, mine->A, sizeof mine->L);
    if (!dense_factor(3, mine->L))
        return td_fail(&state->report.error, TD_ERROR_NUMERIC, "a mass that nothing holds");
    dense_solve(3, mine->L, m, dv);
    for (int c = 0; c < 3; c++)
    {
        dv[c] = -dv[c];
        size += m[c] * m[c];
        state->slope += m[c] * dv[c];
    }
    state->rhs = sqrt(state->rhs * state->rhs + size);
    return TD_OK;
}

static tdStatus mass_start(const tdModel *model, const tdBody *body, tdState *state)
{
    (void)model;
    for (int c = 0; c < 3; c++)
        state->a[body->first + c] = -state->m[body->first + c] / mass_of(body)->m;
    return TD_OK;
}

static tdStatus mass_apply_inverse(const tdModel *model, const tdBody *body, tdState *state, int n, int64_t stride,
                                   const double *b, double *x)
{
    (void)model;
    for (int j = 0; j < n; j++)
        dense_solve(3, mass_mine(body, state)->L, b + j * stride, x + j * stride);
    return TD_OK;
}

static void mass_multiply(const tdModel *model, const tdBody *body, tdState *state, const double *x, double *y)
{
    const double *A = mass_mine(body, state)->A;
    (void)model;
    for (int r = 0; r < 3; r++)
        y[r] = A[3 * r] * x[0] + A[3 * r + 1] * x[1] + A[3 * r + 2] * x[2];
}

static void mass_balance(const tdModel *model, const tdBody *body, tdState *state)
{
    double y[3];
    mass_multiply(model, body, state, state->dv + body->first, y);
    for (int c = 0; c < 3; c++)
        state->m[body->first + c] += y[c];
}

static void mass_drive(const tdModel *model, const tdBody *body, const tdState *state, int input, double *psi)
{
    (void)model;
    (void)body;
    (void)state;
    (void)input;
    psi[0] = psi[1] = psi[2] = 0;
}

static void mass_energy(const tdModel *model, const tdBody *body, tdState *state, double *kinetic, double *elastic)
{
    const mass *given = mass_of(body);
    (void)model;
    double stored = 0, moving = 0;
    for (int c = 0; c < 3; c++)
    {
        double u = state->q[body->first + c] - given->anchor[c], v = state->v[body->first + c];
        moving += 0.5 * given->m * v * v;
        stored += 0.5 * given->k * u * u;
    }
    if (kinetic != NULL)
        *kinetic = moving;
    if (elastic != NULL)
        *elastic = stored;
}

static void mass_arrive(const tdModel *model, const tdBody *body, tdState *state, tdArrival *arrival)
{
    const mass *given = mass_of(body);
    mass_energy(model, body, state, &arrival->kinetic, &arrival->elastic);
    for (int c = 0; c < 3; c++)
    {
        int64_t i = body->first + c;
        double before = state->start[i] - given->anchor[c], now = state->q[i] - given->anchor[c];
        arrival->elastic_start += 0.5 * given->k * before * before;
        arrival->force_work += given->k * now * (now - before);
        arrival->force_work_start += given->k * before * (now - before);
        state->force[i] = given->k * now;
    }
}

// ---------------------------------------------------------------- points

static int mass_locate(const tdBody *body, const char *part, const double p[3], double slack, int32_t *nodes,
                       double *weights)
{
    const double *at = mass_of(body)->start;
    double away = sqrt(pow(p[0] - at[0], 2) + pow(p[1] - at[1], 2) + pow(p[2] - at[2], 2));
    (void)part;
    (void)slack;
    nodes[0] = 0;
    weights[0] = 1;
    return away < 1e-9 ? 1 : 0; // a point mass has no other
}

static tdStatus mass_point_set(tdModel *model, const tdBody *body, tdPointSet *set, tdError *error)
{
    (void)body;
    set->size = 3;
    set->coord = TD_TAKE(&model->arena, int32_t, 3);
    for (int32_t c = 0; set->coord != NULL && c < 3; c++)
        set->coord[c] = c;
    return set->coord == NULL ? td_fail_memory(error, "the points of a mass") : TD_OK;
}

static void mass_positions(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, double *x)
{
    (void)state;
    memset(x, 0, 3 * (size_t)set->n * sizeof *x);
    for (int32_t p = 0; p < set->n; p++)
        for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
            for (int c = 0; c < 3; c++)
                x[3 * p + c] += set->weights[k] * (q[c] + mass_of(body)->local[3 * set->nodes[k] + c]);
}

static void mass_pull(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, const double *f,
                      double *row)
{
    (void)body;
    (void)state;
    (void)q;
    row[0] = row[1] = row[2] = 0;
    for (int32_t p = 0; p < set->n; p++)
        for (int c = 0; c < 3; c++)
            row[c] += f[3 * p + c];
}

static void mass_stiffen(const tdModel *model, const tdBody *body, tdState *state, const tdPointSet *set, int32_t i,
                         int32_t j, const double H[9], bool definite)
{
    (void)model;
    (void)set;
    (void)definite;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            mass_mine(body, state)->stiff[3 * r + c] += H[3 * r + c] + (i != j ? H[3 * c + r] : 0);
}

// ---------------------------------------------------------------- contact

static tdStatus mass_condense(const tdBody *body, tdState *state, tdBodyBlock *out)
{
    *out = (tdBodyBlock){.n = 3, .stride = 3, .A = mass_mine(body, state)->A, .touched = 3};
    return TD_OK;
}

static void mass_part(const tdBody *body, const tdState *state, const double *q, const double *v, int part,
                      tdPose *pose, double twist[6])
{
    (void)body;
    (void)state;
    (void)part;
    *pose = td_pose_identity();
    memcpy(pose->t, q, 3 * sizeof *q);
    for (int c = 0; c < 3 && twist != NULL; c++)
    {
        twist[c] = v[c];
        twist[3 + c] = 0;
    }
}

static int32_t mass_touch(const tdBody *body, tdState *state, const tdTouchPoint *point, int part,
                          const tdBodyBlock *block, double sign, double frame[3][3], double *J, int32_t *columns,
                          double *drift)
{
    (void)body;
    (void)state;
    (void)point;
    (void)part;
    (void)drift;
    if (block == NULL)
        return 0;
    for (int r = 0; r < 3; r++)
    {
        columns[r] = r;
        for (int c = 0; c < 3; c++)
            J[3 * r + c] = sign * frame[r][c];
    }
    return 3;
}

static void mass_push(const tdBody *body, const tdState *state, const tdTouchPoint *point, int part, const double f[3],
                      double *m)
{
    (void)body;
    (void)state;
    (void)point;
    (void)part;
    for (int c = 0; c < 3; c++)
        m[c] += f[c];
}

// ---------------------------------------------------------------- what others see

static const double *mass_nodes(const tdModel *model, const tdBody *body, const tdState *state)
{
    double *x = mass_mine(body, state)->x;
    (void)model;
    for (int64_t i = 0; i < 3 * body->nodes; i++)
        x[i] = state->q[body->first + i % 3] + mass_of(body)->local[i];
    return x;
}

static const double *mass_node_velocities(const tdModel *model, const tdBody *body, const tdState *state)
{
    double *v = mass_mine(body, state)->v;
    (void)model;
    for (int64_t i = 0; i < 3 * body->nodes; i++)
        v[i] = state->v[body->first + i % 3];
    return v;
}

static void mass_fields(const tdModel *model, const tdBody *body, tdState *state, double *von_mises, double *energy)
{
    (void)model;
    (void)state;
    for (int64_t e = 0; e < body->elements; e++)
    {
        if (von_mises != NULL)
            von_mises[e] = 0;
        if (energy != NULL)
            energy[e] = 0;
    }
}

static void mass_describe(const tdBody *body, int64_t element, char *out, size_t size)
{
    snprintf(out, size, "triangle %lld of mass '%s'", (long long)element, body->name);
}

static const tdBodyOps mass_ops = {
    .kind = "mass",
    .free_model = mass_free_model,
    .state_create = mass_state_create,
    .place = mass_nothing,
    .begin = mass_nothing,
    .kinematics = mass_kinematics,
    .forces = mass_forces,
    .free_motion = mass_free_motion,
    .start_acceleration = mass_start,
    .apply_inverse = mass_apply_inverse,
    .multiply = mass_multiply,
    .condense = mass_condense,
    .part = mass_part,
    .touch = mass_touch,
    .push = mass_push,
    .locate = mass_locate,
    .point_set = mass_point_set,
    .positions = mass_positions,
    .pull = mass_pull,
    .stiffen = mass_stiffen,
    .drive = mass_drive,
    .balance = mass_balance,
    .arrive = mass_arrive,
    .commit = mass_nothing,
    .describe = mass_describe,
    .nodes = mass_nodes,
    .node_velocities = mass_node_velocities,
    .fields = mass_fields,
    .energy = mass_energy,
};

// ---------------------------------------------------------------- compiler

// Triangles of the ball; node 0 is its centre, which belongs to none.
static tdStatus mass_draw(tdModel *model, const tdShape *ball, mass *given, tdError *error)
{
    int64_t nodes = 0, tris = 0;
    td_shape_drawing_size(ball, &nodes, &tris);
    tdSoft *shape = &given->shape;
    given->local = TD_TAKE(&model->arena, double, 3 * (nodes + 1));
    shape->surface = TD_TAKE(&model->arena, int32_t, 3 * tris);
    shape->element_cell = TD_TAKE(&model->arena, int32_t, tris);
    shape->held = TD_TAKE(&model->arena, bool, 3 * (nodes + 1));
    if (given->local == NULL || shape->surface == NULL || shape->element_cell == NULL || shape->held == NULL)
        return td_fail_memory(error, "a mass");
    td_shape_drawing(ball, given->local + 3, shape->surface);
    bool good = true;
    for (int64_t i = 0; i <= nodes && good; i++)
        good = td_mesh_add_node(&shape->mesh, given->start[0] + given->local[3 * i],
                                given->start[1] + given->local[3 * i + 1], given->start[2] + given->local[3 * i + 2]);
    for (int64_t t = 0; t < tris && good; t++)
    {
        for (int k = 0; k < 3; k++)
            shape->surface[3 * t + k]++;
        shape->element_cell[t] = (int32_t)t;
        good = td_mesh_add_cell(&shape->mesh, TD_CELL_TRI, shape->surface + 3 * t);
    }
    shape->n_nodes = (int32_t)nodes + 1;
    shape->rest = shape->mesh.x;
    shape->elements = shape->surface_tris = tris;
    shape->total_mass = given->m;
    for (int t = TD_CELL_TRI + 1; t <= TD_CELL_TYPES; t++)
        shape->element_start[t] = tris;
    return good ? TD_OK : td_fail_memory(error, "a mass");
}

// One part, of one shape, in one piece that moves.
static tdStatus mass_parts(tdModel *model, const tdTree *tree, mass *given, tdError *error)
{
    tdBodyParts *parts = &given->parts;
    parts->n = parts->n_shapes = parts->n_drawings = 1;
    parts->frames = 1;
    parts->names = TD_TAKE(&model->arena, const char *, 1);
    parts->start = TD_TAKE(&model->arena, tdPose, 1);
    parts->piece = TD_TAKE(&model->arena, int32_t, 1);
    parts->hangs = TD_TAKE(&model->arena, int32_t, 1);
    parts->of_node = TD_TAKE(&model->arena, int32_t, given->shape.n_nodes);
    parts->shapes = TD_TAKE(&model->arena, tdBodyShape, 1);
    parts->drawings = TD_TAKE(&model->arena, tdBodyDrawing, 1);
    if (parts->names == NULL || parts->start == NULL || parts->piece == NULL || parts->hangs == NULL ||
        parts->of_node == NULL || parts->shapes == NULL || parts->drawings == NULL)
        return td_fail_memory(error, "a mass");
    parts->names[0] = "mass";
    parts->start[0] = td_pose_identity();
    memcpy(parts->start[0].t, given->start, sizeof given->start);
    parts->hangs[0] = -1;
    parts->shapes[0] = (tdBodyShape){.shape = &tree->shapes[0].shape, .pose = td_pose_identity(), .file = tree->file};
    parts->drawings[0] = (tdBodyDrawing){.triangles = given->shape.surface_tris};
    return TD_OK;
}

static tdStatus mass_points(tdModel *model, int index, const tdSettings *settings, mass *given, tdError *error)
{
    tdBodyWork work = {.model = model,
                       .given = &model->scene.bodies[index],
                       .settings = settings,
                       .soft = &given->shape,
                       .index = index};
    work.chosen = td_take((size_t)given->shape.n_nodes, sizeof *work.chosen);
    tdStatus status = work.chosen == NULL ? td_fail_memory(error, "a mass") : td_compile_body_points(&work, error);
    free(work.chosen);
    free(work.couplings);
    td_arena_free(&work.scratch);
    return status;
}

static tdStatus mass_compile(tdModel *model, int index, const tdSettings *settings, tdError *error)
{
    tdBody *body = &model->bodies[index];
    const tdSceneBody *written = &model->scene.bodies[index];
    const tdTree *tree = written->tree;
    mass *given = TD_TAKE(&model->arena, mass, 1);
    if (given == NULL)
        return td_fail_memory(error, "a mass");
    *given = (mass){.m = tree->links[0].mass, .k = MASS_STIFFNESS};
    memcpy(given->start, written->translate, sizeof given->start);
    memcpy(given->anchor, written->translate, sizeof given->anchor);
    memcpy(given->velocity, written->velocity, sizeof given->velocity);
    memcpy(given->gravity, model->scene.settings.gravity, sizeof given->gravity);
    body->ops = &mass_ops;
    body->data = given;
    body->soft = &given->shape;
    body->parts = &given->parts;
    body->count = body->unknowns = 3;
    body->mass = given->m;
    TD_TRY(mass_draw(model, &tree->shapes[0].shape, given, error));
    TD_TRY(mass_parts(model, tree, given, error));
    body->nodes = given->shape.n_nodes;
    body->elements = given->shape.elements;
    return mass_points(model, index, settings, given, error);
}

/// The scene's body 'mass' is of this kind.
static tdStatus mass_register(void *context, tdScene *scene, tdError *error)
{
    (void)context;
    (void)error;
    for (int b = 0; b < scene->n_bodies; b++)
        if (strcmp(scene->bodies[b].name, "mass") == 0)
            scene->bodies[b].compiler = mass_compile;
    return TD_OK;
}

static inline tdModel *mass_parse(const char *text)
{
    tdModel *model = NULL;
    tdError error = {0};
    tdStatus status =
        td_model_parse_edited(text, strlen(text), "scene.yaml", NULL, NULL, mass_register, NULL, &model, &error);
    assert_ok(status, error);
    return model;
}
