// SPDX-License-Identifier: Apache-2.0
#include "judge.h"
#include "bits.h"

#include "body/articulated.h"
#include "body/soft.h"
#include "constraint/constraint.h"
#include "contact/contact.h"
#include "core/model.h"
#include "core/state.h"
#include "reduce/offline/job.h"
#include "tendril/tendril.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENERGY_TOLERANCE   0.1
#define MOMENTUM_TOLERANCE 1e-7 // linear systems are solved to 1e-8,
#define CONTACT_TOLERANCE  1e-5 // contact to 1e-6 in its own norm
#define DEPTH_TOLERANCE    0.1

// What is known of a run beside its state.
typedef struct sceneRun
{
    const randomScene *scene;
    tdModel *model;
    runVerdict *verdict;
    bool warned; ///< by some step
    double start, work, gross;
    double least;         ///< energy below which only rounding is seen [J]
    bool blind;           ///< work is not known: efforts are told of the end of a step, and alternate
    double *q, *reaction; ///< before the step
    double *effort, *displacement;
    double *momentum;  ///< 3 a body, before the step
    double *potential; ///< by body, before the step
    double *size;      ///< by body
    bool *plain;       ///< by body: nothing but gravity and contact acts on it
} sceneRun;

const char *verdict_name(verdictKind kind)
{
    static const char *const names[VERDICTS] = {"fine",   "stopped",  "warned",    "refused",     "not finite",
                                                "energy", "momentum", "third law", "penetration", "threads",
                                                "resume", "failure",  "crash",     "hang"};
    return kind < VERDICTS ? names[kind] : "unknown";
}

// The first thing that is wrong is kept. Of energy and depth the run itself may warn, before or later.
static void judge(sceneRun *run, verdictKind kind, int step, const char *format, ...) TD_PRINTF(4, 5);
static void judge(sceneRun *run, verdictKind kind, int step, const char *format, ...)
{
    runVerdict *verdict = run->verdict;
    if (verdict_is_wrong(verdict->kind))
        return;
    verdict->kind = kind;
    verdict->step = step;
    va_list list;
    va_start(list, format);
    vsnprintf(verdict->reason, sizeof verdict->reason, format, list);
    va_end(list);
}

// A warning may still come.
static bool is_final(verdictKind kind)
{
    return verdict_is_wrong(kind) && kind != VERDICT_ENERGY && kind != VERDICT_PENETRATION;
}

// ---------------------------------------------------------------- sums over a body

static void body_sums(const tdModel *model, tdState *state, int b, double momentum[3], double *potential, double *mass,
                      double *largest)
{
    const tdBody *body = &model->bodies[b];
    const double *g = model->scene.settings.gravity;
    memset(momentum, 0, 3 * sizeof *momentum);
    *potential = *mass = *largest = 0;
    if (td_body_is_articulated(body))
    {
        const tdArticulated *given = td_articulated_of(body);
        tdArticulatedState *mine = td_articulated_mine(body, state);
        td_tree_kinematics(given, state->q + body->first, mine->reference, &mine->at);
        td_tree_momentum(given, state->v + body->first, &mine->at, NULL, momentum, NULL, NULL);
        *potential = td_tree_potential(given, g, &mine->at);
        for (int l = 0; l < given->n_links; l++)
            *mass += given->tree->links[l].mass;
        for (int c = 0; c < 3; c++)
            *largest = fmax(*largest, fabs(momentum[c]));
        return;
    }
    const tdSoft *soft = body->soft;
    const double *x = td_state_positions(model, state, b), *v = td_state_velocities(model, state, b);
    for (int32_t i = 0; i < soft->n_nodes; i++)
    {
        double m = soft->node_weight[i];
        *mass += m;
        for (int c = 0; c < 3; c++)
        {
            momentum[c] += m * v[3 * i + c];
            *largest += fabs(m * v[3 * i + c]);
            *potential -= m * g[c] * x[3 * i + c];
        }
    }
}

