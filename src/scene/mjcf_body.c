// SPDX-License-Identifier: Apache-2.0
// Bodies of MJCF files as links: one for each joint, the last of a body carries its mass and its geoms.
#include "scene/mjcf_part.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_DEPTH 1000

// ---------------------------------------------------------------- links

static tdTreeLink *add_link(tdMjcf *m, const xmlNode *node, int parent, const tdPose *origin)
{
    tdTreeLink *link = m->n_links >= TD_TREE_LINKS ? NULL : td_mjcf_add(m, &m->links, &m->n_links, 2, sizeof *link);
    if (link == NULL)
        return NULL;
    *link = td_default_link();
    link->line = link->joint_line = td_xml_line(node);
    link->parent = parent;
    link->origin = *origin;
    return link;
}

static tdStatus too_many(const tdMjcf *m, const xmlNode *node)
{
    return m->n_links >= TD_TREE_LINKS ? td_mjcf_fail(m, node, "more than %d links", TD_TREE_LINKS)
                                       : td_fail_memory(m->error, m->file);
}

// A name that the file leaves out.
static const char *made_name(tdMjcf *m, const char *format, const char *of, int number)
{
    char text[300];
    snprintf(text, sizeof text, format, of, number);
    return td_arena_copy(m->arena, text);
}

static const char *body_name(tdMjcf *m, const char *given)
{
    return given[0] != '\0' ? given : made_name(m, "%s%d", "body_", m->n_bodies);
}

// ---------------------------------------------------------------- inertia

static tdStatus read_inertial(tdMjcf *m, const xmlNode *node, const tdPose *body, tdTreeLink *link)
{
    tdMjElement e;
    tdPose own;
    double I[6] = {0}, full[6];
    int count = 0;
    TD_TRY(td_mjcf_element(m, node, -1, &e));
    td_mjcf_attributes(m, node);
    TD_TRY(td_mjcf_pose(m, &e, &own));
    TD_TRY(td_mjcf_numbers(m, &e, "mass", 1, &link->mass, NULL));
    TD_TRY(td_mjcf_numbers(m, &e, "diaginertia", 3, I, NULL));
    TD_TRY(td_mjcf_numbers(m, &e, "fullinertia", 6, full, &count));
    if (count == 6)
        memcpy(I, full, sizeof full);
    if (link->mass < 0)
        return td_mjcf_fail(m, node, "the mass is %g kg; it must not be negative", link->mass);
    own = td_pose_multiply(body, &own);
    memcpy(link->center, own.t, sizeof link->center);
    td_inertia_turn(own.R, I, link->inertia);
    return TD_OK;
}

// From sums over geoms: mass, mass times center, inertia about the link's origin.
static void set_mass(const double sum[10], tdTreeLink *link)
{
    link->mass = sum[0];
    memset(link->inertia, 0, sizeof link->inertia);
    for (int k = 0; k < 3; k++)
        link->center[k] = sum[0] > 0 ? sum[1 + k] / sum[0] : 0;
    td_inertia_shift(sum[0], link->center, -1, sum + 4, link->inertia);
}

static void bound(const tdMjcf *m, tdTreeLink *link)
{
    link->mass = fmax(link->mass, m->boundmass);
    for (int k = 0; k < 3; k++)
        link->inertia[k] = fmax(link->inertia[k], m->boundinertia);
}

// ---------------------------------------------------------------- joints

static tdStatus read_kind(const tdMjcf *m, const tdMjElement *e, tdJointKind *out)
{
    static const char *const names[] = {"hinge", "slide", "ball", "free"};
    static const tdJointKind kinds[] = {TD_JOINT_REVOLUTE, TD_JOINT_PRISMATIC, TD_JOINT_BALL, TD_JOINT_FREE};
    const char *type = td_xml_is(e->node, "freejoint") ? "free" : td_mjcf_text(m, e, "type");
    for (int k = 0; k < 4; k++)
        if (strcmp(type == NULL ? "hinge" : type, names[k]) == 0)
        {
            *out = kinds[k];
            return TD_OK;
        }
    return td_mjcf_fail(m, e->node, "joints of type '%.40s' are not supported; there are hinge, slide, ball and free",
                        type);
}

