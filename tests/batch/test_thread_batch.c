// SPDX-License-Identifier: Apache-2.0
// Batches: each robot is what it would be alone, to the bit, whatever the others do.
#include "reduced.h"

#include "base/file.h"
#include "core/state.h"

#include <limits.h>
#include <pthread.h>

#define OWN TD_SOURCE_DIR "/tests/golden/scenes/"

static tdModel *load(const char *scene, const char *rom)
{
    tdModel *model = NULL;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.rom = rom;
    assert_ok(td_model_load(scene, &settings, &model, &error), error);
    return model;
}

// The reduced arm, with a probe.
static tdModel *arm(void)
{
    char *text = NULL;
    size_t length = 0;
    tdError error = {0};
    tdText more = {0};
    tdModel *model = NULL;
    tdSettings settings = td_default_settings();
    settings.rom = OWN "arm.h5";
    assert_ok(td_file_read(OWN "arm.yaml", &text, &length, &error), error);
    td_text_format(&more, "%s\nprobes: [{name: tip, body: arm, point: [0.1, 0.01, 0.01]}]\n", text);
    assert_ok(td_model_parse(more.data, (size_t)more.size, "arm.yaml", OWN, &settings, &model, &error), error);
    free(more.data);
    free(text);
    return model;
}

static tdBatch *make(const tdModel *model, int robots, int threads)
{
    tdBatch *batch = NULL;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.threads = threads;
    assert_ok(td_batch_create(model, &settings, robots, &batch, &error), error);
    return batch;
}

// Inputs of robot i in row t: within the range of the actuators, else near what a scene without motion has.
static double input_of(const tdModel *model, int robot, int row, int input)
{
    for (int a = 0; a < td_model_actuators(model); a++)
    {
        tdActuatorInfo info = td_model_actuator(model, a);
        const double *range = info.drive[0] == 'd' ? info.displacement : info.effort;
        if (info.input == input && isfinite(range[0]) && isfinite(range[1]))
            return range[0] + (range[1] - range[0]) * (0.2 + 0.1 * ((robot * 7 + row * 3 + input) % 5));
    }
    return NAN;
}

static void roll(tdBatch *batch, const tdRollout *rollout)
{
    tdError error = {0};
    assert_ok(td_batch_rollout(batch, rollout, &error), error);
}

enum
{
    ROWS = 6,
    HOLD = 2,
    ROBOTS = 5
};

static void test_alone_or_not(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *scene, *rom;
    } list[] = {{OWN "arm.yaml", OWN "arm.h5"},
                {OWN "worm.yaml", OWN "worm.h5"},
                {OWN "tendons.yaml", NULL},
                {TD_SOURCE_DIR "/scenes/contact/gear.yaml", NULL}};
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++)
    {
        tdModel *model = load(list[k].scene, list[k].rom);
        int n = td_model_inputs(model);
        double *inputs = malloc(sizeof(double) * (size_t)(ROBOTS * ROWS * (n + 1)));
        for (int i = 0; i < ROBOTS; i++)
            for (int t = 0; t < ROWS; t++)
                for (int j = 0; j < n; j++)
                    inputs[(i * ROWS + t) * n + j] = input_of(model, i, t, j);
        uint64_t alone[ROBOTS];
        for (int i = 0; i < ROBOTS; i++)
        {
            tdState *state = scene_state(model);
            for (int t = 0; t < ROWS; t++)
            {
                for (int j = 0; j < n; j++)
                    assert_int_equal(td_state_set_input(model, state, j, inputs[(i * ROWS + t) * n + j]), TD_OK);
                scene_steps(model, state, HOLD);
            }
            alone[i] = td_state_hash(model, state);
            td_state_free(state);
        }
        assert_true(n == 0 || alone[0] != alone[1]);
        for (int threads = 1; threads <= 3; threads++)
            for (int robots = 1; robots <= ROBOTS; robots += ROBOTS - 1)
            {
                tdBatch *batch = make(model, robots, threads);
                int32_t status[ROBOTS], steps[ROBOTS];
                tdRollout rollout = td_default_rollout();
                rollout.rows = ROWS;
                rollout.hold = HOLD;
                rollout.inputs = (tdSpan){inputs, (int64_t)ROWS * n, n, 1};
                rollout.status = status;
                rollout.steps = steps;
                for (int again = 0; again < 2; again++) // and after a reset
                {
                    tdError error = {0};
                    roll(batch, &rollout);
                    for (int i = 0; i < robots; i++)
                    {
                        assert_int_equal(status[i], TD_OK);
                        assert_int_equal(steps[i], ROWS * HOLD);
                        assert_true(td_state_hash(model, td_batch_state(batch, i)) == alone[i]);
                    }
                    assert_ok(td_batch_reset(batch, NULL, &error), error);
                }
                td_batch_free(batch);
            }
        free(inputs);
        td_model_free(model);
    }
}

