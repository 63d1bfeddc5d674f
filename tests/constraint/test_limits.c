// SPDX-License-Identifier: Apache-2.0
// What the system does not give: memory, room on the disk, a reader at the other end. Each run ends, says why, and
// leaves what it had written before.
#include "program.h"

#include <fcntl.h>
#include <sys/resource.h>

static const char scene[] = "tendril: 1\n"
                            "gravity: [0, 0, -9.81 m/s^2]\n"
                            "time_step: 10 ms\n"
                            "steps: 12\n"
                            "bodies:\n"
                            "  - name: beam\n"
                            "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [8, 4, 4]}\n"
                            "    material: {law: corotational, young: 100 kPa, poisson: 0.4, density: 1000}\n"
                            "    fixed: [{group: xmin}]\n"
                            "probes: [{name: tip, body: beam, point: [0.1, 0.01, 0.01]}]\n"
                            "output: {every: 2, checkpoint_every: 4, formats: [vtu, csv, hdf5]}\n";

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1 // their run time takes terabytes of address space
#else
#define SANITIZED 0
#endif

static int setup(void **state)
{
    (void)state;
    if (make_folder() != 0)
        return -1;
    write_text("good.yaml", scene);
    return 0;
}

// Runs with shell words before, such as ulimit. Its exit code, or less than zero the signal that ended it.
static int run_under(const char *limits, const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof command, "cd %s && %s && exec %s %s >stdout.txt 2>stderr.txt", folder, limits, TD_PROGRAM,
             arguments);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
    {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return finish(pid);
}

// From less than its libraries need to enough. What spins is ended by the system after two minutes of processor time.
static void test_little_address_space(void **state)
{
    (void)state;
    if (SANITIZED)
        skip_because("a sanitizer takes more address space than there is to be left");
    int refused = 0, done = 0;
    for (int mib = 100; mib <= 1300; mib += mib < 500 ? 25 : 200)
        for (int threads = 1; threads <= 3; threads += 2)
        {
            char limits[128], arguments[128];
            snprintf(limits, sizeof limits, "ulimit -c 0 && ulimit -t 120 && ulimit -v %d", mib * 1024);
            snprintf(arguments, sizeof arguments, "run good.yaml --steps 2 --quiet --threads %d", threads);
            int code = run_under(limits, arguments);
            char *words = read_text("stderr.txt");
            bool loader =
                code == 127 && strstr(words, "shared librar") != NULL; // the system's: there is no program yet
            if (!loader && code != 0 && !(code == 5 && strstr(words, "out of memory") != NULL))
                fail_msg("with %d MiB and %d threads it ends with %d: %s", mib, threads, code, words);
            refused += code == 5;
            done += code == 0;
            free(words);
        }
    assert_true(refused >= 5);
    assert_true(done >= 5);
    // The more there is, the more it can.
    assert_int_equal(run_under("ulimit -c 0 && ulimit -v 1500000", "run good.yaml --steps 2 --quiet --threads 3"), 0);
}

// The library says it, and does not leave it to the program.
static void test_library_reserves_memory(void **state)
{
    (void)state;
    if (SANITIZED)
        skip_because("a sanitizer takes more address space than there is to be left");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
    {
        // So much more than what is mapped now: enough for the model, not for linear algebra in 40 threads.
        long pages = 0;
        FILE *file = fopen("/proc/self/statm", "r");
        if (file == NULL || fscanf(file, "%ld", &pages) != 1)
            _exit(10);
        fclose(file);
        rlim_t size = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)1 << 30);
        const struct rlimit limit = {size, size}, time = {120, 120};
        setrlimit(RLIMIT_AS, &limit);
        setrlimit(RLIMIT_CPU, &time);
        tdError error = {0};
        tdModel *model = NULL;
        tdState *one = NULL, *many = NULL;
        tdSettings settings = td_default_settings();
        if (td_model_parse(scene, strlen(scene), "good.yaml", NULL, &settings, &model, &error) != TD_OK)
            _exit(11);
        settings.threads = 40;
        if (td_state_create(model, &settings, &many, &error) != TD_ERROR_MEMORY || many != NULL ||
            strstr(error.message, "linear algebra") == NULL)
            _exit(12);
        settings.threads = 1;
        if (td_state_create(model, &settings, &one, &error) != TD_OK || td_step(model, one) != TD_OK)
            _exit(13);
        td_state_free(one);
        td_model_free(model);
        _exit(0);
    }
    assert_int_equal(finish(pid), 0);
}

