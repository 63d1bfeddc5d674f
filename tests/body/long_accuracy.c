// SPDX-License-Identifier: Apache-2.0
// How near integrators are to closed forms and to Runge-Kutta with 10 us, for rigid trees that nothing damps. Prints
// the table of docs/rigid.md. Beside ours stand two formulas that others use with explicit or linearized Coriolis
// forces:
//
//     semi-implicit Euler   M (v1 - v0) = h (f - b(v0)),  q1 = q0 + h v1
//     implicit velocities   (M + h db/dv) (v1 - v0) = h (f - b(v0)),  q1 = q0 + h v1
#include "undamped.h"

#include "base/vector.h"

typedef enum accuracyCase
{
    CASE_ARM,   ///< tip of the arm of seven joints after 0.5 s [m]
    CASE_HEAVY, ///< axis of a heavy top in steady precession after 1 s [rad]
    CASE_FREE,  ///< axis of a free symmetric top after 1 s [rad]
    CASES
} accuracyCase;

static const double case_time[CASES] = {0.5, 1, 1};

// ---------------------------------------------------------------- scenes

#define SPIN   40.0  // rad/s about its axis, of both tops
#define TILT   0.6   // rad, of the heavy one
#define TURN   2.5   // rad/s across its axis, of the free one
#define ACROSS 0.014 // kg m^2 about the pivot: 0.004 + 1 * 0.1^2
#define ALONG  0.006

// Steady precession of a heavy top: Across p^2 cos(tilt) - Along w3 p + m g l = 0, the slow one.
static double precession(void)
{
    double a = ACROSS * cos(TILT), b = -ALONG * SPIN, c = 1 * 9.81 * 0.1;
    return (-b - sqrt(b * b - 4 * a * c)) / (2 * a);
}

static tdModel *accuracy_model(accuracyCase which, const char *integrator, double h)
{
    char text[1200];
    if (which == CASE_ARM)
    {
        snprintf(text, sizeof text,
                 "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: %.17g\nsteps: 1\n%s\nbodies:\n  - {name: r, type: "
                 "articulated, urdf: " TD_SOURCE_DIR "/scenes/contact/arm.urdf, joints: [",
                 h, integrator);
        for (int j = 1; j <= 7; j++)
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     "%s{name: arm_%d, damping: 0 N*m*s/rad, friction: 0 N*m, position: %g rad}", j == 1 ? "" : ", ", j,
                     j == 2   ? 0.3
                     : j == 4 ? -1.0
                              : 0.0);
        snprintf(text + strlen(text), sizeof text - strlen(text), "]}\n");
        return scene_parse(text);
    }
    snprintf(text, sizeof text, "gravity: [0, 0, %s]\ntime_step: %.17g\nsteps: 1\n%s",
             which == CASE_HEAVY ? "-9.81" : "0", h, integrator);
    return which == CASE_HEAVY
               ? robot_model(ROBOT(BASE LINK("top", "1", "0 0 0.1", "0.004", "0.004", "0.006")
                                       JOINT("ball", "ball", "base", "top", "0 0 0", "0 0 1", "")),
                             text, "", "")
               : robot_model(ROBOT(LINK("body", "2", "0 0 0", "0.02", "0.02", "0.035")), text, "base: free", "");
}

static void accuracy_start(accuracyCase which, double *v, double *reference)
{
    static const double rates[7] = {1, -0.5, 1.5, 1, 2, -1, 3};
    if (which == CASE_ARM)
        memcpy(v, rates, sizeof rates);
    else if (which == CASE_FREE)
    {
        v[3] = TURN;
        v[5] = SPIN;
    }
    else
    {
        reference[0] = cos(0.5 * TILT); // about x: the axis leans to -y
        reference[1] = sin(0.5 * TILT);
        v[1] = precession() * sin(TILT);
        v[2] = SPIN;
    }
}

// The place of the flange, or the axis of a top.
static void outcome(accuracyCase which, const tdArticulated *body, const tdTreeWork *work, double x[3])
{
    if (which == CASE_ARM)
    {
        memcpy(x, work->pose[body->n_links - 1].t, 3 * sizeof *x);
        return;
    }
    const tdPose *pose = &work->pose[body->n_links - 1];
    for (int k = 0; k < 3; k++)
        x[k] = pose->R[3 * k + 2];
}

// ---------------------------------------------------------------- closed forms

static void closed_form(accuracyCase which, double x[3])
{
    double time = case_time[which];
    if (which == CASE_HEAVY)
    {
        double angle = precession() * time;
        x[0] = sin(TILT) * sin(angle);
        x[1] = -sin(TILT) * cos(angle);
        x[2] = cos(TILT);
        return;
    }
    // The axis e turns about the momentum L, which stays, at |L| / Across.
    double L[3] = {0.02 * TURN, 0, 0.035 * SPIN}, size = sqrt(td_dot3(L, L)), angle = size / 0.02 * time, across[3];
    const double e[3] = {0, 0, 1};
    for (int k = 0; k < 3; k++)
        L[k] /= size;
    td_cross3(L, e, across);
    for (int k = 0; k < 3; k++)
        x[k] = e[k] * cos(angle) + across[k] * sin(angle) + L[k] * td_dot3(L, e) * (1 - cos(angle));
}

