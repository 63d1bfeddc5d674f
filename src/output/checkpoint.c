// SPDX-License-Identifier: Apache-2.0
// Checkpoints: all that a state holds, so that a run goes on bit for bit.
//
// A checkpoint is a sealed HDF5 file (store/seal.h):
//
//   /            attributes format, version, scene (hash of its text and of the meshes and motions it names)
//   /state/NAME  arrays of the state
//   /bodies/I/NAME arrays of a body
#include "base/file.h"
#include "core/state.h"
#include "store/h5.h"
#include "store/seal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECKPOINT_FORMAT 3

static const tdSeal checkpoint_seal = {
    .magic = {'T', 'D', 'S', 'T', 'A', 'T', 'E', '\n'},
    .format = CHECKPOINT_FORMAT,
    .what = "checkpoint",
    .given = "give a file written by --checkpoint or td_state_save()",
    .again = "use another checkpoint or start the run again",
    .other = "continue the run with the version that wrote it",
};

static void array_path(char *out, size_t size, const tdStateArray *array)
{
    if (array->body < 0)
        snprintf(out, size, "/state/%s", array->name);
    else
        snprintf(out, size, "/bodies/%d/%s", array->body, array->name);
}

static hid_t memory_type(const tdStateArray *array)
{
    return array->integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE;
}

// ---------------------------------------------------------------- save

static herr_t write_groups(const tdModel *model, hid_t file)
{
    hid_t group = td_h5_group(file, "state");
    if (group < 0 || H5Gclose(group) < 0)
        return -1;
    hid_t bodies = td_h5_group(file, "bodies");
    if (bodies < 0)
        return -1;
    herr_t status = 0;
    for (int b = 0; b < model->n_bodies && status >= 0; b++)
    {
        char name[16];
        snprintf(name, sizeof name, "%d", b);
        group = td_h5_group(bodies, name);
        status = group < 0 ? -1 : td_h5_text(group, "name", model->bodies[b].name);
        if (group >= 0)
            H5Gclose(group);
    }
    H5Gclose(bodies);
    return status;
}

static herr_t write_arrays(const tdModel *model, hid_t file, const tdStateArray *arrays, int n)
{
    char scene[17];
    snprintf(scene, sizeof scene, "%016" PRIx64, model->scene.hash);
    if (td_h5_integer(file, "format", CHECKPOINT_FORMAT) < 0 || td_h5_text(file, "version", td_version()) < 0 ||
        td_h5_text(file, "scene", scene) < 0 || write_groups(model, file) < 0)
        return -1;
    for (int i = 0; i < n; i++)
    {
        char path[128];
        array_path(path, sizeof path, &arrays[i]);
        hsize_t count = (hsize_t)arrays[i].count;
        if (td_h5_array(file, path, memory_type(&arrays[i]), 1, &count, arrays[i].data, NULL) < 0)
            return -1;
    }
    return 0;
}

typedef struct Content
{
    const tdModel *model;
    const tdStateArray *arrays;
    int n;
} Content;

static herr_t write_content(void *context, hid_t file)
{
    const Content *content = context;
    return write_arrays(content->model, file, content->arrays, content->n);
}

tdStatus td_state_save(const tdModel *model, const tdState *state, const char *path, tdError *error)
{
    Content content = {.model = model};
    content.n = td_state_listed(model, state, &content.arrays);
    unsigned char *image = NULL;
    size_t size = 0;
    tdH5Quiet quiet = td_h5_begin();
    tdStatus status = td_seal_make(&checkpoint_seal, path, write_content, &content, &image, &size, error);
    td_h5_end(quiet);
    if (status == TD_OK)
    {
        td_seal_close(&checkpoint_seal, model->scene.hash, image, size);
        status = td_file_write(path, image, size, error);
    }
    free(image);
    return status;
}

// ---------------------------------------------------------------- load

