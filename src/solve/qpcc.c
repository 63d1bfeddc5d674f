// SPDX-License-Identifier: Apache-2.0
// Inverse control beside contact by pieces: min |error(y)| subject to the laws of exact.h, a quadratic program with
// complementarity constraints.
//
// With every contact in one mode (open, stick, slide) impulses are linear in the efforts, and so is what is left of the
// errors. A piece is the set of efforts for which these modes are valid:
//
//     closed  gamma_n >= 0      open  u_n >= 0      stick  mu gamma_n - |gamma_t| >= 0      slide  -d . u_t >= 0
//
// The best y of a piece is a quadratic program with these rows (the owner's `choose`). Its rows that hold are contacts
// that block: the program pivots on the one that blocks most, and goes on in the piece on the other side if that has a
// better y; else the next is tried. Where no pivot leads on, y is stationary: a minimum in its piece and in all that
// differ by one contact. Rows are added as they are violated; cones by planes.
//
// From there the search begins again elsewhere: where efforts would go if nothing were touched, with the contacts glued
// that bear, and across each contact that blocks. The best of them is the solution.
#include "solve/exact.h"
#include "solve/problem.h"

#include <math.h>
#include <string.h>

#define SHARPER  1e-9  // tolerance of the laws: errors of effectors are differences of solutions
#define PIVOTS   200   // places that are tried
#define STARTS   30    // other places to begin from
#define ROUNDS   12    // of rows that are added because they are violated
#define KEPT     1e-10 // of sizes: a row that is violated by less is not
#define HOLDS    1e-7  // of sizes: a row that is nearer to its bound than this holds
#define SETTLES  4     // with laws that follow the loads
#define SHORT    1e-4  // of the first step: shorter ones are none
#define MODES    3     // into which a contact may be pivoted, most
#define SWITCHES 5e-3  // share of the error by which another place has to be better

enum
{
    CLOSED,
    APART,
    CONE,
    SLIP
};

// A row that keeps a contact in its mode.
typedef struct Row
{
    int32_t contact;
    int kind;
    double violation; // of the y that would be best without it, relative to sizes
} Row;

// A y with its solution.
typedef struct Spot
{
    double *y, *gamma, *along;
    signed char *mode;
    tdSteerPlace place;
} Spot;

typedef struct Search
{
    tdProblem *problem;
    tdSteer *steer;
    tdExact exact;
    tdTasks *tasks;
    tdSolveResult *result;
    tdError *error;
    double tolerance;
    double *y0, *v0, *next, *d;
    Spot here, best, piece;                       // piece: the best y of the last one, by slopes
    double *u;                                    // there
    Row rows[TD_STEER_KEPT], held[TD_STEER_KEPT]; // of the piece; those that held in the last
    int n_held;
    tdSteerStep step; // to it
    int tried, most;
    double size_u; // of motion
} Search;

// ---------------------------------------------------------------- spots

static bool take_spot(tdStack *stack, Spot *spot, int n_y, int n, int32_t constraints)
{
    spot->y = td_stack_take(stack, n_y + 1, sizeof *spot->y);
    spot->gamma = td_stack_take(stack, n + 1, sizeof *spot->gamma);
    spot->along = td_stack_take(stack, 2 * (int64_t)constraints + 1, sizeof *spot->along);
    spot->mode = td_stack_take(stack, n + 1, sizeof *spot->mode);
    return spot->y != NULL && spot->gamma != NULL && spot->along != NULL && spot->mode != NULL;
}

static void copy_spot(const Search *s, Spot *to, const double *y, const double *gamma, const double *along,
                      const signed char *mode)
{
    size_t n = (size_t)s->exact.n;
    memcpy(to->y, y, (size_t)s->steer->n * sizeof *y);
    memcpy(to->gamma, gamma, n * sizeof *gamma);
    memcpy(to->along, along, 2 * (size_t)s->problem->n_constraints * sizeof *along);
    memcpy(to->mode, mode, n);
}

static void keep(const Search *s, Spot *to)
{
    copy_spot(s, to, s->steer->y, s->exact.gamma, s->exact.along, s->exact.mode);
    to->place = s->steer->place;
}

