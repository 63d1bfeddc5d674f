// SPDX-License-Identifier: Apache-2.0
// Training proper: snapshots -> modes -> forces of elements -> reduced integration domains.
#include "reduce/offline/job_parts.h"

#include "body/soft.h"
#include "reduce/offline/ecsw.h"
#include "reduce/offline/pod.h"
#include "reduce/reduced.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_SIGMA    1e-10 // relative to the largest: what falls below is rounding
#define SKETCH_ROWS   1024  // of the training matrix, at most: some for each element that is chosen
#define FEWEST_SKETCH 256

// ---------------------------------------------------------------- modes

// Snapshots of all trajectories through `use`, in order.
static tdStatus each_trajectory(tdJob *job,
                                tdStatus (*use)(tdJob *job, const tdSnapshots *found, void *user, tdError *error),
                                void *user, tdError *error)
{
    tdStatus status = TD_OK;
    for (int t = 0; t < job->path.n_trajectories && status == TD_OK; t++)
    {
        tdJobTrajectory data;
        TD_TRY(td_job_take(job, &job->path, t, false, &data, error));
        status = td_job_load(job, "snapshots", &job->path, t, false, &data)
                     ? use(job, &data.found, user, error)
                     : td_fail_at(error, TD_ERROR_IO, job->work.folder, 0, NULL,
                                  "snapshots that were there are gone; start again with --restart");
        td_job_drop(&data);
    }
    return status;
}

static tdStatus count_snapshots(tdJob *job, const tdSnapshots *found, void *user, tdError *error)
{
    (void)user;
    (void)error;
    tdReduceReport *report = job->report;
    for (int64_t k = 0; k < found->reached; k++)
        report->weight_snapshots += job->path.weight[found->place[k]] < 1;
    if (found->failed > 0 && report->failures == 0)
        snprintf(report->why, sizeof report->why, "%s", found->why);
    report->failures += found->failed;
    job->n_k += found->reached;
    return TD_OK;
}

static tdStatus add_snapshots(tdJob *job, const tdSnapshots *found, void *user, tdError *error)
{
    TD_TRY(td_pod_add(user, job->tasks, (int)found->reached, found->d, error));
    td_job_progress(job, 1); // too short a phase to be stopped within
    return TD_OK;
}

// alpha = Phi' d
static tdStatus project_snapshots(tdJob *job, const tdSnapshots *found, void *user, tdError *error)
{
    (void)error;
    int64_t *at = user, n = job->trainee.n;
    int r = job->rom.r, n_u = job->trainee.n_u;
    for (int64_t k = 0; k < found->reached; k++, (*at)++)
    {
        double *alpha = job->alpha + *at * r;
        const double *d = found->d + k * n;
        memset(alpha, 0, (size_t)r * sizeof *alpha);
        for (int64_t i = 0; i < n; i++)
            for (int j = 0; j < r; j++)
                alpha[j] += job->rom.phi[i * r + j] * d[i];
        memcpy(job->u + *at * n_u, found->u + k * n_u, (size_t)n_u * sizeof(double));
    }
    return TD_OK;
}

// Ranges of the amplitudes in training.
static void measure_ranges(tdJob *job)
{
    tdRom *rom = &job->rom;
    for (int j = 0; j < rom->r; j++)
    {
        double sum = 0, squares = 0;
        rom->low[j] = rom->high[j] = 0;
        for (int64_t k = 0; k < job->n_k; k++)
        {
            double a = job->alpha[k * rom->r + j];
            rom->low[j] = fmin(rom->low[j], a);
            rom->high[j] = fmax(rom->high[j], a);
            sum += a;
        }
        for (int64_t k = 0; k < job->n_k; k++)
        {
            double off = job->alpha[k * rom->r + j] - sum / (double)job->n_k;
            squares += off * off;
        }
        rom->spread[j] = sqrt(squares / (double)job->n_k);
    }
}

/// What comes before the arrays of the part "basis".
typedef struct BasisHead
{
    int64_t r, n_sigma;
    double pod_error;
} BasisHead;

static tdStatus take_basis(tdJob *job, const BasisHead *head, tdError *error)
{
    tdRom *rom = &job->rom;
    tdArena *arena = &job->arena;
    rom->r = (int)head->r;
    rom->n_sigma = (int)head->n_sigma;
    rom->pod_error = head->pod_error;
    rom->phi = TD_TAKE(arena, double, job->trainee.n * rom->r);
    rom->sigma = TD_TAKE(arena, double, rom->n_sigma);
    job->alpha = TD_TAKE(arena, double, job->n_k * rom->r);
    job->u = TD_TAKE(arena, double, job->n_k *(job->trainee.n_u + 1));
    rom->low = TD_TAKE(arena, double, rom->r);
    rom->high = TD_TAKE(arena, double, rom->r);
    rom->spread = TD_TAKE(arena, double, rom->r);
    if (rom->phi == NULL || rom->sigma == NULL || job->alpha == NULL || job->u == NULL || rom->low == NULL ||
        rom->high == NULL || rom->spread == NULL)
        return td_fail_memory(error, "the modes");
    return TD_OK;
}

