// SPDX-License-Identifier: Apache-2.0
// Contact forces as they are told: the points of the last step, and their sums between two links or bodies. Sums are
// made when somebody asks for them, in the room that points have.
#include "contact/contact.h"

#include "base/vector.h"
#include "core/parts.h"
#include "core/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t td_state_contacts(const tdState *state, const tdContactPoint **points)
{
    *points = state->contact == NULL ? NULL : state->contact->points;
    return state->contact == NULL ? 0 : state->contact->n_points;
}

// ---------------------------------------------------------------- links

int td_model_links(const tdModel *model, int body)
{
    const tdBodyParts *parts = body < 0 || body >= model->n_bodies ? NULL : model->bodies[body].parts;
    return parts == NULL ? 0 : parts->n;
}

const char *td_model_link_name(const tdModel *model, int body, int link)
{
    return link < 0 || link >= td_model_links(model, body) ? NULL : model->bodies[body].parts->names[link];
}

int td_model_find_link(const tdModel *model, int body, const char *name)
{
    int n = td_model_links(model, body);
    for (int l = 0; l < n; l++)
        if (strcmp(model->bodies[body].parts->names[l], name) == 0)
            return l;
    return -1;
}

// ---------------------------------------------------------------- sums

// `sign` times what a point bears, with its torque about a place.
static void add_force(double sign, const tdContactPoint *p, const double about[3], double force[3], double torque[3])
{
    double arm[3], turn[3];
    td_subtract3(p->position, about, arm);
    td_cross3(arm, p->force, turn);
    for (int k = 0; k < 3; k++)
    {
        force[k] += sign * p->force[k];
        torque[k] += sign * (turn[k] + p->torque[k]);
    }
}

static int compare_sides(int body, int link, int other_body, int other_link)
{
    return body != other_body ? (body > other_body) - (body < other_body) : (link > other_link) - (link < other_link);
}

static int by_sides(const void *x, const void *y)
{
    const tdContactSum *a = x, *b = y;
    int first = compare_sides(a->body[0], a->link[0], b->body[0], b->link[0]);
    return first != 0 ? first : compare_sides(a->body[1], a->link[1], b->body[1], b->link[1]);
}

// The sum that a point belongs to, empty; *sign: of the point's force on side 1 of the sum.
static tdContactSum sum_of(const tdContactPoint *p, double *sign)
{
    int first = compare_sides(p->body[0], p->link[0], p->body[1], p->link[1]) > 0 ? 1 : 0;
    *sign = first == 1 ? -1 : 1;
    return (tdContactSum){.body = {p->body[first], p->body[1 - first]}, .link = {p->link[first], p->link[1 - first]}};
}

static bool bears(const tdContactPoint *p)
{
    return p->force[0] != 0 || p->force[1] != 0 || p->force[2] != 0;
}

// Pairs of links that bear a force, each once, in order.
static int64_t list_sums(tdContactState *cs)
{
    int64_t found = 0, kept = 0;
    double sign;
    for (int64_t i = 0; i < cs->n_points; i++)
    {
        tdContactSum sum = sum_of(&cs->points[i], &sign);
        if (bears(&cs->points[i]) && (found == 0 || by_sides(&cs->sums[found - 1], &sum) != 0))
            cs->sums[found++] = sum;
    }
    qsort(cs->sums, (size_t)found, sizeof *cs->sums, by_sides);
    for (int64_t i = 0; i < found; i++)
        if (kept == 0 || by_sides(&cs->sums[kept - 1], &cs->sums[i]) != 0)
            cs->sums[kept++] = cs->sums[i];
    return kept;
}

static void add_up(tdContactState *cs)
{
    double sign;
    cs->n_sums = list_sums(cs);
    // Places first: torques are about them.
    for (int pass = 0; pass < 2; pass++)
    {
        for (int64_t i = 0; i < cs->n_points; i++)
        {
            const tdContactPoint *p = &cs->points[i];
            if (!bears(p))
                continue;
            const tdContactSum key = sum_of(p, &sign);
            tdContactSum *sum = bsearch(&key, cs->sums, (size_t)cs->n_sums, sizeof *cs->sums, by_sides);
            if (pass == 1)
            {
                add_force(sign, p, sum->position, sum->force, sum->torque);
                continue;
            }
            sum->points++;
            sum->pressing += fabs(td_dot3(p->normal, p->force));
            double size = sqrt(td_dot3(p->force, p->force));
            for (int k = 0; k < 3; k++)
                sum->position[k] += size * p->position[k];
            sum->weight += size;
        }
        for (int64_t i = 0; i < cs->n_sums && pass == 0; i++)
            for (int k = 0; k < 3; k++)
                cs->sums[i].position[k] /= cs->sums[i].weight;
    }
    cs->sums_known = true;
}

int64_t td_state_contact_sums(const tdState *state, const tdContactSum **sums)
{
    tdContactState *cs = state->contact;
    *sums = NULL;
    if (cs == NULL || cs->n_points == 0)
        return 0;
    if (!cs->sums_known)
        add_up(cs);
    *sums = cs->sums;
    return cs->n_sums;
}

// ---------------------------------------------------------------- between bodies, on a link

void td_state_contact_wrench(const tdState *state, int a, int b, const double about[3], double force[3],
                             double torque[3])
{
    memset(force, 0, 3 * sizeof *force);
    memset(torque, 0, 3 * sizeof *torque);
    for (int64_t i = 0; state->contact != NULL && a != b && i < state->contact->n_points; i++)
    {
        const tdContactPoint *p = &state->contact->points[i];
        bool along = p->body[0] == a && p->body[1] == b, against = p->body[0] == b && p->body[1] == a;
        if (along || against)
            add_force(along ? 1 : -1, p, about, force, torque);
    }
}

void td_state_contact_force(const tdState *state, int a, int b, double force[3])
{
    const double origin[3] = {0, 0, 0};
    double torque[3];
    td_state_contact_wrench(state, a, b, origin, force, torque);
}

void td_state_link_wrench(const tdState *state, int body, int link, const double about[3], double force[3],
                          double torque[3])
{
    memset(force, 0, 3 * sizeof *force);
    memset(torque, 0, 3 * sizeof *torque);
    for (int64_t i = 0; state->contact != NULL && i < state->contact->n_points; i++)
        for (int s = 0; s < 2; s++)
        {
            const tdContactPoint *p = &state->contact->points[i];
            if (p->body[s] == body && p->link[s] == link)
                add_force(s == 1 ? 1 : -1, p, about, force, torque);
        }
}