// The solution of a spot, and all that the owner reads of it.
static void go_to(Search *s, const Spot *spot)
{
    size_t n = (size_t)s->exact.n;
    memcpy(s->steer->y, spot->y, (size_t)s->steer->n * sizeof *spot->y);
    memcpy(s->exact.gamma, spot->gamma, n * sizeof *spot->gamma);
    memcpy(s->exact.along, spot->along, 2 * (size_t)s->problem->n_constraints * sizeof *spot->along);
    memcpy(s->exact.mode, spot->mode, n);
    s->steer->place = spot->place;
}

static void solve_at(Search *s, const double *y)
{
    s->steer->solutions++;
    memmove(s->steer->y, y, (size_t)s->steer->n * sizeof *y);
    td_exact_solve(&s->exact, s->steer->y, fmin(s->tolerance, SHARPER), s->tasks, &s->result->iterations);
    s->result->limit = !s->exact.converged;
    td_exact_write(&s->exact);
    td_steer_read(s->problem);
}

// ---------------------------------------------------------------- rows of a piece

static double along(const double *row, const double *d, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += row[k] * d[k];
    return sum;
}

// Value and slope of the row that a contact has in its mode, at the step d; which kind. The size is what it is relative
// to. False: it has none of this number.
static bool mode_row(const Search *s, int32_t c, int number, double *value, double *slope, double *size, int *kind)
{
    const tdExact *e = &s->exact;
    const tdSapLaw *law = &s->problem->constraints[c].law;
    int n = e->n_y, i = s->problem->dual.first[c];
    const double *gamma = e->gamma + i, *u = e->u + i;
    const double *S = e->slope + i * (int64_t)n, *U = e->u_slope + i * (int64_t)n;
    double w = s->problem->dual.W[(i + 2) * (int64_t)e->n + i + 2] + e->R[i + 2];
    double impulse = w > 0 ? s->size_u / w : 1;
    if (e->mode[i] == TD_EXACT_OPEN)
    {
        *kind = APART;
        *value = u[2];
        *size = s->size_u;
        memcpy(slope, U + 2 * (int64_t)n, (size_t)n * sizeof *slope);
        return number == 0;
    }
    if (number == 0)
    {
        *kind = CLOSED;
        *value = gamma[2];
        *size = impulse;
        memcpy(slope, S + 2 * (int64_t)n, (size_t)n * sizeof *slope);
        return true;
    }
    if (law->mu == 0 || number > 1)
        return false;
    if (e->mode[i] == TD_EXACT_STICK)
    {
        double t[2] = {gamma[0] + along(S, s->d, n), gamma[1] + along(S + n, s->d, n)}, length = hypot(t[0], t[1]);
        if (length == 0)
            return false;
        *kind = CONE;
        *value = law->mu * gamma[2] - (t[0] * gamma[0] + t[1] * gamma[1]) / length;
        *size = impulse;
        for (int k = 0; k < n; k++)
            slope[k] = law->mu * S[2 * n + k] - (t[0] * S[k] + t[1] * S[n + k]) / length;
        return true;
    }
    const double *to = e->along + 2 * (int64_t)c;
    *kind = SLIP;
    *value = -(to[0] * u[0] + to[1] * u[1]);
    *size = s->size_u;
    for (int k = 0; k < n; k++)
        slope[k] = -(to[0] * U[k] + to[1] * U[n + k]);
    return true;
}

// Adds row `number` of a contact if the step d violates it, or in any case.
static bool keep_mode(Search *s, int32_t c, int number, bool always)
{
    tdSteer *steer = s->steer;
    int n = steer->n, kind;
    double value, size, *slope = steer->kept + (int64_t)steer->n_kept * n;
    if (steer->n_kept == TD_STEER_KEPT || s->problem->constraints[c].law.kind != TD_SAP_CONTACT ||
        !mode_row(s, c, number, &value, slope, &size, &kind))
        return false;
    double at = value + along(slope, s->d, n);
    if (!always && !(at < -2 * KEPT * size))
        return false;
    s->rows[steer->n_kept] = (Row){c, kind, -at / size};
    steer->kept_low[steer->n_kept++] = along(slope, steer->y, n) - value - KEPT * size;
    return true;
}

