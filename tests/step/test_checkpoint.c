// SPDX-License-Identifier: Apache-2.0
// A run that goes on from a checkpoint gives the same bits; a bad checkpoint changes nothing.
#include "actuators.h"

#include "base/file.h"
#include "core/state.h"

typedef struct testCase
{
    const char *law, *integrator, *solver;
    double pressure; ///< [Pa] on the cube
    double pull;     ///< [m] at the beam's end
} testCase;

static const testCase cases[] = {
    {"linear", "{method: backward_euler}", "{type: cholesky}", 0, 0.01},
    {"corotational", "{method: backward_euler}", "{type: auto}", 0, 0.01}, // keeps factors over steps
    {"corotational", "{method: backward_euler, newton: true}", "{type: auto}", 0, 0.01},
    {"corotational_lagged", "{method: backward_euler}", "{type: auto}", 0, 0.01},
    {"stvk", "{method: midpoint, newton: true}", "{type: auto}", 0, 0.01},
    {"neo_hookean", "{method: newmark, newton: true}", "{type: auto}", 0, 0.01},
    {"neo_hookean", "{method: static}", "{type: auto}", 0, 0.01},
    {"corotational", "{method: backward_euler}", "{type: cg}", 0, 0.01},
    {"neo_hookean", "{method: backward_euler}", "{type: cholesky}", 0, 0.01},
    {"neo_hookean", "{method: backward_euler, newton: true}", "{type: auto}", 3e3, 0.01},
    {"neo_hookean", "{method: static}", "{type: auto}", 3e3, 0.01},
    {"stvk", "{method: backward_euler, newton: true}", "{type: auto}", 0, -0.03},
};
enum
{
    N_CASES = sizeof cases / sizeof cases[0],
    STEPS = 20
};

static tdModel *make_model(const testCase *c, int cells)
{
    tdText text = {0};
    td_text_format(&text,
                   "tendril: 1\n"
                   "gravity: [0, 0, -9.81 m/s^2]\n"
                   "time_step: 10 ms\n"
                   "steps: 20\n"
                   "bodies:\n"
                   "  - name: beam\n"
                   "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [%d, 2, 2]}\n"
                   "    material: {law: %s, young: 100 kPa, poisson: 0.4, density: 1000}\n"
                   "    damping: {mass: 0.1, stiffness: 0.01}\n"
                   "    fixed: [{group: xmin}]\n"
                   "    prescribed: [{name: pull, group: xmax, axes: x, displacement: [%g, 0, 0]}]\n"
                   "  - name: cube\n"
                   "    mesh: {box: [[0, 0.1, 0], [0.02, 0.12, 0.02]], cells: [2, 2, 2]}\n"
                   "    material: {law: %s, young: 50 kPa, poisson: 0.3, density: 1000}\n"
                   "    fixed: [{group: zmin}]\n"
                   "loads:\n"
                   "  - {name: push, type: point, body: beam, group: zmax, force: [0, 0.02, 0]}\n"
                   "  - {name: blow, type: surface, body: cube, group: zmax, pressure: %g}\n"
                   "motion: {keyframes: [{t: 0, pull: 0, push: 0, blow: 0}, {t: 0.2, pull: 1, push: 1, blow: 1}]}\n"
                   "integrator: %s\n"
                   "solver: %s\n",
                   cells, c->law, c->pull, c->law, c->pressure, c->integrator, c->solver);
    assert_false(text.failed);
    tdError error = {0};
    tdModel *model = NULL;
    tdSettings settings = td_default_settings();
    assert_ok(td_model_parse(text.data, (size_t)text.size, "test.yaml", NULL, &settings, &model, &error), error);
    free(text.data);
    return model;
}

static tdState *make_state(const tdModel *model, int threads)
{
    tdError error = {0};
    tdState *state = NULL;
    tdSettings settings = td_default_settings();
    settings.threads = threads;
    assert_ok(td_state_create(model, &settings, &state, &error), error);
    return state;
}

static void take_steps(const tdModel *model, tdState *state, int n)
{
    for (int i = 0; i < n; i++)
        assert_ok(td_step(model, state), td_state_report(state)->error);
}

