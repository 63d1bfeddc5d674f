// SPDX-License-Identifier: Apache-2.0
// The files of a sweep. That of the inputs is the user's, written by h5py, MATLAB or whatever they have.
#include "study/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_PARAMETERS 256

static tdStatus refuse(const tdSweepInputs *inputs, const char *where, const char *why, tdError *error)
{
    return td_fail_at(error, TD_ERROR_INPUT, inputs->path, 0, where, "%s", why);
}

// ---------------------------------------------------------------- inputs

// Shape of a dataset of numbers; false: there is none of that rank.
static bool shape_of(hid_t data, int rank, int64_t *dims)
{
    hsize_t found[8] = {0};
    hid_t space = H5Dget_space(data), type = H5Dget_type(data);
    H5T_class_t kind = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    bool good = space >= 0 && (kind == H5T_FLOAT || kind == H5T_INTEGER) && H5Sget_simple_extent_ndims(space) == rank &&
                H5Sget_simple_extent_dims(space, found, NULL) == rank;
    for (int i = 0; i < rank && good; i++)
    {
        good = found[i] <= TD_SWEEP_MOST;
        dims[i] = (int64_t)found[i];
    }
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    return good;
}

static tdStatus take_name(tdSweepInputs *inputs, int64_t k, const char *text, tdError *error)
{
    inputs->names[k] = td_arena_copy(&inputs->arena, text);
    return inputs->names[k] != NULL ? TD_OK : td_fail_memory(error, "the names of inputs");
}

// Texts of fixed length, as C programs write them, or of variable length, as h5py does.
static tdStatus read_names(tdSweepInputs *inputs, hid_t attribute, hid_t type, tdError *error)
{
    hid_t space = H5Aget_space(attribute);
    int64_t n = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    bool variable = H5Tis_variable_str(type) > 0;
    size_t width = variable ? sizeof(char *) : H5Tget_size(type);
    tdStatus status = TD_OK;
    if (H5Tget_class(type) != H5T_STRING || n != inputs->n || width > TD_H5_LONGEST_TEXT)
        status = refuse(inputs, "inputs.names", "expected a list of strings, one for each value of a row", error);
    char *table = status == TD_OK ? td_take((size_t)n + 1, width + 1) : NULL;
    inputs->names = TD_TAKE(&inputs->arena, const char *, inputs->n + 1);
    if (status == TD_OK && (table == NULL || inputs->names == NULL))
        status = td_fail_memory(error, "the names of inputs");
    hid_t memory = status == TD_OK && variable ? H5Tcopy(H5T_C_S1) : -1;
    if (memory >= 0)
    {
        H5Tset_size(memory, H5T_VARIABLE);
        H5Tset_cset(memory, H5Tget_cset(type));
    }
    bool read = status == TD_OK && n > 0 && H5Aread(attribute, variable ? memory : type, table) >= 0;
    if (status == TD_OK && n > 0 && !read)
        status = refuse(inputs, "inputs.names", "cannot be read", error);
    for (int64_t k = 0; k < n && status == TD_OK; k++)
    {
        char text[TD_H5_LONGEST_TEXT + 1] = "";
        const char *one = variable ? ((char **)table)[k] : table + (size_t)k * width;
        snprintf(text, sizeof text, "%.*s", variable ? TD_H5_LONGEST_TEXT : (int)width, one != NULL ? one : "");
        status = take_name(inputs, k, text, error);
    }
    if (read && variable)
        H5Dvlen_reclaim(memory, space, H5P_DEFAULT, table);
    free(table);
    if (memory >= 0)
        H5Tclose(memory);
    if (space >= 0)
        H5Sclose(space);
    return status;
}

static tdStatus find_names(tdSweepInputs *inputs, tdError *error)
{
    if (H5Aexists(inputs->data, "names") <= 0)
        return TD_OK;
    hid_t attribute = H5Aopen(inputs->data, "names", H5P_DEFAULT);
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    tdStatus status = type >= 0 ? read_names(inputs, attribute, type, error)
                                : refuse(inputs, "inputs.names", "cannot be read", error);
    if (type >= 0)
        H5Tclose(type);
    if (attribute >= 0)
        H5Aclose(attribute);
    return status;
}

static tdStatus read_parameter(tdSweepInputs *inputs, hid_t group, hsize_t index, tdError *error)
{
    tdSweepParameter *to = &inputs->parameters[inputs->n_parameters];
    char name[256] = "", where[300];
    int64_t robots = 0;
    if (H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, index, name, sizeof name, H5P_DEFAULT) < 0)
        return refuse(inputs, "parameters", "cannot be read", error);
    snprintf(where, sizeof where, "parameters/%s", name);
    hid_t data = H5Dopen2(group, name, H5P_DEFAULT);
    tdStatus status = TD_OK;
    if (data < 0 || !shape_of(data, 1, &robots) || robots != inputs->robots)
        status = refuse(inputs, where, "expected an array with a number for each robot", error);
    to->name = td_arena_copy(&inputs->arena, name);
    to->values = TD_TAKE(&inputs->arena, double, inputs->robots + 1);
    if (status == TD_OK && (to->name == NULL || to->values == NULL))
        status = td_fail_memory(error, "parameters");
    if (status == TD_OK && H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, to->values) < 0)
        status = refuse(inputs, where, "cannot be read", error);
    if (data >= 0)
        H5Dclose(data);
    inputs->n_parameters += status == TD_OK;
    return status;
}

