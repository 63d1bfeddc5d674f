// SPDX-License-Identifier: Apache-2.0
// Contacts of the last step for those who look on: the strongest points, and the sums between links. Where there are
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

// The side that a force is told of: the one that can move, else the second.
static bool is_on_second(const tdModel *model, const int body[2])
{
    bool second = model->bodies[body[1]].count > 0 || model->bodies[body[0]].count == 0;
    return second && model->bodies[body[0]].count > 0 ? body[1] >= body[0] : second;
}

static tdViewTouch touch_of(const tdModel *model, const int body[2], const int link[2], const double at[3],
                            const double force[3])
{
    int first = is_on_second(model, body) ? 1 : 0;
    tdViewTouch touch = {.body = {body[first], body[1 - first]}, .link = {link[first], link[1 - first]}, .points = 1};
    for (int c = 0; c < 3; c++)
    {
        touch.at[c] = at[c];
        touch.force[c] = first == 1 ? force[c] : -force[c];
    }
    return touch;
}

// Sums between links; where there are more than can be told, those that press hardest.
static void take_pairs(const tdModel *model, const tdState *state, tdViewContact *out)
{
    const tdContactSum *sums = NULL;
    int64_t n = td_state_contact_sums(state, &sums);
    double least[TD_VIEW_PAIRS]; // of those that are taken
    for (int64_t i = 0; i < n; i++)
    {
        int k = out->n_pairs;
        if (k == TD_VIEW_PAIRS)
        {
            k = 0;
            for (int j = 1; j < TD_VIEW_PAIRS; j++)
                k = least[j] < least[k] ? j : k;
            if (!(sums[i].weight > least[k]))
                continue;
        }
        else
            out->n_pairs++;
        out->pairs[k] = touch_of(model, sums[i].body, sums[i].link, sums[i].position, sums[i].force);
        out->pairs[k].points = sums[i].points;
        least[k] = sums[i].weight;
    }
}

void td_view_sim_contacts(const tdViewSim *sim, tdViewContact *out)
{
    const tdModel *model = sim->stage->model;
    const tdReport *report = td_state_report(sim->state);
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(sim->state, &points), counts[OCTAVES + 1] = {0}, taken = 0;
    double largest = 0;
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
        // Where equal forces alone are too many, the first of them.
        if (k < OCTAVES && (k < last || (k == last && last == 0)) && out->n < TD_VIEW_MOST_CONTACTS)
            out->points[out->n++] =
                touch_of(model, points[i].body, points[i].link, points[i].position, points[i].force);
    }
    take_pairs(model, sim->state, out);
}
