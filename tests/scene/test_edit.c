// SPDX-License-Identifier: Apache-2.0
// Changes of a scene by path (--set) and included files: the same as if one file said so, with the same errors.
#include "scenes.h"

#include <sys/stat.h>

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

// What stands in no file is there all the same: whole parts of a scene are added by a change.
static void test_parts_are_added(void **context)
{
    (void)context;
#define FALLING                                                                                                        \
    "tendril: 1\ntime_step: 5 ms\nsteps: 1\ngravity: [0, 0, -9.81]\nbodies:\n"                                         \
    "  - name: block\n    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}\n"                                     \
    "    material: {law: linear, young: 20 kPa, poisson: 0.3, density: 1000}\n    velocity: [0, 0, -1]\n"              \
    "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
    uint64_t file = after_a_step(FALLING "contact: {friction: 0.3}\n", NULL);
    assert_true(file != after_a_step(FALLING, NULL)); // falls through
    assert_int_equal(file, after_a_step(FALLING, "contact={friction: 0.3}"));
    assert_int_equal(file, after_a_step(FALLING, "contact.friction=0.3"));
    assert_int_equal(file, after_a_step(FALLING "contact: {friction: 0.1}\n", "contact={friction: 0.3}"));
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
    refuse("include=part.yaml", "included files are read before");
    refuse("include[0]=part.yaml", "included files are read before");
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
    refuse("probes=[{name: p, body: block, point: [0, 0, 0]}, {name: p, body: block, point: [1, 1, 1]}]",
           "the probe that --set gives has the same name 'p'");
}

// ---------------------------------------------------------------- include

static char parts[] = "/tmp/tendril_include_XXXXXX";

static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", parts, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int make_parts(void **context)
{
    (void)context;
    char path[256];
    if (mkdtemp(parts) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/parts", parts);
    return mkdir(path, 0700);
}

static int remove_parts(void **context)
{
    (void)context;
    char command[256];
    snprintf(command, sizeof command, "rm -r %s", parts);
    return system(command);
}

#define HEAD "tendril: 1\ntime_step: 10 ms\nsteps: 1\n"
#define BLOCK                                                                                                          \
    "  - name: block\n    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}\n"                                     \
    "    material: {law: linear, young: 1e5, poisson: 0.3, density: 1000}\n    fixed: [{group: zmin}]\n"

static tdStatus load_file(const char *name, const char *set, tdModel **model, tdError *error)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", parts, name);
    tdSettings settings = td_default_settings();
    settings.set = set;
    *error = (tdError){0};
    return td_model_load(path, &settings, model, error);
}

static void test_included_files(void **context)
{
    (void)context;
    tdModel *model = NULL;
    tdError error;
    put("parts/gravity.yaml", "gravity: [0, 0, -9.81]\n");
    put("parts/block.yaml",
        "tendril: 1\ninclude: gravity.yaml\nbodies:\n" BLOCK "probes: [{name: a, body: block, point: [0, 0, "
        "1]}]\n");
    // Paths are relative to the file that they are in.
    put("parts/moved.yaml", "motion: {csv: up.csv}\n");
    put("parts/up.csv", "t, push\n0, 0\n1, 1\n");
    put("scene.yaml", HEAD "include: [parts/block.yaml, parts/moved.yaml]\n"
                           "bodies:\n  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
                           "loads: [{name: push, type: point, body: block, group: zmax, force: [0, 0, 1]}]\n"
                           "probes: [{name: b, body: block, point: [1, 0, 1]}]\n");
    assert_ok(load_file("scene.yaml", NULL, &model, &error), error);
    assert_int_equal(td_model_bodies(model), 2);
    assert_string_equal(td_model_body_name(model, 0), "block"); // files first
    assert_string_equal(td_model_body_name(model, 1), "floor");
    assert_string_equal(td_model_probe_name(model, 0), "a");
    assert_string_equal(td_model_probe_name(model, 1), "b");
    assert_near(model->scene.settings.gravity[2], -9.81, 1e-12);
    uint64_t hash = model->scene.hash;
    td_model_free(model);
    // --set reaches included keys; an included text is part of what a checkpoint belongs to.
    assert_ok(load_file("scene.yaml", "bodies[block].material.young=7 kPa", &model, &error), error);
    assert_near(model->scene.bodies[0].material.young, 7000, 1e-9);
    td_model_free(model);
    put("parts/gravity.yaml", "gravity: [0, 0, -9.80]\n");
    assert_ok(load_file("scene.yaml", NULL, &model, &error), error);
    assert_true(model->scene.hash != hash);
    td_model_free(model);
}

static char warned[2000];

static void listen(void *user, tdLogLevel level, const char *message)
{
    (void)user;
    if (level == TD_LOG_WARNING)
        strncat(warned, message, sizeof warned - strlen(warned) - 1);
}

