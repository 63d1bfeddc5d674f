// SPDX-License-Identifier: Apache-2.0
#include "output/trajectory.h"

#include "base/memory.h"
#include "body/soft.h"
#include "contact/contact.h"
#include "core/parts.h"
#include "output/contact_series.h"
#include "store/h5.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BODY_SERIES 5
#define DEFLATE     4

/// A dataset that gets a row a frame.
typedef struct tdSeries
{
    hid_t dataset;
    hid_t type;
} tdSeries;

struct tdTrajectory
{
    hid_t file;
    int n_bodies, n_probes, n_actuators, n_effectors, n_attachments, n_couplings, n_sensors;
    bool touch;               ///< bodies can
    tdContactSeries contacts; ///< where they can
    int n;            ///< series: frames (step, time, columns), probes, actuators, effectors, bonds, BODY_SERIES a body
    tdSeries *series; ///< in the order in which a frame is written
    int64_t kept;     ///< last step of an earlier run; -1: none
    char path[PATH_MAX];
};

/// How to make or find the datasets; the same walk does both, so that they cannot differ.
typedef struct tdWalk
{
    tdTrajectory *to;
    bool create;
    int deflate;
} tdWalk;

static hid_t walk_group(const tdWalk *walk, hid_t parent, const char *name)
{
    return walk->create ? td_h5_group(parent, name) : H5Gopen2(parent, name, H5P_DEFAULT);
}

// Does a dataset of an earlier run have the shape that this run writes?
static bool same_shape(hid_t dataset, int rank, const hsize_t *dims)
{
    hid_t space = H5Dget_space(dataset);
    hsize_t found[4] = {0};
    bool same = space >= 0 && H5Sget_simple_extent_ndims(space) == rank + 1 &&
                H5Sget_simple_extent_dims(space, found, NULL) == rank + 1;
    for (int i = 0; i < rank && same; i++)
        same = found[i + 1] == dims[i];
    if (space >= 0)
        H5Sclose(space);
    return same;
}

static bool walk_series(const tdWalk *walk, hid_t parent, const char *name, hid_t type, int rank, const hsize_t *dims,
                        const char *unit)
{
    hid_t dataset = walk->create ? td_h5_series(parent, name, type, rank, dims, walk->deflate, unit)
                                 : H5Dopen2(parent, name, H5P_DEFAULT);
    if (dataset < 0)
        return false;
    walk->to->series[walk->to->n++] = (tdSeries){dataset, type};
    return walk->create || same_shape(dataset, rank, dims);
}

static bool walk_frames(const tdWalk *walk)
{
    hid_t group = walk_group(walk, walk->to->file, "frames");
    if (group < 0)
        return false;
    bool good = walk_series(walk, group, "step", H5T_NATIVE_INT64, 0, NULL, NULL) &&
                walk_series(walk, group, "time", H5T_NATIVE_DOUBLE, 0, NULL, "s");
    for (int i = 0; i < TD_TOTALS_COLUMNS && good; i++)
    {
        const char *unit = td_totals_unit(i);
        if (!td_totals_timing(i))
            good = walk_series(walk, group, td_totals_name(i), H5T_NATIVE_DOUBLE, 0, NULL, *unit ? unit : NULL);
    }
    H5Gclose(group);
    return good;
}

static bool walk_probes(const tdWalk *walk, const tdModel *model)
{
    hid_t group = walk_group(walk, walk->to->file, "probes");
    const hsize_t dims[1] = {3};
    bool good = group >= 0;
    for (int i = 0; i < model->n_probes && good; i++)
        good = walk_series(walk, group, model->probes[i].name, H5T_NATIVE_DOUBLE, 1, dims, "m");
    if (group >= 0)
        H5Gclose(group);
    return good;
}

// Names and units of a series, on the dataset that the walk came to last.
static bool write_names(const tdWalk *walk, int n, const char *const *names, const char *const *units)
{
    hid_t dataset = walk->to->series[walk->to->n - 1].dataset;
    return !walk->create ||
           (td_h5_texts(dataset, "names", n, names) >= 0 && td_h5_texts(dataset, "units", n, units) >= 0);
}

