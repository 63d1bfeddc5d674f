// SPDX-License-Identifier: Apache-2.0
// td_sweep(): all rows of all robots of a file, in pieces that are kept as soon as they are done.
#include "study/sweep.h"

#include "base/hash.h"
#include "base/timer.h"
#include "core/model.h"
#include "reduce/offline/work.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_SECONDS 1.0     // that a piece of work is to take
#define PIECE_NUMBERS 8000000 // inputs and outputs of one, at most
#define SMALL_DOFS    1000    // robots up to this many come in large blocks,
#define SMALL_BLOCK   256     // because their states are small
#define LARGE_BLOCK   16

typedef struct Sweep
{
    const tdSweepSettings *what;
    tdArena arena;
    tdSweepInputs inputs;
    tdModel *model;
    tdBatch *batch;
    tdWork work;
    bool working;
    int64_t block; // robots of a batch
    int64_t width; // numbers of a row of outputs
    size_t state_bytes;
    int32_t *ends; // by robot: its status
    int64_t *steps;
    // of the block that is being done
    double *in, *out;
    int64_t capacity; // rows that these have room for
    char *states;
    int32_t *status, *taken;
    uint8_t *mask;
    int64_t rows_piece; // rows of the next piece
    tdSweep *result;
} Sweep;

tdSweepSettings td_default_sweep(void)
{
    return (tdSweepSettings){.hold = 1};
}

// ---------------------------------------------------------------- what is asked for

// Which outputs, where nobody says so: places of probes, and what actuators do.
static tdStatus choose_outputs(Sweep *s, tdError *error)
{
    const tdModel *model = s->model;
    int n = 0, most = model->n_probes + 2 * td_model_actuators(model);
    if (s->what->n_outputs > 0)
        return td_batch_choose_outputs(s->batch, s->what->n_outputs, s->what->outputs, error);
    const char **names = TD_TAKE(&s->arena, const char *, most + 1);
    for (int i = 0; names != NULL && i < most; i++)
    {
        char name[256];
        int a = (i - model->n_probes) / 2;
        if (i < model->n_probes)
            snprintf(name, sizeof name, "probe:%s", model->probes[i].name);
        else
            snprintf(name, sizeof name, "%s:%s", (i - model->n_probes) % 2 == 0 ? "effort" : "displacement",
                     td_model_actuator(model, a).name);
        names[n] = td_arena_copy(&s->arena, name);
        if (names[n++] == NULL)
            return td_fail_memory(error, "the outputs");
    }
    if (names == NULL)
        return td_fail_memory(error, "the outputs");
    if (n == 0)
        return td_fail(error, TD_ERROR_USAGE,
                       "the scene has neither probes nor actuators to read; select outputs, e.g. coords:%s",
                       td_model_body_name(model, 0));
    return td_batch_choose_outputs(s->batch, n, names, error);
}

static tdStatus choose_inputs(Sweep *s, tdError *error)
{
    const tdSweepInputs *in = &s->inputs;
    if (in->names == NULL && in->n == td_model_inputs(s->model))
        return TD_OK;
    if (in->names == NULL)
        return td_fail_at(error, TD_ERROR_INPUT, in->path, 0, "inputs",
                          "has %lld numbers in a row, and the scene has %d inputs; name them in the attribute 'names'",
                          (long long)in->n, td_model_inputs(s->model));
    int *chosen = TD_TAKE(&s->arena, int, in->n + 1);
    if (chosen == NULL)
        return td_fail_memory(error, "the inputs");
    for (int64_t k = 0; k < in->n; k++)
    {
        chosen[k] = td_model_find_input(s->model, in->names[k]);
        if (chosen[k] < 0)
            return td_fail_at(error, TD_ERROR_INPUT, in->path, 0, "inputs.names",
                              "the scene has no input '%.80s'; the first that it has is '%s'", in->names[k],
                              td_model_inputs(s->model) > 0 ? td_model_input_name(s->model, 0) : "none");
    }
    return td_batch_choose_inputs(s->batch, (int)in->n, chosen, error);
}