// Warnings, too, name the file that a line is in.
static void test_warnings_of_included_files(void **context)
{
    (void)context;
    char path[256], place[300];
    put("parts/block.yaml", "\n\nbodies:\n" BLOCK);
    put("warned.yaml", HEAD "include: parts/block.yaml\n");
    snprintf(path, sizeof path, "%s/warned.yaml", parts);
    snprintf(place, sizeof place, "%s/parts/block.yaml:6: the density of body 'block'", parts);
    tdSettings settings = td_default_settings();
    settings.log = listen;
    settings.level = TD_LOG_WARNING;
    settings.set = "bodies[block].material.density=1e9";
    tdModel *model = NULL;
    tdError error = {0};
    assert_ok(td_model_load(path, &settings, &model, &error), error);
    td_model_free(model);
    if (strstr(warned, place) == NULL)
        fail_msg("'%s' is not in: %s", place, warned);
}

// The scene is refused at this line of this file, and the message has these words.
static void refuse_file(const char *file, int line, const char *says)
{
    tdModel *model = NULL;
    tdError error;
    char told[1200], place[300];
    assert_int_equal(load_file("bad.yaml", NULL, &model, &error), TD_ERROR_INPUT);
    assert_null(model);
    td_error_format(&error, told, sizeof told);
    snprintf(place, sizeof place, "%s/%s", parts, file);
    if (strcmp(error.file, place) != 0 || error.line != line || strstr(error.message, says) == NULL)
        fail_msg("%s\nexpected %s:%d and '%s'", told, place, line, says);
}

static void test_bad_included_files(void **context)
{
    (void)context;
    put("bad.yaml", HEAD "include: parts/none.yaml\n");
    refuse_file("bad.yaml", 4, "cannot be opened");
    put("bad.yaml", HEAD "include: [parts/one.yaml]\nbodies:\n" BLOCK);
    put("parts/one.yaml", "# nothing yet\n");
    refuse_file("parts/one.yaml", 1, "the file is empty");
    put("parts/one.yaml", "- a\n- b\n");
    refuse_file("parts/one.yaml", 1, "keys of a scene");
    put("parts/one.yaml", "gravity: [0, 0\n");
    refuse_file("parts/one.yaml", 2, "YAML syntax");
    put("parts/one.yaml", "\ngravty: [0, 0, 1]\n");
    refuse_file("parts/one.yaml", 2, "did you mean 'gravity'");
    put("parts/one.yaml", "\n\ngravity: [0, 0, 3 kg]\n");
    refuse_file("parts/one.yaml", 3, "kg");
    put("parts/one.yaml", "tendril: 2\n");
    refuse_file("bad.yaml", 1, "parts/one.yaml");
    put("parts/one.yaml", "\nsteps: 3\n");
    refuse_file("bad.yaml", 3, "on line 2 of "); // and names the file
    // Found when bodies are compiled, with the line of the body's own file.
    put("parts/one.yaml", "loads:\n  - {name: x, type: point, body: block, group: top, force: [1, 0, 0]}\n");
    refuse_file("parts/one.yaml", 2, "'top'");
    // A name that two files use: each is named with its file.
    put("parts/one.yaml", "\nbodies:\n" BLOCK);
    refuse_file("bad.yaml", 6, "parts/one.yaml");
    // Circles, with the chain.
    put("parts/one.yaml", "include: two.yaml\n");
    put("parts/two.yaml", "\ninclude: ../parts/one.yaml\n");
    refuse_file("parts/two.yaml", 2, "two.yaml, which includes");
    refuse_file("parts/two.yaml", 2, "a file cannot include itself");
    put("parts/two.yaml", "include: ../bad.yaml\n");
    refuse_file("parts/two.yaml", 1, "bad.yaml includes");
    put("bad.yaml", HEAD "include: bad.yaml\n");
    refuse_file("bad.yaml", 4, "a file cannot include itself");
    put("bad.yaml", HEAD "include: {file: x}\n");
    refuse_file("bad.yaml", 4, "the name of a file");
    put("bad.yaml", HEAD "include: []\n");
    refuse_file("bad.yaml", 4, "the name of a file");
    put("bad.yaml", HEAD "include:\n  - parts/one.yaml\n  - [x]\n");
    put("parts/one.yaml", "gravity: [0, 0, 1]\n");
    refuse_file("bad.yaml", 6, "the name of a file");
    put("bad.yaml", HEAD "include:\n");
    refuse_file("bad.yaml", 4, "the name of a file");
    put("bad.yaml", HEAD "include: parts\n");
    refuse_file("bad.yaml", 4, "is a folder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_included_files),
                                       cmocka_unit_test(test_warnings_of_included_files),
                                       cmocka_unit_test(test_bad_included_files),
                                       cmocka_unit_test(test_the_same_as_the_file),
                                       cmocka_unit_test(test_parts_are_added),
                                       cmocka_unit_test(test_checkpoints_differ),
                                       cmocka_unit_test(test_mistakes)};
    return cmocka_run_group_tests(tests, make_parts, remove_parts);
}
