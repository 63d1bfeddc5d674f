// SPDX-License-Identifier: Apache-2.0
#include "haptic/feel.h"

#include "base/vector.h"
#include "core/rotation.h"

#include <math.h>
#include <string.h>

tdFeelSettings td_default_feel(void)
{
    return (tdFeelSettings){.sweeps = 30, .tolerance = 1e-4, .ahead = 1, .late = 4, .fade = 0.1};
}

void td_feel_start(tdFeel *feel, const tdFeelSettings *settings)
{
    memset(feel, 0, sizeof *feel);
    feel->settings = *settings;
    feel->isa = td_isa_pick(false);
}

void td_feel_take(tdFeel *feel, const tdLocal *local)
{
    feel->local = local;
    for (int i = 0; i < 3 * local->n; i++)
    {
        feel->lambda[i] = local->contact[i / 3].force[i % 3];
        feel->slip[i] = 0;
    }
}

// Rotation vector of the turn from one pose to another, in the world's axes.
static void turn_between(const tdPose *from, const tdPose *to, double turn[3])
{
    double a[4], b[4], q[4];
    td_rotation_from_matrix(to->R, a);
    td_rotation_from_matrix(from->R, b);
    td_rotation_difference(a, b, q);
    td_rotation_vector(q, NULL, turn);
}

static bool is_finite_pose(const tdPose *pose)
{
    double sum = 0;
    for (int k = 0; k < 9; k++)
        sum += 0 * pose->R[k];
    for (int k = 0; k < 3; k++)
        sum += 0 * pose->t[k];
    return sum == 0;
}

// Gaps after a change of the forces of contact c. C is symmetric: its columns are rows.
static void push(tdFeel *feel, int c, const double change[3])
{
    int rows = 3 * feel->local->n;
    const double *C = feel->local->C + (int64_t)(3 * c) * rows;
#if defined(__x86_64__)
    if (feel->isa == TD_ISA_AVX2)
    {
        td_feel_push_avx2(rows, C, change, feel->gap);
        return;
    }
#endif
    td_feel_push_portable(rows, C, change, feel->gap);
}

// Gaps where the device is, with the forces so far.
static void place_gaps(tdFeel *feel, const tdPose *device, double ahead)
{
    const tdLocal *local = feel->local;
    double turn[3], way[3];
    turn_between(&local->tool, device, turn);
    for (int c = 0; c < local->n; c++)
    {
        const tdLocalContact *contact = &local->contact[c];
        td_cross3(turn, contact->arm, way);
        for (int k = 0; k < 3; k++)
            way[k] += device->t[k] - local->tool.t[k];
        for (int r = 0; r < 3; r++)
            feel->gap[3 * c + r] = contact->b[r] + contact->rate[r] * ahead + td_dot3(contact->direction[r], way) -
                                   (r < 2 ? feel->slip[3 * c + r] : 0);
    }
    for (int c = 0; c < local->n; c++)
    {
        const double *lambda = feel->lambda + 3 * c;
        if (lambda[0] != 0 || lambda[1] != 0 || lambda[2] != 0)
            push(feel, c, lambda);
    }
}

// One contact with the others held, as they are: the normal, then the tangents within the cone. C: its own 3 x 3.
static void relax(const double *C, int stride, double mu, const double gap[3], double lambda[3])
{
    double stiff[3] = {C[0], C[stride + 1], C[2 * stride + 2]};
    if (!(stiff[2] > 0))
        return;
    double before = lambda[2];
    lambda[2] = fmax(0, before - gap[2] / stiff[2]);
    double most = mu * lambda[2], slow = fmax(stiff[0], stiff[1]), size;
    if (most == 0 || !(slow > 0))
    {
        lambda[0] = lambda[1] = 0;
        return;
    }
    // What the normal's change does to the tangents belongs to them.
    for (int r = 0; r < 2; r++)
        lambda[r] -= (gap[r] + C[r * stride + 2] * (lambda[2] - before)) / slow;
    size = hypot(lambda[0], lambda[1]);
    for (int r = 0; r < 2 && size > most; r++)
        lambda[r] *= most / size;
}

