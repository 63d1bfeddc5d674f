// SPDX-License-Identifier: Apache-2.0
// The best y of a piece, where every contact keeps its mode: see qpcc.c.
#include "solve/qpcc.h"

#include <math.h>
#include <string.h>

#define KEPT   1e-10 // of sizes: a row that is violated by less is not
#define WORST  6     // rows that are added at a time
#define ROUNDS 12    // of rows that are added because they are violated
#define FEW    4     // steps that are taken for whatever gain is worth one
#define LITTLE 0.05  // of the error, root of what its square falls by: after these, less is not worth a step

// ---------------------------------------------------------------- rows of a piece

double td_qpcc_along(const double *row, const double *d, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += row[k] * d[k];
    return sum;
}

// Value and slope of the row that a contact has in its mode, at the step d; which kind. The size is what it is relative
// to. False: it has none of this number.
static bool mode_row(const tdQpcc *s, int32_t c, int number, double *value, double *slope, double *size, int *kind)
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
        *kind = TD_QPCC_APART;
        *value = u[2];
        *size = s->size_u;
        memcpy(slope, U + 2 * (int64_t)n, (size_t)n * sizeof *slope);
        return number == 0;
    }
    if (number == 0)
    {
        *kind = TD_QPCC_CLOSED;
        *value = gamma[2];
        *size = impulse;
        memcpy(slope, S + 2 * (int64_t)n, (size_t)n * sizeof *slope);
        return true;
    }
    if (law->mu == 0 || number > 1)
        return false;
    if (e->mode[i] == TD_EXACT_STICK)
    {
        double t[2] = {gamma[0] + td_qpcc_along(S, s->d, n), gamma[1] + td_qpcc_along(S + n, s->d, n)},
               length = hypot(t[0], t[1]);
        if (length == 0)
            return false;
        *kind = TD_QPCC_CONE;
        *value = law->mu * gamma[2] - (t[0] * gamma[0] + t[1] * gamma[1]) / length;
        *size = impulse;
        for (int k = 0; k < n; k++)
            slope[k] = law->mu * S[2 * n + k] - (t[0] * S[k] + t[1] * S[n + k]) / length;
        return true;
    }
    const double *to = e->along + 2 * (int64_t)c;
    *kind = TD_QPCC_SLIP;
    *value = -(to[0] * u[0] + to[1] * u[1]);
    *size = s->size_u;
    for (int k = 0; k < n; k++)
        slope[k] = -(to[0] * U[k] + to[1] * U[n + k]);
    return true;
}

// Adds row `number` of a contact.
static bool keep_mode(tdQpcc *s, int32_t c, int number)
{
    tdSteer *steer = s->steer;
    int n = steer->n, kind;
    double value, size, *slope = steer->kept + (int64_t)steer->n_kept * n;
    if (steer->n_kept == TD_STEER_KEPT || s->problem->constraints[c].law.kind != TD_SAP_CONTACT ||
        !mode_row(s, c, number, &value, slope, &size, &kind))
        return false;
    double at = value + td_qpcc_along(slope, s->d, n);
    s->rows[steer->n_kept] = (tdQpccRow){c, kind, -at / size};
    steer->kept_low[steer->n_kept++] = td_qpcc_along(slope, steer->y, n) - value - KEPT * size;
    return true;
}

// Rows that `next` violates, those first that it violates most; returns how many. A step that breaks many is too long,
// and a few of them shorten it.
static int keep_modes(tdQpcc *s, const double *next)
{
    const tdSteer *steer = s->steer;
    tdQpccRow worst[WORST];
    int found = 0, added = 0, n = steer->n;
    double value, size, *slope = steer->kept + (int64_t)TD_STEER_KEPT * n; // of a row that is looked at
    for (int k = 0; k < n; k++)
        s->d[k] = next[k] - steer->y[k];
    for (int32_t each = 0; each < s->exact.n_in; each++)
        for (int number = 0, c = s->exact.in[each]; number < 2; number++)
        {
            int kind;
            if (s->problem->constraints[c].law.kind != TD_SAP_CONTACT ||
                !mode_row(s, c, number, &value, slope, &size, &kind))
                continue;
            double violation = -(value + td_qpcc_along(slope, s->d, n)) / size;
            if (!(violation > 2 * KEPT) || (found == WORST && violation <= worst[WORST - 1].violation))
                continue;
            int at = found < WORST ? found++ : WORST - 1;
            for (; at > 0 && worst[at - 1].violation < violation; at--)
                worst[at] = worst[at - 1];
            worst[at] = (tdQpccRow){c, number, violation};
        }
    for (int i = 0; i < found; i++)
        added += keep_mode(s, worst[i].contact, worst[i].kind);
    return added;
}

// Rows that held in the last piece, of contacts that have the same in this one.
static void keep_held(tdQpcc *s)
{
    memset(s->d, 0, (size_t)s->steer->n * sizeof *s->d);
    for (int i = 0; i < s->n_held; i++)
    {
        const tdQpccRow *row = &s->held[i];
        signed char mode = s->exact.mode[s->problem->dual.first[row->contact]];
        bool same = row->kind == TD_QPCC_APART    ? mode == TD_EXACT_OPEN
                    : row->kind == TD_QPCC_CLOSED ? mode != TD_EXACT_OPEN
                    : row->kind == TD_QPCC_CONE   ? mode == TD_EXACT_STICK
                                                  : mode == TD_EXACT_SLIDE;
        if (same)
            keep_mode(s, row->contact, row->kind == TD_QPCC_CONE || row->kind == TD_QPCC_SLIP);
    }
}

// ---------------------------------------------------------------- the best y of a piece