static double body_size(const tdModel *model, const tdState *state, int b)
{
    int n = td_model_body_nodes(model, b);
    const double *x = td_state_positions(model, state, b);
    double size = 0;
    for (int c = 0; c < 3; c++)
    {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < n; i++)
        {
            low = fmin(low, x[3 * (size_t)i + c]);
            high = fmax(high, x[3 * (size_t)i + c]);
        }
        size = fmax(size, high - low);
    }
    return size;
}

// Modulus times volume of a soft body: its elastic energy is a small part of this.
static double stiff_energy(const tdBody *body)
{
    double sum = 0;
    if (td_body_is_articulated(body))
        return 0;
    for (int k = 0; k < body->soft->n_blocks; k++)
    {
        const tdElements *block = &body->soft->blocks[k];
        double modulus = 0;
        for (int p = 0; p < TD_LAW_PARAMETERS; p++)
            modulus = fmax(modulus, fabs(block->material.parameters[p]));
        sum += modulus * block->volume;
    }
    return sum;
}

// Bodies that nothing drives, holds or damps against space: their momentum is known.
static void find_plain(sceneRun *run)
{
    const tdModel *model = run->model;
    const tdScene *scene = &model->scene;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        run->plain[b] =
            td_body_is_articulated(body)
                ? td_articulated_of(body)->n_links == 1 && !td_articulated_is_based(body)
                : body->ops == &td_soft_ops && body->n_held == 0 && body->soft->alpha == 0 && body->soft->n_loads == 0;
    }
    // Whatever else there is names its body in the pieces of the scene.
    for (int i = 0; i < run->scene->n; i++)
    {
        const scenePiece *piece = &run->scene->pieces[i];
        bool acts =
            piece->place == PIECE_ACTUATOR || piece->place == PIECE_ATTACHMENT || piece->place == PIECE_COUPLING;
        for (int b = 0; acts && b < model->n_bodies; b++)
        {
            char *word = format_text(" %s", model->bodies[b].name);
            if (strstr(piece->text, word) != NULL)
                run->plain[b] = false;
            free(word);
        }
    }
    (void)scene;
}

// ---------------------------------------------------------------- invariants of a step

static bool all_finite(int64_t n, const double *x)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

static void check_finite(sceneRun *run, tdState *state, int step)
{
    const tdModel *model = run->model;
    const tdReport *r = &state->report;
    const double numbers[] = {r->residual,         r->constraint_error, r->contact_residual,
                              r->attachment_error, r->inverse_residual, r->bound_violation};
    if (!all_finite(model->coords, state->q) || !all_finite(model->coords, state->v))
        judge(run, VERDICT_FINITE, step, "a coordinate or velocity is not finite");
    if (!all_finite((int64_t)(sizeof numbers / sizeof numbers[0]), numbers))
        judge(run, VERDICT_FINITE, step, "a number of the report is not finite");
    if (!all_finite(model->coords, state->reaction))
        judge(run, VERDICT_FINITE, step, "a reaction is not finite");
    for (int a = 0; a < model->n_actuators; a++)
    {
        tdActuation now = td_state_actuation(model, state, a);
        if (!isfinite(now.effort) || !isfinite(now.displacement))
            judge(run, VERDICT_FINITE, step, "actuator '%s' has effort %g, displacement %g", model->actuators[a].name,
                  now.effort, now.displacement);
    }
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    for (int64_t i = 0; i < n; i++)
        if (!all_finite(3, points[i].position) || !all_finite(3, points[i].force) || !isfinite(points[i].distance))
            judge(run, VERDICT_FINITE, step, "a contact of '%s' is not finite", model->bodies[points[i].body[0]].name);
}

// Adds a piece of work to the ledger.
static void book(sceneRun *run, double work)
{
    run->work += work;
    run->gross += fabs(work);
}

