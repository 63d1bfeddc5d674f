// SPDX-License-Identifier: Apache-2.0
// Changes of a scene by path (--set): the same as if the file said so, with the same errors.
#include "scenes.h"

static const char base[] = "tendril: 1\ntime_step: 10 ms\nsteps: 1\ngravity: [0, 0, -9.81]\nbodies:\n"
                           "  - name: block\n    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}\n"
                           "    material: {law: linear, young: 1e5, poisson: 0.3, density: 1000}\n"
                           "    fixed: [{group: zmin}]\n";

static tdStatus load(const char *text, const char *set, tdModel **model, tdError *error)
{
    tdSettings settings = td_default_settings();
    settings.set = set;
    *error = (tdError){0};
    return td_model_parse(text, strlen(text), "scene.yaml", NULL, &settings, model, error);
}

static uint64_t after_a_step(const char *text, const char *set)
{
    tdModel *model = NULL;
    tdState *state = NULL;
    tdError error = {0};
    assert_ok(load(text, set, &model, &error), error);
    tdSettings settings = td_default_settings();
    assert_ok(td_state_create(model, &settings, &state, &error), error);
    assert_int_equal(td_step(model, state), TD_OK);
    double p[3];
    memcpy(p, td_state_positions(model, state, 0) + 3 * (td_model_body_nodes(model, 0) - 1), sizeof p);
    uint64_t bits;
    memcpy(&bits, &p[2], sizeof bits);
    td_state_free(state);
    td_model_free(model);
    return bits;
}

static void test_the_same_as_the_file(void **context)
{
    (void)context;
    static const char softer[] = "tendril: 1\ntime_step: 10 ms\nsteps: 1\ngravity: [0, 0, -9.81]\nbodies:\n"
                                 "  - name: block\n    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}\n"
                                 "    material: {law: linear, young: 20 kPa, poisson: 0.3, density: 1000}\n"
                                 "    fixed: [{group: zmin}]\n    damping: {mass: 0.5}\n";
    uint64_t file = after_a_step(softer, NULL);
    assert_true(file != after_a_step(base, NULL));
    assert_int_equal(file, after_a_step(base, "bodies[0].material.young=20 kPa\nbodies[0].damping.mass=0.5"));
    assert_int_equal(file,
                     after_a_step(base, "bodies[block].material.young=20 kPa\nbodies[block].damping={mass: 0.5}\n"));
    assert_int_equal(file, after_a_step(base, "bodies[0].material={law: linear, young: 20 kPa, poisson: 0.3, density: "
                                              "1000}\nbodies[0].damping.mass=0.5"));
    // Later ones hold; and a checkpoint of one scene is not one of the other.
    assert_int_equal(file, after_a_step(base, "bodies[0].material.young=7\nbodies[0].material.young=20 kPa\n"
                                              "bodies[0].damping.mass=0.5"));
}

static void test_checkpoints_differ(void **context)
{
    (void)context;
    tdModel *plain = NULL, *changed = NULL;
    tdState *a = NULL, *b = NULL;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    assert_ok(load(base, NULL, &plain, &error), error);
    assert_ok(load(base, "bodies[0].material.young=2e5", &changed, &error), error);
    assert_ok(td_state_create(plain, &settings, &a, &error), error);
    assert_ok(td_state_create(changed, &settings, &b, &error), error);
    size_t size = td_state_size(plain, a);
    void *memory = malloc(size);
    assert_non_null(memory);
    assert_ok(td_state_write(plain, a, memory, size, &error), error);
    assert_int_not_equal(td_state_read(changed, b, memory, size, &error), TD_OK);
    free(memory);
    td_state_free(a);
    td_state_free(b);
    td_model_free(plain);
    td_model_free(changed);
}

static void refuse(const char *set, const char *says)
{
    tdModel *model = NULL;
    tdError error;
    char told[1200];
    assert_int_equal(load(base, set, &model, &error), TD_ERROR_INPUT);
    td_error_format(&error, told, sizeof told);
    if (strstr(told, says) == NULL)
        fail_msg("'%s' says: %s", set, told);
}

static void test_mistakes(void **context)
{
    (void)context;
    refuse("bodies[0].material.young", "PATH=VALUE");
    refuse("=3", "PATH=VALUE");
    refuse("bodies[1].name=x", "there is no entry 1: the list has 1");
    refuse("bodies[blok].name=x", "has the name 'blok'");
    refuse("bodies.name=x", "not a map; choose an entry");
    refuse("gravity.x=1", "choose an entry");
    refuse("time_step.x=1", "not a map");
    refuse("time_step[0]=1", "chooses from a list");
    refuse("bodies[0=x", "']' is missing");
    refuse("bodies[0].=x", "name is missing");
    refuse("bodies[0]..name=x", "name is missing");
    refuse("bodies[0].material.yuong=1", "yuong"); // judged as in a file
    refuse("bodies[0].material.young=3 kg", "bodies[0].material.young");
    refuse("bodies[0].material.young=[", "young: YAML syntax");
    refuse("time_step=", "time_step: no value is given");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_same_as_the_file),
                                       cmocka_unit_test(test_checkpoints_differ), cmocka_unit_test(test_mistakes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
