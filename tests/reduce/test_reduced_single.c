// SPDX-License-Identifier: Apache-2.0
// A tangent in single precision: close to that in double precision for every way in which it is made, harmless to
// equilibria, whose forces are in double precision, and taken by itself only where it was measured to be good enough.
#include "reduced.h"
#include "scenes.h"
#include "test.h"

#include "core/state.h"
#include "reduce/reduced_body.h"

#include <math.h>
#include <stdio.h>

#define ARM                                                                                                            \
    "tendril: 1\ntime_step: 10 ms\nsteps: 30\ngravity: [0, 0, -9.81]\nintegrator: {%s}\nbodies:\n  - name: arm\n"      \
    "    mesh: {box: [[0, -0.01, -0.01], [0.1, 0.01, 0.01]], cells: [8, 2, 2]%s}\n    fixed: [{group: xmin}]\n"        \
    "    prescribed: [{name: end, group: xmax, axes: z, displacement: [0, 0, 0.02]}]\n"                                \
    "    material: {law: %s, young: 250 kPa, poisson: 0.4, density: 1000}\n"                                           \
    "motion: {keyframes: [{t: 0, end: 0}, {t: 0.3, end: 1}]}\n"

static tdModel *model_in(const char *text, const tdRom *rom, tdRomPrecision precision)
{
    tdModel *model = NULL;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.rom_precision = precision;
    assert_ok(td_model_parse_reduced(text, strlen(text), "scene.yaml", NULL, &settings, rom, &model, &error), error);
    return model;
}

// |K - K'| relative, after the same steps.
static double tangent_error(const tdModel *a, const tdState *x, const tdModel *b, const tdState *y)
{
    const tdReduced *reduced = td_reduced_of(&a->bodies[0]);
    const double *K = td_reduced_mine(&a->bodies[0], x)->K, *other = td_reduced_mine(&b->bodies[0], y)->K;
    double off = 0, size = 0;
    for (int i = 0; i < reduced->n; i++)
        for (int j = 0; j < reduced->n; j++)
        {
            int at = i * reduced->stride + j;
            off += (K[at] - other[at]) * (K[at] - other[at]);
            size += K[at] * K[at];
        }
    return sqrt(off / size);
}

// Numbers of modes around the widths of registers; general laws, both corotational ones, several points an element.
static void tangents(void **unused)
{
    (void)unused;
    static const char *const laws[] = {"neo_hookean", "corotational", "corotational_lagged"};
    static const char *const cells[] = {"", ", elements: hexahedra"};
    for (int law = 0; law < 3; law++)
        for (int hex = 0; hex < 2; hex++)
            for (int r = 18; r <= 28; r += 2 + hex)
            {
                char text[2000];
                snprintf(text, sizeof text, ARM, "newton: false", cells[hex], laws[law]);
                tdModel *full = scene_parse(text);
                tdRom rom = rom_of(full, r, 2);
                tdModel *exact = model_in(text, &rom, TD_ROM_DOUBLE), *fast = model_in(text, &rom, TD_ROM_SINGLE);
                tdState *a = scene_state(exact), *b = scene_state(fast);
                scene_steps(exact, a, 1);
                scene_steps(fast, b, 1);
                double error = tangent_error(exact, a, fast, b);
                // 24 bits, sums of 72 rows; and not the same kernel.
                assert_true(error > 1e-10 && error < 1e-6);
                td_arena_free(&rom.arena);
                td_model_free(full);
                scene_free(exact, a);
                scene_free(fast, b);
            }
}

// By registers of four points (reduced_lanes.h) as by rows of B: forces and tangents to rounding, in motion too.
static void lanes(void **unused)
{
    (void)unused;
    static const char *const laws[] = {"corotational", "corotational_lagged"};
    for (int law = 0; law < 2; law++)
        for (int r = 17; r <= 22; r++)
        {
            char text[2000];
            snprintf(text, sizeof text, ARM, "newton: false", r % 2 != 0 ? ", elements: hexahedra" : "", laws[law]);
            tdModel *full = scene_parse(text);
            tdRom rom = rom_of(full, r, 3);
            tdModel *quick = model_in(text, &rom, TD_ROM_DOUBLE), *plain = model_in(text, &rom, TD_ROM_DOUBLE);
            assert_non_null(td_reduced_of(&quick->bodies[0])->lanes[0]);
            td_reduced_of(&plain->bodies[0])->lanes[0] = NULL;
            tdState *a = scene_state(quick), *b = scene_state(plain);
            for (int k = 0; k < 10; k++)
            {
                scene_steps(quick, a, 1);
                scene_steps(plain, b, 1);
                assert_true(tangent_error(quick, a, plain, b) < 1e-12);
                for (int i = 0; i < r; i++)
                    assert_near(a->q[i], b->q[i], 1e-12);
            }
            td_arena_free(&rom.arena);
            td_model_free(full);
            scene_free(quick, a);
            scene_free(plain, b);
        }
}

static double farthest(const tdModel *a, const tdState *x, const tdModel *b, const tdState *y)
{
    const double *p = td_state_positions(a, x, 0), *q = td_state_positions(b, y, 0);
    double most = 0;
    for (int64_t i = 0; i < 3 * a->bodies[0].nodes; i++)
        most = fmax(most, fabs(p[i] - q[i]));
    return most / a->size;
}

static void motions(void **unused)
{
    (void)unused;
    // Newton's method ends where the residual says, whatever the tangent; one linearization keeps its error.
    static const struct
    {
        const char *integrator;
        double tolerance;
    } cases[] = {
        {"newton: true, tolerance: 1e-11", 1e-9}, {"method: static, tolerance: 1e-11", 1e-9}, {"newton: false", 1e-5}};
    for (int k = 0; k < 3; k++)
    {
        char text[2000];
        snprintf(text, sizeof text, ARM, cases[k].integrator, "", "neo_hookean");
        tdModel *full = scene_parse(text);
        tdRom rom = rom_of(full, 21, 3);
        tdModel *exact = model_in(text, &rom, TD_ROM_DOUBLE), *fast = model_in(text, &rom, TD_ROM_SINGLE);
        tdState *a = scene_state(exact), *b = scene_state(fast);
        scene_steps(exact, a, 30);
        scene_steps(fast, b, 30);
        assert_near(farthest(exact, a, fast, b), 0, cases[k].tolerance);
        td_arena_free(&rom.arena);
        td_model_free(full);
        scene_free(exact, a);
        scene_free(fast, b);
    }
}

static void choice(void **unused)
{
    (void)unused;
    static const struct
    {
        double error;
        tdRomPrecision asked;
        bool single;
    } cases[] = {{0, TD_ROM_AUTO, false},
                 {1e-7, TD_ROM_AUTO, true},
                 {1e-3, TD_ROM_AUTO, false},
                 {1e-3, TD_ROM_SINGLE, true},
                 {1e-7, TD_ROM_DOUBLE, false}};
    char text[2000];
    snprintf(text, sizeof text, ARM, "newton: false", "", "neo_hookean");
    tdModel *full = scene_parse(text);
    tdRom rom = rom_of(full, 10, 3);
    for (int k = 0; k < 5; k++)
    {
        rom.single_error = cases[k].error;
        tdModel *model = model_in(text, &rom, cases[k].asked);
        assert_true((td_reduced_of(&model->bodies[0])->B_single != NULL) == cases[k].single);
        td_model_free(model);
    }
    td_arena_free(&rom.arena);
    td_model_free(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tangents), cmocka_unit_test(lanes), cmocka_unit_test(motions),
                                       cmocka_unit_test(choice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
