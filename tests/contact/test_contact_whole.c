// SPDX-License-Identifier: Apache-2.0
// Bodies of which so many velocities take part in the contact problem that all do: the same motion as with the touched
// ones alone, whatever else acts.
#include "scenes.h"

#include "constraint/constraint.h"
#include "contact/contact.h"
#include "solve/sap_sparse.h"

#define HEAD "tendril: 1\ntime_step: 10 ms\nsteps: 60\ngravity: [1, 0, -9.81]\nintegrator: {newton: %s}\n"

// Makes the count of operations say that all are to take part.
static void take_all(const tdModel *model)
{
    for (int b = 0; b < model->n_bodies; b++)
        if (model->bodies[b].soft != NULL)
            ((tdSoft *)model->bodies[b].soft)->linear.factor_entries = -1e18;
}

static int sparse_blocks(const tdState *state)
{
    int n = 0;
    for (int32_t b = 0; b < state->problem->n_blocks; b++)
        n += state->problem->blocks[b].sparse != NULL;
    return n;
}

// Runs a scene both ways. within: of positions [m], of efforts and contact forces relative to the largest.
static void compare(const char *scene, const char *newton, int steps, int blocks, double within)
{
    tdModel *part = scene_model(scene, newton), *whole = scene_model(scene, newton);
    take_all(whole);
    tdState *a = scene_state(part), *b = scene_state(whole);
    int met = 0;
    for (int k = 0; k < steps; k++)
    {
        scene_steps(part, a, 1);
        scene_steps(whole, b, 1);
        assert_int_equal(sparse_blocks(a), 0);
        if (b->joined)
            assert_int_equal(sparse_blocks(b), blocks);
        met += td_state_report(b)->constraints > 0;
        assert_int_equal(td_state_report(a)->contacts_active, td_state_report(b)->contacts_active);
        for (int64_t i = 0; i < part->coords; i++)
            assert_near(b->q[i], a->q[i], within);
        for (int i = 0; i < part->n_actuators; i++)
            assert_near(b->constraint->effort[i], a->constraint->effort[i],
                        1e-4 * fmax(fabs(a->constraint->effort[i]), 0.01));
        for (int i = 0; i < part->n_bodies; i++)
        {
            double force[2][3];
            td_state_contact_force(a, i, 0, force[0]);
            td_state_contact_force(b, i, 0, force[1]);
            for (int c = 0; c < 3; c++)
                assert_near(force[1][c], force[0][c], 1e-4);
        }
    }
    assert_true(met > steps / 2);
    scene_free(part, a);
    scene_free(whole, b);
}

#define FLOOR "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
#define SLAB                                                                                                           \
    "  - name: slab\n    mesh: {box: [[0, 0, 0.001], [0.1, 0.06, 0.021]], cells: [5, 3, 1]}\n"                         \
    "    material: {law: corotational, young: 0.1 MPa, poisson: 0.3, density: 1000}\n"

// The solver leaves 1e-6 of what gravity does to a velocity in a step, 0.1 m/s. Sideways nothing takes it away again:
// in 60 steps of 10 ms it moves the slab by as much as this [m].
#define LEFT 6e-8

// A slab falls on a floor and slides; points have a stiffness, so that how soft a body is has no say in it.
static void test_slab(void **unused)
{
    (void)unused;
    compare(HEAD "contact: {friction: 0, stiffness: 500}\nbodies:\n" FLOOR SLAB, "false", 60, 1, LEFT);
    compare(HEAD "contact: {friction: 0, stiffness: 500}\nbodies:\n" FLOOR SLAB, "true", 30, 1, LEFT);
}

// A rigid box lies on it, a block is welded to it, and a cable along all of its nodes is wound in.
static void test_with_others(void **unused)
{
    (void)unused;
    const char *scene = HEAD
        "contact: {friction: 0, stiffness: 500}\nbodies:\n" FLOOR SLAB
        "  - {name: box, type: rigid, shape: {box: [20 mm, 20 mm, 20 mm]}, total_mass: 0.01, transform: {translate: "
        "[0.02, 0.03, 0.0315]}}\n"
        "  - name: block\n    mesh: {box: [[0.06, 0, 0.021], [0.1, 0.06, 0.031]], cells: [2, 3, 1]}\n"
        "    material: {law: corotational, young: 0.1 MPa, poisson: 0.3, density: 500}\n"
        "attachments: [{name: seam, a: block, group: zmin, b: slab}]\n"
        "actuators:\n  - {name: wind, type: cable, body: slab, path: [[0.0, 0.03, 0.001], [0.05, 0.03, 0.001], [0.1, "
        "0.03, 0.001]], drive: displacement}\n"
        "motion: {keyframes: [{t: 0, wind: 0}, {t: 0.3 s, wind: 1e-3}]}\n";
    compare(scene, "false", 60, 2, 1e-7);
}