// Rows that `next` violates; returns how many.
static int keep_modes(Search *s, const double *next)
{
    const tdSteer *steer = s->steer;
    int added = 0;
    for (int k = 0; k < steer->n; k++)
        s->d[k] = next[k] - steer->y[k];
    for (int32_t c = 0; c < s->problem->n_constraints; c++)
        for (int number = 0; number < 2; number++)
            added += keep_mode(s, c, number, false);
    return added;
}

// Rows that held in the last piece, of contacts that have the same in this one.
static void keep_held(Search *s)
{
    memset(s->d, 0, (size_t)s->steer->n * sizeof *s->d);
    for (int i = 0; i < s->n_held; i++)
    {
        const Row *row = &s->held[i];
        signed char mode = s->exact.mode[s->problem->dual.first[row->contact]];
        bool same = row->kind == APART    ? mode == TD_EXACT_OPEN
                    : row->kind == CLOSED ? mode != TD_EXACT_OPEN
                    : row->kind == CONE   ? mode == TD_EXACT_STICK
                                          : mode == TD_EXACT_SLIDE;
        if (same)
            keep_mode(s, row->contact, row->kind == CONE || row->kind == SLIP, true);
    }
}

// ---------------------------------------------------------------- the best y of a piece

// What the owner reads, for the piece.
static void show_piece(const Search *s)
{
    const tdExact *e = &s->exact;
    const tdProblem *p = s->problem;
    tdSteer *steer = s->steer;
    size_t n = (size_t)steer->n;
    td_exact_write(e);
    td_steer_read(s->problem);
    for (int32_t c = 0; c < p->n_constraints; c++)
        for (int r = 0; r < TD_SAP_ROWS; r++)
        {
            int64_t at = (TD_SAP_ROWS * (int64_t)c + r) * (int64_t)n, i = p->dual.first[c] + r;
            bool has = r < p->constraints[c].law.rows;
            for (size_t k = 0; k < n; k++)
            {
                steer->dgamma[at + (int64_t)k] = has ? e->slope[i * (int64_t)n + (int64_t)k] : 0;
                steer->dv_c[at + (int64_t)k] =
                    has ? e->u_slope[i * (int64_t)n + (int64_t)k] - e->R[i] * e->slope[i * (int64_t)n + (int64_t)k] : 0;
            }
        }
    td_steer_read_slopes(steer, steer->n, steer->dgamma, steer->dpush);
}

static bool is_little(const Search *s, double gain)
{
    return td_steer_is_little(gain, s->here.place.error, s->steer->tolerance);
}

enum
{
    WITHIN = 0, // where the modes hold
    ANYWHERE = 1,
    SLACK = 2, // efforts may press less
    GAINS = 4  // only what gains is of interest
};

// From steer->y in the modes of `exact`: the best y by slopes into `piece`; whether its modes hold there.
static bool look(Search *s, double reach, int how)
{
    tdSteer *steer = s->steer;
    tdExact *e = &s->exact;
    int n = steer->n;
    bool slack = (how & SLACK) != 0, valid = true;
    steer->n_kept = 0;
    if (!td_exact_piece(e, steer->y))
        return false;
    show_piece(s);
    if (!(how & ANYWHERE))
        keep_held(s);
    s->step = steer->choose(steer->context, reach, slack, s->next);
    bool infeasible = s->step.infeasible && steer->n_kept == 0;
    if (s->step.infeasible && !infeasible) // of limits alone, or of the rows of modes
    {
        int kept = steer->n_kept;
        steer->n_kept = 0;
        infeasible = steer->choose(steer->context, reach, slack, s->next).infeasible;
        steer->n_kept = kept;
        if (!infeasible)
            return false;
        s->step = steer->choose(steer->context, reach, slack, s->next);
    }
    for (int round = 0; round < ROUNDS && !(how & ANYWHERE); round++)
    {
        if (((how & GAINS) && is_little(s, s->step.gain)) || keep_modes(s, s->next) == 0)
            break;
        s->step = steer->choose(steer->context, reach, slack, s->next);
        valid = infeasible || !s->step.infeasible;
        s->step.infeasible = infeasible;
    }
    for (int k = 0; k < n; k++)
        s->d[k] = s->next[k] - steer->y[k];
    memcpy(s->piece.y, s->next, (size_t)n * sizeof *s->next);
    for (int i = 0; i < e->n; i++)
    {
        s->piece.gamma[i] = e->gamma[i] + along(e->slope + i * (int64_t)n, s->d, n);
        s->u[i] = e->u[i] + along(e->u_slope + i * (int64_t)n, s->d, n);
        s->piece.mode[i] = e->mode[i];
    }
    memcpy(s->piece.along, e->along, 2 * (size_t)s->problem->n_constraints * sizeof *e->along);
    return valid;
}

