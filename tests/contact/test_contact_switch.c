// SPDX-License-Identifier: Apache-2.0
// Driven cables while contacts come and go. A step without contact solves driven actuators by pivoting
// (solve/driven.h), one with contact as rows of the convex problem (solve/sap.h): efforts and displacements must not
// tell which. scenes/contact/lean.yaml switches between the two; beside it runs the same finger in a scene in which a
// block rests on a floor far away, so that some contact acts in every step.
#include "actuators.h"

#include "base/file.h"

#define SCENE TD_SOURCE_DIR "/scenes/contact/lean.yaml"
#define STEPS 400 // of the scene

// A metre away from the finger, and 10 um into the floor: it touches from the first step on.
#define BLOCK                                                                                                          \
    "bodies:\n"                                                                                                        \
    "  - {name: floor, type: rigid, shape: {box: [100, 100, 10]}, fixed: true, transform: {translate: [1000, 0, "      \
    "-5]}}\n"                                                                                                          \
    "  - {name: block, type: rigid, shape: {box: [20, 20, 20]}, total_mass: 20 g, transform: {translate: [1000, 0, "   \
    "9.99]}}\n"

// ---------------------------------------------------------------- the scene and its variants

/// What a variant changes in the text of the scene; NULL: nothing.
typedef struct variant
{
    const char *from, *to;
    int steps, switches; ///< that it is run for, and least number of them
} variant;

static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    size_t before = (size_t)(at - text), size = strlen(text) + strlen(to) + 1;
    char *out = malloc(size);
    assert_non_null(out);
    snprintf(out, size, "%.*s%s%s", (int)before, text, to, at + strlen(from));
    return out;
}

static tdModel *make(const variant *v, bool always)
{
    char *text = NULL;
    size_t size = 0;
    tdError error = {0};
    assert_ok(td_file_read(SCENE, &text, &size, &error), error);
    char *shown = malloc(size + 1);
    assert_non_null(shown);
    memcpy(shown, text, size);
    shown[size] = '\0';
    free(text);
    const char *edits[2][2] = {{v->from, v->to}, {always ? "bodies:\n" : NULL, BLOCK}};
    for (int k = 0; k < 2; k++)
        if (edits[k][0] != NULL)
        {
            char *next = replaced(shown, edits[k][0], edits[k][1]);
            free(shown);
            shown = next;
        }
    tdModel *model = scene_parse(shown);
    free(shown);
    return model;
}

// ---------------------------------------------------------------- runs

typedef struct track
{
    int n;
    double effort[STEPS], displacement[STEPS], tip[STEPS][3];
    bool acts[STEPS];    ///< contact does in the step
    bool presses[STEPS]; ///< and a point of the finger bears a force
    int bound[STEPS];    ///< of the effort
} track;

static void run(const variant *v, bool always, track *out)
{
    tdModel *model = make(v, always);
    tdState *state = scene_state(model);
    int finger = always ? 2 : 0;
    out->n = v->steps;
    for (int k = 0; k < v->steps; k++)
    {
        scene_steps(model, state, 1);
        tdActuation is = act_of(model, state, "flexor");
        out->effort[k] = is.effort;
        out->displacement[k] = is.displacement;
        out->bound[k] = is.effort_bound;
        out->acts[k] = td_state_report(state)->constraints > 0;
        double force[3];
        td_state_contact_force(state, finger, finger + 1, force);
        out->presses[k] = force[0] != 0 || force[1] != 0 || force[2] != 0;
        td_state_probe(model, state, 0, out->tip[k]);
    }
    scene_free(model, state);
}

static double largest(const double *x, int n)
{
    double most = 0;
    for (int k = 0; k < n; k++)
        most = fmax(most, fabs(x[k]));
    return most;
}

static double apart(const double *a, const double *b, int n)
{
    double most = 0;
    for (int k = 0; k < n; k++)
        most = fmax(most, fabs(a[k] - b[k]));
    return most;
}

// How far a value is from the line through the two before it.
static double kink(const double *x, int k)
{
    return fabs(x[k] - 2 * x[k - 1] + x[k - 2]);
}

// In the first step after a switch nothing presses yet, or any more: only the solver is another. Its value is no
// farther from the line through those before than theirs were in the last steps, but for a growth of the curvature by
// half.
static int check_continuity(const track *t, const double *x)
{
    int switches = 0;
    for (int k = 5; k < t->n; k++)
    {
        if (t->acts[k] == t->acts[k - 1])
            continue;
        switches++;
        // A cable that snaps taut, goes slack or comes to the limit of its effort jumps by itself.
        bool same = true;
        for (int j = 1; j <= 4; j++)
            same = same && t->bound[k] == t->bound[k - j];
        if (!same)
            continue;
        assert_false(t->presses[k] || t->presses[k - 1]);
        double before = fmax(kink(x, k - 1), fmax(kink(x, k - 2), kink(x, k - 3)));
        assert_near(kink(x, k), 0, 1.5 * before + 1e-5 * largest(x, t->n));
    }
    return switches;
}

static void check(const variant *v, track *some, track *all)
{
    run(v, false, some);
    run(v, true, all);
    int acting = 0;
    for (int k = 0; k < v->steps; k++)
        acting += all->acts[k];
    assert_int_equal(acting, v->steps);
    // What the convex solver leaves of its residual, 1e-9 of efforts.
    assert_near(apart(some->effort, all->effort, v->steps), 0, 2e-8 * largest(all->effort, v->steps));
    assert_near(apart(some->displacement, all->displacement, v->steps), 0, 2e-8 * largest(all->displacement, v->steps));
    assert_near(apart(some->tip[0], all->tip[0], 3 * v->steps), 0, 1e-9 * 0.09);
    assert_true(check_continuity(some, some->effort) >= v->switches);
    assert_true(check_continuity(some, some->displacement) >= v->switches);
}

// ---------------------------------------------------------------- tests

static track some, all;

static int count(const track *t, int bound, bool pressing)
{
    int n = 0;
    for (int k = 0; k < t->n; k++)
        n += t->bound[k] == bound && t->presses[k] == pressing;
    return n;
}

static void test_leans_and_comes_off(void **unused)
{
    (void)unused;
    check(&(variant){.steps = STEPS, .switches = 4}, &some, &all);
    assert_true(count(&some, 0, true) > 150 && count(&some, 0, false) > 100); // it pulls, leaning or not
}

static void test_at_the_limit_of_its_effort(void **unused)
{
    (void)unused;
    check(&(variant){"range: [0, 20]}", "range: [0, 20], effort_range: [0, 0.475 N]}", STEPS, 2}, &some, &all);
    assert_true(count(&some, 1, true) > 10 && count(&some, 1, false) > 10);
}

static void test_slack(void **unused)
{
    (void)unused;
    check(&(variant){"    - {t: 1.1, flexor: 0.5}\n", "    - {t: 0.8, flexor: 0}\n    - {t: 1.1, flexor: 0}\n", 240, 2},
          &some, &all);
    assert_true(count(&some, -1, false) > 10 && count(&some, 0, true) > 10);
}

static void test_elastic(void **unused)
{
    (void)unused;
    check(&(variant){"range: [0, 20]}", "range: [0, 20], stiffness: 40 N}", 240, 2}, &some, &all);
    assert_true(count(&some, 0, true) > 50 && count(&some, 0, false) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leans_and_comes_off),
        cmocka_unit_test(test_at_the_limit_of_its_effort),
        cmocka_unit_test(test_slack),
        cmocka_unit_test(test_elastic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
