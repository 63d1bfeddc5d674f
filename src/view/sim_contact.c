// SPDX-License-Identifier: Apache-2.0
// Contacts of the last step for those who look on: the strongest points, and the sums between bodies. Where there are
// more points than can be shown, those below a force are left out, the same whatever their order; sums have all.
#include "view/sim_own.h"

#include <math.h>
#include <string.h>

#define OCTAVES 64 // thirds of them: from the largest force to the weakest that is shown

static double length(const double f[3])
{
    return sqrt(f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
}

// How many thirds of an octave a force is below the largest; OCTAVES: too weak to be seen.
static int octave(double force, double largest)
{
    if (!(force > 1e-6 * largest))
        return OCTAVES;
    int k = (int)floor(3 * log2(largest / force));
    return k < OCTAVES ? k : OCTAVES - 1;
}

// The side that the force is told of: the one that can move, else the second.
static tdViewTouch touch_of(const tdModel *model, const tdContactPoint *p)
{
    bool second = model->bodies[p->body[1]].count > 0 || model->bodies[p->body[0]].count == 0;
    if (second && model->bodies[p->body[0]].count > 0)
        second = p->body[1] >= p->body[0];
    tdViewTouch touch = {.body = {p->body[second ? 1 : 0], p->body[second ? 0 : 1]}, .points = 1};
    for (int c = 0; c < 3; c++)
    {
        touch.at[c] = p->position[c];
        touch.force[c] = second ? p->force[c] : -p->force[c];
    }
    return touch;
}

// `at` of a sum is the mean place, weighted by the forces; divided at the end.
static void add_to_pair(tdViewContact *out, const tdViewTouch *touch, double weights[TD_VIEW_PAIRS])
{
    int k = 0;
    while (k < out->n_pairs && memcmp(out->pairs[k].body, touch->body, sizeof touch->body) != 0)
        k++;
    if (k == TD_VIEW_PAIRS)
        return;
    tdViewTouch *pair = &out->pairs[k];
    if (k == out->n_pairs)
    {
        *pair = (tdViewTouch){.body = {touch->body[0], touch->body[1]}};
        weights[k] = 0;
        out->n_pairs++;
    }
    double weight = length(touch->force);
    pair->points++;
    weights[k] += weight;
    for (int c = 0; c < 3; c++)
    {
        pair->force[c] += touch->force[c];
        pair->at[c] += weight * touch->at[c];
    }
}

void td_view_sim_contacts(const tdViewSim *sim, tdViewContact *out)
{
    const tdModel *model = sim->stage->model;
    const tdReport *report = td_state_report(sim->state);
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(sim->state, &points), counts[OCTAVES + 1] = {0}, taken = 0;
    double largest = 0, weights[TD_VIEW_PAIRS];
    out->n = out->n_pairs = 0;
    out->followed = report->contacts;
    out->active = report->contacts_active;
    out->iterations = report->contact_iterations;
    out->residual = report->contact_residual;
    out->limit = report->contact_limit;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, length(points[i].force));
    for (int64_t i = 0; i < n; i++)
        counts[octave(length(points[i].force), largest)]++;
    int last = 0; // octaves below it fit
    while (last < OCTAVES && taken + counts[last] <= TD_VIEW_MOST_CONTACTS)
        taken += counts[last++];
    for (int64_t i = 0; i < n; i++)
    {
        int k = octave(length(points[i].force), largest);
        if (k == OCTAVES)
            continue;
        tdViewTouch touch = touch_of(model, &points[i]);
        add_to_pair(out, &touch, weights);
        // Where equal forces alone are too many, the first of them.
        if ((k < last || (k == last && last == 0)) && out->n < TD_VIEW_MOST_CONTACTS)
            out->points[out->n++] = touch;
    }
    for (int k = 0; k < out->n_pairs; k++)
        for (int c = 0; c < 3; c++)
            out->pairs[k].at[c] /= weights[k];
}
