// SPDX-License-Identifier: Apache-2.0
// What acts on the bodies of an MJCF file: actuators, equality constraints, who touches whom, where it starts.
#include "scene/mjcf_part.h"

#include <math.h>
#include <string.h>

#define WELD 0.1 // [m] between the points of a weld

// ---------------------------------------------------------------- names

static const tdMjJoint *find_joint(const tdMjcf *m, const char *name)
{
    for (int i = 0; i < m->n_joints && name != NULL; i++)
        if (strcmp(m->joints[i].name, name) == 0)
            return &m->joints[i];
    return NULL;
}

static const tdMjBody *find_body(const tdMjcf *m, const char *name)
{
    for (int i = 0; i < m->n_bodies && name != NULL; i++)
        if (strcmp(m->bodies[i].name, name) == 0)
            return &m->bodies[i];
    return NULL;
}

static const tdMjSite *find_site(const tdMjcf *m, const char *name)
{
    for (int i = 0; i < m->n_sites && name != NULL; i++)
        if (strcmp(m->sites[i].name, name) == 0)
            return &m->sites[i];
    return NULL;
}

static bool has_coordinate(const tdMjcf *m, const tdMjJoint *joint)
{
    return joint != NULL && td_joint_coordinates(m->links[joint->link].kind) == 1;
}

// The joint that leads, with the factor of one that follows it.
static int leader_of(const tdMjcf *m, int link, double *factor, double *offset)
{
    *factor = 1;
    *offset = 0;
    for (int steps = 0; m->links[link].mimic >= 0 && steps < m->n_links; steps++)
    {
        *offset += *factor * m->links[link].offset;
        *factor *= m->links[link].ratio;
        link = m->links[link].mimic;
    }
    return link;
}

// ---------------------------------------------------------------- actuators

// What a drive moves: length of the transmission = gear (position of the joint) + offset.
typedef struct transmission
{
    int link; // -1: none that is read
    double gear, offset;
    double effort; // most that the joints bear, as seen at the one that leads
} transmission;

// Of a tendon that is a sum of joints, all of which follow one.
static tdStatus read_tendon(tdMjcf *m, const xmlNode *tendon, double gear, transmission *out)
{
    for (const xmlNode *child = tendon->children; child != NULL; child = child->next)
    {
        tdMjElement e;
        double coef = 1, factor, offset;
        if (!td_xml_is(child, "joint"))
            continue;
        TD_TRY(td_mjcf_element(m, child, -1, &e));
        TD_TRY(td_mjcf_numbers(m, &e, "coef", 1, &coef, NULL));
        const tdMjJoint *joint = find_joint(m, td_mjcf_text(m, &e, "joint"));
        int link = has_coordinate(m, joint) ? leader_of(m, joint->link, &factor, &offset) : -1;
        if (link < 0 || (out->link >= 0 && out->link != link))
        {
            out->link = -1;
            return TD_OK;
        }
        out->link = link;
        out->effort = fmin(out->effort, m->links[joint->link].effort * fabs(factor));
        out->gear += gear * coef * factor;
        out->offset += gear * coef * (offset + joint->ref);
    }
    return TD_OK;
}

static tdStatus read_transmission(tdMjcf *m, const tdMjElement *e, transmission *out)
{
    double gear[6] = {1};
    int count = 0;
    const char *name = td_mjcf_text(m, e, "joint"), *tendon = td_mjcf_text(m, e, "tendon");
    name = name != NULL ? name : td_mjcf_text(m, e, "jointinparent");
    *out = (transmission){.link = -1, .effort = INFINITY};
    TD_TRY(td_mjcf_numbers(m, e, "gear", 6, gear, &count));
    if (name != NULL)
    {
        const tdMjJoint *joint = find_joint(m, name);
        double factor, offset;
        if (joint == NULL)
            return td_mjcf_fail(m, e->node, "there is no joint '%.100s'", name);
        if (!has_coordinate(m, joint))
            return TD_OK;
        out->link = leader_of(m, joint->link, &factor, &offset);
        out->gear = gear[0] * factor;
        out->effort = m->links[joint->link].effort * fabs(factor);
        out->offset = gear[0] * (offset + joint->ref);
        return TD_OK;
    }
    for (const xmlNode *section = m->root->children; tendon != NULL && section != NULL; section = section->next)
        for (const xmlNode *at = td_xml_is(section, "tendon") ? section->children : NULL; at != NULL; at = at->next)
        {
            tdMjElement own = {.node = at, .class_of = -1};
            const char *called = td_xml_is(at, "fixed") ? td_mjcf_text(m, &own, "name") : NULL;
            if (called == NULL || strcmp(called, tendon) != 0)
                continue;
            TD_TRY(read_tendon(m, at, gear[0], out));
            ((xmlNode *)at)->_private = out->link >= 0 ? m : NULL; // used
            return TD_OK;
        }
    return TD_OK;
}