static tdStatus find_parameters(tdSweepInputs *inputs, tdError *error)
{
    H5G_info_t info = {0};
    if (H5Lexists(inputs->file, "parameters", H5P_DEFAULT) <= 0)
        return TD_OK;
    hid_t group = H5Gopen2(inputs->file, "parameters", H5P_DEFAULT);
    if (group < 0 || H5Gget_info(group, &info) < 0 || info.nlinks > MOST_PARAMETERS)
    {
        if (group >= 0)
            H5Gclose(group);
        return refuse(inputs, "parameters", "expected a group of arrays", error);
    }
    inputs->parameters = TD_TAKE(&inputs->arena, tdSweepParameter, info.nlinks + 1);
    tdStatus status = inputs->parameters != NULL ? TD_OK : td_fail_memory(error, "parameters");
    for (hsize_t i = 0; i < info.nlinks && status == TD_OK; i++)
        status = read_parameter(inputs, group, i, error);
    H5Gclose(group);
    return status;
}

tdStatus td_sweep_open(const char *path, tdSweepInputs *out, tdError *error)
{
    int64_t dims[3] = {0};
    *out = (tdSweepInputs){.path = path};
    if (access(path, R_OK) != 0)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "cannot be opened: %s", strerror(errno));
    tdH5Quiet quiet = td_h5_begin();
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    tdStatus status = file >= 0 ? TD_OK : refuse(out, NULL, "is not an HDF5 file", error);
    out->file = file >= 0 ? file : 0;
    hid_t data = file >= 0 ? H5Dopen2(file, "inputs", H5P_DEFAULT) : -1;
    out->data = data >= 0 ? data : 0;
    if (status == TD_OK && (data < 0 || !shape_of(data, 3, dims)))
        status = refuse(out, "inputs", "expected an array of numbers of the shape (robots, rows, inputs)", error);
    if (status == TD_OK && (dims[0] < 1 || dims[1] < 1))
        status = refuse(out, "inputs", "there are no robots or no rows", error);
    out->robots = dims[0];
    out->rows = dims[1];
    out->n = dims[2];
    if (status == TD_OK)
        status = find_names(out, error);
    if (status == TD_OK)
        status = find_parameters(out, error);
    td_h5_end(quiet);
    if (status != TD_OK)
        td_sweep_close(out);
    return status;
}

void td_sweep_close(tdSweepInputs *inputs)
{
    tdH5Quiet quiet = td_h5_begin();
    if (inputs->data > 0)
        H5Dclose(inputs->data);
    if (inputs->file > 0)
        H5Fclose(inputs->file);
    td_h5_end(quiet);
    td_arena_free(&inputs->arena);
    inputs->data = inputs->file = 0;
}

// Reads or writes a box of a dataset of three axes; a negative number: it failed.
static herr_t move_box(hid_t data, const hsize_t start[3], const hsize_t count[3], double *in, const double *out)
{
    hid_t space = H5Dget_space(data), memory = H5Screate_simple(3, count, NULL);
    herr_t status = -1;
    if (space >= 0 && memory >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0)
        status = in != NULL ? H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, in)
                            : H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, out);
    if (memory >= 0)
        H5Sclose(memory);
    if (space >= 0)
        H5Sclose(space);
    return status;
}

tdStatus td_sweep_read(const tdSweepInputs *inputs, int64_t robot, int64_t robots, int64_t row, int64_t rows,
                       double *out, tdError *error)
{
    const hsize_t start[3] = {(hsize_t)robot, (hsize_t)row, 0};
    const hsize_t count[3] = {(hsize_t)robots, (hsize_t)rows, (hsize_t)inputs->n};
    if (inputs->n == 0)
        return TD_OK;
    tdH5Quiet quiet = td_h5_begin();
    herr_t status = move_box(inputs->data, start, count, out, NULL);
    tdStatus result = status >= 0 ? TD_OK : td_h5_fail(error, TD_ERROR_IO, inputs->path, "cannot be read");
    td_h5_end(quiet);
    return result;
}

// ---------------------------------------------------------------- outputs

