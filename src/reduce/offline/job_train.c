// SPDX-License-Identifier: Apache-2.0
// Modes -> forces of elements -> reduced integration domains.
#include "reduce/offline/job_parts.h"

#include "base/log.h"
#include "body/soft.h"
#include "reduce/offline/ecsw.h"
#include "reduce/reduced.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKETCH_ROWS   1024 // of the training matrix, to begin with: some for each element that is chosen
#define FEWEST_SKETCH 256
#define PROBED        256  // elements at a time, for the stiffness at rest
#define DIFFERENCE    1e-5 // step of its differences, beside the largest amplitude
#define SOFTEST       1e-9 // stiffness of a mode beside the stiffest, below which it has none

/// Elements of one force field.
typedef struct Field
{
    tdJob *job;
    int number;
    const char *name;
    int64_t begin, end; // elements of the body
    int64_t rows, block;
    int parts;               // that choose on their own first
    const uint8_t *skip;     // of the choice that is made
    int sketch, most_sketch; // rows: with which it begins, or which it came to; that memory allows
    bool training;           // still in that phase
    bool dealt;              // blocks of the sketch were counted when they were dealt out
    uint64_t key;            // of the blocks of training
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

// ---------------------------------------------------------------- metric

// K0 of the modes, by differences of the forces of all elements; out: r x r, symmetric.
static tdStatus stiffness_at_rest(tdJob *job, double *out, tdError *error)
{
    const tdSoft *soft = job->model->bodies[job->trainee.body].soft;
    int r = job->rom.r;
    int64_t states = r + 1, each = states * r; // the first is rest
    double step = 0;
    for (int64_t i = 0; i < job->n_k * r; i++)
        step = fmax(step, DIFFERENCE * fabs(job->alpha[i]));
    double *alpha = td_take((size_t)each, sizeof *alpha), *force = td_take((size_t)each * PROBED, sizeof *force);
    double *u = td_take((size_t)(states * (job->trainee.n_u + 1)), sizeof *u);
    tdStatus status =
        alpha == NULL || u == NULL || force == NULL ? td_fail_memory(error, "the stiffness of the modes") : TD_OK;
    for (int j = 0; j < r && status == TD_OK; j++)
        alpha[(j + 1) * (int64_t)r + j] = step;
    memset(out, 0, (size_t)r * (size_t)r * sizeof *out);
    for (int64_t begin = 0; begin < soft->elements && status == TD_OK; begin += PROBED)
    {
        int64_t end = begin + PROBED < soft->elements ? begin + PROBED : soft->elements;
        memset(force, 0, (size_t)each * PROBED * sizeof *force);
        status = td_reduced_training(job->model, job->trainee.body, &job->rom, states, alpha, u, begin, end, job->tasks,
                                     force, error);
        for (const double *f = force; f < force + (end - begin) * each && status == TD_OK; f += each)
            for (int j = 0; j < r; j++)
                for (int i = 0; i < r; i++)
                {
                    double slope = (f[(j + 1) * (int64_t)r + i] - f[i]) / step;
                    out[i * (int64_t)r + j] += 0.5 * slope; // half to either side of the diagonal
                    out[j * (int64_t)r + i] += 0.5 * slope;
                }
    }
    free(alpha);
    free(u);
    free(force);
    return status;
}

// L L' = K0 in the lower triangle. False: some modes meet nearly no resistance at rest.
static bool factor(int r, double *a)
{
    double largest = 0;
    for (int j = 0; j < r; j++)
        largest = fmax(largest, a[j * (int64_t)(r + 1)]);
    for (int j = 0; j < r; j++)
    {
        double *row = a + j * (int64_t)r, pivot = row[j] - cblas_ddot(j, row, 1, row, 1);
        if (!(pivot > SOFTEST * largest))
            return false;
        row[j] = sqrt(pivot);
        for (int i = j + 1; i < r; i++)
        {
            double *below = a + i * (int64_t)r;
            below[j] = (below[j] - cblas_ddot(j, row, 1, below, 1)) / row[j];
        }
    }
    return true;
}

static bool by_energy(const tdJob *job)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    return given->ecsw_norm == TD_ECSW_ENERGY || (given->ecsw_norm == TD_ECSW_AUTO && given->find_ecsw);
}

