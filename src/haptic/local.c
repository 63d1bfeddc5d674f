// SPDX-License-Identifier: Apache-2.0
// From the problem of a step to the local model of a tool. See local.h.
#include "haptic/local.h"

#include "base/vector.h"
#include "body/guided.h"
#include "contact/contact.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OTHERS 900 // rows of others that are taken into account: their matrix is dense

tdStatus td_local_create(const tdModel *model, int body, const tdCoupling *coupling, tdLocalMaker **out, tdError *error)
{
    *out = NULL;
    if (body < 0 || body >= model->n_bodies || !td_body_is_guided(&model->bodies[body]))
        return td_fail(error, TD_ERROR_USAGE, "the tool must be a rigid body with 'guided: true'");
    if (!td_contact_is_possible(model))
        return td_fail(error, TD_ERROR_INPUT,
                       "nothing can be felt in a scene whose bodies do not touch; add 'contact: {}' to the scene");
    tdLocalMaker *maker = td_take(1, sizeof *maker);
    if (maker != NULL)
        maker->last = td_take(1, sizeof *maker->last);
    if (maker == NULL || maker->last == NULL)
    {
        free(maker);
        return td_fail_memory(error, "the local model");
    }
    maker->body = body;
    maker->coupling = *coupling;
    *out = maker;
    return TD_OK;
}

void td_local_free(tdLocalMaker *maker)
{
    if (maker == NULL)
        return;
    td_dual_free(&maker->dual);
    free(maker->last);
    free(maker->touched);
    free(maker->G);
    free(maker->B);
    free(maker->work);
    free(maker);
}

// ---------------------------------------------------------------- which contacts

// +1: the tool is side B, which a positive impulse pushes along the normal; -1: side A; 0: neither.
static int tool_sign(const tdLocalMaker *maker, const tdModel *model, const tdContact *contact)
{
    const tdContactCollider *colliders = model->contact->colliders;
    return colliders[contact->b.collider].body == maker->body   ? 1
           : colliders[contact->a.collider].body == maker->body ? -1
                                                                : 0;
}

static const tdContact *contact_of(const tdProblem *problem, const tdContactState *cs, int32_t c)
{
    return problem->owner[c].kind == TD_OWNER_CONTACT ? &cs->contacts[problem->owner[c].index] : NULL;
}

// Signed distance at the end of the step.
static double gap_of(const tdModel *model, const tdContactState *cs, const tdProblem *problem, int32_t c)
{
    int64_t row = TD_SAP_ROWS * (int64_t)c + 2;
    return cs->gap[problem->owner[c].index] + model->scheme.c * (problem->v_c[row] + problem->drift[row]);
}

// Contacts of the tool: those that bear a force, then the nearest. Sorted by their number in the problem, so that the
// same set has the same order.
static int choose(const tdLocalMaker *maker, const tdModel *model, const tdContactState *cs, const tdProblem *problem,
                  int32_t list[TD_LOCAL_CONTACTS], int *left_out)
{
    double rank[TD_LOCAL_CONTACTS];
    int n = 0;
    *left_out = 0;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        const tdContact *contact = contact_of(problem, cs, c);
        if (contact == NULL || tool_sign(maker, model, contact) == 0)
            continue;
        double gap = gap_of(model, cs, problem, c);
        if (problem->gamma[TD_SAP_ROWS * (int64_t)c + 2] > 0)
            gap = -INFINITY;
        int at = n;
        if (n == TD_LOCAL_CONTACTS)
        {
            at = 0; // the farthest goes
            for (int k = 1; k < n; k++)
                at = rank[k] > rank[at] ? k : at;
            ++*left_out;
            if (!(gap < rank[at]))
                continue;
            memmove(list + at, list + at + 1, (size_t)(n - 1 - at) * sizeof *list);
            memmove(rank + at, rank + at + 1, (size_t)(n - 1 - at) * sizeof *rank);
            at = --n;
        }
        list[at] = c;
        rank[at] = gap;
        n++;
    }
    return n;
}

// ---------------------------------------------------------------- everything else that acts