// Rows that hold at the best y, the one first that is most in the way. Returns how many.
static int blocking_rows(Search *s, Row *out)
{
    const tdSteer *steer = s->steer;
    int n = steer->n, count = 0;
    for (int i = 0; i < steer->n_kept; i++)
    {
        double value = along(steer->kept + (int64_t)i * n, s->piece.y, n) - steer->kept_low[i], scale = 0;
        bool known = false;
        for (int k = 0; k < n; k++)
            scale += fabs(steer->kept[(int64_t)i * n + k] * s->piece.y[k]);
        for (int j = 0; j < count; j++)
            known = known || (out[j].contact == s->rows[i].contact && out[j].kind == s->rows[i].kind);
        if (known || value > HOLDS * fmax(scale, fabs(steer->kept_low[i])))
            continue;
        int at = count++;
        for (; at > 0 && out[at - 1].violation < s->rows[i].violation; at--)
            out[at] = out[at - 1];
        out[at] = s->rows[i];
    }
    memcpy(s->held, out, (size_t)count * sizeof *out);
    s->n_held = count;
    return count;
}

// The piece on the other side of a row, at the best y of this one: the contact's next mode, `number` 0 first. False:
// there is no such mode. A mode in between may be narrow, so that the one behind it is tried too.
static bool pivot(Search *s, const Spot *from, const double *u, const Row *row, int number)
{
    tdExact *e = &s->exact;
    double mu = s->problem->constraints[row->contact].law.mu;
    int i = s->problem->dual.first[row->contact];
    const double *turn = row->kind == APART  ? u + i
                         : row->kind == CONE ? from->gamma + i
                                             : from->along + 2 * (int64_t)row->contact;
    double length = hypot(turn[0], turn[1]), *to = e->along + 2 * (int64_t)row->contact;
    // With which sign friction has the direction `turn`; 0: it sticks.
    int sign = row->kind == CONE    ? 1
               : row->kind == APART ? (number == 0   ? -1
                                       : number == 1 ? 0
                                                     : 1)
               : number == 0        ? 0
                                    : -1;
    static const int modes[] = {[CLOSED] = 1, [APART] = 3, [CONE] = 1, [SLIP] = 2};
    go_to(s, from);
    s->steer->place = s->here.place;
    memcpy(e->u, u, (size_t)e->n * sizeof *u);
    if (number >= (row->kind == APART && mu == 0 ? 1 : modes[row->kind]))
        return false;
    e->mode[i] = row->kind == CLOSED ? TD_EXACT_OPEN : sign == 0 ? TD_EXACT_STICK : TD_EXACT_SLIDE;
    for (int r = 0; r < 2 && length > 0 && e->mode[i] == TD_EXACT_SLIDE; r++)
        to[r] = sign * turn[r] / length;
    return true;
}

// ---------------------------------------------------------------- steps

// Solves at the best y of the piece; `here` becomes it if that is better.
static bool try_piece(Search *s, double *share)
{
    tdSteerStep step = s->step;
    s->tried++;
    s->steer->steps++;
    go_to(s, &s->piece);
    solve_at(s, s->piece.y);
    tdSteerPlace place = s->steer->measure(s->steer->context);
    if (!s->exact.converged || !td_steer_is_better(&s->here.place, &step, &place, s->steer->tolerance, share))
        return false;
    s->steer->place = place;
    keep(s, &s->here);
    return true;
}

