// SPDX-License-Identifier: Apache-2.0
#include "haptic/local_bond.h"

#include "base/lapack.h"
#include "base/vector.h"
#include "body/guided.h"
#include "contact/contact.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#define HOLDS 1e-9 // of the largest stiffness: less does not hold the tool

// ---------------------------------------------------------------- which

bool td_local_is_tool(const tdLocalMaker *maker, const tdModel *model, int body)
{
    const tdBody *b = body >= 0 ? &model->bodies[body] : NULL;
    return b != NULL && (body == maker->body || (b->guided != NULL && b->guided->follows == maker->body));
}

// Which side of a bond is the tool; -1: none, or both.
static int tool_side(const tdLocalMaker *maker, const tdModel *model, const tdBond *bond)
{
    bool is[2];
    for (int s = 0; s < 2; s++)
        is[s] = td_local_is_tool(maker, model, bond->side[s].body);
    return is[0] == is[1] || bond->kind == TD_BOND_COUPLING ? -1 : is[0] ? 0 : 1;
}

bool td_local_is_bond(const tdLocalMaker *maker, const tdModel *model, tdOwner owner)
{
    return owner.kind == TD_OWNER_BOND && tool_side(maker, model, &model->contact->bonds[owner.index]) >= 0;
}

bool td_local_has_bonds(const tdLocalMaker *maker, const tdModel *model)
{
    bool has = false;
    for (int i = 0; i < model->contact->n_bonds && !has; i++)
        has = tool_side(maker, model, &model->contact->bonds[i]) >= 0;
    return has;
}

// ---------------------------------------------------------------- rows

// From one side of a bond to the other, as its effort pushes side 0; of welds the axes of the world.
static void direction_of(const tdModel *model, const tdState *state, int i, int r, double out[3])
{
    double from[3], to[3], unused[3], size;
    memset(out, 0, 3 * sizeof *out);
    out[r] = 1;
    if (model->contact->bonds[i].kind != TD_BOND_ROD || !td_bond_side_force(model, state, i, 0, to, unused) ||
        !td_bond_side_force(model, state, i, 1, from, unused))
        return;
    td_subtract3(to, from, out);
    size = sqrt(td_dot3(out, out));
    for (int k = 0; k < 3; k++)
        out[k] = size > 0 ? out[k] / size : k == 0;
}

// Rows of a bond; adds what it does to the tool.
static void describe_bond(tdLocalMaker *maker, const tdModel *model, const tdState *state, int32_t c, tdLocal *local)
{
    const tdProblem *problem = state->problem;
    int i = problem->owner[c].index;
    const tdBond *bond = &model->contact->bonds[i];
    int side = tool_side(maker, model, bond), other = bond->side[1 - side].body;
    const tdBody *tool = &model->bodies[bond->side[side].body], *held = other >= 0 ? &model->bodies[other] : NULL;
    double x[3], force[3], arm[3], torque[3], own[3], from[3], way[3];
    double time = model->scheme.method == TD_METHOD_STATIC ? 1 : model->scheme.h;
    tdPose before = td_guided_pose(tool->guided, state->start + tool->first);
    tdPose after = td_guided_pose(tool->guided, state->q + tool->first);
    td_bond_side_force(model, state, i, side, x, force);
    td_subtract3(x, local->tool.t, arm);
    td_cross3(arm, force, torque);
    // The way of its point, which is the tool's motion and not that of what it is attached to.
    td_subtract3(x, after.t, way);
    for (int k = 0; k < 3; k++)
        own[k] = after.R[k] * way[0] + after.R[3 + k] * way[1] + after.R[6 + k] * way[2];
    td_place(&before, own, from);
    td_subtract3(x, from, way);
    for (int k = 0; k < 3; k++)
    {
        local->force[k] += force[k];
        local->torque[k] += torque[k];
        maker->bond_wrench[k] += force[k];
        maker->bond_wrench[3 + k] += torque[k];
    }
    maker->lever += td_dot3(arm, arm);
    for (int r = 0; r < bond->rows; r++)
    {
        tdLocalBondRow *row = &maker->bond_rows[maker->n_bond_rows++];
        direction_of(model, state, i, r, row->direction);
        for (int k = 0; k < 3; k++)
            row->direction[k] *= side == 0 ? 1 : -1;
        td_cross3(arm, row->direction, row->couple);
        row->at = maker->dual.first[c] + r;
        row->R = problem->constraints[c].law.R[r];
        row->rate = -td_dot3(row->direction, way) / time;
        row->keeps = held != NULL && held->ops->keeps != NULL ? held->ops->keeps(held, state) : 0;
    }
}