// Made when the first columns are, once for the modes of a round.
static tdStatus find_metric(tdJob *job, tdError *error)
{
    int r = job->rom.r;
    if (job->metric != NULL || !by_energy(job))
        return TD_OK;
    double *metric = TD_TAKE(&job->round, double, r *r);
    if (metric == NULL)
        return td_fail_memory(error, "the stiffness of the modes");
    TD_TRY(stiffness_at_rest(job, metric, error));
    for (int i = 0; i < r && job->rom.frame == TD_FRAME_TRANSLATION && i < 3; i++) // to which nothing resists
        metric[i * (int64_t)(r + 1)] = 1;
    if (!factor(r, metric)) // as of membranes across their plane: forces as they are
        for (int64_t i = 0; i < (int64_t)r * r; i++)
            metric[i] = i % (r + 1) == 0 ? 1 : 0;
    job->metric = metric;
    return TD_OK;
}

// Forces g of an element at a state, or L^-1 g, whose length is the square root of an energy: g' K0^-1 g.
static tdStatus make_columns(void *user, int64_t begin, int64_t end, double *out, tdError *error)
{
    Field *field = user;
    tdJob *job = field->job;
    int r = job->rom.r;
    TD_TRY(td_reduced_training(job->model, job->trainee.body, &job->rom, job->n_k, job->alpha, job->u,
                               field->begin + begin, field->begin + end, job->tasks, out, error));
    TD_TRY(find_metric(job, error));
    for (int64_t e = 0; e < end - begin && job->metric != NULL; e++)
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)job->n_k, r, 1, job->metric,
                    r, out + e * job->n_k * r, r);
    return TD_OK;
}

static uint64_t block_key(const Field *field, int sketch)
{
    int64_t rows = sketch;
    return td_work_key(field->key, &rows, sizeof rows);
}

static void name_block(const Field *field, int sketch, int64_t begin, char name[64])
{
    snprintf(name, 64, "training-%d-%d-%09lld.part", field->number, sketch, (long long)begin);
}

static void list_block(const Field *field, int sketch, int64_t begin, int64_t end, const double *sketched,
                       const double *sum, tdWorkPart pieces[2])
{
    pieces[0] = (tdWorkPart){sketched, (size_t)(sketch * (end - begin)) * sizeof(double)};
    pieces[1] = (tdWorkPart){sum, (size_t)field->rows * sizeof(double)};
}

// A sketch that was too small: all is done once more.
static void begin_sketch(Field *field, int sketch)
{
    if (sketch == field->sketch)
        return;
    field->sketch = sketch;
    field->training = true;
    field->dealt = false;
    td_job_begin(field->job, TD_REDUCE_TRAINING, field->job->training, field->end - field->begin);
}

static bool load_block(void *user, int sketch, int64_t begin, int64_t end, double *sketched, double *sum)
{
    Field *field = user;
    char name[64];
    tdWorkPart pieces[2];
    begin_sketch(field, sketch);
    name_block(field, sketch, begin, name);
    list_block(field, sketch, begin, end, sketched, sum, pieces);
    bool there = sketched != NULL ? td_work_load(&field->job->work, block_key(field, sketch), name, 2, pieces)
                                  : td_work_read(&field->job->work, block_key(field, sketch), name, 1, pieces[0].size,
                                                 pieces[1].size, pieces[1].size, sum);
    if (!there)
        return false;
    if (field->training && !field->job->later && !field->dealt)
        field->job->report->reused[TD_REDUCE_TRAINING] += end - begin;
    if (field->training && !field->dealt)
        td_job_progress(field->job, end - begin);
    return true;
}

