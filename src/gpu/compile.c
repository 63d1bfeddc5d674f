// SPDX-License-Identifier: Apache-2.0
// What of a model the GPU needs, in its own layout, and what it refuses. Nothing is left out silently: whatever acts in
// the scene is either in the plan or a reason not to make one.
#include "gpu/compile.h"

#include "body/spring.h"
#include "constraint/constraint.h"
#include "reduce/reduced_body.h"
#include "step/monitor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STILL 1e-6 // as in step/monitor.c

// ---------------------------------------------------------------- what is refused

static tdStatus refuse(const tdModel *model, tdError *error, const char *field, const char *what)
{
    return td_fail_at(error, TD_ERROR_INPUT, model->file, 0, field, "%s; use 'device: cpu' (docs/gpu.md has the list)",
                      what);
}

/// The law as the GPU names it; -1: it does not know it.
static int32_t law_of(const tdLaw *law)
{
    static const struct
    {
        tdLawKind kind;
        int32_t law;
    } known[] = {{TD_LAW_COROTATIONAL, TD_GPU_COROTATIONAL},
                 {TD_LAW_COROTATIONAL_LAGGED, TD_GPU_LAGGED},
                 {TD_LAW_STVK, TD_GPU_STVK},
                 {TD_LAW_NEO_HOOKEAN, TD_GPU_NEO_HOOKEAN},
                 {TD_LAW_MOONEY_RIVLIN, TD_GPU_MOONEY_RIVLIN}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        if (td_law(known[k].kind) == law)
            return known[k].law;
    return -1;
}

static tdStatus refuse_body(const tdModel *model, tdError *error)
{
    const tdBody *body = &model->bodies[0];
    if (model->n_bodies != 1)
        return refuse(model, error, "bodies", "the GPU steps scenes of one body, and this one has several");
    if (body->ops != &td_reduced_ops)
        return refuse(model, error, body->name, "the GPU steps reduced bodies alone: give a reduced model ('rom')");
    const tdReduced *reduced = td_reduced_of(body);
    if (reduced->floating != NULL || reduced->free_modes > 0)
        return refuse(model, error, body->name, "the GPU steps bodies that are held, and this one moves as a whole");
    if (reduced->n_u > 0)
        return refuse(model, error, body->name, "nodes of the body are moved, which the GPU does not do");
    if (td_reduced_polynomial(reduced) && reduced->r > TD_GPU_COLUMNS)
        return refuse(model, error, body->name,
                      "the reduced model's polynomials have more columns than the 32 that the GPU takes");
    if (reduced->r > TD_GPU_MODES)
        return refuse(model, error, body->name, "the reduced model has more modes than the 40 that the GPU takes");
    for (int b = 0; b < reduced->domain.n_blocks; b++)
    {
        const tdMaterial *material = &reduced->domain.blocks[b].material;
        if (law_of(material->law) < 0)
            return refuse(model, error, material->law->name,
                          "the GPU knows the laws 'corotational', 'corotational_lagged', 'stvk', 'neo_hookean' and "
                          "'mooney_rivlin'");
        if (material->n_prony > 0)
            return refuse(model, error, body->name, "the GPU does not do materials that relax (prony)");
        if (material->mean_dilatation)
            return refuse(model, error, body->name, "the GPU does not average changes of volume (mean_dilatation)");
        if (material->through != TD_THROUGH_VOLUME)
            return refuse(model, error, body->name, "the GPU does not do membranes and plane bodies");
    }
    return TD_OK;
}

static tdStatus refuse_actuator(const tdModel *model, const tdActuator *actuator, tdError *error)
{
    const tdSceneActuator *given = actuator->given;
    if (given->kind != TD_ACTUATOR_CABLE || actuator->measure.kind != TD_MEASURE_LENGTH)
        return refuse(model, error, actuator->name, "of actuators the GPU does cables alone");
    if (given->friction > 0)
        return refuse(model, error, actuator->name, "the GPU does not do friction in cables");
    if (given->drive != TD_DRIVE_EFFORT && given->drive != TD_DRIVE_DISPLACEMENT)
        return refuse(model, error, actuator->name, "the GPU drives cables by effort or by displacement");
    if (actuator->tool >= 0)
        return refuse(model, error, actuator->name, "the GPU does not do tools");
    return TD_OK;
}

static tdStatus refuse_scene(const tdModel *model, tdError *error)
{
    if (model->scheme.method != TD_METHOD_THETA || model->scheme.theta != 1 || model->scheme.theta_vq != 1)
        return refuse(model, error, "integrator", "the GPU takes steps of backward Euler");
    if (model->settings.newton)
        return refuse(model, error, "newton", "the GPU takes one linearization a step");
    if (model->touches || model->n_attachments > 0 || model->n_couplings > 0)
        return refuse(model, error, "contact", "the GPU does not do contact, attachments and couplings");
    if (model->n_tools > 0 || model->n_sensors > 0)
        return refuse(model, error, model->n_tools > 0 ? "tools" : "sensors", "the GPU does not do tools and sensors");
    for (int e = 0; e < model->n_effectors; e++)
        if (model->effectors[e].given->has_target)
            return refuse(model, error, model->effectors[e].name, "the GPU does not do inverse control (target)");
    if (model->n_actuators > TD_GPU_ACTUATORS)
        return refuse(model, error, "actuators", "the scene has more actuators than the 16 that the GPU takes");
    for (int a = 0; a < model->n_actuators; a++)
        TD_TRY(refuse_actuator(model, &model->actuators[a], error));
    return TD_OK;
}

// ---------------------------------------------------------------- outputs

static bool after(const char *name, const char *kind, const char **rest)
{
    size_t n = strlen(kind);
    *rest = name + n + 1;
    return strncmp(name, kind, n) == 0 && (name[n] == ':' || name[n] == '\0');
}

/// A point that is seen: of a probe or of an effector.
static const tdPointSet *seen_point(const tdModel *model, const char *name)
{
    const char *rest;
    if (after(name, "probe", &rest))
        return &model->probes[td_model_find_probe(model, rest)].point;
    if (!after(name, "effector", &rest))
        return NULL;
    const tdMeasure *measure = &model->effectors[td_model_find_effector(model, rest)].measure;
    bool place = measure->kind == TD_MEASURE_POSITION && measure->n_sets == 1 && measure->sets[0].body == 0;
    return place ? measure->sets : NULL;
}

static tdStatus plan_output(const tdModel *model, tdOutputInfo info, int rows, tdGpuOutput *out, tdError *error)
{
    const char *rest;
    *out = (tdGpuOutput){.count = (int32_t)info.count};
    if (after(info.name, "time", &rest))
        out->kind = TD_GPU_OUT_TIME;
    else if (after(info.name, "input", &rest))
        *out = (tdGpuOutput){TD_GPU_OUT_INPUT, td_model_find_input(model, rest), 1, 0};
    else if (after(info.name, "effort", &rest))
        *out = (tdGpuOutput){TD_GPU_OUT_EFFORT, td_model_find_actuator(model, rest), 1, 0};
    else if (after(info.name, "displacement", &rest))
        *out = (tdGpuOutput){TD_GPU_OUT_DISPLACEMENT, td_model_find_actuator(model, rest), 1, 0};
    else if (after(info.name, "coords", &rest))
        out->kind = TD_GPU_OUT_COORDS;
    else if (after(info.name, "rates", &rest))
        out->kind = TD_GPU_OUT_RATES;
    else if (after(info.name, "kinetic", &rest))
        out->kind = TD_GPU_OUT_KINETIC;
    else if (seen_point(model, info.name) != NULL)
        *out = (tdGpuOutput){TD_GPU_OUT_POINT, rows, 3, 0};
    else
        return refuse(model, error, info.name,
                      "the GPU does not make this output; it has time, probe, effector (positions), input, effort, "
                      "displacement, coords, rates and kinetic");
    return TD_OK;
}

// ---------------------------------------------------------------- layout

static int64_t reserve(tdGpuPlan *plan, int64_t count, size_t size)
{
    int64_t at = plan->bytes;
    plan->bytes = (at + count * (int64_t)size + 63) / 64 * 64;
    return at;
}

static void lay_out_row(tdGpuPlan *plan)
{
    int32_t *one[] = {&plan->at.status,  &plan->at.steps, &plan->at.doubts, &plan->at.known, &plan->at.kinetic,
                      &plan->at.elastic, &plan->at.most,  &plan->at.gain,   &plan->at.work,  &plan->at.force_work,
                      &plan->at.young,   &plan->at.mass,  &plan->at.damping};
    struct
    {
        int32_t *place, count;
    } more[] = {{&plan->at.q, plan->r},
                {&plan->at.v, plan->r},
                {&plan->at.effort, plan->actuators},
                {&plan->at.override_, plan->inputs},
                {&plan->at.offset, plan->inputs},
                {&plan->at.gravity, 3}};
    int32_t at = 0;
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        *one[i] = at++;
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
    {
        *more[i].place = at;
        at += more[i].count;
    }
    plan->at.width = (at + 1) / 2 * 2; // rows of 16 bytes
}

static int32_t count_points(const tdReduced *reduced)
{
    int32_t n = 0;
    for (int b = 0; b < reduced->domain.n_blocks; b++)
    {
        const tdElements *block = &reduced->domain.blocks[b];
        int64_t lanes = 4 * (int64_t)block->batches * td_element_shape[block->kind].points;
        for (int64_t k = 0; k < lanes; k++)
            n += block->weight[k] > 0;
    }
    return n;
}

static int64_t polynomial_columns(int64_t r)
{
    return 1 + r + TD_GPU_PAIRS(r);
}

static int64_t polynomial_tiles(int64_t r)
{
    return (TD_GPU_PAIRS(r) + TD_GPU_TILE - 1) / TD_GPU_TILE;
}

static void lay_out(const tdModel *model, const tdOutputs *outputs, tdGpuPlan *plan)
{
    const tdReduced *reduced = td_reduced_of(&model->bodies[0]);
    plan->version = TD_GPU_VERSION;
    plan->r = reduced->r;
    plan->points = count_points(reduced);
    plan->actuators = model->n_actuators;
    plan->inputs = model->n_inputs;
    plan->loads = reduced->n_loads;
    plan->outputs = outputs == NULL ? 0 : td_outputs_count(outputs);
    plan->width = outputs == NULL ? 0 : (int32_t)td_outputs_width(outputs);
    for (int a = 0; a < model->n_actuators; a++)
        plan->cable_points += model->actuators[a].measure.n;
    for (int b = 0; b < reduced->domain.n_blocks; b++)
        plan->general |= law_of(reduced->domain.blocks[b].material.law) >= TD_GPU_STVK;
    plan->gathers = 2 * (plan->cable_points - plan->actuators) > TD_GPU_ACROSS;
    for (int o = 0; o < plan->outputs; o++)
        plan->point_rows += seen_point(model, td_outputs_info(outputs, o).name) != NULL ? 3 : 0;
    lay_out_row(plan);
    int64_t r = plan->r;
    plan->bytes = (sizeof *plan + 63) / 64 * 64;
    plan->B = reserve(plan, plan->points * 9 * r, sizeof(float));
    plan->F0 = reserve(plan, (int64_t)plan->points * 9, sizeof(float));
    plan->point = reserve(plan, plan->points, sizeof(tdGpuPoint));
    if (td_reduced_polynomial(reduced))
        plan->polynomial =
            reserve(plan, polynomial_tiles(reduced->r) * polynomial_columns(reduced->r) * TD_GPU_TILE, sizeof(float));
    plan->K0 = reserve(plan, r * TD_GPU_ROW(r), sizeof(float));
    plan->M = reserve(plan, r * TD_GPU_ROW(r), sizeof(float));
    plan->weight = reserve(plan, 3 * r, sizeof(double));
    plan->load = reserve(plan, plan->loads * (1 + r), sizeof(double));
    plan->actuator = reserve(plan, plan->actuators, sizeof(tdGpuActuator));
    plan->cable = reserve(plan, 3 * plan->cable_points * (1 + r), sizeof(double));
    plan->segment = reserve(plan, 3 * plan->cable_points * r, sizeof(float));
    plan->output = reserve(plan, plan->outputs, sizeof(tdGpuOutput));
    plan->seen = reserve(plan, plan->point_rows * (1 + r), sizeof(double));
}

// ---------------------------------------------------------------- filling

#define ARRAY(plan, type, name) ((type *)((char *)(plan) + (plan)->name))

static tdGpuPoint point_of(const tdMaterial *material, double weight)
{
    static const int32_t volumetric[] = {
        [TD_VOLUMETRIC_SQUARE] = TD_GPU_SQUARE, [TD_VOLUMETRIC_LOG] = TD_GPU_LOG, [TD_VOLUMETRIC_MIXED] = TD_GPU_MIXED};
    const double *p = material->parameters, *own = p + TD_PARAMETER_OWN;
    tdGpuPoint point = {.weight = (float)weight, .law = law_of(material->law)};
    if (point.law <= TD_GPU_STVK) // quadratic: mu and lambda
    {
        point.mu = (float)p[0];
        point.lambda = (float)p[1];
        return point;
    }
    bool second = point.law == TD_GPU_MOONEY_RIVLIN;
    point.lambda = (float)material->lame[0];
    point.mu = (float)material->lame[1];
    point.kappa = (float)p[TD_PARAMETER_KAPPA];
    point.volumetric = volumetric[(int)p[TD_PARAMETER_VOLUMETRIC]];
    point.c10 = (float)(second ? own[0] : 0.5 * own[0]);
    point.c01 = (float)(second ? own[1] : 0);
    return point;
}

// One point of the domain; K0 += 2 w mu B'B where rows are taken away from it.
static void fill_point(const tdReduced *reduced, const tdElements *block, int64_t batch, int lane, tdGpuPlan *plan,
                       int32_t to, double *K0)
{
    int r = reduced->r, stride = reduced->stride;
    const double *B = reduced->B + 36 * stride * (block->first + batch), *p = block->material.parameters;
    double w = block->weight[4 * batch + lane];
    float *out = ARRAY(plan, float, B) + (int64_t)to * 9 * r;
    for (int c = 0; c < 9; c++)
    {
        const double *row = B + (4 * (int64_t)c + lane) * stride;
        for (int j = 0; j < r; j++)
            out[c * r + j] = (float)row[j];
        for (int i = 0; i < r && plan->general == 0; i++)
            for (int j = 0; j < r; j++)
                K0[i * r + j] += 2 * w * p[0] * row[i] * row[j];
        ARRAY(plan, float, F0)
        [9 * to + c] = (float)reduced->F0[36 * (block->first + batch) + 4 * (int64_t)c + lane];
    }
    ARRAY(plan, tdGpuPoint, point)[to] = point_of(&block->material, w);
}

static int64_t ordered(int64_t *index, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && index[j] < index[j - 1]; j--)
        {
            int64_t keep = index[j];
            index[j] = index[j - 1];
            index[j - 1] = keep;
        }
    int64_t at = TD_GPU_PAIRS(index[1]) + index[0]; // pair, triple, quadruple: reduce/stvk.h
    if (n > 2)
        at += index[2] * (index[2] + 1) * (index[2] + 2) / 6;
    return n > 3 ? at + index[3] * (index[3] + 1) * (index[3] + 2) * (index[3] + 3) / 24 : at;
}

