// SPDX-License-Identifier: Apache-2.0
// A state as a value: copied, written to memory and read back, set to its start.
//
// What a state consists of is the list of td_state_arrays(). A value is that list, one array behind the other, after a
// head that says of which scene and which list it is; every number has 64 bits. What derives from the arrays (kept
// factors, forces where the last step arrived) is made again when they change hands, so that a copy goes on to the same
// bits as what it is a copy of.
#include "base/hash.h"
#include "core/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/// In front of the arrays. All words.
typedef struct valueHead
{
    char magic[8];
    uint64_t scene;  ///< its hash
    uint64_t layout; ///< hash of the list: names, bodies, counts
    uint64_t size;   ///< of the whole value [bytes]
} valueHead;

static const char value_magic[8] = {'T', 'D', 'V', 'A', 'L', 'U', 'E', '1'};

// ---------------------------------------------------------------- arrays

static size_t bytes_of(const tdStateArray *list, int n)
{
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += 8 * (size_t)list[i].count;
    return bytes;
}

static void gather(const tdStateArray *list, int n, void *memory)
{
    char *at = memory;
    for (int i = 0; i < n; i++)
    {
        size_t bytes = 8 * (size_t)list[i].count;
        if (bytes > 0)
            memcpy(at, list[i].data, bytes);
        at += bytes;
    }
}

static void scatter(const tdStateArray *list, int n, const void *memory)
{
    const char *at = memory;
    for (int i = 0; i < n; i++)
    {
        size_t bytes = 8 * (size_t)list[i].count;
        if (bytes > 0)
            memcpy(list[i].data, at, bytes);
        at += bytes;
    }
}

static uint64_t layout_of(const tdStateArray *list, int n)
{
    uint64_t hash = 1;
    for (int i = 0; i < n; i++)
    {
        hash = td_hash_mix(hash + td_hash_bytes(list[i].name, strlen(list[i].name)));
        hash = td_hash_mix(hash + (uint64_t)(list[i].body + 1));
        hash = td_hash_mix(hash + (uint64_t)list[i].count);
    }
    return hash;
}

// Takes the arrays over from memory, or from those of another state. If what derives from them cannot be made, the
// state keeps what it had.
static tdStatus take_over(const tdModel *model, tdState *state, const void *memory, const tdStateArray *from,
                          tdError *error)
{
    const tdStateArray *list = NULL;
    int n = td_state_listed(model, state, &list);
    if (!td_grow(&state->before, &state->before_capacity, (int64_t)bytes_of(list, n), 1))
        return td_fail_memory(error, "what a state was before it was read");
    gather(list, n, state->before);
    if (memory != NULL)
        scatter(list, n, memory);
    for (int i = 0; memory == NULL && i < n; i++)
        if (list[i].count > 0)
            memcpy(list[i].data, from[i].data, 8 * (size_t)list[i].count);
    tdStatus status = td_state_restore(model, state, error);
    if (status == TD_OK)
        return TD_OK;
    scatter(list, n, state->before);
    td_state_restore(model, state, NULL);
    return status;
}

// ---------------------------------------------------------------- written and read

size_t td_state_size(const tdModel *model, const tdState *state)
{
    const tdStateArray *list = NULL;
    int n = td_state_listed(model, state, &list);
    return sizeof(valueHead) + bytes_of(list, n);
}

static valueHead head_of(const tdModel *model, const tdState *state, const tdStateArray *list, int n)
{
    valueHead head = {.scene = model->hash, .layout = state->layout, .size = sizeof(valueHead) + bytes_of(list, n)};
    memcpy(head.magic, value_magic, sizeof head.magic);
    return head;
}

tdStatus td_state_write(const tdModel *model, const tdState *state, void *memory, size_t size, tdError *error)
{
    const tdStateArray *list = NULL;
    int n = td_state_listed(model, state, &list);
    valueHead head = head_of(model, state, list, n);
    if (size < head.size)
        return td_fail(error, TD_ERROR_USAGE,
                       "a state of this model takes %llu bytes (td_state_size), and there are %llu",
                       (unsigned long long)head.size, (unsigned long long)size);
    memcpy(memory, &head, sizeof head);
    gather(list, n, (char *)memory + sizeof head);
    return TD_OK;
}

