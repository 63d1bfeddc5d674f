// SPDX-License-Identifier: Apache-2.0
// Any bytes as calls of a batch: arrays of exactly the sizes that their strides say, so that a step beyond them is
// seen; names, indices, masks and numbers of all kinds. Each call is refused with a message or done.
#include "tendril/tendril.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Bytes
{
    const uint8_t *at, *end;
} Bytes;

static unsigned next(Bytes *b)
{
    return b->at < b->end ? *b->at++ : 0;
}

static double number(Bytes *b)
{
    static const double odd[] = {0, 1, -1, 1e-3, 0.5, 1e300, -1e300};
    unsigned k = next(b) % 10;
    return k == 7 ? (double)NAN : k == 8 ? (double)INFINITY : k == 9 ? -(double)INFINITY : odd[k];
}

static void check(bool condition)
{
    if (!condition)
        abort();
}

// A refusal has a reason.
static void judge(tdStatus status, const tdError *error)
{
    check(status == TD_OK || error->message[0] != '\0');
}

// One element that two forces push: few numbers, and steps of microseconds.
static const char scene[] = "tendril: 1\ntime_step: 5 ms\nsteps: 10\ngravity: [0, 0, -9.81]\n"
                            "bodies:\n"
                            "  - name: arm\n"
                            "    mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [1, 1, 1]}\n"
                            "    material: {law: corotational, young: 100 kPa, poisson: 0.3, density: 1000}\n"
                            "    fixed: [{group: xmin}]\n"
                            "actuators:\n"
                            "  - {name: a, type: force, body: arm, group: xmax, direction: [0, 1, 0], drive: force}\n"
                            "  - {name: b, type: force, body: arm, group: xmax, direction: [0, 0, 1], drive: force}\n";

static const char *const names[] = {
    "time",           "coords:arm", "rates:arm",     "positions:arm", "elastic",     "kinetic", "effort:a",
    "displacement:b", "input:a",    "reaction:arm",  "probe:none",    "contact:a,b", "",        "joint:arm",
    "coords:",        "coords:leg", "joint:arm,j1,", "sensor:x",      "indicator",   "contacts"};

static void rollout(Bytes *b, tdBatch *batch, int inputs)
{
    tdError error = {0};
    tdRollout plan = td_default_rollout();
    int robots = td_batch_robots(batch);
    int64_t width = td_outputs_width(td_batch_outputs(batch));
    uint8_t mask[4];
    int32_t status[4], steps[4];
    plan.rows = (int)(next(b) % 4);
    plan.hold = (int)(next(b) % 3);
    // Robots, rows and numbers in any order, with gaps.
    int64_t gap = 1 + next(b) % 3, in = inputs * gap, out = width * gap, rows = plan.rows;
    bool by_row = next(b) % 2 == 1;
    double *from = malloc((size_t)(robots * rows * in + 1) * sizeof *from);
    double *to = malloc((size_t)(robots * rows * out + 1) * sizeof *to);
    if (from == NULL || to == NULL)
        exit(1);
    for (int64_t i = 0; i < robots * rows * in; i++)
        from[i] = number(b);
    plan.inputs = (tdSpan){next(b) % 4 == 0 ? NULL : from, by_row ? in : rows * in, by_row ? robots * in : in, gap};
    plan.outputs = (tdSpan){next(b) % 4 == 0 ? NULL : to, by_row ? out : rows * out, by_row ? robots * out : out, gap};
    for (int i = 0; i < robots; i++)
        mask[i] = (uint8_t)(next(b) % 2);
    plan.mask = next(b) % 2 == 0 ? NULL : mask;
    plan.status = next(b) % 2 == 0 ? NULL : status;
    plan.steps = next(b) % 2 == 0 ? NULL : steps;
    judge(td_batch_rollout(batch, &plan, &error), &error);
    free(from);
    free(to);
}

static void choose(Bytes *b, tdBatch *batch, int *inputs)
{
    tdError error = {0};
    const char *chosen[4];
    int n = (int)(next(b) % 5), index[4];
    for (int i = 0; i < n; i++)
    {
        chosen[i] = names[next(b) % (sizeof names / sizeof names[0])];
        index[i] = (int)(next(b) % 4) - 1;
    }
    judge(td_batch_choose_outputs(batch, n, chosen, &error), &error);
    tdStatus status = td_batch_choose_inputs(batch, n, index, &error);
    judge(status, &error);
    *inputs = status == TD_OK ? n : *inputs;
}

static void vary(Bytes *b, tdBatch *batch)
{
    tdError error = {0};
    int robots = td_batch_robots(batch);
    int64_t stride = next(b) % 3;
    double *values = malloc((size_t)((robots - 1) * stride + 1) * sizeof *values);
    if (values == NULL)
        exit(1);
    for (int64_t i = 0; i <= (robots - 1) * stride; i++)
        values[i] = number(b);
    if (next(b) % 3 == 0)
        judge(td_batch_set_delay(batch, values, stride, NULL, &error), &error);
    else
        judge(td_batch_set_parameter(batch, (tdParameter)(next(b) % 8), (int)(next(b) % 4) - 1, values, stride, NULL,
                                     &error),
              &error);
    free(values);
}

// States out and in; what was written comes back to the bit.
static void keep(Bytes *b, const tdModel *model, tdBatch *batch)
{
    tdError error = {0};
    int robots = td_batch_robots(batch);
    size_t bytes = td_state_size(model, td_batch_state(batch, 0)), stride = bytes + 8 * (next(b) % 2);
    char *memory = malloc((size_t)(robots - 1) * stride + bytes);
    if (memory == NULL)
        exit(1);
    uint64_t before = td_state_hash(model, td_batch_state(batch, 0));
    judge(td_batch_write(batch, memory, next(b) % 8 == 0 ? bytes - 1 : stride, NULL, &error), &error);
    tdStatus status = td_batch_write(batch, memory, stride, NULL, &error);
    check(status == TD_OK);
    check(td_batch_read(batch, memory, next(b) % 2 == 0 ? 0 : stride, NULL, &error) == TD_OK);
    check(td_state_hash(model, td_batch_state(batch, 0)) == before);
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tdModel *model; // made once: what is fuzzed are the calls
    tdError error = {0};
    Bytes b = {data, data + size};
    tdSettings settings = td_default_settings();
    settings.threads = 1;
    if (model == NULL && td_model_parse(scene, strlen(scene), "fuzz", NULL, &settings, &model, &error) != TD_OK)
    {
        fprintf(stderr, "%s: %s\n", error.field, error.message);
        abort();
    }
    tdBatch *batch = NULL;
    int robots = (int)(next(&b) % 4), inputs = td_model_inputs(model);
    tdStatus status = td_batch_create(model, &settings, robots, &batch, &error);
    judge(status, &error);
    check((status == TD_OK) == (robots > 0));
    for (int calls = 0; batch != NULL && b.at < b.end && calls < 12; calls++)
        switch (next(&b) % 5)
        {
        case 0: rollout(&b, batch, inputs); break;
        case 1: choose(&b, batch, &inputs); break;
        case 2: vary(&b, batch); break;
        case 3: keep(&b, model, batch); break;
        default: judge(td_batch_reset(batch, NULL, &error), &error); break;
        }
    td_batch_free(batch);
    return 0;
}
