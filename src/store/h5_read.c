// SPDX-License-Identifier: Apache-2.0
// Reading HDF5 that may be anybody's: what is there is compared with what is expected before memory is taken.
#include "store/h5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tdStatus refuse(tdError *error, const char *path, const char *object, const char *name, const char *why)
{
    char field[128];
    bool self = strcmp(object, ".") == 0;
    snprintf(field, sizeof field, "%.80s%s%.40s", self ? "" : object, name[0] == '\0' || self ? "" : ".", name);
    return td_fail_at(error, TD_ERROR_INPUT, path, 0, field,
                      "%s; the file was not written by this program, make it anew", why);
}

// ---------------------------------------------------------------- attributes

/// An open attribute with its type and number of values.
typedef struct Attribute
{
    hid_t id, type;
    int64_t count;
} Attribute;

static void close_attribute(Attribute *attribute)
{
    if (attribute->type >= 0)
        H5Tclose(attribute->type);
    if (attribute->id >= 0)
        H5Aclose(attribute->id);
}

static tdStatus open_attribute(hid_t file, const char *object, const char *name, const char *path, Attribute *out,
                               tdError *error)
{
    *out = (Attribute){-1, -1, -1};
    out->id = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    if (out->id < 0)
        return refuse(error, path, object, name, "is missing");
    out->type = H5Aget_type(out->id);
    hid_t space = H5Aget_space(out->id);
    if (space >= 0)
    {
        out->count = H5Sget_simple_extent_npoints(space);
        H5Sclose(space);
    }
    if (out->type >= 0 && out->count >= 0)
        return TD_OK;
    close_attribute(out);
    return refuse(error, path, object, name, "cannot be read");
}

tdStatus td_h5_read_texts(hid_t file, const char *object, const char *name, int n, int most, tdArena *arena,
                          const char *path, int *count, const char ***out, tdError *error)
{
    Attribute attribute;
    TD_TRY(open_attribute(file, object, name, path, &attribute, error));
    int64_t found = attribute.count;
    size_t width = H5Tget_size(attribute.type);
    const char *why = NULL;
    if (H5Tget_class(attribute.type) != H5T_STRING || H5Tis_variable_str(attribute.type) != 0 || width < 1 ||
        width > TD_H5_LONGEST_TEXT)
        why = "is not a list of strings of fixed length";
    else if (n >= 0 ? found != n : found > most)
        why = "has an unexpected number of strings";
    char *table = why == NULL ? td_arena_take(arena, (size_t)found + 1, width + 1) : NULL;
    const char **list = why == NULL ? TD_TAKE(arena, const char *, found + 1) : NULL;
    tdStatus status = TD_OK;
    if (why != NULL)
        status = refuse(error, path, object, name, why);
    else if (table == NULL || list == NULL)
        status = td_fail_memory(error, path);
    else if (found > 0 && H5Aread(attribute.id, attribute.type, table) < 0)
        status = refuse(error, path, object, name, "cannot be read");
    close_attribute(&attribute);
    if (status != TD_OK)
        return status;
    // Apart, so that each ends: from the last to the first, since they move up.
    for (int64_t i = found - 1; i >= 0; i--)
    {
        char *to = table + (size_t)i * (width + 1);
        memmove(to, table + (size_t)i * width, width);
        to[width] = '\0';
        list[i] = to;
    }
    if (count != NULL)
        *count = (int)found;
    *out = list;
    return TD_OK;
}

tdStatus td_h5_read_text(hid_t file, const char *object, const char *name, tdArena *arena, const char *path,
                         const char **out, tdError *error)
{
    const char **list = NULL;
    TD_TRY(td_h5_read_texts(file, object, name, 1, 1, arena, path, NULL, &list, error));
    *out = list[0];
    return TD_OK;
}

static tdStatus read_scalar(hid_t file, const char *object, const char *name, const char *path, bool integer, void *out,
                            tdError *error)
{
    Attribute attribute;
    TD_TRY(open_attribute(file, object, name, path, &attribute, error));
    tdStatus status = TD_OK;
    if (attribute.count != 1 || H5Tget_class(attribute.type) != (integer ? H5T_INTEGER : H5T_FLOAT) ||
        H5Tget_size(attribute.type) != 8)
        status = refuse(error, path, object, name, integer ? "is not a whole number" : "is not a number");
    else if (H5Aread(attribute.id, integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, out) < 0)
        status = refuse(error, path, object, name, "cannot be read");
    close_attribute(&attribute);
    return status;
}