static bool walk_actuators(const tdWalk *walk, const tdModel *model, const char **names, const char **units)
{
    int n = model->n_actuators;
    const hsize_t dims[1] = {(hsize_t)n};
    hid_t group = walk_group(walk, walk->to->file, "actuators");
    bool good = group >= 0 && walk_series(walk, group, "effort", H5T_NATIVE_DOUBLE, 1, dims, NULL);
    for (int a = 0; a < n; a++)
    {
        names[a] = model->actuators[a].name;
        units[a] = td_model_actuator(model, a).effort_unit;
    }
    good = good && write_names(walk, n, names, units) &&
           walk_series(walk, group, "displacement", H5T_NATIVE_DOUBLE, 1, dims, NULL);
    for (int a = 0; a < n; a++)
        units[a] = td_model_actuator(model, a).displacement_unit;
    good = good && write_names(walk, n, names, units);
    if (group >= 0)
        H5Gclose(group);
    return good;
}

static bool walk_effectors(const tdWalk *walk, const tdModel *model, const char **names, const char **units)
{
    int n = model->n_effectors;
    const hsize_t dims[2] = {(hsize_t)n, 3};
    hid_t group = walk_group(walk, walk->to->file, "effectors");
    for (int e = 0; e < n; e++)
    {
        names[e] = model->effectors[e].name;
        units[e] = td_model_effector(model, e).unit;
    }
    bool good = group >= 0 && walk_series(walk, group, "value", H5T_NATIVE_DOUBLE, 2, dims, NULL) &&
                write_names(walk, n, names, units) &&
                walk_series(walk, group, "target", H5T_NATIVE_DOUBLE, 2, dims, NULL) &&
                write_names(walk, n, names, units);
    if (group >= 0)
        H5Gclose(group);
    return good;
}

static bool walk_bonds(const tdWalk *walk, const tdModel *model, const char **names, const char **units)
{
    static const char *const parts[3][2] = {{"force", "N"}, {"torque", "N m"}, {"point", "m"}};
    int n = walk->to->n_attachments, m = walk->to->n_couplings;
    const hsize_t dims[2] = {(hsize_t)n, 3}, efforts[1] = {(hsize_t)m};
    hid_t group = n > 0 ? walk_group(walk, walk->to->file, "attachments") : 0;
    bool good = group >= 0;
    for (int k = 0; k < 3 && n > 0 && good; k++)
    {
        for (int i = 0; i < n; i++)
        {
            names[i] = td_model_attachment_name(model, i);
            units[i] = parts[k][1];
        }
        good = walk_series(walk, group, parts[k][0], H5T_NATIVE_DOUBLE, 2, dims, NULL) &&
               write_names(walk, n, names, units);
    }
    if (group > 0)
        H5Gclose(group);
    group = m > 0 && good ? walk_group(walk, walk->to->file, "couplings") : 0;
    for (int i = 0; i < m; i++)
    {
        names[i] = td_model_coupling_name(model, i);
        units[i] = td_coupling_unit(model, i);
    }
    if (m > 0)
        good = good && group >= 0 && walk_series(walk, group, "effort", H5T_NATIVE_DOUBLE, 1, efforts, NULL) &&
               write_names(walk, m, names, units);
    if (group > 0)
        H5Gclose(group);
    return good;
}

// A dataset a sensor.
static bool walk_sensors(const tdWalk *walk, const tdModel *model)
{
    hid_t group = walk->to->n_sensors > 0 ? walk_group(walk, walk->to->file, "sensors") : 0;
    bool good = group >= 0;
    for (int i = 0; i < walk->to->n_sensors && good; i++)
    {
        tdSensorInfo info = td_model_sensor(model, i);
        const hsize_t dims[1] = {(hsize_t)info.values};
        good = walk_series(walk, group, info.name, H5T_NATIVE_DOUBLE, 1, dims, NULL) &&
               write_names(walk, info.values, info.columns, info.units);
    }
    if (group > 0)
        H5Gclose(group);
    return good;
}

static bool walk_actuation(const tdWalk *walk, const tdModel *model)
{
    size_t most = (size_t)model->n_actuators + (size_t)model->n_effectors + (size_t)td_model_attachments(model) +
                  (size_t)td_model_couplings(model) + 1;
    const char **words = calloc(2 * most, sizeof *words);
    bool good = words != NULL;
    if (good && model->n_actuators > 0)
        good = walk_actuators(walk, model, words, words + most);
    if (good && model->n_effectors > 0)
        good = walk_effectors(walk, model, words, words + most);
    good = good && walk_bonds(walk, model, words, words + most) && walk_sensors(walk, model);
    free(words);
    return good &&
           (!walk->to->touch || td_contact_series_open(&walk->to->contacts, walk->to->file, model, walk->create));
}

