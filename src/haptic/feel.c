// SPDX-License-Identifier: Apache-2.0
#include "haptic/feel.h"

#include "base/vector.h"
#include "core/rotation.h"

#include <math.h>
#include <string.h>

tdFeelSettings td_default_feel(void)
{
    return (tdFeelSettings){.sweeps = 30, .plain = 2, .tolerance = 1e-4, .ahead = 1, .late = 4, .fade = 0.1};
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
    feel->kept = feel->next = 0;
    for (int i = 0; i < 3 * local->n; i++)
    {
        feel->lambda[i] = local->contact[i / 3].force[i % 3];
        feel->slip[i] = 0;
    }
    for (int c = 0; c < local->n; c++)
        for (int r = 0; r < 3; r++)
        {
            const tdLocalContact *contact = &local->contact[c];
            if (contact->bond)
                memcpy(feel->moment[3 * c + r], contact->couple[r], sizeof feel->moment[0]);
            else
                td_cross3(contact->arm, contact->direction[r], feel->moment[3 * c + r]);
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
    td_subtract3(device->t, local->tool.t, way);
    for (int c = 0; c < local->n; c++)
    {
        const tdLocalContact *contact = &local->contact[c];
        for (int r = 0; r < 3; r++)
            feel->gap[3 * c + r] = contact->b[r] + contact->rate[r] * ahead + td_dot3(contact->direction[r], way) +
                                   td_dot3(feel->moment[3 * c + r], turn) - (r < 2 ? feel->slip[3 * c + r] : 0);
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

// Rows of a bond, whose compliance among themselves is diagonal. Where nothing holds the tool, a row is zero.
static void relax_bond(const double *C, int stride, const double gap[3], double lambda[3])
{
    for (int r = 0; r < 3; r++)
        lambda[r] -= C[r * stride + r] > 0 ? gap[r] / C[r * stride + r] : 0;
}

// A sweep; returns the largest change of a force relative to the largest force.
static double sweep(tdFeel *feel)
{
    const tdLocal *local = feel->local;
    int rows = 3 * local->n;
    double change = 0, largest = 0, *lambda = feel->lambda, *gap = feel->gap;
    for (int c = 0; c < local->n; c++)
    {
        const tdLocalContact *contact = &local->contact[c];
        const double *own = local->C + (int64_t)(3 * c) * rows + 3 * c;
        double next[3] = {lambda[3 * c], lambda[3 * c + 1], lambda[3 * c + 2]};
        if (contact->bond)
            relax_bond(own, rows, gap + 3 * c, next);
        else if (next[0] == 0 && next[1] == 0 && next[2] == 0 && gap[3 * c + 2] >= 0)
            continue; // open, and stays so
        else
            relax(own, rows, contact->mu, gap + 3 * c, next);
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

// a[0..n) with G a = b, G positive semi-definite: what depends on others has no part.
static void solve_small(int n, const double G[TD_FEEL_WAYS][TD_FEEL_WAYS], double *a)
{
    double L[TD_FEEL_WAYS][TD_FEEL_WAYS] = {{0}};
    for (int j = 0; j < n; j++)
    {
        double d = G[j][j];
        for (int k = 0; k < j; k++)
            d -= L[j][k] * L[j][k];
        if (!(d > 1e-10 * G[j][j]))
        {
            a[j] = 0;
            continue;
        }
        L[j][j] = sqrt(d);
        for (int k = 0; k < j; k++)
            a[j] -= L[j][k] * a[k];
        a[j] /= L[j][j];
        for (int i = j + 1; i < n; i++)
        {
            double sum = G[i][j];
            for (int k = 0; k < j; k++)
                sum -= L[i][k] * L[j][k];
            L[i][j] = sum / L[j][j];
        }
    }
    for (int j = n - 1; j >= 0; j--)
    {
        if (!(L[j][j] > 0))
            continue;
        for (int i = j + 1; i < n; i++)
            a[j] -= L[i][j] * a[i];
        a[j] /= L[j][j];
    }
}

static void dots(const tdFeel *feel, int rows, const double *a, double *out)
{
#if defined(__x86_64__)
    if (feel->isa == TD_ISA_AVX2)
    {
        td_feel_dots_avx2(rows, TD_FEEL_WAYS, feel->change[0], TD_LOCAL_ROWS, a, out);
        return;
    }
#endif
    td_feel_dots_portable(rows, TD_FEEL_WAYS, feel->change[0], TD_LOCAL_ROWS, a, out);
}

// What the sweep did, beside what the one before did.
static void remember(tdFeel *feel, const double *did)
{
    int rows = 3 * feel->local->n, slot = feel->next;
    double with[TD_FEEL_WAYS];
    for (int i = 0; i < rows; i++)
    {
        feel->way[slot][i] = feel->lambda[i] - feel->out[i];
        feel->way_gap[slot][i] = feel->gap[i] - feel->out_gap[i];
        feel->change[slot][i] = did[i] - feel->did[i];
    }
    feel->kept = slot < feel->kept ? feel->kept : slot + 1;
    feel->next = (slot + 1) % TD_FEEL_WAYS;
    dots(feel, rows, feel->change[slot], with);
    for (int k = 0; k < TD_FEEL_WAYS; k++)
        feel->product[slot][k] = feel->product[k][slot] = with[k];
}

// Contacts that are close together feel each other as much as themselves, and sweeps come nearer by little each time.
// What the last sweeps did to the forces says where that leads (Anderson 1965): the combination of their ways after
// which a sweep would change least. Gaps are linear in the forces, so that theirs come along. The next sweep has the
// forces within their cones again, and each tick ends with a sweep. Ways are kept from tick to tick as long as the
// local model is the same, since they do not depend on where the device is.
static void hasten(tdFeel *feel, bool again)
{
    size_t bytes = 3 * (size_t)feel->local->n * sizeof(double);
    int rows = 3 * feel->local->n;
    double did[TD_LOCAL_ROWS], share[TD_FEEL_WAYS];
    for (int i = 0; i < rows; i++)
        did[i] = feel->lambda[i] - feel->last[i];
    if (again)
        remember(feel, did);
    memcpy(feel->out, feel->lambda, bytes);
    memcpy(feel->out_gap, feel->gap, bytes);
    memcpy(feel->did, did, bytes);
    if (feel->kept == 0)
        return;
    dots(feel, rows, did, share);
    solve_small(feel->kept, feel->product, share);
    for (int k = 0; k < feel->kept; k++)
        for (int i = 0; i < rows && share[k] != 0; i++)
        {
            feel->lambda[i] -= share[k] * feel->way[k][i];
            feel->gap[i] -= share[k] * feel->way_gap[k][i];
        }
}

// Back to what the sweep before led to: other contacts bear, or slip, than those of whose ways the guess was made.
static void go_back(tdFeel *feel)
{
    size_t bytes = 3 * (size_t)feel->local->n * sizeof(double);
    memcpy(feel->lambda, feel->out, bytes);
    memcpy(feel->gap, feel->out_gap, bytes);
    feel->kept = feel->next = 0;
}

// Sweeps until forces stay, or as many as there may be. A sweep from where others led counts only if it changes less
// than they did.
static void solve(tdFeel *feel, tdFelt *out)
{
    const tdFeelSettings *settings = &feel->settings;
    size_t bytes = 3 * (size_t)feel->local->n * sizeof(double);
    double best = INFINITY;
    int plain = 0; // sweeps since the last that was led astray
    bool again = false, guessed = false;
    out->converged = false;
    while (out->sweeps < settings->sweeps && !out->converged)
    {
        memcpy(feel->last, feel->lambda, bytes);
        double residual = sweep(feel);
        out->sweeps++;
        plain++;
        if (guessed && residual > 1.5 * best)
        {
            go_back(feel);
            plain = 0;
            again = guessed = false;
            continue;
        }
        out->residual = best = residual;
        out->converged = residual <= settings->tolerance;
        if (plain < settings->plain || out->sweeps >= settings->sweeps || out->converged)
            continue;
        hasten(feel, again);
        again = guessed = true;
    }
}

// What slipped, or is open, has its tangential gap where it is now.
static void keep_slip(tdFeel *feel, tdFelt *out)
{
    const tdLocal *local = feel->local;
    for (int c = 0; c < local->n; c++)
    {
        const double *lambda = feel->lambda + 3 * c;
        double most = local->contact[c].mu * lambda[2];
        if (local->contact[c].bond)
            continue;
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
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < 3; k++)
            {
                out->force[k] += feel->lambda[3 * c + r] * local->contact[c].direction[r][k];
                out->torque[k] += feel->lambda[3 * c + r] * feel->moment[3 * c + r][k];
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
        solve(feel, out);
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
