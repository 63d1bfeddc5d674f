// SPDX-License-Identifier: Apache-2.0
// The parser's parts: parse.c (the scene, settings, loads, probes), parse_body.c (bodies and selectors),
// parse_material.c (laws and their parameters), parse_actuator.c, parse_effector.c (effectors and control), motion.c
// (keyframes and CSV), parse_reduction.c, parse_rigid.c. Each turns checked records into scene.h's structs.
#pragma once
#include "describe/scene.h"
#include "scene/schema.h"

#define TD_MOST_INPUTS 10000

typedef struct tdSceneParser
{
    tdReader reader;
    tdScene *scene;
    tdArena *arena; ///< the scene's
    const char *folder;
    const char *packages; ///< tdSettings.packages
    tdMethodChoice method;
    int n_inputs; ///< names of loads, prescribed motions and actuators, which a motion may drive
    struct
    {
        const char *name;
        int line;
        tdDim dim;         ///< of its values: none for a factor on a load
        const char *table; ///< of an actuator: which of its columns in tables of runs it is, ".effort" or
                           ///< ".displacement"; "": none, because neither is what drove it. NULL: not an actuator
    } * inputs;
} tdSceneParser;

/// Copies a text of the tree into the scene's arena.
tdStatus td_parse_copy(tdSceneParser *parser, const char *text, const char **out);
/// The path of a file, resolved against the scene's folder.
tdStatus td_parse_path(tdSceneParser *parser, const tdRecord *record, const char *key, const char *file,
                       const char **out);
/// The text of a table that a key names, to be released by free(), and its path.
tdStatus td_parse_read_csv(tdSceneParser *parser, const tdRecord *record, const char *key, const char **path,
                           char **text, size_t *size);
/// Registers the name of a load, a prescribed motion or an actuator; it must be new. `dim` is that of its values.
tdStatus td_parse_input(tdSceneParser *parser, const tdRecord *record, tdDim dim, const char **out);
/// The same under a name that is not the record's own.
tdStatus td_parse_input_name(tdSceneParser *parser, const tdRecord *record, const char *name, tdDim dim,
                             const char **out);
/// The body that a key names.
tdStatus td_parse_body_name(tdSceneParser *parser, const tdRecord *record, const char *key, int *out);