static void temporary(char path[64])
{
    strcpy(path, "/tmp/tendril_checkpoint_XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
}

static void assert_same_bits(const tdModel *model, const tdState *a, const tdState *b)
{
    size_t bytes = (size_t)model->coords * sizeof(double);
    assert_memory_equal(a->q, b->q, bytes);
    assert_memory_equal(a->v, b->v, bytes);
    assert_memory_equal(a->reaction, b->reaction, bytes);
    assert_memory_equal(&a->time, &b->time, sizeof(double));
    assert_int_equal(a->steps, b->steps);
}

static void test_continues_bit_for_bit(void **unused)
{
    (void)unused;
    char path[64];
    temporary(path);
    for (int c = 0; c < N_CASES; c++)
        for (int at = 1; at < STEPS; at += 6)
        {
            tdError error = {0};
            tdModel *model = make_model(&cases[c], 6);
            tdState *straight = make_state(model, 1), *first = make_state(model, 1), *second = make_state(model, 2);
            take_steps(model, straight, STEPS);
            take_steps(model, first, at);
            assert_ok(td_state_save(model, first, path, &error), error);
            // A state that already was elsewhere takes it just as a new one does.
            if (at > 6)
                take_steps(model, second, 3);
            assert_ok(td_state_load(model, second, path, &error), error);
            assert_same_bits(model, first, second);
            take_steps(model, second, STEPS - at);
            assert_same_bits(model, straight, second);
            // Saving leaves a state as it was.
            take_steps(model, first, STEPS - at);
            assert_same_bits(model, straight, first);
            td_state_free(straight);
            td_state_free(first);
            td_state_free(second);
            td_model_free(model);
        }
    unlink(path);
}

static void test_actuators_continue_bit_for_bit(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *integrator, *solver;
        bool by_effort;
    } robots[] = {
        {"method: backward_euler", "auto", true},         {"method: backward_euler, newton: true", "auto", true},
        {"method: backward_euler", "cg", true},           {"method: static", "auto", true},
        {"method: newmark, newton: true", "auto", false}, {"method: midpoint", "cholesky", false}};
    char path[64];
    temporary(path);
    for (size_t r = 0; r < sizeof robots / sizeof robots[0]; r++)
        for (int at = 1; at < STEPS; at += 6)
        {
            tdError error = {0};
            tdModel *model = act_robot(robots[r].integrator, robots[r].solver, robots[r].by_effort);
            tdState *straight = make_state(model, 1), *first = make_state(model, 1), *second = make_state(model, 2);
            take_steps(model, straight, STEPS);
            take_steps(model, first, at);
            assert_ok(td_state_save(model, first, path, &error), error);
            if (at > 6)
                take_steps(model, second, 3);
            assert_ok(td_state_load(model, second, path, &error), error);
            take_steps(model, second, STEPS - at);
            assert_same_bits(model, straight, second);
            for (int a = 0; a < td_model_actuators(model); a++)
            {
                tdActuation was = td_state_actuation(model, straight, a), is = td_state_actuation(model, second, a);
                assert_true(was.effort == is.effort && was.displacement == is.displacement);
            }
            td_state_free(straight);
            td_state_free(first);
            td_state_free(second);
            td_model_free(model);
        }
    unlink(path);
}

static void test_kept_factor_matters(void **unused)
{
    (void)unused;
    // The case above must include steps that use a factor of an earlier step, or it proves too little.
    tdModel *model = make_model(&cases[1], 6);
    tdState *state = make_state(model, 1);
    int without = 0;
    for (int i = 0; i < STEPS; i++)
    {
        take_steps(model, state, 1);
        without += td_state_report(state)->factorizations == 0;
    }
    assert_true(without > 0);
    td_state_free(state);
    td_model_free(model);
}

static void test_overrides_are_kept(void **unused)
{
    (void)unused;
    char path[64];
    temporary(path);
    tdError error = {0};
    tdModel *model = make_model(&cases[1], 4);
    tdState *a = make_state(model, 1), *b = make_state(model, 1);
    int input = td_model_find_input(model, "push");
    assert_true(input >= 0);
    assert_int_equal(td_state_set_input(model, a, input, 3.5), TD_OK);
    take_steps(model, a, 4);
    assert_ok(td_state_save(model, a, path, &error), error);
    assert_ok(td_state_load(model, b, path, &error), error);
    take_steps(model, a, 4);
    take_steps(model, b, 4);
    assert_same_bits(model, a, b);
    td_state_free(a);
    td_state_free(b);
    td_model_free(model);
    unlink(path);
}

