// SPDX-License-Identifier: Apache-2.0
// 'tendril reduce' by ranks of MPI: the model does not depend on their number, one rank that is killed costs what it
// was at, and one message says what is wrong.
#include "ranks.h"

#include "reduce/offline/crew.h"

static int setup(void **state)
{
    (void)state;
    if (make_folder() != 0)
        return -1;
    write_text("arm.yaml", RANKS_SCENE);
    write_text("bad.yaml", "tendril: 1\nbodies: []\nnonsense: 1\n");
    return 0;
}

static void test_equal(void **state)
{
    (void)state;
    if (no_ranks() != NULL)
        skip_because("%s", no_ranks());
    assert_int_equal(run_command("reduce", "arm.yaml -o alone.h5 --accept --json --quiet --keep"), 0);
    char *alone = json_value("content");
    assert_true(exists("alone.h5.work/training-0-474-000000137.part")); // several blocks, to be dealt out
    for (int ranks = 1; ranks <= 3; ranks++)
    {
        char arguments[100];
        snprintf(arguments, sizeof arguments, "arm.yaml -o ranks-%d.h5 --accept --json --quiet", ranks);
        assert_int_equal(finish(start_ranks(ranks, arguments)), 0);
        char *content = json_value("content");
        assert_string_equal(content, alone);
        assert_near(json_number("ranks"), ranks, 0);
        assert_near(json_number("failures"), 0, 0);
        free(content);
    }
    free(alone);
}

// Elements chosen in parts of the mesh, which ranks share: as by one process; and within the same tolerance as without.
static void test_parts(void **state)
{
    (void)state;
    if (no_ranks() != NULL)
        skip_because("%s", no_ranks());
    const char *in_parts = "--set reduction.ecsw_parts=4 --accept --json --quiet";
    char arguments[200];
    assert_int_equal(run_command("reduce", "arm.yaml -o plain.h5 --accept --json --quiet"), 0);
    double elements = json_number("rid_elements"), error = json_number("held_out_error");
    snprintf(arguments, sizeof arguments, "arm.yaml -o alone.h5 --keep %s", in_parts);
    assert_int_equal(run_command("reduce", arguments), 0);
    assert_true(exists("alone.h5.work/domain-share-0-3.part") && exists("alone.h5.work/check-share-0-3.part"));
    assert_true(json_number("rid_elements") <= 1.5 * elements);
    assert_near(json_number("held_out_error"), error, 0.02);
    char *alone = json_value("content");
    for (int ranks = 1; ranks <= 3; ranks++)
    {
        snprintf(arguments, sizeof arguments, "arm.yaml -o parts-%d.h5 %s", ranks, in_parts);
        assert_int_equal(finish(start_ranks(ranks, arguments)), 0);
        char *content = json_value("content");
        assert_string_equal(content, alone);
        free(content);
    }
    free(alone);
}

// Samples greedy: ranks try the candidates, and choose the same ones as a process alone.
static void test_greedy(void **state)
{
    (void)state;
    if (no_ranks() != NULL)
        skip_because("%s", no_ranks());
    const char *greedy = "--set reduction.samples=greedy --set reduction.count=5 --set reduction.greedy_tolerance=1e-4 "
                         "--accept --json --quiet";
    char arguments[300];
    snprintf(arguments, sizeof arguments, "arm.yaml -o greedy.h5 %s", greedy);
    assert_int_equal(run_command("reduce", arguments), 0);
    double snapshots = json_number("snapshots");
    char *alone = json_value("content");
    for (int ranks = 2; ranks <= 3; ranks++)
    {
        snprintf(arguments, sizeof arguments, "arm.yaml -o greedy-%d.h5 %s", ranks, greedy);
        assert_int_equal(finish(start_ranks(ranks, arguments)), 0);
        assert_near(json_number("snapshots"), snapshots, 0);
        char *content = json_value("content");
        assert_string_equal(content, alone);
        free(content);
    }
    free(alone);
}