// force = gain ctrl + bias[0] + bias[1] length + bias[2] velocity
typedef struct law
{
    double gain, bias[3], ratio;
} law;

// False: it is none of the laws that are read.
static tdStatus read_law(tdMjcf *m, const tdMjElement *e, law *out, bool *known)
{
    const char *gain = td_mjcf_text(m, e, "gaintype"), *bias = td_mjcf_text(m, e, "biastype"),
               *dynamics = td_mjcf_text(m, e, "dyntype");
    bool general = td_xml_is(e->node, "general");
    double kp = 1, kv = 0;
    int count = 0;
    *out = (law){.gain = 1};
    *known = true;
    if (td_xml_is(e->node, "position"))
    {
        TD_TRY(td_mjcf_numbers(m, e, "kp", 1, &kp, NULL));
        TD_TRY(td_mjcf_numbers(m, e, "kv", 1, &kv, NULL));
        TD_TRY(td_mjcf_numbers(m, e, "dampratio", 1, &out->ratio, NULL));
        *out = (law){.gain = kp, .bias = {0, -kp, -kv}, .ratio = out->ratio};
    }
    else if (td_xml_is(e->node, "velocity"))
    {
        kv = 1;
        TD_TRY(td_mjcf_numbers(m, e, "kv", 1, &kv, NULL));
        *out = (law){.gain = kv, .bias = {0, 0, -kv}};
    }
    else if (general)
    {
        TD_TRY(td_mjcf_numbers(m, e, "gainprm", 1, &out->gain, &count));
        if (bias != NULL && strcmp(bias, "affine") == 0)
            TD_TRY(td_mjcf_numbers(m, e, "biasprm", 3, out->bias, &count));
    }
    *known = !general || ((gain == NULL || strcmp(gain, "fixed") == 0) &&
                          (bias == NULL || strcmp(bias, "none") == 0 || strcmp(bias, "affine") == 0) &&
                          (dynamics == NULL || strcmp(dynamics, "none") == 0));
    return TD_OK;
}

static tdStatus read_range(const tdMjcf *m, const tdMjElement *e, const char *range, const char *flag, double out[2])
{
    double value[2] = {0, 0};
    int count = 0;
    TD_TRY(td_mjcf_numbers(m, e, range, 2, value, &count));
    bool limited = count == 2 && m->autolimits;
    TD_TRY(td_mjcf_flag(m, e, flag, &limited));
    out[0] = limited && count == 2 ? fmin(value[0], value[1]) : -INFINITY;
    out[1] = limited && count == 2 ? fmax(value[0], value[1]) : INFINITY;
    return TD_OK;
}

static void scale_range(const double in[2], double factor, double offset, double out[2])
{
    double a = in[0] * factor + offset, b = in[1] * factor + offset;
    out[0] = fmin(a, b);
    out[1] = fmax(a, b);
}

// Control to target (servo), or to effort: factor and offset.
static void control_of(const tdTreeDrive *drive, const law *l, const transmission *t, double *factor, double *offset)
{
    if (drive->kind == TD_TREE_POSITION) // gain c + b0 + b1 (gear x + offset) = -b1 gear (target - x)
    {
        *factor = l->gain / (-l->bias[1] * t->gear);
        *offset = (l->bias[0] / -l->bias[1] - t->offset) / t->gear;
    }
    else
    {
        *factor = drive->kind == TD_TREE_RATE ? l->gain / (-l->bias[2] * t->gear) : l->gain * t->gear;
        *offset = 0;
    }
}

// What the input of the drive is at the keyframe's control, if it has one.
static tdStatus start_control(const tdMjcf *m, int index, double *control, bool *given)
{
    *given = false;
    for (const xmlNode *section = m->root->children; section != NULL; section = section->next)
        for (const xmlNode *key = td_xml_is(section, "keyframe") ? section->children : NULL; key != NULL;
             key = key->next)
        {
            tdMjElement e = {.node = key, .class_of = -1};
            const char *name = td_xml_is(key, "key") ? td_mjcf_text(m, &e, "name") : NULL;
            if (m->keyframe == NULL || name == NULL || strcmp(name, m->keyframe) != 0 ||
                td_mjcf_text(m, &e, "ctrl") == NULL)
                continue;
            double *values = TD_TAKE((tdArena *)&m->scratch, double, index + 1);
            int count = 0;
            if (values == NULL)
                return td_fail_memory(m->error, m->file);
            TD_TRY(td_mjcf_numbers(m, &e, "ctrl", index + 1, values, &count));
            *given = count == index + 1;
            *control = *given ? values[index] : 0;
        }
    return TD_OK;
}

