// SPDX-License-Identifier: Apache-2.0
// What the server says, as bytes: docs/viewer-protocol.md, written down. Nothing here knows of sockets.
#pragma once
#include "output/json.h"
#include "view/sim.h"

#define TD_VIEW_PROTOCOL 1

enum tdViewBinary
{
    TD_VIEW_TOPOLOGY = 1,
    TD_VIEW_FRAME = 2,
    TD_VIEW_FIELDS = 3
};

enum tdViewSection
{
    TD_VIEW_TRIANGLES = 1,
    TD_VIEW_REST = 2,
    TD_VIEW_MODES = 3,
    TD_VIEW_FIXED = 4,
    TD_VIEW_POSITIONS = 16,
    TD_VIEW_COORDINATES = 17,
    TD_VIEW_CABLE = 18,
    TD_VIEW_ACTUATORS = 19,
    TD_VIEW_EFFECTORS = 20,
    TD_VIEW_PROBES = 21,
    TD_VIEW_SPRINGS = 22,
    TD_VIEW_CONTACTS = 23,
    TD_VIEW_TIMING = 24,
    TD_VIEW_POSES = 25,
    TD_VIEW_PAIR_FORCES = 26,
    TD_VIEW_TOOLS = 27,
    TD_VIEW_ATTACHMENTS = 28,
    TD_VIEW_TOOL_FORCES = 29,
    TD_VIEW_VALUES = 32
};

/// Fields, in the order of `hello`.
typedef enum tdViewField
{
    TD_VIEW_FIELD_NONE,
    TD_VIEW_FIELD_DISPLACEMENT,
    TD_VIEW_FIELD_VON_MISES,
    TD_VIEW_FIELD_STRAIN,
    TD_VIEW_FIELD_ENERGY,
    TD_VIEW_FIELD_ERROR, ///< of reduced bodies
    TD_VIEW_FIELD_KINDS
} tdViewField;

const char *td_view_field_name(tdViewField field);
/// -1: none of the scene's.
int td_view_find_field(const tdViewStage *stage, const char *name);

/// What the server adds of its own.
typedef struct tdViewHouse
{
    int n_entries;
    const tdViewEntry *entries;
    int clients, most_clients;
    int messages; ///< that each may send, a second
    int64_t refused;
    bool may_record;
} tdViewHouse;

typedef struct tdViewYou
{
    int client;
    tdViewField field;
    int64_t frames, dropped, refused;
} tdViewYou;

// All append to a text whose `failed` tells when memory ran out.

/// Begins a binary message and returns where it stands in the text.
int64_t td_view_open_message(tdText *out, enum tdViewBinary kind, uint32_t generation, int64_t step, double time,
                             uint32_t extra);
/// Begins a section of count x width words and returns where they go; NULL when memory ran out or there are none.
void *td_view_open_section(tdText *out, int64_t message, enum tdViewSection type, int index, int64_t count,
                           int64_t width);

void td_view_hello(const tdViewStage *stage, const tdViewHouse *house, int client, tdText *out);
void td_view_topology(const tdViewStage *stage, tdText *out);
void td_view_frame(const tdViewSnapshot *snapshot, uint32_t number, tdText *out);
/// values: by vertex, one array a surface of a soft body; NULL for links.
void td_view_field(const tdViewStage *stage, int64_t step, double time, tdViewField field, float *const *values,
                   tdText *out);
void td_view_status(const tdViewSnapshot *snapshot, const tdViewHouse *house, const tdViewYou *you, tdText *out);
void td_view_reply(const tdViewReply *reply, tdText *out);
void td_view_pong(int64_t id, tdText *out);
