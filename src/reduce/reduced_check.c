// SPDX-License-Identifier: Apache-2.0
// Whether a reduced body is to be trusted, after each step and at the cost of one evaluation of forces:
//
//     indicator  |K0^-1 (g_check - g)| / amplitude    g, g_check: forces of two independent choices of elements
//     distance   |what of alpha lies outside [low, high]| / amplitude
//
// Forces are compared by the displacements that they would cause at rest, K0: those of stiff modes differ most and
// matter least. (The stiffness of the moment is no better: what cables and cavities hold up is singular on its own.)
//     local      what touched places give way otherwise than at full order (reduced_dents.c)
//
// and an actuator beyond the values that it had in training, which may be far off before shapes or elements tell. The
// first tells of the error of integration over few elements; the second that the shape is none that the modes were
// made for, or that a load acts that training has not seen: its response may lie outside of all modes, where nothing
// that is reduced can see it.
#include "base/hash.h"
#include "base/log.h"
#include "reduce/reduced_body.h"

#include "base/room.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FAR    0.1  // distance that is warned of where it is not calibrated
#define SWEEPS 30   // of inverse iteration
#define BEYOND 0.05 // of the range that an actuator had in training; what is beyond by less is as good as inside

// ---------------------------------------------------------------- model

static tdStatus second_domain(tdArena *arena, tdReduced *reduced, const tdRom *rom, tdError *error)
{
    int64_t n = 0;
    for (int d = 0; d < rom->n_domains; d++)
        n += rom->domains[d].n_check;
    if (n == 0)
        return TD_OK;
    tdReduced *check = TD_TAKE(arena, tdReduced, 1);
    if (check == NULL)
        return td_fail_memory(error, "the second domain of a reduced body");
    *check = (tdReduced){.soft = reduced->soft,
                         .r = reduced->r,
                         .n_u = reduced->n_u,
                         .n = reduced->n,
                         .stride = reduced->stride,
                         .basis = reduced->basis};
    TD_TRY(td_reduced_build_domain(arena, check, rom, false, true, error));
    reduced->check = check;
    return TD_OK;
}

tdStatus td_soft_dead_loads(const tdModel *model, int body, tdArena *arena, tdDeadLoads *out, tdError *error)
{
    const tdSoft *soft = model->bodies[body].soft;
    *out = (tdDeadLoads){.what = TD_TAKE(arena, const char *, soft->n_loads),
                         .input = TD_TAKE(arena, int32_t, soft->n_loads)};
    if (out->what == NULL || out->input == NULL)
        return td_fail_memory(error, "the loads of a reduced body");
    for (int k = 0; k < soft->n_loads; k++)
    {
        int32_t input = soft->loads[k].input;
        bool known = false;
        for (int i = 0; i < out->n; i++)
            known = known || out->input[i] == input;
        if (known)
            continue;
        uint64_t hash = 0;
        for (int i = k; i < soft->n_loads; i++)
            if (soft->loads[i].input == input && !soft->loads[i].relief)
            {
                const tdSoftLoad *load = &soft->loads[i];
                hash = td_hash_mix(hash ^ td_hash_bytes(load->nodes, (size_t)load->n * sizeof *load->nodes));
                hash = td_hash_mix(hash ^ td_hash_bytes(load->force, 3 * (size_t)load->n * sizeof *load->force));
            }
        char what[300];
        snprintf(what, sizeof what, "%.250s %016" PRIx64, input < 0 ? "" : model->inputs[input].name, hash);
        out->input[out->n] = input;
        if ((out->what[out->n++] = td_arena_copy(arena, what)) == NULL)
            return td_fail_memory(error, "the loads of a reduced body");
    }
    return TD_OK;
}

// A load that training has not seen was zero there.
static tdStatus match_loads(const tdModel *model, int body, tdArena *arena, tdReduced *reduced, const tdRom *rom,
                            tdError *error)
{
    tdDeadLoads loads;
    if (rom->load_low == NULL || rom->load_high == NULL)
        return TD_OK;
    TD_TRY(td_soft_dead_loads(model, body, arena, &loads, error));
    reduced->force_input = loads.input;
    reduced->force_low = TD_TAKE(arena, double, loads.n);
    reduced->force_high = TD_TAKE(arena, double, loads.n);
    if (reduced->force_low == NULL || reduced->force_high == NULL)
        return td_fail_memory(error, "the loads of a reduced body");
    reduced->n_forces = loads.n;
    for (int i = 0; i < loads.n; i++)
        for (int k = 0; k < rom->n_loads; k++)
            if (strcmp(loads.what[i], rom->loads[k]) == 0)
            {
                reduced->force_low[i] = rom->load_low[k];
                reduced->force_high[i] = rom->load_high[k];
            }
    return TD_OK;
}

