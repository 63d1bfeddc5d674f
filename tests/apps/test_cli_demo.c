// SPDX-License-Identifier: Apache-2.0
// 'tendril demo' as a newcomer meets it, on a robot that is small enough for a test; and the reports of 'compare' and
// 'control'.
#include "page.h"
#include "program.h"

#include "indicator.h"
#include "report/page.h"

#include <math.h>

static const char effector[] = "effectors: [{name: tip, body: arm, point: [100, 6, 6]}]\n"
                               "motion: {keyframes: [{t: 0, side: 0, top: 0}, {t: 1 s, side: 2, top: 1}]}\n";

static int setup(void **state)
{
    (void)state;
    static char text[6000];
    if (make_folder() != 0)
        return -1;
    arm_text(text, sizeof text, 6, effector);
    write_text("arm.yaml", text);
    arm_text(text, sizeof text, 6, "");
    write_text("blind.yaml", text);
    arm_text(text, sizeof text, 6, effector);
    char *cells = strstr(text, "[12, 2, 2]"), *samples = strstr(text, "grid, levels: 4");
    memcpy(cells, "[ 6, 1, 1]", 10);
    memcpy(samples, "corners        ", 15);
    write_text("tiny.yaml", text);
    write_text("path.csv", "t [s], tip.x [mm], tip.y [mm], tip.z [mm]\n0, 100, 6, 6\n1, 99, 0, 12\n2, 98.5, -4, 10\n");
    write_text("other.csv", "t [s], nose.x [mm], nose.y [mm], nose.z [mm]\n0, 100, 6, 6\n");
    return 0;
}

static void assert_told(const char *page, double value, const char *format)
{
    char number[64];
    snprintf(number, sizeof number, format, value);
    if (strstr(page, number) == NULL)
        fail_msg("the report does not tell '%s'", number);
}

/// A row of the table that is printed.
typedef struct Row
{
    double elements, unknowns, mean, most, rate, times;
} Row;

static Row row_of(const char *name)
{
    Row row = {0};
    char *text = read_text("stdout.txt"), *at = strstr(text, name);
    assert_non_null(at);
    assert_int_equal(sscanf(at + 24, "%lf %lf %lf %% %lf %% %lf %lf", &row.elements, &row.unknowns, &row.mean,
                            &row.most, &row.rate, &row.times),
                     6);
    free(text);
    return row;
}

// Without a terminal it ends by itself. What was printed is what the report tells.
static void test_demo(void **state)
{
    (void)state;
    assert_int_equal(run_command("demo", "--scene arm.yaml --path path.csv --out d </dev/null"), 0);
    assert_true(exists("d/report.html") && exists("d/robot.h5") && exists("d/robot.png"));
    assert_true(exists("d/path/run.pvd") && exists("d/path/tracking.csv"));
    char *page = read_text("d/report.html"), count[32];
    // The robot on the path, at rest, its elements, two of the comparison, two more poses; modes, errors, speed, path,
    // its error, what the cables do.
    page_check(page, strlen(page), 7, 1 + 2 + 4);
    Row full = row_of("\nfull order"), reduced = row_of("\nreduced ("), hyper = row_of("\nhyper-reduced (");
    assert_told(page, hyper.unknowns, "<strong>%.0f modes</strong>");
    assert_told(page, hyper.elements, "<strong>%.0f of the 288 elements</strong>");
    assert_told(page, hyper.mean, "%.2f %%");
    assert_told(page, reduced.most, "%.2f %%");
    const Row *rows[] = {&full, &reduced, &hyper};
    for (int i = 0; i < 3; i++)
        assert_non_null(strstr(page, td_page_count((int64_t)llround(rows[i]->rate), count)));
    assert_non_null(strstr(page, "2 cables"));
    assert_non_null(strstr(page, "Machine: "));
    // Reduced, it is faster and not far off.
    assert_true(full.mean == 0 && full.times == 1);
    assert_true(hyper.times > 1 && hyper.mean > 0 && hyper.mean < 2);
    assert_true(hyper.unknowns == reduced.unknowns && hyper.elements < reduced.elements);
    // The robot of full order follows, to a part of its 100 mm that the errors above let expect.
    char *text = read_text("stdout.txt"), *path = strstr(text, "stays within ");
    double most = 0, mean = 0;
    assert_non_null(path);
    assert_int_equal(sscanf(path, "stays within %lf mm of the goal, %lf mm", &most, &mean), 2);
    assert_true(mean < most && most < 1);
    assert_told(page, most, "<strong>%.2f mm</strong>");
    free(text);
    free(page);
    assert_says("stdout.txt", "d/report.html");
    assert_says("stderr.txt", "[1/5] arm.yaml");
    assert_says("stderr.txt", "117 nodes, 288 elements, 2 cables");
    assert_says("stderr.txt", "[2/5] reducing it");
    assert_says("stderr.txt", "[5/5] ");
}