// "young:BODY" -> the parameter and what it is of.
static tdStatus find_parameter(const Sweep *s, const char *name, tdParameter *parameter, int *index, tdError *error)
{
    char word[64];
    size_t length = strcspn(name, ":");
    const char *of = name[length] == ':' ? name + length + 1 : NULL;
    snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), name);
    int k = 0;
    while (k < TD_PARAMETERS && strcmp(td_parameter_name((tdParameter)k), word) != 0)
        k++;
    *parameter = (tdParameter)k;
    *index = 0;
    if (k == TD_PARAMETERS)
        return td_fail_at(error, TD_ERROR_INPUT, s->inputs.path, 0, "parameters",
                          "there is no parameter '%.60s'; there are delay, friction, gravity_x, young:BODY, mass:BODY, "
                          "damping:BODY, offset:INPUT",
                          name);
    if (of == NULL)
        return TD_OK;
    *index = *parameter == TD_PARAMETER_OFFSET ? td_model_find_input(s->model, of) : td_model_find_body(s->model, of);
    if (*index < 0)
        return td_fail_at(error, TD_ERROR_INPUT, s->inputs.path, 0, "parameters", "'%.80s': the scene has no '%.60s'",
                          name, of);
    return TD_OK;
}

// Of the robots from `first` on; those beyond the last have the numbers of the last.
static tdStatus set_parameters(Sweep *s, int64_t first, tdError *error)
{
    double *values = TD_TAKE(&s->arena, double, s->block);
    if (values == NULL)
        return td_fail_memory(error, "parameters");
    for (int p = 0; p < s->inputs.n_parameters; p++)
    {
        const tdSweepParameter *given = &s->inputs.parameters[p];
        tdParameter parameter = TD_PARAMETER_FRICTION;
        int index = 0;
        for (int64_t i = 0; i < s->block; i++)
            values[i] = given->values[first + i < s->inputs.robots ? first + i : s->inputs.robots - 1];
        if (strcmp(given->name, "delay") == 0)
        {
            TD_TRY(td_batch_set_delay(s->batch, values, 1, NULL, error));
            continue;
        }
        TD_TRY(find_parameter(s, given->name, &parameter, &index, error));
        TD_TRY(td_batch_set_parameter(s->batch, parameter, index, values, 1, NULL, error));
    }
    return TD_OK;
}

static bool delayed(const Sweep *s)
{
    for (int p = 0; p < s->inputs.n_parameters; p++)
        if (strcmp(s->inputs.parameters[p].name, "delay") == 0)
            return true;
    return false;
}

// ---------------------------------------------------------------- work that is kept

// One line for each thing that the result depends on.
static tdStatus open_work(Sweep *s, const char *scene, const tdSettings *settings, tdError *error)
{
    char folder[4096];
    tdText about = {0};
    uint64_t text = 0, inputs = 0, rom = 0;
    if (settings->text != NULL)
        text = td_work_key(0, settings->text, strlen(settings->text));
    else
        TD_TRY(td_work_key_file(scene, &text, error));
    TD_TRY(td_work_key_file(s->what->inputs, &inputs, error));
    if (settings->rom != NULL)
        TD_TRY(td_work_key_file(settings->rom, &rom, error));
    td_text_format(&about,
                   "tendril %s\nscene %016" PRIx64 ", at its start %016" PRIx64 "\nreduced model %016" PRIx64 "\n",
                   td_version(), text, td_state_hash(s->model, td_batch_state(s->batch, 0)), rom);
    td_text_format(&about, "inputs %016" PRIx64 "\nhold %d, blocks of %lld\nkernels %s\noutputs", inputs, s->what->hold,
                   (long long)s->block, settings->portable ? "portable" : "of this processor");
    const tdOutputs *outputs = td_batch_outputs(s->batch);
    for (int i = 0; i < td_outputs_count(outputs); i++)
        td_text_format(&about, " %s", td_outputs_info(outputs, i).name);
    td_text_append(&about, "\n", 2);
    tdStatus status = about.failed ? td_fail_memory(error, "the work") : TD_OK;
    if (status == TD_OK && snprintf(folder, sizeof folder, "%s.work", s->what->out) >= (int)sizeof folder)
        status = td_fail_at(error, TD_ERROR_IO, s->what->out, 0, NULL, "the path is too long");
    if (status == TD_OK)
        status = td_work_open(folder, about.data, s->what->restart, &s->work, error);
    s->working = status == TD_OK;
    s->result->resumed = s->working && s->work.resumed;
    free(about.data);
    return status;
}

