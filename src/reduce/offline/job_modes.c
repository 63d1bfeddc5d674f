// SPDX-License-Identifier: Apache-2.0
// Vibration modes in the basis: alone, with their derivatives; or beside the modes of snapshots, for the waves that no
// equilibrium has. Elements are chosen for them by their forces in random vibrations,
//
//     alone     q = q0 + sum_i p_i psi_i + 1/2 sum_ij p_i p_j psi_ij        p_i = p_1 lambda_1 / lambda_i x
//     beside    q = snapshot + sum_i p_i psi_i                              x random in [-1, 1]
//
// as large as a load would make them that excites all modes alike.
#include "reduce/offline/job_parts.h"

#include "base/hash.h"
#include "body/soft.h"
#include "reduce/modes.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPENDENT     1e-3 // part of a mode that the modes before do not hold, below which it is left out
#define BESIDE        0.2  // size of the first vibration beside that of the snapshots
#define STATES        4    // random ones for each vibration mode,
#define FEWEST_STATES 16
#define MOST_STATES   400

static double share(uint64_t seed, int64_t state, int i) // in [-1, 1]
{
    uint64_t bits = td_hash_mix(td_hash_mix(seed + 0x6d6f646573U) + ((uint64_t)state << 20) + (uint64_t)i);
    return (double)(bits >> 11) * 0x1p-52 - 1;
}

static int count_states(int modes)
{
    int n = STATES * modes < FEWEST_STATES ? FEWEST_STATES : STATES * modes;
    return n < MOST_STATES ? n : MOST_STATES;
}

// ---------------------------------------------------------------- alone

static tdStatus take_basis(tdJob *job, int r, int modes, int states, tdError *error)
{
    tdRom *rom = &job->rom;
    tdArena *arena = &job->round;
    rom->r = rom->n_sigma = r;
    rom->n_lambda = modes;
    job->n_k = states;
    rom->phi = TD_TAKE(arena, double, job->trainee.n *r);
    rom->sigma = TD_TAKE(arena, double, r);
    rom->lambda = TD_TAKE(arena, double, modes);
    rom->low = TD_TAKE(arena, double, r);
    rom->high = TD_TAKE(arena, double, r);
    rom->spread = TD_TAKE(arena, double, r);
    job->alpha = TD_TAKE(arena, double, job->n_k *r);
    job->u = TD_TAKE(arena, double, job->n_k *(job->trainee.n_u + 1));
    if (rom->phi == NULL || rom->sigma == NULL || rom->lambda == NULL || rom->low == NULL || rom->high == NULL ||
        rom->spread == NULL || job->alpha == NULL || job->u == NULL)
        return td_fail_memory(error, "the modes");
    return TD_OK;
}

// alpha = Phi' d
static void project(const tdJob *job, const double *d, double *alpha)
{
    int r = job->rom.r;
    for (int64_t i = 0; i < job->trainee.n; i++)
        for (int j = 0; j < r; j++)
            alpha[j] += job->rom.phi[i * r + j] * d[i];
}

static tdStatus random_states(tdJob *job, const tdModes *modes, tdError *error)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    const tdSoft *soft = job->moving->bodies[given->body].soft;
    int n = (int)modes->n, k = modes->k;
    double *d = td_take((size_t)n, sizeof *d), *p = td_take((size_t)k, sizeof *p);
    tdStatus status = d == NULL || p == NULL ? td_fail_memory(error, "the states of training") : TD_OK;
    double first = td_modes_amplitude(modes, soft, given->amplitude);
    for (int64_t s = 0; s < job->n_k && status == TD_OK; s++)
    {
        memset(d, 0, (size_t)n * sizeof *d);
        for (int i = 0; i < k; i++)
        {
            p[i] = first * modes->lambda[0] / modes->lambda[i] * share(given->seed, s, i);
            cblas_daxpy(n, p[i], modes->psi + (int64_t)i * n, 1, d, 1);
        }
        for (int j = 0, c = 0; j < modes->k2; j++)
            for (int i = 0; i <= j; i++, c++)
                cblas_daxpy(n, (i == j ? 0.5 : 1) * p[i] * p[j], modes->derived + (int64_t)c * n, 1, d, 1);
        project(job, d, job->alpha + s * job->rom.r);
    }
    free(d);
    free(p);
    return status;
}