// Near-rigid points with friction: how soft the body is decides by how little they give way, and is estimated.
static void test_near_rigid(void **unused)
{
    (void)unused;
    const char *scene = HEAD "contact: {friction: 0.5}\nbodies:\n" FLOOR SLAB;
    tdModel *part = scene_model(scene, "false"), *whole = scene_model(scene, "false");
    take_all(whole);
    tdState *a = scene_state(part), *b = scene_state(whole);
    scene_steps(part, a, 60);
    scene_steps(whole, b, 60);
    double force[2][3];
    td_state_contact_force(a, 1, 0, force[0]);
    td_state_contact_force(b, 1, 0, force[1]);
    for (int c = 0; c < 3; c++)
        assert_near(force[1][c], force[0][c], 1e-3 * 0.12 * 9.81);
    for (int64_t i = 0; i < part->coords; i++)
        assert_near(b->q[i], a->q[i], 2e-5); // of what gravity does in a step, 1e-3 m
    scene_free(part, a);
    scene_free(whole, b);
}

// ---------------------------------------------------------------- points that are followed and do not touch

// A slab that leans comes down on its edge and lies flat in the end, while a cable bends it up. Of the 100 points that
// a wide margin follows a part has rows, and begins to act when it would go through the floor.
#define LEANING                                                                                                        \
    "tendril: 1\ntime_step: 10 ms\nsteps: 60\ngravity: [1, 0, -9.81]\nintegrator: {method: backward_euler}\n"          \
    "contact: {friction: 0.5, margin: %s}\nbodies:\n" FLOOR                                                            \
    "  - name: slab\n    mesh: {box: [[0, 0, 0], [0.16, 0.06, 0.01]], cells: [24, 3, 1]}\n"                            \
    "    transform: {rotate: [0, -3 deg, 0], translate: [0, 0, 1 mm]}\n"                                               \
    "    material: {law: corotational, young: 0.2 MPa, poisson: 0.3, density: 1000}\n"                                 \
    "actuators: [{name: wind, type: cable, body: slab, path: [[0.01, 0.03, 0.009], [0.08, 0.03, 0.009], [0.15, "       \
    "0.03, 0.009]], drive: displacement}]\n"                                                                           \
    "motion: {keyframes: [{t: 0.2 s, wind: 0}, {t: 0.4 s, wind: 4e-3}]}\n"

// By the dense block, whatever it costs. A scene that a hand may feel leaves no point out.
static tdModel *leaning(const char *margin, bool leave_out)
{
    char text[4096];
    snprintf(text, sizeof text, LEANING, margin);
    tdModel *model = scene_model("%s", text);
    for (int b = 0; b < model->n_bodies; b++)
        if (model->bodies[b].soft != NULL)
            ((tdSoft *)model->bodies[b].soft)->linear.factor_entries = 1e18;
    ((tdContactModel *)model->contact)->guided = !leave_out;
    return model;
}

static void test_followed(void **unused)
{
    (void)unused;
    tdModel *model = leaning("20 mm", true), *reference = leaning("20 mm", false);
    tdState *a = scene_state(model), *b = scene_state(reference);
    int fewer = 0, most = 0;
    double slip = 0;
    for (int k = 0; k < 60; k++)
    {
        scene_steps(model, a, 1);
        scene_steps(reference, b, 1);
        const tdReport *mine = td_state_report(a), *all = td_state_report(b);
        assert_int_equal(mine->contacts, all->contacts);
        assert_int_equal(mine->contacts_active, all->contacts_active);
        fewer += mine->constraints < all->constraints / 2;
        most = mine->contacts_active > most ? mine->contacts_active : most;
        for (int64_t i = 0; i < model->coords; i++)
        {
            slip = fmax(slip, fabs(b->q[i] - b->start[i]));
            assert_near(a->q[i], b->q[i], 1e-7);
        }
    }
    assert_true(fewer > 10);
    assert_true(most > 48);
    assert_true(slip > 1e-3);
    scene_free(model, a);
    scene_free(reference, b);
}

// What slides rides on a gap: all of its points are open, and all of them bear. They are in the problem from the start,
// which is solved once for the whole body, and friction stops it as it should.
static void test_sliding(void **unused)
{
    (void)unused;
    tdModel *model = scene_parse("tendril: 1\ntime_step: 5 ms\nsteps: 20\ngravity: [0, 0, -10]\n"
                                 "contact: {friction: 0.5}\nbodies:\n" FLOOR "  - name: sheet\n"
                                 "    mesh: {box: [[0, 0, 0.0005], [0.5, 0.5, 0.0205]], cells: [13, 13, 1]}\n"
                                 "    material: {law: corotational, young: 1 MPa, poisson: 0.3, density: 1000}\n"
                                 "    velocity: [0.2, 0, 0]\n");
    tdState *state = scene_state(model);
    for (int k = 0; k < 6; k++)
    {
        scene_steps(model, state, 1);
        assert_int_equal(td_state_report(state)->contacts_active, 196);
        assert_int_equal(sparse_blocks(state), 1);
        assert_int_equal(state->contact->growths, 0);
    }
    double speed = 0;
    for (int64_t i = 0; i < model->bodies[1].nodes; i++)
        speed += state->v[model->bodies[1].first + 3 * i] / (double)model->bodies[1].nodes;
    // The gap shrinks with the speed: the sheet begins to sink by mu^2 g h, which takes that much off its weight once.
    assert_near(speed, 0.2 - 0.5 * 10 * 6 * 5e-3 + 0.5 * 0.5 * 0.5 * 10 * 5e-3, 1e-4);
    scene_free(model, state);
}