// P, Q and S by pairs: a row of P_ij, Q_ijk for all k, S_ijkl for all pairs k >= l.
static void fill_polynomial(const tdStvk *stvk, tdGpuPlan *plan)
{
    int64_t r = stvk->r, columns = polynomial_columns(r), row = 0;
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j <= i; j++, row++)
        {
            float *to = ARRAY(plan, float, polynomial) + row / TD_GPU_TILE * columns * TD_GPU_TILE + row % TD_GPU_TILE;
            *to = (float)stvk->P[ordered((int64_t[]){i, j}, 2)];
            for (int64_t k = 0; k < r; k++)
                *(to += TD_GPU_TILE) = (float)stvk->Q[ordered((int64_t[]){i, j, k}, 3)];
            for (int64_t k = 0; k < r; k++)
                for (int64_t l = 0; l <= k; l++)
                    *(to += TD_GPU_TILE) = (float)stvk->S[ordered((int64_t[]){i, j, k, l}, 4)];
        }
}

static tdStatus fill_body(const tdModel *model, tdGpuPlan *plan, tdError *error)
{
    const tdReduced *reduced = td_reduced_of(&model->bodies[0]);
    int r = plan->r, stride = reduced->stride;
    int32_t at = 0;
    double *K0 = td_take((size_t)r * (size_t)r, sizeof *K0);
    if (K0 == NULL)
        return td_fail_memory(error, "the plan of a GPU");
    for (int b = 0; b < reduced->domain.n_blocks; b++)
    {
        const tdElements *block = &reduced->domain.blocks[b];
        int64_t batches = (int64_t)block->batches * td_element_shape[block->kind].points;
        for (int64_t k = 0; k < 4 * batches; k++)
            if (block->weight[k] > 0)
                fill_point(reduced, block, k / 4, (int)(k % 4), plan, at++, K0);
    }
    for (int i = 0; i < r; i++)
        for (int j = 0; j < r; j++)
        {
            ARRAY(plan, float, K0)[i * TD_GPU_ROW(r) + j] = (float)K0[i * r + j];
            ARRAY(plan, float, M)[i * TD_GPU_ROW(r) + j] = (float)reduced->M[i * stride + j];
        }
    free(K0);
    if (plan->polynomial != 0)
        fill_polynomial(&reduced->stvk, plan);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < r; i++)
            ARRAY(plan, double, weight)[c * r + i] = reduced->weight[c * reduced->n + i];
    for (int k = 0; k < plan->loads; k++)
    {
        double *load = ARRAY(plan, double, load) + k * (1 + (int64_t)r);
        load[0] = reduced->loads[k].input;
        memcpy(load + 1, reduced->loads[k].force, (size_t)r * sizeof *load);
    }
    return TD_OK;
}