// Work in the last step: loads where the method takes them, reactions and efforts at its end where it damps, else their
// means over it.
static void book_work(sceneRun *run, const tdState *state)
{
    const tdModel *model = run->model;
    const tdScheme *scheme = &model->scheme;
    bool mean = scheme->method == TD_METHOD_NEWMARK;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *body = &model->bodies[b];
        if (body->ops != &td_soft_ops)
            continue; // no other kind has loads or prescribed motion in these scenes
        double loads = 0, held = 0;
        for (int64_t i = 0; i < body->count; i++)
        {
            int64_t at = body->first + i;
            double way = state->q[at] - run->q[at];
            double weight = body->soft->node_weight[i / 3] * model->scene.settings.gravity[i % 3];
            loads += (state->load[at] - weight) * way;
            held += (mean ? 0.5 * (state->reaction[at] + run->reaction[at]) : state->reaction[at]) * way;
        }
        book(run, loads);
        book(run, held);
    }
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdActuator *actuator = &model->actuators[a];
        if (actuator->held)
            continue; // its reactions are counted above
        tdActuation now = td_state_actuation(model, (tdState *)state, a);
        double effort = mean ? 0.5 * (now.effort + run->effort[a]) : now.effort;
        book(run, effort * (now.displacement - run->displacement[a]));
    }
}

// The springs of servos are part of the elastic energy. What servos do is counted as work, so they are left out.
static double servo_energy(const tdModel *model, const tdState *state)
{
    double sum = 0;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdArticulated *robot = td_articulated_of(&model->bodies[b]);
        for (int k = 0; td_body_is_articulated(&model->bodies[b]) && state->steps > 0 && k < robot->n_servos; k++)
        {
            const tdServo *servo = &robot->servos[k];
            double way = state->input[servo->input] - servo->offset -
                         servo->ratio * state->q[model->bodies[b].first + servo->coord];
            sum += servo->rate ? 0 : 0.5 * servo->stiffness * way * way;
        }
    }
    return sum;
}

static void check_energy(sceneRun *run, tdState *state, int step)
{
    const tdModel *model = run->model;
    if (model->scheme.method == TD_METHOD_STATIC)
        return;
    double kinetic = 0, elastic = 0, total = 0;
    td_state_energy(model, state, &kinetic, &elastic);
    total = kinetic + elastic - servo_energy(model, state);
    if (!isfinite(total))
    {
        judge(run, VERDICT_FINITE, step, "the energy is not finite: kinetic %g J, elastic %g J", kinetic, elastic);
        return;
    }
    for (int b = 0; b < model->n_bodies; b++)
    {
        double momentum[3], potential, mass, largest;
        body_sums(model, state, b, momentum, &potential, &mass, &largest);
        total += potential;
        if (step > 0)
            run->gross += fabs(potential - run->potential[b]);
        run->potential[b] = potential;
    }
    if (step == 0)
    {
        run->start = total;
        run->gross = kinetic + elastic;
        return;
    }
    if (run->blind)
        return;
    double gain = total - run->start - run->work, scale = run->gross;
    // Of potentials far from the origin, and of strains that cancel in a law, only rounding is left.
    double rounding = 1e-9 * (fabs(run->start) + fabs(total)) + run->least;
    if (scale > rounding)
        run->verdict->energy = fmax(run->verdict->energy, (gain - rounding) / scale);
    if (gain > ENERGY_TOLERANCE * scale + rounding)
        judge(run, VERDICT_ENERGY, step,
              "energy %.6g J (kinetic %.4g, elastic %.4g) from %.6g J and work %.4g J: gained %.3g J, %.3g of what "
              "went in and out",
              total, kinetic, elastic, run->start, run->work, gain, gain / scale);
}