static tdStatus add_drive(tdMjcf *m, const tdMjElement *e, const law *l, const transmission *t, int index)
{
    double control[2], force[2], factor, offset, start = 0;
    bool given = false;
    tdTreeDrive *drive = td_mjcf_add(m, &m->drives, &m->n_drives, 3, sizeof *drive);
    if (drive == NULL)
        return td_fail_memory(m->error, m->file);
    *drive = (tdTreeDrive){.line = td_xml_line(e->node), .link = t->link, .target = NAN};
    drive->kind = l->bias[1] < 0 ? TD_TREE_POSITION : l->bias[2] < 0 && l->gain != 0 ? TD_TREE_RATE : TD_TREE_EFFORT;
    TD_TRY(td_mjcf_name(m, e, "name", &drive->name));
    if (drive->name[0] == '\0')
        drive->name = m->links[t->link].joint;
    drive->stiffness = -l->bias[1] * t->gear * t->gear;
    drive->damping = fmax(-l->bias[2], 0) * t->gear * t->gear;
    if (l->ratio > 0)
        drive->damping = -l->ratio; // by the inertia that it moves, when all masses are known
    TD_TRY(read_range(m, e, "ctrlrange", "ctrllimited", control));
    TD_TRY(read_range(m, e, "forcerange", "forcelimited", force));
    scale_range(force, t->gear, 0, drive->effort);
    control_of(drive, l, t, &factor, &offset);
    double inputs[2];
    scale_range(control, factor, offset, inputs);
    drive->range[0] = -INFINITY;
    drive->range[1] = INFINITY;
    if (drive->kind == TD_TREE_EFFORT)
    {
        drive->effort[0] = fmax(drive->effort[0], inputs[0]);
        drive->effort[1] = fmin(drive->effort[1], inputs[1]);
    }
    else if (drive->kind == TD_TREE_POSITION)
        memcpy(drive->range, inputs, sizeof inputs);
    drive->effort[0] = fmax(drive->effort[0], -t->effort);
    drive->effort[1] = fmin(drive->effort[1], t->effort);
    TD_TRY(start_control(m, index, &start, &given));
    if (given)
        drive->target = factor * start + offset;
    return TD_OK;
}

tdStatus td_mjcf_actuators(tdMjcf *m, const xmlNode *section)
{
    int index = 0; // of the control
    for (const xmlNode *child = section->children; child != NULL; child = child->next)
    {
        tdMjElement e;
        law l;
        transmission t = {.link = -1};
        bool known = false;
        if (child->type != XML_ELEMENT_NODE)
            continue;
        if (td_xml_listed(TD_MJCF_ACTUATORS, (const char *)child->name))
        {
            TD_TRY(td_mjcf_element(m, child, -1, &e));
            e.others = TD_MJCF_ACTUATORS;
            td_mjcf_attributes(m, child);
            TD_TRY(read_law(m, &e, &l, &known));
            TD_TRY(read_transmission(m, &e, &t));
        }
        if (!known || t.link < 0 || t.gear == 0 || l.bias[1] > 0)
            td_mjcf_unused(m, "actuator", (const char *)child->name);
        else
            TD_TRY(add_drive(m, &e, &l, &t, index));
        index++;
    }
    return TD_OK;
}

// ---------------------------------------------------------------- equality

// The two links of a connect or a weld, and the point in the frame of the first; false: names that there are not.
static tdStatus read_ends(tdMjcf *m, const tdMjElement *e, int link[2], double at[3], bool *known)
{
    const tdMjSite *sites[2] = {find_site(m, td_mjcf_text(m, e, "site1")), find_site(m, td_mjcf_text(m, e, "site2"))};
    const char *second = td_mjcf_text(m, e, "body2");
    const tdMjBody *bodies[2] = {find_body(m, td_mjcf_text(m, e, "body1")),
                                 second == NULL ? &m->bodies[0] : find_body(m, second)};
    double anchor[3] = {0, 0, 0};
    *known = true;
    if (td_mjcf_text(m, e, "site1") != NULL)
    {
        *known = sites[0] != NULL && sites[1] != NULL;
        for (int k = 0; k < 2 && *known; k++)
            link[k] = sites[k]->link;
        if (*known)
            memcpy(at, sites[0]->at, sizeof anchor);
        return TD_OK;
    }
    if (bodies[0] == NULL || bodies[1] == NULL)
        return td_mjcf_fail(m, e->node, "it names a body that does not exist");
    TD_TRY(td_mjcf_numbers(m, e, "anchor", 3, anchor, NULL));
    for (int k = 0; k < 2; k++)
        link[k] = bodies[k]->link;
    td_place(&bodies[0]->pose, anchor, at);
    return TD_OK;
}