// Lower triangular B with B B' = G, G positive semi-definite of n rows, row-major. Returns whether it is not zero.
static bool root_of(int n, const double *G, double *B)
{
    double size = 0;
    memset(B, 0, (size_t)(n * n) * sizeof *B);
    for (int i = 0; i < n; i++)
        size = fmax(size, G[i * n + i]);
    for (int j = 0; j < n; j++)
    {
        double d = G[j * n + j];
        for (int k = 0; k < j; k++)
            d -= B[j * n + k] * B[j * n + k];
        if (!(d > 1e-13 * size))
            continue;
        B[j * n + j] = sqrt(d);
        for (int i = j + 1; i < n; i++)
        {
            double sum = G[i * n + j];
            for (int k = 0; k < j; k++)
                sum -= B[i * n + k] * B[j * n + k];
            B[i * n + j] = sum / B[j * n + j];
        }
    }
    return size > 0;
}

// Marks rows of the tool and rows of others that give way: G = -d(gamma)/d(v_c) of their laws is not zero. G: 9 a
// constraint. Returns how many rows of others there are.
static int mark(const tdLocalMaker *maker, const tdProblem *problem, int n, const int32_t *list)
{
    int others = 0;
    for (int32_t c = 0, k = 0; c < problem->n_constraints; c++)
    {
        const tdSapLaw *law = &problem->constraints[c].law;
        double gamma[TD_SAP_ROWS], *G = maker->G + 9 * (int64_t)c, B[9];
        bool of_tool = k < n && list[k] == c;
        k += of_tool;
        maker->touched[c] = of_tool;
        if (of_tool || others + law->rows > MOST_OTHERS)
            continue;
        td_sap_project(law, problem->v_c + TD_SAP_ROWS * (int64_t)c, gamma, G);
        maker->touched[c] = root_of(law->rows, G, B);
        others += maker->touched[c] ? law->rows : 0;
    }
    return others;
}

// C of the tool's rows: W_tt - W_to B (I + B' W_oo B)^-1 B' W_ot, with G = B B' of the others. That is J (A + J_o' G
// J_o)^-1 J' of the tool's rows. rows: of the dual, the tool's.
static bool condense(tdLocalMaker *maker, const tdProblem *problem, int n, const int32_t *rows, int others, double *W)
{
    const tdDual *dual = &maker->dual;
    int64_t m = dual->n;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            W[i * n + j] = dual->W[rows[i] * m + rows[j]];
    if (others == 0)
        return true;
    int64_t o = others;
    if (!td_grow((void **)&maker->B, &maker->B_room, o * m, sizeof *maker->B) ||
        !td_grow((void **)&maker->work, &maker->work_room, o * o + o * n, sizeof *maker->work))
        return false;
    double *BW = maker->B, *S = maker->work, *Y = S + o * o; // B' W over all rows; I + B' W B; B' W_ot
    memset(S, 0, (size_t)(o * o) * sizeof *S);
    int64_t at = 0;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        int r = problem->constraints[c].law.rows;
        double B[9];
        if (!maker->touched[c] || maker->G[9 * (int64_t)c] < 0)
            continue;
        root_of(r, maker->G + 9 * (int64_t)c, B);
        for (int i = 0; i < r; i++)
            for (int64_t j = 0; j < m; j++)
            {
                double sum = 0;
                for (int k = i; k < r; k++)
                    sum += B[k * r + i] * dual->W[(dual->first[c] + k) * m + j];
                BW[(at + i) * m + j] = sum;
            }
        at += r;
    }
    int64_t column = 0;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        int r = problem->constraints[c].law.rows;
        double B[9];
        if (!maker->touched[c] || maker->G[9 * (int64_t)c] < 0)
            continue;
        root_of(r, maker->G + 9 * (int64_t)c, B);
        for (int64_t i = 0; i < o; i++)
            for (int j = 0; j < r; j++)
            {
                double sum = 0;
                for (int k = j; k < r; k++)
                    sum += BW[i * m + dual->first[c] + k] * B[k * r + j];
                S[(column + j) * o + i] = sum + (i == column + j);
            }
        column += r;
    }
    for (int64_t i = 0; i < o; i++)
        for (int j = 0; j < n; j++)
            Y[j * o + i] = BW[i * m + rows[j]];
    for (int64_t j = 0; j < o; j++) // Cholesky by columns, in place, of S[i + j o], i >= j
    {
        double d = S[j * o + j];
        if (!(d > 0))
            return true; // rounding: the tool's own compliance stands
        d = sqrt(d);
        S[j * o + j] = d;
        for (int64_t i = j + 1; i < o; i++)
            S[j * o + i] /= d;
        for (int64_t k = j + 1; k < o; k++)
            cblas_daxpy((int)(o - k), -S[j * o + k], S + j * o + k, 1, S + k * o + k, 1);
    }
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, (int)o, n, 1, S, (int)o, Y, (int)o);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            W[i * n + j] -= cblas_ddot((int)o, Y + i * o, 1, Y + j * o, 1);
    return true;
}