// What states share is scratch: robots that differ in all they can, stepped row by row and read in calls of their own,
// so that each finds there what others have left, are what they would be alone. One of them breaks on the way.
static void step_by_turns(const tdModel *model, int threads)
{
    enum
    {
        CALLS = 8,
        MAD = 3
    };
    tdBatch *batch = make(model, ROBOTS, threads);
    tdState *alone[ROBOTS];
    tdError error = {0};
    static const char *const names[] = {"time", "kinetic", "elastic", "penetration"};
    char body[2][128];
    const char *wanted[6] = {names[0], names[1], names[2], names[3], body[0], body[1]};
    snprintf(body[0], sizeof body[0], "coords:%s", td_model_body_name(model, 0));
    snprintf(body[1], sizeof body[1], "positions:%s", td_model_body_name(model, 0));
    assert_ok(td_batch_choose_outputs(batch, 6, wanted, &error), error);
    const tdOutputs *outputs = td_batch_outputs(batch);
    int n = td_model_inputs(model), breaks = model->scheme.mass > 0 ? CALLS / 2 : CALLS; // at rest nothing is too fast
    int64_t width = td_outputs_width(outputs);
    double *inputs = malloc(sizeof(double) * (size_t)(ROBOTS * (n + 1)));
    double *there = malloc(sizeof(double) * (size_t)(ROBOTS * width)), *here = malloc(sizeof(double) * (size_t)width);
    for (int i = 0; i < ROBOTS; i++)
    {
        double young = 0.8 + 0.1 * i;
        uint8_t mask[ROBOTS] = {0};
        mask[i] = 1;
        alone[i] = scene_state(model);
        assert_ok(td_state_set_parameter(model, alone[i], TD_PARAMETER_YOUNG, 0, young, &error), error);
        assert_ok(td_batch_set_parameter(batch, TD_PARAMETER_YOUNG, 0, &young, 0, mask, &error), error);
    }
    size_t size = td_state_size(model, alone[0]);
    char *value = malloc(size), *values = malloc(size * ROBOTS);
    int32_t status[ROBOTS];
    for (int t = 0; t < CALLS; t++)
    {
        for (int i = 0; i < ROBOTS; i++)
            for (int j = 0; j < n; j++)
                inputs[i * n + j] = input_of(model, i, t, j);
        uint8_t mad[ROBOTS] = {0};
        mad[MAD] = 1;
        if (t == breaks) // faster than numbers go
        {
            for (int64_t c = 0; c < model->coords; c++)
                alone[MAD]->v[c] = 1e200;
            assert_ok(td_state_write(model, alone[MAD], value, size, &error), error);
            assert_ok(td_batch_read(batch, value, 0, mad, &error), error);
        }
        tdRollout rollout = td_default_rollout();
        rollout.inputs = (tdSpan){inputs, n, 0, 1};
        rollout.status = status;
        roll(batch, &rollout);
        assert_ok(td_batch_read_outputs(batch, &(tdSpan){there, width, 0, 1}, NULL, &error), error);
        assert_ok(td_batch_write(batch, values, size, NULL, &error), error);
        assert_true((status[MAD] != TD_OK) == (t == breaks));
        if (t == breaks)
        {
            assert_ok(td_batch_reset(batch, mad, &error), error);
            assert_ok(td_state_reset(model, alone[MAD], &error), error);
        }
        for (int i = 0; i < ROBOTS; i++)
        {
            if (t == breaks && i == MAD)
                continue;
            for (int j = 0; j < n; j++)
                td_state_set_input(model, alone[i], j, inputs[i * n + j]);
            scene_steps(model, alone[i], 1);
            td_outputs_read(outputs, model, alone[i], here, 1);
            assert_memory_equal(here, there + i * width, sizeof(double) * (size_t)width);
            assert_ok(td_state_write(model, alone[i], value, size, &error), error);
            assert_memory_equal(value, values + (size_t)i * size, size);
        }
    }
    for (int i = 0; i < ROBOTS; i++) // one that is looked at from outside goes on by itself
    {
        assert_true(td_state_hash(model, td_batch_state(batch, i)) == td_state_hash(model, alone[i]));
        scene_steps(model, td_batch_state(batch, i), 1);
        scene_steps(model, alone[i], 1);
        assert_true(td_state_hash(model, td_batch_state(batch, i)) == td_state_hash(model, alone[i]));
        td_state_free(alone[i]);
    }
    free(values);
    free(value);
    free(here);
    free(there);
    free(inputs);
    td_batch_free(batch);
}