bool td_soft_drive_text(const tdModel *model, int body, int actuator, tdDrive drive, char out[TD_DRIVE_TEXT])
{
    static const char *const words[] = {
        [TD_DRIVE_EFFORT] = "effort", [TD_DRIVE_DISPLACEMENT] = "displacement", [TD_DRIVE_GAS] = "gas"};
    const tdActuator *a = &model->actuators[actuator];
    if (a->given->body != body || drive == TD_DRIVE_SERVO)
        return false;
    snprintf(out, TD_DRIVE_TEXT, "actuator %s %.250s", words[drive], a->name);
    return true;
}

// Files that were made before do not tell of actuators, and one that training did not have is not in them: neither is
// looked at.
static tdStatus match_actuators(const tdModel *model, int body, tdArena *arena, tdReduced *reduced, const tdRom *rom,
                                tdError *error)
{
    if (rom->n_loads == 0 || model->n_actuators == 0)
        return TD_OK;
    reduced->ranges = TD_TAKE(arena, tdDriveRange, model->n_actuators);
    if (reduced->ranges == NULL)
        return td_fail_memory(error, "the ranges of training");
    for (int a = 0; a < model->n_actuators; a++)
        for (int drive = TD_DRIVE_EFFORT; drive <= TD_DRIVE_GAS; drive++)
        {
            char what[TD_DRIVE_TEXT];
            bool found = !td_soft_drive_text(model, body, a, (tdDrive)drive, what);
            for (int k = 0; k < rom->n_loads && !found; k++)
                if (strcmp(what, rom->loads[k]) == 0)
                {
                    reduced->ranges[reduced->n_ranges++] =
                        (tdDriveRange){a, (tdDrive)drive, rom->load_low[k], rom->load_high[k]};
                    found = true;
                    drive = TD_DRIVE_GAS; // one each
                }
        }
    return TD_OK;
}

tdStatus td_reduced_check_compile(tdModel *model, int body, tdReduced *reduced, const tdRom *rom, bool whole,
                                  tdError *error)
{
    tdArena *arena = &model->arena;
    TD_TRY(match_loads(model, body, arena, reduced, rom, error));
    TD_TRY(match_actuators(model, body, arena, reduced, rom, error));
    int r = reduced->r;
    reduced->slope = rom->indicator_slope;
    reduced->offset = rom->indicator_offset;
    reduced->threshold = rom->indicator_threshold;
    reduced->far = rom->distance_threshold > 0 ? rom->distance_threshold : FAR;
    reduced->free_modes = rom->frame == TD_FRAME_TRANSLATION ? 3 : 0;
    if (rom->low == NULL || rom->high == NULL || reduced->free_modes >= r)
        return TD_OK;
    reduced->low = TD_TAKE(arena, double, r);
    reduced->high = TD_TAKE(arena, double, r);
    if (reduced->low == NULL || reduced->high == NULL)
        return td_fail_memory(error, "the ranges of training");
    memcpy(reduced->low, rom->low, (size_t)r * sizeof(double));
    memcpy(reduced->high, rom->high, (size_t)r * sizeof(double));
    double sum = 0;
    for (int i = reduced->free_modes; i < r; i++)
    {
        double most = fmax(fabs(rom->low[i]), fabs(rom->high[i]));
        sum += most * most;
    }
    reduced->amplitude = sqrt(sum);
    // Over all elements there is no error of integration.
    return whole || !(sum > 0) ? TD_OK : second_domain(arena, reduced, rom, error);
}

// ---------------------------------------------------------------- state

// L L' = K0 over the first choice of elements. The shape at rest is no part of the state: nothing is left of it.
static bool factor_rest(const tdModel *model, const tdReduced *reduced, tdReducedState *mine, const tdState *state)
{
    memset(mine->at, 0, (size_t)reduced->n * sizeof *mine->at);
    td_reduced_gradients(reduced, mine, state, true);
    td_reduced_domain_forces(model, reduced, mine, state, mine->check_force, mine->K);
    mine->current = false;
    double most = 0;
    for (int i = 0; i < reduced->r; i++)
        most = fmax(most, mine->K[i * (int64_t)(reduced->stride + 1)]);
    for (int i = 0; i < reduced->free_modes; i++) // nothing resists a translation, and none is looked at
        mine->K[i * (int64_t)(reduced->stride + 1)] += most;
    return td_reduced_kernels(state->isa)->cholesky(reduced->r, reduced->stride, mine->K, mine->check_L);
}