// What the owner reads, for the piece.
void td_qpcc_show(const tdQpcc *s)
{
    const tdExact *e = &s->exact;
    const tdProblem *p = s->problem;
    tdSteer *steer = s->steer;
    size_t n = (size_t)steer->n;
    td_exact_write(e);
    td_steer_read(s->problem);
    for (int32_t each = 0; each < e->n_in; each++)
        for (int r = 0, c = e->in[each]; r < TD_SAP_ROWS; r++)
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

bool td_qpcc_is_little(const tdQpcc *s, double gain)
{
    return td_steer_is_little(gain, s->here.place.error, s->steer->tolerance) ||
           (s->tried >= FEW && gain <= LITTLE * s->here.place.error);
}

// The best y within the rows so far, from `guess` for the rows before and none of those since.
static void choose(tdQpcc *s, double reach, bool slack, int before)
{
    tdSteer *steer = s->steer;
    for (int i = before; i < steer->n_kept; i++)
        steer->guess[steer->n + i] = 0;
    s->step = steer->choose(steer->context, reach, slack, s->next);
}

// Slopes of the piece: a neighbour's of the base, the base's own, or anew.
static bool make_piece(tdQpcc *s, int how)
{
    tdExact *e = &s->exact;
    if (how & TD_QPCC_AGAIN)
    {
        td_exact_recall(e);
        return true;
    }
    s->steer->pieces++;
    return s->neighbour >= 0 ? td_exact_neighbour(e, s->neighbour) : td_exact_piece(e, s->steer->y);
}

// From steer->y in the modes of `exact`: the best y by slopes into `piece`; whether its modes hold there.
bool td_qpcc_look(tdQpcc *s, double reach, int how)
{
    tdSteer *steer = s->steer;
    tdExact *e = &s->exact;
    int n = steer->n;
    bool slack = (how & TD_QPCC_SLACK) != 0, valid = true;
    steer->n_kept = 0;
    s->looked = false;
    if (!make_piece(s, how))
        return false;
    td_qpcc_show(s);
    if (!(how & TD_QPCC_ANYWHERE))
        keep_held(s);
    steer->gain_only = !(how & (TD_QPCC_ANYWHERE | TD_QPCC_SLACK));
    for (int i = 0; i < steer->n_kept; i++)
        steer->guess[n + i] = -1; // what held in the last piece
    // Of a piece that is only looked at, rows that contradict each other are reason enough to leave it.
    steer->or_nothing = (how & TD_QPCC_GAINS) != 0 && steer->n_kept > 0;
    choose(s, reach, slack, steer->n_kept);
    bool infeasible = s->step.infeasible && steer->n_kept == 0;
    if (s->step.infeasible && !infeasible) // of limits alone, or of the rows of modes
    {
        int kept = steer->n_kept;
        steer->n_kept = 0;
        steer->or_nothing = false;
        infeasible = steer->choose(steer->context, reach, slack, s->next).infeasible;
        steer->n_kept = kept;
        if (!infeasible)
            return false;
        choose(s, reach, slack, 0);
    }
    steer->or_nothing = (how & TD_QPCC_GAINS) != 0 && !infeasible;
    // Which of the best y has the least energy is asked for when nothing else is open, and where there is a gain.
    for (int round = 0; round < ROUNDS && !(how & TD_QPCC_ANYWHERE); round++)
    {
        int before = steer->n_kept;
        bool little = td_qpcc_is_little(s, s->step.gain);
        if (little && (how & TD_QPCC_GAINS))
            break;
        if (keep_modes(s, s->next) == 0)
        {
            if (!steer->gain_only || (little && !(how & TD_QPCC_ENERGY)))
                break;
            steer->gain_only = false;
        }
        choose(s, reach, slack, before);
        if (steer->or_nothing && s->step.infeasible)
            break;
        valid = infeasible || !s->step.infeasible;
        s->step.infeasible = infeasible;
    }
    steer->gain_only = false;
    if (steer->or_nothing && s->step.infeasible)
        return steer->or_nothing = false;
    steer->or_nothing = false;
    for (int k = 0; k < n; k++)
        s->d[k] = s->next[k] - steer->y[k];
    memcpy(s->piece.y, s->next, (size_t)n * sizeof *s->next);
    for (int i = 0; i < e->n; i++)
    {
        s->piece.gamma[i] = e->gamma[i] + td_qpcc_along(e->slope + i * (int64_t)n, s->d, n);
        s->u[i] = e->u[i] + td_qpcc_along(e->u_slope + i * (int64_t)n, s->d, n);
        s->piece.mode[i] = e->mode[i];
    }
    memcpy(s->piece.along, e->along, 2 * (size_t)s->problem->n_constraints * sizeof *e->along);
    s->looked = true;
    return valid;
}

// Rows that hold at the best y, the one first that is most in the way. Returns how many.
int td_qpcc_blocking(tdQpcc *s, tdQpccRow *out)
{
    const tdSteer *steer = s->steer;
    int n = steer->n, count = 0;
    for (int i = 0; i < steer->n_kept; i++)
    {
        double value = td_qpcc_along(steer->kept + (int64_t)i * n, s->piece.y, n) - steer->kept_low[i], scale = 0;
        bool known = false;
        for (int k = 0; k < n; k++)
            scale += fabs(steer->kept[(int64_t)i * n + k] * s->piece.y[k]);
        for (int j = 0; j < count; j++)
            known = known || (out[j].contact == s->rows[i].contact && out[j].kind == s->rows[i].kind);
        if (known || value > TD_QPCC_HOLDS * fmax(scale, fabs(steer->kept_low[i])))
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