static tdStatus add_bond(tdMjcf *m, const tdMjElement *e, bool weld)
{
    int link[2] = {0, 0};
    double at[3] = {0};
    bool known = false;
    TD_TRY(read_ends(m, e, link, at, &known));
    if (!known || link[0] == link[1])
    {
        td_mjcf_unused(m, "equality", (const char *)e->node->name);
        return TD_OK;
    }
    tdTreeBond *bond = td_mjcf_add(m, &m->bonds, &m->n_bonds, 7, sizeof *bond);
    if (bond == NULL)
        return td_fail_memory(m->error, m->file);
    bond->line = td_xml_line(e->node);
    memcpy(bond->link, link, sizeof link);
    bond->n_points = weld ? 3 : 1;
    for (int k = 0; k < 9; k++)
        bond->points[k] = at[k % 3] + (k == 3 || k == 7 ? WELD : 0);
    return td_mjcf_name(m, e, "name", &bond->name);
}

// joint1 = polycoef of joint2: a joint that follows, where it is linear.
static tdStatus add_follower(tdMjcf *m, const tdMjElement *e)
{
    double c[5] = {0, 1, 0, 0, 0}, factor, offset;
    int count = 0;
    const tdMjJoint *one = find_joint(m, td_mjcf_text(m, e, "joint1")),
                    *two = find_joint(m, td_mjcf_text(m, e, "joint2"));
    TD_TRY(td_mjcf_numbers(m, e, "polycoef", 5, c, &count));
    bool linear = c[2] == 0 && c[3] == 0 && c[4] == 0 && c[1] != 0;
    if (!linear || !has_coordinate(m, one) || !has_coordinate(m, two) || m->links[one->link].mimic >= 0 ||
        leader_of(m, two->link, &factor, &offset) == one->link)
    {
        td_mjcf_unused(m, "equality", "joint (of these only linear ones of two joints are read)");
        return TD_OK;
    }
    tdTreeLink *link = &m->links[one->link];
    link->mimic = two->link;
    link->ratio = c[1];
    link->offset = c[0];
    return TD_OK;
}

tdStatus td_mjcf_equality(tdMjcf *m, const xmlNode *section)
{
    for (const xmlNode *child = section->children; child != NULL; child = child->next)
    {
        tdMjElement e;
        bool active = true;
        if (child->type != XML_ELEMENT_NODE)
            continue;
        TD_TRY(td_mjcf_element(m, child, -1, &e));
        e.others = "equality";
        TD_TRY(td_mjcf_flag(m, &e, "active", &active));
        td_mjcf_attributes(m, child);
        bool weld = td_xml_is(child, "weld");
        if (!active)
            td_mjcf_unused(m, "equality that is not active:", (const char *)child->name);
        else if (weld || td_xml_is(child, "connect"))
            TD_TRY(add_bond(m, &e, weld));
        else if (td_xml_is(child, "joint"))
            TD_TRY(add_follower(m, &e));
        else
            td_mjcf_unused(m, "equality", (const char *)child->name);
    }
    return TD_OK;
}

// ---------------------------------------------------------------- contact

static tdStatus add_excluded(tdMjcf *m, const tdMjElement *e)
{
    const tdMjBody *one = find_body(m, td_mjcf_text(m, e, "body1")), *two = find_body(m, td_mjcf_text(m, e, "body2"));
    if (one == NULL || two == NULL)
        return td_mjcf_fail(m, e->node, "it names a body that does not exist");
    int *pair = td_mjcf_add(m, &m->excluded, &m->n_excluded, 8, sizeof *m->excluded);
    if (pair == NULL)
        return td_fail_memory(m->error, m->file);
    pair[0] = one->link;
    pair[1] = two->link;
    return TD_OK;
}

