// SPDX-License-Identifier: Apache-2.0
#include "store/h5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK    4
#define COLUMN_ROWS 256 // of a chunk of a column of numbers

tdH5Quiet td_h5_begin(void)
{
    tdH5Quiet quiet = {0};
    H5Eget_auto2(H5E_DEFAULT, &quiet.print, &quiet.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return quiet;
}

void td_h5_end(tdH5Quiet quiet)
{
    H5Eclear2(H5E_DEFAULT);
    H5Eset_auto2(H5E_DEFAULT, quiet.print, quiet.data);
}

static herr_t innermost(unsigned n, const H5E_error2_t *entry, void *data)
{
    if (n == 0 && entry->desc != NULL)
        snprintf(data, 256, "%s", entry->desc);
    return 0;
}

tdStatus td_h5_fail(tdError *error, tdStatus status, const char *path, const char *what)
{
    char reason[256] = "no reason given";
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, reason);
    // Of a failed write HDF5 tells times and addresses too; what the system said is enough.
    static const char said[] = "error message = '";
    char *system = strstr(reason, said);
    if (system != NULL)
    {
        system += sizeof said - 1;
        system[strcspn(system, "'")] = '\0';
        return td_fail_at(error, status, path, 0, NULL, "%s: %s", what, system);
    }
    return td_fail_at(error, status, path, 0, NULL, "%s (HDF5: %s)", what, reason);
}

// The type in the file for one in memory: fixed, so that files do not depend on the machine.
static hid_t file_type(hid_t type)
{
    if (H5Tget_class(type) == H5T_FLOAT)
        return H5T_IEEE_F64LE;
    return H5Tget_size(type) == 4 ? H5T_STD_I32LE : H5T_STD_I64LE;
}

hid_t td_h5_group(hid_t parent, const char *name)
{
    hid_t list = H5Pcreate(H5P_GROUP_CREATE);
    if (list < 0)
        return list;
    hid_t group = -1;
    if (H5Pset_obj_track_times(list, 0) >= 0)
        group = H5Gcreate2(parent, name, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Pclose(list);
    return group;
}

static herr_t write_attribute(hid_t object, const char *name, hid_t type, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    if (space < 0)
        return -1;
    herr_t status = -1;
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0)
    {
        status = H5Awrite(attribute, type, value);
        H5Aclose(attribute);
    }
    H5Sclose(space);
    return status;
}

herr_t td_h5_text(hid_t object, const char *name, const char *value)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type < 0)
        return -1;
    herr_t status = -1;
    if (H5Tset_size(type, strlen(value) + 1) >= 0)
        status = write_attribute(object, name, type, value);
    H5Tclose(type);
    return status;
}

// Texts of one width, a type for them and their space. False: no memory, or HDF5 failed.
static bool take_texts(int n, const char *const *values, char **table, hid_t *type, hid_t *space)
{
    size_t width = 1;
    for (int i = 0; i < n; i++)
        width = strlen(values[i]) + 1 > width ? strlen(values[i]) + 1 : width;
    const hsize_t dims[1] = {(hsize_t)n};
    *table = calloc((size_t)n + 1, width);
    *type = H5Tcopy(H5T_C_S1);
    *space = H5Screate_simple(1, dims, NULL);
    for (int i = 0; *table != NULL && i < n; i++)
        memcpy(*table + (size_t)i * width, values[i], strlen(values[i]));
    return *table != NULL && *type >= 0 && *space >= 0 && H5Tset_size(*type, width) >= 0;
}

static void drop_texts(char *table, hid_t type, hid_t space)
{
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    free(table);
}

herr_t td_h5_texts(hid_t object, const char *name, int n, const char *const *values)
{
    char *table = NULL;
    hid_t type = -1, space = -1, attribute = -1;
    herr_t status = -1;
    if (take_texts(n, values, &table, &type, &space))
        attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0)
    {
        status = H5Awrite(attribute, type, table);
        H5Aclose(attribute);
    }
    drop_texts(table, type, space);
    return status;
}

herr_t td_h5_text_array(hid_t group, const char *name, int n, const char *const *values)
{
    char *table = NULL;
    hid_t type = -1, space = -1, dataset = -1, plist = H5Pcreate(H5P_DATASET_CREATE);
    herr_t status = -1;
    // Object times off: the same run gives the same file.
    if (take_texts(n, values, &table, &type, &space) && plist >= 0 && H5Pset_obj_track_times(plist, false) >= 0)
        dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (dataset >= 0)
    {
        status = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, table);
        H5Dclose(dataset);
    }
    if (plist >= 0)
        H5Pclose(plist);
    drop_texts(table, type, space);
    return status;
}