static void test_by_turns(void **unused)
{
    (void)unused;
    static const char *const list[][2] = {{OWN "arm.yaml", OWN "arm.h5"},
                                          {OWN "worm.yaml", OWN "worm.h5"},
                                          {OWN "modes.yaml", OWN "modes.h5"},
                                          {OWN "arm.yaml", NULL}};
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++)
    {
        tdModel *model = load(list[k][0], list[k][1]);
        for (int threads = 1; threads <= 3; threads += 2)
            step_by_turns(model, threads);
        td_model_free(model);
    }
}

// The same for what else a reduced body may make of its points: rotations that lag, damping of its own, memory,
// polynomials, a second choice of elements, cables and a cavity that stiffen it.
static void test_laws_by_turns(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *integrator, *material, *damping;
        bool polynomials;
    } list[] = {
        {"method: backward_euler", "law: corotational_lagged", "stiffness: 5 ms", false},
        {"method: backward_euler", "law: corotational", "stiffness: 5 ms, mass: 3", false},
        {"method: newmark", "law: neo_hookean", "stiffness: 5 ms", false},
        {"method: newmark", "law: corotational_lagged", "stiffness: 5 ms", false},
        {"newton: true", "law: mooney_rivlin", "mass: 3", false},
        {"method: theta, theta: 0.6, theta_vq: 0.6", "law: neo_hookean, viscoelastic: [{modulus: 0.4, time: 30 ms}]",
         "mass: 1", false},
        {"method: static", "law: neo_hookean", "mass: 0", false},
        {"method: newmark", "law: linear", "stiffness: 5 ms", false},
        {"method: newmark", "law: stvk", "stiffness: 5 ms", true},
    };
    char text[2000];
    for (size_t k = 0; k < sizeof list / sizeof list[0]; k++)
    {
        snprintf(
            text, sizeof text,
            "tendril: 1\ntime_step: 10 ms\nsteps: 1\ngravity: [0, 0, -9.81]\nintegrator: {%s}\nbodies:\n"
            "  - {name: arm, mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [5, 1, 1]}, material: {%s, young: "
            "100 kPa, poisson: 0.3, density: 1000},\n     damping: {%s}, fixed: [{group: xmin}]}\n"
            "actuators:\n  - {name: top, type: cable, body: arm, drive: force, range: [0, 0.2 N], path: [[0.09, 0.01, "
            "0.02], [0.05, 0.01, 0.02], [0, 0.01, 0.02]], pull_point: [-0.01, 0.01, 0.03]}\n"
            "  - {name: side, type: cable, body: arm, drive: displacement, range: [0, 2 mm], path: [[0.09, 0.02, "
            "0.01], [0, 0.02, 0.01]]}\n",
            list[k].integrator, list[k].material, list[k].damping);
        tdModel *full = scene_parse(text);
        tdRom rom = rom_of(full, 9, 2);
        if (list[k].polynomials)
            rom_polynomials(full, &rom);
        else
            rom_check(full, &rom, 2, 1);
        tdModel *model = rom_model(text, &rom, false);
        td_arena_free(&rom.arena);
        step_by_turns(model, 1);
        td_model_free(model);
        td_model_free(full);
    }
}