// Contact is solved to a tolerance relative to all bodies together.
static void check_momentum(sceneRun *run, tdState *state, int step)
{
    const tdModel *model = run->model;
    double h = model->scheme.h, worst = 0, all = 0;
    int bad = 0;
    if (model->scheme.method == TD_METHOD_STATIC)
        return;
    for (int b = 0; b < model->n_bodies; b++)
    {
        double momentum[3], potential, mass, largest, force[3], size = 0, error = 0;
        body_sums(model, state, b, momentum, &potential, &mass, &largest);
        for (int c = 0; c < 3; c++)
        {
            force[c] = mass * model->scene.settings.gravity[c];
            size += h * fabs(force[c]);
        }
        for (int a = 0; a < model->n_bodies; a++)
        {
            double f[3], back[3];
            td_state_contact_force(state, a, b, f);
            td_state_contact_force(state, b, a, back);
            for (int c = 0; c < 3 && a != b; c++)
            {
                force[c] += f[c];
                size += h * fabs(f[c]);
                if (fabs(f[c] + back[c]) > 1e-12 * (fabs(f[0]) + fabs(f[1]) + fabs(f[2])))
                    judge(run, VERDICT_THIRD_LAW, step, "'%s' and '%s': %g N and %g N", model->bodies[a].name,
                          model->bodies[b].name, f[c], back[c]);
            }
        }
        // What cancels inside of the body leaves rounding and what the linear solver left.
        double inside = 0;
        for (int64_t i = 0; i < model->bodies[b].count; i++)
            inside += fabs(state->force[model->bodies[b].first + i]);
        for (int c = 0; c < 3; c++)
            error = fmax(error, fabs(momentum[c] - run->momentum[3 * b + c] - h * force[c]));
        all += size + largest + 1e-2 * h * inside + mass * 1e-6 * run->size[b] / h;
        if (run->plain[b] && error > worst)
        {
            worst = error;
            bad = b;
        }
        memcpy(run->momentum + 3 * (size_t)b, momentum, sizeof momentum);
    }
    if (step == 0 || all == 0)
        return;
    run->verdict->momentum = fmax(run->verdict->momentum, worst / all);
    if (worst > (state->joined ? CONTACT_TOLERANCE : MOMENTUM_TOLERANCE) * all)
        judge(run, VERDICT_MOMENTUM, step, "body '%s': %.3g N s are missing, of %.3g", model->bodies[bad].name, worst,
              all);
}

static void check_depth(sceneRun *run, const tdState *state, int step)
{
    const tdModel *model = run->model;
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    if (isfinite(model->scene.contact.stiffness))
        return;
    for (int64_t i = 0; i < n; i++)
    {
        double size = fmin(run->size[points[i].body[0]], run->size[points[i].body[1]]);
        double depth = -points[i].distance / size;
        run->verdict->depth = fmax(run->verdict->depth, depth);
        if (depth > DEPTH_TOLERANCE)
            judge(run, VERDICT_PENETRATION, step, "'%s' and '%s' overlap by %.3g m, %.2g of the smaller one",
                  model->bodies[points[i].body[0]].name, model->bodies[points[i].body[1]].name, -points[i].distance,
                  depth);
    }
}

// A step that failed: why, and what it left.
static void check_failure(sceneRun *run, tdState *state, int step, const stateBits *before)
{
    static stateBits after;
    const tdError *error = &state->report.error;
    take_bits(run->model, state, &after);
    const char *other = other_bits(before, &after, false);
    if (error->message[0] == '\0' || strstr(error->message, "t = ") == NULL || strstr(error->message, "step") == NULL)
        judge(run, VERDICT_FAILURE, step, "a step fails without time and step: '%.200s'", error->message);
    if (other != NULL)
        judge(run, VERDICT_FAILURE, step, "a step that failed changed '%s': '%.200s'", other, error->message);
    if (run->verdict->kind == VERDICT_FINE)
    {
        run->verdict->kind = VERDICT_STOPPED;
        run->verdict->step = step;
        snprintf(run->verdict->reason, sizeof run->verdict->reason, "%.500s", error->message);
    }
}

// ---------------------------------------------------------------- runs

