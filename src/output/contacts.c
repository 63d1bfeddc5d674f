// SPDX-License-Identifier: Apache-2.0
#include "output/contacts.h"

#include <string.h>

void td_contact_titles(tdText *header)
{
    static const struct
    {
        const char *name, *unit;
    } columns[] = {
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
