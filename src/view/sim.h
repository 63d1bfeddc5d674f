// SPDX-License-Identifier: Apache-2.0
// The simulation of the viewer, in a thread of its own. It takes steps at the pace of the clock, does what clients ask
// for between steps, and publishes what it found; nothing that a client or the network does can hold it up:
//
//   commands   a bounded queue; the lock is held for the copy of one message
//   snapshots  three slots that change hands by one atomic exchange: the newest is there to be taken, others are
//   dropped replies    a bounded queue, the other way
#pragma once
#include "view/message.h"
#include "view/stage.h"

typedef struct tdViewSim tdViewSim;

/// A scene that can be picked.
typedef struct tdViewEntry
{
    char name[TD_VIEW_NAME];
    char path[1024];
    char rom[1024]; ///< "": full order
} tdViewEntry;

typedef struct tdViewSimSettings
{
    tdSettings model; ///< threads, log; not rom
    int n_entries;
    const tdViewEntry *entries; ///< the first is loaded
    const char *out;            ///< folder for recordings; NULL: none are made
    bool paused, keep_scene;    ///< keep_scene: not loaded again when its file was saved
    double speed;               ///< simulated over wall time; infinite: as fast as it can
    double hold;                ///< [s] of the clock that a client moves something on without being heard of
    struct tdViewLog *log;      ///< of steps; NULL: none
} tdViewSimSettings;

typedef enum tdViewMode
{
    TD_VIEW_MODE_SCENE,
    TD_VIEW_MODE_MANUAL,
    TD_VIEW_MODE_INVERSE,
    TD_VIEW_MODE_TOOL
} tdViewMode;

typedef struct tdViewActuation
{
    double effort, displacement;
    double value; ///< driven with; NAN: found by inverse control or a tool
    int bound;
    tdViewMode mode;
} tdViewActuation;

typedef struct tdViewEffect
{
    double value[3], target[3]; ///< target: NAN without one
    double error;
    bool set; ///< by a client
} tdViewEffect;

typedef struct tdViewPull
{
    int client; ///< 0: not tied
    double point[3], anchor[3], force[3], stiffness;
} tdViewPull;

#define TD_VIEW_MOST_CONTACTS 512 // most that are shown, the strongest
#define TD_VIEW_PAIRS         64  // most pairs of links whose forces are told, the strongest

/// A point of contact that bears a force, or all points between two links. Forces are on the first, which is the one
/// of the two that can move, or that comes later in the scene.
typedef struct tdViewTouch
{
    int body[2], link[2]; ///< link -1: soft
    int points;
    double at[3], force[3];
} tdViewTouch;

/// Contacts of the last step.
typedef struct tdViewContact
{
    int n, n_pairs;
    tdViewTouch points[TD_VIEW_MOST_CONTACTS], pairs[TD_VIEW_PAIRS];
    int followed, active, iterations; ///< points, those that bear a force, iterations of the solver
    double residual;
    bool limit; ///< the solver reached its bound on iterations
} tdViewContact;

/// A tool, and the client that drives it; 0: none does.
typedef struct tdViewTool
{
    int client;
    tdToolState state;
    double force[3]; ///< guided: on the hand, of all that touches it and what follows it [N]; NAN: a tool of a robot
    double grip;     ///< 0 open, 1 closed; NAN: it has no jaw
} tdViewTool;

/// Of the last second [s].
typedef struct tdViewTiming
{
    int steps, misses;
    int64_t missed_total;
    double p50, p99, longest, steps_a_second, realtime, possible;
    bool heavy;
} tdViewTiming;

/// All that is shown of a moment.
typedef struct tdViewSnapshot
{
    tdViewStage *stage; ///< held
    uint64_t number;    ///< of the publication
    int64_t step;
    double time, speed;
    bool playing, failed, recording;
    int64_t resets, recorded;
    double *q;     ///< coordinates of all bodies
    tdPose *poses; ///< of all links and frames: motion since rest
    tdViewActuation *actuators;
    tdViewEffect *effectors;
    tdViewTool *tools;
    double (*attachments)[6];                                                  ///< force on side a [N] and where
    int64_t coords, n_poses, n_actuators, n_effectors, n_tools, n_attachments; ///< room
    tdViewPull springs[TD_SPRINGS];
    tdViewContact contact;
    tdViewTiming timing;
    struct
    {
        int steps;
        double mean, longest;
    } since; ///< the publication before
    bool inverse, out_of_reach, contact_blocks;
    int blocking_body[2];
    int active_bounds;
    double inverse_residual;
    double rom_indicator, rom_error, rom_distance;
    bool rom_warning;
    tdError error; ///< where it failed
    char folder[1024], loading[TD_VIEW_NAME];
} tdViewSnapshot;

typedef struct tdViewReply
{
    int client;   ///< 0: all
    bool refused; ///< else a notice
    bool warning;
    tdViewAction action;
    char text[700];
} tdViewReply;

/// Loads the first scene and starts the thread.
tdStatus td_view_sim_create(const tdViewSimSettings *settings, tdViewSim **out, tdError *error);
/// Ends the thread after the step it is in. A NULL is fine.
void td_view_sim_free(tdViewSim *sim);

/// False: the queue is full.
bool td_view_sim_command(tdViewSim *sim, int client, const tdViewMessage *message);
/// A client has gone.
void td_view_sim_leave(tdViewSim *sim, int client);
bool td_view_sim_reply(tdViewSim *sim, tdViewReply *out);
/// The newest snapshot, valid until the next call; it may be the same again.
const tdViewSnapshot *td_view_sim_snapshot(tdViewSim *sim);
int64_t td_view_sim_steps(const tdViewSim *sim);  ///< taken since the start, whatever the scene
double td_view_sim_seconds(const tdViewSim *sim); ///< of a core that the simulation's thread has used