static tdStatus make_basis(tdJob *job, tdError *error)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    const tdSoft *soft = job->moving->bodies[given->body].soft;
    const tdModesSettings wanted = {given->modes, given->derivatives, (double)given->memory};
    tdRom *rom = &job->rom;
    tdModes modes;
    // Of the moving model, which has the supports of the scene and no others.
    tdStatus status = td_modes(job->moving, given->body, &job->task->settings, &wanted, &modes, error);
    if (status == TD_OK)
    {
        memcpy(rom->lambda, modes.lambda, (size_t)modes.k * sizeof(double));
        td_job_progress(job, 1);
        status = td_modes_basis(&modes, soft, job->tasks, given->columns, given->amplitude, TD_ORTHONORMAL_PLAIN,
                                rom->phi, rom->sigma, error);
    }
    for (int64_t i = 0; status == TD_OK && i < job->trainee.n * rom->r; i++)
        rom->phi[i] *= job->trainee.loose[i / rom->r];
    if (status == TD_OK)
        status = random_states(job, &modes, error);
    td_modes_free(&modes);
    return status;
}

// Elements are chosen by these states, and nothing else; for polynomials they are the range of the amplitudes.
static tdStatus plan(tdJob *job, int *states, tdError *error)
{
    const tdScene *scene = &job->model->scene;
    *states = count_states(scene->reduction.columns);
    if (scene->reduction.kind == TD_REDUCTION_DOMAINS && job->trainee.n_u > 0)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, scene->reduction.line, "reduction.basis",
                          "vibrations do not represent the forces when input '%s' moves nodes; use basis snapshots",
                          job->trainee.inputs[0]);
    if (job->rom.frame == TD_FRAME_TRANSLATION)
        return td_fail_at(error, TD_ERROR_INPUT, scene->file, scene->reduction.line, "reduction.frame",
                          "vibration modes of a body that nothing holds are carried by a free frame; remove 'frame', "
                          "or use 'basis: snapshots'");
    return TD_OK;
}

tdStatus td_job_modes(tdJob *job, tdError *error)
{
    const tdScene *scene = &job->model->scene;
    const tdSceneReduction *given = &scene->reduction;
    tdRom *rom = &job->rom;
    int states = 0;
    TD_TRY(plan(job, &states, error));
    const int64_t counts[] = {given->modes, given->derivatives,  given->columns, given->memory,
                              states,       (int64_t)given->seed};
    job->basis = td_work_key(job->equilibria, counts, sizeof counts);
    job->basis = job->training = td_work_key(job->basis, &given->amplitude, sizeof given->amplitude);
    td_job_begin(job, TD_REDUCE_MODES, job->basis, 2);
    TD_TRY(take_basis(job, given->columns, given->modes, states, error));
    const tdWorkPart pieces[] = {{rom->phi, (size_t)(job->trainee.n * rom->r) * sizeof(double)},
                                 {rom->sigma, (size_t)rom->r * sizeof(double)},
                                 {rom->lambda, (size_t)rom->n_lambda * sizeof(double)},
                                 {job->alpha, (size_t)(job->n_k * rom->r) * sizeof(double)}};
    job->report->reused[TD_REDUCE_MODES] = td_work_load(&job->work, job->basis, "modes.part", 4, pieces);
    if (job->report->reused[TD_REDUCE_MODES] == 0)
    {
        tdError why = {0};
        tdStatus status = make_basis(job, &why);
        if (status != TD_OK)
            return td_fail_at(error, status, scene->file, given->line, "reduction", "%.480s", why.message);
        TD_TRY(td_work_save(&job->work, job->basis, "modes.part", 4, pieces, error));
    }
    td_job_progress(job, 1);
    td_job_ranges(job);
    rom->pod_error = NAN; // no snapshots to leave behind
    rom->pod_tolerance = NAN;
    job->report->modes = rom->r;
    job->report->pod_error = NAN;
    job->report->vibration_modes = rom->n_lambda;
    job->report->frequency = td_modes_frequency(rom->lambda[0]);
    return TD_OK;
}