// How far points are followed decides what is looked at, not what happens. A point that no margin follows is met a step
// late where it begins to fall: by g h^2 at most.
static void test_margins(void **unused)
{
    (void)unused;
    static const char *const margins[] = {"5 mm", "20 um", "100 um", "500 um", "1 mm", "20 mm"};
    double *first = NULL;
    for (int m = 0; m < 6; m++)
    {
        tdModel *model = leaning(margins[m], true);
        tdState *state = scene_state(model);
        double slip = 0, apart = 0;
        for (int k = 0; k < 60; k++)
        {
            scene_steps(model, state, 1);
            for (int64_t i = 0; i < model->coords; i++)
                slip = fmax(slip, fabs(state->q[i] - state->start[i])); // in a step
        }
        if (first == NULL)
        {
            first = calloc((size_t)model->coords, sizeof *first);
            assert_non_null(first);
            memcpy(first, state->q, (size_t)model->coords * sizeof *first);
        }
        for (int64_t i = 0; i < model->coords; i++)
            apart = fmax(apart, fabs(state->q[i] - first[i]));
        print_message("margin %s: %.2g m apart\n", margins[m], apart);
        assert_true(apart < (m == 0 || m > 3 ? 1e-9 : 5e-5)); // g h^2 is 1 mm
        assert_true(slip > 1e-3);
        scene_free(model, state);
    }
    free(first);
}

// ---------------------------------------------------------------- single precision

// A plate that is wound up by a cable over its width while it slides and sticks. Where nothing is welded, factors of
// the whole body are made in single precision; they lead the iterations and leave nothing in the solution.
#define PLATE                                                                                                          \
    "tendril: 1\ntime_step: 10 ms\nsteps: 40\ngravity: [3, 1, -9.81]\nsolver: {type: %s}\n"                            \
    "integrator: {method: backward_euler}\ncontact: {friction: 0.5}\nbodies:\n" FLOOR                                  \
    "  - name: plate\n    mesh: {box: [[0, 0, 0.0005], [0.24, 0.16, 0.0205]], cells: [24, 16, 2]}\n"                   \
    "    material: {law: corotational, young: 0.1 MPa, poisson: 0.3, density: 1000}\n    velocity: [0.2, 0, 0]\n"      \
    "actuators: [{name: wind, type: cable, body: plate, path: [[0.012, 0.083, 0.018], [0.072, 0.083, "                 \
    "0.018], [0.122, 0.083, 0.018], [0.172, 0.083, 0.018], [0.228, 0.083, 0.018]], drive: displacement}]\n"            \
    "motion: {keyframes: [{t: 0.05 s, wind: 0}, {t: 0.3 s, wind: 6e-3}]}\n"

static tdState *plate(const char *solver, int threads, tdModel **model)
{
    *model = scene_model(PLATE, solver);
    take_all(*model);
    return scene_state_with(*model, threads, false);
}

static void test_single_precision(void **unused)
{
    (void)unused;
    tdModel *models[3];
    tdState *single = plate("auto", 1, &models[0]), *exact = plate("cholesky", 1, &models[1]);
    tdState *shared = plate("auto", 3, &models[2]);
    double slip = 0;
    for (int k = 0; k < 24; k++)
    {
        scene_steps(models[0], single, 1);
        scene_steps(models[1], exact, 1);
        scene_steps(models[2], shared, 1);
        assert_int_equal(sparse_blocks(single), 1);
        assert_int_equal(td_state_report(single)->contacts_active, td_state_report(exact)->contacts_active);
        for (int64_t i = 0; i < models[0]->coords; i++)
        {
            slip = fmax(slip, fabs(single->q[i] - single->start[i]));
            assert_near(single->q[i], exact->q[i], 1e-6 * 0.24);
        }
        assert_memory_equal(single->q, shared->q, (size_t)models[0]->coords * sizeof(double));
    }
    assert_true(slip > 1e-3);
    assert_true(single->problem->sap->factors->singles >= 24);
    assert_int_equal(exact->problem->sap->factors->singles, 0);
    scene_free(models[0], single);
    scene_free(models[1], exact);
    scene_free(models[2], shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slab),
        cmocka_unit_test(test_with_others),
        cmocka_unit_test(test_near_rigid),
        cmocka_unit_test(test_followed),
        cmocka_unit_test(test_sliding),
        cmocka_unit_test(test_margins),
        cmocka_unit_test(test_single_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