// Nodes of the elements, one array a type of cell; elements are numbered in the same order.
static bool write_cells(hid_t group, const tdSoft *soft)
{
    static const char *const names[TD_CELL_TYPES] = {
        [TD_CELL_TRI] = "tris", [TD_CELL_TET] = "tets", [TD_CELL_HEX] = "hexes", [TD_CELL_TET10] = "tets10"};
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        int64_t first = soft->element_start[t], count = soft->element_start[t + 1] - first, n = td_cell_nodes(t);
        if (names[t] == NULL || count == 0)
            continue;
        int32_t *nodes = td_take((size_t)(n * count), sizeof *nodes);
        if (nodes == NULL)
            return false;
        for (int64_t e = 0; e < count; e++)
            memcpy(nodes + n * e, soft->mesh.cells[t].nodes + n * soft->element_cell[first + e],
                   (size_t)n * sizeof *nodes);
        const hsize_t dims[2] = {(hsize_t)count, (hsize_t)n};
        bool good = td_h5_array(group, names[t], H5T_NATIVE_INT32, 2, dims, nodes, NULL) >= 0;
        free(nodes);
        if (!good)
            return false;
    }
    return true;
}

static bool write_rest(hid_t group, const tdSoft *soft)
{
    const hsize_t rest[2] = {(hsize_t)soft->n_nodes, 3};
    const hsize_t surface[2] = {(hsize_t)soft->surface_tris, 3};
    return td_h5_array(group, "rest", H5T_NATIVE_DOUBLE, 2, rest, soft->rest, "m") >= 0 && write_cells(group, soft) &&
           td_h5_array(group, "surface", H5T_NATIVE_INT32, 2, surface, soft->surface, NULL) >= 0;
}

static bool walk_body(const tdWalk *walk, hid_t bodies, const tdBody *body)
{
    hid_t group = walk_group(walk, bodies, body->name);
    if (group < 0)
        return false;
    const hsize_t nodes[2] = {(hsize_t)body->nodes, 3}, elements[1] = {(hsize_t)body->elements};
    bool good = !walk->create || write_rest(group, body->soft);
    if (good && walk->create && body->parts != NULL)
        good = td_h5_text_array(group, "links", body->parts->n, body->parts->names) >= 0;
    good = good && walk_series(walk, group, "position", H5T_NATIVE_DOUBLE, 2, nodes, "m") &&
           walk_series(walk, group, "velocity", H5T_NATIVE_DOUBLE, 2, nodes, "m/s") &&
           walk_series(walk, group, "reaction", H5T_NATIVE_DOUBLE, 2, nodes, "N") &&
           walk_series(walk, group, "von_mises", H5T_NATIVE_DOUBLE, 1, elements, "Pa") &&
           walk_series(walk, group, "strain_energy", H5T_NATIVE_DOUBLE, 1, elements, "J/m^3");
    H5Gclose(group);
    return good;
}

static bool walk_bodies(const tdWalk *walk, const tdModel *model)
{
    hid_t group = walk_group(walk, walk->to->file, "bodies");
    bool good = group >= 0;
    for (int b = 0; b < model->n_bodies && good; b++)
        good = walk_body(walk, group, &model->bodies[b]);
    if (group >= 0)
        H5Gclose(group);
    return good;
}

static void scene_text(const tdModel *model, char text[17])
{
    snprintf(text, 17, "%016" PRIx64, model->scene.hash);
}

