// SPDX-License-Identifier: Apache-2.0
// Joints, by the names of their links.
#include "scene/urdf_part.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static tdStatus read_kind(tdUrdf *urdf, const xmlNode *node, tdJointKind *kind)
{
    static const struct
    {
        const char *name;
        tdJointKind kind;
    } kinds[] = {{"fixed", TD_JOINT_FIXED},           {"revolute", TD_JOINT_REVOLUTE},
                 {"continuous", TD_JOINT_CONTINUOUS}, {"prismatic", TD_JOINT_PRISMATIC},
                 {"floating", TD_JOINT_FREE},         {"ball", TD_JOINT_BALL},
                 {"spherical", TD_JOINT_BALL},        {"planar", TD_JOINT_CONTINUOUS}};
    const char *type = NULL;
    TD_TRY(td_urdf_text(urdf, node, "type", &type));
    if (type == NULL)
        return td_urdf_fail(urdf, node, "the attribute 'type' is missing");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(type, kinds[i].name) == 0)
        {
            *kind = kinds[i].kind;
            return TD_OK;
        }
    return td_urdf_fail(urdf, node,
                        "joints of type '%.40s' are not supported; there are revolute, continuous, prismatic, fixed, "
                        "floating, planar and ball",
                        type);
}

static int find_link(const tdUrdf *urdf, const char *name)
{
    for (int l = 0; l < urdf->n_links; l++)
        if (strcmp(urdf->links[l].name, name) == 0)
            return l;
    return -1;
}

static tdStatus read_end(tdUrdf *urdf, const xmlNode *node, const char *which, int *out)
{
    const xmlNode *end = NULL;
    const char *name = NULL;
    TD_TRY(td_urdf_child(urdf, node, which, &end));
    if (end == NULL)
        return td_urdf_fail(urdf, node, "<%s link=\"...\"/> is missing", which);
    TD_TRY(td_urdf_unused(urdf, end, "", "link"));
    TD_TRY(td_urdf_text(urdf, end, "link", &name));
    if (name == NULL)
        return td_urdf_fail(urdf, end, "the attribute 'link' is missing");
    *out = find_link(urdf, name);
    if (*out < 0)
        return td_urdf_fail(urdf, end, "there is no link '%.100s'", name);
    return TD_OK;
}

static tdStatus read_axis(tdUrdf *urdf, const xmlNode *node, tdTreeLink *joint)
{
    const xmlNode *axis = NULL;
    TD_TRY(td_urdf_child(urdf, node, "axis", &axis));
    if (axis == NULL)
        return TD_OK; // x, as URDF has it
    TD_TRY(td_urdf_unused(urdf, axis, "", "xyz"));
    bool given = false;
    TD_TRY(td_urdf_numbers(urdf, axis, "xyz", TD_DIM_NONE, 3, joint->axis, &given));
    if (!given && td_joint_coordinates(joint->kind) == 1)
        TD_TRY(td_urdf_warn(urdf, axis, "the attribute 'xyz' is missing; the axis of joint '%s' is x", joint->joint));
    double largest = fmax(fabs(joint->axis[0]), fmax(fabs(joint->axis[1]), fabs(joint->axis[2])));
    if (td_joint_coordinates(joint->kind) != 1)
    {
        joint->axis[0] = 1; // has no meaning
        joint->axis[1] = joint->axis[2] = 0;
        return TD_OK;
    }
    if (!(largest > 0))
        return td_urdf_fail(urdf, axis, "the axis is zero; give a direction, e.g. xyz=\"0 0 1\"");
    double length = 0;
    for (int k = 0; k < 3; k++)
    {
        joint->axis[k] /= largest;
        length += joint->axis[k] * joint->axis[k];
    }
    for (int k = 0; k < 3; k++)
        joint->axis[k] /= sqrt(length);
    return TD_OK;
}