herr_t td_h5_integer(hid_t object, const char *name, int64_t value)
{
    return write_attribute(object, name, H5T_NATIVE_INT64, &value);
}

herr_t td_h5_number(hid_t object, const char *name, double value)
{
    return write_attribute(object, name, H5T_NATIVE_DOUBLE, &value);
}

static hid_t create_dataset(hid_t parent, const char *name, hid_t type, hid_t space, const hsize_t *chunk, int rank,
                            int deflate)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    if (list < 0)
        return list;
    bool good = H5Pset_obj_track_times(list, 0) >= 0;
    if (chunk != NULL)
        good = good && H5Pset_chunk(list, rank, chunk) >= 0;
    if (chunk != NULL && deflate > 0)
        good = good && H5Pset_shuffle(list) >= 0 && H5Pset_deflate(list, (unsigned)deflate) >= 0;
    hid_t dataset = good ? H5Dcreate2(parent, name, file_type(type), space, H5P_DEFAULT, list, H5P_DEFAULT) : -1;
    H5Pclose(list);
    return dataset;
}

herr_t td_h5_array(hid_t parent, const char *name, hid_t type, int rank, const hsize_t *dims, const void *data,
                   const char *unit)
{
    hid_t space = H5Screate_simple(rank, dims, NULL);
    if (space < 0)
        return -1;
    herr_t status = -1;
    hid_t dataset = create_dataset(parent, name, type, space, NULL, 0, 0);
    if (dataset >= 0)
    {
        status =
            H5Sget_simple_extent_npoints(space) == 0 ? 0 : H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
        if (status >= 0 && unit != NULL)
            status = td_h5_text(dataset, "unit", unit);
        H5Dclose(dataset);
    }
    H5Sclose(space);
    return status;
}

hid_t td_h5_series(hid_t parent, const char *name, hid_t type, int rank, const hsize_t *dims, int deflate,
                   const char *unit)
{
    hsize_t now[MAX_RANK + 1] = {0}, most[MAX_RANK + 1] = {H5S_UNLIMITED}, chunk[MAX_RANK + 1] = {1};
    bool column = true;
    for (int i = 0; i < rank; i++)
    {
        now[i + 1] = most[i + 1] = chunk[i + 1] = dims[i];
        column = column && dims[i] <= 16;
    }
    if (column) // small rows share a chunk, or its bookkeeping would outweigh it
        chunk[0] = COLUMN_ROWS;
    hid_t space = H5Screate_simple(rank + 1, now, most);
    if (space < 0)
        return space;
    hid_t dataset = create_dataset(parent, name, type, space, chunk, rank + 1, column ? 0 : deflate);
    H5Sclose(space);
    if (dataset >= 0 && unit != NULL && td_h5_text(dataset, "unit", unit) < 0)
    {
        H5Dclose(dataset);
        return -1;
    }
    return dataset;
}

herr_t td_h5_append(hid_t series, hid_t type, const void *row)
{
    return td_h5_append_rows(series, type, 1, row);
}

herr_t td_h5_append_rows(hid_t series, hid_t type, hsize_t n, const void *rows)
{
    if (n == 0)
        return 0;
    hid_t space = H5Dget_space(series);
    if (space < 0)
        return -1;
    hsize_t dims[MAX_RANK + 1] = {0}, start[MAX_RANK + 1] = {0};
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    H5Sclose(space);
    if (rank < 1)
        return -1;
    start[0] = dims[0];
    dims[0] += n;
    if (H5Dset_extent(series, dims) < 0)
        return -1;
    dims[0] = n;
    herr_t status = -1;
    hid_t memory = H5Screate_simple(rank, dims, NULL);
    hid_t file = H5Dget_space(series);
    if (memory >= 0 && file >= 0 && H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, dims, NULL) >= 0)
        status = H5Dwrite(series, type, memory, file, H5P_DEFAULT, rows);
    if (memory >= 0)
        H5Sclose(memory);
    if (file >= 0)
        H5Sclose(file);
    return status;
}

herr_t td_h5_resize(hid_t series, hsize_t rows)
{
    hid_t space = H5Dget_space(series);
    if (space < 0)
        return -1;
    hsize_t dims[MAX_RANK + 1] = {0};
    int rank = H5Sget_simple_extent_dims(space, dims, NULL);
    H5Sclose(space);
    if (rank < 1)
        return -1;
    dims[0] = rows;
    return H5Dset_extent(series, dims);
}
