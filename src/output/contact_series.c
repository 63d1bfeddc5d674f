// SPDX-License-Identifier: Apache-2.0
#include "output/contact_series.h"

#include <stdlib.h>
#include <string.h>

static const struct
{
    const char *name, *unit;
    int width; // 0: one number
} columns[TD_CONTACT_SERIES] = {{"count", NULL, 0},   {"body", NULL, 2},    {"link", NULL, 2},
                                {"position", "m", 3}, {"normal", NULL, 3},  {"force", "N", 3},
                                {"slip", "m/s", 3},   {"distance", "m", 0}, {"torque", "N m", 3}};

static bool has_force(const tdContactPoint *p)
{
    return p->force[0] != 0 || p->force[1] != 0 || p->force[2] != 0;
}

bool td_contact_series_open(tdContactSeries *series, hid_t file, const tdModel *model, bool create)
{
    hid_t group = create ? td_h5_group(file, "contacts") : H5Gopen2(file, "contacts", H5P_DEFAULT);
    const char **names = calloc((size_t)model->n_bodies + 1, sizeof *names);
    bool good = group >= 0 && names != NULL;
    for (int b = 0; names != NULL && b < model->n_bodies; b++)
        names[b] = model->bodies[b].name;
    series->n = TD_CONTACT_SERIES - !model->turning;
    for (int i = 0; i < series->n && good; i++)
    {
        hid_t type = i <= 2 ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE;
        const hsize_t dims[1] = {(hsize_t)columns[i].width};
        hid_t dataset = create
                            ? td_h5_series(group, columns[i].name, type, columns[i].width > 0, dims, 0, columns[i].unit)
                            : H5Dopen2(group, columns[i].name, H5P_DEFAULT);
        good = dataset >= 0;
        series->dataset[i] = good ? dataset : 0;
    }
    if (good && create)
        good = td_h5_texts(series->dataset[1], "names", model->n_bodies, names) >= 0;
    free(names);
    if (group >= 0)
        H5Gclose(group);
    return good;
}

static hssize_t rows_of(hid_t dataset)
{
    hid_t space = H5Dget_space(dataset);
    hsize_t dims[4] = {0};
    hssize_t rows = -1;
    if (space >= 0 && H5Sget_simple_extent_ndims(space) <= 2 && H5Sget_simple_extent_dims(space, dims, NULL) > 0)
        rows = (hssize_t)dims[0];
    if (space >= 0)
        H5Sclose(space);
    return rows;
}

// Counts of all frames; NULL: none, or no memory.
static int64_t *read_counts(const tdContactSeries *series, hssize_t frames)
{
    int64_t *counts = frames > 0 ? calloc((size_t)frames, sizeof *counts) : NULL;
    if (counts != NULL && H5Dread(series->dataset[0], H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, counts) < 0)
    {
        free(counts);
        counts = NULL;
    }
    return counts;
}

hssize_t td_contact_series_frames(const tdContactSeries *series)
{
    hssize_t frames = rows_of(series->dataset[0]), least = -1, sum = 0, complete = 0;
    int64_t *counts = read_counts(series, frames);
    if (frames > 0 && counts == NULL)
        return -1;
    for (int i = 1; i < series->n; i++)
    {
        hssize_t rows = rows_of(series->dataset[i]);
        least = least < 0 || rows < least ? rows : least;
    }
    for (; complete < frames && counts[complete] >= 0 && sum + counts[complete] <= least; complete++)
        sum += counts[complete];
    free(counts);
    return frames < 0 ? -1 : complete;
}

bool td_contact_series_keep(tdContactSeries *series, hsize_t frames)
{
    hssize_t all = rows_of(series->dataset[0]);
    int64_t *counts = read_counts(series, all);
    hsize_t sum = 0;
    if (all < 0 || (all > 0 && counts == NULL))
        return false;
    for (hsize_t k = 0; k < frames; k++)
        sum += (hsize_t)counts[k];
    free(counts);
    bool good = td_h5_resize(series->dataset[0], frames) >= 0;
    for (int i = 1; i < series->n && good; i++)
        good = td_h5_resize(series->dataset[i], sum) >= 0;
    return good;
}

static const double *column_of(const tdContactPoint *p, int column)
{
    return column == 3   ? p->position
           : column == 4 ? p->normal
           : column == 5 ? p->force
           : column == 6 ? p->slip
           : column == 7 ? &p->distance
                         : p->torque;
}

// Points go in before their number, so that a frame that was cut off is not counted.
bool td_contact_series_append(tdContactSeries *series, const tdState *state)
{
    const tdContactPoint *points = NULL;
    int64_t all = td_state_contacts(state, &points), count = 0;
    for (int64_t i = 0; i < all; i++)
        count += has_force(&points[i]);
    if (!td_grow((void **)&series->rows, &series->room, 3 * count + 1, sizeof *series->rows))
        return false;
    bool good = true;
    for (int c = 1; c < series->n && good; c++)
    {
        int width = columns[c].width > 0 ? columns[c].width : 1;
        int64_t *whole = (int64_t *)(void *)series->rows, k = 0; // numbers of the same size
        for (int64_t i = 0; i < all; i++)
        {
            if (!has_force(&points[i]))
                continue;
            for (int j = 0; j < width && c <= 2; j++)
                whole[width * k + j] = c == 1 ? points[i].body[j] : points[i].link[j];
            if (c > 2)
                memcpy(series->rows + width * k, column_of(&points[i], c), (size_t)width * sizeof(double));
            k++;
        }
        good = td_h5_append_rows(series->dataset[c], c <= 2 ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, (hsize_t)count,
                                 series->rows) >= 0;
    }
    return good && td_h5_append(series->dataset[0], H5T_NATIVE_INT64, &count) >= 0;
}

void td_contact_series_close(tdContactSeries *series)
{
    for (int i = 0; i < series->n; i++)
        if (series->dataset[i] > 0)
            H5Dclose(series->dataset[i]);
    free(series->rows);
}