// Whether the report says that something is wrong.
static bool warns(const tdReport *report)
{
    return report->doubts != 0 || report->contact_limit || report->rom_warning;
}

static void remember(sceneRun *run, tdState *state)
{
    const tdModel *model = run->model;
    memcpy(run->q, state->q, (size_t)model->coords * sizeof(double));
    memcpy(run->reaction, state->reaction, (size_t)model->coords * sizeof(double));
    for (int a = 0; a < model->n_actuators; a++)
    {
        tdActuation now = td_state_actuation(model, state, a);
        run->effort[a] = now.effort;
        run->displacement[a] = now.displacement;
    }
}

// The run that is judged step by step; a checkpoint in its middle. Returns the steps that were taken.
static int judged_run(sceneRun *run, tdState *state, const char *checkpoint, stateBits *bits)
{
    const tdModel *model = run->model;
    int steps = run->scene->steps, taken = 0;
    check_energy(run, state, 0);
    check_momentum(run, state, 0);
    while (taken < steps && !is_final(run->verdict->kind))
    {
        remember(run, state);
        take_bits(model, state, bits);
        tdStatus status = td_step(model, state);
        if (status != TD_OK)
        {
            check_failure(run, state, taken + 1, bits);
            return taken; // with the bits before it
        }
        taken++;
        run->warned = run->warned || warns(&state->report);
        check_finite(run, state, taken);
        book_work(run, state);
        check_energy(run, state, taken);
        check_momentum(run, state, taken);
        check_depth(run, state, taken);
        tdError error = {0};
        if (taken == steps / 2 && td_state_save(model, state, checkpoint, &error) != TD_OK)
            judge(run, VERDICT_RESUME, taken, "the checkpoint could not be written: %.200s", error.message);
    }
    take_bits(model, state, bits);
    return taken;
}

// The same once more with another number of threads, from the start or from the checkpoint.
static void compared_run(sceneRun *run, int threads, const char *checkpoint, int taken, const stateBits *bits)
{
    static stateBits mine;
    const tdModel *model = run->model;
    verdictKind kind = checkpoint != NULL ? VERDICT_RESUME : VERDICT_THREADS;
    tdSettings settings = td_default_settings();
    settings.threads = threads;
    tdState *state = NULL;
    tdError error = {0};
    tdStatus status = td_state_create(model, &settings, &state, &error);
    if (status == TD_OK && checkpoint != NULL)
        status = td_state_load(model, state, checkpoint, &error);
    if (status != TD_OK)
        judge(run, kind, 0, "the state could not be made: %.200s", error.message);
    while (status == TD_OK && td_state_steps(state) < taken)
        status = td_step(model, state);
    if (state != NULL && status != TD_OK)
        judge(run, kind, (int)td_state_steps(state) + 1, "a step fails that went well before: %.200s",
              state->report.error.message);
    else if (state != NULL)
    {
        take_bits(model, state, &mine);
        const char *other = other_bits(bits, &mine, true);
        if (other != NULL)
            judge(run, kind, taken, "%s with %d threads it ends with other bits of '%s'",
                  checkpoint != NULL ? "resumed" : "begun", threads, other);
    }
    td_state_free(state);
}

// Whether the step finds its effort.
static bool found(const tdActuator *actuator)
{
    return !actuator->held && actuator->given->drive != TD_DRIVE_EFFORT;
}

static double *numbers(int64_t n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    if (x == NULL)
        abort();
    return x;
}