// Pivots on contacts that block, the one first that blocks most. True: `here` is better.
static bool pivots(Search *s, double reach, const Row *rows, int n, Spot *from, double *u)
{
    copy_spot(s, from, s->piece.y, s->piece.gamma, s->piece.along, s->piece.mode);
    memcpy(u, s->u, (size_t)s->exact.n * sizeof *u);
    for (int i = 0; i < n; i++)
        for (int number = 0; s->tried < s->most && pivot(s, from, u, &rows[i], number); number++)
        {
            double share = 1;
            if (look(s, reach, GAINS) && !is_little(s, s->step.gain) && try_piece(s, &share))
                return true;
        }
    return false;
}

// Down from `here`, until it is stationary or the bound is reached.
static tdSteerEnd descend(Search *s, Spot *from, double *u)
{
    double reach = INFINITY, first = 0;
    s->steer->blocking = -1;
    while (s->tried < s->most)
    {
        Row rows[TD_STEER_KEPT];
        go_to(s, &s->here);
        bool valid = look(s, reach, WITHIN);
        double length = s->step.length, share = 1;
        if (s->step.infeasible && is_little(s, s->step.gain))
            return TD_STEER_INFEASIBLE;
        first = fmax(first, length);
        if (valid && !is_little(s, s->step.gain) && length > SHORT * first)
        {
            reach = try_piece(s, &share) ? (share > 0.7 ? fmax(reach, 2 * length) : reach) : 0.25 * length;
            continue;
        }
        int n = blocking_rows(s, rows);
        if (n > 0)
            s->steer->blocking = rows[0].contact;
        if (s->here.place.error <= s->steer->tolerance)
            return TD_STEER_OPTIMAL;
        if (!pivots(s, isfinite(reach) ? reach : INFINITY, rows, n, from, u))
            return s->tried < s->most ? TD_STEER_STATIONARY : TD_STEER_STALLED;
        reach = INFINITY;
    }
    return TD_STEER_STALLED;
}

// ---------------------------------------------------------------- other starts

// Starts that change all contacts at once; then each contact in each of its other modes.
enum
{
    ALL_OPEN,
    ALL_SLIDE, // those that bear, against the way that they would take if nothing were touched
    AS_THEY_ARE,
    ALL_STICK,
    EVERYWHERE
};

static void change_all(Search *s, int k)
{
    const tdProblem *p = s->problem;
    tdExact *e = &s->exact;
    for (int32_t c = 0; c < p->n_constraints && k != AS_THEY_ARE; c++)
    {
        int i = p->dual.first[c];
        const double *u = s->u + i;
        double length = k == ALL_SLIDE ? hypot(u[0], u[1]) : 0, mu = p->constraints[c].law.mu;
        if (p->constraints[c].law.kind != TD_SAP_CONTACT ||
            (k == ALL_SLIDE && (e->mode[i] == TD_EXACT_OPEN || length == 0)))
            continue;
        e->mode[i] = k == ALL_OPEN ? TD_EXACT_OPEN : k == ALL_SLIDE || mu == 0 ? TD_EXACT_SLIDE : TD_EXACT_STICK;
        for (int r = 0; r < 2 && k == ALL_SLIDE; r++)
            e->along[2 * c + r] = -u[r] / length;
    }
}

// Modes of start k at `best`; false: there are no more. Contacts that block come first.
static bool start_modes(Search *s, int k, const Row *rows, int n, const Spot *from, const double *u)
{
    const tdProblem *p = s->problem;
    go_to(s, &s->best);
    s->here.place = s->best.place;
    if (k == ALL_SLIDE)
    {
        change_all(s, ALL_OPEN);
        look(s, INFINITY, ANYWHERE);
        go_to(s, &s->best);
    }
    if (k < EVERYWHERE)
    {
        change_all(s, k);
        return true;
    }
    k -= EVERYWHERE;
    for (int i = 0; i < n; i++)
        for (int number = 0; number < MODES && pivot(s, from, u, &rows[i], number); number++)
            if (k-- == 0)
                return true;
    for (int32_t c = 0; c < p->n_constraints; c++)
    {
        signed char mode = from->mode[p->dual.first[c]];
        if (p->constraints[c].law.kind != TD_SAP_CONTACT)
            continue;
        int kinds[2] = {mode == TD_EXACT_OPEN ? APART : CLOSED, mode == TD_EXACT_STICK ? CONE : SLIP};
        for (int j = 0; j < (mode == TD_EXACT_OPEN || p->constraints[c].law.mu == 0 ? 1 : 2); j++)
        {
            Row row = {c, kinds[j], 0};
            bool known = false;
            for (int i = 0; i < n; i++)
                known = known || (rows[i].contact == c && rows[i].kind == row.kind);
            for (int number = 0; number < MODES && !known && pivot(s, from, u, &row, number); number++)
                if (k-- == 0)
                    return true;
        }
    }
    return false;
}

