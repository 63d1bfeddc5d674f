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
#include "solve/qpcc.h"

#include <math.h>
#include <string.h>

#define SHARPER  1e-9 // tolerance of the laws: errors of effectors are differences of solutions
#define PIVOTS   400  // places that are tried
#define STARTS   60   // other places to begin from
#define SETTLES  4    // with laws that follow the loads
#define SHORT    1e-4 // of the first step: shorter ones are none
#define MODES    3    // into which a contact may be pivoted, most
#define SWITCHES 5e-3 // share of the error by which another place has to be better

// ---------------------------------------------------------------- spots

static bool take_spot(tdStack *stack, tdQpccSpot *spot, int n_y, int n, int32_t constraints)
{
    spot->y = td_stack_take(stack, n_y + 1, sizeof *spot->y);
    spot->gamma = td_stack_take(stack, n + 1, sizeof *spot->gamma);
    spot->along = td_stack_take(stack, 2 * (int64_t)constraints + 1, sizeof *spot->along);
    spot->mode = td_stack_take(stack, n + 1, sizeof *spot->mode);
    return spot->y != NULL && spot->gamma != NULL && spot->along != NULL && spot->mode != NULL;
}

static void copy_spot(const tdQpcc *s, tdQpccSpot *to, const double *y, const double *gamma, const double *along,
                      const signed char *mode)
{
    size_t n = (size_t)s->exact.n;
    memcpy(to->y, y, (size_t)s->steer->n * sizeof *y);
    memcpy(to->gamma, gamma, n * sizeof *gamma);
    memcpy(to->along, along, 2 * (size_t)s->problem->n_constraints * sizeof *along);
    memcpy(to->mode, mode, n);
}

static void keep(const tdQpcc *s, tdQpccSpot *to)
{
    copy_spot(s, to, s->steer->y, s->exact.gamma, s->exact.along, s->exact.mode);
    to->place = s->steer->place;
}

// The solution of a spot, and all that the owner reads of it.
static void go_to(tdQpcc *s, const tdQpccSpot *spot)
{
    size_t n = (size_t)s->exact.n;
    memcpy(s->steer->y, spot->y, (size_t)s->steer->n * sizeof *spot->y);
    memcpy(s->exact.gamma, spot->gamma, n * sizeof *spot->gamma);
    memcpy(s->exact.along, spot->along, 2 * (size_t)s->problem->n_constraints * sizeof *spot->along);
    memcpy(s->exact.mode, spot->mode, n);
    s->steer->place = spot->place;
}

static void solve_at(tdQpcc *s, const double *y)
{
    s->steer->solutions++;
    memmove(s->steer->y, y, (size_t)s->steer->n * sizeof *y);
    td_exact_solve(&s->exact, s->steer->y, fmin(s->tolerance, SHARPER), s->tasks, &s->result->iterations);
    s->result->limit = !s->exact.converged;
    td_exact_write(&s->exact);
    td_steer_read(s->problem);
}

// The piece on the other side of a row, at the best y of this one: the contact's next mode, `number` 0 first. False:
// there is no such mode. A mode in between may be narrow, so that the one behind it is tried too.
static bool pivot(tdQpcc *s, const tdQpccSpot *from, const double *u, const tdQpccRow *row, int number)
{
    tdExact *e = &s->exact;
    double mu = s->problem->constraints[row->contact].law.mu;
    int i = s->problem->dual.first[row->contact];
    const double *turn = row->kind == TD_QPCC_APART  ? u + i
                         : row->kind == TD_QPCC_CONE ? from->gamma + i
                                                     : from->along + 2 * (int64_t)row->contact;
    double length = hypot(turn[0], turn[1]), *to = e->along + 2 * (int64_t)row->contact;
    // With which sign friction has the direction `turn`; 0: it sticks.
    int sign = row->kind == TD_QPCC_CONE    ? 1
               : row->kind == TD_QPCC_APART ? (number == 0   ? -1
                                               : number == 1 ? 0
                                                             : 1)
               : number == 0                ? 0
                                            : -1;
    static const int modes[] = {[TD_QPCC_CLOSED] = 1, [TD_QPCC_APART] = 3, [TD_QPCC_CONE] = 1, [TD_QPCC_SLIP] = 2};
    go_to(s, from);
    s->steer->place = s->here.place;
    memcpy(e->u, u, (size_t)e->n * sizeof *u);
    if (number >= (row->kind == TD_QPCC_APART && mu == 0 ? 1 : modes[row->kind]))
        return false;
    e->mode[i] = row->kind == TD_QPCC_CLOSED ? TD_EXACT_OPEN : sign == 0 ? TD_EXACT_STICK : TD_EXACT_SLIDE;
    for (int r = 0; r < 2 && length > 0 && e->mode[i] == TD_EXACT_SLIDE; r++)
        to[r] = sign * turn[r] / length;
    return true;
}

