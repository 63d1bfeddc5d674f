// SPDX-License-Identifier: Apache-2.0
// The shipped scenes that are controlled while they touch: their motion, and the same efforts in a fresh simulation.
// The larger ones are in long_control_scenes.c.
#include "controlled.h"

// The finger presses with what it is asked to while it is led along the wall.
static void test_wall(void **context)
{
    (void)context;
    Run run = begin(TD_SOURCE_DIR "/scenes/control/wall.yaml", TD_SOURCE_DIR "/scenes/control/wall.csv");
    double force = 0, height = 0, replayed = 0, same = 0;
    for (int k = 0; k < 200; k++)
    {
        follow(&run);
        same = fmax(same, apart(&run, 0, 0));
        if (k < 60)
            continue;
        force = fmax(force, off(&run, 0, run.state, 0));
        height = fmax(height, off(&run, 1, run.state, 2));
        replayed = fmax(replayed, off(&run, 0, run.fresh, 0));
    }
    print_message("wall: force to %.1e N (a step replayed from its own state %.1e N, all of them %.1e N) of 0.3 N, "
                  "height to %.2f mm\n",
                  force, same, replayed, 1e3 * height);
    assert_true(force < 1e-3);
    assert_true(same < 5e-3);
    assert_true(height < 3e-4);
    assert_true(replayed < 0.03);
    finish(&run);
}

// The trunk leans on the rim of the tube and reaches what is beside it.
static void test_tube(void **context)
{
    (void)context;
    Run run = begin(TD_SOURCE_DIR "/robots/trunk/tube.yaml", TD_SOURCE_DIR "/robots/trunk/tube.csv");
    double distance = 0, same = 0, replayed = 0, most = 0;
    int leaning = 0;
    for (int k = 0; k < 160; k++)
    {
        follow(&run);
        double sum = pushed(run.state);
        most = fmax(most, sum);
        leaning += sum > 1e-4;
        for (int row = 0; row < 3 && k > 5; row++)
        {
            distance = fmax(distance, off(&run, 0, run.state, row));
            replayed = fmax(replayed, off(&run, 0, run.fresh, row));
            same = fmax(same, apart(&run, 0, row));
        }
    }
    print_message("tube: tip to %.1e mm (a step replayed from its own state %.1e mm, all of them %.2f mm), leaning in "
                  "%d steps with up to %.3f N\n",
                  1e3 * distance, 1e3 * same, 1e3 * replayed, leaning, most);
    assert_true(distance < 1e-5);
    assert_true(same < 1e-5);
    assert_true(replayed < 2e-3); // one linearization a step
    assert_true(leaning > 20);
    finish(&run);
}

static tdStatus without_tube(void *context, tdScene *scene, tdError *error)
{
    (void)context;
    (void)error;
    scene->bodies[1].contact.off = true;
    return TD_OK;
}

// The trunk bends round the wall of a tube to a place behind its corner, which its cables alone do not bring it to.
static void test_bend(void **context)
{
    (void)context;
    const char *scene = TD_SOURCE_DIR "/robots/trunk/bend.yaml", *goals = TD_SOURCE_DIR "/robots/trunk/bend.csv";
    Run run = begin(scene, goals);
    double way = 0, same = 0, replayed = 0, end[2] = {0}, most = 0;
    int leaning = 0;
    for (int k = 0; k < 400; k++)
    {
        follow(&run);
        double sum = pushed(run.state), error[2] = {0}, step = 0;
        most = fmax(most, sum);
        leaning += sum > 1e-4;
        for (int row = 0; row < 3; row++)
        {
            error[0] = hypot(error[0], off(&run, 0, run.state, row));
            error[1] = hypot(error[1], off(&run, 0, run.fresh, row));
            step = hypot(step, apart(&run, 0, row));
        }
        same = fmax(same, step);
        way = fmax(way, error[0]);
        replayed = fmax(replayed, error[1] - error[0]);
        memcpy(end, error, sizeof end);
    }
    double slid = td_state_actuation(run.model, run.state, td_model_find_actuator(run.model, "slide")).displacement;
    finish(&run);
    run = begin_edited(scene, goals, without_tube, NULL);
    for (int k = 0; k < 400; k++)
        assert_int_equal(td_control_step(run.control, run.model, run.state), TD_OK);
    double short_by = 0;
    for (int row = 0; row < 3; row++)
        short_by = hypot(short_by, off(&run, 0, run.state, row));
    print_message(
        "bend: tip to %.2f mm on the way and %.1e mm at its end, %.1f mm without the tube (a step replayed from "
        "its own state %.1e mm, all of them %.2f mm at the end, %.2f mm more at most), pushed in by %.1f mm, "
        "leaning in %d steps with up to %.2f N\n",
        1e3 * way, 1e3 * end[0], 1e3 * short_by, 1e3 * same, 1e3 * end[1], 1e3 * replayed, 1e3 * slid, leaning, most);
    assert_true(way < 5e-3); // where it sticks for a moment, or is in the way of itself
    assert_true(end[0] < 1e-4);
    assert_true(same < 1e-4);
    assert_true(end[1] < 2e-4 && replayed < 1e-3); // one linearization a step, in some of which contacts switch
    assert_true(short_by > 0.01);
    assert_true(slid > 0.08 && leaning > 200);
    finish(&run);
}