static tdStatus save_block(void *user, int sketch, int64_t begin, int64_t end, const double *sketched,
                           const double *sum, tdError *error)
{
    Field *field = user;
    char name[64];
    tdWorkPart pieces[2];
    name_block(field, sketch, begin, name);
    list_block(field, sketch, begin, end, sketched, sum, pieces);
    TD_TRY(td_work_save(&field->job->work, block_key(field, sketch), name, 2, pieces, error));
    if (field->training)
        td_job_progress(field->job, end - begin);
    return TD_OK;
}

// With several ranks: they make the blocks that are missing, each some.
static tdStatus spread_blocks(void *user, tdEcswMaker *maker, int sketch, tdError *error)
{
    Field *field = user;
    tdJob *job = field->job;
    int64_t n = field->end - field->begin, count = 0, there = 0;
    if (job->crew == NULL)
        return TD_OK;
    begin_sketch(field, sketch);
    int64_t *missing = td_take((size_t)td_pieces(n, field->block), sizeof *missing);
    if (missing == NULL)
        return td_fail_memory(error, "the training data");
    for (int64_t begin = 0; begin < n; begin += field->block)
    {
        char name[64];
        tdWorkPart pieces[2];
        int64_t end = begin + field->block < n ? begin + field->block : n;
        name_block(field, sketch, begin, name);
        list_block(field, sketch, begin, end, NULL, NULL, pieces);
        if (td_work_has(&job->work, block_key(field, sketch), name, pieces[0].size + pieces[1].size))
            there += end - begin;
        else
            missing[count++] = begin / field->block;
    }
    tdStatus status = TD_OK;
    if (count > 1)
    {
        if (field->training && !field->dealt && there > 0)
        {
            job->report->reused[TD_REDUCE_TRAINING] += job->later ? 0 : there;
            td_job_progress(job, there);
        }
        const tdJobTraining training = {.field = field->number, .sketch = sketch};
        status = td_job_deal_blocks(job, &training, count, missing, maker, error);
        field->dealt = true;
        for (int64_t i = 0; i < count && status == TD_OK; i++)
        {
            char name[64];
            name_block(field, sketch, missing[i] * field->block, name);
            td_work_await(&job->work, name);
        }
    }
    free(missing);
    return status;
}

// Of the domain that is chosen; the second choice follows from it.
static uint64_t choice_key(const Field *field)
{
    double tau = field->job->ecsw_tolerance;
    uint64_t key = td_work_key(field->key, &tau, sizeof tau);
    return field->parts > 1 ? td_work_key(key, &field->parts, sizeof field->parts) : key;
}

static bool chosen_more(void *user, int count, double residual)
{
    (void)count;
    (void)residual;
    Field *field = user;
    if (field->training)
    {
        field->training = false;
        td_job_begin(field->job, TD_REDUCE_ECSW, choice_key(field), 0);
    }
    return td_job_progress(field->job, 1);
}

// ---------------------------------------------------------------- choices of parts

static uint64_t share_key(const Field *field, int sketch, double target)
{
    uint64_t key = td_work_key(block_key(field, sketch), &field->parts, sizeof field->parts);
    key = td_work_key(key, &target, sizeof target);
    return field->skip == NULL ? key : td_work_key(key, field->skip, (size_t)(field->end - field->begin));
}

// How many it chose, in a part of its own: the size of the other follows from it.
static void name_share(const Field *field, int64_t part, char head[64], char arrays[64])
{
    const char *choice = field->skip == NULL ? "domain" : "check";
    snprintf(head, 64, "%s-share-%d-%lld-head.part", choice, field->number, (long long)part);
    snprintf(arrays, 64, "%s-share-%d-%lld.part", choice, field->number, (long long)part);
}