// The contact that pushes back most against the way that efforts would take if nothing were touched; where none does,
// the one whose mode holds it up.
static int32_t most_blocking(Search *s, int32_t holds)
{
    const tdProblem *p = s->problem;
    const tdExact *e = &s->exact;
    int32_t found = holds;
    double most = 0;
    start_modes(s, 0, NULL, 0, NULL, NULL);
    s->steer->place = s->best.place;
    if (!look(s, INFINITY, ANYWHERE))
        return holds;
    go_to(s, &s->best);
    if (!td_exact_piece(&s->exact, s->steer->y))
        return holds;
    for (int k = 0; k < s->steer->n; k++)
        s->d[k] = s->piece.y[k] - s->best.y[k];
    for (int32_t c = 0; c < p->n_constraints; c++)
    {
        int i = p->dual.first[c] + 2;
        if (p->constraints[c].law.kind != TD_SAP_CONTACT || e->mode[i - 2] == TD_EXACT_OPEN)
            continue;
        double back = along(e->slope + i * (int64_t)e->n_y, s->d, e->n_y) * p->dual.W[i * (int64_t)e->n + i];
        if (back > most && back > HOLDS * s->size_u)
        {
            most = back;
            found = c;
        }
    }
    return found;
}

static tdSteerEnd search(Search *s, Spot *from, double *u, Spot *block, double *block_u)
{
    Row rows[TD_STEER_KEPT];
    tdSteer *steer = s->steer;
    keep(s, &s->here);
    tdSteerEnd end = descend(s, from, u);
    copy_spot(s, &s->best, s->here.y, s->here.gamma, s->here.along, s->here.mode);
    s->best.place = s->here.place;
    if (end != TD_STEER_STATIONARY)
        return end;
    int n = 0, starts = steer->starts < 0 ? STARTS : steer->starts;
    int32_t blocking = steer->blocking;
    if (starts > EVERYWHERE)
    {
        go_to(s, &s->best);
        look(s, INFINITY, WITHIN);
        n = blocking_rows(s, rows);
    }
    copy_spot(s, block, s->piece.y, s->piece.gamma, s->piece.along, s->piece.mode);
    memcpy(block_u, s->u, (size_t)s->exact.n * sizeof *u);
    for (int k = 0; k < starts && s->tried < s->most && end == TD_STEER_STATIONARY; k++)
    {
        if (!start_modes(s, k, rows, n, block, block_u))
            break;
        steer->place = s->best.place;
        if (!look(s, INFINITY, k < EVERYWHERE ? ANYWHERE : WITHIN))
            continue;
        go_to(s, &s->piece);
        solve_at(s, s->piece.y);
        if (!s->exact.converged)
            continue;
        s->tried++;
        steer->place = steer->measure(steer->context);
        keep(s, &s->here);
        tdSteerEnd other = descend(s, from, u);
        if (s->here.place.violation <= fmax(s->best.place.violation, 1e-6) &&
            s->here.place.error < (1 - SWITCHES) * s->best.place.error - steer->tolerance)
        {
            copy_spot(s, &s->best, s->here.y, s->here.gamma, s->here.along, s->here.mode);
            s->best.place = s->here.place;
            blocking = steer->blocking;
            end = other == TD_STEER_OPTIMAL ? other : end;
        }
    }
    steer->blocking = end == TD_STEER_OPTIMAL ? -1 : most_blocking(s, blocking);
    return end;
}

