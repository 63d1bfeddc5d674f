// SPDX-License-Identifier: Apache-2.0
// The compiled scene: what never changes while it runs.
#pragma once
#include "base/memory.h"
#include "core/body.h"
#include "core/measure.h"
#include "describe/scene.h"
#include "integrate/scheme.h"

/// A number that drives loads and prescribed motions: by a motion of the scene or set by the caller.
typedef struct tdInput
{
    const char *name;
    int column;      ///< in scene.motion, or -1: constant
    double standard; ///< value without a motion: 1 for loads and prescribed motions, 0 for actuators
} tdInput;

/// A material point of a body, or the mean of a set of nodes, whose motion is told.
typedef struct tdProbe
{
    const char *name;
    tdPointSet point; ///< one
} tdProbe;

/// Acts on a body by a row of the condensed problem: effort [N, Pa] times the gradient of its displacement
/// [m, m^3] is the force. Translations and rotations have no row: their coordinates are held.
typedef struct tdActuator
{
    const tdSceneActuator *given;
    const char *name;
    int input;
    bool driven;       ///< a motion names it
    bool held;         ///< moves held coordinates instead of having a row
    tdMeasure measure; ///< of which the displacement is sign (value - rest_value)
    double sign, rest_value;
    double size;       ///< of displacements, for relative errors: length of the cable, ...
    double compliance; ///< of an elastic cable [m/N]
    double slip;       ///< [m] over which friction turns round
    int row;           ///< -1: held
    double start;      ///< displacement at the start: of joints
    int servo;         ///< of a joint: which of its body's; -1: none
    int tool;          ///< that commands it; -1: none
} tdActuator;

/// Quantity that inverse control brings to a target.
typedef struct tdEffector
{
    const tdSceneEffector *given;
    const char *name;
    tdMeasure measure;
    double rest[3]; ///< value at rest
    int row;        ///< the first of measure.rows
} tdEffector;

struct tdModel
{
    tdArena arena;
    tdScene scene;            ///< what it was compiled from; a step does not read it
    const char *file;         ///< of the scene, for messages
    uint64_t hash;            ///< of the scene and of all that it names
    tdSceneSettings settings; ///< of the scene
    tdSceneControl control;
    tdContactSolver contact_solver;
    tdScheme scheme;
    int n_bodies;
    tdBody *bodies;
    int64_t coords;   ///< of all bodies
    int64_t unknowns; ///< of all bodies
    int n_inputs;
    tdInput *inputs;
    int n_probes;
    tdProbe *probes;
    int n_actuators;
    tdActuator *actuators;
    int n_effectors;
    tdEffector *effectors;
    // Rows of actuators and effectors: entries row_start[r] to row_start[r + 1] stand at row_coord of the state's
    // vectors.
    int n_rows;
    int64_t *row_start;
    int64_t *row_coord;
    int n_attachments, n_couplings;
    int n_tools;
    struct tdTool *tools; ///< of constraint/tool.h
    int n_sensors;
    struct tdSensor *sensors;       ///< of step/sensor.h
    bool touches;                   ///< bodies collide
    bool turning;                   ///< some of them has torsional or rolling friction
    struct tdContactModel *contact; ///< of contact/contact.h; NULL: bodies do not touch
    int32_t most_points;            ///< of a measure
    double size;                    ///< largest extent of a body at rest [m]
    struct tdCompileWork *compile;  ///< of scene/compile.h, while it is compiled; then NULL
};

/// Changes a scene between reading and compiling it. What it adds lives in the scene's arena.
typedef tdStatus tdSceneEdit(void *context, tdScene *scene, tdError *error);
/// td_model_parse() and td_model_load() of a scene that is changed on the way: another method, more effectors.
tdStatus td_model_parse_edited(const char *text, size_t length, const char *name, const char *folder,
                               const tdSettings *settings, tdSceneEdit *edit, void *context, tdModel **out,
                               tdError *error);
tdStatus td_model_load_edited(const char *scene_path, const tdSettings *settings, tdSceneEdit *edit, void *context,
                              tdModel **out, tdError *error);
/// td_model_parse() with a reduced model that is in memory instead of settings->rom.
struct tdRom;
tdStatus td_model_parse_reduced(const char *text, size_t length, const char *name, const char *folder,
                                const tdSettings *settings, const struct tdRom *rom, tdModel **out, tdError *error);

/// Value of a column of a motion at a time; `standard` when it has none.
double td_motion_value(const tdSceneMotion *motion, int column, double time, double standard);
/// Value of an input in the scene's motion at a time.
double td_input_value(const tdModel *model, int input, double time);