// ---------------------------------------------------------------- rows

// The impulses of the last model, each at the contact of this one that is nearest to it: what changed since moved the
// surface, the rest is its own motion.
static void last_impulses(const tdLocalMaker *maker, const tdLocal *local, double s, double *gamma)
{
    const tdLocal *last = maker->last;
    memset(gamma, 0, 3 * (size_t)local->n * sizeof *gamma);
    for (int i = 0; i < last->n; i++)
    {
        const tdLocalContact *from = &last->contact[i];
        double force[3] = {0, 0, 0}, nearest = INFINITY;
        int at = -1;
        for (int k = 0; k < local->n; k++)
        {
            double d[3];
            td_subtract3(from->arm, local->contact[k].arm, d);
            if (td_dot3(d, d) < nearest)
            {
                nearest = td_dot3(d, d);
                at = k;
            }
        }
        for (int k = 0; k < 3; k++)
            for (int r = 0; r < 3; r++)
                force[k] += from->force[r] * from->direction[r][k];
        for (int r = 0; r < 3 && at >= 0; r++)
            gamma[3 * at + r] += s * td_dot3(force, local->contact[at].direction[r]);
    }
}

// What the rows of a contact say of the tool: directions, place, friction, force; and how its surface moved.
static void describe(const tdLocalMaker *maker, const tdModel *model, const tdState *state, int32_t c,
                     const tdPose *before, tdLocal *local)
{
    const tdProblem *problem = state->problem;
    const tdContact *contact = contact_of(problem, state->contact, c);
    tdLocalContact *out = &local->contact[local->n++];
    int sign = tool_sign(maker, model, contact);
    const double *at = sign > 0 ? contact->b.local : contact->a.local;
    double frame[3][3], from[3], to[3], time = model->scheme.method == TD_METHOD_STATIC ? 1 : model->scheme.h;
    td_contact_frame(contact->normal, frame);
    td_turn(&local->tool, at, out->arm);
    td_place(before, at, from);
    td_place(&local->tool, at, to);
    out->mu = problem->constraints[c].law.mu;
    for (int r = 0; r < 3; r++)
    {
        int64_t row = TD_SAP_ROWS * (int64_t)c + r;
        out->force[r] = problem->gamma[row] / model->scheme.s;
        out->rate[r] = problem->v_c[row] + problem->drift[row];
        for (int k = 0; k < 3; k++)
        {
            out->direction[r][k] = sign * frame[r][k];
            out->rate[r] -= out->direction[r][k] * (to[k] - from[k]) / time; // the tool's own motion
        }
    }
    double torque[3], force[3] = {0, 0, 0};
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 3; k++)
            force[k] += out->force[r] * out->direction[r][k];
    td_cross3(out->arm, force, torque);
    for (int k = 0; k < 3; k++)
    {
        local->force[k] += force[k];
        local->torque[k] += torque[k];
    }
}

// Gaps without forces, so that the step's own forces solve the problem where the tool was; how surfaces move by
// themselves; compliance as displacement per force. W: dual, by velocity and impulse.
static void finish_rows(tdLocalMaker *maker, const tdModel *model, const tdState *state, const int32_t *list,
                        const double *W, tdLocal *local)
{
    const tdProblem *problem = state->problem;
    int rows = 3 * local->n;
    double per = model->scheme.c * model->scheme.s, gamma[TD_LOCAL_ROWS], now[TD_LOCAL_ROWS];
    bool moves = maker->has_last && maker->last->step + 1 == local->step && model->scheme.method != TD_METHOD_STATIC;
    last_impulses(maker, local, model->scheme.s, gamma);
    for (int k = 0; k < rows; k++)
        now[k] = local->contact[k / 3].force[k % 3];
    for (int i = 0; i < rows; i++)
    {
        tdLocalContact *contact = &local->contact[i / 3];
        int r = i % 3;
        double sum = 0, change = 0;
        for (int j = 0; j < rows; j++)
        {
            double compliance = per * W[i * rows + j];
            // Near-rigid points and those of a given stiffness give way by themselves, along the normal.
            compliance += i == j && r == 2 ? per * problem->constraints[list[i / 3]].law.R[2] : 0;
            local->C[i * rows + j] = compliance;
            sum += compliance * now[j];
            change += W[i * rows + j] * (model->scheme.s * now[j] - gamma[j]);
        }
        bool bears = contact->force[2] > 0;
        contact->b[r] = (r == 2 && !bears ? gap_of(model, state->contact, problem, list[i / 3]) : 0) - sum;
        contact->rate[r] = moves ? contact->rate[r] - change : 0;
    }
}