// ---------------------------------------------------------------- ours, and formulas of others

static void ours(accuracyCase which, const char *integrator, double h, double x[3])
{
    tdModel *model = accuracy_model(which, integrator, h);
    tdState *state = robot_state(model);
    const tdBody *body = &model->bodies[0];
    tdArticulatedState *mine = td_articulated_mine(body, state);
    accuracy_start(which, state->v, mine->reference);
    robot_steps(model, state, (int)lround(case_time[which] / h));
    assert_true(td_joint_limit_energy(td_articulated_of(body), state->q) == 0);
    td_tree_kinematics(td_articulated_of(body), state->q, mine->reference, &mine->at);
    outcome(which, td_articulated_of(body), &mine->at, x);
    td_state_free(state);
    td_model_free(model);
}

static void formula(accuracyCase which, bool linearized, double h, double x[3])
{
    tdModel *model = accuracy_model(which, "", h);
    tdState *state = robot_state(model);
    const tdArticulated *body = td_articulated_of(&model->bodies[0]);
    tdArticulatedState *mine = td_articulated_mine(&model->bodies[0], state);
    const double none[3] = {0, 0, 0};
    int n = body->n;
    double B[64], f[8], b[8], at[8], both[8], alone[8], *q = state->q, *v = state->v;
    accuracy_start(which, v, mine->reference);
    for (int64_t step = 0; step < llround(case_time[which] / h); step++)
    {
        td_tree_kinematics(body, q, mine->reference, &mine->at);
        td_tree_mass(body, &mine->at, B);
        td_tree_inverse(body, v, NULL, body->gravity, &mine->at, f);
        td_tree_inverse(body, v, NULL, none, &mine->at, b);
        for (int j = 0; j < n && linearized; j++)
        {
            memset(at, 0, sizeof at);
            at[j] = 1;
            td_tree_inverse(body, at, NULL, none, &mine->at, alone);
            memcpy(at, v, (size_t)n * sizeof *at);
            at[j] += 1;
            td_tree_inverse(body, at, NULL, none, &mine->at, both);
            for (int i = 0; i < n; i++)
                B[i * n + j] += h * (both[i] - b[i] - alone[i]);
        }
        for (int i = 0; i < n; i++)
            f[i] *= -h;
        assert_true(td_small_eliminate(n, B, f));
        for (int i = 0; i < n; i++)
        {
            v[i] += f[i];
            q[i] += h * v[i];
        }
        td_tree_fold(body, q, mine->reference);
    }
    td_tree_kinematics(body, q, mine->reference, &mine->at);
    outcome(which, body, &mine->at, x);
    td_state_free(state);
    td_model_free(model);
}

// ---------------------------------------------------------------- table

static double distance(const double a[3], const double b[3])
{
    double d[3];
    td_subtract3(a, b, d);
    return sqrt(td_dot3(d, d));
}

static void accuracy_table(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *name, *integrator; // NULL: a formula
        bool linearized;
    } rows[] = {{"`backward_euler` (default)", "integrator: {method: backward_euler}", false},
                {"`midpoint`", "integrator: {method: midpoint}", false},
                {"`rk4`", "integrator: {method: rk4}", false},
                {"semi-implicit Euler, b explicit", NULL, false},
                {"the same, b linearized", NULL, true}};
    static const double steps[] = {1e-3, 2e-3, 5e-3};
    double truth[CASES][3] = {{0}}, error[5][CASES][3];
    ours(CASE_ARM, "integrator: {method: rk4}", 1e-5, truth[CASE_ARM]);
    for (int c = CASE_HEAVY; c < CASES; c++)
    {
        double x[3];
        closed_form((accuracyCase)c, truth[c]);
        ours((accuracyCase)c, "integrator: {method: rk4}", 1e-5, x);
        assert_true(distance(x, truth[c]) < 1e-10); // the reference is right
    }
    printf("| | arm, 1 ms | 2 ms | 5 ms | heavy top, 1 ms | 2 ms | 5 ms | free top, 1 ms | 2 ms | 5 ms |\n"
           "|---|---|---|---|---|---|---|---|---|---|\n");
    for (int r = 0; r < 5; r++)
    {
        printf("| %s |", rows[r].name);
        for (int c = 0; c < CASES; c++)
            for (int s = 0; s < 3; s++)
            {
                double x[3];
                if (rows[r].integrator != NULL)
                    ours((accuracyCase)c, rows[r].integrator, steps[s], x);
                else
                    formula((accuracyCase)c, rows[r].linearized, steps[s], x);
                error[r][c][s] = distance(x, truth[c]);
                printf(" %.1e |", error[r][c][s]);
            }
        printf("\n");
    }
    for (int c = 0; c < CASES; c++)
    {
        assert_true(error[0][c][0] < 0.8 * error[0][c][1]); // of first order,
        assert_true(error[1][c][0] < 0.3 * error[1][c][1]); // of second, and better,
        assert_true(error[1][c][1] < 0.1 * error[0][c][1]);
        assert_true(error[2][c][1] < 0.1 * error[1][c][1]); // and of fourth
        assert_true(error[0][c][1] < 2 * error[3][c][1]);   // no worse than the usual method of first order
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(accuracy_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
