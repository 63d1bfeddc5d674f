// SPDX-License-Identifier: Apache-2.0
// What of a model the GPU needs, in its own layout, and what it refuses. Nothing is left out silently: whatever acts in
// the scene is either in the plan or a reason not to make one.
#include "gpu/compile.h"

#include "body/spring.h"
#include "constraint/constraint.h"
#include "gpu/compile_parts.h"
#include "step/monitor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STILL 1e-6 // as in step/monitor.c

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
    bool place = measure->kind == TD_MEASURE_POSITION && measure->n_sets == 1 &&
                 measure->sets[0].body == td_gpu_body(model)->index;
    return place ? measure->sets : NULL;
}

static tdStatus plan_output(const tdModel *model, const tdGpuPlan *plan, tdOutputInfo info, int rows, tdGpuOutput *out,
                            tdError *error)
{
    const char *rest;
    *out = (tdGpuOutput){.count = (int32_t)info.count};
    bool other = (after(info.name, "coords", &rest) || after(info.name, "rates", &rest)) &&
                 td_model_find_body(model, rest) != td_gpu_body(model)->index;
    if (other)
        return td_gpu_refuse(model, error, info.name, "this body does not move, so it has no coordinates on the GPU");
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
    else if (after(info.name, "contacts", &rest) && plan->others > 0)
        out->kind = TD_GPU_OUT_CONTACTS;
    else if (after(info.name, "penetration", &rest) && plan->others > 0)
        out->kind = TD_GPU_OUT_PENETRATION;
    else if (after(info.name, "contact", &rest) && td_gpu_contact_pair(model, rest, &out->index))
        out->kind = TD_GPU_OUT_CONTACT;
    else if (after(info.name, "indicator", &rest))
        out->kind = TD_GPU_OUT_INDICATOR;
    else if (after(info.name, "rom_error", &rest))
        out->kind = TD_GPU_OUT_ROM_ERROR;
    else if (after(info.name, "elastic", &rest))
        out->kind = TD_GPU_OUT_ELASTIC;
    else if (seen_point(model, info.name) != NULL)
        *out = (tdGpuOutput){TD_GPU_OUT_POINT, rows, 3, 0};
    else
        return td_gpu_refuse(
            model, error, info.name,
            "the GPU does not support this output; it has time, probe, effector (positions), input, effort, "
            "displacement, coords, rates, kinetic, elastic, contact, contacts, penetration, indicator and "
            "rom_error");
    return TD_OK;
}

// ---------------------------------------------------------------- layout

int64_t td_gpu_reserve(tdGpuPlan *plan, int64_t count, size_t size)
{
    int64_t at = plan->bytes;
    plan->bytes = (at + count * (int64_t)size + 63) / 64 * 64;
    return at;
}