tdStatus td_state_read(const tdModel *model, tdState *state, const void *memory, size_t size, tdError *error)
{
    const tdStateArray *list = NULL;
    int n = td_state_listed(model, state, &list);
    valueHead head, mine = head_of(model, state, list, n);
    if (size < sizeof head)
        return td_fail(error, TD_ERROR_INPUT, "%llu bytes are too few for a state; pass what td_state_write() wrote",
                       (unsigned long long)size);
    memcpy(&head, memory, sizeof head);
    if (memcmp(head.magic, mine.magic, sizeof head.magic) != 0)
        return td_fail(error, TD_ERROR_INPUT, "this is not a state; pass what td_state_write() wrote");
    if (head.scene != mine.scene)
        return td_fail(
            error, TD_ERROR_INPUT,
            "the state is of another scene (%016llx, this one is %016llx): scene, meshes, motion and reduced "
            "model have to be the same",
            (unsigned long long)head.scene, (unsigned long long)mine.scene);
    if (head.layout != mine.layout || head.size != mine.size)
        return td_fail(error, TD_ERROR_INPUT, "the state was written by another version of the library (this is %s)",
                       td_version());
    if (size < head.size)
        return td_fail(error, TD_ERROR_INPUT, "the state has %llu bytes, but only %llu are present: its end is missing",
                       (unsigned long long)head.size, (unsigned long long)size);
    return take_over(model, state, (const char *)memory + sizeof head, NULL, error);
}

// ---------------------------------------------------------------- copied, set to its start

tdStatus td_state_copy(const tdModel *model, tdState *to, const tdState *from, tdError *error)
{
    assert(to->model == model && from->model == model);
    if (to == from)
        return TD_OK;
    const tdStateArray *list = NULL;
    td_state_listed(model, from, &list);
    return take_over(model, to, NULL, list, error);
}

tdStatus td_state_begin_with(const tdModel *model, tdState *state, const tdState *like, tdError *error)
{
    const tdStateArray *list = NULL;
    int n = td_state_listed(model, state, &list);
    state->layout = layout_of(list, n);
    state->initial = like != NULL ? like->initial : NULL;
    if (like != NULL)
        return TD_OK;
    double *initial = TD_TAKE(&state->arena, double, bytes_of(list, n) / 8 + 1);
    if (initial == NULL)
        return td_fail_memory(error, "the start of a state");
    gather(list, n, initial);
    state->initial = initial;
    return TD_OK;
}

// Parameters, the first array, stay: they are what the robot is, not where it is.
tdStatus td_state_reset(const tdModel *model, tdState *state, tdError *error)
{
    const tdStateArray *list = NULL;
    int n = td_state_listed(model, state, &list);
    assert(list[0].data == state->parameters);
    scatter(list + 1, n - 1, state->initial + list[0].count);
    return td_state_restore(model, state, error);
}

// ---------------------------------------------------------------- kept for the way back

struct tdKeptState
{
    void *memory;
    int64_t capacity;
};

tdStatus td_state_keep(const tdModel *model, tdState *state, tdKeptState **kept, tdError *error)
{
    if (*kept == NULL && (*kept = calloc(1, sizeof **kept)) == NULL)
        return td_fail_memory(error, "the state before a step");
    size_t size = td_state_size(model, state);
    if (!td_grow(&(*kept)->memory, &(*kept)->capacity, (int64_t)size, 1))
        return td_fail_memory(error, "the state before a step");
    return td_state_write(model, state, (*kept)->memory, size, error);
}

tdStatus td_state_go_back(const tdModel *model, tdState *state, const tdKeptState *kept, tdError *error)
{
    return td_state_read(model, state, kept->memory, td_state_size(model, state), error);
}

void td_kept_state_free(tdKeptState *kept)
{
    if (kept == NULL)
        return;
    free(kept->memory);
    free(kept);
}