static tdStatus read_limit(tdUrdf *urdf, const xmlNode *node, tdTreeLink *joint)
{
    const xmlNode *limit = NULL;
    bool slides = joint->kind == TD_JOINT_PRISMATIC, bounded = joint->kind == TD_JOINT_REVOLUTE || slides,
         given = false;
    TD_TRY(td_urdf_child(urdf, node, "limit", &limit));
    if (limit == NULL && bounded)
        return td_urdf_warn(urdf, node, "joint '%s' is %s and has no <limit>; it is unlimited", joint->joint,
                            td_joint_name(joint->kind));
    if (limit == NULL)
        return TD_OK;
    TD_TRY(td_urdf_unused(urdf, limit, "", "lower upper effort velocity"));
    if (bounded)
    {
        joint->lower = joint->upper = 0; // what URDF says when they are left out
        // Plain numbers, whose limits are wide: files write 1e16 for a joint that is not meant to have limits.
        TD_TRY(td_urdf_numbers(urdf, limit, "lower", TD_DIM_NONE, 1, &joint->lower, &given));
        TD_TRY(td_urdf_numbers(urdf, limit, "upper", TD_DIM_NONE, 1, &joint->upper, &given));
        if (joint->lower > joint->upper) // what this means to other programs, too
        {
            TD_TRY(td_urdf_warn(urdf, limit,
                                "'lower' is %g and 'upper' is %g, so that nothing is between them; joint '%s' has no "
                                "limits",
                                joint->lower, joint->upper, joint->joint));
            joint->lower = -INFINITY;
            joint->upper = INFINITY;
        }
    }
    TD_TRY(td_urdf_numbers(urdf, limit, "effort", slides ? TD_DIM_FORCE : TD_DIM_TORQUE, 1, &joint->effort, &given));
    TD_TRY(td_urdf_numbers(urdf, limit, "velocity", slides ? TD_DIM_VELOCITY : TD_DIM_TURNING, 1, &joint->velocity,
                           &given));
    if (joint->effort < 0 || joint->velocity < 0)
        return td_urdf_fail(urdf, limit, "'effort' and 'velocity' must not be negative");
    if (joint->effort == 0) // files write it where they know no limit; a drive that may exert nothing is none
    {
        TD_TRY(td_urdf_warn(urdf, limit, "the effort of joint '%s' is limited to zero; this is read as no limit",
                            joint->joint));
        joint->effort = INFINITY;
    }
    return TD_OK;
}

static tdStatus read_dynamics(tdUrdf *urdf, const xmlNode *node, tdTreeLink *joint)
{
    const xmlNode *dynamics = NULL;
    bool given = false;
    TD_TRY(td_urdf_child(urdf, node, "dynamics", &dynamics));
    if (dynamics == NULL)
        return TD_OK;
    TD_TRY(td_urdf_unused(urdf, dynamics, "", "damping friction armature"));
    TD_TRY(td_urdf_numbers(urdf, dynamics, "damping", TD_DIM_NONE, 1, &joint->damping, &given));
    TD_TRY(td_urdf_numbers(urdf, dynamics, "friction", TD_DIM_FORCE, 1, &joint->friction, &given));
    TD_TRY(td_urdf_numbers(urdf, dynamics, "armature", TD_DIM_MASS, 1, &joint->armature, &given));
    if (joint->damping < 0 || joint->friction < 0 || joint->armature < 0)
        return td_urdf_fail(urdf, dynamics, "damping, friction and armature must not be negative");
    bool free = joint->kind == TD_JOINT_FREE || joint->kind == TD_JOINT_FIXED;
    if (free && (joint->damping > 0 || joint->friction > 0 || joint->armature > 0))
    {
        joint->damping = joint->friction = joint->armature = 0;
        return td_urdf_warn(urdf, dynamics, "joint '%s' is %s and has none of these; <dynamics> is not used",
                            joint->joint, joint->kind == TD_JOINT_FREE ? "floating" : "fixed");
    }
    return TD_OK;
}

static tdStatus read_mimic(tdUrdf *urdf, const xmlNode *node, tdUrdfJoint *out)
{
    const xmlNode *mimic = NULL;
    bool given = false;
    TD_TRY(td_urdf_child(urdf, node, "mimic", &mimic));
    if (mimic == NULL)
        return TD_OK;
    TD_TRY(td_urdf_unused(urdf, mimic, "", "joint multiplier offset"));
    TD_TRY(td_urdf_name(urdf, mimic, "joint", &out->mimic));
    out->mimic_line = td_xml_line(mimic);
    TD_TRY(td_urdf_numbers(urdf, mimic, "multiplier", TD_DIM_NONE, 1, &out->joint.ratio, &given));
    TD_TRY(td_urdf_numbers(urdf, mimic, "offset", TD_DIM_ANGLE, 1, &out->joint.offset, &given));
    if (td_joint_coordinates(out->joint.kind) != 1)
        return td_urdf_fail(urdf, mimic, "a %s joint cannot mimic another one", td_joint_name(out->joint.kind));
    if (out->joint.ratio == 0)
        return td_urdf_fail(urdf, mimic, "a multiplier of zero holds the joint; make it a fixed one");
    return TD_OK;
}

