// SPDX-License-Identifier: Apache-2.0
// Training with contact that holds for other motions than its own: a worm on three cables is trained along eight random
// gaits, one after the other, on one floor, and crawls by three others, on floors of other friction too, as far as at
// full order. Then along fewer gaits, in scenes that differ (`reduction.vary`): friction, slope, and a bar on the
// floor; and crawls on slopes, over a bar elsewhere. The tables are those of docs/reduction-robots.md.
#include "scenes.h"

#include "base/file.h"
#include "reduce/offline/job.h"

#include <unistd.h>

#define OUT    "long_gaits.h5"
#define SCENE  "long_gaits.yaml"
#define TRAIN  8
#define OTHERS 3
#define CYCLES 3
#define STEP   0.01 // [s]
#define REST   0.2  // [s] before it begins
#define FRAME  0.02 // [s] from one keyframe to the next
#define TEXT   200000
#define WITHIN 0.05

static const char *cells = "12, 2, 1";

/// One after the other the cables pull, hold and let go.
typedef struct Gait
{
    double amplitude[3]; // [N]
    double beat;         // [s] in which a cable comes on, and by which the next is later
    double hold;         // beats
} Gait;

static double between(uint64_t *seed, double low, double high)
{
    return low + (high - low) * 0.5 * (1 + next_random(seed));
}

static Gait random_gait(uint64_t *seed)
{
    Gait gait = {.beat = between(seed, 0.16, 0.26), .hold = between(seed, 1.5, 3)};
    for (int k = 0; k < 3; k++)
        gait.amplitude[k] = between(seed, 0.3, 0.5);
    return gait;
}

static double pull(const Gait *gait, int cable, double time)
{
    double phase = time / gait->beat - cable;
    double share = phase < 0 ? 0 : phase < 1 ? phase : phase < gait->hold ? 1 : fmax(gait->hold + 1 - phase, 0);
    return gait->amplitude[cable] * share * share * (3 - 2 * share);
}

static double period(const Gait *gait)
{
    return STEP * ceil(gait->beat * (3.5 + gait->hold) / STEP);
}

/// What the worm crawls on.
typedef struct Ground
{
    double friction;
    double slope; // [m/s^2] of gravity along x
    double bar;   // x of a bar on the floor; NAN: none
} Ground;

static void write_scene(int n, const Gait *gaits, int cycles, Ground ground, const char *vary)
{
    static char text[TEXT];
    double start = REST;
    size_t used = 0;
    for (int g = 0; g < n; g++)
        for (int c = 0; c < cycles; c++, start += period(&gaits[g]))
            for (double t = 0; t < period(&gaits[g]) - FRAME / 2; t += FRAME)
                used +=
                    (size_t)snprintf(text + used, TEXT - used, ", {t: %.4f, fore: %.5f, middle: %.5f, hind: %.5f}",
                                     start + t, pull(&gaits[g], 0, t), pull(&gaits[g], 1, t), pull(&gaits[g], 2, t));
    assert_true(used + 1 < TEXT);
    FILE *file = fopen(SCENE, "w");
    assert_non_null(file);
    fprintf(file,
            "tendril: 1\ngravity: [%g, 0, -9.81]\ntime_step: %g\nduration: %.6f\ncontact: {friction: %g}\nbodies:\n"
            "  - {name: worm, mesh: {box: [[0, 0, 0], [0.12, 0.02, 0.01]], cells: [%s], elements: hexahedra}, "
            "material: {law: corotational, young: 60 kPa, poisson: 0.4, density: 1000}, damping: {mass: 2 1/s}}\n"
            "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n",
            ground.slope, STEP, start, ground.friction, cells);
    if (!isnan(ground.bar))
        fprintf(file,
                "  - {name: bar, type: rigid, shape: {box: [4 mm, 60 mm, 1 mm]}, fixed: true, transform: {translate: "
                "[%g, 0.01, 0]}}\n",
                ground.bar);
    fprintf(file, "actuators:\n");
    static const char *const names[] = {"fore", "middle", "hind"};
    for (int k = 0; k < 3; k++)
        fprintf(file,
                "  - {name: %s, type: cable, body: worm, path: [[%g, 0.01, 0], [%g, 0.01, 0], [%g, 0.01, 0]], "
                "drive: force, range: [0, 0.5 N]}\n",
                names[k], 0.12 - 0.04 * k, 0.1 - 0.04 * k, fmax(0.08 - 0.04 * k, 0));
    fprintf(file,
            "motion: {keyframes: [{t: 0, fore: 0, middle: 0, hind: 0}%s]}\n"
            "reduction: {body: worm, samples: motion, pod_tolerance: 3e-4, ecsw_tolerance: 1e-3%s}\n",
            text, vary);
    fclose(file);
}

static double centre(const tdModel *model, const tdState *state)
{
    const double *x = td_state_positions(model, state, 0);
    double sum = 0;
    for (int64_t i = 0; i < model->bodies[0].nodes; i++)
        sum += x[3 * i];
    return sum / (double)model->bodies[0].nodes;
}

// How far it goes in the last cycle.
static double crawl(const char *rom, const Gait *gait)
{
    tdSettings settings = td_default_settings();
    tdModel *model = NULL;
    tdError error = {0};
    settings.rom = rom;
    assert_ok(td_model_load(SCENE, &settings, &model, &error), error);
    tdState *state = scene_state(model);
    int cycle = (int)lround(period(gait) / STEP);
    scene_steps(model, state, (int)lround(REST / STEP) + (CYCLES - 1) * cycle);
    double before = centre(model, state);
    scene_steps(model, state, cycle);
    double way = centre(model, state) - before;
    scene_free(model, state);
    return way;
}