static void lay_out_row(tdGpuPlan *plan)
{
    int32_t *one[] = {&plan->at.status,  &plan->at.steps, &plan->at.doubts,  &plan->at.known,   &plan->at.kinetic,
                      &plan->at.elastic, &plan->at.most,  &plan->at.gain,    &plan->at.work,    &plan->at.force_work,
                      &plan->at.young,   &plan->at.mass,  &plan->at.damping, &plan->at.friction};
    struct
    {
        int32_t *place, count;
    } more[] = {{&plan->at.q, plan->coords},
                {&plan->at.v, plan->coords},
                {&plan->at.turn, plan->frame != 0 ? 4 : 0},
                {&plan->at.touch, plan->others > 0 ? 3 * plan->others + 2 : 0},
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

/// Whether there are two choices of elements to compare; the CPU's rule (reduce/reduced_check.c).
static bool has_check(const tdReduced *reduced)
{
    return reduced->check != NULL && reduced->amplitude > 0 && !td_reduced_polynomial(reduced);
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
    const tdReduced *reduced = td_reduced_of(td_gpu_body(model));
    plan->version = TD_GPU_VERSION;
    plan->r = reduced->r;
    plan->points = count_points(reduced);
    plan->check_points = has_check(reduced) ? count_points(reduced->check) : 0;
    plan->actuators = model->n_actuators;
    plan->inputs = model->n_inputs;
    plan->loads = reduced->n_loads;
    plan->outputs = outputs == NULL ? 0 : td_outputs_count(outputs);
    plan->width = outputs == NULL ? 0 : (int32_t)td_outputs_width(outputs);
    for (int a = 0; a < model->n_actuators; a++)
    {
        bool cavity = td_gpu_is_cavity(&model->actuators[a]);
        plan->cavities += cavity;
        plan->cable_points += cavity ? 0 : model->actuators[a].measure.n;
    }
    plan->lagged = reduced->domain.n_blocks > 0 && !td_reduced_polynomial(reduced);
    for (int b = 0; b < reduced->domain.n_blocks; b++)
    {
        int32_t law = td_gpu_law(reduced->domain.blocks[b].material.law);
        bool membrane = reduced->domain.blocks[b].material.through == TD_THROUGH_FREE;
        plan->membranes |= membrane;
        plan->general |= law >= TD_GPU_STVK || membrane;
        plan->lagged &= law == TD_GPU_LAGGED && !membrane;
    }
    if (plan->r > TD_GPU_NARROW) // tables for short forms would not fit
    {
        plan->general = 1;
        plan->lagged = 0;
    }
    int32_t segments = plan->cable_points - (plan->actuators - plan->cavities);
    plan->gathers = 2 * segments > TD_GPU_ACROSS || plan->cavities > 0;
    for (int o = 0; o < plan->outputs; o++)
        plan->point_rows += seen_point(model, td_outputs_info(outputs, o).name) != NULL ? 3 : 0;
    td_gpu_count_free(model, plan);
    lay_out_row(plan);
    int64_t r = plan->r;
    plan->bytes = (sizeof *plan + 63) / 64 * 64;
    int64_t points = (int64_t)plan->points + plan->check_points;
    plan->B = td_gpu_reserve(plan, points * 9 * r, sizeof(float));
    plan->F0 = td_gpu_reserve(plan, points * 9, sizeof(float));
    plan->point = td_gpu_reserve(plan, points, sizeof(tdGpuPoint));
    plan->volume = td_gpu_reserve(plan, plan->cavities * TD_GPU_TRIPLES(1 + r), sizeof(double));
    plan->rest = td_gpu_reserve(plan, plan->check_points > 0 ? r * r : 0, sizeof(double));
    if (td_reduced_polynomial(reduced))
        plan->polynomial = td_gpu_reserve(
            plan, polynomial_tiles(reduced->r) * polynomial_columns(reduced->r) * TD_GPU_TILE, sizeof(float));
    td_gpu_lay_out_free(plan);
    plan->K0 = td_gpu_reserve(plan, r * TD_GPU_ROW(r), sizeof(float));
    plan->M = td_gpu_reserve(plan, r * TD_GPU_ROW(r), sizeof(float));
    plan->weight = td_gpu_reserve(plan, 3 * r, sizeof(double));
    plan->load = td_gpu_reserve(plan, plan->loads * (1 + r), sizeof(double));
    plan->actuator = td_gpu_reserve(plan, plan->actuators, sizeof(tdGpuActuator));
    plan->cable = td_gpu_reserve(plan, 3 * plan->cable_points * (1 + r), sizeof(double));
    plan->segment = td_gpu_reserve(plan, 3 * plan->cable_points * r, sizeof(float));
    plan->output = td_gpu_reserve(plan, plan->outputs, sizeof(tdGpuOutput));
    plan->seen = td_gpu_reserve(plan, plan->point_rows * (1 + r), sizeof(double));
}

// ---------------------------------------------------------------- filling

static tdGpuPoint point_of(const tdMaterial *material, double weight)
{
    static const int32_t volumetric[] = {
        [TD_VOLUMETRIC_SQUARE] = TD_GPU_SQUARE, [TD_VOLUMETRIC_LOG] = TD_GPU_LOG, [TD_VOLUMETRIC_MIXED] = TD_GPU_MIXED};
    const double *p = material->parameters, *own = p + TD_PARAMETER_OWN;
    tdGpuPoint point = {.weight = (float)weight, .law = td_gpu_law(material->law)};
    int32_t membrane = material->through == TD_THROUGH_FREE ? TD_GPU_MEMBRANE : 0;
    if (point.law <= TD_GPU_STVK) // quadratic: mu and lambda
    {
        point.mu = (float)p[0];
        point.lambda = (float)p[1];
        point.law |= membrane;
        return point;
    }
    bool second = point.law == TD_GPU_MOONEY_RIVLIN;
    point.lambda = (float)material->lame[0];
    point.mu = (float)material->lame[1];
    point.kappa = (float)p[TD_PARAMETER_KAPPA];
    point.volumetric = volumetric[(int)p[TD_PARAMETER_VOLUMETRIC]];
    point.c10 = (float)(second ? own[0] : 0.5 * own[0]);
    point.c01 = (float)(second ? own[1] : 0);
    point.law |= membrane;
    return point;
}

// One point of the domain; K0 += what is constant in its tangent. K0 NULL: a point of the second choice.
static void fill_point(const tdReduced *reduced, const tdElements *block, int64_t batch, int lane, tdGpuPlan *plan,
                       int32_t to, double *K0)
{
    int r = reduced->r, stride = reduced->stride;
    const double *B = reduced->B + 36 * (int64_t)stride * (block->first + batch), *p = block->material.parameters;
    double w = block->weight[4 * batch + lane];
    float *out = ARRAY(plan, float, B) + (int64_t)to * 9 * r;
    for (int c = 0; c < 9; c++)
    {
        const double *row = B + (4 * (int64_t)c + lane) * stride;
        for (int j = 0; j < r; j++)
            out[c * r + j] = (float)row[j];
        for (int i = 0; i < r && plan->general == 0 && K0 != NULL; i++)
            for (int j = 0; j < r; j++)
                K0[i * r + j] += (plan->lagged ? 1 : 2) * w * p[0] * row[i] * row[j];
        ARRAY(plan, float, F0)
        [9 * to + c] = (float)reduced->F0[36 * (block->first + batch) + 4 * (int64_t)c + lane];
    }
    ARRAY(plan, tdGpuPoint, point)[to] = point_of(&block->material, w);
}

// All points of a domain, from `at` on.
static void fill_domain(const tdReduced *reduced, tdGpuPlan *plan, int32_t at, double *K0)
{
    for (int b = 0; b < reduced->domain.n_blocks; b++)
    {
        const tdElements *block = &reduced->domain.blocks[b];
        int64_t batches = (int64_t)block->batches * td_element_shape[block->kind].points;
        for (int64_t k = 0; k < 4 * batches; k++)
            if (block->weight[k] > 0)
                fill_point(reduced, block, k / 4, (int)(k % 4), plan, at++, K0);
    }
}

// K += the stiffness of a point at rest, where every law is Hooke's: 2 mu sym : sym + lambda tr tr.
static void add_at_rest(const tdGpuPoint *point, int r, const float *B, double *K)
{
    double lambda = point->lambda; // of a membrane that of plane stress
    if ((point->law & TD_GPU_MEMBRANE) != 0)
        lambda = 2 * lambda * point->mu / (lambda + 2 * point->mu);
    for (int i = 0; i < r; i++)
        for (int j = 0; j <= i; j++)
        {
            double sum = 0, trace[2] = {0, 0};
            for (int c = 0; c < 9; c++)
            {
                int turned = 3 * (c % 3) + c / 3;
                sum += point->mu * (double)B[c * r + i] * ((double)B[c * r + j] + B[turned * r + j]);
            }
            for (int c = 0; c < 9; c += 4)
            {
                trace[0] += B[c * r + i];
                trace[1] += B[c * r + j];
            }
            K[i * r + j] += point->weight * (sum + lambda * trace[0] * trace[1]);
        }
}

// X = K^-1 / size, K n x n with its lower triangle alone, which becomes L. False: K is not definite.
static bool invert(int n, double *K, double size, double *X)
{
    for (int k = 0; k < n; k++)
        for (int i = k; i < n; i++)
        {
            double sum = K[i * n + k];
            for (int j = 0; j < k; j++)
                sum -= K[i * n + j] * K[k * n + j];
            if (i == k && !(sum > 0))
                return false;
            K[i * n + k] = i == k ? sqrt(sum) : sum / K[k * n + k];
        }
    for (int c = 0; c < n; c++)
    {
        double *x = X + c * n; // symmetric: its rows are its columns
        for (int i = 0; i < n; i++)
        {
            x[i] = i == c ? 1 / size : 0;
            for (int j = 0; j < i; j++)
                x[i] -= K[i * n + j] * x[j];
            x[i] /= K[i * n + i];
        }
        for (int i = n - 1; i >= 0; i--)
        {
            for (int j = i + 1; j < n; j++)
                x[i] -= K[j * n + i] * x[j];
            x[i] /= K[i * n + i];
        }
    }
    return true;
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
    const tdReduced *reduced = td_reduced_of(td_gpu_body(model));
    int r = plan->r, stride = reduced->stride;
    double *K0 = td_take((size_t)r * (size_t)r, sizeof *K0);
    if (K0 == NULL)
        return td_fail_memory(error, "the plan of a GPU");
    fill_domain(reduced, plan, 0, K0);
    for (int i = 0; i < r; i++)
        for (int j = 0; j < r; j++)
        {
            ARRAY(plan, float, K0)[i * TD_GPU_ROW(r) + j] = (float)K0[i * r + j];
            ARRAY(plan, float, M)[i * TD_GPU_ROW(r) + j] = (float)reduced->M[i * stride + j];
        }
    if (plan->check_points > 0)
    {
        fill_domain(reduced->check, plan, plan->points, NULL);
        memset(K0, 0, (size_t)r * (size_t)r * sizeof *K0);
        for (int32_t e = 0; e < plan->points; e++)
            add_at_rest(ARRAY(plan, tdGpuPoint, point) + e, r, ARRAY(plan, float, B) + (int64_t)e * 9 * r, K0);
        if (!invert(r, K0, reduced->amplitude, ARRAY(plan, double, rest)))
            plan->check_points = 0; // as on the CPU, nothing is checked
    }
    free(K0);
    if (plan->polynomial != 0)
        fill_polynomial(&reduced->stvk, plan);
    for (int c = 0; c < 3 && reduced->floating == NULL; c++)
        for (int i = 0; i < r; i++)
            ARRAY(plan, double, weight)[c * r + i] = reduced->weight[c * reduced->n + i];
    for (int k = 0; k < plan->loads; k++)
    {
        double *load = ARRAY(plan, double, load) + k * (1 + (int64_t)r);
        load[0] = reduced->loads[k].input;
        if (reduced->floating == NULL) // else in the frame (frame.h)
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
    const tdReduced *reduced = td_reduced_of(td_gpu_body(model));
    int32_t first = 0, cavities = 0;
    for (int a = 0; a < plan->actuators; a++)
    {
        const tdActuator *from = &model->actuators[a];
        const tdSceneActuator *given = from->given;
        bool cavity = td_gpu_is_cavity(from);
        ARRAY(plan, tdGpuActuator, actuator)
        [a] = (tdGpuActuator){.input = from->input,
                              .drive = given->drive == TD_DRIVE_EFFORT ? TD_GPU_EFFORT : TD_GPU_DISPLACEMENT,
                              .first = cavity ? cavities : first,
                              .points = cavity ? 0 : from->measure.n,
                              .cavity = cavity,
                              .sign = from->sign,
                              .rest = from->rest_value,
                              .compliance = from->compliance,
                              .size = from->size,
                              .effort = {given->effort[0], given->effort[1]},
                              .displacement = {given->displacement[0], given->displacement[1]},
                              .effort_rate = given->effort_rate,
                              .displacement_rate = given->displacement_rate};
        if (cavity)
        {
            const tdReducedSet *own = from->measure.sets[0].data;
            int64_t size = TD_GPU_TRIPLES(1 + (int64_t)plan->r);
            memcpy(ARRAY(plan, double, volume) + cavities++ * size, own->T, (size_t)size * sizeof(double));
            continue;
        }
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
        TD_TRY(plan_output(model, plan, info, rows, ARRAY(plan, tdGpuOutput, output) + o, error));
        plan->trusts |= ARRAY(plan, tdGpuOutput, output)[o].kind >= TD_GPU_OUT_INDICATOR;
        const tdPointSet *point = seen_point(model, info.name);
        if (point == NULL)
            continue;
        fill_points(td_reduced_of(td_gpu_body(model)), point,
                    ARRAY(plan, double, seen) + rows * (1 + (int64_t)plan->r));
        rows += 3;
    }
    return TD_OK;
}

tdStatus td_gpu_compile(const tdModel *model, const tdSettings *settings, const tdOutputs *outputs, tdGpuPlan **out,
                        tdError *error)
{
    tdGpuPlan head = {0};
    *out = NULL;
    TD_TRY(td_gpu_check(model, error));
    const tdReduced *reduced = td_reduced_of(td_gpu_body(model));
    lay_out(model, outputs, &head);
    head.precision = settings->rom_precision == TD_ROM_DOUBLE   ? TD_GPU_SINGLE
                     : settings->rom_precision == TD_ROM_SINGLE ? TD_GPU_HALF
                                                                : TD_GPU_SPLIT;
    head.h = model->scheme.h;
    head.alpha = reduced->soft->alpha;
    head.beta = reduced->soft->beta;
    head.slope = reduced->slope > 0 ? reduced->slope : 0;
    head.offset = reduced->offset;
    double still = STILL * model->size / model->scheme.h;
    head.noise = td_gpu_body(model)->mass * still * still;
    tdGpuPlan *plan = td_take(1, (size_t)head.bytes);
    if (plan == NULL)
        return td_fail_memory(error, "the plan of a GPU");
    *plan = head;
    tdStatus status = fill_body(model, plan, error);
    fill_actuators(model, plan);
    td_gpu_fill_free(model, plan);
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
    const tdBody *body = td_gpu_body(model);
    const double *factors = td_state_factors(state, body->index),
                 *kept = state->monitor->kept + TD_MONITOR_NUMBERS * (int64_t)body->index;
    memset(row, 0, (size_t)at->width * sizeof *row);
    row[at->steps] = (double)state->steps;
    row[at->known] = state->monitor->known ? 1 : 0;
    row[at->kinetic] = kept[TD_MONITOR_KINETIC];
    row[at->elastic] = kept[TD_MONITOR_ELASTIC];
    row[at->most] = kept[TD_MONITOR_MOST];
    row[at->gain] = kept[TD_MONITOR_GAIN];
    memcpy(row + at->q, state->q + body->first, (size_t)plan->coords * sizeof *row);
    memcpy(row + at->v, state->v + body->first, (size_t)plan->coords * sizeof *row);
    if (plan->frame != 0)
        memcpy(row + at->turn, td_reduced_mine(body, state)->floating->turn, 4 * sizeof *row);
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
    row[at->friction] = td_state_friction(state);
}

tdStatus td_gpu_state(const tdModel *model, const tdGpuPlan *plan, const double *row, tdState *state, tdError *error)
{
    const tdGpuRow *at = &plan->at;
    tdConstraintState *cs = state->constraint;
    const tdBody *body = td_gpu_body(model);
    double *kept = state->monitor->kept + TD_MONITOR_NUMBERS * (int64_t)body->index, *parameters = state->parameters;
    double *factors = parameters + 4 + TD_FACTORS * (int64_t)body->index;
    state->steps = (int64_t)row[at->steps];
    state->time = (double)state->steps * model->scheme.h;
    memcpy(state->q + body->first, row + at->q, (size_t)plan->coords * sizeof *row);
    memcpy(state->v + body->first, row + at->v, (size_t)plan->coords * sizeof *row);
    if (plan->frame != 0)
        memcpy(td_reduced_mine(body, state)->floating->turn, row + at->turn, 4 * sizeof *row);
    for (int a = 0; a < plan->actuators; a++)
        cs->effort[a] = row[at->effort + a];
    for (int i = 0; i < plan->inputs; i++)
    {
        double set = row[at->override_ + i], offset = row[at->offset + i];
        state->override[i] = set;
        state->input[i] = state->input_end[i] = (isnan(set) ? td_input_value(model, i, state->time) : set) + offset;
        parameters[4 + TD_FACTORS * (int64_t)model->n_bodies + i] = offset;
    }
    memcpy(parameters, row + at->gravity, 3 * sizeof *row);
    parameters[3] = row[at->friction];
    factors[TD_FACTOR_YOUNG] = row[at->young];
    factors[TD_FACTOR_MASS] = row[at->mass];
    factors[TD_FACTOR_DAMPING] = row[at->damping];
    TD_TRY(td_state_restore(model, state, error));
    td_constraint_measure(model, state);
    td_monitor_forget(model, state);
    if (row[at->known] != 0)
    {
        kept[TD_MONITOR_MOST] = row[at->most];
        kept[TD_MONITOR_GAIN] = row[at->gain];
        body->ops->energy(model, body, state, &kept[TD_MONITOR_KINETIC], &kept[TD_MONITOR_ELASTIC]);
        state->monitor->known = 1;
    }
    return TD_OK;
}
