// SPDX-License-Identifier: Apache-2.0
// The offline stage of reduced St. Venant-Kirchhoff bodies: a basis of vibration modes and their derivatives, and the
// polynomials of whatever basis there is.
#include "reduce/offline/job_parts.h"

#include "base/log.h"
#include "body/soft.h"
#include "reduce/modes.h"
#include "reduce/stvk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPEED 20e9 // [flop/s] of one thread that makes polynomials, for what is told in advance

// ---------------------------------------------------------------- plan

// Inputs that move held coordinates, which are columns too.
static int count_moved(const tdModel *model, const tdSoft *soft)
{
    int n = 0;
    for (int input = -1; input < model->n_inputs; input++)
        for (int32_t k = 0; k < soft->n_driven; k++)
            if (soft->driven[k].input == input)
            {
                n++;
                break;
            }
    return n;
}

static tdStatus check_law(const tdModel *model, int body, tdError *error)
{
    const tdSceneBody *given = &model->scene.bodies[body];
    for (int k = -1; k < given->n_materials; k++)
    {
        const tdSceneMaterial *material = k < 0 ? &given->material : &given->materials[k];
        if (material->line != 0 && (material->law != TD_LAW_STVK || material->n_prony > 0))
            return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, material->line, "material.law",
                              "found '%s'%s, and forces are polynomials with the law 'stvk' alone; change the law, or "
                              "reduce by 'kind: domains'",
                              td_scene_law(material->law), material->n_prony > 0 ? " with viscosity" : "");
    }
    return TD_OK;
}

tdStatus td_job_stvk_plan(tdJob *job, tdError *error)
{
    const tdModel *model = job->model;
    const tdSceneReduction *given = &model->scene.reduction;
    const tdSoft *soft = model->bodies[given->body].soft;
    bool modes = given->basis == TD_BASIS_MODES;
    int columns = (modes ? given->columns : given->max_modes) + count_moved(model, soft);
    TD_TRY(check_law(model, given->body, error));
    tdError why = {0};
    tdStatus status = td_stvk_check(soft, columns, (double)given->memory, &why);
    if (status != TD_OK)
        return td_fail_at(error, status, model->scene.file, given->line, "reduction", "%.400s (%s, memory)",
                          why.message, modes ? "columns" : "max_modes");
    tdStvkCost cost = td_stvk_cost(soft, columns);
    td_log(
        &job->task->settings, TD_LOG_INFO,
        "polynomials of %s%d columns from %lld elements: %.3g Gflop, about %.2g s on one core; %.3g MB of memory while "
        "they are made, %.3g MB while they run",
        modes ? "" : "up to ", columns, (long long)soft->elements, 1e-9 * cost.flops, cost.flops / SPEED,
        1e-6 * cost.bytes, 1e-6 * cost.kept);
    return TD_OK;
}

// ---------------------------------------------------------------- polynomials

static tdStatus copy(tdArena *arena, const double *from, int64_t n, double **to, tdError *error)
{
    *to = TD_TAKE(arena, double, n);
    if (*to == NULL)
        return td_fail_memory(error, "the polynomials");
    memcpy(*to, from, (size_t)n * sizeof(double));
    return TD_OK;
}

tdStatus td_job_polynomials(tdJob *job, tdError *error)
{
    const tdScene *scene = &job->model->scene;
    const tdSceneReduction *given = &scene->reduction;
    const tdSoft *soft = job->model->bodies[given->body].soft;
    tdRom *rom = &job->rom;
    int n = rom->r + rom->n_u;
    td_job_begin(job, TD_REDUCE_POLYNOMIALS, job->training, 1);
    double *U = td_take((size_t)job->trainee.n, (size_t)n * sizeof *U);
    if (U == NULL)
        return td_fail_memory(error, "the basis");
    for (int64_t i = 0; i < job->trainee.n; i++)
    {
        memcpy(U + i * n, rom->phi + i * rom->r, (size_t)rom->r * sizeof *U);
        for (int k = 0; k < rom->n_u; k++)
            U[i * n + rom->r + k] = rom->psi[i * rom->n_u + k];
    }
    tdStvk stvk;
    tdError why = {0};
    tdStatus status = td_stvk_create(soft, job->tasks, n, U, (double)given->memory, &stvk, &why);
    free(U);
    if (status != TD_OK)
        return td_fail_at(error, status, scene->file, given->line, "reduction", "%.480s", why.message);
    status = copy(&job->round, stvk.P, td_stvk_pairs(n), &rom->P, error);
    if (status == TD_OK)
        status = copy(&job->round, stvk.Q, td_stvk_triples(n), &rom->Q, error);
    if (status == TD_OK)
        status = copy(&job->round, stvk.S, td_stvk_quadruples(n), &rom->S, error);
    td_stvk_free(&stvk);
    job->report->elements = soft->elements;
    job->report->polynomial_bytes = td_stvk_cost(soft, n).kept;
    td_job_progress(job, 1);
    return status;
}
