// SPDX-License-Identifier: Apache-2.0
// A scene on show: its model, what of it is drawn, and the messages that describe it. Made by the simulation, read by
// the server and by whoever works out fields; it never changes, and the last one who lets go frees it.
//
// Where things are follows from the coordinates of a body and, of links and of reduced bodies on a frame, from poses,
//
//     x = t + R (rest + modes . coordinates)       R, t: the motion since rest
//
// one pose for each link or frame. Bodies that cannot move have none.
#pragma once
#include "collide/shape.h"
#include "core/model.h"

#include <stdatomic.h>

typedef enum tdViewMeshKind
{
    TD_VIEW_SURFACE, // of a body
    TD_VIEW_DOMAIN,  // elements that stand for a reduced body
    TD_VIEW_CAVITY,  // wall of an actuator's chamber
    TD_VIEW_PLANE    // a square in the place of one without end
} tdViewMeshKind;

/// Something to be drawn. Its vertices are nodes of a body, or points of a set where `set` is given.
typedef struct tdViewMesh
{
    tdViewMeshKind kind;
    int body, actuator; ///< actuator: of a cavity, else -1
    int32_t n_vertices, n_triangles;
    int32_t *nodes;        ///< by vertex; NULL: `set`
    const tdPointSet *set; ///< of a cavity
    int32_t *triangles;    ///< 3 vertices each
    int32_t n_fixed;
    int32_t *fixed; ///< vertices that supports hold
    bool modal;     ///< clients expand it from the coordinates of its body
    int pose;       ///< among those of its body; -1: none
    bool coloured;
    float colour[4]; ///< where the scene gives one: red, green, blue, opacity
} tdViewMesh;

/// An actuator as a slider has it: what the scene's motion would give is played by the viewer, so that a hand or
/// inverse control can take it over at any time.
typedef struct tdViewActuator
{
    int column; ///< of the scene's motion, -1: none
    double low, high;
} tdViewActuator;

/// A body in a hand: listed behind the tools of robots, and driven as these are.
typedef struct tdViewGuide
{
    int body;
    int32_t input[6]; ///< way and rotation vector
    int jaw;          ///< body that follows it and that a grip closes; -1: none
    int32_t jaw_input[3];
    double close[3];
} tdViewGuide;

typedef struct tdViewStage
{
    atomic_int holders;
    tdModel *model;
    uint32_t generation;
    char name[256], file[256];
    char path[1024];
    bool reduced; ///< some body is
    int n_meshes;
    tdViewMesh *meshes;
    int *surface;    ///< by body: mesh of a soft body's surface; -1: links
    int n_poses;     ///< of all bodies
    int *first_pose; ///< n_bodies + 1
    int n_turns;     ///< see td_view_turns()
    tdViewActuator *actuators;
    int n_guides; ///< rigid bodies whose motion is given, without those that follow another: instruments of a hand
    tdViewGuide *guides;
    double stiffness;  ///< of a spring that suits the scene [N/m]
    double bounds[6];  ///< of all bodies at rest, planes left out: least, most
    double size;       ///< largest extent of these bodies [m]
    char inverse[640]; ///< why targets cannot be set; "": they can
    tdArena arena;
} tdViewStage;

/// Loads a scene; the caller holds it once. Actuators of the model are not driven any more (tdViewActuator).
tdStatus td_view_stage_load(const char *path, const char *name, const tdSettings *settings, uint32_t generation,
                            tdViewStage **out, tdError *error);
/// The same of a model, which it takes over, also where it fails.
tdStatus td_view_stage_make(tdModel *model, const char *path, const char *name, uint32_t generation, tdViewStage **out,
                            tdError *error);
void td_view_stage_hold(tdViewStage *stage);
void td_view_stage_release(tdViewStage *stage); ///< a NULL is fine

/// stage_mesh.c
tdStatus td_view_add_meshes(tdViewStage *stage, tdError *error);

/// Reference rotations of a state, unit quaternions: of frames and of the balls of links, n_turns numbers. With the
/// coordinates they are all that tells where bodies are.
void td_view_turns(const tdViewStage *stage, const tdState *state, double *turns);
/// Tools of robots, and behind them guided bodies.
int td_view_stage_tools(const tdViewStage *stage);
/// A tool by its name, or -1.
int td_view_stage_find_tool(const tdViewStage *stage, const char *name);

/// Motion since rest of all links and frames of a state, poses[n_poses].
void td_view_poses(const tdViewStage *stage, const tdState *state, tdPose *poses);
/// Where a node is, for the coordinates q and the poses of all bodies.
void td_view_node(const tdViewStage *stage, const double *q, const tdPose *poses, int body, int32_t node, double x[3]);
/// Where point p of a set is.
void td_view_point(const tdViewStage *stage, const double *q, const tdPose *poses, const tdPointSet *set, int32_t p,
                   double x[3]);

/// Position of a vertex at rest, and its displacement for a coordinate of 1 (modal meshes).
void td_view_vertex_rest(const tdViewStage *stage, const tdViewMesh *mesh, int32_t vertex, double x[3]);
double td_view_vertex_mode(const tdViewStage *stage, const tdViewMesh *mesh, int32_t vertex, int axis, int mode);
/// Value of an actuator in the scene's motion for the step that starts at `time`; NAN: none.
double td_view_scene_value(const tdViewStage *stage, int actuator, double time);