static void name_piece(int64_t block, int64_t row, const char *what, char out[60])
{
    snprintf(out, 60, "block-%d-row-%d-%.8s.part", (int)block, (int)row, what);
}

// Room for `rows` rows of a block.
static tdStatus take_rows(Sweep *s, int64_t rows, tdError *error)
{
    if (rows <= s->capacity)
        return TD_OK;
    free(s->in);
    free(s->out);
    s->in = td_take((size_t)(s->block * rows * s->inputs.n) + 1, sizeof *s->in);
    s->out = td_take((size_t)(s->block * rows * s->width) + 1, sizeof *s->out);
    s->capacity = s->in != NULL && s->out != NULL ? rows : 0;
    return s->capacity > 0 ? TD_OK : td_fail_memory(error, "rows of inputs and outputs");
}

// What is kept of a piece: outputs, statuses and steps so far, and the states at its end.
static void piece_parts(const Sweep *s, int64_t robots, int64_t rows, int64_t first, tdWorkPart parts[4])
{
    parts[0] = (tdWorkPart){s->out, (size_t)(robots * rows * s->width) * sizeof *s->out};
    parts[1] = (tdWorkPart){s->ends + first, (size_t)robots * sizeof *s->ends};
    parts[2] = (tdWorkPart){s->steps + first, (size_t)robots * sizeof *s->steps};
    parts[3] = (tdWorkPart){s->states, (size_t)robots * s->state_bytes};
}

// Rows of the piece that begins at a row, which is then in memory; 0: it was not done.
static int64_t load_piece(Sweep *s, int64_t block, int64_t robots, int64_t row)
{
    int64_t rows = 0;
    char name[60];
    tdWorkPart parts[4];
    const tdWorkPart count = {&rows, sizeof rows};
    name_piece(block, row, "rows", name);
    if (!td_work_load(&s->work, s->work.key, name, 1, &count) || rows < 1 || rows > s->inputs.rows - row ||
        take_rows(s, rows, NULL) != TD_OK)
        return 0;
    name_piece(block, row, "data", name);
    piece_parts(s, robots, rows, block * s->block, parts);
    return td_work_load(&s->work, s->work.key, name, 4, parts) ? rows : 0;
}

static tdStatus save_piece(Sweep *s, int64_t block, int64_t robots, int64_t row, int64_t rows, tdError *error)
{
    char name[60];
    tdWorkPart parts[4];
    const tdWorkPart count = {&rows, sizeof rows};
    name_piece(block, row, "data", name);
    piece_parts(s, robots, rows, block * s->block, parts);
    TD_TRY(td_work_save(&s->work, s->work.key, name, 4, parts, error));
    name_piece(block, row, "rows", name); // last: where it is, the other is
    return td_work_save(&s->work, s->work.key, name, 1, &count, error);
}

// ---------------------------------------------------------------- doing it

static bool go_on(const Sweep *s, int64_t done)
{
    return s->what->progress == NULL ||
           s->what->progress(s->what->user, "simulating", done, s->inputs.robots * s->inputs.rows);
}

// Robots of the block that go on: not those that have stopped, nor places that no robot has.
static void mark(Sweep *s, int64_t first, int64_t robots)
{
    for (int64_t i = 0; i < s->block; i++)
        s->mask[i] = i < robots && s->ends[first + i] == TD_OK;
}

