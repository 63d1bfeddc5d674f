// SPDX-License-Identifier: Apache-2.0
// Inside the viewer's simulation.
#pragma once
#include "base/exchange.h"
#include "body/spring.h"
#include "core/state.h"
#include "output/frames.h"
#include "view/sim.h"

#include <pthread.h>

#define TD_VIEW_COMMANDS 256
#define TD_VIEW_REPLIES  64
#define TD_VIEW_STEPS    1024 // of which times are kept
#define TD_VIEW_GROUPS   8    // of actuators that clients move together

typedef struct tdViewPace
{
    double due;    ///< when the next step may be taken
    double played; ///< since when steps follow each other
    double last;   ///< end of the last step
    int64_t n;     ///< steps timed
    double took[TD_VIEW_STEPS], ended[TD_VIEW_STEPS];
    bool late[TD_VIEW_STEPS];
    int64_t missed;
    double judged; ///< when `timing` was made
    tdViewTiming timing;
} tdViewPace;

/// Who moves a tool. It goes on until told otherwise, but not longer than `until`: a client that hangs lets go.
typedef struct tdViewHand
{
    int client; ///< 0: nobody
    double until;
} tdViewHand;

/// How a guided body is moved: its inputs, from where the scene had them, and their rates.
typedef struct tdViewGuideMotion
{
    bool driven;
    bool led; ///< towards `goal`, by which its twist is then set
    double offset[6], twist[6], goal[3];
    double grip, grip_rate; ///< of the way that its jaw closes by; a second
    tdViewHand gripper;
} tdViewGuideMotion;

/// Actuators that move together at a share of their ranges a second.
typedef struct tdViewGroup
{
    tdViewHand hand;
    double rate;
    int n;
    int32_t actuators[TD_VIEW_LIST];
} tdViewGroup;

#define TD_VIEW_LOOK_EVERY 0.4 // [s] at the scene's file

/// What of a file changes when it is saved.
typedef struct tdViewStamp
{
    int64_t seconds, nanoseconds, size, inode;
} tdViewStamp;

struct tdViewSim
{
    tdViewSimSettings settings;
    pthread_t thread;
    bool running;
    atomic_bool stop;
    atomic_llong steps;

    // between the threads
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int first_command, n_commands, first_reply, n_replies;
    struct
    {
        int client;
        tdViewMessage message;
    } commands[TD_VIEW_COMMANDS];
    tdViewReply replies[TD_VIEW_REPLIES];
    tdExchange exchange;
    tdViewSnapshot slots[3];

    // of the simulation's thread
    tdViewStage *stage;
    tdState *state;
    uint32_t generation;
    bool playing, failed;
    int64_t pending; ///< single steps to take
    double speed;
    int64_t resets;
    double *manual; ///< by actuator: value by hand; NAN: none
    bool *given;    ///< by effector: a client gave a target
    int targets;    ///< how many
    double *turns;  ///< scratch: reference rotations
    struct
    {
        int client;
        double stiffness;
    } springs[TD_SPRINGS];
    tdViewHand *tools; ///< by tool, those of robots and guided bodies
    tdViewGuideMotion *guides;
    tdViewGroup groups[TD_VIEW_GROUPS];
    tdError error;
    tdOutput *output;
    int64_t every, recorded;
    char folder[1024];
    char loading[TD_VIEW_NAME];
    struct
    {
        const tdViewEntry *entry;
        tdViewStamp loaded, seen; ///< of the file and of those that it includes
        bool fresh;               ///< these are not counted yet: they are known when it is loaded
        double next;              ///< when to look again
    } watch;
    tdViewPace pace;
    uint64_t publications;
    double published;
    bool changed; ///< something is to be told
    struct
    {
        int steps;
        double sum, longest;
    } since;
};

/// sim_act.c: what clients ask for.
void td_view_sim_act(tdViewSim *sim, int client, const tdViewMessage *message);
/// Puts a scene in the place of the present one, if any.
tdStatus td_view_sim_load(tdViewSim *sim, const tdViewEntry *entry, tdError *error);
/// The same as somebody asked for it: told while it loads, and why it cannot be.
bool td_view_sim_open(tdViewSim *sim, const tdViewEntry *entry);
void td_view_sim_stop_recording(tdViewSim *sim);
/// sim_watch.c: from now on this is the file to look at; loads it again when it was saved.
void td_view_sim_watch(tdViewSim *sim, const tdViewEntry *entry);
/// The same of files that the present scene includes: as soon as it is loaded.
void td_view_sim_watch_included(tdViewSim *sim);
void td_view_sim_look(tdViewSim *sim);
/// Inputs of the next step.
void td_view_sim_drive(tdViewSim *sim);
tdViewMode td_view_sim_mode(const tdViewSim *sim, int actuator);
/// sim_tool.c: tools and groups of actuators; what a client that has gone moved stands still.
void td_view_sim_tool(tdViewSim *sim, int client, const tdViewMessage *message);
void td_view_sim_group(tdViewSim *sim, int client, const tdViewMessage *message);
void td_view_sim_let_go(tdViewSim *sim, int client);
/// sim_guide.c: guided bodies as tools.
void td_view_sim_guide(tdViewSim *sim, int guide, const double *twist);
void td_view_sim_grip(tdViewSim *sim, int client, const tdViewMessage *message);
void td_view_sim_lead(tdViewSim *sim, int client, const tdViewMessage *message);
void td_view_sim_guides_on(tdViewSim *sim);
void td_view_sim_read_guide(const tdViewSim *sim, int guide, tdViewTool *out);
/// Before a step: groups move on, and who has not been heard of for too long lets go.
void td_view_sim_move_on(tdViewSim *sim);
/// What an actuator is driven with now.
double td_view_sim_value(const tdViewSim *sim, int actuator);
/// sim_contact.c: what touches what, in the last step.
void td_view_sim_contacts(const tdViewSim *sim, tdViewContact *out);
/// sim.c
void td_view_sim_say(tdViewSim *sim, int client, bool refused, bool warning, tdViewAction action, const char *format,
                     ...) TD_PRINTF(6, 7);
void td_view_sim_publish(tdViewSim *sim);
double td_view_sim_time_step(const tdViewSim *sim);
/// Writes down the present state.
void td_view_sim_log(tdViewSim *sim);