// The trunk pushes the lever with what it is asked to, and the lever turns as far as its spring says.
static void test_lever(void **context)
{
    (void)context;
    Run run = begin(TD_SOURCE_DIR "/robots/trunk/lever.yaml", TD_SOURCE_DIR "/robots/trunk/lever.csv");
    double force = 0, same = 0, replayed = 0;
    int spring = td_model_find_actuator(run.model, "hinge_spring");
    for (int k = 0; k < 110; k++)
    {
        follow(&run);
        same = fmax(same, apart(&run, 0, 0));
        force = k > 40 ? fmax(force, off(&run, 0, run.state, 0)) : 0;
        replayed = k > 40 ? fmax(replayed, off(&run, 0, run.fresh, 0)) : 0;
    }
    double turned = td_state_actuation(run.model, run.state, spring).displacement;
    print_message("lever: force to %.1e N (a step replayed from its own state %.1e N, all of them %.1e N) of 0.17 N, "
                  "turned by %.1f deg\n",
                  force, same, replayed, 180 / M_PI * turned);
    assert_true(force < 2e-3);
    assert_true(same < 5e-3);
    assert_true(replayed < 0.02);
    assert_true(turned > 0.06 && turned < 0.25); // 0.17 N at about 65 mm, 0.12 N m/rad
    finish(&run);
}

// Where each step is solved to the tolerance, a simulation ends where control said. At the wall, along which the finger
// slides, near-rigid points are as soft as what they bear in the first pass says, which differs a little.
static void test_exactly(void **context)
{
    (void)context;
    static const struct
    {
        const char *scene, *goals;
        int steps, rows;
        double unit, most; // what is followed, about; what a step may be off by
    } all[] = {{TD_SOURCE_DIR "/scenes/control/wall.yaml", TD_SOURCE_DIR "/scenes/control/wall.csv", 120, 1, 0.3, 5e-4},
               {TD_SOURCE_DIR "/robots/trunk/tube.yaml", TD_SOURCE_DIR "/robots/trunk/tube.csv", 130, 3, 0.2, 2e-6},
               {TD_SOURCE_DIR "/robots/trunk/lever.yaml", TD_SOURCE_DIR "/robots/trunk/lever.csv", 80, 1, 0.17, 1e-6}};
    for (int i = 0; i < 3; i++)
    {
        Run run = begin_by(all[i].scene, all[i].goals, true);
        double same = 0;
        int touching = 0;
        for (int k = 0; k < all[i].steps; k++)
        {
            follow(&run);
            touching += pushed(run.state) > 0;
            for (int row = 0; row < all[i].rows; row++)
                same = fmax(same, apart(&run, 0, row));
        }
        print_message("%s: %d steps in contact, a step replayed from its own state is %.1e off, of %.2g\n",
                      strrchr(all[i].scene, '/') + 1, touching, same, all[i].unit);
        assert_true(touching > 10);
        assert_true(same < all[i].most);
        finish(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wall), cmocka_unit_test(test_tube),
                                       cmocka_unit_test(test_bend), cmocka_unit_test(test_lever),
                                       cmocka_unit_test(test_exactly)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
