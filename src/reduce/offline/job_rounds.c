// SPDX-License-Identifier: Apache-2.0
// Training in rounds, until the held-out error is what was asked for. After each round it is known how far the model is
// off at held-out places and along a motion (e), and how much of those shapes its modes cannot make (p). A model cannot
// be closer than p, and over all elements is off by two or three times p:
//
//     p a small part of e     the few elements are to blame: a smaller ecsw_tolerance
//     else                    at held-out places, the model over all elements tells: if it is as far off, the modes are
//     to
//                             blame: more of them, where those that were left out would help, else more places
//                             (samples auto), half of them near the worst held-out ones
//
// What a round found is kept, so that a job that was killed goes on with the same settings without doing it again.
#include "base/log.h"
#include "body/soft.h"
#include "reduce/offline/job_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROUNDS  12
#define SHARE        0.25 // of the error asked for that modes may leave, to begin with,
#define SHARE_LESS   0.4  // and this much of it where that was not enough
#define SHARE_LEAST  0.01
#define CLEARLY      0.1  // of the error: modes that leave less are not to blame, whatever else is;
#define BLAME        0.35 // those that leave less are not, as far as is known,
#define WHOLE        0.6  // and those that are off by less with all elements
#define HARDLY       0.05 // the same along a motion, in which errors of shapes add up
#define GAIN         0.85 // what leaves more of the error than this was of no use
#define STALE_MOTION 2    // rounds without a gain that are the last: where only the motion is off,
#define STALE        4    // and where places are
#define TOLERANCE    1e-6 // the smallest
#define BY_ENERGY    0.2  // of the tolerance to begin with: what is measured so is a lesser part of the error
#define NEARLY_ALL   1.1  // modes that leave so many times what all of them leave are enough
#define WORST_PLACES 3    // one of so many held-out places has others put near it
#define FEWEST_ADDED 4
#define WORSE        1.1 // a model that is off by so many times what an earlier one was is not the one to keep

bool td_job_adapts(const tdJob *job)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    return given->basis == TD_BASIS_SNAPSHOTS && !given->follow && job->held_out.count > 0 &&
           (given->find_pod || given->find_ecsw || given->samples == TD_SAMPLE_AUTO);
}

// ---------------------------------------------------------------- modes

// Adds to missed[r], for each r, what the first r modes leave of a shape of all nodes, squared; and its size.
static void miss(const tdJob *job, const tdPod *pod, const double *q, double *work, double *missed, double *size)
{
    const tdTrainee *trainee = &job->trainee;
    const double *rest = job->model->bodies[trainee->body].soft->rest;
    int rank = td_pod_rank(pod);
    double left = 0, *d = work, *u = work + trainee->n, *a = u + trainee->n_u;
    td_trainee_split(trainee, q, u, d);
    td_pod_project(pod, d, a);
    for (int64_t i = 0; i < trainee->n; i++)
    {
        left += d[i] * d[i];
        *size += trainee->frame == TD_FRAME_FIXED ? (q[i] - rest[i]) * (q[i] - rest[i]) : d[i] * d[i];
    }
    for (int r = 0; r <= rank; r++)
    {
        missed[r] += fmax(left, 0);
        left -= r < rank ? a[r] * a[r] : 0;
    }
}

static tdStatus miss_places(tdJob *job, const tdPod *pod, double *work, double *missed, double *size, tdError *error)
{
    for (int t = 0; t < job->held_out.n_trajectories; t++)
    {
        tdJobTrajectory data;
        TD_TRY(td_job_take(job, &job->held_out, t, true, &data, error));
        bool there = td_job_load(job, "check-full", &job->held_out, t, true, &data);
        for (int64_t k = 0; there && k < data.found.reached; k++)
            miss(job, pod, data.found.q + k * job->trainee.n, work, missed, size);
        td_job_drop(&data);
    }
    return TD_OK;
}

static tdStatus miss_motion(tdJob *job, const tdPod *pod, double *work, double *missed, double *size, tdError *error)
{
    tdJobMotion motion = {0};
    if (!td_job_learns_motion(job)) // what equilibria lack of a motion, more of them do not bring
        return TD_OK;
    tdStatus status = td_job_full_motion(job, false, &motion, error);
    for (int64_t k = 0; k < motion.n && status == TD_OK; k++)
        miss(job, pod, motion.q + k * job->trainee.n, work, missed, size);
    free(motion.q);
    return status;
}

