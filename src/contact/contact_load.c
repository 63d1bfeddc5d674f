// SPDX-License-Identifier: Apache-2.0
// How soft a near-rigid contact may be: by what rests on it.
//
//     R_n = kappa w,   kappa = beta² / 4 pi²        (sap_law.h)
//
// With w of the point's own bodies it gives way by (h + tau) R_n gamma_n: a hundredth of what gravity does in a step
// where it bears its own body, but a million times more where it bears a million such. What a point bears is known when
// it hardly gives way. So where the solution presses a point in by more than `give`, the points of its island are made
// tight and the problem is solved for their loads; then each gets
//
//     w = min(w_own, give / ((h + tau) kappa gamma_n))
//
// and it is solved for good. A point at the threshold has the w that it had before, so that motion depends continuously
// on masses and speeds; where nothing bears much the problem is solved once. The same holds for blows, where gamma_n
// is the momentum of what hits. Friction has R_t = sigma w with the same w, else what is pressed would creep with the
// load. Nothing of this is kept from step to step.
#include "contact/contact.h"

#include "core/state.h"

#include <math.h>
#include <string.h>

#define TIGHT  1e-4  // by this R is less, and again, until
#define STEADY 0.002 // no point gives way by more than this share of what it may

static double kappa(const tdSapTuning *tuning)
{
    return TD_SAP_NEAR_RIGID(tuning->beta);
}

bool td_contact_is_near_rigid(const tdModel *model, const tdContactState *cs, int32_t c, tdContactPair *pair)
{
    const tdSapTuning *tuning = &model->contact->tuning;
    tdOwner owner = cs->problem->owner[c];
    if (owner.kind != TD_OWNER_CONTACT)
        return false;
    *pair = td_contact_pair(model, &cs->contacts[owner.index]);
    return kappa(tuning) * cs->w_own[owner.index] > 1 / (tuning->s * pair->stiffness * (tuning->c + pair->dissipation));
}

// By how much it gives way, relative to what it may; other constraints: 0.
static double give_of(const tdModel *model, const tdContactState *cs, int32_t c)
{
    tdContactPair pair;
    const tdProblem *problem = cs->problem;
    double gamma = problem->gamma[TD_SAP_ROWS * (int64_t)c + 2], R = problem->constraints[c].law.R[2];
    if (!td_contact_is_near_rigid(model, cs, c, &pair))
        return 0;
    return (model->contact->tuning.c + pair.dissipation) * R * gamma / pair.give;
}

// ---------------------------------------------------------------- islands

static int32_t first_of(int32_t *island, int32_t block)
{
    while (island[block] != block)
        block = island[block] = island[island[block]];
    return block;
}

static void join_islands(tdContactState *cs)
{
    for (int32_t b = 0; b < cs->problem->n_blocks; b++)
    {
        cs->island[b] = b;
        cs->gives_way[b] = false;
    }
    for (int32_t c = 0; c < cs->problem->n_constraints; c++)
        if (cs->problem->constraints[c].sides == 2)
        {
            int32_t a = first_of(cs->island, cs->problem->constraints[c].side[0].block);
            int32_t b = first_of(cs->island, cs->problem->constraints[c].side[1].block);
            cs->island[a < b ? b : a] = a < b ? a : b;
        }
}

// ---------------------------------------------------------------- loads

bool td_contact_gives_way(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    bool any = false;
    for (int32_t c = 0; c < cs->problem->n_constraints; c++)
    {
        if (give_of(model, cs, c) <= 1)
            continue;
        if (!any)
            join_islands(cs);
        any = true;
        cs->gives_way[first_of(cs->island, cs->problem->constraints[c].side[0].block)] = true;
    }
    return any;
}

static bool was_tightened(const tdModel *model, const tdContactState *cs, int32_t c)
{
    tdOwner owner = cs->problem->owner[c];
    return owner.kind == TD_OWNER_CONTACT &&
           cs->problem->constraints[c].law.R[2] < 0.5 * kappa(&model->contact->tuning) * cs->w_own[owner.index];
}

// What a point bears where it is: how deep it is already must not count, or bodies would bounce on their own depth.
void td_contact_tighten(const tdModel *model, tdState *state)
{
    tdContactState *cs = state->contact;
    for (int32_t c = 0; c < cs->problem->n_constraints; c++)
    {
        tdContactPair pair;
        tdSapLaw *law = &cs->problem->constraints[c].law;
        const double *drift = cs->problem->drift + TD_SAP_ROWS * (int64_t)c;
        if (!td_contact_is_near_rigid(model, cs, c, &pair) ||
            !cs->gives_way[first_of(cs->island, cs->problem->constraints[c].side[0].block)])
            continue;
        for (int r = 0; r < TD_SAP_ROWS; r++)
            law->R[r] *= TIGHT;
        for (int r = 0; r < 2; r++) // what it bears before it moves is the same
            law->v_hat[r] = TIGHT * (law->v_hat[r] + drift[r]) - drift[r];
        law->v_hat[2] = fmin(law->v_hat[2], -drift[2]);
    }
}

bool td_contact_is_tight(const tdModel *model, const tdState *state)
{
    const tdContactState *cs = state->contact;
    for (int32_t c = 0; c < cs->problem->n_constraints; c++)
        if (was_tightened(model, cs, c) && give_of(model, cs, c) > STEADY)
            return false;
    return true;
}

// Points that no force keeps apart, as between jaws whose motion is given, bear what their softness makes of it.
void td_contact_weigh_load(const tdModel *model, tdState *state)
{
    const tdSapTuning *tuning = &model->contact->tuning;
    tdContactState *cs = state->contact;
    for (int32_t c = 0; c < cs->problem->n_constraints; c++)
    {
        tdContactPair pair;
        double gamma = cs->problem->gamma[TD_SAP_ROWS * (int64_t)c + 2];
        if (gamma > 0 && td_contact_is_near_rigid(model, cs, c, &pair) && give_of(model, cs, c) <= 1)
            cs->problem->w[c] = fmin(cs->w_own[cs->problem->owner[c].index],
                                     pair.give / ((tuning->c + pair.dissipation) * kappa(tuning) * gamma));
    }
}
