// SPDX-License-Identifier: Apache-2.0
// Bodies of which so many velocities take part in the contact problem that all do: the same motion as with the touched
// ones alone, whatever else acts.
#include "scenes.h"

#include "constraint/constraint.h"
#include "contact/contact.h"

#define HEAD "tendril: 1\ntime_step: 10 ms\nsteps: 60\ngravity: [1, 0, -9.81]\nintegrator: {newton: %s}\n"

// Makes the count of operations say that all are to take part.
static void take_all(const tdModel *model)
{
    for (int b = 0; b < model->n_bodies; b++)
        if (model->bodies[b].soft != NULL)
            ((tdSoft *)model->bodies[b].soft)->linear.factor_flops = -1e15;
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

// A slab falls on a floor and slides; points have a stiffness, so that how soft a body is has no say in it.
static void test_slab(void **unused)
{
    (void)unused;
    compare(HEAD "contact: {friction: 0, stiffness: 500}\nbodies:\n" FLOOR SLAB, "false", 60, 1, 1e-8);
    compare(HEAD "contact: {friction: 0, stiffness: 500}\nbodies:\n" FLOOR SLAB, "true", 30, 1, 1e-8);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slab),
        cmocka_unit_test(test_with_others),
        cmocka_unit_test(test_near_rigid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