tdStatus td_h5_read_integer(hid_t file, const char *object, const char *name, const char *path, int64_t least,
                            int64_t most, int64_t *out, tdError *error)
{
    TD_TRY(read_scalar(file, object, name, path, true, out, error));
    char why[96];
    snprintf(why, sizeof why, "is %lld, expected %lld to %lld", (long long)*out, (long long)least, (long long)most);
    return *out < least || *out > most ? refuse(error, path, object, name, why) : TD_OK;
}

tdStatus td_h5_read_number(hid_t file, const char *object, const char *name, const char *path, double *out,
                           tdError *error)
{
    return read_scalar(file, object, name, path, false, out, error);
}

bool td_h5_has_attribute(hid_t file, const char *object, const char *name)
{
    return H5Aexists_by_name(file, object, name, H5P_DEFAULT) > 0;
}

// ---------------------------------------------------------------- datasets

static tdStatus open_dataset(hid_t file, const char *name, const char *path, int rank, int64_t most, int64_t *dims,
                             hid_t *dataset, tdError *error)
{
    *dataset = H5Dopen2(file, name, H5P_DEFAULT);
    if (*dataset < 0)
        return refuse(error, path, name, "", "is missing");
    hsize_t found[4] = {0};
    hid_t space = H5Dget_space(*dataset);
    bool good = space >= 0 && rank <= 4 && H5Sget_simple_extent_ndims(space) == rank &&
                H5Sget_simple_extent_dims(space, found, NULL) == rank;
    if (space >= 0)
        H5Sclose(space);
    for (int i = 0; good && i < rank; i++)
    {
        good = found[i] <= (hsize_t)most;
        dims[i] = (int64_t)found[i];
    }
    if (good)
        return TD_OK;
    H5Dclose(*dataset);
    return refuse(error, path, name, "", "has an unexpected shape");
}

tdStatus td_h5_read_shape(hid_t file, const char *name, const char *path, int rank, int64_t most, int64_t *dims,
                          tdError *error)
{
    hid_t dataset = -1;
    TD_TRY(open_dataset(file, name, path, rank, most, dims, &dataset, error));
    H5Dclose(dataset);
    return TD_OK;
}

tdStatus td_h5_read_array(hid_t file, const char *name, const char *path, bool integers, int rank, const int64_t *dims,
                          tdArena *arena, void **out, tdError *error)
{
    hid_t dataset = -1;
    int64_t found[4] = {0};
    TD_TRY(open_dataset(file, name, path, rank, INT64_MAX, found, &dataset, error));
    hid_t type = H5Dget_type(dataset);
    size_t width = integers ? 4 : 8, count = 1;
    const char *why = NULL;
    bool fits = true;
    for (int i = 0; i < rank; i++)
    {
        if (found[i] != dims[i])
            why = "does not have the size that the rest of the file implies";
        fits = fits && !__builtin_mul_overflow(count, (size_t)dims[i], &count);
    }
    if (type < 0 || H5Tget_class(type) != (integers ? H5T_INTEGER : H5T_FLOAT) || H5Tget_size(type) != width)
        why = integers ? "does not hold whole numbers of 32 bits" : "does not hold numbers of 64 bits";
    // A dataset may claim more than the file holds: what is not stored is not worth memory.
    else if (why == NULL && count > 0 && (!fits || H5Dget_storage_size(dataset) < count * width))
        why = "is incomplete";
    tdStatus status = TD_OK;
    if (why != NULL)
        status = refuse(error, path, name, "", why);
    else if ((*out = td_arena_take(arena, count + 1, width)) == NULL)
        status = td_fail_memory(error, path);
    else if (count > 0 &&
             H5Dread(dataset, integers ? H5T_NATIVE_INT32 : H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, *out) < 0)
        status = refuse(error, path, name, "", "cannot be read");
    if (type >= 0)
        H5Tclose(type);
    H5Dclose(dataset);
    return status;
}