// How fast the slowest shape dies out: omega^2 is the least eigenvalue of K0 x = omega^2 M x, by inverse iteration, and
// backward Euler damps as a stiffness damping of h/2 does. What a frame carries has no M of its own: 0, nothing is
// remembered.
static double find_forgets(const tdModel *model, const tdReduced *reduced, const tdReducedState *mine,
                           const tdState *state)
{
    double *x = mine->check->at, *y = mine->check->sum, ratio = 0;
    if (reduced->M == NULL || reduced->floating != NULL || model->scheme.method == TD_METHOD_STATIC)
        return 0;
    for (int i = 0; i < reduced->n; i++)
        x[i] = i < reduced->r && i >= reduced->free_modes;
    for (int k = 0; k < SWEEPS; k++)
    {
        double with = 0, size = 0;
        memset(y, 0, (size_t)reduced->n * sizeof *y);
        td_reduced_multiply_add(reduced->n, reduced->n, reduced->stride, 1, reduced->M, x, y);
        for (int i = 0; i < reduced->r; i++)
            with += x[i] * y[i];
        td_reduced_kernels(state->isa)->solve(reduced->r, reduced->stride, mine->check_L, 1, 0, y);
        for (int i = 0; i < reduced->free_modes; i++)
            y[i] = 0;
        for (int i = 0; i < reduced->r; i++)
            size += y[i] * y[i];
        if (!(with > 0) || !(size > 0))
            return 0;
        ratio = 0;
        for (int i = 0; i < reduced->r; i++)
        {
            ratio += x[i] * y[i];
            x[i] = y[i] / sqrt(size);
        }
        double length = k == 0 ? reduced->r - reduced->free_modes : 1; // of the vector before
        ratio /= length;
    }
    double squared = ratio > 0 ? 1 / ratio : 0;
    double damping = reduced->soft->alpha + (reduced->soft->beta + model->scheme.h / 2) * squared;
    return damping * damping < 4 * squared ? damping / 2 : squared / damping;
}

bool td_reduced_check_take(const tdModel *model, tdArena *arena, const tdReduced *reduced, tdReducedState *mine,
                           const tdState *state)
{
    mine->excess = TD_TAKE(arena, double, 1);
    if (mine->excess == NULL)
        return false;
    if (reduced->check == NULL)
        return true;
    int64_t stride = reduced->stride;
    tdReducedState *check = mine->check = TD_TAKE(arena, tdReducedState, 1);
    mine->check_force = TD_TAKE(arena, double, stride);
    mine->check_L = TD_ROOM_TAKE(arena, double, &mine->check_L, stride *stride); // of rest: the same for all
    if (check == NULL || mine->check_force == NULL || mine->check_L == NULL)
        return false;
    check->factors = mine->factors;
    check->at = TD_TAKE(arena, double, stride);
    check->sum = TD_TAKE(arena, double, stride);
    if (check->at == NULL || check->sum == NULL || !td_room_also(arena, &check->rows, &mine->rows) ||
        !td_reduced_take_points(arena, reduced->check, check))
        return false;
    mine->checking = factor_rest(model, reduced, mine, state);
    mine->forgets = mine->checking ? find_forgets(model, reduced, mine, state) : 0;
    return true;
}

// ---------------------------------------------------------------- after a step

static double disagreement(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    const double *force = state->force + body->first;
    double *x = mine->check_force, sum = 0;
    if (!mine->checking)
        return 0;
    td_reduced_move(reduced->check, mine->check, mine->at);
    td_reduced_domain_forces(model, reduced->check, mine->check, state, x, NULL);
    for (int i = 0; i < reduced->r; i++)
        x[i] -= force[i];
    td_reduced_kernels(state->isa)->solve(reduced->r, reduced->stride, mine->check_L, 1, 0, x);
    for (int i = reduced->free_modes; i < reduced->r; i++)
        sum += x[i] * x[i];
    double size = sqrt(sum) / (reduced->amplitude * mine->factors[TD_FACTOR_YOUNG]); // L is of the factor 1
    return isfinite(size) ? size : INFINITY;
}

// How far a dead load lies outside of its range in training, in such ranges: at least 1 for one that never acted.
static double load_distance(const tdReduced *reduced, const tdState *state)
{
    double most = 0;
    for (int i = 0; i < reduced->n_forces; i++)
    {
        double low = reduced->force_low[i], high = reduced->force_high[i];
        double value = reduced->force_input[i] < 0 ? 1 : state->input[reduced->force_input[i]];
        double outside = fmax(low - value, value - high), range = fmax(high - low, fmax(fabs(low), fabs(high)));
        if (outside > 0)
            most = fmax(most, range > 0 ? outside / range : 1);
    }
    return most;
}

