// SPDX-License-Identifier: Apache-2.0
// A run whose files a test looks at, in a folder of its own.
#pragma once
#include "test.h"

#include "base/file.h"
#include "output/frames.h"
#include "tendril/tendril.h"

#include <dirent.h>
#include <unistd.h>

typedef struct testRun
{
    tdModel *model;
    tdState *state;
    char folder[64];
} testRun;

static inline void run_end(testRun *run)
{
    DIR *directory = opendir(run->folder);
    struct dirent *entry;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
    {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", run->folder, entry->d_name);
        unlink(path);
    }
    if (directory != NULL)
        closedir(directory);
    rmdir(run->folder);
    td_state_free(run->state);
    td_model_free(run->model);
}

static inline tdOutput *open_output(const testRun *run, int64_t keep)
{
    tdError error = {0};
    tdOutput *output = NULL;
    tdOutputSettings settings = td_default_output(run->model);
    settings.keep = keep;
    assert_ok(td_output_open(run->model, run->folder, &settings, &output, &error), error);
    return output;
}

static inline void take_steps(const testRun *run, tdOutput *output, int n)
{
    tdError error = {0};
    for (int i = 0; i < n; i++)
    {
        assert_ok(td_step(run->model, run->state), td_state_report(run->state)->error);
        td_output_count(output, td_state_report(run->state));
        assert_ok(td_output_frame(output, run->state, &error), error);
    }
}

static inline void write_run(const testRun *run, int steps)
{
    tdError error = {0};
    tdOutput *output = open_output(run, -1);
    assert_ok(td_output_frame(output, run->state, &error), error);
    take_steps(run, output, steps);
    assert_ok(td_output_close(output, &error), error);
}

static inline char *read_file(const testRun *run, const char *name, size_t *size)
{
    char path[512], *data = NULL;
    tdError error = {0};
    snprintf(path, sizeof path, "%s/%s", run->folder, name);
    assert_ok(td_file_read(path, &data, size, &error), error);
    return data;
}

/// Writes a run that was stopped `lost` steps after its checkpoint at step `at`, and goes on from there to step
/// `steps`.
static inline void write_in_parts(const testRun *run, int at, int lost, int steps)
{
    char path[512];
    tdError error = {0};
    snprintf(path, sizeof path, "%s/checkpoint.h5", run->folder);
    tdOutput *output = open_output(run, -1);
    assert_ok(td_output_frame(output, run->state, &error), error);
    take_steps(run, output, at);
    assert_ok(td_state_save(run->model, run->state, path, &error), error);
    take_steps(run, output, lost);
    assert_ok(td_output_close(output, &error), error);
    assert_ok(td_state_load(run->model, run->state, path, &error), error);
    output = open_output(run, td_state_steps(run->state));
    take_steps(run, output, steps - at);
    assert_ok(td_output_close(output, &error), error);
}

static inline void assert_same_files(const testRun *one, const testRun *other, int n, const char *const *names)
{
    for (int i = 0; i < n; i++)
    {
        size_t size_a = 0, size_b = 0;
        char *a = read_file(one, names[i], &size_a), *b = read_file(other, names[i], &size_b);
        assert_int_equal(size_a, size_b);
        assert_memory_equal(a, b, size_a);
        free(a);
        free(b);
    }
}