static void test_json(void **state)
{
    (void)state;
    assert_int_equal(run_command("demo", "--scene tiny.yaml --path path.csv --out e --json --quiet </dev/null"), 0);
    assert_true(json_number("path_error_mean") > 0 && json_number("control_step_ms") > 0 && json_number("modes") > 1);
    assert_true(json_number("wall_s") > json_number("reduce"));
    assert_says("stdout.txt", "\"report\": \"e/report.html\"");
    assert_says("stdout.txt", "\"kind\": \"hyper_reduced\", \"error_mean\": ");
    char *said = read_text("stderr.txt");
    assert_null(strstr(said, "[1/5]"));
    free(said);
}

// A step that fails ends with its reason, not with a report.
static void test_failures(void **state)
{
    (void)state;
    assert_refuses("demo", "extra", 2, "unexpected argument");
    assert_refuses("demo", "--scene arm.yaml", 2, "--path CSV");
    assert_refuses("demo", "--out ''", 2, "--out takes a folder");
    assert_refuses("demo", "--scene none.yaml --path path.csv --out f --quiet", 3, "none.yaml");
    assert_refuses("demo", "--scene blind.yaml --path path.csv --out f --quiet", 3, "effector");
    assert_refuses("demo", "--scene arm.yaml --path other.csv --out f --quiet", 3, "nose");
    assert_refuses("demo", "--scene arm.yaml --path path.csv --out arm.yaml/f --quiet", 6, "arm.yaml");
    assert_false(exists("f/report.html"));
}

// Ctrl-C in the middle of the longest stage.
static void test_interrupted(void **state)
{
    (void)state;
    pid_t pid = start_command("demo", "--scene arm.yaml --path path.csv --out g --quiet </dev/null");
    await_file(pid, "g/robot.h5.work");
    kill(pid, SIGINT);
    assert_int_equal(finish(pid), 130);
    assert_says("stderr.txt", "interrupted");
    assert_false(exists("g/report.html"));
}

static void test_other_reports(void **state)
{
    (void)state;
    assert_int_equal(run_command("compare", "arm.yaml --rom d/robot.h5 --steps 9 --report c.html --json --quiet"), 0);
    char *page = read_text("c.html"), count[32];
    page_check(page, strlen(page), 2, 2);
    assert_non_null(strstr(page, td_page_count((int64_t)llround(json_number("steps_per_s")), count)));
    free(page);
    assert_int_equal(run_command("control", "arm.yaml --rom d/robot.h5 --free all --target path.csv --report p.html "
                                            "--quiet"),
                     0);
    page = read_text("p.html");
    page_check(page, strlen(page), 0, 4); // path, error, what the cables do
    assert_non_null(strstr(page, "over 40 steps"));
    free(page);
    assert_refuses("compare", "arm.yaml --rom d/robot.h5 --report c.pdf", 2, "ends in .html");
    assert_refuses("control", "arm.yaml --target path.csv --report c", 2, "ends in .html");
    assert_refuses("compare", "arm.yaml --rom d/robot.h5 --steps 2 --quiet --report none/c.html", 6, "none/c.html");
}

// What 'make demo' starts from is shipped and sound; reducing it takes longer than a test may.
static void test_shipped(void **state)
{
    (void)state;
    assert_int_equal(run_command("check", TD_SOURCE_DIR "/robots/parallel/coarse.yaml"), 0);
    assert_int_equal(access(TD_SOURCE_DIR "/robots/parallel/circle.csv", R_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_demo),          cmocka_unit_test(test_json),        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_other_reports), cmocka_unit_test(test_interrupted), cmocka_unit_test(test_shipped),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