static int list_basis(const tdJob *job, tdWorkPart pieces[4])
{
    const tdRom *rom = &job->rom;
    pieces[0] = (tdWorkPart){rom->phi, (size_t)(job->trainee.n * rom->r) * sizeof(double)};
    pieces[1] = (tdWorkPart){rom->sigma, (size_t)rom->n_sigma * sizeof(double)};
    pieces[2] = (tdWorkPart){job->alpha, (size_t)(job->n_k * rom->r) * sizeof(double)};
    pieces[3] = (tdWorkPart){job->u, (size_t)(job->n_k * job->trainee.n_u) * sizeof(double)};
    return 4;
}

static tdStatus decompose(tdJob *job, tdError *error)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    // Between blocks more modes are kept than will be needed, as far as a quarter of the memory goes.
    double fits = (double)given->memory / 4 / (8 * (double)job->trainee.n);
    int64_t most = job->n_k < 2 * (int64_t)given->max_modes + 64 ? job->n_k : 2 * (int64_t)given->max_modes + 64;
    most = fits < (double)most ? (int64_t)fits : most;
    most = most < 1 ? 1 : most;
    tdPod *pod = NULL;
    TD_TRY(td_pod_create(job->trainee.n, (int)most, KEPT_SIGMA, &pod, error));
    tdStatus status = each_trajectory(job, add_snapshots, pod, error);
    BasisHead head = {0};
    if (status == TD_OK)
    {
        head.n_sigma = td_pod_rank(pod);
        head.r = td_pod_modes(pod, given->pod_tolerance, &head.pod_error);
        if (head.r == 0)
            status = td_fail_at(error, TD_ERROR_NUMERIC, job->model->scene.file, given->line, "reduction",
                                "body '%s' does not move in any of the %lld snapshots; do the actuators act on it?",
                                job->model->bodies[job->trainee.body].name, (long long)job->n_k);
    }
    if (status == TD_OK && head.r > given->max_modes)
    {
        const double *sigma = td_pod_sigma(pod);
        double left = 0, all = 0;
        for (int i = 0; i < head.n_sigma; i++)
        {
            all += sigma[i] * sigma[i];
            left += i >= given->max_modes ? sigma[i] * sigma[i] : 0;
        }
        head.r = given->max_modes;
        head.pod_error = sqrt(left / all);
    }
    if (status == TD_OK)
        status = take_basis(job, &head, error);
    if (status == TD_OK)
    {
        int64_t at = 0;
        tdWorkPart pieces[4], about = {&head, sizeof head};
        memcpy(job->rom.sigma, td_pod_sigma(pod), (size_t)head.n_sigma * sizeof(double));
        td_pod_basis(pod, (int)head.r, job->rom.phi);
        for (int64_t i = 0; i < job->trainee.n * head.r; i++)
            job->rom.phi[i] *= job->trainee.loose[i / head.r]; // rounding leaves traces on held coordinates
        status = each_trajectory(job, project_snapshots, &at, error);
        int n = list_basis(job, pieces);
        if (status == TD_OK)
            status = td_work_save(&job->work, "basis.part", n, pieces, error);
        if (status == TD_OK)
            status = td_work_save(&job->work, "basis-head.part", 1, &about, error);
    }
    td_pod_free(pod);
    return status;
}

tdStatus td_job_pod(tdJob *job, tdError *error)
{
    tdReduceReport *report = job->report;
    TD_TRY(each_trajectory(job, count_snapshots, NULL, error));
    const tdScene *scene = &job->model->scene;
    if (2 * report->failures > job->path.count)
        return td_fail_at(error, TD_ERROR_NUMERIC, scene->file, scene->reduction.line, "reduction",
                          "%lld of %lld places have no equilibrium, the first at %s; take smaller ranges, or more "
                          "steps_between",
                          (long long)report->failures, (long long)job->path.count, report->why);
    report->snapshots = job->rom.n_snapshots = job->n_k - report->weight_snapshots;
    td_job_begin(job, TD_REDUCE_POD, job->path.n_trajectories);
    BasisHead head;
    tdWorkPart about = {&head, sizeof head}, pieces[4];
    bool found = td_work_load(&job->work, "basis-head.part", 1, &about);
    if (found)
    {
        TD_TRY(take_basis(job, &head, error));
        found = td_work_load(&job->work, "basis.part", list_basis(job, pieces), pieces);
    }
    if (found)
        td_job_progress(job, job->path.n_trajectories);
    else
        TD_TRY(decompose(job, error));
    TD_TRY(td_job_frame(job, error));
    measure_ranges(job);
    report->modes = job->rom.r;
    report->pod_error = job->rom.pod_error;
    return TD_OK;
}