static tdStatus add_pair(tdMjcf *m, const tdMjElement *e)
{
    const char *name[2] = {td_mjcf_text(m, e, "geom1"), td_mjcf_text(m, e, "geom2")};
    int found[2] = {-1, -1};
    for (int k = 0; k < 2; k++)
        for (int s = 0; s < m->n_shapes && name[k] != NULL; s++)
            if (m->shapes[s].name != NULL && strcmp(m->shapes[s].name, name[k]) == 0 &&
                (m->shapes[s].collides || found[k] < 0))
                found[k] = s;
    if (found[0] < 0 || found[1] < 0 || m->shapes[found[0]].link == m->shapes[found[1]].link)
    {
        td_mjcf_unused(m, "contact pair of unknown geoms, or of one body", NULL);
        return TD_OK;
    }
    int *pair = td_mjcf_add(m, &m->pairs, &m->n_pairs, 9, sizeof *m->pairs);
    if (pair == NULL)
        return td_fail_memory(m->error, m->file);
    for (int k = 0; k < 2; k++)
    {
        pair[k] = found[k];
        m->shapes[found[k]].collides = true;
    }
    return TD_OK;
}

tdStatus td_mjcf_contact(tdMjcf *m, const xmlNode *section)
{
    for (const xmlNode *child = section->children; child != NULL; child = child->next)
    {
        tdMjElement e;
        if (child->type != XML_ELEMENT_NODE)
            continue;
        TD_TRY(td_mjcf_element(m, child, -1, &e));
        td_mjcf_attributes(m, child);
        if (td_xml_is(child, "exclude"))
            TD_TRY(add_excluded(m, &e));
        else if (td_xml_is(child, "pair"))
            TD_TRY(add_pair(m, &e));
        else
            td_mjcf_unused(m, "contact", (const char *)child->name);
    }
    return TD_OK;
}

// ---------------------------------------------------------------- keyframes

// Places joints: numbers of a free one are position and quaternion, of a ball the quaternion.
static tdStatus place_joints(tdMjcf *m, const tdMjElement *e, const double *qpos, int count)
{
    int at = 0;
    for (int i = 0; i < m->n_joints; i++)
    {
        tdTreeLink *link = &m->links[m->joints[i].link];
        int free = link->kind == TD_JOINT_FREE ? 3 : 0, size = free + (td_joint_coordinates(link->kind) == 1 ? 1 : 4);
        const double *q = qpos + at;
        if (at + size > count)
            break;
        at += size;
        if (td_joint_coordinates(link->kind) == 1)
        {
            link->start = q[0] - m->joints[i].ref;
            continue;
        }
        double unit[4], length = sqrt(q[free] * q[free] + q[free + 1] * q[free + 1] + q[free + 2] * q[free + 2] +
                                      q[free + 3] * q[free + 3]);
        if (!(length > 1e-12))
            return td_mjcf_fail(m, e->node, "the quaternion of joint '%s' in 'qpos' is zero", link->joint);
        for (int k = 0; k < 4; k++)
            unit[k] = q[free + k] / length;
        // Coordinates of such joints count from their origin, which is moved instead.
        tdPose turn = td_pose_identity();
        td_mjcf_quaternion(unit, turn.R);
        if (free > 0)
        {
            memcpy(link->origin.R, turn.R, sizeof turn.R);
            memcpy(link->origin.t, q, 3 * sizeof *q);
        }
        else
            link->origin = td_pose_multiply(&link->origin, &turn);
    }
    int needed = 0;
    for (int i = 0; i < m->n_joints; i++)
    {
        tdJointKind kind = m->links[m->joints[i].link].kind;
        needed += kind == TD_JOINT_FREE ? 7 : kind == TD_JOINT_BALL ? 4 : 1;
    }
    return count == needed
               ? TD_OK
               : td_mjcf_fail(m, e->node, "'qpos' has %d numbers; the joints of the file have %d", count, needed);
}

tdStatus td_mjcf_keyframes(tdMjcf *m, const xmlNode *section)
{
    for (const xmlNode *child = section->children; child != NULL; child = child->next)
    {
        tdMjElement e = {.node = child, .class_of = -1};
        if (!td_xml_is(child, "key"))
            continue;
        const char *name = td_mjcf_text(m, &e, "name"), *text = td_mjcf_text(m, &e, "qpos");
        if (m->keyframe == NULL || name == NULL || strcmp(name, m->keyframe) != 0)
            continue;
        td_mjcf_attributes(m, child);
        if (text == NULL)
            return TD_OK;
        int most = (int)(strlen(text) / 2 + 1), count = 0;
        double *qpos = TD_TAKE(&m->scratch, double, most);
        if (qpos == NULL)
            return td_fail_memory(m->error, m->file);
        TD_TRY(td_mjcf_numbers(m, &e, "qpos", most, qpos, &count));
        return place_joints(m, &e, qpos, count);
    }
    return TD_OK;
}