// Rows of points: place at rest, motion with each mode.
static void fill_points(const tdReduced *reduced, const tdPointSet *set, double *to)
{
    int r = reduced->r;
    const tdReducedSet *own = set->data;
    for (int64_t i = 0; i < 3 * (int64_t)set->n; i++, to += 1 + r)
    {
        to[0] = set->body < 0 ? set->rest[i] : own->rest[i];
        if (set->body >= 0)
            memcpy(to + 1, own->X + i * reduced->stride, (size_t)r * sizeof *to);
    }
}

static void fill_actuators(const tdModel *model, tdGpuPlan *plan)
{
    const tdReduced *reduced = td_reduced_of(&model->bodies[0]);
    int32_t first = 0;
    for (int a = 0; a < plan->actuators; a++)
    {
        const tdActuator *from = &model->actuators[a];
        const tdSceneActuator *given = from->given;
        ARRAY(plan, tdGpuActuator, actuator)
        [a] = (tdGpuActuator){.input = from->input,
                              .drive = given->drive == TD_DRIVE_EFFORT ? TD_GPU_EFFORT : TD_GPU_DISPLACEMENT,
                              .first = first,
                              .points = from->measure.n,
                              .sign = from->sign,
                              .rest = from->rest_value,
                              .compliance = from->compliance,
                              .size = from->size,
                              .effort = {given->effort[0], given->effort[1]},
                              .displacement = {given->displacement[0], given->displacement[1]},
                              .effort_rate = given->effort_rate,
                              .displacement_rate = given->displacement_rate};
        for (int s = 0; s < from->measure.n_sets; first += from->measure.sets[s++].n)
            fill_points(reduced, &from->measure.sets[s],
                        ARRAY(plan, double, cable) + 3 * (int64_t)first * (1 + plan->r));
    }
    for (int64_t i = 0; i < 3 * (int64_t)(plan->cable_points - 1); i++)
    {
        const double *x = ARRAY(plan, double, cable) + i * (1 + plan->r) + 1, *next = x + 3 * (1 + plan->r);
        for (int j = 0; j < plan->r; j++)
            ARRAY(plan, float, segment)[i * plan->r + j] = (float)(next[j] - x[j]);
    }
}