static tdStatus check_child(const tdUrdf *urdf, const xmlNode *node, const tdUrdfJoint *joint)
{
    if (joint->parent == joint->child)
        return td_urdf_fail(urdf, node, "link '%s' is its own parent", urdf->links[joint->child].name);
    for (int j = 0; j < urdf->n_joints; j++)
        if (urdf->joints[j].child == joint->child)
            return td_urdf_fail(
                urdf, node,
                "link '%s' is the child of joint '%s' (line %d) already; closed loops are not "
                "supported, a link has one parent. Leave a joint out and close the loop by 'attachments' "
                "of the scene",
                urdf->links[joint->child].name, urdf->joints[j].joint.joint, urdf->joints[j].joint.joint_line);
    return TD_OK;
}

// Two directions across the axis of a planar joint: for z they are x and y.
static void across(const double axis[3], double first[3], double second[3])
{
    int k = fabs(axis[0]) < 0.9 ? 0 : 1;
    double length = 0, along = axis[k];
    for (int i = 0; i < 3; i++)
    {
        first[i] = (i == k) - along * axis[i];
        length += first[i] * first[i];
    }
    for (int i = 0; i < 3; i++)
        first[i] /= sqrt(length);
    for (int i = 0; i < 3; i++)
        second[i] = axis[(i + 1) % 3] * first[(i + 2) % 3] - axis[(i + 2) % 3] * first[(i + 1) % 3];
}

// A planar joint slides along two directions across its axis, then turns about it: two more links, without mass.
static tdStatus add_slides(tdUrdf *urdf, tdUrdfJoint *joint)
{
    double way[2][3];
    across(joint->joint.axis, way[0], way[1]);
    for (int k = 0; k < 2; k++)
    {
        char name[TD_URDF_NAME + 8];
        tdTreeLink *link = &urdf->links[urdf->n_links];
        tdUrdfJoint *slide = &urdf->joints[urdf->n_joints];
        snprintf(name, sizeof name, "%s_%c", joint->joint.joint, k == 0 ? 'x' : 'y');
        *slide = (tdUrdfJoint){.joint = td_default_link(), .parent = joint->parent, .child = urdf->n_links};
        *link = td_default_link();
        link->name = slide->joint.joint = td_arena_copy(urdf->arena, name);
        if (link->name == NULL)
            return td_fail_memory(urdf->error, urdf->file);
        link->line = slide->joint.joint_line = joint->joint.joint_line;
        slide->joint.kind = TD_JOINT_PRISMATIC;
        slide->joint.damping = joint->joint.damping;
        slide->joint.friction = joint->joint.friction;
        memcpy(slide->joint.axis, way[k], sizeof way[k]);
        if (k == 0)
            slide->joint.origin = joint->joint.origin;
        joint->parent = urdf->n_links++;
        urdf->n_joints++;
    }
    joint->joint.origin = td_pose_identity();
    return TD_OK;
}

tdStatus td_urdf_joint(tdUrdf *urdf, const xmlNode *node)
{
    tdUrdfJoint out = {.joint = td_default_link()};
    tdTreeLink *joint = &out.joint;
    const char *type = NULL;
    joint->joint_line = td_xml_line(node);
    TD_TRY(td_urdf_name(urdf, node, "name", &joint->joint));
    TD_TRY(td_urdf_unused(urdf, node, "origin parent child axis limit dynamics mimic", "name type"));
    for (int j = 0; j < urdf->n_joints; j++)
        if (strcmp(urdf->joints[j].joint.joint, joint->joint) == 0)
            return td_urdf_fail(urdf, node, "the joint on line %d has the same name '%s'",
                                urdf->joints[j].joint.joint_line, joint->joint);
    TD_TRY(read_kind(urdf, node, &joint->kind));
    TD_TRY(td_urdf_text(urdf, node, "type", &type));
    TD_TRY(read_end(urdf, node, "parent", &out.parent));
    TD_TRY(read_end(urdf, node, "child", &out.child));
    TD_TRY(check_child(urdf, node, &out));
    TD_TRY(td_urdf_origin(urdf, node, &joint->origin));
    TD_TRY(read_axis(urdf, node, joint));
    TD_TRY(read_limit(urdf, node, joint));
    TD_TRY(read_dynamics(urdf, node, joint));
    TD_TRY(read_mimic(urdf, node, &out));
    if (strcmp(type, "planar") == 0)
        TD_TRY(add_slides(urdf, &out));
    urdf->joints[urdf->n_joints++] = out;
    return TD_OK;
}