// Targets that the caller gave an effector are the state's, as the scene's are not.
static void test_targets_are_kept(void **unused)
{
    (void)unused;
    char path[64];
    temporary(path);
    tdError error = {0};
    tdModel *model = scene_model("tendril: 1\ntime_step: 10 ms\nsteps: 8\n" ACT_BEAM "actuators:\n"
                                 "  - {name: top, " ACT_CABLE ", drive: force}\n"
                                 "effectors:\n  - {name: tip, body: beam, group: xmax}\n");
    tdState *a = make_state(model, 1), *b = make_state(model, 1);
    double target[3];
    td_state_effector(model, a, 0, target);
    target[2] += 0.005;
    assert_int_equal(td_state_set_target(model, a, 0, target), TD_OK);
    take_steps(model, a, 4);
    assert_ok(td_state_save(model, a, path, &error), error);
    assert_ok(td_state_load(model, b, path, &error), error);
    take_steps(model, a, 4);
    take_steps(model, b, 4);
    assert_true(td_state_actuation(model, a, 0).effort > 0); // it is at work
    assert_same_bits(model, a, b);
    td_state_free(a);
    td_state_free(b);
    td_model_free(model);
    unlink(path);
}

// A static step that brings its load on in parts starts from the loads of the last equilibrium.
static void test_loading_is_kept(void **unused)
{
    (void)unused;
    char path[64];
    temporary(path);
    tdError error = {0};
    tdModel *model = scene_model(
        "tendril: 1\nsteps: 2\ntime_step: 1\nintegrator: {method: static, max_iterations: 6}\nbodies:\n"
        "  - name: block\n    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [3, 3, 3]}\n"
        "    material: {law: neo_hookean, young: 100 kPa, poisson: 0.4, density: 1000}\n    fixed: [{group: zmin}]\n"
        "    prescribed: [{name: press, group: zmax, displacement: [0.3, 0, -0.6]}]\n"
        "motion: {keyframes: [{t: 0, press: 0}, {t: 1, press: 0.2}, {t: 2, press: 1}]}\n");
    tdState *straight = make_state(model, 1), *second = make_state(model, 1);
    take_steps(model, straight, 1);
    assert_ok(td_state_save(model, straight, path, &error), error);
    assert_ok(td_state_load(model, second, path, &error), error);
    take_steps(model, straight, 1);
    take_steps(model, second, 1);
    assert_true(td_state_report(straight)->load_cuts > 0); // or the way would not matter
    assert_same_bits(model, straight, second);
    td_state_free(straight);
    td_state_free(second);
    td_model_free(model);
    unlink(path);
}

// ---------------------------------------------------------------- steps that were given up

/// Says no at the n-th question.
typedef struct Patience
{
    int left;
} Patience;

static bool runs_out(void *user)
{
    Patience *patience = user;
    return patience->left-- == 0;
}

// A step that was interrupted within leaves the state as it was, and put back it goes on bit for bit.
static void test_given_up_step_is_as_if_not_tried(void **unused)
{
    (void)unused;
    static const int of[] = {1, 2, 6, 10}; // cases
    for (size_t c = 0; c < sizeof of / sizeof of[0]; c++)
        for (int passes = 0; passes < 3; passes++)
        {
            tdModel *model = make_model(&cases[of[c]], 6);
            tdState *straight = make_state(model, 1), *state = NULL;
            tdError error = {0};
            Patience patience = {-1};
            tdSettings settings = td_default_settings();
            settings.threads = 1;
            settings.cancel = runs_out;
            settings.cancel_user = &patience;
            assert_ok(td_state_create(model, &settings, &state, &error), error);
            take_steps(model, straight, 9);
            tdKeptState *kept = NULL;
            int given_up = 0;
            for (int i = 0; i < 9; i++)
            {
                assert_ok(td_state_keep(model, state, &kept, &error), error);
                double *q = act_copy(model, state->q);
                patience.left = passes;
                tdStatus status = td_step(model, state);
                if (status != TD_OK)
                {
                    given_up++;
                    assert_int_equal(status, TD_CANCELLED);
                    assert_int_equal(td_state_steps(state), i);
                    assert_memory_equal(state->q, q, (size_t)model->coords * sizeof *q);
                    assert_ok(td_state_go_back(model, state, kept, &error), error);
                    patience.left = -1;
                    assert_ok(td_step(model, state), td_state_report(state)->error);
                }
                free(q);
            }
            assert_true(passes > 0 || given_up == 9);
            assert_same_bits(model, straight, state);
            td_kept_state_free(kept);
            td_state_free(straight);
            td_state_free(state);
            td_model_free(model);
        }
}

