// SPDX-License-Identifier: Apache-2.0
// Three jobs share the equilibria of an arm, and each is killed at random places of its work, fifty times in all; the
// model is that of one process, to the bit.
#define SCENE "long_share.yaml"
#define OUT   "long_share.h5"
#define WORK  "long_share.work"
#include "reduce_job.h"

#include "base/hash.h"

#define SHARES 3
#define KILLS  50

// 10 trajectories, each of some 20 places.
#define MANY "samples: latin_hypercube, count: 60, steps_between: 3, pod_tolerance: 1e-4, ecsw_tolerance: 1e-3"

static int kills; // that happened

static void kill_at_random(int share, uint64_t number)
{
    char lock[] = WORK "/lock";
    int64_t places = 1 + (int64_t)(td_hash_mix(number) % 40);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
    {
        killAt at = {td_hash_mix(number + 1000) % 5 == 0 ? TD_REDUCE_CHECK : TD_REDUCE_SNAPSHOTS, places};
        tdReduceReport report;
        tdError error = {0};
        tdReduceTask task = {
            .scene = SCENE, .work = WORK, .share = share, .shares = SHARES, .settings = td_default_settings()};
        task.settings.threads = 2;
        task.progress = kill_there;
        task.user = &at;
        _exit(td_reduce(&task, &report, &error) == TD_OK ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    kills += WIFSIGNALED(status) ? 1 : 0;
    assert_true(exists(lock)); // who shares it leaves it
}

static void test_fifty(void **unused)
{
    (void)unused;
    tdReduceReport report;
    tdError error;
    write_scene(TEXT("100 kPa", MANY));
    assert_ok(reduce(2, true, &report, &error), error);
    uint64_t content = report.content;
    remove_work(WORK);
    // A job that has come to its end begins anew, with an empty folder, until there were fifty.
    for (uint64_t i = 0; kills < KILLS && i < 1000; i++)
    {
        kill_at_random(1 + (int)(i % SHARES), i);
        tdStatus status = merge(WORK, &report, &error);
        if (status != TD_OK)
        {
            expect(status, &error, "trajectories are missing");
            continue;
        }
        assert_true(report.content == content);
        remove_work(WORK);
    }
    assert_int_equal(kills, KILLS);
    for (int k = 1; k <= SHARES; k++)
        share_and_die(WORK, k, SHARES, TD_REDUCE_PHASES, -1);
    assert_ok(merge(WORK, &report, &error), error);
    assert_true(report.content == content);
    remove_work(WORK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fifty)};
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
