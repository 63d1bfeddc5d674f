// SPDX-License-Identifier: Apache-2.0
// Parameters of a state do what the same change of the scene does.
#include "reduced.h"
#include "rigid.h"

#include "core/state.h"

// A beam under its weight, pulled at its end; moduli, density and damping by factors.
#define BEAM                                                                                                           \
    "tendril: 1\ngravity: [0, %g, %g]\ntime_step: 5 ms\nsteps: 20\nintegrator: %s\nbodies:\n"                          \
    "  - name: beam\n    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [5, 1, 2]}\n"                              \
    "    material: {law: %s, young: %.17g, poisson: 0.4, density: %.17g%s}\n"                                          \
    "    damping: {mass: %.17g, stiffness: %.17g}\n    fixed: [{group: xmin}]\n%s"                                     \
    "loads: [{name: push, type: point, body: beam, group: xmax, force: [0, 0.01, 0]}]\n"

typedef struct beamCase
{
    const char *law, *more, *integrator;
    bool reduced, consistent;
} beamCase;

static const beamCase beams[] = {
    {"corotational", "", "{method: backward_euler}", false, false},
    {"linear", "", "{method: backward_euler}", false, false},
    {"neo_hookean", "", "{method: backward_euler, newton: true}", false, true},
    {"stvk", "", "{method: newmark, newton: true}", false, false},
    {"neo_hookean", ", viscoelastic: [{modulus: 0.3, time: 20 ms}]", "{method: backward_euler, newton: true}", false,
     false},
    {"corotational", "", "{method: static}", false, false},
    {"corotational", "", "{method: backward_euler}", true, false},
    {"stvk", "", "{method: newmark, newton: true}", true, false},
    {"neo_hookean", "", "{method: backward_euler, newton: true}", true, false},
};
enum
{
    N_BEAMS = sizeof beams / sizeof beams[0]
};

static tdModel *beam_model(const beamCase *c, const double gravity[2], const double factor[3])
{
    static char text[4096];
    snprintf(text, sizeof text, BEAM, gravity[0], gravity[1], c->integrator, c->law, 2e5 * factor[0], 1000 * factor[1],
             c->more, 0.5 * factor[2], 0.01 * factor[2], c->consistent ? "    mass: consistent\n" : "");
    tdModel *full = scene_parse(text);
    if (!c->reduced)
        return full;
    tdRom rom = rom_of(full, 12, 1);
    tdModel *model = NULL;
    tdError error = {0};
    assert_ok(td_model_parse_reduced(text, strlen(text), "scene.yaml", NULL, NULL, &rom, &model, &error), error);
    td_rom_free(&rom);
    td_model_free(full);
    return model;
}

static void compare(const beamCase *c, const double gravity[2], const double factor[3], const char *what)
{
    static const double plain[2] = {0, -9.81}, ones[3] = {1, 1, 1};
    tdModel *model = beam_model(c, plain, ones), *changed = beam_model(c, gravity, factor);
    tdState *a = scene_state(model), *b = scene_state(changed);
    tdError error = {0};
    assert_ok(td_state_set_parameter(model, a, TD_PARAMETER_GRAVITY_Y, 0, gravity[0], &error), error);
    assert_ok(td_state_set_parameter(model, a, TD_PARAMETER_GRAVITY_Z, 0, gravity[1], &error), error);
    for (int k = 0; k < 3; k++)
        assert_ok(td_state_set_parameter(model, a, TD_PARAMETER_YOUNG + k, 0, factor[k], &error), error);
    for (int step = 0; step < 12; step++)
    {
        scene_steps(model, a, 1);
        scene_steps(changed, b, 1);
        const double *x = td_state_positions(model, a, 0), *y = td_state_positions(changed, b, 0);
        double off = 0;
        for (int i = 0; i < 3 * td_model_body_nodes(model, 0); i++)
            off = fmax(off, fabs(x[i] - y[i]));
        // Round-off, and Newton's and the linear solver's tolerance of 1e-8 of what moves.
        if (!(off <= 1e-9 * model->size))
            fail_msg("%s of law %s, %s%s: off by %g in step %d", what, c->law, c->integrator,
                     c->reduced ? ", reduced" : "", off, step);
    }
    double ka, ea, kb, eb;
    td_state_energy(model, a, &ka, &ea);
    td_state_energy(changed, b, &kb, &eb);
    assert_near(ka, kb, 1e-6 * kb + 1e-15);
    assert_near(ea, eb, 1e-6 * eb);
    scene_free(model, a);
    scene_free(changed, b);
}

