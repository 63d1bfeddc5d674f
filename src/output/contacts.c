// SPDX-License-Identifier: Apache-2.0
#include "output/contacts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct columnTitle
{
    const char *name, *unit;
} columnTitle;

void td_contact_titles(tdText *header)
{
    static const columnTitle columns[] = {
        {"body_a", ""},   {"body_b", ""},   {"link_a", ""},    {"link_b", ""},    {"x", "m"},        {"y", "m"},
        {"z", "m"},       {"normal_x", ""}, {"normal_y", ""},  {"normal_z", ""},  {"distance", "m"}, {"force_x", "N"},
        {"force_y", "N"}, {"force_z", "N"}, {"slip_x", "m/s"}, {"slip_y", "m/s"}, {"slip_z", "m/s"},
    };
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        td_csv_title(header, columns[i].name, "", columns[i].unit);
}

tdStatus td_contact_table(tdCsv *table, const tdState *state, tdError *error)
{
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    for (int64_t i = 0; i < n; i++)
    {
        const tdContactPoint *p = &points[i];
        double row[17] = {p->body[0], p->body[1], p->link[0], p->link[1]};
        if (p->force[0] == 0 && p->force[1] == 0 && p->force[2] == 0)
            continue;
        memcpy(row + 4, p->position, sizeof p->position);
        memcpy(row + 7, p->normal, sizeof p->normal);
        row[10] = p->distance;
        memcpy(row + 11, p->force, sizeof p->force);
        memcpy(row + 14, p->slip, sizeof p->slip);
        TD_TRY(td_csv_row(table, state->steps, state->time, 17, row, error));
    }
    return TD_OK;
}

void td_contact_pair_titles(tdText *header)
{
    static const columnTitle columns[] = {
        {"body_a", ""},   {"body_b", ""},      {"points", ""},      {"x", "m"},
        {"y", "m"},       {"z", "m"},          {"force_x", "N"},    {"force_y", "N"},
        {"force_z", "N"}, {"torque_x", "N m"}, {"torque_y", "N m"}, {"torque_z", "N m"},
    };
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        td_csv_title(header, columns[i].name, "", columns[i].unit);
}

// The mean of the points between two bodies, each by the size of its force; returns how many bear one.
static int middle_of(int64_t n, const tdContactPoint *points, int a, int b, double middle[3])
{
    double sum = 0;
    int count = 0;
    memset(middle, 0, 3 * sizeof *middle);
    for (int64_t i = 0; i < n; i++)
    {
        const tdContactPoint *p = &points[i];
        double size = sqrt(p->force[0] * p->force[0] + p->force[1] * p->force[1] + p->force[2] * p->force[2]);
        bool mine = (p->body[0] == a && p->body[1] == b) || (p->body[0] == b && p->body[1] == a);
        if (!mine || !(size > 0))
            continue;
        sum += size;
        count++;
        for (int k = 0; k < 3; k++)
            middle[k] += size * p->position[k];
    }
    for (int k = 0; k < 3 && count > 0; k++)
        middle[k] /= sum;
    return count;
}

typedef struct bodyPair
{
    int a, b;
} bodyPair;

static int by_bodies(const void *x, const void *y)
{
    const bodyPair *p = x, *q = y;
    return p->a != q->a ? (p->a > q->a) - (p->a < q->a) : (p->b > q->b) - (p->b < q->b);
}

// Pairs of the points, each once, in order. Returns how many.
static int64_t list_pairs(int64_t n, const tdContactPoint *points, bodyPair *pairs)
{
    int64_t found = 0, kept = 0;
    for (int64_t i = 0; i < n; i++)
    {
        const int *b = points[i].body;
        bodyPair pair = b[0] < b[1] ? (bodyPair){b[0], b[1]} : (bodyPair){b[1], b[0]};
        if (pair.a < pair.b && (found == 0 || by_bodies(&pairs[found - 1], &pair) != 0))
            pairs[found++] = pair;
    }
    qsort(pairs, (size_t)found, sizeof *pairs, by_bodies);
    for (int64_t i = 0; i < found; i++)
        if (kept == 0 || by_bodies(&pairs[kept - 1], &pairs[i]) != 0)
            pairs[kept++] = pairs[i];
    return kept;
}

tdStatus td_contact_pair_table(tdCsv *table, const tdModel *model, const tdState *state, tdError *error)
{
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    (void)model;
    bodyPair *pairs = malloc((size_t)(n + 1) * sizeof *pairs);
    if (pairs == NULL)
        return td_fail_memory(error, "the pairs of bodies that touch");
    int64_t n_pairs = list_pairs(n, points, pairs);
    tdStatus status = TD_OK;
    for (int64_t i = 0; i < n_pairs && status == TD_OK; i++)
    {
        double row[12] = {pairs[i].a, pairs[i].b};
        row[2] = middle_of(n, points, pairs[i].a, pairs[i].b, row + 3);
        td_state_contact_wrench(state, pairs[i].a, pairs[i].b, row + 3, row + 6, row + 9);
        status = td_csv_row(table, state->steps, state->time, 12, row, error);
    }
    free(pairs);
    return status;
}