// Where nothing is to be gained: less energy; what presses in vain presses less.
static void relax(Search *s, bool slack)
{
    double share = 1;
    go_to(s, &s->best);
    copy_spot(s, &s->here, s->best.y, s->best.gamma, s->best.along, s->best.mode);
    s->here.place = s->best.place;
    if (!look(s, INFINITY, slack ? SLACK : WITHIN) || s->step.length == 0 || !try_piece(s, &share))
        return;
    copy_spot(s, &s->best, s->here.y, s->here.gamma, s->here.along, s->here.mode);
    s->best.place = s->here.place;
}

// ---------------------------------------------------------------- together

// With laws that follow the loads, as a simulation with these efforts would have them.
static tdStatus settle(Search *s, const double *y)
{
    tdProblem *p = s->problem;
    if (s->steer->restart != NULL)
        s->steer->restart(s->steer->context);
    do
    {
        td_exact_laws(&s->exact);
        solve_at(s, y);
        td_steer_set(p, s->y0, s->v0, s->steer->y);
        TD_TRY(td_exact_move(&s->exact, s->error));
    } while (p->again != NULL && p->again(p->context, p, s->result));
    s->size_u = 0;
    for (int i = 0; i < s->exact.n; i++)
        s->size_u = fmax(s->size_u, fabs(s->exact.b[i] - s->exact.v_hat[i]));
    s->steer->place = s->steer->measure(s->steer->context);
    return TD_OK;
}

tdStatus td_qpcc_solve(tdProblem *problem, double tolerance, tdTasks *tasks, tdSolveResult *result, tdError *error)
{
    tdSteer *steer = &problem->steer;
    Search s = {
        .problem = problem, .steer = steer, .tasks = tasks, .result = result, .error = error, .tolerance = tolerance};
    tdStack *stack = &problem->entries;
    int n = steer->n;
    int64_t n_v = 0;
    Spot from = {0}, block = {0};
    for (int32_t b = 0; b < problem->n_blocks; b++)
        n_v += problem->blocks[b].n;
    s.y0 = td_stack_take(stack, 3 * (int64_t)n + n_v + 1, sizeof *s.y0);
    if (s.y0 == NULL || !td_steer_room(problem, tasks))
        return td_fail_memory(error, "inverse control beside contact");
    s.next = s.y0 + n;
    s.d = s.next + n;
    s.v0 = s.d + n;
    double *v0 = s.v0;
    for (int32_t b = 0; b < problem->n_blocks; v0 += problem->blocks[b++].n)
        memcpy(v0, problem->blocks[b].v_star, (size_t)problem->blocks[b].n * sizeof *v0);
    memcpy(s.y0, steer->y, (size_t)n * sizeof *s.y0);
    TD_TRY(td_exact_begin(&s.exact, problem, s.y0, error));
    double *u = td_stack_take(stack, 3 * (int64_t)s.exact.n + 1, sizeof *u);
    Spot *spots[] = {&s.here, &s.best, &s.piece, &from, &block};
    bool good = u != NULL;
    for (size_t i = 0; i < sizeof spots / sizeof spots[0] && good; i++)
        good = take_spot(stack, spots[i], n, s.exact.n, problem->n_constraints);
    if (!good)
        return td_fail_memory(error, "inverse control beside contact");
    s.u = u;
    steer->steps = steer->solutions = 0;
    s.most = steer->most == 0 ? 0 : steer->pivots > 0 ? steer->pivots : PIVOTS;
    TD_TRY(settle(&s, s.y0));
    for (int round = 0; round < SETTLES; round++)
    {
        s.tried = 0;
        steer->end = search(&s, &from, u + s.exact.n, &block, u + 2 * (int64_t)s.exact.n);
        if (s.most > 0 && steer->end != TD_STEER_INFEASIBLE)
            relax(&s, steer->end != TD_STEER_OPTIMAL);
        tdSteerPlace before = s.best.place;
        go_to(&s, &s.best);
        TD_TRY(settle(&s, s.best.y));
        if (s.most == 0 || fabs(steer->place.error - before.error) <= fmax(steer->tolerance, 3e-3 * before.error))
            break;
    }
    // Slopes of the piece, for whoever asks what blocks.
    if (td_exact_piece(&s.exact, steer->y))
        show_piece(&s);
    return TD_OK;
}