static void test_factors_are_those_of_the_scene(void **unused)
{
    (void)unused;
    for (int k = 0; k < N_BEAMS; k++)
    {
        const beamCase *c = &beams[k];
        compare(c, (double[2]){0, -9.81}, (double[3]){1.7, 1, 1}, "stiffness");
        compare(c, (double[2]){0, -9.81}, (double[3]){1, 0.6, 1}, "mass");
        compare(c, (double[2]){0, -9.81}, (double[3]){1, 1, 2.5}, "damping");
        compare(c, (double[2]){3, -1.6}, (double[3]){1, 1, 1}, "gravity");
        compare(c, (double[2]){-2, -5}, (double[3]){0.8, 1.2, 0.5}, "all");
    }
}

// In the middle of a run, and carried by copies and resets.
static void test_parameters_are_part_of_the_state(void **unused)
{
    (void)unused;
    static const double plain[2] = {0, -9.81}, ones[3] = {1, 1, 1};
    for (int reduced = 0; reduced < 2; reduced++)
    {
        tdModel *model = beam_model(&beams[reduced ? 6 : 0], plain, ones);
        tdState *a = scene_state(model), *b = scene_state(model);
        tdError error = {0};
        scene_steps(model, a, 5);
        assert_ok(td_state_set_parameter(model, a, TD_PARAMETER_YOUNG, 0, 1.4, &error), error);
        assert_near(td_state_parameter(model, a, TD_PARAMETER_YOUNG, 0), 1.4, 0);
        scene_steps(model, a, 2);
        assert_ok(td_state_copy(model, b, a, &error), error);
        assert_near(td_state_parameter(model, b, TD_PARAMETER_YOUNG, 0), 1.4, 0);
        for (int step = 0; step < 5; step++)
        {
            scene_steps(model, a, 1);
            scene_steps(model, b, 1);
            assert_true(td_state_hash(model, a) == td_state_hash(model, b));
        }
        assert_ok(td_state_reset(model, a, &error), error);
        assert_near(td_state_parameter(model, a, TD_PARAMETER_YOUNG, 0), 1.4, 0);
        tdState *fresh = scene_state(model);
        assert_ok(td_state_set_parameter(model, fresh, TD_PARAMETER_YOUNG, 0, 1.4, &error), error);
        scene_steps(model, a, 4);
        scene_steps(model, fresh, 4);
        assert_true(td_state_hash(model, a) == td_state_hash(model, fresh));
        td_state_free(fresh);
        td_state_free(b);
        scene_free(model, a);
    }
}

// A reduced body on a frame, in contact with the ground: another gravity is that of another scene.
static void test_gravity_of_a_frame(void **unused)
{
    (void)unused;
    char *text = NULL;
    size_t length = 0;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.rom = TD_SOURCE_DIR "/tests/golden/scenes/worm.h5";
    assert_ok(td_file_read(TD_SOURCE_DIR "/tests/golden/scenes/worm.yaml", &text, &length, &error), error);
    tdModel *model = NULL, *changed = NULL;
    const char *folder = TD_SOURCE_DIR "/tests/golden/scenes";
    assert_ok(td_model_parse(text, length, "worm.yaml", folder, &settings, &model, &error), error);
    double *g = model->settings.gravity, other[3] = {0.4, -0.3, 0.6 * g[2]};
    char *line = strstr(text, "gravity:");
    assert_non_null(line);
    tdText edited = {0};
    td_text_format(&edited, "%.*sgravity: [%.17g m/s^2, %.17g m/s^2, %.17g m/s^2]%s", (int)(line - text), text,
                   other[0], other[1], other[2], strchr(line, '\n'));
    assert_ok(td_model_parse(edited.data, (size_t)edited.size, "worm.yaml", folder, &settings, &changed, &error),
              error);
    tdState *a = scene_state(model), *b = scene_state(changed);
    for (int c = 0; c < 3; c++)
        assert_ok(td_state_set_parameter(model, a, TD_PARAMETER_GRAVITY_X + c, 0, other[c], &error), error);
    scene_steps(model, a, 30);
    scene_steps(changed, b, 30);
    for (int64_t i = 0; i < model->coords; i++)
        assert_near(a->q[i], b->q[i], 1e-9 * model->size);
    assert_int_equal(td_state_set_parameter(model, a, TD_PARAMETER_MASS, td_model_find_body(model, "worm"), 2, &error),
                     TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "compiled"));
    free(text);
    free(edited.data);
    scene_free(model, a);
    scene_free(changed, b);
}

