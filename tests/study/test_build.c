// SPDX-License-Identifier: Apache-2.0
// Scenes in code come to the same model as their files, and to the same complaints.
#include "test.h"

#include "tendril/study.h"

#define DO(call) assert_ok(call, error)

static tdBuild *beam(void)
{
    tdBuild *build = NULL;
    tdError error = {0};
    const double box[2][3] = {{0, 0, 0}, {0.1, 0.02, 0.02}}, cells[3] = {5, 1, 1};
    DO(td_build_create("beam", NULL, &build, &error));
    DO(td_build_number(build, "tendril", 1, &error));
    DO(td_build_text(build, "time_step", "10 ms", &error));
    DO(td_build_number(build, "steps", 5, &error));
    DO(td_build_numbers(build, "gravity", 3, (const double[]){0, 0, -9.81}, &error));
    DO(td_build_text(build, "bodies[0].name", "arm", &error));
    DO(td_build_numbers(build, "bodies[0].mesh.box[0]", 3, box[0], &error));
    DO(td_build_numbers(build, "bodies[0].mesh.box[1]", 3, box[1], &error));
    DO(td_build_numbers(build, "bodies[0].mesh.cells", 3, cells, &error));
    DO(td_build_yaml(build, "bodies[0].material", "{law: corotational, young: 100 kPa, poisson: 0.4, density: 1000}",
                     &error));
    DO(td_build_text(build, "bodies[0].fixed[0].group", "xmin", &error));
    DO(td_build_text(build, "probes[0].name", "tip-1.end", &error));
    DO(td_build_text(build, "probes[0].body", "arm", &error));
    DO(td_build_numbers(build, "probes[0].point", 3, box[1], &error));
    return build;
}

static const char file[] = "tendril: 1\ntime_step: 10 ms\nsteps: 5\ngravity: [0, 0, -9.81]\n"
                           "bodies:\n"
                           "  - name: arm\n"
                           "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [5, 1, 1]}\n"
                           "    material: {law: corotational, young: 100 kPa, poisson: 0.4, density: 1000}\n"
                           "    fixed: [{group: xmin}]\n"
                           "probes: [{name: tip-1.end, body: arm, point: [0.1, 0.02, 0.02]}]\n";

static uint64_t hash_of(const tdModel *model)
{
    tdState *state = NULL;
    tdError error = {0};
    DO(td_state_create(model, NULL, &state, &error));
    for (int i = 0; i < 5; i++)
        assert_int_equal(td_step(model, state), TD_OK);
    uint64_t hash = td_state_hash(model, state);
    td_state_free(state);
    return hash;
}

static void test_same_as_file(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdBuild *build = beam();
    tdModel *model[3] = {NULL};
    DO(td_build_model(build, NULL, &model[0], &error));
    DO(td_model_parse(file, strlen(file), "file", NULL, NULL, &model[1], &error));
    // Its text is a scene file, for whatever takes one.
    tdSettings settings = td_default_settings();
    DO(td_build_scene(build, &settings.text, &error));
    DO(td_model_load("no/such/file.yaml", &settings, &model[2], &error));
    uint64_t hash = hash_of(model[1]);
    assert_true(hash_of(model[0]) == hash);
    assert_true(hash_of(model[2]) == hash);
    assert_string_equal(td_model_probe_name(model[0], 0), "tip-1.end");
    for (int i = 0; i < 3; i++)
        td_model_free(model[i]);
    td_build_free(build);
}

// field: where; word: part of the message.
static void expect(tdBuild *build, tdStatus status, const char *field, const char *word)
{
    tdError error = {0};
    tdModel *model = NULL;
    assert_int_equal(td_build_model(build, NULL, &model, &error), status);
    assert_null(model);
    assert_string_equal(error.field, field);
    assert_non_null(strstr(error.message, word));
    assert_int_equal(error.line, 0);
    assert_string_equal(error.file, "beam");
}