// ---------------------------------------------------------------- beside others

tdStatus td_job_vibrations_create(tdJob *job, int r, const double *phi, tdJobVibrations *out, tdError *error)
{
    const tdScene *scene = &job->model->scene;
    const tdSceneReduction *given = &scene->reduction;
    const tdModesSettings wanted = {given->modes, 0, (double)given->memory};
    tdError why = {0};
    int n = (int)job->trainee.n;
    *out = (tdJobVibrations){.modes = td_take(1, sizeof(tdModes))};
    if (out->modes == NULL)
        return td_fail_memory(error, "the vibration modes");
    tdStatus status = td_modes(job->moving, given->body, &job->task->settings, &wanted, out->modes, &why);
    if (status != TD_OK)
        return td_fail_at(error, status, scene->file, given->line, "reduction.modes", "%.480s", why.message);
    out->k = out->modes->k;
    out->states = count_states(out->k);
    out->column = td_take((size_t)n, (size_t)out->k * sizeof *out->column);
    double *sum = td_take((size_t)(r + out->k), sizeof *sum);
    for (int i = 0; i < out->k && out->column != NULL && sum != NULL; i++)
    {
        double *x = out->column + (int64_t)out->n * n, *psi = out->modes->psi + (int64_t)i * n;
        td_trainee_steady(&job->trainee, psi);
        cblas_dscal(n, 1 / cblas_dnrm2(n, psi, 1), psi, 1);
        memcpy(x, psi, (size_t)n * sizeof *x);
        for (int twice = 0; twice < 2; twice++)
        {
            cblas_dgemv(CblasRowMajor, CblasTrans, n, r, 1, phi, r, x, 1, 0, sum, 1);
            cblas_dgemv(CblasRowMajor, CblasNoTrans, n, r, -1, phi, r, sum, 1, 1, x, 1);
            if (out->n > 0)
            {
                cblas_dgemv(CblasColMajor, CblasTrans, n, out->n, 1, out->column, n, x, 1, 0, sum, 1);
                cblas_dgemv(CblasColMajor, CblasNoTrans, n, out->n, -1, out->column, n, sum, 1, 1, x, 1);
            }
        }
        double length = cblas_dnrm2(n, x, 1), sign = x[cblas_idamax(n, x, 1)] < 0 ? -1 : 1;
        cblas_dscal(n, sign / length, x, 1);
        out->n += length > DEPENDENT;
    }
    status = out->column == NULL || sum == NULL ? td_fail_memory(error, "the vibration modes") : TD_OK;
    free(sum);
    return status;
}

void td_job_vibrations_free(tdJobVibrations *vibrations)
{
    if (vibrations->modes != NULL)
        td_modes_free(vibrations->modes);
    free(vibrations->modes);
    free(vibrations->column);
    *vibrations = (tdJobVibrations){0};
}

tdStatus td_job_vibrate(tdJob *job, const tdJobVibrations *vibrations, int64_t snapshots, tdError *error)
{
    int n = (int)job->trainee.n, r = job->rom.r, n_u = job->trainee.n_u;
    const double *lambda = vibrations->modes->lambda;
    double *d = td_take((size_t)n, sizeof *d), size = 0;
    if (d == NULL)
        return td_fail_memory(error, "the states of training");
    for (int64_t i = 0; i < snapshots * r; i++)
        size += job->alpha[i] * job->alpha[i];
    size = BESIDE * sqrt(size / (double)snapshots);
    for (int64_t s = 0; s < vibrations->states; s++)
    {
        int64_t base = s * snapshots / vibrations->states, at = snapshots + s;
        memset(d, 0, (size_t)n * sizeof *d);
        for (int i = 0; i < vibrations->k; i++)
            cblas_daxpy(n, size * lambda[0] / lambda[i] * share(job->model->scene.reduction.seed, s, i),
                        vibrations->modes->psi + (int64_t)i * n, 1, d, 1);
        memcpy(job->alpha + at * r, job->alpha + base * r, (size_t)r * sizeof(double));
        memcpy(job->u + at * n_u, job->u + base * n_u, (size_t)n_u * sizeof(double));
        project(job, d, job->alpha + at * r);
    }
    free(d);
    return TD_OK;
}