static tdStatus fill_outputs(const tdModel *model, const tdOutputs *outputs, tdGpuPlan *plan, tdError *error)
{
    int rows = 0;
    for (int o = 0; o < plan->outputs; o++)
    {
        tdOutputInfo info = td_outputs_info(outputs, o);
        TD_TRY(plan_output(model, info, rows, ARRAY(plan, tdGpuOutput, output) + o, error));
        const tdPointSet *point = seen_point(model, info.name);
        if (point == NULL)
            continue;
        fill_points(td_reduced_of(&model->bodies[0]), point, ARRAY(plan, double, seen) + rows * (1 + (int64_t)plan->r));
        rows += 3;
    }
    return TD_OK;
}

tdStatus td_gpu_compile(const tdModel *model, const tdSettings *settings, const tdOutputs *outputs, tdGpuPlan **out,
                        tdError *error)
{
    tdGpuPlan head = {0};
    *out = NULL;
    TD_TRY(refuse_body(model, error));
    TD_TRY(refuse_scene(model, error));
    const tdReduced *reduced = td_reduced_of(&model->bodies[0]);
    lay_out(model, outputs, &head);
    head.precision = settings->rom_precision == TD_ROM_DOUBLE   ? TD_GPU_SINGLE
                     : settings->rom_precision == TD_ROM_SINGLE ? TD_GPU_HALF
                                                                : TD_GPU_SPLIT;
    head.h = model->scheme.h;
    head.alpha = reduced->soft->alpha;
    head.beta = reduced->soft->beta;
    double still = STILL * model->size / model->scheme.h;
    head.noise = model->bodies[0].mass * still * still;
    tdGpuPlan *plan = td_take(1, (size_t)head.bytes);
    if (plan == NULL)
        return td_fail_memory(error, "the plan of a GPU");
    *plan = head;
    tdStatus status = fill_body(model, plan, error);
    fill_actuators(model, plan);
    if (status == TD_OK)
        status = fill_outputs(model, outputs, plan, error);
    if (status != TD_OK)
    {
        free(plan);
        return status;
    }
    *out = plan;
    return TD_OK;
}

