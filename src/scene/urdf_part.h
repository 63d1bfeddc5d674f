// SPDX-License-Identifier: Apache-2.0
// Inside the URDF reader: urdf.c (document, order of links), urdf_link.c (inertia, geometry), urdf_joint.c, and what
// they share (urdf_xml.c).
#pragma once
#include "base/xml.h"
#include "describe/unit.h"
#include "scene/urdf.h"

#define TD_URDF_NAME 200 // most bytes of a name

/// A colour that the robot defines by name.
typedef struct tdUrdfColour
{
    const char *name;
    float rgba[4];
} tdUrdfColour;

/// Joint as it stands in the file, by names.
typedef struct tdUrdfJoint
{
    tdTreeLink joint; ///< its joint's part only
    int parent, child;
    const char *mimic; ///< NULL: none
    int mimic_line;
} tdUrdfJoint;

typedef struct tdUrdf
{
    const char *file;
    tdArena *arena, scratch;
    tdTree *tree;
    tdError *error;
    tdRobotReader reader; ///< of meshes
    bool xacro;           ///< the document is not expanded
    bool guessed;         ///< a package was not found but its files were; said once
    int n_links, n_joints, n_shapes, n_colours;
    tdTreeLink *links; ///< in the order of the file, links of planar joints behind them
    tdUrdfJoint *joints;
    int64_t shapes_capacity, colours_capacity;
    tdTreeShape *shapes;   ///< by link of the file; grown by td_grow
    tdUrdfColour *colours; ///< the same
    int n_told;
    const char *told[64]; ///< what has been warned of
} tdUrdf;

// ---------------------------------------------------------------- urdf_xml.c

tdStatus td_urdf_fail(const tdUrdf *urdf, const xmlNode *node, const char *format, ...) TD_PRINTF(3, 4);
/// A warning with the place of the node; it fails when memory runs out.
tdStatus td_urdf_warn(tdUrdf *urdf, const xmlNode *node, const char *format, ...) TD_PRINTF(3, 4);
/// The only child element of this name: *out, NULL if there is none; two are an error.
tdStatus td_urdf_child(const tdUrdf *urdf, const xmlNode *node, const char *name, const xmlNode **out);
/// Warns, once for each name, of child elements and attributes that are not in the list ("a b c").
tdStatus td_urdf_unused(tdUrdf *urdf, const xmlNode *node, const char *elements, const char *attributes);
/// Text of an attribute in the scratch arena: *out, NULL if it is missing.
tdStatus td_urdf_text(tdUrdf *urdf, const xmlNode *node, const char *name, const char **out);
/// A name, in the tree's arena; missing, empty or too long is an error.
tdStatus td_urdf_name(tdUrdf *urdf, const xmlNode *node, const char *attribute, const char **out);
/// n numbers of an attribute, within the limits of their dimension; *given false: it is missing and `out` is left
/// alone. given NULL: required.
tdStatus td_urdf_numbers(tdUrdf *urdf, const xmlNode *node, const char *name, tdDim dim, int n, double *out,
                         bool *given);
/// <origin xyz rpy> of an element, or the identity.
tdStatus td_urdf_origin(tdUrdf *urdf, const xmlNode *node, tdPose *out);

// ---------------------------------------------------------------- parts

tdStatus td_urdf_link(tdUrdf *urdf, const xmlNode *node, int index);
/// A <material> that others name; one that has no colour is passed over.
tdStatus td_urdf_colour(tdUrdf *urdf, const xmlNode *material);
/// The joint, and with a planar one two more links and joints.
tdStatus td_urdf_joint(tdUrdf *urdf, const xmlNode *node);