// ---------------------------------------------------------------- domains

/// Elements of one force field.
typedef struct Field
{
    tdJob *job;
    int number;
    const char *name;
    int64_t begin, end; // elements of the body
    int64_t rows, block;
    int sketch;
    bool training; // still in that phase
} Field;

static int find_fields(tdJob *job, Field fields[TD_REDUCE_DOMAINS])
{
    const tdSoft *soft = job->model->bodies[job->trainee.body].soft;
    int64_t flat = soft->element_start[TD_CELL_TRI + 1], all = soft->elements;
    int n = 0;
    // Triangles come before volumes; a body of nothing else has one field.
    if (flat < all)
        fields[n++] = (Field){.job = job, .name = "volume", .begin = flat, .end = all};
    if (flat > 0)
        fields[n++] = (Field){.job = job, .name = "membrane", .begin = 0, .end = flat};
    for (int d = 0; d < n; d++)
        fields[d].number = d;
    return n;
}

static tdStatus make_columns(void *user, int64_t begin, int64_t end, double *out, tdError *error)
{
    Field *field = user;
    tdJob *job = field->job;
    return td_reduced_training(job->model, job->trainee.body, &job->rom, job->n_k, job->alpha, job->u,
                               field->begin + begin, field->begin + end, job->tasks, out, error);
}

static void name_block(const Field *field, int64_t begin, char name[64])
{
    snprintf(name, 64, "training-%d-%09lld.part", field->number, (long long)begin);
}

static void list_block(const Field *field, int64_t begin, int64_t end, const double *sketched, const double *sum,
                       tdWorkPart pieces[2])
{
    pieces[0] = (tdWorkPart){sketched, (size_t)(field->sketch * (end - begin)) * sizeof(double)};
    pieces[1] = (tdWorkPart){sum, (size_t)field->rows * sizeof(double)};
}

static bool load_block(void *user, int64_t begin, int64_t end, double *sketched, double *sum)
{
    Field *field = user;
    char name[64];
    tdWorkPart pieces[2];
    name_block(field, begin, name);
    list_block(field, begin, end, sketched, sum, pieces);
    if (!td_work_load(&field->job->work, name, 2, pieces))
        return false;
    if (field->training)
        td_job_progress(field->job, end - begin);
    return true;
}

static tdStatus save_block(void *user, int64_t begin, int64_t end, const double *sketched, const double *sum,
                           tdError *error)
{
    Field *field = user;
    char name[64];
    tdWorkPart pieces[2];
    name_block(field, begin, name);
    list_block(field, begin, end, sketched, sum, pieces);
    TD_TRY(td_work_save(&field->job->work, name, 2, pieces, error));
    if (field->training)
        td_job_progress(field->job, end - begin);
    return TD_OK;
}

static bool chosen_more(void *user, int count, double residual)
{
    (void)count;
    (void)residual;
    Field *field = user;
    if (field->training)
    {
        field->training = false;
        td_job_begin(field->job, TD_REDUCE_ECSW, 0);
    }
    return td_job_progress(field->job, 1);
}

// Rows of the sketch and columns of a block, within the memory.
static void size_field(Field *field)
{
    const tdSceneReduction *given = &field->job->model->scene.reduction;
    int64_t n = field->end - field->begin;
    field->rows = field->job->n_k * field->job->rom.r;
    double sketch = fmin((double)given->memory / 2 / (8 * (double)n), SKETCH_ROWS);
    field->sketch = (int)fmin(fmax(sketch, FEWEST_SKETCH), (double)field->rows);
    double block = (double)given->memory / 8 / (8 * (double)field->rows);
    field->block = (int64_t)fmin(fmax(block, 16), 4096);
    field->block = field->block < n ? field->block : n;
}

/// The part of a chosen domain, before its arrays.
typedef struct ChoiceHead
{
    int64_t count;
    double error;
} ChoiceHead;

static tdStatus take_choice(tdJob *job, int64_t count, int32_t **element, double **weight, tdError *error)
{
    *element = TD_TAKE(&job->arena, int32_t, count);
    *weight = TD_TAKE(&job->arena, double, count);
    return *element == NULL || *weight == NULL ? td_fail_memory(error, "a reduced domain") : TD_OK;
}