static hid_t create_output(hid_t group, const char *name, const char *unit, const hsize_t dims[3])
{
    hid_t space = H5Screate_simple(3, dims, NULL), list = H5Pcreate(H5P_DATASET_CREATE), data = -1;
    // Room is taken at once, so that the file does not depend on the order in which it is filled.
    if (space >= 0 && list >= 0 && H5Pset_obj_track_times(list, 0) >= 0 &&
        H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) >= 0)
        data = H5Dcreate2(group, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (data >= 0 && td_h5_text(data, "unit", unit) < 0)
    {
        H5Dclose(data);
        data = -1;
    }
    if (list >= 0)
        H5Pclose(list);
    if (space >= 0)
        H5Sclose(space);
    return data;
}

static herr_t begin(tdSweepFile *to, const char *scene, double step)
{
    to->file = H5Fcreate(to->temporary, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = to->file >= 0 ? td_h5_group(to->file, "outputs") : -1;
    if (group < 0 || td_h5_text(to->file, "scene", scene) < 0 || td_h5_number(to->file, "row_seconds", step) < 0 ||
        td_h5_text(to->file, "version", td_version()) < 0)
        return -1;
    herr_t status = 0;
    for (int i = 0; i < td_outputs_count(to->outputs) && status >= 0; i++)
    {
        tdOutputInfo info = td_outputs_info(to->outputs, i);
        const hsize_t dims[3] = {(hsize_t)to->robots, (hsize_t)to->rows, (hsize_t)info.count};
        hid_t data = create_output(group, info.name, info.unit, dims);
        status = data >= 0 ? 0 : -1;
        if (data >= 0)
            to->data[to->n++] = data;
    }
    H5Gclose(group);
    return status;
}

tdStatus td_sweep_create(const char *path, const char *scene, double step, const tdOutputs *outputs, int64_t robots,
                         int64_t rows, tdSweepFile *out, tdError *error)
{
    *out = (tdSweepFile){.path = path, .outputs = outputs, .robots = robots, .rows = rows, .file = -1};
    out->data = td_take((size_t)td_outputs_count(outputs) + 1, sizeof *out->data);
    if (out->data == NULL)
        return td_fail_memory(error, path);
    if (snprintf(out->temporary, sizeof out->temporary, "%s.tmp%ld", path, (long)getpid()) >=
        (int)sizeof out->temporary)
        return td_fail_at(error, TD_ERROR_IO, path, 0, NULL, "the path is too long");
    tdH5Quiet quiet = td_h5_begin();
    tdStatus status = begin(out, scene, step) >= 0 ? TD_OK : td_h5_fail(error, TD_ERROR_IO, path, "cannot be written");
    td_h5_end(quiet);
    return status;
}

tdStatus td_sweep_write(const tdSweepFile *file, int64_t robot, int64_t robots, int64_t row, int64_t rows,
                        const double *values, tdError *error)
{
    int64_t width = td_outputs_width(file->outputs);
    double *box = td_take((size_t)(robots * rows * width) + 1, sizeof *box);
    if (box == NULL)
        return td_fail_memory(error, file->path);
    tdH5Quiet quiet = td_h5_begin();
    herr_t status = 0;
    for (int i = 0; i < file->n && status >= 0; i++)
    {
        tdOutputInfo info = td_outputs_info(file->outputs, i);
        const hsize_t start[3] = {(hsize_t)robot, (hsize_t)row, 0};
        const hsize_t count[3] = {(hsize_t)robots, (hsize_t)rows, (hsize_t)info.count};
        for (int64_t k = 0; k < robots * rows; k++)
            memcpy(box + k * info.count, values + k * width + info.first, (size_t)info.count * sizeof *box);
        status = info.count > 0 ? move_box(file->data[i], start, count, NULL, box) : 0;
    }
    tdStatus result = status >= 0 ? TD_OK : td_h5_fail(error, TD_ERROR_IO, file->path, "cannot be written");
    td_h5_end(quiet);
    free(box);
    return result;
}

tdStatus td_sweep_finish(tdSweepFile *file, tdStatus status, const int32_t *ends, const int64_t *steps, tdError *error)
{
    const hsize_t robots[1] = {(hsize_t)file->robots};
    tdH5Quiet quiet = td_h5_begin();
    if (status == TD_OK && (td_h5_array(file->file, "status", H5T_NATIVE_INT32, 1, robots, ends, NULL) < 0 ||
                            td_h5_array(file->file, "steps", H5T_NATIVE_INT64, 1, robots, steps, NULL) < 0))
        status = td_h5_fail(error, TD_ERROR_IO, file->path, "cannot be written");
    for (int i = 0; i < file->n; i++)
        H5Dclose(file->data[i]);
    if (file->file >= 0 && H5Fclose(file->file) < 0 && status == TD_OK)
        status = td_h5_fail(error, TD_ERROR_IO, file->path, "cannot be written");
    td_h5_end(quiet);
    if (status == TD_OK && rename(file->temporary, file->path) != 0)
        status = td_fail_at(error, TD_ERROR_IO, file->path, 0, NULL, "cannot be written: %s", strerror(errno));
    if (status != TD_OK && file->file >= 0)
        unlink(file->temporary);
    free(file->data);
    *file = (tdSweepFile){.file = -1};
    return status;
}
