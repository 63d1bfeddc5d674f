// SPDX-License-Identifier: Apache-2.0
// From the problem of a step to the local model of a tool. See local.h.
#include "haptic/local_bond.h"
#include "haptic/local_patch.h"

#include "base/lapack.h"
#include "base/vector.h"
#include "body/guided.h"
#include "contact/contact.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OTHERS 900 // rows of others that are taken into account: their matrix is dense
#define MOST_HELD   8   // free bodies that a tool presses at once

tdStatus td_local_create(const tdModel *model, int body, const tdCoupling *coupling, tdLocalMaker **out, tdError *error)
{
    *out = NULL;
    if (body < 0 || body >= model->n_bodies || model->bodies[body].guided == NULL)
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
    maker->attached = td_local_has_bonds(maker, model);
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
    free(maker->list);
    free(maker->members);
    free(maker->bond_rows);
    free(maker->bond_work);
    free(maker->root);
    free(maker->work);
    free(maker);
}

// ---------------------------------------------------------------- which contacts

// +1: the tool is side B, which a positive impulse pushes along the normal; -1: side A; 0: neither.
static int tool_sign(const tdLocalMaker *maker, const tdModel *model, const tdContact *contact)
{
    const tdContactCollider *colliders = model->contact->colliders;
    return td_local_is_tool(maker, model, colliders[contact->b.collider].body)   ? 1
           : td_local_is_tool(maker, model, colliders[contact->a.collider].body) ? -1
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

static bool bears(const tdProblem *problem, int32_t c)
{
    return problem->gamma[TD_SAP_ROWS * (int64_t)c + 2] > 0;
}

// The nearest contacts of the tool that bear no force, `most` at most, by number; returns how many.
static int choose_open(const tdLocalMaker *maker, const tdModel *model, const tdContactState *cs,
                       const tdProblem *problem, int most, int32_t *list, int *left_out)
{
    double gap[TD_LOCAL_CONTACTS];
    int n = 0;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        const tdContact *contact = contact_of(problem, cs, c);
        if (contact == NULL || bears(problem, c) || tool_sign(maker, model, contact) == 0)
            continue;
        double here = gap_of(model, cs, problem, c);
        if (n == most)
        {
            int farthest = 0;
            ++*left_out;
            for (int k = 1; k < n; k++)
                farthest = gap[k] > gap[farthest] ? k : farthest;
            if (n == 0 || !(here < gap[farthest]))
                continue;
            n--;
            memmove(list + farthest, list + farthest + 1, (size_t)(n - farthest) * sizeof *list);
            memmove(gap + farthest, gap + farthest + 1, (size_t)(n - farthest) * sizeof *gap);
        }
        list[n] = c;
        gap[n++] = here;
    }
    return n;
}

static int body_of(const tdModel *model, const tdContactSide *side)
{
    return model->contact->colliders[side->collider].body;
}

static double keeps(const tdModel *model, const tdState *state, int body)
{
    const tdBodyOps *ops = model->bodies[body].ops;
    return ops->keeps != NULL ? ops->keeps(&model->bodies[body], state) : 0;
}

// Free rigid bodies that the tool presses, MOST_HELD at most; returns how many.
static int find_held(const tdLocalMaker *maker, const tdModel *model, const tdState *state, int held[MOST_HELD])
{
    const tdProblem *problem = state->problem;
    int n = 0;
    for (int32_t c = 0; c < problem->n_constraints && n < MOST_HELD; c++)
    {
        const tdContact *contact = contact_of(problem, state->contact, c);
        int sign = contact != NULL && bears(problem, c) ? tool_sign(maker, model, contact) : 0;
        int body = sign != 0 ? body_of(model, sign > 0 ? &contact->a : &contact->b) : -1;
        bool known = sign == 0 || keeps(model, state, body) < 1;
        for (int k = 0; k < n; k++)
            known = known || held[k] == body;
        if (!known)
            held[n++] = body;
    }
    return n;
}