// A choice of elements, from its part or now. `skip`: not these.
static tdStatus choose(Field *field, const char *name, const uint8_t *skip, ChoiceHead *head, int32_t **element,
                       double **weight, tdError *error)
{
    tdJob *job = field->job;
    const tdSceneReduction *given = &job->model->scene.reduction;
    char part[64], arrays[64];
    snprintf(part, sizeof part, "%s-%d-head.part", name, field->number);
    snprintf(arrays, sizeof arrays, "%s-%d.part", name, field->number);
    tdWorkPart about = {head, sizeof *head};
    if (td_work_load(&job->work, part, 1, &about))
    {
        TD_TRY(take_choice(job, head->count, element, weight, error));
        const tdWorkPart pieces[2] = {{*element, (size_t)head->count * sizeof **element},
                                      {*weight, (size_t)head->count * sizeof **weight}};
        if (td_work_load(&job->work, arrays, 2, pieces))
            return TD_OK;
    }
    tdArena arena = {0};
    tdEcswResult result = {0};
    tdEcswTask task = {.rows = field->rows,
                       .n = field->end - field->begin,
                       .block = field->block,
                       .columns = make_columns,
                       .user = field,
                       .tau = given->ecsw_tolerance,
                       .sketch = field->sketch,
                       .seed = given->seed,
                       .skip = skip,
                       .tasks = job->tasks,
                       .progress = {chosen_more, field},
                       .load = load_block,
                       .save = save_block};
    tdStatus status = td_ecsw(&task, &arena, &result, error);
    if (status == TD_OK && !job->stopped)
    {
        *head = (ChoiceHead){result.count, result.error};
        status = take_choice(job, result.count, element, weight, error);
        for (int i = 0; status == TD_OK && i < result.count; i++)
        {
            (*element)[i] = (int32_t)(result.element[i] + field->begin);
            (*weight)[i] = result.weight[i];
        }
        const tdWorkPart pieces[2] = {{*element, (size_t)head->count * sizeof **element},
                                      {*weight, (size_t)head->count * sizeof **weight}};
        if (status == TD_OK)
            status = td_work_save(&job->work, arrays, 2, pieces, error);
        if (status == TD_OK)
            status = td_work_save(&job->work, part, 1, &about, error);
    }
    td_arena_free(&arena);
    return status;
}

static tdStatus reduce_field(Field *field, tdRomDomain *domain, tdError *error)
{
    tdJob *job = field->job;
    ChoiceHead head = {0};
    int64_t n = field->end - field->begin;
    size_field(field);
    td_job_begin(job, TD_REDUCE_TRAINING, n);
    field->training = true;
    *domain = (tdRomDomain){.name = field->name, .tolerance = job->model->scene.reduction.ecsw_tolerance};
    TD_TRY(choose(field, "domain", NULL, &head, &domain->element, &domain->weight, error));
    if (job->stopped)
        return TD_OK;
    domain->n = head.count;
    domain->error = head.error;
    // The second choice knows nothing of the first: what it sees differently is a measure of the error.
    uint8_t *skip = td_take((size_t)n, 1);
    if (skip == NULL)
        return td_fail_memory(error, "a reduced domain");
    for (int64_t i = 0; i < domain->n; i++)
        skip[domain->element[i] - field->begin] = 1;
    tdStatus status =
        domain->n < n ? choose(field, "check", skip, &head, &domain->check, &domain->check_weight, error) : TD_OK;
    if (status == TD_OK && domain->n < n && !job->stopped)
        domain->n_check = head.count;
    free(skip);
    return status;
}

tdStatus td_job_ecsw(tdJob *job, tdError *error)
{
    Field fields[TD_REDUCE_DOMAINS];
    tdReduceReport *report = job->report;
    int n = find_fields(job, fields);
    job->rom.domains = TD_TAKE(&job->arena, tdRomDomain, TD_REDUCE_DOMAINS);
    if (job->rom.domains == NULL)
        return td_fail_memory(error, "the reduced domains");
    for (int d = 0; d < n; d++)
    {
        tdRomDomain *domain = &job->rom.domains[d];
        TD_TRY(reduce_field(&fields[d], domain, error));
        if (job->stopped)
            return TD_OK;
        job->rom.n_domains = report->n_domains = d + 1;
        report->domains[d].name = domain->name;
        report->domains[d].elements = fields[d].end - fields[d].begin;
        report->domains[d].rid_elements = domain->n;
        report->domains[d].check_elements = domain->n_check;
        report->domains[d].error = domain->error;
        report->elements += fields[d].end - fields[d].begin;
        report->rid_elements += domain->n;
        report->ecsw_error = fmax(report->ecsw_error, domain->error);
    }
    return TD_OK;
}