tdStatus td_local_describe_bonds(tdLocalMaker *maker, const tdModel *model, const tdState *state, tdLocal *local,
                                 tdError *error)
{
    const tdProblem *problem = state->problem;
    int n = 0, points = 0;
    for (int32_t c = 0; c < problem->n_constraints && maker->attached; c++)
        n += td_local_is_bond(maker, model, problem->owner[c]) ? problem->constraints[c].law.rows : 0;
    maker->n_bond_rows = 0;
    maker->lever = 0;
    memset(maker->bond_wrench, 0, sizeof maker->bond_wrench);
    if (!td_grow((void **)&maker->bond_rows, &maker->bond_room, n, sizeof *maker->bond_rows))
        return td_fail_memory(error, "the local model");
    for (int32_t c = 0; c < problem->n_constraints && n > 0; c++)
        if (td_local_is_bond(maker, model, problem->owner[c]))
        {
            describe_bond(maker, model, state, c, local);
            points++;
        }
    maker->lever = points > 0 && maker->lever > 0 ? sqrt(maker->lever / points) : 1;
    return TD_OK;
}

// ---------------------------------------------------------------- six rows

// Eigenvectors of a symmetric matrix of six rows at most, in its place, and its eigenvalues, ascending.
static bool split(int n, double *A, double *w)
{
    double work[64];
    int room = 64, info = 0;
    if (n > 0)
        dsyev_("V", "L", &n, A, &n, w, work, &room, &info, 1, 1);
    return info == 0;
}

// What the coupling gives way by, in W's units, for unit forces and, with the lever, unit torques.
static void coupling_of(const tdLocalMaker *maker, const tdModel *model, const tdLocal *local, double out[36])
{
    double force[6][3] = {{0}}, torque[6][3] = {{0}}, per = model->scheme.c * model->scheme.s;
    for (int i = 0; i < 6; i++)
    {
        *(i < 3 ? &force[i][i] : &torque[i][i - 3]) = i < 3 ? 1 : maker->lever;
        td_coupling_tip(&maker->coupling, &local->tool, force[i], torque[i]);
    }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            out[6 * i + j] = (td_dot3(force[i], force[j]) / maker->coupling.stiffness +
                              td_dot3(torque[i], torque[j]) / maker->coupling.angular_stiffness) /
                             per;
}

// out = V' A V of six rows, V of m columns.
static void turn_into(int m, const double *V, const double *A, double *out)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
        {
            out[m * j + i] = 0;
            for (int a = 0; a < 6; a++)
                for (int b = 0; b < 6; b++)
                    out[m * j + i] += V[6 * i + a] * A[6 * a + b] * V[6 * j + b];
        }
}

// Axes of w: of the directions in which the tool is held, those that do not feel each other by K^-1 and the coupling.
// K: 6 x 6, lost. axis: m columns of six; inner: m columns of six with K^-1 axis. Returns m, or -1.
static int find_axes(const tdLocalMaker *maker, const tdModel *model, const tdLocal *local, double *K, double *axis,
                     double *inner)
{
    double kappa[6], C[36], T[36], tau[6];
    if (!split(6, K, kappa))
        return -1;
    int none = 0;
    while (none < 6 && !(kappa[none] > HOLDS * kappa[5]))
        none++;
    int m = kappa[5] > 0 ? 6 - none : 0;
    const double *V = K + 6 * (6 - m), *k = kappa + 6 - m;
    coupling_of(maker, model, local, C);
    turn_into(m, V, C, T);
    for (int i = 0; i < m; i++)
        T[m * i + i] += 1 / k[i];
    if (!split(m, T, tau))
        return -1;
    for (int j = 0; j < m; j++)
        for (int a = 0; a < 6; a++)
        {
            axis[6 * j + a] = inner[6 * j + a] = 0;
            for (int i = 0; i < m; i++)
            {
                axis[6 * j + a] += V[6 * i + a] * T[m * j + i];
                inner[6 * j + a] += V[6 * i + a] * T[m * j + i] / k[i];
            }
        }
    return m;
}