// Modes by blocks of rows: as those of one process, and as those without it but for rounding.
static void test_tsqr(void **state)
{
    (void)state;
    if (no_ranks() != NULL)
        skip_because("%s", no_ranks());
    assert_int_equal(run_command("reduce", "arm.yaml -o plain.h5 --accept --json --quiet"), 0);
    double error = json_number("held_out_error"), elements = json_number("rid_elements"), modes = json_number("modes");
    assert_int_equal(run_command("reduce", "arm.yaml -o alone.h5 --tsqr --accept --json --quiet"), 0);
    char *alone = json_value("content");
    assert_near(json_number("held_out_error"), error, 1e-9);
    assert_near(json_number("rid_elements"), elements, 0);
    assert_near(json_number("modes"), modes, 0);
    assert_int_equal(finish(start_ranks(3, "arm.yaml -o ranks.h5 --tsqr --accept --json --quiet")), 0);
    char *content = json_value("content");
    assert_string_equal(content, alone);
    free(content);
    free(alone);
}

static int parts(const char *in)
{
    char command[400];
    snprintf(command, sizeof command, "ls %s/%s 2>/dev/null | grep -c '^snapshots.*[.]part$'", folder, in);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    int n = 0;
    assert_int_equal(fscanf(pipe, "%d", &n), 1);
    pclose(pipe);
    return n;
}

// One rank is killed as soon as a trajectory is there: MPI ends the others, and the same command goes on.
static void test_killed(void **state)
{
    (void)state;
    if (no_ranks() != NULL)
        skip_because("%s", no_ranks());
    pid_t pid = start_ranks(3, "arm.yaml -o killed.h5 --accept --json --quiet");
    while (parts("killed.h5.work") == 0 && !exists("killed.h5"))
        usleep(1000);
    char command[100];
    snprintf(command, sizeof command, "kill -9 $(pgrep -P %d | tail -n 1) 2>/dev/null", (int)pid);
    bool killed = system(command) == 0;
    int code = finish(pid);
    assert_true(code != 0 || !killed || exists("killed.h5")); // it may have been at its end
    if (code != 0)
    {
        assert_true(parts("killed.h5.work") > 0);
        assert_int_equal(finish(start_ranks(2, "arm.yaml -o killed.h5 --accept --json --quiet")), 0);
        assert_true(json_number("snapshots") > 0);
    }
    char *content = json_value("content");
    assert_int_equal(run_command("reduce", "arm.yaml -o whole.h5 --accept --json --quiet"), 0);
    char *whole = json_value("content");
    assert_string_equal(content, whole);
    free(content);
    free(whole);
}

static void test_refused(void **state)
{
    (void)state;
    if (no_ranks() != NULL)
        skip_because("%s", no_ranks());
    assert_int_equal(finish(start_ranks(2, "bad.yaml -o bad.h5 --quiet")), 3);
    char *text = read_text("stderr.txt"), *first = strstr(text, "tendril: ");
    assert_non_null(first);
    assert_null(strstr(first + 1, "tendril: ")); // once, not by each rank
    free(text);
}

// Without the library: what is wrong and what to do, in place of as many models as there are ranks.
static void test_without(void **state)
{
    (void)state;
    tdCrew crew;
    tdError error = {0};
    assert_int_equal(setenv("OMPI_COMM_WORLD_SIZE", "4", 1), 0);
    assert_int_equal(td_crew_started(), 4);
    assert_int_equal(td_crew_open("/no/such/library.so", &crew, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "4 ranks were started, but they cannot work together"));
    assert_non_null(strstr(error.message, "scripts/setup mpi"));
    assert_null(crew.back);
    td_crew_close(&crew);
    assert_int_equal(td_crew_open("libm.so.6", &crew, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "is not a library for MPI"));
    unsetenv("OMPI_COMM_WORLD_SIZE");
    assert_int_equal(td_crew_started(), 1);
    // Shares by --job are independent of MPI, whoever starts them.
    assert_int_equal(setenv("OMPI_COMM_WORLD_SIZE", "4", 1), 0);
    assert_int_equal(run_command("reduce", "arm.yaml --work shares --job 1/20 --quiet"), 0);
    unsetenv("OMPI_COMM_WORLD_SIZE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),   cmocka_unit_test(test_parts),  cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_tsqr),    cmocka_unit_test(test_killed), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_without),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