// ---------------------------------------------------------------- rows

void td_gpu_row(const tdModel *model, const tdState *state, const tdGpuPlan *plan, double *row)
{
    const tdGpuRow *at = &plan->at;
    const tdConstraintState *cs = state->constraint;
    const double *factors = td_state_factors(state, 0), *kept = state->monitor->kept;
    memset(row, 0, (size_t)at->width * sizeof *row);
    row[at->steps] = (double)state->steps;
    row[at->known] = state->monitor->known ? 1 : 0;
    row[at->kinetic] = kept[TD_MONITOR_KINETIC];
    row[at->elastic] = kept[TD_MONITOR_ELASTIC];
    row[at->most] = kept[TD_MONITOR_MOST];
    row[at->gain] = kept[TD_MONITOR_GAIN];
    memcpy(row + at->q, state->q, (size_t)plan->r * sizeof *row);
    memcpy(row + at->v, state->v, (size_t)plan->r * sizeof *row);
    for (int a = 0; a < plan->actuators; a++)
        row[at->effort + a] = cs->effort[a];
    for (int i = 0; i < plan->inputs; i++)
    {
        row[at->override_ + i] = state->override[i];
        row[at->offset + i] = td_state_offsets(model, state)[i];
    }
    memcpy(row + at->gravity, td_state_gravity(state), 3 * sizeof *row);
    row[at->young] = factors[TD_FACTOR_YOUNG];
    row[at->mass] = factors[TD_FACTOR_MASS];
    row[at->damping] = factors[TD_FACTOR_DAMPING];
}

