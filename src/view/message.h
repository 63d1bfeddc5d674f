// SPDX-License-Identifier: Apache-2.0
// What a client of the viewer says: one JSON object of a known form (docs/viewer-protocol.md). Anything else is refused
// with the reason; nothing is guessed, and nothing is allocated.
#pragma once
#include "base/status.h"

#define TD_VIEW_MESSAGE 4096 // most bytes
#define TD_VIEW_NAME    128
#define TD_VIEW_WHY     256
#define TD_VIEW_LIST    64 // most numbers of an array

typedef enum tdViewAction
{
    TD_VIEW_PLAY,
    TD_VIEW_PAUSE,
    TD_VIEW_STEP, // count
    TD_VIEW_RESET,
    TD_VIEW_SPEED,    // value[0]
    TD_VIEW_ACTUATOR, // name, value[0]; n_values 0: hand back
    TD_VIEW_TARGET,   // name, value; n_values 0: take away
    TD_VIEW_SPRING,   // anchor, and unless only it moves: mesh, triangle, weights, stiffness (NAN: standard)
    TD_VIEW_RELEASE,
    TD_VIEW_TOOL,   // name, value (way) and turn; n_values 0: hand back to the scene
    TD_VIEW_LEAD,   // name, anchor
    TD_VIEW_GROUP,  // list of actuators, value[0]: rate
    TD_VIEW_GRIP,   // name, value[0]: rate
    TD_VIEW_FIELD,  // name
    TD_VIEW_SCENE,  // name
    TD_VIEW_RECORD, // start, count
    TD_VIEW_RATE,   // value[0]
    TD_VIEW_ACK,    // count: number of a frame
    TD_VIEW_PING,   // count: id
    TD_VIEW_ACTIONS
} tdViewAction;

typedef struct tdViewMessage
{
    tdViewAction action;
    char name[TD_VIEW_NAME];
    int n_values;
    double value[3];
    int64_t count;
    bool start;
    bool tied; ///< spring: the point is given too
    int32_t mesh, triangle;
    double weights[3], anchor[3], stiffness;
    double turn[3]; ///< tool
    int n_list;
    int32_t list[TD_VIEW_LIST]; ///< group
} tdViewMessage;

/// Reads a message. False: `why` says what is wrong with it, in plain ASCII; out->action is TD_VIEW_ACTIONS when not
/// even that is known.
bool td_view_message(const char *text, size_t size, tdViewMessage *out, char why[TD_VIEW_WHY]);
/// Name of an action, as in "type"; "" for TD_VIEW_ACTIONS.
const char *td_view_action_name(tdViewAction action);