// A sweep; returns the largest change of a force relative to the largest force.
static double sweep(tdFeel *feel)
{
    const tdLocal *local = feel->local;
    int rows = 3 * local->n;
    double change = 0, largest = 0, *lambda = feel->lambda, *gap = feel->gap;
    for (int c = 0; c < local->n; c++)
    {
        double next[3] = {lambda[3 * c], lambda[3 * c + 1], lambda[3 * c + 2]};
        if (next[2] == 0 && gap[3 * c + 2] >= 0)
            continue; // open, and stays so
        relax(local->C + (int64_t)(3 * c) * rows + 3 * c, rows, local->contact[c].mu, gap + 3 * c, next);
        double step[3], moved = 0;
        for (int r = 0; r < 3; r++)
        {
            step[r] = next[r] - lambda[3 * c + r];
            lambda[3 * c + r] = next[r];
            largest = fmax(largest, fabs(next[r]));
            moved = fmax(moved, fabs(step[r]));
        }
        change = fmax(change, moved);
        if (moved > 0)
            push(feel, c, step);
    }
    return largest > 0 ? change / largest : 0;
}

// What slipped, or is open, has its tangential gap where it is now.
static void keep_slip(tdFeel *feel, tdFelt *out)
{
    const tdLocal *local = feel->local;
    for (int c = 0; c < local->n; c++)
    {
        const double *lambda = feel->lambda + 3 * c;
        double most = local->contact[c].mu * lambda[2];
        bool bears = lambda[2] > 0, slips = bears && hypot(lambda[0], lambda[1]) >= most * (1 - 1e-9);
        out->active += bears && !local->contact[c].inner;
        out->slipping += slips && !local->contact[c].inner;
        for (int r = 0; r < 2 && (slips || !bears); r++)
        {
            feel->slip[3 * c + r] += feel->gap[3 * c + r];
            feel->gap[3 * c + r] = 0;
        }
    }
}

static void sum_forces(const tdFeel *feel, tdFelt *out)
{
    const tdLocal *local = feel->local;
    for (int c = 0; c < local->n; c++)
    {
        double force[3] = {0, 0, 0}, torque[3];
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < 3; k++)
                force[k] += feel->lambda[3 * c + r] * local->contact[c].direction[r][k];
        td_cross3(local->contact[c].arm, force, torque);
        for (int k = 0; k < 3; k++)
        {
            out->force[k] += force[k];
            out->torque[k] += torque[k];
        }
    }
}

// The tool gives way to the forces by what the coupling does.
static void place_tool(const tdCoupling *coupling, const tdPose *device, tdFelt *out)
{
    double turn[4], r[3];
    tdPose by = {.t = {0, 0, 0}};
    for (int k = 0; k < 3; k++)
        r[k] = out->torque[k] / coupling->angular_stiffness;
    td_rotation_from_vector(r, turn);
    td_rotation_matrix(turn, by.R);
    out->tool = td_pose_multiply(&by, device);
    for (int k = 0; k < 3; k++)
        out->tool.t[k] = device->t[k] + out->force[k] / coupling->stiffness;
}

void td_feel(tdFeel *feel, const tdCoupling *coupling, const tdPose *device, double clock, tdFelt *out)
{
    *out = (tdFelt){.converged = true, .fade = 1, .tool = *device};
    if (!is_finite_pose(device))
    {
        out->fade = 0;
        out->tool = feel->local != NULL ? feel->local->tool : td_pose_identity();
        return;
    }
    if (feel->local == NULL)
        return;
    const tdFeelSettings *settings = &feel->settings;
    double age = fmax(0, clock - feel->local->clock), h = feel->local->h;
    out->fade = fmin(1, fmax(0, 1 - (age - settings->late * h) / settings->fade));
    if (feel->local->n > 0)
    {
        place_gaps(feel, device, fmin(age, settings->ahead * h) + feel->local->lead);
        out->converged = false;
        while (out->sweeps < settings->sweeps && !out->converged)
        {
            out->residual = sweep(feel);
            out->converged = out->residual <= settings->tolerance;
            out->sweeps++;
        }
        keep_slip(feel, out);
        sum_forces(feel, out);
        td_coupling_tip(coupling, device, out->force, out->torque);
    }
    for (int k = 0; k < 3; k++)
    {
        out->force[k] *= out->fade;
        out->torque[k] *= out->fade;
    }
    place_tool(coupling, device, out);
}