static tdStatus check_block(const tdModel *model, const unsigned char *file, size_t size, const char *path,
                            tdError *error)
{
    uint64_t scene = 0;
    TD_TRY(td_seal_check(&checkpoint_seal, file, size, path, &scene, error));
    if (scene != model->scene.hash)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, "scene",
                          "the checkpoint was made from another scene (%016" PRIx64 ", this one is %016" PRIx64
                          "); give the scene, its meshes and its motion file as they were then",
                          scene, model->scene.hash);
    return TD_OK;
}

static tdStatus read_array(hid_t file, const tdStateArray *array, void *out, const char *path, tdError *error)
{
    char name[128];
    array_path(name, sizeof name, array);
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    if (dataset < 0)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, name, "is missing in the checkpoint");
    tdStatus status = TD_OK;
    hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    H5T_class_t kind = array->integer ? H5T_INTEGER : H5T_FLOAT;
    if (count != array->count)
        status = td_fail_at(error, TD_ERROR_INPUT, path, 0, name,
                            "has %lld numbers where this scene needs %lld; was a mesh file changed?", (long long)count,
                            (long long)array->count);
    else if (type < 0 || H5Tget_class(type) != kind || H5Tget_size(type) != 8)
        status = td_fail_at(error, TD_ERROR_INPUT, path, 0, name, "has another type than %s of 64 bits",
                            array->integer ? "integers" : "floating-point numbers");
    else if (count > 0 && H5Dread(dataset, memory_type(array), H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0)
        status = td_h5_fail(error, TD_ERROR_INPUT, path, "an array of the checkpoint cannot be read");
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    H5Dclose(dataset);
    return status;
}

static tdStatus read_image(const tdStateArray *arrays, int n, void *const *values, char *image, size_t size,
                           const char *path, tdError *error)
{
    hid_t file = -1;
    tdStatus status = td_seal_open(&checkpoint_seal, image, size, path, &file, error);
    for (int i = 0; i < n && status == TD_OK; i++)
        status = read_array(file, &arrays[i], values[i], path, error);
    if (file >= 0)
        H5Fclose(file);
    return status;
}

static void swap_bytes(char *a, char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
    {
        char kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

static void swap_all(const tdStateArray *arrays, int n, void *const *values)
{
    for (int i = 0; i < n; i++)
        swap_bytes(arrays[i].data, values[i], (size_t)arrays[i].count * 8);
}

// Takes over what was read. If what derives from it cannot be rebuilt, the state gets back what it had.
static tdStatus take_over(const tdModel *model, tdState *state, const tdStateArray *arrays, int n, void *const *values,
                          tdError *error)
{
    swap_all(arrays, n, values);
    tdStatus status = td_state_restore(model, state, error);
    if (status != TD_OK)
    {
        swap_all(arrays, n, values);
        td_state_restore(model, state, NULL);
    }
    return status;
}

tdStatus td_state_load(const tdModel *model, tdState *state, const char *path, tdError *error)
{
    char *image = NULL;
    size_t size = 0;
    TD_TRY(td_file_read(path, &image, &size, error));
    tdStatus status = check_block(model, (const unsigned char *)image, size, path, error);
    const tdStateArray *arrays = NULL;
    int n = td_state_listed(model, state, &arrays);
    tdArena arena = {0};
    void **values = NULL;
    if (status == TD_OK)
    {
        values = TD_TAKE(&arena, void *, n + 1);
        for (int i = 0; i < n && values != NULL; i++)
            if ((values[i] = td_arena_take(&arena, (size_t)arrays[i].count + 1, 8)) == NULL)
                values = NULL;
        if (values == NULL)
            status = td_fail_memory(error, "a checkpoint");
    }
    if (status == TD_OK)
    {
        tdH5Quiet quiet = td_h5_begin();
        status = read_image(arrays, n, values, image, size, path, error);
        td_h5_end(quiet);
    }
    if (status == TD_OK)
        status = take_over(model, state, arrays, n, values, error);
    td_arena_free(&arena);
    free(image);
    return status;
}