tdStatus td_job_count_modes(tdJob *job, const tdPod *pod, int *r, tdError *error)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    int rank = td_pod_rank(pod), most = rank < given->max_modes ? rank : given->max_modes, enough = *r;
    double *missed[2] = {td_take((size_t)rank + 1, sizeof(double)), td_take((size_t)rank + 1, sizeof(double))};
    double *work = td_take((size_t)(job->trainee.n + job->trainee.n_u + rank + 1), sizeof(double)), size[2] = {0, 0};
    tdStatus status =
        missed[0] == NULL || missed[1] == NULL || work == NULL ? td_fail_memory(error, "the modes") : TD_OK;
    if (status == TD_OK)
        status = miss_places(job, pod, work, missed[0], &size[0], error);
    if (status == TD_OK)
        status = miss_motion(job, pod, work, missed[1], &size[1], error);
    for (int k = 0; k < 2 && status == TD_OK; k++)
    {
        for (int i = 0; i <= rank; i++)
            missed[k][i] = size[k] > 0 ? sqrt(missed[k][i] / size[k]) : 0;
        double wanted = fmax(job->share * given->error, NEARLY_ALL * missed[k][most]);
        while (given->find_pod && enough < most && missed[k][enough] > wanted)
            enough++;
    }
    enough = enough < most ? enough : most;
    for (int k = 0; k < 2 && status == TD_OK; k++)
    {
        job->left[k] = missed[k][enough];
        job->least[k] = missed[k][most];
    }
    *r = enough;
    free(missed[0]);
    free(missed[1]);
    free(work);
    return status;
}

// ---------------------------------------------------------------- what comes next

/// What a round found.
typedef struct Outcome
{
    double error[2];          // at held-out places, along the motion
    double left[2], least[2]; // tdJob
    double whole;             // at held-out places with all elements; NAN: not looked at
    int64_t n;                // places with an error
} Outcome;

/// One place with its error.
typedef struct Place
{
    double off;
    int64_t place;
} Place;

static int by_error(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    return x->off != y->off ? (x->off < y->off ? 1 : -1) : (x->place > y->place) - (x->place < y->place);
}

static int64_t places_left(const tdJob *job)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    return given->samples == TD_SAMPLE_AUTO ? given->count - job->path.spread : 0;
}

// More places, half as many as there are.
static tdStatus add_places(tdJob *job, int64_t n, Place *places, tdError *error)
{
    int64_t count = job->path.spread / 2, most = places_left(job);
    count = count < FEWEST_ADDED ? FEWEST_ADDED : count;
    count = count < most ? count : most;
    int64_t worst = (n + WORST_PLACES - 1) / WORST_PLACES;
    const double **near = td_take((size_t)worst + 1, sizeof *near);
    if (near == NULL)
        return td_fail_memory(error, "the places of the samples");
    qsort(places, (size_t)n, sizeof *places, by_error);
    for (int64_t i = 0; i < worst; i++)
        near[i] = job->held_out.values + places[i].place * job->held_out.n;
    tdStatus status = td_sample_more(job->model, &job->arena, count, worst, near, &job->path, error);
    free(near);
    return status;
}

// Of the two errors the one that is beyond what was asked for by more, relative to it; 1 or less: none is.
static double excess(const tdJob *job, const Outcome *outcome)
{
    double most = 0;
    for (int k = 0; k < 2; k++)
        most = fmax(most, isnan(outcome->error[k]) ? 0 : outcome->error[k] / job->model->scene.reduction.error);
    return outcome->n == 0 ? INFINITY : most;
}

// Whether the few elements are to blame for an error that is too large.
static bool blames_elements(const tdJob *job, const Outcome *outcome)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    bool blamed = outcome->n == 0; // a model that finds no equilibrium at all
    for (int k = 0; k < 2; k++)
    {
        bool known = k == 0 && !isnan(outcome->whole);
        double off = known ? outcome->whole : outcome->left[k], share = known ? WHOLE : BLAME;
        blamed = blamed || (outcome->error[k] > given->error && off < share * outcome->error[k]);
    }
    return given->find_ecsw && job->ecsw_tolerance > TOLERANCE && blamed;
}