static void test_same_complaints(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdBuild *build = beam();
    DO(td_build_text(build, "bodies[0].material.yuong", "1 kPa", &error));
    expect(build, TD_ERROR_INPUT, "bodies[0].material.yuong", "did you mean 'young'");
    DO(td_build_remove(build, "bodies[0].material.yuong", &error));
    DO(td_build_text(build, "bodies[0].material.young", "3 mm", &error));
    expect(build, TD_ERROR_INPUT, "bodies[0].material.young", "mm");
    DO(td_build_text(build, "bodies[0].material.young", "3 kPa", &error));
    DO(td_build_text(build, "probes[0].body", "leg", &error));
    expect(build, TD_ERROR_INPUT, "probes[0].body", "leg");
    // Texts come through as they are.
    DO(td_build_text(build, "probes[0].name", "a, \"b\": [\\, #", &error));
    expect(build, TD_ERROR_INPUT, "probes[0].name", "found 'a, \"b\": [\\, #'");
    td_build_free(build);
}

static void test_paths(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *path, *says;
    } wrong[] = {{"bodies[2].name", "the next is [1]"},
                 {"bodies.name", "no map"},
                 {"steps[0]", "no list"},
                 {"bodies[x]", "a number in brackets"},
                 {"bodies[0]name", "follow"},
                 {"bodies..name", "a key"},
                 {"\"name", "quotation mark"},
                 {"bodies[0].", "follow"},
                 {"bodies[-1]", "brackets"},
                 {"", "the path of one"}};
    tdError error = {0};
    tdBuild *build = beam();
    const char *before = NULL, *after = NULL;
    DO(td_build_scene(build, &before, &error));
    char *kept = strdup(before);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    {
        assert_int_equal(td_build_number(build, wrong[i].path, 1, &error), TD_ERROR_USAGE);
        if (strstr(error.message, wrong[i].says) == NULL)
            fail_msg("'%s' of '%s' does not say '%s'", error.message, wrong[i].path, wrong[i].says);
    }
    assert_int_equal(td_build_number(build, "steps", NAN, &error), TD_ERROR_USAGE);
    assert_int_equal(td_build_remove(build, "probes[1]", &error), TD_ERROR_USAGE);
    DO(td_build_scene(build, &after, &error));
    assert_string_equal(kept, after); // what was refused has left nothing
    free(kept);

    assert_int_equal(td_build_count(build, "bodies"), 1);
    assert_int_equal(td_build_count(build, "gravity"), 3);
    assert_int_equal(td_build_count(build, "loads"), -1);
    DO(td_build_text(build, "motion.\"a.b\"", "c", &error)); // a key with a dot in it
    DO(td_build_number(build, "bodies[1].name", 2, &error));
    DO(td_build_flag(build, "bodies[2]", true, &error));
    DO(td_build_remove(build, "bodies[1]", &error));
    assert_int_equal(td_build_count(build, "bodies"), 2);
    DO(td_build_remove(build, "bodies[1]", &error));
    DO(td_build_remove(build, "motion", &error));
    DO(td_build_map(build, "contact", &error));
    DO(td_build_list(build, "loads", &error));
    assert_int_equal(td_build_count(build, "loads"), 0);
    td_build_free(build);
}

// What says nothing, a number and a text that looks like either are still what they were when the text is read again.
static void test_values_read_back(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdBuild *build = NULL, *again = NULL;
    const char *text = NULL, *other = NULL;
    static const char values[] = "{a: , b: ~, c: null, d: \"~\", e: \"null\", f: \"\", g: '1: ', h: [~, null, \"~\"]}";
    DO(td_build_create("values", NULL, &build, &error));
    DO(td_build_create("values", NULL, &again, &error));
    DO(td_build_yaml(build, "''1", values, &error));
    DO(td_build_scene(build, &text, &error));
    assert_string_equal(text,
                        "\"''1\": {a: ~, b: ~, c: ~, d: \"~\", e: \"null\", f: \"\", g: \"1: \", h: [~, ~, \"~\"]}\n");
    DO(td_build_yaml(again, "", text, &error));
    DO(td_build_scene(again, &other, &error));
    assert_string_equal(other, text);
    td_build_free(again);
    td_build_free(build);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_as_file), cmocka_unit_test(test_same_complaints),
                                       cmocka_unit_test(test_paths), cmocka_unit_test(test_values_read_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