static tdStatus read_limits(tdMjcf *m, const tdMjElement *e, double ref, tdTreeLink *link)
{
    const double scale = m->radians || link->kind == TD_JOINT_PRISMATIC ? 1 : atan(1) / 45;
    double range[2] = {0, 0}, force[2] = {0, 0};
    int count = 0, forces = 0;
    TD_TRY(td_mjcf_numbers(m, e, "range", 2, range, &count));
    bool limited = count == 2 && m->autolimits && range[0] < range[1];
    TD_TRY(td_mjcf_flag(m, e, "limited", &limited));
    if (limited && td_joint_coordinates(link->kind) != 1)
        td_mjcf_unused(m, "joint of type ball or free", "range");
    else if (limited && range[0] <= range[1])
    {
        link->lower = scale * range[0] - ref;
        link->upper = scale * range[1] - ref;
    }
    else if (link->kind == TD_JOINT_REVOLUTE)
        link->kind = TD_JOINT_CONTINUOUS;
    TD_TRY(td_mjcf_numbers(m, e, "actuatorfrcrange", 2, force, &forces));
    limited = forces == 2 && m->autolimits;
    TD_TRY(td_mjcf_flag(m, e, "actuatorfrclimited", &limited));
    if (limited && forces == 2 && fmax(fabs(force[0]), fabs(force[1])) > 0)
        link->effort = fmax(fabs(force[0]), fabs(force[1]));
    return TD_OK;
}

static tdStatus read_axis(const tdMjcf *m, const tdMjElement *e, tdTreeLink *link)
{
    double axis[3] = {0, 0, 1};
    TD_TRY(td_mjcf_numbers(m, e, "axis", 3, axis, NULL));
    double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
    if (td_joint_coordinates(link->kind) != 1)
        return TD_OK;
    if (!(length > 1e-12))
        return td_mjcf_fail(m, e->node, "the axis is zero; give a direction, e.g. axis=\"0 0 1\"");
    for (int k = 0; k < 3; k++)
        link->axis[k] = axis[k] / length;
    return TD_OK;
}

// A spring of the joint is a servo that is always at its rest.
static tdStatus add_spring(tdMjcf *m, const tdMjElement *e, double ref, int at)
{
    double stiffness = 0, rest = ref;
    int count = 0;
    TD_TRY(td_mjcf_numbers(m, e, "stiffness", 1, &stiffness, &count));
    if (!(stiffness > 0))
        return TD_OK;
    const tdTreeLink *link = &m->links[at];
    double scale = m->radians || link->kind == TD_JOINT_PRISMATIC ? 1 : atan(1) / 45;
    if (td_mjcf_text(m, e, "springref") != NULL)
    {
        TD_TRY(td_mjcf_numbers(m, e, "springref", 1, &rest, NULL));
        rest *= scale;
    }
    if (td_joint_coordinates(link->kind) != 1)
    {
        td_mjcf_unused(m, "joint of type ball or free", "stiffness");
        return TD_OK;
    }
    tdTreeDrive *drive = td_mjcf_add(m, &m->drives, &m->n_drives, 3, sizeof *drive);
    if (drive == NULL)
        return td_fail_memory(m->error, m->file);
    *drive = (tdTreeDrive){.name = made_name(m, "%s_spring%.0d", link->joint, 0),
                           .line = td_xml_line(e->node),
                           .link = at,
                           .kind = TD_TREE_POSITION,
                           .stiffness = stiffness,
                           .effort = {-INFINITY, INFINITY},
                           .range = {-INFINITY, INFINITY},
                           .target = rest - ref};
    return drive->name != NULL ? TD_OK : td_fail_memory(m->error, m->file);
}