// A contact of such a body with something else.
static bool is_inner(const tdLocalMaker *maker, const tdModel *model, const tdState *state, int n, const int *held,
                     int32_t c)
{
    const tdContact *contact = contact_of(state->problem, state->contact, c);
    if (n == 0 || contact == NULL || !bears(state->problem, c) || tool_sign(maker, model, contact) != 0)
        return false;
    for (int k = 0; k < n; k++)
        if (held[k] == body_of(model, &contact->a) || held[k] == body_of(model, &contact->b))
            return true;
    return false;
}

// Contacts of the tool: all that bear a force, then the nearest others while there is room. Sorted by their numbers.
static bool choose(tdLocalMaker *maker, const tdModel *model, const tdState *state, int *left_out)
{
    const tdContactState *cs = state->contact;
    const tdProblem *problem = state->problem;
    int32_t open[TD_LOCAL_CONTACTS];
    int held[MOST_HELD], n_held = find_held(maker, model, state, held), n = 0, n_open = 0, inner = 0;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        const tdContact *contact = contact_of(problem, cs, c);
        n += contact != NULL && bears(problem, c) && tool_sign(maker, model, contact) != 0;
        inner += is_inner(maker, model, state, n_held, held, c);
    }
    if (n + inner > td_local_room(maker))
        n_held = inner = 0;
    int most = n + inner < td_local_room(maker) ? td_local_room(maker) - n - inner : 0;
    n_open = choose_open(maker, model, cs, problem, most, open, left_out);
    n += n_open + inner;
    int64_t rooms[2] = {maker->member_room, maker->member_room};
    if (n + TD_LOCAL_BOND_BLOCKS > maker->member_room)
    {
        if (!td_grow((void **)&maker->list, &rooms[0], n + TD_LOCAL_BOND_BLOCKS, sizeof *maker->list) ||
            !td_grow((void **)&maker->members, &rooms[1], n + TD_LOCAL_BOND_BLOCKS, sizeof *maker->members))
            return false;
        maker->member_room = rooms[0] < rooms[1] ? rooms[0] : rooms[1];
    }
    maker->n_members = 0;
    for (int32_t c = 0, k = 0; c < problem->n_constraints; c++)
    {
        const tdContact *contact = contact_of(problem, cs, c);
        bool near = k < n_open && open[k] == c;
        k += near;
        if (near || (contact != NULL && bears(problem, c) && tool_sign(maker, model, contact) != 0) ||
            is_inner(maker, model, state, n_held, held, c))
            maker->list[maker->n_members++] = c;
    }
    return true;
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

// Marks rows of the tool and rows of others that give way: G = -d(gamma)/d(v_c) of their laws is not zero. root: 9 a
// constraint, B with B B' = G, of the tool's own negative. Returns how many rows of others there are.
static int mark(const tdLocalMaker *maker, const tdModel *model, const tdProblem *problem)
{
    int others = 0;
    for (int32_t c = 0, k = 0; c < problem->n_constraints; c++)
    {
        const tdSapLaw *law = &problem->constraints[c].law;
        double gamma[TD_SAP_ROWS], G[9], *root = maker->root + 9 * (int64_t)c;
        bool of_tool = k < maker->n_members && maker->list[k] == c;
        k += of_tool;
        of_tool = of_tool || td_local_is_bond(maker, model, problem->owner[c]);
        maker->touched[c] = of_tool;
        root[0] = -1;
        if (of_tool || others + law->rows > MOST_OTHERS)
            continue;
        td_sap_project(law, problem->v_c + TD_SAP_ROWS * (int64_t)c, gamma, G);
        maker->touched[c] = root_of(law->rows, G, root);
        others += maker->touched[c] ? law->rows : 0;
    }
    return others;
}

static bool is_other(const tdLocalMaker *maker, int32_t c)
{
    return maker->touched[c] && maker->root[9 * (int64_t)c] >= 0;
}