tdStatus td_gpu_state(const tdModel *model, const tdGpuPlan *plan, const double *row, tdState *state, tdError *error)
{
    const tdGpuRow *at = &plan->at;
    tdConstraintState *cs = state->constraint;
    double *kept = state->monitor->kept, *parameters = state->parameters;
    state->steps = (int64_t)row[at->steps];
    state->time = (double)state->steps * model->scheme.h;
    memcpy(state->q, row + at->q, (size_t)plan->r * sizeof *row);
    memcpy(state->v, row + at->v, (size_t)plan->r * sizeof *row);
    for (int a = 0; a < plan->actuators; a++)
        cs->effort[a] = row[at->effort + a];
    for (int i = 0; i < plan->inputs; i++)
    {
        double set = row[at->override_ + i], offset = row[at->offset + i];
        state->override[i] = set;
        state->input[i] = state->input_end[i] = (isnan(set) ? td_input_value(model, i, state->time) : set) + offset;
        parameters[4 + TD_FACTORS + i] = offset;
    }
    memcpy(parameters, row + at->gravity, 3 * sizeof *row);
    parameters[4 + TD_FACTOR_YOUNG] = row[at->young];
    parameters[4 + TD_FACTOR_MASS] = row[at->mass];
    parameters[4 + TD_FACTOR_DAMPING] = row[at->damping];
    TD_TRY(td_state_restore(model, state, error));
    td_constraint_measure(model, state);
    td_monitor_forget(model, state);
    if (row[at->known] != 0)
    {
        kept[TD_MONITOR_MOST] = row[at->most];
        kept[TD_MONITOR_GAIN] = row[at->gain];
        model->bodies[0].ops->energy(model, &model->bodies[0], state, &kept[TD_MONITOR_KINETIC],
                                     &kept[TD_MONITOR_ELASTIC]);
        state->monitor->known = 1;
    }
    return TD_OK;
}
