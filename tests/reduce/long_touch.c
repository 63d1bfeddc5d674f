// SPDX-License-Identifier: Apache-2.0
// A reduced organ that is poked, squeezed and pulled at random places, against full order: forces with enrichment, and
// that there is a warning without it. The table is that of docs/reduction-errors.md.
#include "organ.h"

#include <time.h>

#define ROM    "long_touch.h5"
#define CELLS  "10, 6, 4"
#define PLACES 20

static void forces_at_random_places(void **unused)
{
    (void)unused;
    char text[4000];
    double mean = 0, worst = 0;
    int n = 0;
    for (int law = 0; law < 2; law++)
    {
        organ_reduce(law, CELLS, ROM);
        for (int action = 0; action < ORGAN_ACTIONS; action++)
        {
            uint64_t seed = 7 + (uint64_t)action;
            double sum = 0, most = 0, plain = 0;
            for (int k = 0; k < PLACES; k++)
            {
                organPlace place = organ_place(action, action == ORGAN_PULL ? 0.003 : 0.0015, &seed);
                organResult result[3];
                for (int kind = 0; kind < 3; kind++)
                {
                    organ_text(law, CELLS, &place, kind == 1 ? "    enrichment: false\n" : "", text, sizeof text);
                    tdModel *model = organ_model(text, kind == 0 ? NULL : ROM);
                    result[kind] = organ_run(model, &place);
                    td_model_free(model);
                }
                double off = fabs(result[2].force / result[0].force - 1);
                double without = fabs(result[1].force / result[0].force - 1);
                sum += off / PLACES;
                most = fmax(most, off);
                plain = fmax(plain, without);
                if (without > 0.1)
                    assert_true(result[1].warned);
                if (off <= 0.1)
                    continue;
                print_message("%s at %g %g %g: %g N, %g N at full order, told %g\n", organ_actions[action], place.at[0],
                              place.at[1], place.at[2], result[2].force, result[0].force, result[2].local);
            }
            print_message(
                "%s, %s: off by %.1f %% in the mean, %.1f %% at the worst; without enrichment up to %.0f %%\n",
                law == 0 ? "St. Venant-Kirchhoff" : "Mooney-Rivlin", organ_actions[action], 100 * sum, 100 * most,
                100 * plain);
            mean += sum;
            worst = fmax(worst, most);
            n++;
        }
    }
    assert_true(mean / n < 0.05);
    assert_true(worst < 0.1);
    unlink(ROM);
}

// Twice as deep, with enrichment: forces that are off by more than a tenth are warned of.
static void deep_dents_warn(void **unused)
{
    (void)unused;
    char text[4000];
    for (int law = 0; law < 2; law++)
    {
        organ_reduce(law, CELLS, ROM);
        for (int action = 0; action < ORGAN_ACTIONS; action++)
        {
            uint64_t seed = 77 + (uint64_t)action;
            double sum = 0, most = 0;
            int far = 0, missed = 0, warned = 0;
            for (int k = 0; k < PLACES; k++)
            {
                organPlace place = organ_place(action, action == ORGAN_PULL ? 0.006 : 0.003, &seed);
                organResult result[2];
                for (int kind = 0; kind < 2; kind++)
                {
                    organ_text(law, CELLS, &place, "", text, sizeof text);
                    tdModel *model = organ_model(text, kind == 0 ? NULL : ROM);
                    result[kind] = organ_run(model, &place);
                    td_model_free(model);
                }
                double off = fabs(result[1].force / result[0].force - 1);
                sum += off / PLACES;
                most = fmax(most, off);
                far += off > 0.1;
                warned += result[1].warned;
                missed += off > 0.1 && !result[1].warned;
            }
            print_message("%s, %s: off by %.1f %% in the mean, %.1f %% at the worst; %d warned of; %d beyond 10 %%, of "
                          "which %d without a warning\n",
                          law == 0 ? "St. Venant-Kirchhoff" : "Mooney-Rivlin", organ_actions[action], 100 * sum,
                          100 * most, warned, far, missed);
            assert_int_equal(missed, 0);
        }
    }
    unlink(ROM);
}

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Squeezed between two probes, steps take as long on a mesh of four times as many elements. Processor time, the best of
// some blocks of steps: other work on the machine disturbs it little.
static void rate_with_two_places(void **unused)
{
    (void)unused;
    static const char *const cells[] = {"10, 6, 4", "16, 10, 6"};
    char text[4000];
    for (int law = 0; law < 2; law++)
        for (int mesh = 0; mesh < 2; mesh++)
        {
            uint64_t seed = 7;
            organPlace place = organ_place(ORGAN_SQUEEZE, 0.0015, &seed);
            tdSettings settings = td_default_settings();
            tdState *state = NULL;
            tdError error = {0};
            double best = INFINITY;
            organ_reduce(law, cells[mesh], ROM);
            organ_text(law, cells[mesh], &place, "", text, sizeof text);
            tdModel *model = organ_model(text, ROM);
            settings.threads = 1;
            assert_ok(td_state_create(model, &settings, &state, &error), error);
            for (int block = 0; block < 12; block++)
            {
                double way = block == 0 ? 0.5 : 1, begin = processor_time();
                assert_ok(
                    td_state_set_input(model, state, td_model_find_input(model, "one.y"), -way * (place.way + 0.0006)),
                    error);
                assert_ok(
                    td_state_set_input(model, state, td_model_find_input(model, "two.y"), way * (place.way + 0.0006)),
                    error);
                scene_steps(model, state, 100);
                best = block > 1 ? fmin(best, processor_time() - begin) : best;
            }
            const tdContactPoint *points = NULL;
            int64_t n = td_state_contacts(state, &points), touching[2] = {0};
            for (int64_t i = 0; i < n; i++)
                for (int k = 0; k < 2; k++)
                    touching[k] += points[i].body[0] == 1 + k || points[i].body[1] == 1 + k;
            assert_true(touching[0] > 0 && touching[1] > 0);
            print_message("%s, %lld elements, %lld and %lld points touched: %.0f steps/s of processor time\n",
                          law == 0 ? "St. Venant-Kirchhoff" : "Mooney-Rivlin",
                          (long long)model->bodies[0].soft->elements, (long long)touching[0], (long long)touching[1],
                          100 / best);
            td_state_free(state);
            td_model_free(model);
        }
    unlink(ROM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forces_at_random_places), cmocka_unit_test(deep_dents_warn),
                                       cmocka_unit_test(rate_with_two_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
