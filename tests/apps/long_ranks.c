// SPDX-License-Identifier: Apache-2.0
// 'tendril reduce' by three ranks, one of which is killed at random, fifty times: the same command goes on, and the
// file is that of one process, to the bit.
#include "ranks.h"

#include "base/hash.h"

#define KILLS 50
#define RANKS 3

static int setup(void **state)
{
    (void)state;
    if (make_folder() != 0)
        return -1;
    write_text("arm.yaml", RANKS_SCENE);
    return 0;
}

static int parts(void)
{
    char command[400];
    snprintf(command, sizeof command, "ls %s/ranks.h5.work 2>/dev/null | grep -c '[.]part$'", folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    int n = 0;
    assert_int_equal(fscanf(pipe, "%d", &n), 1);
    pclose(pipe);
    return n;
}

// Kills a rank when so many more parts are there and a random time has passed. False: all came to its end before.
static bool kill_one(uint64_t number)
{
    int more = parts() + (int)(td_hash_mix(number) % 4), rank = 1 + (int)(td_hash_mix(number + 1000) % RANKS);
    pid_t pid = start_ranks(RANKS, "arm.yaml -o ranks.h5 --accept --json --quiet");
    siginfo_t ended = {0};
    while (parts() < more && ended.si_pid != pid)
    {
        assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
        usleep(1000);
    }
    usleep((useconds_t)(td_hash_mix(number + 2000) % 200000));
    char command[100];
    snprintf(command, sizeof command, "kill -9 $(pgrep -P %d | sed -n %dp) 2>/dev/null", (int)pid, rank);
    bool killed = system(command) == 0;
    int code = finish(pid);
    assert_true(code == 0 || killed);
    return code != 0;
}

static void test_fifty(void **state)
{
    (void)state;
    if (no_ranks() != NULL)
        skip_because("%s", no_ranks());
    assert_int_equal(run_command("reduce", "arm.yaml -o alone.h5 --accept --json --quiet"), 0);
    char *alone = json_value("content");
    int kills = 0, files = 0;
    for (uint64_t i = 0; kills < KILLS && i < 1000; i++)
    {
        if (kill_one(i))
        {
            kills++;
            continue;
        }
        char *content = json_value("content");
        assert_string_equal(content, alone);
        free(content);
        files++;
    }
    assert_int_equal(kills, KILLS);
    assert_int_equal(finish(start_ranks(RANKS, "arm.yaml -o ranks.h5 --accept --json --quiet")), 0);
    char *content = json_value("content");
    assert_string_equal(content, alone);
    free(content);
    free(alone);
    print_message("%d kills, %d files in between, all equal\n", kills, files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fifty)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