// Long work asks too: a factorization between its fronts, the contact problem between its iterations. Wherever it is
// cut short, the step ends as interrupted and not as failed, whatever the solver would have said.
static void test_long_work_can_be_given_up(void **unused)
{
    (void)unused;
    static const char *const solver[] = {"sap", "nlcp"};
    for (int k = 0; k < 2; k++)
    {
        tdText text = {0};
        td_text_format(&text,
                       "tendril: 1\ntime_step: 10 ms\nsteps: 20\ngravity: [0, 0, -9.81]\n"
                       "integrator: {method: backward_euler}\nsolver: {type: cholesky}\n"
                       "contact: {friction: 0.3, solver: %s}\n"
                       "bodies:\n"
                       "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
                       "  - name: block\n"
                       "    mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.1]], cells: [6, 6, 6]}\n"
                       "    velocity: [0.5, 0.3, -0.2]\n"
                       "    material: {law: corotational, young: 20 kPa, poisson: 0.4, density: 1000}\n"
                       "  - name: beam\n"
                       "    mesh: {box: [[0, 1, 1], [0.2, 1.2, 1.2]], cells: [10, 10, 10]}\n"
                       "    material: {law: corotational, young: 20 kPa, poisson: 0.4, density: 1000}\n"
                       "    fixed: [{group: xmin}]\n",
                       solver[k]);
        assert_false(text.failed);
        tdError error = {0};
        tdModel *model = NULL;
        Patience patience = {-1};
        tdSettings settings = td_default_settings();
        settings.threads = 1;
        assert_ok(td_model_parse(text.data, (size_t)text.size, "test.yaml", NULL, &settings, &model, &error), error);
        free(text.data);
        settings.cancel = runs_out;
        settings.cancel_user = &patience;
        tdState *straight = make_state(model, 1), *state = NULL;
        assert_ok(td_state_create(model, &settings, &state, &error), error);
        take_steps(model, straight, 2);
        take_steps(model, state, 1);
        tdKeptState *kept = NULL;
        assert_ok(td_state_keep(model, state, &kept, &error), error);
        double *q = act_copy(model, state->q);
        int asked = 0;
        for (;; asked++)
        {
            patience.left = asked;
            tdStatus status = td_step(model, state);
            if (status == TD_OK)
                break;
            assert_int_equal(status, TD_CANCELLED);
            assert_memory_equal(state->q, q, (size_t)model->coords * sizeof *q);
            assert_ok(td_state_go_back(model, state, kept, &error), error);
        }
        assert_true(asked > 8); // passes alone ask once
        assert_same_bits(model, straight, state);
        free(q);
        td_kept_state_free(kept);
        td_state_free(straight);
        td_state_free(state);
        td_model_free(model);
    }
}

// ---------------------------------------------------------------- bad files

/// A good checkpoint in memory, and a state that must not change when a bad one is refused.
typedef struct damage
{
    char path[64];
    tdModel *model;
    tdState *state, *copy;
    char *data;
    size_t size;
} damage;

static damage damage_begin(void)
{
    damage d = {0};
    tdError error = {0};
    temporary(d.path);
    d.model = make_model(&cases[1], 3);
    d.state = make_state(d.model, 1);
    d.copy = make_state(d.model, 1);
    take_steps(d.model, d.state, 5);
    assert_ok(td_state_save(d.model, d.state, d.path, &error), error);
    assert_ok(td_file_read(d.path, &d.data, &d.size, &error), error);
    take_steps(d.model, d.state, 3);
    take_steps(d.model, d.copy, 8);
    assert_same_bits(d.model, d.state, d.copy);
    return d;
}

static void damage_end(damage *d)
{
    // Refused files left nothing behind.
    assert_same_bits(d->model, d->state, d->copy);
    take_steps(d->model, d->state, 3);
    take_steps(d->model, d->copy, 3);
    assert_same_bits(d->model, d->state, d->copy);
    unlink(d->path);
    free(d->data);
    td_state_free(d->state);
    td_state_free(d->copy);
    td_model_free(d->model);
}