/// A direction of any length but zero -> unit vector. False when it is zero.
bool td_parse_unit_vector(const double vector[3], double unit[3]);
/// The same of a vector key that was given.
tdStatus td_parse_direction(tdSceneParser *parser, const tdRecord *record, const char *key, double unit[3]);
/// The selector among the keys of a record whose schema includes td_schema_select.
tdStatus td_parse_select(tdSceneParser *parser, const tdRecord *record, tdSelect *select);
/// The selecting key that was given (`point` too, where the record has one), or NULL.
const char *td_parse_selector(const tdRecord *record);
/// `material`, `materials`, `plane`, `thickness` and `formulation` of a body whose mesh is known.
tdStatus td_parse_materials(tdSceneParser *parser, const tdRecord *body_record, tdSceneBody *body);
tdStatus td_parse_bodies(tdSceneParser *parser, const tdYaml *list);
/// R = Rz Ry Rx: about the fixed axes, x first.
void td_parse_rotation(const double angle[3], double r[9]);
/// parse_mesh.c: `mesh` of a body; `torus` of a mesh or shape; once all bodies of the list are known, those that are
/// repeated in their places.
tdStatus td_parse_mesh(tdSceneParser *parser, const tdRecord *body_record, tdSceneBody *body);
tdStatus td_parse_torus(tdSceneParser *parser, const tdRecord *record, tdSceneTorus *out);
tdStatus td_parse_repeated(tdSceneParser *parser, const tdYaml *list);
/// parse_rigid.c: whether the keys of a body are those of its type.
tdStatus td_parse_body_keys(tdSceneParser *parser, const tdRecord *record, tdBodyType type);
/// A rigid or articulated body whose transform is known.
tdStatus td_parse_rigid(tdSceneParser *parser, const tdRecord *record, tdSceneBody *body);
/// `link` of a record, NULL: not given.
tdStatus td_parse_link(tdSceneParser *parser, const tdRecord *record, int body, bool at_point, const char **out);
/// The same of another key, which is given.
tdStatus td_parse_link_name(tdSceneParser *parser, const tdRecord *record, const char *key, int body, const char **out);
/// The joint that `joint` names, of a body that is articulated; whether it slides.
tdStatus td_parse_joint_name(tdSceneParser *parser, const tdRecord *record, int body, int *out, bool *slides);
/// Actuators of type joint: the joint, and whether it turns or slides; gains, once the drive is known; limits.
tdStatus td_parse_joint_kind(tdSceneParser *parser, const tdRecord *record, tdSceneActuator *actuator);
tdStatus td_parse_joint(tdSceneParser *parser, const tdRecord *record, tdSceneActuator *actuator);
void td_parse_joint_limits(const tdSceneParser *parser, tdSceneActuator *actuator);
/// A pair [minimum, maximum], which stays what it is where the key is not given.
tdStatus td_parse_limits(tdSceneParser *parser, const tdRecord *record, const char *key, tdDim dim, double out[2]);
tdStatus td_parse_actuators(tdSceneParser *parser, const tdYaml *list);
tdStatus td_parse_effectors(tdSceneParser *parser, const tdYaml *list);
tdStatus td_parse_control(tdSceneParser *parser, const tdYaml *node);
/// A target needs an actuator that the motion leaves free. After the motion.
tdStatus td_parse_check_targets(tdSceneParser *parser);
/// A motion into *out; `path` is its place in the scene, for messages.
tdStatus td_parse_motion(tdSceneParser *parser, const tdYaml *node, const char *path, tdSceneMotion *out);
/// motion.c: dimension of the values of a named input, a tdPathColumn; the context is the parser.
bool td_parse_find_input(void *context, const char *name, tdDim *dim, char why[TD_UNIT_WHY]);
/// After the motion: `reduction` and `validation`, or empty maps.
tdStatus td_parse_reduction(tdSceneParser *parser, const tdYaml *node);
/// The key `memory`: a number of bytes with its unit, e.g. 4 GB.
tdStatus td_parse_memory(tdSceneParser *parser, const tdRecord *record, int64_t least, int64_t standard, int64_t *out);
tdStatus td_parse_validation(tdSceneParser *parser, const tdYaml *node);
/// parse_contact.c: of a body; and of the scene (NULL: none) when bodies, actuators and effectors are known.
tdStatus td_parse_body_contact(tdSceneParser *parser, const tdRecord *body_record, tdSceneBody *body);
tdStatus td_parse_contact(tdSceneParser *parser, const tdYaml *node);
/// parse_attach.c: when bodies, actuators and effectors are known.
tdStatus td_parse_attachments(tdSceneParser *parser, const tdYaml *list);
tdStatus td_parse_couplings(tdSceneParser *parser, const tdYaml *list);
/// parse_robot.c: drives and loops of robots' files, after the scene's own.
tdStatus td_parse_robot_drives(tdSceneParser *parser);
tdStatus td_parse_robot_bonds(tdSceneParser *parser);
/// parse_tool.c: when actuators are known, before the motion; and after it.
tdStatus td_parse_tools(tdSceneParser *parser, const tdYaml *list);
tdStatus td_parse_sensors(tdSceneParser *parser, const tdYaml *list);
tdStatus td_parse_check_tools(tdSceneParser *parser);
/// What the motion drives and what control ties together have to fit. After the motion.
tdStatus td_parse_check_control(tdSceneParser *parser);

/// Dimensions of what an actuator exerts and of how far it goes.
tdDim td_actuator_effort_dim(tdActuatorKind kind);
tdDim td_actuator_displacement_dim(tdActuatorKind kind);
/// Name of a kind as a scene writes it.
const char *td_actuator_kind_name(tdActuatorKind kind);