// ---------------------------------------------------------------- steps

// Solves at the best y of the piece; `here` becomes it if that is better.
static bool try_piece(tdQpcc *s, double *share)
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
    s->based = false;
    return true;
}

// Pivots on contacts that block, the one first that blocks most. True: `here` is better.
static bool pivots(tdQpcc *s, double reach, const tdQpccRow *rows, int n, tdQpccSpot *from, double *u)
{
    if (!s->looked)
        return false;
    copy_spot(s, from, s->piece.y, s->piece.gamma, s->piece.along, s->piece.mode);
    memcpy(u, s->u, (size_t)s->exact.n * sizeof *u);
    td_exact_keep(&s->exact, from->gamma, u); // the piece that was looked at last
    s->based = true;
    memcpy(s->guess, s->steer->guess, (size_t)s->steer->n * sizeof *s->guess);
    bool found = false;
    for (int i = 0; i < n && !found; i++)
        for (int number = 0; !found && s->tried < s->most && pivot(s, from, u, &rows[i], number); number++)
        {
            double share = 1;
            s->neighbour = rows[i].contact;
            memcpy(s->steer->guess, s->guess, (size_t)s->steer->n * sizeof *s->guess);
            found =
                td_qpcc_look(s, reach, TD_QPCC_GAINS) && !td_qpcc_is_little(s, s->step.gain) && try_piece(s, &share);
        }
    s->neighbour = -1;
    return found;
}