static void refused(damage *d, const void *data, size_t size, const char *because)
{
    tdError error = {0};
    assert_ok(td_file_write_quickly(d->path, data, size, &error), error);
    tdStatus status = td_state_load(d->model, d->state, d->path, &error);
    assert_int_equal(status, TD_ERROR_INPUT);
    assert_int_equal(error.status, TD_ERROR_INPUT);
    assert_string_equal(error.file, d->path);
    if (because != NULL && strstr(error.message, because) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, because);
}

static void test_truncated(void **unused)
{
    (void)unused;
    damage d = damage_begin();
    refused(&d, d.data, 0, "not a checkpoint");
    for (size_t n = 1; n < d.size; n += n < 600 ? 1 : 97)
        refused(&d, d.data, n, NULL);
    refused(&d, d.data, d.size - 1, "damaged");
    char *longer = calloc(1, d.size + 1);
    memcpy(longer, d.data, d.size);
    refused(&d, longer, d.size + 1, "damaged");
    free(longer);
    damage_end(&d);
}

static void test_flipped_bits(void **unused)
{
    (void)unused;
    damage d = damage_begin();
    for (size_t at = 0; at < d.size; at += at < 512 ? 1 : 61)
    {
        d.data[at] ^= (char)(1 << (at % 8));
        refused(&d, d.data, d.size, NULL);
        d.data[at] ^= (char)(1 << (at % 8));
    }
    tdError error = {0};
    tdState *state = make_state(d.model, 1);
    assert_ok(td_file_write(d.path, d.data, d.size, &error), error);
    assert_ok(td_state_load(d.model, state, d.path, &error), error);
    td_state_free(state);
    damage_end(&d);
}

static void test_other_files(void **unused)
{
    (void)unused;
    damage d = damage_begin();
    refused(&d, "tendril: 1\n", 11, "not a checkpoint");
    refused(&d, d.data + 512, d.size - 512, "not a checkpoint"); // plain HDF5
    d.data[8] = 99;
    refused(&d, d.data, d.size, "format 99");
    d.data[8] = 1;
    tdError error = {0};
    assert_int_equal(td_state_load(d.model, d.state, "/nowhere/state.h5", &error), TD_ERROR_INPUT);
    assert_string_equal(error.file, "/nowhere/state.h5");
    assert_int_equal(td_state_load(d.model, d.state, "/tmp", &error), TD_ERROR_INPUT);
    assert_int_equal(td_state_save(d.model, d.state, "/nowhere/state.h5", &error), TD_ERROR_IO);
    assert_string_equal(error.file, "/nowhere/state.h5");
    damage_end(&d);
}

static void test_other_scene(void **unused)
{
    (void)unused;
    damage d = damage_begin();
    tdError error = {0};
    tdModel *other = make_model(&cases[2], 3);
    tdState *state = make_state(other, 1);
    assert_ok(td_state_save(other, state, d.path, &error), error);
    assert_int_equal(td_state_load(d.model, d.state, d.path, &error), TD_ERROR_INPUT);
    char hash[2][17];
    snprintf(hash[0], 17, "%016llx", (unsigned long long)d.model->scene.hash);
    snprintf(hash[1], 17, "%016llx", (unsigned long long)other->scene.hash);
    assert_non_null(strstr(error.message, "another scene"));
    assert_non_null(strstr(error.message, hash[0]));
    assert_non_null(strstr(error.message, hash[1]));
    // The same text but another mesh, as when a mesh file was exchanged: the sizes tell.
    tdModel *larger = make_model(&cases[1], 4);
    tdState *large = make_state(larger, 1);
    larger->scene.hash = d.model->scene.hash;
    assert_ok(td_state_save(larger, large, d.path, &error), error);
    assert_int_equal(td_state_load(d.model, d.state, d.path, &error), TD_ERROR_INPUT);
    assert_string_equal(error.field, "/state/q");
    assert_non_null(strstr(error.message, "mesh"));
    td_state_free(state);
    td_state_free(large);
    td_model_free(other);
    td_model_free(larger);
    damage_end(&d);
}