// A file that must not grow: at whatever it happens, it is told, and the checkpoint before is what it was.
static void test_files_must_not_grow(void **state)
{
    (void)state;
    assert_int_equal(run_command("run", "good.yaml --steps 4 --out small --quiet"), 0);
    char *before = NULL, *after = NULL, path[256];
    size_t size_before = 0, size_after = 0;
    tdError error = {0};
    snprintf(path, sizeof path, "%s/small/checkpoint.h5", folder);
    assert_ok(td_file_read(path, &before, &size_before, &error), error);
    for (int blocks = 0; blocks <= 128; blocks = blocks == 0 ? 1 : 2 * blocks)
    {
        char limits[64], words[128];
        snprintf(limits, sizeof limits, "ulimit -c 0 && ulimit -f %d", blocks);
        // A run of its own; into the folder; and a checkpoint alone.
        snprintf(words, sizeof words, "run good.yaml --out new%d --quiet", blocks);
        int code = run_under(limits, words);
        if (code != 6 && (blocks > 0 || code != 3)) // without a byte there is not even a message to be read
            fail_msg("with %d blocks a run ends with %d", blocks, code);
        if (blocks > 0)
            assert_says("stderr.txt", "File too large");
        snprintf(words, sizeof words, "run good.yaml --steps 8 --resume small/checkpoint.h5 --checkpoint %s --quiet",
                 "small/checkpoint.h5");
        code = run_under(limits, words);
        free(after);
        assert_ok(td_file_read(path, &after, &size_after, &error), error);
        if (code == 0)
            break; // it fits
        assert_int_equal(code, 6);
        assert_int_equal(size_after, size_before);
        assert_memory_equal(after, before, size_before);
        code = run_command("run", "good.yaml --steps 5 --resume small/checkpoint.h5 --quiet");
        assert_int_equal(code, 0);
    }
    free(before);
    free(after);
}

// Frames have no room any more, but the state has: hours of work are not lost.
static void test_state_is_saved_where_frames_fail(void **state)
{
    (void)state;
    assert_int_equal(run_under("ulimit -c 0 && ulimit -f 2000", // blocks of 512 bytes: run.h5 outgrows them
                               "run good.yaml --steps 100000 --every 1 --out grown --quiet"),
                     6);
    assert_says("stderr.txt", "to go on, add --resume grown/checkpoint.h5");
    // The table of the frames before tells how far it came.
    int rows = rows_of("grown/report.csv");
    char words[128];
    snprintf(words, sizeof words, "good.yaml --steps %d --resume grown/checkpoint.h5 --quiet --json", rows + 2);
    assert_int_equal(run_command("run", words), 0);
    assert_true(json_number("steps") <= 3);
}

static void test_full_disk(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip_because("there is no /dev/full to write to");
    struct stat info;
    assert_int_equal(run_under("true", "run good.yaml --steps 2 --quiet --checkpoint /dev/full"), 6);
    assert_says("stderr.txt", "No space left");
    assert_int_equal(run_under("ln -s /dev/full full.png", "render good.yaml -o full.png --quiet"), 6);
    assert_says("stderr.txt", "No space left");
    assert_int_equal(stat("/dev/full", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
    // The result itself.
    char command[512];
    snprintf(command, sizeof command, "cd %s && exec %s run good.yaml --steps 2 --quiet >/dev/full 2>stderr.txt",
             folder, TD_PROGRAM);
    int code = system(command);
    assert_true(WIFEXITED(code));
    assert_int_equal(WEXITSTATUS(code), 6);
    assert_says("stderr.txt", "cannot be written to stdout");
}

// Who reads the result has gone: the run goes on to its end, keeps its files, and does not say that all is well.
static void test_no_reader(void **state)
{
    (void)state;
    int pipes[2];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    char command[1024];
    snprintf(command, sizeof command, "cd %s && exec %s run good.yaml --checkpoint read.h5", folder, TD_PROGRAM);
    close(pipes[0]);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
    {
        signal(SIGPIPE, SIG_DFL);
        dup2(pipes[1], STDOUT_FILENO);
        dup2(pipes[1], STDERR_FILENO);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(pipes[1]);
    assert_int_equal(finish(pid), 6);
    assert_int_equal(run_command("run", "good.yaml --steps 13 --resume read.h5 --json --quiet"), 0);
    assert_near(json_number("steps"), 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_little_address_space),
        cmocka_unit_test(test_library_reserves_memory),
        cmocka_unit_test(test_files_must_not_grow),
        cmocka_unit_test(test_state_is_saved_where_frames_fail),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_no_reader),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
