// SPDX-License-Identifier: Apache-2.0
// The program is told to end: in order, and whatever it is at.
#include "program.h"

#include <errno.h>
#include <fcntl.h>

static const char quick_scene[] = "tendril: 1\n"
                                  "gravity: [0, 0, -9.81 m/s^2]\n"
                                  "time_step: 10 ms\n"
                                  "steps: 12\n"
                                  "bodies:\n"
                                  "  - name: beam\n"
                                  "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [5, 2, 2]}\n"
                                  "    material: {law: corotational, young: 100 kPa, poisson: 0.4, density: 1000}\n"
                                  "    fixed: [{group: xmin}]\n"
                                  "output: {every: 2, formats: [vtu, csv]}\n";

// One equilibrium, and then one so far away that Newton goes on and on: the load is halved and tried again.
static const char long_scene[] =
    "tendril: 1\n"
    "time_step: 1\n"
    "steps: 2\n"
    "bodies:\n"
    "  - name: block\n"
    "    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [12, 12, 12]}\n"
    "    material: {law: neo_hookean, young: 100 kPa, poisson: 0.4, density: 1000}\n"
    "    fixed: [{group: zmin}]\n"
    "    prescribed: [{name: press, group: zmax, displacement: [0.1, 0, -1]}]\n"
    "motion: {keyframes: [{t: 0, press: 0}, {t: 1, press: 0.1}, {t: 2, press: 1e6}]}\n"
    "integrator: {method: static, max_iterations: 1000, tolerance: 1e-12, min_load_step: 1e-9}\n"
    "output: {every: 1, formats: [vtu, csv]}\n";

static int setup(void **state)
{
    (void)state;
    if (make_folder() != 0)
        return -1;
    write_text("quick.yaml", quick_scene);
    write_text("long.yaml", long_scene);
    return 0;
}

// A step of hours is given up, with the state before it; that is what goes on.
static void test_long_step_is_given_up(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGHUP, SIGINT};
    for (int i = 0; i < 3; i++)
    {
        char words[128], name[64];
        snprintf(words, sizeof words, "long.yaml --out long%d --json", i);
        pid_t pid = start_command("run", words);
        snprintf(name, sizeof name, "long%d/block_000001.vtu", i);
        await(name); // it is at its second step
        kill(pid, signals[i]);
        assert_int_equal(finish(pid), 130);
        assert_near(json_number("last_step"), 1, 0);
        assert_says("stderr.txt", "interrupted after step 1");
        snprintf(words, sizeof words, "long.yaml --steps 1 --json --resume long%d/checkpoint.h5", i);
        assert_int_equal(run_command("run", words), 0);
        assert_near(json_number("last_step"), 1, 0);
    }
}

static void test_second_signal_ends_at_once(void **state)
{
    (void)state;
    pid_t pid = start_command("run", "long.yaml --out twice --quiet");
    await("twice/block_000001.vtu");
    kill(pid, SIGTERM);
    // They would be one if the first had not come to it yet: the mask of what waits becomes empty.
    for (bool waits = true; waits;)
    {
        char path[64], line[256];
        snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
        FILE *file = fopen(path, "r");
        waits = false;
        while (file != NULL && fgets(line, sizeof line, file) != NULL)
            if (strncmp(line, "ShdPnd:", 7) == 0)
                waits = strtoull(line + 7, NULL, 16) != 0;
        if (file != NULL)
            fclose(file);
    }
    kill(pid, SIGINT);
    assert_int_equal(finish(pid), -SIGINT);
    char *pvd = read_text("twice/run.pvd");
    assert_non_null(strstr(pvd, "</VTKFile>"));
    free(pvd);
    assert_int_equal(run_command("run", "quick.yaml --out twice --force --quiet"), 0);
}

// What does not ask whether to go on, such as a read that never ends, is ended all the same.
static void test_what_cannot_be_asked_is_ended(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s/pipe.yaml", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    setenv("TENDRIL_STOP_LIMIT", "1", 1);
    pid_t pid = start_command("reduce", "pipe.yaml -o pipe.h5");
    setenv("TENDRIL_STOP_LIMIT", "600", 1);
    int writer = -1;
    while (writer < 0) // until it reads
    {
        writer = open(path, O_WRONLY | O_NONBLOCK);
        assert_true(writer >= 0 || errno == ENXIO);
        usleep(5000);
    }
    kill(pid, SIGTERM);
    assert_int_equal(finish(pid), 130);
    assert_says("stderr.txt", "was terminated");
    close(writer);
}

// nohup: who closes the terminal does not end it.
static void test_ignored_hang_up_stays_ignored(void **state)
{
    (void)state;
    inherit_signals = true;
    signal(SIGHUP, SIG_IGN);
    pid_t pid = start_command("run", "quick.yaml --steps 100000000 --every 1 --out nohup --quiet");
    inherit_signals = false;
    signal(SIGHUP, SIG_DFL);
    await("nohup/beam_000010.vtu");
    kill(pid, SIGHUP);
    int rows = rows_of("nohup/report.csv");
    char name[64];
    snprintf(name, sizeof name, "nohup/beam_%06d.vtu", rows + 20);
    await(name);
    kill(pid, SIGINT);
    assert_int_equal(finish(pid), 130);
}

int main(void)
{
    // Whoever runs the tests in the background has some of them ignored.
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_step_is_given_up),
        cmocka_unit_test(test_second_signal_ends_at_once),
        cmocka_unit_test(test_what_cannot_be_asked_is_ended),
        cmocka_unit_test(test_ignored_hang_up_stays_ignored),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
