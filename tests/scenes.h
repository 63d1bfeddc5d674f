// SPDX-License-Identifier: Apache-2.0
// Scenes for tests: models from text in memory, meshes with shaken nodes, and the insides of a soft body.
#pragma once
#include "test.h"

#include "body/soft.h"
#include "mesh/generate.h"

#include <unistd.h>

#define LAWS_LIST                                                                                                      \
    {                                                                                                                  \
        "linear", "corotational", "corotational_lagged", "stvk", "neo_hookean"                                         \
    }

// ---------------------------------------------------------------- numbers

/// Repeatable numbers in [-1, 1].
static inline double next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*seed >> 11) / 4503599627370496.0 - 1.0;
}

/// Cholesky of a dense symmetric matrix in place (lower triangle, row-major). False: not positive definite.
static inline bool dense_factor(int n, double *a)
{
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
        {
            double sum = a[i * n + j];
            for (int k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            if (i > j)
                a[i * n + j] = sum / a[j * n + j];
            else if (!(sum > 0))
                return false;
            else
                a[i * n + i] = sqrt(sum);
        }
    return true;
}

/// x = A^-1 b by the factor; b and x may be the same.
static inline void dense_solve(int n, const double *l, const double *b, double *x)
{
    for (int i = 0; i < n; i++)
    {
        double sum = b[i];
        for (int k = 0; k < i; k++)
            sum -= l[i * n + k] * x[k];
        x[i] = sum / l[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--)
    {
        double sum = x[i];
        for (int k = i + 1; k < n; k++)
            sum -= l[k * n + i] * x[k];
        x[i] = sum / l[i * n + i];
    }
}

/// All of a symmetric block matrix, row-major. Freed by the caller.
static inline double *dense_of(const tdBlockPattern *pattern, const double *values)
{
    int n = 3 * pattern->n;
    double *out = calloc((size_t)n * (size_t)n, sizeof *out);
    for (int32_t i = 0; i < pattern->n; i++)
        for (int64_t k = pattern->row[i]; k < pattern->row[i + 1]; k++)
            for (int c = 0; c < 9; c++)
            {
                int row = 3 * i + c / 3, column = 3 * pattern->column[k] + c % 3;
                out[row * n + column] = out[column * n + row] = values[9 * k + c];
            }
    return out;
}

// ---------------------------------------------------------------- text

/// Text that grows by printf.
typedef struct sceneText
{
    size_t length;
    char text[65536];
} sceneText;

static inline void scene_add(sceneText *t, const char *format, ...) TD_PRINTF(2, 3);
static inline void scene_add(sceneText *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(t->text + t->length, sizeof t->text - t->length, format, list);
    va_end(list);
    assert_true(n >= 0 && t->length + (size_t)n < sizeof t->text);
    t->length += (size_t)n;
}

// ---------------------------------------------------------------- models

/// A scene is refused, by a message that names its place and has these words.
static inline void scene_refused(const char *text, const char *why)
{
    tdModel *model = NULL;
    tdError error = {0};
    char message[1200];
    tdStatus status = td_model_parse(text, strlen(text), "scene.yaml", NULL, NULL, &model, &error);
    td_error_format(&error, message, sizeof message);
    td_model_free(model);
    if (status == TD_OK || strstr(message, why) == NULL || strstr(message, "scene.yaml:") == NULL)
        fail_msg("expected '%s', found '%s'", why, status == TD_OK ? "no error" : message);
}

static inline tdModel *scene_parse(const char *text)
{
    tdModel *model = NULL;
    tdError error = {0};
    tdStatus status = td_model_parse(text, strlen(text), "scene.yaml", NULL, NULL, &model, &error);
    assert_ok(status, error);
    return model;
}

static inline tdModel *scene_model(const char *format, ...) TD_PRINTF(1, 2);
static inline tdModel *scene_model(const char *format, ...)
{
    static char text[65536];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert_true(n >= 0 && (size_t)n < sizeof text);
    return scene_parse(text);
}

static inline tdState *scene_state_with(const tdModel *model, int threads, bool portable)
{
    tdState *state = NULL;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.threads = threads;
    settings.portable = portable;
    tdStatus status = td_state_create(model, &settings, &state, &error);
    assert_ok(status, error);
    return state;
}

static inline tdState *scene_state(const tdModel *model)
{
    return scene_state_with(model, 1, false);
}

static inline void scene_steps(const tdModel *model, tdState *state, int n)
{
    for (int k = 0; k < n; k++)
    {
        tdStatus status = td_step(model, state);
        assert_ok(status, td_state_report(state)->error);
    }
}

static inline void scene_free(tdModel *model, tdState *state)
{
    td_state_free(state);
    td_model_free(model);
}

static inline const tdSoft *scene_soft(const tdModel *model)
{
    return model->bodies[0].data;
}

static inline tdSoftState *scene_mine(const tdState *state)
{
    return (tdSoftState *)state->bodies[0];
}

// ---------------------------------------------------------------- meshes

#define SCENE_PATH 512

static inline char *scene_file(void)
{
    static char path[SCENE_PATH];
    return path;
}

static inline void scene_forget(void)
{
    remove(scene_file());
}

/// Writes the box [0, size] of tetrahedra as a mesh file of the test's own; nodes inside (and with `all`
/// those on the sides too) are moved by up to `shake` cells.
static inline const char *scene_mesh(const double size[3], const int cells[3], double shake, bool all)
{
    const char *path = scene_file();
    if (*path == '\0')
    {
        snprintf(scene_file(), SCENE_PATH, TD_BUILD_DIR "/scene_%d.msh", (int)getpid());
        atexit(scene_forget);
    }
    tdMesh mesh = {0};
    tdError error = {0};
    tdStatus status = td_mesh_box((double[3]){0}, size, cells, false, &mesh, &error);
    assert_ok(status, error);
    uint64_t seed = 7;
    for (int64_t i = 0; i < mesh.n_nodes; i++)
    {
        double *x = mesh.x + 3 * i;
        bool inside = true;
        for (int c = 0; c < 3; c++)
            inside = inside && x[c] > 1e-9 * size[c] && x[c] < (1 - 1e-9) * size[c];
        for (int c = 0; c < 3; c++)
        {
            double move = shake * size[c] / cells[c] * next_random(&seed);
            x[c] += inside || all ? move : 0;
        }
    }
    status = td_mesh_write(&mesh, path, TD_MESH_UNKNOWN, TD_MESH_BINARY, &error);
    assert_ok(status, error);
    td_mesh_free(&mesh);
    return path;
}

/// The same for the unit cube of n cells a side.
static inline const char *scene_cube(int n, double shake, bool all)
{
    return scene_mesh((double[3]){1, 1, 1}, (int[3]){n, n, n}, shake, all);
}