static void list_share(int sketch, const tdEcswShare *share, tdWorkPart pieces[2])
{
    pieces[0] = (tdWorkPart){share->column, (size_t)share->count * sizeof *share->column};
    pieces[1] = (tdWorkPart){share->sketched, (size_t)(share->count * sketch) * sizeof *share->sketched};
}

static bool load_share(void *user, int sketch, tdEcswShare *share)
{
    const Field *field = user;
    const tdWork *work = &field->job->work;
    uint64_t key = share_key(field, sketch, share->target);
    tdWorkPart count = {&share->count, sizeof share->count}, pieces[2];
    char head[64], arrays[64];
    name_share(field, share->part, head, arrays);
    if (!td_work_load(work, key, head, 1, &count) || share->count < 0 || share->count > share->end - share->begin)
        return false;
    share->column = td_take((size_t)share->count + 1, sizeof *share->column);
    share->sketched = td_take((size_t)(share->count * sketch) + 1, sizeof *share->sketched);
    list_share(sketch, share, pieces);
    if (share->column != NULL && share->sketched != NULL && td_work_load(work, key, arrays, 2, pieces))
        return true;
    free(share->column);
    free(share->sketched);
    share->column = NULL;
    share->sketched = NULL;
    return false;
}

static tdStatus save_share(void *user, int sketch, const tdEcswShare *share, tdError *error)
{
    const Field *field = user;
    const tdWork *work = &field->job->work;
    uint64_t key = share_key(field, sketch, share->target);
    const tdWorkPart count = {&share->count, sizeof share->count};
    tdWorkPart pieces[2];
    char head[64], arrays[64];
    name_share(field, share->part, head, arrays);
    list_share(sketch, share, pieces);
    TD_TRY(td_work_save(work, key, arrays, 2, pieces, error));
    return td_work_save(work, key, head, 1, &count, error);
}

// With several ranks: each lets some parts choose.
static tdStatus spread_shares(void *user, tdEcswMaker *maker, int sketch, double target, tdError *error)
{
    Field *field = user;
    tdJob *job = field->job;
    chosen_more(field, 0, 0); // blocks are read once more, which is no more training
    if (job->crew == NULL)
        return TD_OK;
    int64_t count = 0, *missing = td_take((size_t)field->parts, sizeof *missing);
    if (missing == NULL)
        return td_fail_memory(error, "the elements of all parts");
    uint64_t key = share_key(field, sketch, target);
    char head[64], arrays[64];
    for (int64_t part = 0; part < field->parts; part++)
    {
        name_share(field, part, head, arrays);
        if (!td_work_has(&job->work, key, head, sizeof(int64_t)))
            missing[count++] = part;
    }
    const tdJobTraining training = {.field = field->number, .sketch = sketch, .target = target, .skip = field->skip};
    tdStatus status = count > 1 ? td_job_deal_blocks(job, &training, count, missing, maker, error) : TD_OK;
    for (int64_t i = 0; i < count && count > 1 && status == TD_OK; i++)
    {
        name_share(field, missing[i], head, arrays);
        td_work_await(&job->work, head);
    }
    free(missing);
    return status;
}