// How far actuators are beyond what they did in training, in ranges that they had there, and which is the farthest.
static double excess(const tdModel *model, const tdReduced *reduced, const tdState *state, const tdDriveRange **which)
{
    double most = 0;
    for (int i = 0; i < reduced->n_ranges; i++)
    {
        const tdDriveRange *range = &reduced->ranges[i];
        const tdActuator *actuator = &model->actuators[range->actuator];
        tdActuation now = td_state_actuation(model, state, range->actuator);
        // What is given need not be measured, which is done after the step; what control finds is of the step before.
        bool given = model->n_effectors == 0 && actuator->given->drive == range->drive;
        double value = given || range->drive == TD_DRIVE_GAS ? state->input_end[actuator->input]
                       : range->drive == TD_DRIVE_EFFORT     ? now.effort
                                                             : now.displacement;
        double beyond = fmax(range->low - value, value - range->high);
        double size = fmax(range->high - range->low, fmax(fabs(range->low), fabs(range->high)));
        if (size > 0 && beyond > most * size)
        {
            most = beyond / size;
            *which = range;
        }
    }
    return most;
}

// How far the shape is from all of training's: what of it lies outside the ranges of amplitudes, beside the largest
// shape.
static double distance(const tdReduced *reduced, const double *alpha, const tdState *state)
{
    double sum = 0, most = load_distance(reduced, state);
    if (reduced->low == NULL || !(reduced->amplitude > 0))
        return most;
    for (int i = reduced->free_modes; i < reduced->r; i++)
    {
        double outside = fmax(fmax(reduced->low[i] - alpha[i], alpha[i] - reduced->high[i]), 0);
        sum += outside * outside;
    }
    return fmax(most, sqrt(sum) / reduced->amplitude);
}

void td_reduced_judge(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    tdReport *report = &state->report;
    double indicator = disagreement(model, body, state), far = distance(reduced, state->q + body->first, state);
    double error = reduced->offset + (reduced->slope > 0 ? reduced->slope * indicator : 0);
    double local = td_reduced_dents_judge(model, body, state);
    const tdDriveRange *which = NULL;
    double beyond = excess(model, reduced, state, &which), h = model->scheme.h;
    beyond = fmax(beyond, mine->forgets > 0 ? mine->excess[0] * exp(-mine->forgets * h) : 0);
    mine->excess[0] = beyond;
    bool trained = !(far > reduced->far || (reduced->threshold > 0 && indicator > reduced->threshold));
    bool inside = beyond <= BEYOND;
    far = fmax(far, beyond);
    bool warning = !trained || !inside || local > TD_DENT_WARNING;
    report->rom_indicator = fmax(report->rom_indicator, indicator);
    report->rom_error = fmax(report->rom_error, error);
    report->rom_distance = fmax(report->rom_distance, far);
    report->rom_local = fmax(report->rom_local, local);
    report->rom_warning = report->rom_warning || warning;
    if (local > TD_DENT_WARNING && !mine->warned_of_touch)
        td_log(
            &state->settings, TD_LOG_WARNING,
            "t = %g s (step %lld): forces where something touches the reduced body '%s' are off by about %.0f %%; %s",
            state->time + model->scheme.h, (long long)state->steps + 1, body->name, 100 * local,
            reduced->enriched ? "contact is deeper than small dents, or at more points than are tracked"
                              : "the modes are too stiff there: 'enrichment: true' in the body adds what they lack");
    mine->warned_of_touch = mine->warned_of_touch || local > TD_DENT_WARNING;
    if (!inside && which != NULL && !mine->warned)
        td_log(&state->settings, TD_LOG_WARNING,
               "t = %g s (step %lld): actuator '%s' is %.0f %% beyond the range in which the reduced model of body "
               "'%s' was "
               "trained; keep it within %g and %g, or train with a wider range",
               state->time + model->scheme.h, (long long)state->steps + 1, model->actuators[which->actuator].name,
               100 * beyond, body->name, which->low, which->high);
    else if (!trained && !mine->warned)
        td_log(&state->settings, TD_LOG_WARNING,
               "t = %g s (step %lld): the reduced model of body '%s' leaves its training range (indicator %.3g of "
               "%.3g, distance %.3g of %.3g)",
               state->time + model->scheme.h, (long long)state->steps + 1, body->name, indicator,
               reduced->threshold > 0 ? reduced->threshold : INFINITY, far, reduced->far);
    mine->warned = mine->warned || !trained || !inside; // the report tells of each step, the log of the first
}