static void test_equal_states_give_equal_files(void **unused)
{
    (void)unused;
    damage d = damage_begin();
    tdError error = {0};
    char *data = NULL;
    size_t size = 0;
    tdState *state = make_state(d.model, 1);
    take_steps(d.model, state, 5);
    assert_ok(td_state_save(d.model, state, d.path, &error), error);
    assert_ok(td_file_read(d.path, &data, &size, &error), error);
    assert_int_equal(size, d.size);
    assert_memory_equal(data, d.data, size);
    free(data);
    td_state_free(state);
    damage_end(&d);
}

// One bit of any array that a checkpoint keeps is another hash; what is no part of it is none.
static void test_hash_stands_for_every_array(void **unused)
{
    (void)unused;
    char path[64];
    temporary(path);
    tdError error = {0};
    tdModel *model = make_model(&cases[9], 6);
    tdState *state = make_state(model, 1), *other = make_state(model, 2);
    assert_int_equal(td_state_hash(model, state), td_state_hash(model, other));
    take_steps(model, state, 3);
    uint64_t hash = td_state_hash(model, state);
    assert_int_not_equal(hash, td_state_hash(model, other));
    const tdStateArray *list = NULL;
    int n = td_state_listed(model, state, &list), kinds = 0;
    for (int i = 0; i < n; i++)
        for (int64_t k = 0; k<list[i].count; k += list[i].count> 1 ? list[i].count - 1 : 1)
        {
            unsigned char *byte = (unsigned char *)list[i].data + 8 * k;
            *byte ^= 1;
            assert_int_not_equal(td_state_hash(model, state), hash);
            *byte ^= 1;
            kinds += k == 0;
        }
    assert_true(kinds > 15);
    assert_int_equal(td_state_hash(model, state), hash);
    assert_ok(td_state_save(model, state, path, &error), error);
    assert_ok(td_state_load(model, other, path, &error), error);
    assert_int_equal(td_state_hash(model, other), hash);
    td_state_free(state);
    td_state_free(other);
    td_model_free(model);
    unlink(path);
}

// A step of lagged rotations that is taken again lets them follow each iterate. A factor that is kept from it belongs
// to these rotations, and is made again with them.
static void factor_of_a_step_taken_again(void **unused)
{
    (void)unused;
    static const char text[] =
        "tendril: 1\ntime_step: 2 ms\nsteps: 900\nintegrator: {method: midpoint}\nbodies:\n  - name: beam\n"
        "    mesh: {box: [[0, 0, 0], [0.4, 0.05, 0.05]], cells: [8, 2, 2]}\n    velocity: [0, 0, 1.5]\n"
        "    fixed: [{group: xmin}]\n"
        "    material: {law: corotational_lagged, young: 1e5, poisson: 0.4, density: 1000}\n";
    tdModel *model = scene_parse(text);
    tdState *one = scene_state(model), *two = scene_state(model);
    char path[] = TD_BUILD_DIR "/taken_again.h5";
    tdError error = {0};
    int found = 0;
    for (int i = 0; i < 900 && found < 3; i++)
    {
        scene_steps(model, one, 1);
        if (!(scene_mine(one)->factor_flags & 8) || !td_linear_counts(scene_mine(one)->linear)->has_factor)
            continue;
        found++;
        assert_ok(td_state_save(model, one, path, &error), error);
        assert_ok(td_state_load(model, two, path, &error), error);
        scene_steps(model, one, 3);
        scene_steps(model, two, 3);
        assert_memory_equal(one->q, two->q, (size_t)model->coords * sizeof(double));
        assert_memory_equal(one->v, two->v, (size_t)model->coords * sizeof(double));
    }
    assert_true(found > 0);
    remove(path);
    td_state_free(two);
    scene_free(model, one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_stands_for_every_array),
        cmocka_unit_test(factor_of_a_step_taken_again),
        cmocka_unit_test(test_continues_bit_for_bit),
        cmocka_unit_test(test_actuators_continue_bit_for_bit),
        cmocka_unit_test(test_kept_factor_matters),
        cmocka_unit_test(test_overrides_are_kept),
        cmocka_unit_test(test_targets_are_kept),
        cmocka_unit_test(test_loading_is_kept),
        cmocka_unit_test(test_given_up_step_is_as_if_not_tried),
        cmocka_unit_test(test_long_work_can_be_given_up),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_flipped_bits),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_other_scene),
        cmocka_unit_test(test_equal_states_give_equal_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