// X = B' W of the others' rows, over all rows of the dual.
static void times_roots(const tdLocalMaker *maker, const tdProblem *problem, double *X)
{
    const tdDual *dual = &maker->dual;
    int64_t m = dual->n;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        int rows = problem->constraints[c].law.rows;
        const double *B = maker->root + 9 * (int64_t)c;
        for (int i = 0; is_other(maker, c) && i < rows; i++, X += m)
            for (int64_t j = 0; j < m; j++)
            {
                X[j] = 0;
                for (int k = i; k < rows; k++)
                    X[j] += B[k * rows + i] * dual->W[(dual->first[c] + k) * m + j];
            }
    }
}

// S = I + X B, by columns.
static void make_inner(const tdLocalMaker *maker, const tdProblem *problem, int64_t others, const double *X, double *S)
{
    const tdDual *dual = &maker->dual;
    int64_t m = dual->n, column = 0;
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        int rows = problem->constraints[c].law.rows;
        const double *B = maker->root + 9 * (int64_t)c;
        for (int j = 0; is_other(maker, c) && j < rows; j++, column++)
            for (int64_t i = 0; i < others; i++)
            {
                double sum = i == column;
                for (int k = j; k < rows; k++)
                    sum += X[i * m + dual->first[c] + k] * B[k * rows + j];
                S[column * others + i] = sum;
            }
    }
}

// Row i of the tool's in the dual: of its contacts, then of what it is attached to.
static int64_t row_of(const tdLocalMaker *maker, int64_t i)
{
    int64_t n = 3 * (int64_t)maker->n_members;
    return i < n ? maker->dual.first[maker->list[i / 3]] + i % 3 : maker->bond_rows[i - n].at;
}

// W of the tool's rows: W_tt - W_to B (I + B' W_oo B)^-1 B' W_ot. That is J (A + J_o' G J_o)^-1 J' of them.
static tdStatus condense(tdLocalMaker *maker, const tdProblem *problem, int others, double *W, tdError *error)
{
    const tdDual *dual = &maker->dual;
    int64_t m = dual->n, o = others;
    int n = 3 * maker->n_members + maker->n_bond_rows;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            W[i * n + j] = dual->W[row_of(maker, i) * m + row_of(maker, j)];
    if (others == 0)
        return TD_OK;
    if (!td_grow((void **)&maker->work, &maker->work_room, o * (m + o + n), sizeof *maker->work))
        return td_fail_memory(error, "the local model");
    double *X = maker->work, *S = X + o * m, *Y = S + o * o;
    int size = others, info = 0;
    times_roots(maker, problem, X);
    make_inner(maker, problem, o, X, S);
    dpotrf_("L", &size, S, &size, &info, 1);
    if (info != 0)
        return td_fail(error, TD_ERROR_NUMERIC, "the compliance of what the tool touches is not positive definite");
    for (int64_t i = 0; i < o; i++)
        for (int j = 0; j < n; j++)
            Y[j * o + i] = X[i * m + row_of(maker, j)];
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, size, n, 1, S, size, Y, size);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            W[i * n + j] -= cblas_ddot(size, Y + i * o, 1, Y + j * o, 1);
    return TD_OK;
}

// ---------------------------------------------------------------- rows