// Down from `here`, until it is stationary or the bound is reached.
static tdSteerEnd descend(tdQpcc *s, tdQpccSpot *from, double *u)
{
    double reach = INFINITY, first = 0;
    s->steer->blocking = -1;
    while (s->tried < s->most)
    {
        tdQpccRow rows[TD_STEER_KEPT];
        go_to(s, &s->here);
        bool valid = td_qpcc_look(s, reach, TD_QPCC_WITHIN);
        double length = s->step.length, share = 1;
        if (s->step.infeasible && td_qpcc_is_little(s, s->step.gain))
            return TD_STEER_INFEASIBLE;
        first = fmax(first, length);
        if (valid && !td_qpcc_is_little(s, s->step.gain) && length > SHORT * first)
        {
            reach = try_piece(s, &share) ? (share > 0.7 ? fmax(reach, 2 * length) : reach) : 0.25 * length;
            continue;
        }
        int n = td_qpcc_blocking(s, rows);
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

static void change_all(tdQpcc *s, int k)
{
    const tdProblem *p = s->problem;
    tdExact *e = &s->exact;
    for (int32_t each = 0; each < e->n_in && k != AS_THEY_ARE; each++)
    {
        int32_t c = e->in[each];
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

// Contacts in modes of all kinds, a draw of each for every number; a third of them stays as it is. Minima that lie many
// switches apart are found so, which is all that it is for.
static void draw_all(tdQpcc *s, int number)
{
    const tdProblem *p = s->problem;
    tdExact *e = &s->exact;
    uint64_t draw = UINT64_C(0x9E3779B97F4A7C15) * ((uint64_t)number + 1);
    for (int32_t each = 0; each < e->n_in; each++)
    {
        int32_t c = e->in[each];
        int i = p->dual.first[c];
        double mu = p->constraints[c].law.mu, angle = 0, *along = e->along + 2 * (int64_t)c;
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        if (p->constraints[c].law.kind != TD_SAP_CONTACT || draw % 3 == 0)
            continue;
        unsigned to = (unsigned)(draw >> 20) % 4;
        e->mode[i] = (signed char)(to == 0 ? TD_EXACT_OPEN : to == 1 && mu > 0 ? TD_EXACT_STICK : TD_EXACT_SLIDE);
        // To both sides of the way it goes, and in space to all.
        angle = (to % 2) * M_PI + (hypot(s->u[i], s->u[i + 1]) > 0 ? atan2(s->u[i + 1], s->u[i]) : 0);
        along[0] = cos(angle);
        along[1] = sin(angle);
    }
}

// Modes of start k at `best`; false: there are no more. Contacts that block come first.
static bool start_modes(tdQpcc *s, int k, const tdQpccRow *rows, int n, const tdQpccSpot *from, const double *u)
{
    const tdProblem *p = s->problem;
    go_to(s, &s->best);
    s->here.place = s->best.place;
    if (k == ALL_SLIDE)
    {
        change_all(s, ALL_OPEN);
        td_qpcc_look(s, INFINITY, TD_QPCC_ANYWHERE);
        go_to(s, &s->best);
    }
    if (k < EVERYWHERE)
    {
        change_all(s, k);
        return true;
    }
    k -= EVERYWHERE;
    if (k % 2 == 1)
    {
        draw_all(s, k);
        return true;
    }
    k /= 2;
    for (int i = 0; i < n; i++)
        for (int number = 0; number < MODES && pivot(s, from, u, &rows[i], number); number++)
            if (k-- == 0)
                return true;
    for (int32_t each = 0; each < s->exact.n_in; each++)
    {
        int32_t c = s->exact.in[each];
        signed char mode = from->mode[p->dual.first[c]];
        if (p->constraints[c].law.kind != TD_SAP_CONTACT)
            continue;
        int kinds[2] = {mode == TD_EXACT_OPEN ? TD_QPCC_APART : TD_QPCC_CLOSED,
                        mode == TD_EXACT_STICK ? TD_QPCC_CONE : TD_QPCC_SLIP};
        for (int j = 0; j < (mode == TD_EXACT_OPEN || p->constraints[c].law.mu == 0 ? 1 : 2); j++)
        {
            tdQpccRow row = {c, kinds[j], 0};
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
static int32_t most_blocking(tdQpcc *s, int32_t holds)
{
    const tdProblem *p = s->problem;
    const tdExact *e = &s->exact;
    int32_t found = holds;
    double most = 0;
    start_modes(s, 0, NULL, 0, NULL, NULL);
    s->steer->place = s->best.place;
    if (!td_qpcc_look(s, INFINITY, TD_QPCC_ANYWHERE))
        return holds;
    go_to(s, &s->best);
    if (s->based)
        td_exact_recall(&s->exact);
    else if (!td_exact_piece(&s->exact, s->steer->y))
        return holds;
    for (int k = 0; k < s->steer->n; k++)
        s->d[k] = s->piece.y[k] - s->best.y[k];
    for (int32_t each = 0; each < e->n_in; each++)
    {
        int32_t c = e->in[each];
        int i = p->dual.first[c] + 2;
        if (p->constraints[c].law.kind != TD_SAP_CONTACT || e->mode[i - 2] == TD_EXACT_OPEN)
            continue;
        double back = td_qpcc_along(e->slope + i * (int64_t)e->n_y, s->d, e->n_y) * p->dual.W[i * (int64_t)e->n + i];
        if (back > most && back > TD_QPCC_HOLDS * s->size_u)
        {
            most = back;
            found = c;
        }
    }
    return found;
}

static tdSteerEnd search(tdQpcc *s, tdQpccSpot *from, double *u, tdQpccSpot *block, double *block_u)
{
    tdQpccRow rows[TD_STEER_KEPT];
    tdSteer *steer = s->steer;
    keep(s, &s->here);
    s->based = false;
    tdSteerEnd end = descend(s, from, u);
    copy_spot(s, &s->best, s->here.y, s->here.gamma, s->here.along, s->here.mode);
    s->best.place = s->here.place;
    if (end != TD_STEER_STATIONARY)
        return end;
    bool based = s->based;
    int n = 0, starts = steer->starts < 0 ? STARTS : steer->starts;
    int32_t blocking = steer->blocking;
    if (starts > EVERYWHERE)
    {
        go_to(s, &s->best);
        td_qpcc_look(s, INFINITY, TD_QPCC_WITHIN);
        n = td_qpcc_blocking(s, rows);
    }
    copy_spot(s, block, s->piece.y, s->piece.gamma, s->piece.along, s->piece.mode);
    memcpy(block_u, s->u, (size_t)s->exact.n * sizeof *u);
    for (int k = 0; k < starts && s->tried < s->most && end == TD_STEER_STATIONARY; k++)
    {
        if (!start_modes(s, k, rows, n, block, block_u))
            continue;
        steer->place = s->best.place;
        if (!td_qpcc_look(s, INFINITY, k < EVERYWHERE || (k - EVERYWHERE) % 2 == 1 ? TD_QPCC_ANYWHERE : TD_QPCC_WITHIN))
            continue;
        go_to(s, &s->piece);
        solve_at(s, s->piece.y);
        if (!s->exact.converged)
            continue;
        s->tried++;
        steer->place = steer->measure(steer->context);
        keep(s, &s->here);
        based = false;
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
    s->based = based;
    steer->blocking = end == TD_STEER_OPTIMAL ? -1 : most_blocking(s, blocking);
    return end;
}

// Where nothing is to be gained: less energy; what presses in vain presses less.
static void relax(tdQpcc *s, bool slack)
{
    double share = 1;
    go_to(s, &s->best);
    copy_spot(s, &s->here, s->best.y, s->best.gamma, s->best.along, s->best.mode);
    s->here.place = s->best.place;
    if (!td_qpcc_look(s, INFINITY, (slack ? TD_QPCC_SLACK : TD_QPCC_ENERGY) | (s->based ? TD_QPCC_AGAIN : 0)) ||
        s->step.length == 0 || !try_piece(s, &share))
        return;
    // Less energy is no reason to be farther from the targets than at the start.
    if (s->here.place.error > fmax(fmax(s->start, s->best.place.error), s->steer->tolerance))
    {
        go_to(s, &s->best);
        return;
    }
    copy_spot(s, &s->best, s->here.y, s->here.gamma, s->here.along, s->here.mode);
    s->best.place = s->here.place;
}

// ---------------------------------------------------------------- together

// With laws that follow the loads, as a simulation with these efforts would have them.
static tdStatus settle(tdQpcc *s, const double *y)
{
    tdProblem *p = s->problem;
    bool grown = false;
    if (s->steer->restart != NULL)
        s->steer->restart(s->steer->context);
    do
    {
        td_exact_laws(&s->exact);
        solve_at(s, y);
        td_steer_set(p, s->y0, s->v0, s->steer->y);
        TD_TRY(td_exact_move(&s->exact, s->error));
        TD_TRY(td_exact_grow(&s->exact, &grown, s->error));
        if (grown && !td_steer_readings(p, s->exact.takes_part))
            return td_fail_memory(s->error, "inverse control beside contact");
        s->grown = s->grown || grown;
    } while (grown || (p->again != NULL && p->again(p->context, p, s->result)));
    s->size_u = 0;
    for (int i = 0; i < s->exact.n; i++)
        s->size_u = fmax(s->size_u, fabs(s->exact.b[i] - s->exact.v_hat[i]));
    s->steer->place = s->steer->measure(s->steer->context);
    return TD_OK;
}

tdStatus td_qpcc_solve(tdProblem *problem, double tolerance, tdTasks *tasks, tdSolveResult *result, tdError *error)
{
    tdSteer *steer = &problem->steer;
    tdQpcc s = {.problem = problem,
                .steer = steer,
                .tasks = tasks,
                .result = result,
                .error = error,
                .tolerance = tolerance,
                .neighbour = -1};
    tdStack *stack = &problem->entries;
    int n = steer->n;
    int64_t n_v = 0;
    tdQpccSpot from = {0}, block = {0}, first = {0};
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
    if (!td_steer_readings(problem, s.exact.takes_part))
        return td_fail_memory(error, "inverse control beside contact");
    int64_t n_u = TD_SAP_ROWS * (int64_t)problem->n_constraints;
    double *u = td_stack_take(stack, 3 * n_u + 1, sizeof *u);
    steer->guess = td_stack_take(stack, 2 * n + TD_STEER_KEPT, sizeof *steer->guess);
    tdQpccSpot *spots[] = {&s.here, &s.best, &s.piece, &from, &block, &first};
    bool good = u != NULL && steer->guess != NULL;
    for (size_t i = 0; i < sizeof spots / sizeof spots[0] && good; i++)
        good = take_spot(stack, spots[i], n, (int)n_u, problem->n_constraints);
    if (!good)
        return td_fail_memory(error, "inverse control beside contact");
    s.u = u;
    s.guess = steer->guess + n + TD_STEER_KEPT;
    memset(steer->guess, 0, (size_t)(n + TD_STEER_KEPT) * sizeof *steer->guess);
    steer->steps = steer->solutions = steer->pieces = 0;
    s.most = steer->most == 0 ? 0 : steer->pivots > 0 ? steer->pivots : PIVOTS;
    TD_TRY(settle(&s, s.y0));
    keep(&s, &first);
    int n_first = s.exact.n;
    s.start = steer->place.error;
    s.violation = steer->place.violation;
    for (int round = 0; round < SETTLES; round++)
    {
        s.grown = false;
        steer->end = search(&s, &from, u + n_u, &block, u + 2 * n_u);
        if (s.most > 0 && steer->end != TD_STEER_INFEASIBLE)
            relax(&s, steer->end != TD_STEER_OPTIMAL);
        tdSteerPlace before = s.best.place;
        go_to(&s, &s.best);
        TD_TRY(settle(&s, s.best.y));
        if (s.most == 0 ||
            (!s.grown && fabs(steer->place.error - before.error) <= fmax(steer->tolerance, 3e-3 * before.error)))
            break;
    }
    // Contacts that came to take part may have left less than there was; and with much friction efforts may have
    // several solutions, of which the last need not be the one that was found on the way.
    if (s.most > 0 && steer->place.error > fmax(s.start * (1 + 1e-9), steer->tolerance) &&
        steer->place.violation >= s.violation)
    {
        if (s.exact.n == n_first)
            go_to(&s, &first);
        TD_TRY(settle(&s, s.y0));
        steer->end = TD_STEER_STALLED;
    }
    // Slopes of the piece, for whoever asks what blocks.
    if (td_exact_piece(&s.exact, steer->y))
        td_qpcc_show(&s);
    return TD_OK;
}