static tdStatus read_joint(tdMjcf *m, const xmlNode *node, int childclass, int at, const char *body, int number)
{
    tdMjElement e;
    tdTreeLink *link = &m->links[at];
    double ref = 0;
    TD_TRY(td_mjcf_element(m, node, childclass, &e));
    td_mjcf_attributes(m, node);
    TD_TRY(td_mjcf_name(m, &e, "name", &link->joint));
    bool named = link->joint[0] != '\0';
    for (int j = 0; named && j < m->n_joints; j++)
        if (m->joints[j].named && strcmp(m->joints[j].name, link->joint) == 0)
            return td_mjcf_fail(m, node, "two joints have the same name '%.100s'; rename one", link->joint);
    if (!named)
        link->joint = made_name(m, "%s_joint%d", body, number);
    if (link->joint == NULL)
        return td_fail_memory(m->error, m->file);
    TD_TRY(read_kind(m, &e, &link->kind));
    double scale = m->radians || link->kind == TD_JOINT_PRISMATIC ? 1 : atan(1) / 45;
    TD_TRY(td_mjcf_numbers(m, &e, "ref", 1, &ref, NULL));
    ref *= scale;
    TD_TRY(read_axis(m, &e, link));
    TD_TRY(read_limits(m, &e, ref, link));
    if (link->kind != TD_JOINT_FREE)
    {
        int count = 0; // some versions have polynomials, of which the first number is the linear part
        TD_TRY(td_mjcf_numbers(m, &e, "damping", 1, &link->damping, &count));
        TD_TRY(td_mjcf_numbers(m, &e, "frictionloss", 1, &link->friction, NULL));
        TD_TRY(td_mjcf_numbers(m, &e, "armature", 1, &link->armature, NULL));
    }
    if (link->damping < 0 || link->friction < 0 || link->armature < 0)
        return td_mjcf_fail(m, node, "damping, frictionloss and armature must not be negative");
    TD_TRY(add_spring(m, &e, ref, at));
    tdMjJoint *joint = td_mjcf_add(m, &m->joints, &m->n_joints, 4, sizeof *joint);
    if (joint == NULL)
        return td_fail_memory(m->error, m->file);
    *joint = (tdMjJoint){m->links[at].joint, at, ref, named};
    return TD_OK;
}

static bool is_joint(const xmlNode *node)
{
    return td_xml_is(node, "joint") || td_xml_is(node, "freejoint");
}

// Where a joint is anchored in the frame of its body.
static tdStatus anchor_of(const tdMjcf *m, const xmlNode *node, int childclass, double at[3])
{
    tdMjElement e;
    tdJointKind kind = TD_JOINT_FIXED;
    at[0] = at[1] = at[2] = 0;
    TD_TRY(td_mjcf_element(m, node, childclass, &e));
    TD_TRY(read_kind(m, &e, &kind));
    return kind == TD_JOINT_FREE ? TD_OK : td_mjcf_numbers(m, &e, "pos", 3, at, NULL);
}

// The links of a body: one for each joint, each with its frame at the joint's anchor, or one that is fixed. *link and
// *pose: the last one, and the body's frame in it.
static tdStatus add_links(tdMjcf *m, const xmlNode *node, int childclass, int parent, const tdPose *place,
                          const char *name, int *link, tdPose *pose)
{
    int joints = 0, number = 0;
    for (const xmlNode *child = node->children; child != NULL; child = child->next)
        joints += is_joint(child);
    tdPose origin = *place;
    *pose = td_pose_identity();
    if (joints == 0)
    {
        tdTreeLink *own = add_link(m, node, parent, &origin);
        if (own == NULL)
            return too_many(m, node);
        own->name = name;
        own->joint = made_name(m, "%s_fixed%.0d", name, 0);
        *link = m->n_links - 1;
        return own->joint != NULL ? TD_OK : td_fail_memory(m->error, m->file);
    }
    for (const xmlNode *child = node->children; child != NULL; child = child->next)
    {
        double at[3];
        if (!is_joint(child))
            continue;
        TD_TRY(anchor_of(m, child, childclass, at));
        tdPose moved = td_pose_identity(), back = *pose;
        memcpy(moved.t, at, sizeof at);
        // From the last link's frame to the body's, from there to the anchor.
        origin = td_pose_multiply(number == 0 ? place : &back, &moved);
        tdTreeLink *own = add_link(m, child, parent, &origin);
        if (own == NULL)
            return too_many(m, child);
        own->name = ++number == joints ? name : made_name(m, "%s_%d", name, number);
        if (own->name == NULL)
            return td_fail_memory(m->error, m->file);
        parent = *link = m->n_links - 1;
        TD_TRY(read_joint(m, child, childclass, *link, name, number));
        if (m->links[*link].kind == TD_JOINT_FREE && (joints > 1 || m->links[*link].parent != 0))
            return td_mjcf_fail(m, child, "a free joint is the only one of its body, and the body one of the world");
        for (int k = 0; k < 3; k++)
            pose->t[k] = -at[k];
    }
    return TD_OK;
}