// C += E K^-1 E': the coupling gives way too.
static void add_coupling(const tdLocalMaker *maker, tdLocal *local)
{
    int rows = 3 * local->n;
    double along = 1 / maker->coupling.stiffness, about = 1 / maker->coupling.angular_stiffness;
    double torque[TD_LOCAL_ROWS][3];
    for (int i = 0; i < rows; i++)
        td_cross3(local->contact[i / 3].arm, local->contact[i / 3].direction[i % 3], torque[i]);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            local->C[i * rows + j] +=
                along * td_dot3(local->contact[i / 3].direction[i % 3], local->contact[j / 3].direction[j % 3]) +
                about * td_dot3(torque[i], torque[j]);
}

static tdStatus make_rows(tdLocalMaker *maker, const tdModel *model, tdState *state, tdLocal *out, tdError *error)
{
    tdProblem *problem = state->problem;
    const tdBody *body = &model->bodies[maker->body];
    int32_t list[TD_LOCAL_CONTACTS], rows[TD_LOCAL_ROWS];
    int n = choose(maker, model, state->contact, problem, list, &out->left_out);
    if (n == 0)
        return TD_OK;
    if (!td_grow((void **)&maker->touched, &maker->touched_room, problem->n_constraints, sizeof *maker->touched) ||
        !td_grow((void **)&maker->G, &maker->G_room, 9 * (int64_t)problem->n_constraints, sizeof *maker->G))
        return td_fail_memory(error, "the local model");
    memset(maker->G, 0, 9 * (size_t)problem->n_constraints * sizeof *maker->G);
    out->others = mark(maker, problem, n, list);
    for (int k = 0; k < n; k++)
        maker->G[9 * (int64_t)list[k]] = -1; // the tool's own
    const tdSapProblem view = {.n_blocks = problem->n_blocks,
                               .n_constraints = problem->n_constraints,
                               .blocks = problem->blocks,
                               .constraints = problem->constraints};
    TD_TRY(td_dual_make(&maker->dual, &view, problem->factors, maker->touched, error));
    tdPose before = td_guided_pose(td_guided_of(body), state->start + body->first);
    for (int k = 0; k < n; k++)
    {
        describe(maker, model, state, list[k], &before, out);
        for (int r = 0; r < 3; r++)
            rows[3 * k + r] = maker->dual.first[list[k]] + r;
    }
    double *W = maker->dual.S; // of as many entries as the dual, and not needed any more
    if (!condense(maker, problem, 3 * n, rows, out->others, W))
        return td_fail_memory(error, "the local model");
    finish_rows(maker, model, state, list, W, out);
    add_coupling(maker, out);
    return TD_OK;
}

tdStatus td_local_make(tdLocalMaker *maker, const tdModel *model, tdState *state, double clock, tdLocal *out,
                       tdError *error)
{
    const tdBody *body = &model->bodies[maker->body];
    out->step = state->steps;
    out->time = state->time;
    out->clock = clock;
    out->h = model->scheme.h;
    out->tool = td_guided_pose(td_guided_of(body), state->q + body->first);
    out->n = out->left_out = out->others = 0;
    memset(out->force, 0, sizeof out->force);
    memset(out->torque, 0, sizeof out->torque);
    if (state->joined && state->steps > 0)
        TD_TRY(make_rows(maker, model, state, out, error));
    memcpy(maker->last, out, offsetof(tdLocal, C));
    maker->has_last = true;
    return TD_OK;
}