// The two members that stand for what the tool is attached to.
static void make_members(tdLocalMaker *maker, int m, const double *axis, const double *rate)
{
    for (int i = 0; i < TD_LOCAL_BOND_BLOCKS; i++)
    {
        tdLocalMember *member = &maker->members[maker->n_members++];
        *member = (tdLocalMember){.share = 1};
        member->rows.bond = true;
        for (int r = 0; r < 3 && 3 * i + r < m; r++)
        {
            const double *a = axis + (ptrdiff_t)(6 * (3 * i + r));
            for (int k = 0; k < 3; k++)
            {
                member->rows.direction[r][k] = a[k];
                member->rows.couple[r][k] = maker->lever * a[3 + k];
                member->rows.force[r] +=
                    a[k] * maker->bond_wrench[k] + a[3 + k] * maker->bond_wrench[3 + k] / maker->lever;
            }
            member->rows.rate[r] = rate[3 * i + r];
        }
    }
}

tdStatus td_local_reduce_bonds(tdLocalMaker *maker, const tdModel *model, const tdLocal *local, int n, const double *W,
                               double **out, tdError *error)
{
    int a = maker->n_bond_rows, all = n + a, left = n + 6, columns = 7 + n, info = 0;
    int64_t need = (int64_t)a * a + (int64_t)a * columns + (int64_t)left * left + (int64_t)12 * n;
    if (!td_grow((void **)&maker->bond_work, &maker->bond_work_room, need, sizeof *maker->bond_work))
        return td_fail_memory(error, "the local model");
    double *S = maker->bond_work, *Y = S + (int64_t)a * a, *V = Y + (int64_t)a * columns;
    for (int i = 0; i < a; i++) // columns: E, what goes on by itself, C_ac
    {
        const tdLocalBondRow *row = &maker->bond_rows[i];
        const double *w = W + (int64_t)(n + i) * all;
        for (int j = 0; j < a; j++)
            S[(int64_t)j * a + i] = w[n + j] + (i == j ? row->R : 0);
        for (int k = 0; k < 3; k++)
        {
            Y[(int64_t)k * a + i] = row->direction[k];
            Y[(int64_t)(3 + k) * a + i] = row->couple[k] / maker->lever;
        }
        Y[(int64_t)6 * a + i] = row->rate;
        for (int j = 0; j < n; j++)
            Y[(int64_t)(7 + j) * a + i] = w[j];
    }
    dpotrf_("L", &a, S, &a, &info, 1);
    if (info != 0)
        return td_fail(error, TD_ERROR_NUMERIC,
                       "the compliance of what the tool is attached to is not positive definite");
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, a, columns, 1, S, a, Y, a);
    double K[36], axis[36] = {0}, inner[36] = {0}, rate[6] = {0};
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            K[6 * i + j] = cblas_ddot(a, Y + (int64_t)i * a, 1, Y + (int64_t)j * a, 1);
    int m = find_axes(maker, model, local, K, axis, inner);
    if (m < 0)
        return td_fail(error, TD_ERROR_NUMERIC, "what the tool is attached to has no axes");
    const double *goes = Y + (int64_t)6 * a, *Yc = Y + (int64_t)7 * a;
    double *into = V + (int64_t)left * left, *along = into + (int64_t)6 * n; // by contact row: inner' B and axis' B
    for (int j = 0; j < 6; j++)
        for (int i = 0; i < 6 && j < m; i++)
            rate[j] += inner[6 * j + i] * cblas_ddot(a, Y + (int64_t)i * a, 1, goes, 1);
    for (int c = 0; c < n; c++)
    {
        double B[6];
        for (int i = 0; i < 6; i++)
            B[i] = cblas_ddot(a, Y + (int64_t)i * a, 1, Yc + (int64_t)c * a, 1);
        for (int j = 0; j < 6; j++)
        {
            into[6 * c + j] = cblas_ddot(6, inner + (ptrdiff_t)6 * j, 1, B, 1);
            along[6 * c + j] = cblas_ddot(6, axis + (ptrdiff_t)6 * j, 1, B, 1);
        }
    }
    memset(V, 0, (size_t)left * (size_t)left * sizeof *V);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            V[(int64_t)i * left + j] = W[(int64_t)i * all + j] -
                                       cblas_ddot(a, Yc + (int64_t)i * a, 1, Yc + (int64_t)j * a, 1) +
                                       cblas_ddot(6, along + (ptrdiff_t)6 * i, 1, into + (ptrdiff_t)6 * j, 1);
    for (int j = 0; j < 6; j++)
    {
        for (int c = 0; c < n; c++)
            V[(int64_t)c * left + n + j] = V[(int64_t)(n + j) * left + c] = into[6 * c + j];
        for (int i = 0; i < 6; i++)
            V[(int64_t)(n + i) * left + n + j] = cblas_ddot(6, axis + (ptrdiff_t)6 * i, 1, inner + (ptrdiff_t)6 * j, 1);
    }
    make_members(maker, m, axis, rate);
    *out = V;
    return TD_OK;
}