// Rows of the sketch, columns of a block and parts, within the memory: of half of it, the sketch of a part.
static void size_field(Field *field)
{
    const tdSceneReduction *given = &field->job->model->scene.reduction;
    int64_t n = field->end - field->begin;
    field->rows = field->job->n_k * field->job->rom.r;
    double room = (double)given->memory / 2 / 8, block = (double)given->memory / 8 / (8 * (double)field->rows);
    field->block = (int64_t)fmin(fmax(block, 16), 4096);
    field->block = field->block < n ? field->block : n;
    double wanted = room / fmin(SKETCH_ROWS, (double)field->rows) - (double)field->rows; // columns of a part
    double parts = given->ecsw_parts > 0 ? given->ecsw_parts
                   : room >= FEWEST_SKETCH * ((double)n + (double)field->rows)
                       ? 1
                       : ceil((double)n / fmax(wanted, (double)field->block));
    int64_t each = (int64_t)ceil((double)n / parts);
    field->block = field->block < each ? field->block : each;
    tdEcswTask task = {.n = n, .block = field->block, .parts = (int)parts};
    field->parts = td_ecsw_parts(&task);
    double held = field->parts > 1 ? (double)td_ecsw_part_columns(&task) : (double)n;
    field->most_sketch = (int)fmin(fmax(room / (held + (double)field->rows), FEWEST_SKETCH), (double)field->rows);
    field->sketch = field->most_sketch < SKETCH_ROWS ? field->most_sketch : SKETCH_ROWS;
    const int64_t sizes[] = {field->number, field->rows, field->sketch, field->most_sketch, field->block, n};
    field->key = td_work_key(field->job->training, sizes, sizeof sizes);
    if (by_energy(field->job))
        field->key = td_work_key(field->key, "energy", 6);
}

/// The part of a chosen domain, before its arrays.
typedef struct ChoiceHead
{
    int64_t count, sketch, end;
    double error;
} ChoiceHead;

static tdStatus take_choice(tdJob *job, int64_t count, int32_t **element, double **weight, tdError *error)
{
    *element = TD_TAKE(&job->round, int32_t, count);
    *weight = TD_TAKE(&job->round, double, count);
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
    uint64_t key = choice_key(field);
    if (td_work_load(&job->work, key, part, 1, &about))
    {
        TD_TRY(take_choice(job, head->count, element, weight, error));
        const tdWorkPart pieces[2] = {{*element, (size_t)head->count * sizeof **element},
                                      {*weight, (size_t)head->count * sizeof **weight}};
        if (td_work_load(&job->work, key, arrays, 2, pieces))
        {
            job->report->reused[TD_REDUCE_ECSW] += !job->later;
            field->sketch = (int)head->sketch; // with which the second choice begins
            return TD_OK;
        }
    }
    tdArena arena = {0};
    tdEcswResult result = {0};
    tdEcswTask task = {.rows = field->rows,
                       .n = field->end - field->begin,
                       .block = field->block,
                       .columns = make_columns,
                       .user = field,
                       .tau = job->ecsw_tolerance,
                       .sketch = field->sketch,
                       .most_sketch = field->most_sketch,
                       .seed = given->seed,
                       .skip = skip,
                       .parts = field->parts,
                       .tasks = job->tasks,
                       .progress = {chosen_more, field},
                       .load = load_block,
                       .save = save_block,
                       .spread = spread_blocks,
                       .load_share = load_share,
                       .save_share = save_share,
                       .spread_shares = spread_shares};
    field->skip = skip;
    tdStatus status = td_ecsw(&task, &arena, &result, error);
    if (status == TD_OK && !job->stopped)
    {
        *head = (ChoiceHead){result.count, result.sketch_rows, result.end, result.error};
        status = take_choice(job, result.count, element, weight, error);
        for (int i = 0; status == TD_OK && i < result.count; i++)
        {
            (*element)[i] = (int32_t)(result.element[i] + field->begin);
            (*weight)[i] = result.weight[i];
        }
        const tdWorkPart pieces[2] = {{*element, (size_t)head->count * sizeof **element},
                                      {*weight, (size_t)head->count * sizeof **weight}};
        if (status == TD_OK)
            status = td_work_save(&job->work, key, arrays, 2, pieces, error);
        if (status == TD_OK)
            status = td_work_save(&job->work, key, part, 1, &about, error);
    }
    td_arena_free(&arena);
    return status;
}

int64_t td_job_field_elements(tdJob *job, int field)
{
    Field fields[TD_REDUCE_DOMAINS];
    find_fields(job, fields);
    return fields[field].end - fields[field].begin;
}