// Outputs come by name, in order, with strides; row by row what the state has then.
static void test_outputs(void **unused)
{
    (void)unused;
    tdModel *model = arm();
    tdBatch *batch = make(model, 3, 2);
    tdState *state = scene_state(model);
    tdError error = {0};
    char probe[64], effort[64], displacement[64], coords[64], positions[64];
    snprintf(probe, sizeof probe, "probe:%s", td_model_probe_name(model, 0));
    snprintf(effort, sizeof effort, "effort:%s", td_model_actuator(model, 0).name);
    snprintf(displacement, sizeof displacement, "displacement:%s", td_model_actuator(model, 0).name);
    snprintf(coords, sizeof coords, "coords:%s", td_model_body_name(model, 0));
    snprintf(positions, sizeof positions, "positions:%s", td_model_body_name(model, 0));
    const char *names[] = {"time", probe, effort, displacement, coords, positions, "kinetic", "elastic", "indicator"};
    int n_names = sizeof names / sizeof names[0];
    assert_ok(td_batch_choose_outputs(batch, n_names, names, &error), error);
    const tdOutputs *outputs = td_batch_outputs(batch);
    int64_t width = td_outputs_width(outputs), n = td_model_body_coords(model, 0);
    assert_int_equal(td_outputs_count(outputs), n_names);
    assert_int_equal(width, 1 + 3 + 1 + 1 + n + 3 * td_model_body_nodes(model, 0) + 3);
    assert_string_equal(td_outputs_info(outputs, 1).unit, "m");
    assert_int_equal(td_outputs_info(outputs, 4).first, 6);
    int input = td_model_actuator(model, 0).input;
    assert_ok(td_batch_choose_inputs(batch, 1, &input, &error), error);
    // outputs[number][row][robot], inputs shared by all robots
    double inputs[4], *data = malloc(sizeof(double) * (size_t)(width * 4 * 3));
    for (int t = 0; t < 4; t++)
        inputs[t] = input_of(model, 0, t, input);
    tdRollout rollout = td_default_rollout();
    rollout.rows = 4;
    rollout.inputs = (tdSpan){inputs, 0, 1, 1};
    rollout.outputs = (tdSpan){data, 1, 3, 12};
    roll(batch, &rollout);
    for (int t = 0; t < 4; t++)
    {
        double x[3], kinetic, elastic;
        assert_int_equal(td_state_set_input(model, state, input, inputs[t]), TD_OK);
        scene_steps(model, state, 1);
        td_state_probe(model, state, 0, x);
        td_state_energy(model, state, &kinetic, &elastic);
        const tdActuation now = td_state_actuation(model, state, 0);
        for (int i = 0; i < 3; i++)
        {
            const double *row = data + 3 * t + i;
            assert_true(row[0] == td_state_time(state));
            for (int c = 0; c < 3; c++)
                assert_true(row[12 * (1 + c)] == x[c]);
            assert_true(row[12 * 4] == now.effort && row[12 * 5] == now.displacement);
            for (int64_t j = 0; j < n; j++)
                assert_true(row[12 * (6 + j)] == td_state_coords(model, state, 0)[j]);
            for (int64_t j = 0; j < 3 * td_model_body_nodes(model, 0); j++)
                assert_true(row[12 * (6 + n + j)] == td_state_positions(model, state, 0)[j]);
            assert_true(row[12 * (width - 3)] == kinetic && row[12 * (width - 2)] == elastic);
            assert_true(row[12 * (width - 1)] == td_state_report(state)->rom_indicator);
        }
    }
    // Reading again, of one robot only, leaves the other's alone.
    uint8_t mask[3] = {0, 1, 0};
    double *again = calloc((size_t)(3 * width), sizeof *again);
    assert_ok(td_batch_read_outputs(batch, &(tdSpan){again, width, 0, 1}, mask, &error), error);
    assert_true(again[width] == td_state_time(state) && again[0] == 0 && again[2 * width] == 0);
    static const char *const bad[] = {"probe:nowhere", "probe", "no such thing", "contact:arm", "joint:arm,elbow", ""};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
    {
        assert_int_equal(td_batch_choose_outputs(batch, 1, &bad[k], &error), TD_ERROR_INPUT);
        assert_non_null(strstr(error.message, "there is no such output"));
    }
    assert_int_equal(td_outputs_count(td_batch_outputs(batch)), n_names); // those before stay
    free(again);
    free(data);
    td_batch_free(batch);
    scene_free(model, state);
}