static tdStatus create_file(tdTrajectory *to, const tdModel *model, bool compressed, tdError *error)
{
    char scene[17];
    scene_text(model, scene);
    to->file = H5Fcreate(to->path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const tdWalk walk = {to, true, compressed ? DEFLATE : 0};
    if (to->file < 0 || td_h5_text(to->file, "tendril", td_version()) < 0 || td_h5_text(to->file, "scene", scene) < 0 ||
        td_h5_text(to->file, "units", "SI: m, kg, s, N, Pa, J") < 0 || !walk_frames(&walk) ||
        !walk_probes(&walk, model) || !walk_actuation(&walk, model) || !walk_bodies(&walk, model) ||
        H5Fflush(to->file, H5F_SCOPE_GLOBAL) < 0)
        return td_h5_fail(error, TD_ERROR_IO, to->path, "cannot be written");
    return TD_OK;
}

static bool same_scene(hid_t file, const tdModel *model)
{
    char scene[17], found[17] = {0};
    scene_text(model, scene);
    hid_t attribute = H5Aopen(file, "scene", H5P_DEFAULT);
    hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
    bool same = type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0 &&
                H5Tget_size(type) == sizeof found && H5Aread(attribute, type, found) >= 0 &&
                memcmp(found, scene, sizeof found) == 0;
    if (type >= 0)
        H5Tclose(type);
    if (attribute >= 0)
        H5Aclose(attribute);
    return same;
}

static hssize_t rows_of(hid_t dataset)
{
    hid_t space = H5Dget_space(dataset);
    hsize_t dims[4] = {0};
    hssize_t rows = -1;
    if (space >= 0 && H5Sget_simple_extent_ndims(space) <= 4 && H5Sget_simple_extent_dims(space, dims, NULL) > 0)
        rows = (hssize_t)dims[0];
    if (space >= 0)
        H5Sclose(space);
    return rows;
}

// Frames up to `keep` that all series have; a killed run may have left some without their last row.
static hssize_t rows_to_keep(tdTrajectory *to, int64_t keep)
{
    hssize_t steps = rows_of(to->series[0].dataset), rows = steps;
    for (int i = 1; i < to->n && rows >= 0; i++)
    {
        hssize_t r = rows_of(to->series[i].dataset);
        rows = r < rows ? r : rows;
    }
    if (to->touch)
    {
        hssize_t r = td_contact_series_frames(&to->contacts);
        rows = r < rows ? r : rows;
    }
    int64_t *step = steps > 0 ? calloc((size_t)steps, sizeof *step) : NULL;
    if (step != NULL && H5Dread(to->series[0].dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, step) >= 0)
    {
        while (rows > 0 && step[rows - 1] > keep)
            rows--;
        to->kept = rows > 0 ? step[rows - 1] : -1;
    }
    else if (steps > 0)
        rows = -1;
    free(step);
    return rows;
}

static tdStatus reopen_file(tdTrajectory *to, const tdModel *model, int64_t keep, tdError *error)
{
    to->file = H5Fopen(to->path, H5F_ACC_RDWR, H5P_DEFAULT);
    if (to->file < 0)
        return td_h5_fail(error, TD_ERROR_INPUT, to->path, "cannot be continued; give another folder");
    const tdWalk walk = {to, false, 0};
    if (!same_scene(to->file, model) || !walk_frames(&walk) || !walk_probes(&walk, model) ||
        !walk_actuation(&walk, model) || !walk_bodies(&walk, model))
        return td_fail_at(error, TD_ERROR_INPUT, to->path, 0, NULL,
                          "is a run of another scene, so this run cannot continue there; give another folder");
    hssize_t rows = rows_to_keep(to, keep);
    bool good = rows >= 0;
    for (int i = 0; i < to->n && good; i++)
        good = td_h5_resize(to->series[i].dataset, (hsize_t)rows) >= 0;
    good = good && (!to->touch || td_contact_series_keep(&to->contacts, (hsize_t)rows));
    return good ? TD_OK : td_h5_fail(error, TD_ERROR_IO, to->path, "cannot be continued");
}

tdStatus td_trajectory_open(const tdModel *model, const char *path, bool compressed, int64_t keep, tdTrajectory **out,
                            tdError *error)
{
    *out = NULL;
    int most = 2 + TD_TOTALS_COLUMNS + model->n_probes + 8 + model->n_sensors + BODY_SERIES * model->n_bodies;
    tdTrajectory *to = calloc(1, sizeof *to);
    if (to == NULL || (to->series = calloc((size_t)most, sizeof *to->series)) == NULL)
    {
        free(to);
        return td_fail_memory(error, "a trajectory");
    }
    to->file = -1;
    to->kept = -1;
    to->n_bodies = model->n_bodies;
    to->n_probes = model->n_probes;
    to->n_actuators = model->n_actuators;
    to->n_effectors = model->n_effectors;
    to->n_attachments = td_model_attachments(model);
    to->n_couplings = td_model_couplings(model);
    to->n_sensors = td_model_sensors(model);
    to->touch = td_contact_is_possible(model);
    snprintf(to->path, sizeof to->path, "%s", path);
    tdH5Quiet quiet = td_h5_begin();
    tdStatus status = keep >= 0 && access(path, F_OK) == 0 ? reopen_file(to, model, keep, error)
                                                           : create_file(to, model, compressed, error);
    td_h5_end(quiet);
    if (status != TD_OK)
        td_trajectory_close(to, NULL);
    else
        *out = to;
    return status;
}

static herr_t append_next(const tdTrajectory *to, int *next, const void *row)
{
    const tdSeries *series = &to->series[(*next)++];
    return td_h5_append(series->dataset, series->type, row);
}

static bool append_bonds(const tdTrajectory *to, int *next, const tdBondFrame *bonds)
{
    const double *const of_attachments[3] = {bonds->force, bonds->torque, bonds->point};
    bool good = true;
    for (int k = 0; k < 3 && to->n_attachments > 0 && good; k++)
        good = append_next(to, next, of_attachments[k]) >= 0;
    return good && (to->n_couplings == 0 || append_next(to, next, bonds->effort) >= 0);
}

static bool append_sensors(const tdTrajectory *to, int *next, const tdModel *model, const double *sensed)
{
    bool good = true;
    for (int i = 0; i < to->n_sensors && good; i++)
    {
        good = append_next(to, next, sensed) >= 0;
        sensed += td_model_sensor(model, i).values;
    }
    return good;
}

static bool append_frame(tdTrajectory *to, int64_t step, double time, const tdTotals *totals, const tdBodyFrame *bodies,
                         const double *probes, const tdActuationFrame *actuation, const tdBondFrame *bonds,
                         const double *sensed, const tdState *state)
{
    int next = 0;
    bool good = append_next(to, &next, &step) >= 0 && append_next(to, &next, &time) >= 0;
    double row[TD_TOTALS_COLUMNS];
    td_totals_row(totals, row);
    for (int i = 0; i < TD_TOTALS_COLUMNS && good; i++)
        if (!td_totals_timing(i))
            good = append_next(to, &next, &row[i]) >= 0;
    for (int i = 0; i < to->n_probes && good; i++)
        good = append_next(to, &next, probes + 3 * i) >= 0;
    if (to->n_actuators > 0)
        good = good && append_next(to, &next, actuation->effort) >= 0 &&
               append_next(to, &next, actuation->displacement) >= 0;
    if (to->n_effectors > 0)
        good = good && append_next(to, &next, actuation->value) >= 0 && append_next(to, &next, actuation->target) >= 0;
    good = good && append_bonds(to, &next, bonds) && append_sensors(to, &next, state->model, sensed) &&
           (!to->touch || td_contact_series_append(&to->contacts, state));
    for (int b = 0; b < to->n_bodies && good; b++)
    {
        const double *arrays[BODY_SERIES] = {bodies[b].position, bodies[b].velocity, bodies[b].reaction,
                                             bodies[b].von_mises, bodies[b].strain_energy};
        for (int i = 0; i < BODY_SERIES && good; i++)
            good = append_next(to, &next, arrays[i]) >= 0;
    }
    return good && H5Fflush(to->file, H5F_SCOPE_GLOBAL) >= 0;
}

tdStatus td_trajectory_frame(tdTrajectory *to, int64_t step, double time, const tdTotals *totals,
                             const tdBodyFrame *bodies, const double *probes, const tdActuationFrame *actuation,
                             const tdBondFrame *bonds, const double *sensed, const tdState *state, tdError *error)
{
    if (step <= to->kept)
        return TD_OK;
    tdH5Quiet quiet = td_h5_begin();
    tdStatus status = TD_OK;
    if (!append_frame(to, step, time, totals, bodies, probes, actuation, bonds, sensed, state))
        status = td_h5_fail(error, TD_ERROR_IO, to->path, "a frame cannot be written");
    td_h5_end(quiet);
    return status;
}

int64_t td_trajectory_kept(const tdTrajectory *to)
{
    return to->kept;
}

tdStatus td_trajectory_close(tdTrajectory *to, tdError *error)
{
    if (to == NULL)
        return TD_OK;
    tdH5Quiet quiet = td_h5_begin();
    tdStatus status = TD_OK;
    for (int i = 0; i < to->n; i++)
        H5Dclose(to->series[i].dataset);
    td_contact_series_close(&to->contacts);
    if (to->file >= 0 && H5Fclose(to->file) < 0)
        status = td_h5_fail(error, TD_ERROR_IO, to->path, "cannot be closed");
    td_h5_end(quiet);
    free(to->series);
    free(to);
    return status;
}