tdStatus td_job_train_blocks(tdJob *job, const tdJobTraining *training, int64_t (*next)(void *user), void *user,
                             tdError *error)
{
    Field fields[TD_REDUCE_DOMAINS];
    find_fields(job, fields);
    Field *field = &fields[training->field];
    bool chooses = training->target > 0;
    size_field(field);
    field->training = !chooses;
    field->sketch = training->sketch;
    field->skip = training->skip;
    tdEcswTask task = {.rows = field->rows,
                       .n = field->end - field->begin,
                       .block = field->block,
                       .columns = make_columns,
                       .user = field,
                       .seed = job->model->scene.reduction.seed,
                       .skip = training->skip,
                       .parts = chooses ? field->parts : 1,
                       .tasks = job->tasks,
                       .load = chooses ? load_block : NULL,
                       .save = save_block,
                       .save_share = save_share};
    tdEcswMaker *maker = NULL;
    job->metric = NULL; // of the modes that were sent before
    tdStatus status = td_ecsw_maker_create(&task, training->sketch, &maker, error);
    for (int64_t number = 0; status == TD_OK && (number = next(user)) >= 0;)
        status =
            chooses ? td_ecsw_choose_part(maker, number, training->target, error) : td_ecsw_make(maker, number, error);
    td_ecsw_maker_free(maker);
    return status;
}

static const char *why_above(const ChoiceHead *head)
{
    return head->end == TD_ECSW_SKETCH ? "more cannot be distinguished within 'memory'; increase it"
           : head->end == TD_ECSW_COLUMNS
               ? "no element with a positive weight brings them closer; use fewer modes, or a larger tolerance"
               : NULL;
}

// A domain that misses the tolerance is a warning: it may do, and the held-out error will tell. The second choice has
// only what the first left over, and often misses it.
void td_job_note_domains(const tdJob *job)
{
    const tdReduceReport *report = job->report;
    for (int d = 0; d < report->n_domains; d++)
        if (report->domains[d].why != NULL)
            td_log(&job->task->settings, TD_LOG_WARNING,
                   "the reduced domain of the %s, %lld elements, is off by %.3g of the training forces, more than the "
                   "tolerance %g: %s",
                   report->domains[d].name, (long long)report->domains[d].rid_elements, report->domains[d].error,
                   job->ecsw_tolerance, report->domains[d].why);
}

static tdStatus reduce_field(Field *field, tdRomDomain *domain, tdError *error)
{
    tdJob *job = field->job;
    tdReduceDomain *report = &job->report->domains[field->number];
    ChoiceHead head = {0};
    int64_t n = field->end - field->begin;
    size_field(field);
    td_job_begin(job, TD_REDUCE_TRAINING, job->training, n);
    field->training = true;
    *domain = (tdRomDomain){.name = field->name, .tolerance = job->ecsw_tolerance};
    TD_TRY(choose(field, "domain", NULL, &head, &domain->element, &domain->weight, error));
    if (job->stopped)
        return TD_OK;
    domain->n = head.count;
    domain->error = head.error;
    report->why = why_above(&head);
    // The second choice knows nothing of the first: what it sees differently is a measure of the error.
    uint8_t *skip = td_take((size_t)n, 1);
    if (skip == NULL)
        return td_fail_memory(error, "a reduced domain");
    for (int64_t i = 0; i < domain->n; i++)
        skip[domain->element[i] - field->begin] = 1;
    tdStatus status =
        domain->n < n ? choose(field, "check", skip, &head, &domain->check, &domain->check_weight, error) : TD_OK;
    if (status == TD_OK && domain->n < n && !job->stopped)
    {
        domain->n_check = head.count;
        report->check_error = head.error;
    }
    free(skip);
    return status;
}

tdStatus td_job_ecsw(tdJob *job, tdError *error)
{
    Field fields[TD_REDUCE_DOMAINS];
    tdReduceReport *report = job->report;
    int n = find_fields(job, fields);
    job->rom.domains = TD_TAKE(&job->round, tdRomDomain, TD_REDUCE_DOMAINS);
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