static tdStatus do_piece(Sweep *s, int64_t block, int64_t robots, int64_t row, int64_t rows, tdError *error)
{
    int64_t first = block * s->block;
    tdRollout rollout = td_default_rollout();
    TD_TRY(take_rows(s, rows, error));
    TD_TRY(td_sweep_read(&s->inputs, first, robots, row, rows, s->in, error));
    mark(s, first, robots);
    rollout.rows = (int)rows;
    rollout.hold = s->what->hold;
    rollout.inputs = (tdSpan){s->inputs.n > 0 ? s->in : NULL, rows * s->inputs.n, s->inputs.n, 1};
    rollout.outputs = (tdSpan){s->out, rows * s->width, s->width, 1};
    rollout.mask = s->mask;
    rollout.status = s->status;
    rollout.steps = s->taken;
    for (int64_t k = 0; k < robots * rows * s->width; k++)
        s->out[k] = NAN;
    TD_TRY(td_batch_rollout(s->batch, &rollout, error));
    for (int64_t i = 0; i < robots; i++)
        if (s->mask[i])
        {
            s->ends[first + i] = s->status[i];
            s->steps[first + i] += s->taken[i];
        }
    return td_batch_write(s->batch, s->states, s->state_bytes, NULL, error);
}

// Rows of a block that earlier runs did; what is in memory is what there was at their end.
static int64_t find_done(Sweep *s, int64_t block, int64_t robots)
{
    int64_t row = 0, last = 0, rows = 0;
    while (row < s->inputs.rows && (rows = load_piece(s, block, robots, row)) > 0)
    {
        last = row;
        row += rows;
    }
    if (row == s->inputs.rows)
        return row;
    // One that was not whole may have left some of itself.
    if (row > 0 && load_piece(s, block, robots, last) == row - last)
        return row;
    memset(s->ends + block * s->block, 0, (size_t)robots * sizeof *s->ends);
    memset(s->steps + block * s->block, 0, (size_t)robots * sizeof *s->steps);
    return 0;
}