// A block on an incline sticks or slides as the factor on friction has it: tan 20 degrees is 0.36.
#define INCLINE                                                                                                        \
    "tendril: 1\ngravity: [3.355, 0, -9.218]\ntime_step: 2 ms\nsteps: 50\ncontact: {friction: 0.5}\nbodies:\n"         \
    "  - {name: ground, type: rigid, fixed: true, shape: {plane: true}}\n"                                             \
    "  - {name: block, type: rigid, shape: {box: [0.1, 0.1, 0.1]}, density: 1000, transform: {translate: [0, 0, "      \
    "0.05]}}\n"

static void test_friction(void **unused)
{
    (void)unused;
    tdModel *model = scene_parse(INCLINE);
    tdState *state = scene_state(model);
    tdError error = {0};
    int block = td_model_find_body(model, "block");
    scene_steps(model, state, 50);
    double stuck = td_state_positions(model, state, block)[0];
    assert_ok(td_state_reset(model, state, &error), error);
    double start = td_state_positions(model, state, block)[0];
    assert_near(stuck, start, 1e-4);
    assert_ok(td_state_set_parameter(model, state, TD_PARAMETER_FRICTION, 0, 0.4, &error), error);
    scene_steps(model, state, 50);
    // g (sin - mu cos) t^2 / 2 with mu = 0.2, over 0.1 s
    assert_near(td_state_positions(model, state, block)[0] - start, 0.5 * (3.355 - 0.2 * 9.218) * 0.01, 4e-4);
    assert_int_equal(td_state_set_parameter(model, state, TD_PARAMETER_FRICTION, 0, -1, &error), TD_ERROR_INPUT);
    scene_free(model, state);
}

static void test_offsets_and_refusals(void **unused)
{
    (void)unused;
    static const double plain[2] = {0, -9.81}, ones[3] = {1, 1, 1}, undamped[3] = {1, 1, 0};
    tdModel *model = beam_model(&beams[0], plain, ones);
    tdState *a = scene_state(model), *b = scene_state(model);
    tdError error = {0};
    int push = td_model_find_input(model, "push");
    assert_ok(td_state_set_parameter(model, a, TD_PARAMETER_OFFSET, push, 0.5, &error), error);
    assert_int_equal(td_state_set_input(model, b, push, 1.5), TD_OK);
    scene_steps(model, a, 5);
    scene_steps(model, b, 5);
    assert_memory_equal(a->q, b->q, (size_t)model->coords * sizeof(double));
    static const struct
    {
        tdParameter parameter;
        int index;
        double value;
        tdStatus status;
    } bad[] = {{TD_PARAMETER_YOUNG, 0, 0, TD_ERROR_INPUT},    {TD_PARAMETER_YOUNG, 0, NAN, TD_ERROR_INPUT},
               {TD_PARAMETER_MASS, 0, -1, TD_ERROR_INPUT},    {TD_PARAMETER_DAMPING, 0, -1, TD_ERROR_INPUT},
               {TD_PARAMETER_YOUNG, 1, 1.1, TD_ERROR_USAGE},  {TD_PARAMETER_OFFSET, 99, 1, TD_ERROR_USAGE},
               {TD_PARAMETER_FRICTION, 1, 1, TD_ERROR_USAGE}, {TD_PARAMETERS, 0, 1, TD_ERROR_USAGE}};
    uint64_t hash = td_state_hash(model, a);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
        assert_int_equal(td_state_set_parameter(model, a, bad[k].parameter, bad[k].index, bad[k].value, &error),
                         bad[k].status);
    assert_true(td_state_hash(model, a) == hash);
    tdModel *free_of_damping = beam_model(&beams[0], plain, undamped);
    tdState *c = scene_state(free_of_damping);
    assert_int_equal(td_state_set_parameter(free_of_damping, c, TD_PARAMETER_DAMPING, 0, 2, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "no damping"));
    td_state_free(b);
    scene_free(model, a);
    scene_free(free_of_damping, c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_factors_are_those_of_the_scene),
        cmocka_unit_test(test_parameters_are_part_of_the_state),
        cmocka_unit_test(test_gravity_of_a_frame),
        cmocka_unit_test(test_friction),
        cmocka_unit_test(test_offsets_and_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