// ---------------------------------------------------------------- bodies

static tdStatus read_contents(tdMjcf *m, const xmlNode *node, int childclass, int link, const tdPose *pose,
                              double sum[10], int depth);

static tdStatus add_site(tdMjcf *m, const xmlNode *node, int childclass, int link, const tdPose *pose)
{
    tdMjElement e;
    tdPose own;
    const char *name = NULL;
    TD_TRY(td_mjcf_element(m, node, childclass, &e));
    td_mjcf_attributes(m, node);
    TD_TRY(td_mjcf_name(m, &e, "name", &name));
    TD_TRY(td_mjcf_pose(m, &e, &own));
    tdMjSite *site = td_mjcf_add(m, &m->sites, &m->n_sites, 5, sizeof *site);
    if (site == NULL)
        return td_fail_memory(m->error, m->file);
    site->name = name;
    site->link = link;
    td_place(pose, own.t, site->at);
    return TD_OK;
}

static tdStatus class_below(const tdMjcf *m, const xmlNode *node, int *childclass)
{
    xmlChar *name = xmlGetProp((xmlNode *)node, (const xmlChar *)"childclass");
    if (name == NULL)
        return TD_OK;
    *childclass = td_mjcf_class(m, (const char *)name);
    tdStatus status =
        *childclass >= 0 ? TD_OK : td_mjcf_fail(m, node, "there is no default class '%.100s'", (const char *)name);
    xmlFree(name);
    return status;
}

// `outer`: the frame in which the body is placed, in that of the parent's link.
static tdStatus read_body(tdMjcf *m, const xmlNode *node, int childclass, int parent, const tdPose *outer, int depth)
{
    tdMjElement e;
    tdPose own, place, pose;
    const char *name = NULL;
    int link = 0;
    double sum[10] = {0};
    if (depth > MOST_DEPTH)
        return td_mjcf_fail(m, node, "bodies are nested deeper than %d", MOST_DEPTH);
    TD_TRY(class_below(m, node, &childclass));
    TD_TRY(td_mjcf_element(m, node, -1, &e));
    td_mjcf_attributes(m, node);
    TD_TRY(td_mjcf_name(m, &e, "name", &name));
    bool named = name[0] != '\0';
    for (int b = 0; named && b < m->n_bodies; b++)
        if (m->bodies[b].named && strcmp(m->bodies[b].name, name) == 0)
            return td_mjcf_fail(m, node, "two bodies have the same name '%.100s'; rename one", name);
    name = body_name(m, name);
    if (name == NULL)
        return td_fail_memory(m->error, m->file);
    TD_TRY(td_mjcf_pose(m, &e, &own));
    place = td_pose_multiply(outer, &own);
    TD_TRY(add_links(m, node, childclass, parent, &place, name, &link, &pose));
    tdMjBody *body = td_mjcf_add(m, &m->bodies, &m->n_bodies, 6, sizeof *body);
    if (body == NULL)
        return td_fail_memory(m->error, m->file);
    *body = (tdMjBody){name, link, pose, named};
    TD_TRY(read_contents(m, node, childclass, link, &pose, sum, depth));
    const xmlNode *inertial = td_xml_child(node, "inertial");
    if (m->from_geoms == 1 || (m->from_geoms < 0 && inertial == NULL))
        set_mass(sum, &m->links[link]);
    else if (inertial != NULL)
        TD_TRY(read_inertial(m, inertial, &pose, &m->links[link]));
    bound(m, &m->links[link]);
    return TD_OK;
}