// Contact forces by pair: a box that rests.
static void test_contact_forces(void **unused)
{
    (void)unused;
    tdModel *model =
        scene_model("tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 2 ms\nsteps: 9\ncontact: {friction: 0.5}\n"
                    "bodies:\n  - {name: ground, type: rigid, fixed: true, shape: {plane: true}}\n"
                    "  - {name: box, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, density: 1000, "
                    "transform: {translate: [0, 0, 0.05]}}\n");
    tdBatch *batch = make(model, 1, 1);
    tdError error = {0};
    const char *names[] = {"contact:ground,box", "contact:box,ground", "contacts", "penetration"};
    assert_ok(td_batch_choose_outputs(batch, 4, names, &error), error);
    double row[8];
    tdRollout rollout = td_default_rollout();
    rollout.hold = 200;
    rollout.outputs = (tdSpan){row, 8, 8, 1};
    roll(batch, &rollout);
    assert_near(row[2], 9.81, 1e-3); // it rests
    assert_near(row[5], -9.81, 1e-3);
    assert_true(row[6] >= 3);
    td_batch_free(batch);
    td_model_free(model);
}

// A robot that fails, in numbers or by its inputs, stops alone and comes back when it is reset.
static void test_failures_stay_alone(void **unused)
{
    (void)unused;
    tdModel *model = arm();
    tdBatch *batch = make(model, 4, 2), *plain = make(model, 4, 2);
    tdError error = {0};
    const char *name = "time";
    assert_ok(td_batch_choose_outputs(batch, 1, &name, &error), error);
    int n = td_model_inputs(model);
    double *inputs = calloc((size_t)(4 * 3 * n), sizeof *inputs), times[12];
    for (int i = 0; i < 4 * 3 * n; i++)
        inputs[i] = NAN;
    int32_t status[4], steps[4];
    tdRollout rollout = td_default_rollout();
    rollout.rows = 3;
    rollout.inputs = (tdSpan){inputs, 3 * (int64_t)n, n, 1};
    roll(plain, &rollout);
    inputs[(1 * 3 + 1) * n] = INFINITY; // robot 1, row 1
    rollout.outputs = (tdSpan){times, 3, 1, 1};
    rollout.status = status;
    rollout.steps = steps;
    // robot 2 gets a velocity that it cannot have
    tdState *mad = td_batch_state(batch, 2);
    mad->v[0] = 1e200;
    roll(batch, &rollout);
    assert_int_equal(status[0], TD_OK);
    assert_int_equal(status[1], TD_ERROR_USAGE);
    assert_int_equal(status[2], TD_ERROR_NUMERIC);
    assert_int_equal(status[3], TD_OK);
    assert_int_equal(steps[1], 1);
    assert_int_equal(steps[2], 0);
    assert_non_null(strstr(td_batch_error(batch, 1)->message, "finite"));
    assert_true(td_batch_error(batch, 2)->message[0] != '\0' && td_batch_error(batch, 0)->status == TD_OK);
    assert_true(!isnan(times[3]) && isnan(times[4]) && isnan(times[5]) && isnan(times[6]));
    for (int i = 0; i < 4; i += 3)
        assert_true(td_state_hash(model, td_batch_state(batch, i)) == td_state_hash(model, td_batch_state(plain, i)));
    // It stays stopped until it is reset.
    rollout.inputs.data = NULL;
    roll(batch, &rollout);
    assert_int_equal(status[1], TD_ERROR_USAGE);
    assert_int_equal(steps[1], 0);
    assert_int_equal(steps[0], 3);
    uint8_t mask[4] = {0, 1, 1, 0};
    assert_ok(td_batch_reset(batch, mask, &error), error);
    assert_true(td_state_time(td_batch_state(batch, 0)) > 0 && td_state_time(td_batch_state(batch, 1)) == 0);
    assert_ok(td_batch_reset(plain, NULL, &error), error);
    roll(batch, &rollout);
    rollout.outputs.data = NULL;
    roll(plain, &rollout);
    for (int i = 1; i < 3; i++)
    {
        assert_int_equal(status[i], TD_OK);
        assert_true(td_state_hash(model, td_batch_state(batch, i)) == td_state_hash(model, td_batch_state(plain, i)));
    }
    free(inputs);
    td_batch_free(plain);
    td_batch_free(batch);
    td_model_free(model);
}