static void run_model(sceneRun *run, const char *folder)
{
    const tdModel *model = run->model;
    tdSettings settings = td_default_settings();
    settings.threads = 1;
    tdState *state = NULL;
    tdError error = {0};
    static stateBits bits;
    if (td_state_create(model, &settings, &state, &error) != TD_OK)
    {
        run->verdict->kind = VERDICT_REFUSED;
        snprintf(run->verdict->reason, sizeof run->verdict->reason, "%.500s", error.message);
        return;
    }
    double **arrays[] = {&run->q,        &run->reaction,  &run->effort, &run->displacement,
                         &run->momentum, &run->potential, &run->size};
    const int64_t sizes[] = {model->coords,       model->coords,   model->n_actuators, model->n_actuators,
                             3 * model->n_bodies, model->n_bodies, model->n_bodies};
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++)
        *arrays[k] = numbers(sizes[k]);
    run->plain = calloc((size_t)model->n_bodies, sizeof *run->plain);
    for (int b = 0; b < model->n_bodies; b++)
        run->size[b] = body_size(model, state, b);
    find_plain(run);
    bool damps_not = model->scheme.method == TD_METHOD_NEWMARK || td_scheme_ends_apart(&model->scheme);
    for (int a = 0; a < model->n_actuators; a++)
        run->blind = run->blind || (damps_not && (model->actuators[a].servo >= 0 || found(&model->actuators[a])));
    for (int b = 0; b < model->n_bodies; b++)
    {
        double momentum[3], potential, mass, largest, slow = 1e-9 * run->size[b] / model->scheme.h;
        body_sums(model, state, b, momentum, &potential, &mass, &largest);
        run->least += 1e-9 * stiff_energy(&model->bodies[b]) + mass * slow * slow;
    }
    char *checkpoint = format_text("%s/checkpoint.h5", folder);
    int taken = judged_run(run, state, checkpoint, &bits);
    td_state_free(state);
    if (run->warned && verdict_is_wrong(run->verdict->kind) && !is_final(run->verdict->kind))
        run->verdict->kind = VERDICT_WARNED;
    if (!verdict_is_wrong(run->verdict->kind) && taken > 0)
        compared_run(run, 2, NULL, taken, &bits);
    if (!verdict_is_wrong(run->verdict->kind) && taken >= run->scene->steps / 2 && run->scene->steps > 1)
        compared_run(run, 3, checkpoint, taken, &bits);
    unlink(checkpoint);
    free(checkpoint);
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++)
        free(*arrays[k]);
    free(run->plain);
}

// What `tendril reduce` does.
static tdStatus reduce(const char *text, const char *folder, const char *rom, tdError *error)
{
    char *path = format_text("%s/scene.yaml", folder);
    FILE *out = fopen(path, "w");
    tdStatus status = TD_ERROR_IO;
    if (out != NULL)
    {
        fputs(text, out);
        fclose(out);
        tdReduceTask task = {.scene = path, .out = rom, .restart = true, .settings = td_default_settings()};
        tdReduceReport report;
        task.settings.threads = 1;
        status = td_reduce(&task, &report, error);
        unlink(path);
    }
    free(path);
    return status;
}

void scene_judge(const randomScene *scene, const char *folder, runVerdict *verdict)
{
    *verdict = (runVerdict){0};
    sceneRun run = {.scene = scene, .verdict = verdict};
    tdSettings settings = td_default_settings();
    tdError error = {0};
    if (!scene_write_files(scene, folder))
    {
        *verdict = (runVerdict){.kind = VERDICT_CRASH, .reason = "the files of the scene could not be written"};
        return;
    }
    char *text = scene_write(scene), *rom = format_text("%s/rom.h5", folder);
    tdStatus status = TD_OK;
    if (scene_has_tag(scene, "reduction"))
    {
        status = reduce(text, folder, rom, &error);
        settings.rom = rom;
    }
    if (status == TD_OK)
        status = td_model_parse(text, strlen(text), "random.yaml", folder, &settings, &run.model, &error);
    free(text);
    unlink(rom);
    if (status != TD_OK)
    {
        verdict->kind = VERDICT_REFUSED;
        snprintf(verdict->reason, sizeof verdict->reason, "%s: %.300s", error.field, error.message);
        free(rom);
        return;
    }
    run_model(&run, folder);
    td_model_free(run.model);
    free(rom);
}