// poor: more elements brought nothing, so that modes that leave little of a shape may still be too stiff.
static bool blames_modes(const tdJob *job, const Outcome *outcome, bool poor)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    static const double least[2] = {CLEARLY, HARDLY};
    bool blamed = false, at_places = outcome->error[0] > given->error && !(outcome->error[1] > outcome->error[0]);
    for (int k = 0; k < (at_places ? 1 : 2); k++)
        blamed = blamed || (outcome->error[k] > given->error && 2 * outcome->least[k] < outcome->left[k] &&
                            outcome->left[k] > (poor ? 0 : least[k]) * outcome->error[k]);
    return given->find_pod && job->share > SHARE_LEAST && blamed;
}

// Rounds that brought nothing leave a model that may be worse than an earlier one: that one is made again, of parts
// that are all there.
static void go_back(tdJob *job, double now, bool *again)
{
    if (!(now > WORSE * job->best_excess))
        return;
    job->ecsw_tolerance = job->best.ecsw_tolerance;
    job->share = job->best.share;
    job->path = job->best.path;
    job->returned = *again = true;
    td_log(&job->task->settings, TD_LOG_INFO, "round %d: no better than an earlier round, whose settings are used",
           job->rounds + 1);
}

static tdStatus decide(tdJob *job, const Outcome *outcome, Place *places, bool *again, tdError *error)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    double now = excess(job, outcome);
    char next[120] = "";
    *again = false;
    if (job->returned)
        return TD_OK;
    if (now < job->best_excess)
        job->best = (tdJobSettings){job->ecsw_tolerance, job->share, job->path};
    job->stale = now < GAIN * job->best_excess ? 0 : job->stale + 1;
    job->best_excess = fmin(job->best_excess, now);
    // With elements that stand for all in training, and only there, the error does not fall as the tolerance does: more
    // places are the cure.
    bool poor = job->tightened > 0 && !(now < sqrt(job->tightened) * job->last_excess);
    job->last_excess = now;
    job->tightened = 0;
    if (now <= 1)
        return TD_OK;
    // What a motion has beyond all shapes of training is not found by going on.
    if (job->rounds + 1 >= MOST_ROUNDS || job->stale >= (outcome->error[0] <= given->error ? STALE_MOTION : STALE))
    {
        go_back(job, now, again);
        return TD_OK;
    }
    bool elements = blames_elements(job, outcome), places_off = outcome->error[0] > given->error || outcome->n == 0;
    if (!(elements && !poor) && blames_modes(job, outcome, poor))
    {
        // What modes leave now may be less than was allowed; more of them are wanted all the same.
        for (int k = 0; k < 2; k++)
            if (outcome->error[k] > given->error)
                job->share = fmin(job->share, outcome->left[k] / given->error);
        job->share = fmax(SHARE_LESS * job->share, SHARE_LEAST);
        *again = true;
        snprintf(next, sizeof next, "more modes");
    }
    else if (!(elements && !poor) && places_off && places_left(job) > 0)
    {
        int64_t before = job->path.spread;
        TD_TRY(add_places(job, outcome->n, places, error));
        *again = true;
        snprintf(next, sizeof next, "%lld more points", (long long)(job->path.spread - before));
    }
    else if (elements)
    {
        job->tightened = fmax(fmin(0.5 / now, 0.5), 0.1);
        job->ecsw_tolerance = fmax(job->ecsw_tolerance * job->tightened, TOLERANCE);
        *again = true;
        snprintf(next, sizeof next, "more elements, ecsw_tolerance %.2g", job->ecsw_tolerance);
    }
    if (!*again)
        go_back(job, now, again);
    else
        td_log(&job->task->settings, TD_LOG_INFO,
               "round %d: error %.2g at held-out points (%.2g of it because of too few modes), %.2g (%.2g) along the "
               "motion; %.2g requested: %s",
               job->rounds + 1, outcome->error[0], outcome->left[0], outcome->error[1], outcome->left[1], given->error,
               next);
    return TD_OK;
}

// ---------------------------------------------------------------- rounds

// Of all that decisions depend on beside the shapes of full order.
static uint64_t round_key(const tdJob *job)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    const double tolerances[] = {given->error, given->pod_tolerance, given->ecsw_tolerance};
    const int64_t counts[] = {given->max_modes, given->memory,   given->modes,       (int64_t)given->seed,
                              given->count,     given->find_pod, given->find_ecsw,   job->rounds,
                              given->kind,      job->path.count, job->held_out.count};
    uint64_t key = td_work_key(job->equilibria, tolerances, sizeof tolerances);
    key = td_work_key(key, counts, sizeof counts);
    key = td_work_key(key, job->path.values, (size_t)(job->path.count * job->path.n) * sizeof(double));
    return td_work_key(key, job->held_out.values, (size_t)(job->held_out.count * job->held_out.n) * sizeof(double));
}