static void test_parameters_and_masks(void **unused)
{
    (void)unused;
    tdModel *model = arm();
    tdBatch *batch = make(model, 3, 2);
    tdError error = {0};
    double young[3] = {0.8, 1, 1.25}, bad[3] = {1, -1, 1};
    uint8_t mask[3] = {1, 0, 1};
    assert_ok(td_batch_set_parameter(batch, TD_PARAMETER_YOUNG, 0, young, 1, mask, &error), error);
    assert_int_equal(td_batch_set_parameter(batch, TD_PARAMETER_YOUNG, 0, bad, 1, NULL, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "robot 1"));
    assert_ok(td_batch_set_parameter(batch, TD_PARAMETER_YOUNG, 0, young, 1, mask, &error), error);
    tdRollout rollout = td_default_rollout();
    rollout.hold = 10;
    rollout.mask = mask;
    roll(batch, &rollout);
    assert_int_equal(td_state_steps(td_batch_state(batch, 1)), 0);
    for (int i = 0; i < 3; i += 2)
    {
        tdState *state = scene_state(model);
        assert_ok(td_state_set_parameter(model, state, TD_PARAMETER_YOUNG, 0, young[i], &error), error);
        scene_steps(model, state, 10);
        assert_true(td_state_hash(model, state) == td_state_hash(model, td_batch_state(batch, i)));
        td_state_free(state);
    }
    td_batch_free(batch);
    td_model_free(model);
}

// A delay of d steps is the same rows, d steps later.
static void test_delay(void **unused)
{
    (void)unused;
    tdModel *model = arm();
    tdBatch *batch = make(model, 3, 2);
    tdError error = {0};
    double h = td_model_time_step(model), delays[3] = {0, h, 3.4 * h}, wrong = -1;
    int later[3] = {0, 1, 3}, n = td_model_inputs(model);
    assert_ok(td_batch_set_delay(batch, delays, 1, NULL, &error), error);
    assert_int_equal(td_batch_set_delay(batch, &wrong, 0, NULL, &error), TD_ERROR_INPUT);
    double *inputs = malloc(sizeof(double) * (size_t)(5 * n));
    for (int t = 0; t < 5; t++)
        for (int j = 0; j < n; j++)
            inputs[t * n + j] = input_of(model, 0, t, j);
    tdRollout rollout = td_default_rollout();
    for (int again = 0; again < 2; again++)
    {
        rollout.rows = 5;
        rollout.hold = 2;
        rollout.inputs = (tdSpan){inputs, 0, n, 1};
        roll(batch, &rollout);
        rollout.rows = 1;
        rollout.inputs.data = NULL; // the last rows still arrive
        rollout.hold = 4;
        roll(batch, &rollout);
        for (int i = 0; i < 3; i++)
        {
            tdState *state = scene_state(model);
            for (int step = 0; step < 14; step++)
            {
                int t = (step - later[i]) / 2;
                for (int j = 0; j < n && step >= later[i]; j++)
                    td_state_set_input(model, state, j, inputs[(t < 5 ? t : 4) * n + j]);
                scene_steps(model, state, 1);
            }
            assert_true(td_state_hash(model, state) == td_state_hash(model, td_batch_state(batch, i)));
            td_state_free(state);
        }
        assert_ok(td_batch_reset(batch, NULL, &error), error);
    }
    free(inputs);
    td_batch_free(batch);
    td_model_free(model);
}