// All rows of a block, from where an earlier run was.
static tdStatus do_block(Sweep *s, int64_t block, tdError *error)
{
    int64_t first = block * s->block, left = s->inputs.robots - first;
    int64_t robots = left < s->block ? left : s->block, row = find_done(s, block, robots);
    if (row == s->inputs.rows)
        return TD_OK;
    TD_TRY(td_batch_reset(s->batch, NULL, error));
    TD_TRY(set_parameters(s, first, error));
    if (row > 0)
    {
        mark(s, 0, 0);
        memset(s->mask, 1, (size_t)robots);
        TD_TRY(td_batch_read(s->batch, s->states, s->state_bytes, s->mask, error));
    }
    // Rows that are on their way to a robot are not part of its state, so that a block with delays is done as a whole.
    bool whole = delayed(s);
    while (row < s->inputs.rows)
    {
        int64_t most = PIECE_NUMBERS / (s->block * (s->inputs.n + s->width) + 1) + 1;
        int64_t rows = s->inputs.rows - row;
        if (!whole && rows > s->rows_piece)
            rows = s->rows_piece;
        if (!whole && rows > most)
            rows = most;
        if (!go_on(s, first * s->inputs.rows + row * robots))
        {
            s->result->stopped = true;
            return TD_OK;
        }
        double start = td_seconds();
        tdStatus status = do_piece(s, block, robots, row, rows, error);
        if (status == TD_CANCELLED)
        {
            s->result->stopped = true;
            return TD_OK;
        }
        TD_TRY(status);
        TD_TRY(save_piece(s, block, robots, row, rows, error));
        row += rows;
        double spent = td_seconds() - start;
        double next = spent > 0 ? (double)rows * PIECE_SECONDS / spent : (double)rows;
        s->rows_piece = (int64_t)fmax(1, fmin(next, 4.0 * (double)rows));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- the file

static tdStatus assemble(Sweep *s, const char *scene, tdError *error)
{
    tdSweepFile file = {.file = -1};
    int64_t blocks = (s->inputs.robots + s->block - 1) / s->block;
    double step = s->what->hold * td_model_time_step(s->model);
    tdStatus status = td_sweep_create(s->what->out, scene, step, td_batch_outputs(s->batch), s->inputs.robots,
                                      s->inputs.rows, &file, error);
    for (int64_t b = 0; b < blocks && status == TD_OK; b++)
    {
        int64_t first = b * s->block, left = s->inputs.robots - first, rows = 0;
        int64_t robots = left < s->block ? left : s->block;
        for (int64_t row = 0; row < s->inputs.rows && status == TD_OK; row += rows)
        {
            rows = load_piece(s, b, robots, row);
            status = rows > 0 ? td_sweep_write(&file, first, robots, row, rows, s->out, error)
                              : td_fail_at(error, TD_ERROR_IO, s->work.folder, 0, NULL,
                                           "earlier work can no longer be read; run the command again");
        }
    }
    return td_sweep_finish(&file, status, s->ends, s->steps, error);
}

static tdStatus prepare(Sweep *s, const char *scene, const tdSettings *settings, tdError *error)
{
    TD_TRY(td_sweep_open(s->what->inputs, &s->inputs, error));
    TD_TRY(td_model_load(scene, settings, &s->model, error));
    s->block = td_model_dofs(s->model) <= SMALL_DOFS ? SMALL_BLOCK : LARGE_BLOCK;
    s->block = s->block < s->inputs.robots ? s->block : s->inputs.robots;
    TD_TRY(td_batch_create(s->model, settings, (int)s->block, &s->batch, error));
    TD_TRY(choose_inputs(s, error));
    TD_TRY(choose_outputs(s, error));
    s->width = td_outputs_width(td_batch_outputs(s->batch));
    s->state_bytes = td_state_size(s->model, td_batch_state(s->batch, 0));
    s->ends = TD_TAKE(&s->arena, int32_t, s->inputs.robots);
    s->steps = TD_TAKE(&s->arena, int64_t, s->inputs.robots);
    s->status = TD_TAKE(&s->arena, int32_t, s->block);
    s->taken = TD_TAKE(&s->arena, int32_t, s->block);
    s->mask = TD_TAKE(&s->arena, uint8_t, s->block);
    s->states = td_arena_take(&s->arena, (size_t)s->block, s->state_bytes);
    s->rows_piece = 1;
    if (s->ends == NULL || s->steps == NULL || s->status == NULL || s->taken == NULL || s->mask == NULL ||
        s->states == NULL)
        return td_fail_memory(error, "the batch");
    TD_TRY(set_parameters(s, 0, error)); // what is wrong in them shows at once
    TD_TRY(td_batch_reset(s->batch, NULL, error));
    return open_work(s, scene, settings, error);
}

static tdStatus sweep(Sweep *s, const char *scene, const tdSettings *settings, tdError *error)
{
    TD_TRY(prepare(s, scene, settings, error));
    s->result->robots = s->inputs.robots;
    s->result->rows = s->inputs.rows;
    int64_t blocks = (s->inputs.robots + s->block - 1) / s->block;
    for (int64_t b = 0; b < blocks && !s->result->stopped; b++)
        TD_TRY(do_block(s, b, error));
    if (s->result->stopped)
        return TD_OK;
    TD_TRY(assemble(s, scene, error));
    go_on(s, s->inputs.robots * s->inputs.rows);
    for (int64_t i = 0; i < s->inputs.robots; i++)
    {
        s->result->failed += s->ends[i] != TD_OK;
        s->result->steps += s->steps[i];
    }
    return TD_OK;
}

tdStatus td_sweep_run(const char *scene_path, const tdSweepSettings *what, const tdSettings *settings, tdSweep *out,
                      tdError *error)
{
    tdSweep unwanted;
    tdSettings standard = td_default_settings();
    Sweep s = {.what = what, .result = out != NULL ? out : &unwanted};
    *s.result = (tdSweep){0};
    if (what->inputs == NULL || what->out == NULL || what->hold < 1)
        return td_fail(error, TD_ERROR_USAGE,
                       "a sweep needs files of inputs and of outputs, and rows of 1 step or more");
    double start = td_seconds();
    tdStatus status = sweep(&s, scene_path, settings != NULL ? settings : &standard, error);
    s.result->seconds = td_seconds() - start;
    if (s.working)
        td_work_close(&s.work, status == TD_OK && !s.result->stopped);
    td_batch_free(s.batch);
    td_model_free(s.model);
    td_sweep_close(&s.inputs);
    td_arena_free(&s.arena);
    free(s.in);
    free(s.out);
    return status;
}