static int list_round(const tdJob *job, Outcome *outcome, Place *places, char name[64], tdWorkPart pieces[2])
{
    snprintf(name, 64, "round-%d.part", job->rounds);
    pieces[0] = (tdWorkPart){outcome, sizeof *outcome};
    pieces[1] = (tdWorkPart){places, (size_t)job->held_out.count * sizeof *places};
    return 2;
}

void td_job_begin_round(tdJob *job)
{
    tdReduceReport *report = job->report;
    td_arena_free(&job->round);
    tdRom *rom = &job->rom;
    rom->r = rom->n_sigma = rom->n_lambda = rom->n_domains = 0;
    rom->phi = rom->sigma = rom->lambda = rom->low = rom->high = rom->spread = rom->P = rom->Q = rom->S = NULL;
    rom->domains = NULL;
    job->n_found = job->n_k = 0;
    job->places = job->motion = NULL;
    job->metric = NULL;
    job->rom.indicator_slope = job->rom.indicator_threshold = job->rom.distance_threshold = NAN;
    job->rom.indicator_offset = 0;
    job->rom.held_out_error = job->rom.motion_error = NAN;
    report->iterations = 0;
    report->failures = report->weight_snapshots = report->moving_snapshots = 0;
    report->elements = report->rid_elements = 0;
    report->ecsw_error = 0;
}

tdStatus td_job_skip_rounds(tdJob *job, tdError *error)
{
    const tdSceneReduction *given = &job->model->scene.reduction;
    job->ecsw_tolerance = given->ecsw_tolerance;
    if (given->find_ecsw && given->ecsw_norm != TD_ECSW_FORCES)
        job->ecsw_tolerance *= BY_ENERGY;
    job->share = SHARE;
    job->best_excess = INFINITY;
    job->best = (tdJobSettings){job->ecsw_tolerance, job->share, job->path};
    job->report->asked = given->error;
    if (!td_job_adapts(job))
        return TD_OK;
    Place *places = td_take((size_t)job->held_out.count, sizeof *places);
    tdStatus status = places == NULL ? td_fail_memory(error, "the rounds of training") : TD_OK;
    for (bool again = true; status == TD_OK && again;)
    {
        char name[64];
        Outcome outcome;
        tdWorkPart pieces[2];
        int n = list_round(job, &outcome, places, name, pieces);
        again = td_work_load(&job->work, round_key(job), name, n, pieces);
        if (again)
            status = decide(job, &outcome, places, &again, error);
        if (again)
            job->rounds++;
    }
    free(places);
    return status;
}

tdStatus td_job_again(tdJob *job, bool *again, tdError *error)
{
    const tdReduceReport *report = job->report;
    *again = false;
    job->report->rounds = job->rounds + 1;
    job->report->ecsw_tolerance = job->ecsw_tolerance;
    if (!td_job_adapts(job) || job->stopped || job->places == NULL)
        return TD_OK;
    const tdSceneReduction *given = &job->model->scene.reduction;
    Outcome outcome = {.error = {report->held_out_error, report->motion_error}, .whole = NAN, .n = job->places->n};
    if (given->find_ecsw && outcome.error[0] > given->error && job->left[0] > CLEARLY * outcome.error[0])
        TD_TRY(td_job_whole_error(job, &outcome.whole, error));
    memcpy(outcome.left, job->left, sizeof outcome.left);
    memcpy(outcome.least, job->least, sizeof outcome.least);
    Place *places = td_take((size_t)job->held_out.count, sizeof *places);
    if (places == NULL)
        return td_fail_memory(error, "the rounds of training");
    for (int64_t i = 0; i < outcome.n; i++)
        places[i] = (Place){job->places->found[i], job->places->place[i]};
    char name[64];
    tdWorkPart pieces[2];
    int n = list_round(job, &outcome, places, name, pieces);
    tdStatus status = td_work_save(&job->work, round_key(job), name, n, pieces, error);
    if (status == TD_OK)
        status = decide(job, &outcome, places, again, error);
    job->rounds += *again;
    free(places);
    return status;
}