// The impulses of the last model, each at the contact of this one that is nearest to it: what changed since moved the
// surface, the rest is its own motion.
static void last_impulses(const tdLocalMaker *maker, const tdLocal *local, double s, double *gamma)
{
    const tdLocal *last = maker->last;
    double wrench[2][3] = {{0}}, lever2 = maker->lever * maker->lever;
    memset(gamma, 0, 3 * (size_t)local->n * sizeof *gamma);
    for (int i = 0; i < last->n; i++)
    {
        const tdLocalContact *from = &last->contact[i];
        double force[3] = {0, 0, 0}, nearest = INFINITY;
        int at = -1;
        for (int r = 0; r < 3 && from->bond; r++)
            for (int k = 0; k < 3; k++)
            {
                wrench[0][k] += from->force[r] * from->direction[r][k];
                wrench[1][k] += from->force[r] * from->couple[r][k];
            }
        for (int k = 0; k < local->n && !from->inner && !from->bond; k++)
        {
            double d[3];
            if (local->contact[k].inner || local->contact[k].bond)
                continue;
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
    for (int i = 0; i < 3 * local->n; i++)
    {
        const tdLocalContact *to = &local->contact[i / 3];
        if (to->bond)
            gamma[i] = s * (td_dot3(wrench[0], to->direction[i % 3]) + td_dot3(wrench[1], to->couple[i % 3]) / lever2);
    }
}

// By how much the motion of a contact's rows grew in the step, of bodies that keep all of theirs: where forces stay as
// they are it grows as much in the next.
static void gain(const tdModel *model, const tdState *state, int32_t c, const tdContact *contact, double out[3])
{
    const tdSapConstraint *constraint = &state->problem->constraints[c];
    const tdContactSide *sides[2] = {&contact->a, &contact->b};
    memset(out, 0, 3 * sizeof *out);
    for (int i = 0; i < 2; i++)
    {
        int b = body_of(model, sides[i]);
        const tdBody *body = &model->bodies[b];
        const tdContactBody *mine = &state->contact->bodies[b];
        for (int64_t k = 0; k < body->count && keeps(model, state, b) >= 1; k++)
        {
            int32_t column = td_contact_column(mine, k);
            double change = state->v[body->first + k] - state->v_start[body->first + k];
            for (int s = 0; s < constraint->sides && column >= 0; s++)
            {
                const tdSapSide *side = &constraint->side[s];
                for (int32_t j = 0; j < side->count && side->block == mine->block; j++)
                    for (int r = 0; r < 3 && (side->columns != NULL ? side->columns[j] : j) == column; r++)
                        out[r] += side->J[(int64_t)r * side->count + j] * change;
            }
        }
    }
}

// What the rows of an inner contact say: its motion and its force, which the tool does not feel.
static void describe_inner(const tdModel *model, const tdState *state, int32_t c, tdLocalMember *member)
{
    const tdProblem *problem = state->problem;
    tdLocalContact *out = &member->rows;
    out->inner = true;
    for (int r = 0; r < 3; r++)
    {
        int64_t row = TD_SAP_ROWS * (int64_t)c + r;
        out->force[r] = problem->gamma[row] / model->scheme.s;
        out->rate[r] = problem->v_c[row] + problem->drift[row];
    }
    gain(model, state, c, contact_of(problem, state->contact, c), member->gain);
    member->keeps = 1;
    member->free = true;
}

// What the rows of a contact say of the tool: directions, place, friction, force; and how its surface moved.
static void describe(const tdLocalMaker *maker, const tdModel *model, const tdState *state, int32_t c, tdLocal *local,
                     tdLocalMember *member)
{
    const tdProblem *problem = state->problem;
    const tdContact *contact = contact_of(problem, state->contact, c);
    tdLocalContact *out = &member->rows;
    int sign = tool_sign(maker, model, contact);
    *out = (tdLocalContact){.mu = problem->constraints[c].law.mu};
    member->R = problem->constraints[c].law.R[2];
    member->gap = gap_of(model, state->contact, problem, c);
    memset(member->force, 0, sizeof member->force);
    if (sign == 0)
    {
        describe_inner(model, state, c, member);
        return;
    }
    const double *at = sign > 0 ? contact->b.local : contact->a.local;
    double frame[3][3], from[3], to[3], time = model->scheme.method == TD_METHOD_STATIC ? 1 : model->scheme.h;
    const tdBody *body = &model->bodies[model->contact->colliders[(sign > 0 ? contact->b : contact->a).collider].body];
    tdPose before = td_guided_pose(body->guided, state->start + body->first);
    tdPose after = td_guided_pose(body->guided, state->q + body->first);
    td_contact_frame(contact->normal, frame);
    td_place(&before, at, from);
    td_place(&after, at, to);
    td_subtract3(to, local->tool.t, out->arm);
    member->keeps = keeps(model, state, body_of(model, sign > 0 ? &contact->a : &contact->b));
    member->free = member->keeps >= 1;
    for (int r = 0; r < 3; r++)
    {
        int64_t row = TD_SAP_ROWS * (int64_t)c + r;
        out->force[r] = problem->gamma[row] / model->scheme.s;
        out->rate[r] = problem->v_c[row] + problem->drift[row];
        for (int k = 0; k < 3; k++)
        {
            out->direction[r][k] = sign * frame[r][k];
            out->rate[r] -= out->direction[r][k] * (to[k] - from[k]) / time; // the tool's own motion
            member->force[k] += out->force[r] * out->direction[r][k];
        }
    }
    double torque[3];
    gain(model, state, c, contact, member->gain);
    td_cross3(out->arm, member->force, torque);
    for (int k = 0; k < 3; k++)
    {
        local->force[k] += member->force[k];
        local->torque[k] += torque[k];
    }
}

// How surfaces under load go on where no force changes: with the share of their velocity that their body keeps, less
// where others hold it, whose part in the compliance says how much. (What gives way like a spring stops with the tool.)
static void go_on(tdLocalMaker *maker, const double *W)
{
    const tdDual *dual = &maker->dual;
    int64_t touch = 3 * (int64_t)maker->n_members, n = touch + maker->n_bond_rows;
    for (int64_t i = 0; i < n; i++)
    {
        double alone = dual->W[row_of(maker, i) * (dual->n + 1)], share = alone > 0 ? W[i * (n + 1)] / alone : 0;
        if (i >= touch)
            maker->bond_rows[i - touch].rate *= maker->bond_rows[i - touch].keeps * share;
        else if (maker->members[i / 3].rows.force[2] > 0)
            maker->members[i / 3].rows.rate[i % 3] *= maker->members[i / 3].keeps * share;
        if (i < touch)
            maker->members[i / 3].rows.rate[i % 3] += share * maker->members[i / 3].gain[i % 3];
        if (i < touch && i % 3 == 2)
            maker->members[i / 3].keeps *= share;
    }
}

// ---------------------------------------------------------------- together

// Gaps without forces, so that the step's own forces solve the problem where the tool was; how surfaces move by
// themselves; compliance as displacement per force. C holds W, by velocity and impulse.
static void finish_rows(tdLocalMaker *maker, const tdModel *model, tdLocal *local)
{
    int rows = 3 * local->n;
    double per = model->scheme.c * model->scheme.s, gamma[TD_LOCAL_ROWS], now[TD_LOCAL_ROWS];
    double gap[TD_LOCAL_CONTACTS] = {0}, R[TD_LOCAL_CONTACTS] = {0}, kept[TD_LOCAL_CONTACTS] = {0};
    bool moves = maker->has_last && maker->last->step + 1 == local->step && model->scheme.method != TD_METHOD_STATIC;
    last_impulses(maker, local, model->scheme.s, gamma);
    for (int i = 0; i < maker->n_members; i++)
    {
        const tdLocalMember *member = &maker->members[i];
        gap[member->patch] += member->share * member->gap;
        kept[member->patch] += member->share * (member->free ? member->keeps : 0);
        // Near-rigid points and those of a given stiffness give way by themselves, along the normal.
        R[member->patch] += member->share * member->share * member->R;
    }
    for (int k = 0; k < rows; k++)
        now[k] = local->contact[k / 3].force[k % 3];
    for (int i = 0; i < rows; i++)
    {
        tdLocalContact *contact = &local->contact[i / 3];
        int r = i % 3;
        double sum = 0, change = 0, *C = local->C + (int64_t)i * rows;
        for (int j = 0; j < rows; j++)
        {
            change += C[j] * (model->scheme.s * now[j] - gamma[j]);
            C[j] = per * (C[j] + (i == j && r == 2 ? R[i / 3] : 0));
            sum += C[j] * now[j];
        }
        bool open = !(contact->force[2] > 0) && !contact->bond;
        contact->b[r] = (r == 2 && open ? gap[i / 3] : 0) - sum;
        // What bears no force went on by itself but for what forces changed since: tissue that was let go of comes to
        // rest, a free rigid body flies on. Of what bears one the motion is mostly the tool's, and to go on with that
        // would push the tool about: see go_on().
        contact->rate[r] = !moves ? 0 : open ? contact->rate[r] - (1 - kept[i / 3]) * change : contact->rate[r];
    }
}

void td_coupling_tip(const tdCoupling *coupling, const tdPose *tool, double force[3], double torque[3])
{
    double shaft[3], across[3];
    if (!coupling->through)
        return;
    td_subtract3(coupling->trocar, tool->t, shaft);
    double length = td_dot3(shaft, shaft), about = td_dot3(torque, shaft);
    if (!(length > 0))
        return;
    td_cross3(torque, shaft, across);
    for (int k = 0; k < 3; k++)
    {
        force[k] -= across[k] / length;
        torque[k] = about / length * shaft[k];
    }
}

// C += E K^-1 E': the coupling gives way too.
static void add_coupling(const tdLocalMaker *maker, tdLocal *local)
{
    int rows = 3 * local->n;
    double along = 1 / maker->coupling.stiffness, about = 1 / maker->coupling.angular_stiffness;
    double torque[TD_LOCAL_ROWS][3], force[TD_LOCAL_ROWS][3];
    for (int i = 0; i < rows; i++)
    {
        const tdLocalContact *contact = &local->contact[i / 3];
        memcpy(force[i], contact->direction[i % 3], sizeof force[i]);
        td_cross3(contact->arm, force[i], torque[i]);
        if (contact->bond)
            memcpy(torque[i], contact->couple[i % 3], sizeof torque[i]);
        td_coupling_tip(&maker->coupling, &local->tool, force[i], torque[i]);
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            local->C[i * rows + j] += along * td_dot3(force[i], force[j]) + about * td_dot3(torque[i], torque[j]);
}

static tdStatus make_rows(tdLocalMaker *maker, const tdModel *model, tdState *state, tdLocal *out, tdError *error)
{
    tdProblem *problem = state->problem;
    if (!choose(maker, model, state, &out->left_out))
        return td_fail_memory(error, "the local model");
    if (maker->n_members == 0 && !maker->attached)
        return TD_OK;
    if (!td_grow((void **)&maker->touched, &maker->touched_room, problem->n_constraints, sizeof *maker->touched) ||
        !td_grow((void **)&maker->root, &maker->root_room, 9 * (int64_t)problem->n_constraints, sizeof *maker->root))
        return td_fail_memory(error, "the local model");
    out->others = mark(maker, model, problem);
    const tdSapProblem view = {.n_blocks = problem->n_blocks,
                               .n_constraints = problem->n_constraints,
                               .blocks = problem->blocks,
                               .constraints = problem->constraints};
    TD_TRY(td_dual_make(&maker->dual, &view, problem->factors, maker->touched, error));
    for (int k = 0; k < maker->n_members; k++)
        describe(maker, model, state, maker->list[k], out, &maker->members[k]);
    TD_TRY(td_local_describe_bonds(maker, model, state, out, error));
    double *W = maker->dual.S; // of as many entries as the dual, and not needed any more
    TD_TRY(condense(maker, problem, out->others, W, error));
    go_on(maker, W);
    out->n = td_local_make_patches(maker);
    if (maker->n_bond_rows > 0)
    {
        TD_TRY(td_local_reduce_bonds(maker, model, out, 3 * maker->n_members, W, &W, error));
        for (int k = 0; k < TD_LOCAL_BOND_BLOCKS; k++)
            maker->members[maker->n_members - TD_LOCAL_BOND_BLOCKS + k].patch = out->n++;
    }
    for (int p = 0; p < out->n; p++)
        td_local_sum_patch(maker, p, &out->contact[p]);
    for (int k = 0; k < maker->n_members; k++)
        td_local_set_parts(&maker->members[k], &out->contact[maker->members[k].patch]);
    td_local_reduce(maker, out, W, out->C);
    finish_rows(maker, model, out);
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
    out->lead = 0;
    out->tool = td_guided_pose(body->guided, state->q + body->first);
    out->n = out->left_out = out->others = 0;
    memset(out->force, 0, sizeof out->force);
    memset(out->torque, 0, sizeof out->torque);
    if (state->joined && state->steps > 0)
        TD_TRY(make_rows(maker, model, state, out, error));
    memcpy(maker->last, out, offsetof(tdLocal, C));
    maker->has_last = true;
    return TD_OK;
}
