// SPDX-License-Identifier: Apache-2.0
#include "output/contacts.h"

#include <string.h>

typedef struct columnTitle
{
    const char *name, *unit;
} columnTitle;

static void add_titles(tdText *header, int n, const columnTitle *columns)
{
    static const char *const sides[] = {"body_a", "link_a", "body_b", "link_b"};
    for (int i = 0; i < 4; i++)
        td_csv_title(header, sides[i], "", "");
    for (int i = 0; i < n; i++)
        td_csv_title(header, columns[i].name, "", columns[i].unit);
}

static tdStatus add_row(tdCsv *table, const tdState *state, const int body[2], const int link[2], int n,
                        const double *values, tdError *error)
{
    const tdModel *model = state->model;
    const char *const names[4] = {td_model_body_name(model, body[0]), td_model_link_name(model, body[0], link[0]),
                                  td_model_body_name(model, body[1]), td_model_link_name(model, body[1], link[1])};
    return td_csv_named_row(table, state->steps, state->time, 4, names, n, values, error);
}

void td_contact_titles(tdText *header)
{
    static const columnTitle columns[] = {
        {"x", "m"},        {"y", "m"},          {"z", "m"},          {"normal_x", ""},
        {"normal_y", ""},  {"normal_z", ""},    {"distance", "m"},   {"force_x", "N"},
        {"force_y", "N"},  {"force_z", "N"},    {"slip_x", "m/s"},   {"slip_y", "m/s"},
        {"slip_z", "m/s"}, {"torque_x", "N m"}, {"torque_y", "N m"}, {"torque_z", "N m"},
    };
    add_titles(header, (int)(sizeof columns / sizeof columns[0]), columns);
}

tdStatus td_contact_table(tdCsv *table, const tdState *state, tdError *error)
{
    const tdContactPoint *points = NULL;
    int64_t n = td_state_contacts(state, &points);
    for (int64_t i = 0; i < n; i++)
    {
        const tdContactPoint *p = &points[i];
        double row[16];
        if (p->force[0] == 0 && p->force[1] == 0 && p->force[2] == 0)
            continue;
        memcpy(row, p->position, sizeof p->position);
        memcpy(row + 3, p->normal, sizeof p->normal);
        row[6] = p->distance;
        memcpy(row + 7, p->force, sizeof p->force);
        memcpy(row + 10, p->slip, sizeof p->slip);
        memcpy(row + 13, p->torque, sizeof p->torque);
        TD_TRY(add_row(table, state, p->body, p->link, 16, row, error));
    }
    return TD_OK;
}

void td_contact_pair_titles(tdText *header)
{
    static const columnTitle columns[] = {{"points", ""},      {"x", "m"},          {"y", "m"},
                                          {"z", "m"},          {"force_x", "N"},    {"force_y", "N"},
                                          {"force_z", "N"},    {"torque_x", "N m"}, {"torque_y", "N m"},
                                          {"torque_z", "N m"}, {"pressing", "N"}};
    add_titles(header, (int)(sizeof columns / sizeof columns[0]), columns);
}

tdStatus td_contact_pair_table(tdCsv *table, const tdState *state, tdError *error)
{
    const tdContactSum *sums = NULL;
    int64_t n = td_state_contact_sums(state, &sums);
    for (int64_t i = 0; i < n; i++)
    {
        double row[11] = {sums[i].points};
        memcpy(row + 1, sums[i].position, sizeof sums[i].position);
        memcpy(row + 4, sums[i].force, sizeof sums[i].force);
        memcpy(row + 7, sums[i].torque, sizeof sums[i].torque);
        row[10] = sums[i].pressing;
        TD_TRY(add_row(table, state, sums[i].body, sums[i].link, 11, row, error));
    }
    return TD_OK;
}