static void other_gaits_and_floors(void **unused)
{
    (void)unused;
    static const double frictions[] = {0.5, 0.3, 0.8};
    Gait gaits[TRAIN], others[OTHERS];
    uint64_t seed = 5;
    double worst = 0;
    tdReduceReport report;
    tdError error = {0};
    for (int g = 0; g < TRAIN; g++)
        gaits[g] = random_gait(&seed);
    for (int g = 0; g < OTHERS; g++)
        others[g] = random_gait(&seed);
    write_scene(TRAIN, gaits, 2, (Ground){frictions[0], 0, NAN}, "");
    const tdReduceTask task = {
        .scene = SCENE, .out = OUT, .restart = true, .accept = true, .settings = td_default_settings()};
    assert_ok(td_reduce(&task, &report, &error), error);
    print_message("%lld snapshots, %d modes, %lld of %lld elements\n", (long long)report.snapshots, report.modes,
                  (long long)report.rid_elements, (long long)report.elements);
    for (int g = 0; g < OTHERS; g++)
        for (int f = 0; f < 3; f++)
        {
            write_scene(1, &others[g], CYCLES, (Ground){frictions[f], 0, NAN}, "");
            double full = crawl(NULL, &others[g]), reduced = crawl(OUT, &others[g]), off = fabs(reduced / full - 1);
            print_message("gait %d, friction %g: %.3f mm a cycle at full order, %.3f mm reduced: %.1f %%\n", g + 1,
                          frictions[f], 1e3 * full, 1e3 * reduced, 100 * off);
            assert_true(fabs(full) > 5e-4);
            worst = fmax(worst, off);
        }
    unlink(SCENE);
    unlink(OUT);
    assert_true(worst < WITHIN);
}

// Off by how much in the last cycle of gaits that training has not seen, on ground that it has not seen; relative to
// the longest way of all.
static double crawl_elsewhere(int n_models, char roms[][32], const Gait *others, const Ground *grounds, int n,
                              double *worst)
{
    double full[OTHERS * 8], off[2][OTHERS * 8], longest = 0;
    for (int i = 0; i < OTHERS * n; i++)
    {
        const Gait *gait = &others[i / n];
        write_scene(1, gait, CYCLES, grounds[i % n], "");
        full[i] = crawl(NULL, gait);
        longest = fmax(longest, fabs(full[i]));
        for (int m = 0; m < n_models; m++)
            off[m][i] = crawl(roms[m], gait) - full[i];
    }
    for (int m = 0; m < n_models; m++)
        worst[m] = 0;
    for (int i = 0; i < OTHERS * n; i++)
    {
        const Ground *ground = &grounds[i % n];
        print_message("gait %d, friction %g, slope %g, bar at %g: %.3f mm", i / n + 1, ground->friction, ground->slope,
                      ground->bar, 1e3 * full[i]);
        for (int m = 0; m < n_models; m++)
        {
            print_message(", %.3f mm (%.1f %%)", 1e3 * (full[i] + off[m][i]), 100 * fabs(off[m][i]) / longest);
            worst[m] = fmax(worst[m], fabs(off[m][i]) / longest);
        }
        print_message("\n");
    }
    return longest;
}

static void other_scenes(void **unused)
{
    (void)unused;
    static const char *const vary[2] = {
        "",
        ", runs: 6, vary: [{set: contact.friction, from: 0.3, to: 0.8}, {set: 'gravity[0]', from: -0.5, to: 0.5, unit: "
        "m/s^2}, {set: 'bodies[bar].transform.translate[0]', from: 20, to: 100, unit: mm}]"};
    static const Ground grounds[] = {{0.6, 0.3, 0.035}, {0.4, -0.4, 0.075}, {0.7, 0.1, 0.05}, {0.5, 0, NAN}};
    char roms[2][32];
    Gait gaits[TRAIN], others[OTHERS];
    uint64_t seed = 5;
    double worst[2];
    for (int g = 0; g < TRAIN; g++)
        gaits[g] = random_gait(&seed);
    for (int g = 0; g < OTHERS; g++)
        others[g] = random_gait(&seed);
    cells = "20, 3, 2";
    for (int m = 0; m < 2; m++) // two gaits, on one floor and on six
    {
        tdReduceReport report;
        tdError error = {0};
        snprintf(roms[m], sizeof roms[m], "long_gaits_%d.h5", m);
        write_scene(2, gaits, 2, (Ground){0.5, 0, 0.06}, vary[m]);
        const tdReduceTask task = {
            .scene = SCENE, .out = roms[m], .restart = true, .accept = true, .settings = td_default_settings()};
        assert_ok(td_reduce(&task, &report, &error), error);
        print_message(
            "%d runs, %lld snapshots, %d modes, %lld of %lld elements, %.1f %% off along a motion elsewhere\n",
            report.runs, (long long)report.snapshots, report.modes, (long long)report.rid_elements,
            (long long)report.elements, 100 * report.motion_error);
    }
    assert_true(crawl_elsewhere(2, roms, others, grounds, 4, worst) > 1e-3);
    print_message("at most %.1f %% off with one floor, %.1f %% with six\n", 100 * worst[0], 100 * worst[1]);
    unlink(SCENE);
    unlink(roms[0]);
    unlink(roms[1]);
    assert_true(worst[1] < WITHIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(other_gaits_and_floors), cmocka_unit_test(other_scenes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