// All robots from one state, and back from where they were.
static void test_states_of_all(void **unused)
{
    (void)unused;
    tdModel *model = arm();
    tdBatch *batch = make(model, 3, 2);
    tdState *state = scene_state(model);
    tdError error = {0};
    scene_steps(model, state, 7);
    size_t size = td_state_size(model, state);
    char *one = malloc(size), *all = malloc(3 * size);
    assert_ok(td_state_write(model, state, one, size, &error), error);
    assert_ok(td_batch_read(batch, one, 0, NULL, &error), error);
    for (int i = 0; i < 3; i++)
        assert_true(td_state_hash(model, td_batch_state(batch, i)) == td_state_hash(model, state));
    assert_int_equal(td_batch_write(batch, all, size - 8, NULL, &error), TD_ERROR_USAGE);
    assert_ok(td_batch_write(batch, all, size, NULL, &error), error);
    tdRollout rollout = td_default_rollout();
    roll(batch, &rollout);
    uint8_t mask[3] = {1, 1, 0};
    assert_ok(td_batch_read(batch, all, size, mask, &error), error);
    assert_int_equal(td_state_steps(td_batch_state(batch, 1)), 7);
    assert_int_equal(td_state_steps(td_batch_state(batch, 2)), 8);
    one[0] = 'X';
    assert_int_equal(td_batch_read(batch, one, 0, NULL, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "robot 0"));
    free(one);
    free(all);
    td_batch_free(batch);
    scene_free(model, state);
}

static bool cancel_at_once(void *user)
{
    (void)user;
    return true;
}

static bool cancel_in_one_thread(void *user)
{
    return pthread_equal(*(pthread_t *)user, pthread_self());
}

// A signal reaches one thread, and the others step for a long time on one row.
static void test_cancelled_in_one_thread(void **unused)
{
    (void)unused;
    tdModel *model = arm();
    tdBatch *batch = NULL;
    tdError error = {0};
    pthread_t self = pthread_self();
    tdSettings settings = td_default_settings();
    settings.threads = 3;
    settings.cancel = cancel_in_one_thread;
    settings.cancel_user = &self;
    assert_ok(td_batch_create(model, &settings, 64, &batch, &error), error);
    int32_t status[64], steps[64];
    tdRollout rollout = td_default_rollout();
    rollout.hold = INT_MAX; // days
    rollout.status = status;
    rollout.steps = steps;
    assert_int_equal(td_batch_rollout(batch, &rollout, &error), TD_CANCELLED);
    for (int i = 0; i < 64; i++)
    {
        assert_int_equal(status[i], TD_CANCELLED);
        assert_int_equal(steps[i], td_state_steps(td_batch_state(batch, i)));
        assert_int_equal(td_batch_error(batch, i)->status, TD_OK);
    }
    td_batch_free(batch);
    td_model_free(model);
}

static void test_bad_calls(void **unused)
{
    (void)unused;
    tdModel *model = arm();
    tdBatch *batch = NULL;
    tdError error = {0};
    assert_int_equal(td_batch_create(model, NULL, 0, &batch, &error), TD_ERROR_USAGE);
    assert_null(batch);
    tdSettings settings = td_default_settings();
    settings.cancel = cancel_at_once;
    assert_ok(td_batch_create(model, &settings, 2, &batch, &error), error);
    int twice[2] = {0, 0}, none = 99;
    assert_int_equal(td_batch_choose_inputs(batch, 2, twice, &error), TD_ERROR_USAGE);
    assert_int_equal(td_batch_choose_inputs(batch, 1, &none, &error), TD_ERROR_USAGE);
    int32_t status[2];
    tdRollout rollout = td_default_rollout();
    rollout.status = status;
    rollout.hold = 0;
    assert_int_equal(td_batch_rollout(batch, &rollout, &error), TD_ERROR_USAGE);
    rollout.hold = 3;
    assert_int_equal(td_batch_rollout(batch, &rollout, &error), TD_CANCELLED);
    assert_int_equal(status[0], TD_CANCELLED);
    assert_int_equal(td_state_steps(td_batch_state(batch, 0)), 0);
    assert_int_equal(td_batch_error(batch, 0)->status, TD_OK); // it may go on
    td_batch_free(batch);
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_or_not),
        cmocka_unit_test(test_by_turns),
        cmocka_unit_test(test_laws_by_turns),
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_contact_forces),
        cmocka_unit_test(test_failures_stay_alone),
        cmocka_unit_test(test_parameters_and_masks),
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_states_of_all),
        cmocka_unit_test(test_cancelled_in_one_thread),
        cmocka_unit_test(test_bad_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