// Copies of what is inside, each turned by `euler` once more and moved on by `offset` in the axes of the one before;
// their names end in `sep` and the number, with as many digits as `count` has.
static tdStatus replicate(tdMjcf *m, const xmlNode *node, int childclass, int link, const tdPose *pose, double sum[10],
                          int depth)
{
    tdMjElement e;
    int count = 0;
    double offset[3] = {0};
    tdPose own = td_pose_identity();
    char outer[sizeof m->suffix];
    TD_TRY(class_below(m, node, &childclass));
    TD_TRY(td_mjcf_element(m, node, -1, &e));
    td_mjcf_attributes(m, node);
    TD_TRY(td_mjcf_integer(m, &e, "count", &count));
    TD_TRY(td_mjcf_numbers(m, &e, "offset", 3, offset, NULL));
    if (count < 1 || count > TD_MJCF_ITEMS - m->copies)
        return td_mjcf_fail(m, node, "'count' is %d; 1 to %d copies are possible", count, TD_MJCF_ITEMS - m->copies);
    if (depth > MOST_DEPTH)
        return td_mjcf_fail(m, node, "copies are nested deeper than %d", MOST_DEPTH);
    const char *sep = td_mjcf_text(m, &e, "sep");
    int digits = snprintf(NULL, 0, "%d", count);
    memcpy(outer, m->suffix, sizeof outer);
    m->copies += count;
    for (int i = 0; i < count; i++)
    {
        double step[3];
        TD_TRY(td_mjcf_euler(m, &e, i, own.R));
        int length = snprintf(m->suffix, sizeof m->suffix, "%s%0*d%s", sep == NULL ? "" : sep, digits, i, outer);
        if (length >= (int)sizeof m->suffix)
            return td_mjcf_fail(m, node, "the ends of names that 'sep' makes have more than %zu bytes",
                                sizeof m->suffix - 1);
        tdPose place = td_pose_multiply(pose, &own);
        TD_TRY(read_contents(m, node, childclass, link, &place, sum, depth + 1));
        td_turn(&own, offset, step);
        for (int k = 0; k < 3; k++)
            own.t[k] += step[k];
    }
    memcpy(m->suffix, outer, sizeof outer);
    return TD_OK;
}

// Geoms, sites, frames, copies and bodies of a body, of the world or of a frame in them.
static tdStatus read_contents(tdMjcf *m, const xmlNode *node, int childclass, int link, const tdPose *pose,
                              double sum[10], int depth)
{
    for (const xmlNode *child = node->children; child != NULL; child = child->next)
    {
        if (child->type != XML_ELEMENT_NODE)
            continue;
        if (td_xml_is(child, "geom"))
            TD_TRY(td_mjcf_geom(m, child, childclass, link, pose, sum));
        else if (td_xml_is(child, "site"))
            TD_TRY(add_site(m, child, childclass, link, pose));
        else if (td_xml_is(child, "body"))
            TD_TRY(read_body(m, child, childclass, link, pose, depth + 1));
        else if (td_xml_is(child, "frame"))
        {
            tdMjElement e;
            tdPose own;
            int inner = childclass;
            TD_TRY(class_below(m, child, &inner));
            TD_TRY(td_mjcf_element(m, child, -1, &e));
            td_mjcf_attributes(m, child);
            TD_TRY(td_mjcf_pose(m, &e, &own));
            own = td_pose_multiply(pose, &own);
            if (depth > MOST_DEPTH)
                return td_mjcf_fail(m, child, "frames are nested deeper than %d", MOST_DEPTH);
            TD_TRY(read_contents(m, child, inner, link, &own, sum, depth + 1));
        }
        else if (td_xml_is(child, "replicate"))
            TD_TRY(replicate(m, child, childclass, link, pose, sum, depth));
        else if (!is_joint(child) && !td_xml_is(child, "inertial"))
            td_mjcf_unused(m, (const char *)child->name, NULL);
    }
    return TD_OK;
}

tdStatus td_mjcf_world(tdMjcf *m, const xmlNode *section)
{
    tdPose identity = td_pose_identity();
    double sum[10] = {0};
    int childclass = -1;
    if (m->n_links == 0)
    {
        tdTreeLink *world = add_link(m, section, -1, &identity);
        tdMjBody *body = td_mjcf_add(m, &m->bodies, &m->n_bodies, 6, sizeof *body);
        if (world == NULL || body == NULL)
            return td_fail_memory(m->error, m->file);
        world->name = "world";
        world->joint = "base";
        *body = (tdMjBody){"world", 0, identity, true};
    }
    TD_TRY(class_below(m, section, &childclass));
    return read_contents(m, section, childclass, 0, &identity, sum, 0);
}
