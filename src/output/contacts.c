// SPDX-License-Identifier: Apache-2.0
#include "output/contacts.h"

#include <math.h>
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

tdStatus td_contact_pair_table(tdCsv *table, const tdModel *model, const tdState *state, tdError *error)
{
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    for (int a = 0; a < model->n_bodies; a++)
        for (int b = a + 1; b < model->n_bodies; b++)
        {
            double row[12] = {a, b};
            int count = middle_of(n, points, a, b, row + 3);
            row[2] = count;
            if (count == 0)
                continue;
            td_state_contact_wrench(state, a, b, row + 3, row + 6, row + 9);
            TD_TRY(td_csv_row(table, state->steps, state->time, 12, row, error));
        }
    return TD_OK;
}
