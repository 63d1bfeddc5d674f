// SPDX-License-Identifier: Apache-2.0
// Attributes of MJCF elements: their own, or those of the class that they belong to.
#include "base/number.h"
#include "scene/mjcf_part.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tdStatus td_mjcf_fail(const tdMjcf *m, const xmlNode *node, const char *format, ...)
{
    char text[700], field[64];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    snprintf(field, sizeof field, "<%.40s>", (const char *)node->name);
    return td_fail_at(m->error, TD_ERROR_INPUT, m->file, td_xml_line(node), field, "%s", text);
}

tdStatus td_mjcf_warn(tdMjcf *m, const xmlNode *node, const char *format, ...)
{
    char text[800];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return td_tree_warn(m->arena, m->tree, "%s:%d: %s", m->file, td_xml_line(node), text)
               ? TD_OK
               : td_fail_memory(m->error, m->file);
}

void td_mjcf_unused(tdMjcf *m, const char *element, const char *attribute)
{
    char name[96];
    snprintf(name, sizeof name, "%.40s%s%.40s", element, attribute != NULL ? " " : "",
             attribute != NULL ? attribute : "");
    for (int i = 0; i < m->n_unused; i++)
        if (strcmp(m->unused[i].name, name) == 0)
        {
            m->unused[i].count++;
            return;
        }
    if (m->n_unused == TD_MJCF_UNUSED)
    {
        // The last place stands for all that find none.
        snprintf(m->unused[TD_MJCF_UNUSED - 1].name, sizeof name, "others");
        m->unused[TD_MJCF_UNUSED - 1].count++;
        return;
    }
    tdMjUnused *entry = &m->unused[m->n_unused++];
    memcpy(entry->name, name, sizeof name);
    entry->count = 1;
}

#define PLACE " pos quat axisangle euler xyaxes zaxis"

// What is used of each element; the rest of its attributes is counted.
static const char *used_of(const xmlNode *node)
{
    static const struct
    {
        const char *elements, *attributes;
    } used[] = {
        {"geom", "name class type size fromto mesh rgba material mass density friction contype conaffinity group "
                 "condim" PLACE},
        {"joint", "name class type pos axis range limited damping frictionloss armature stiffness springref ref "
                  "actuatorfrcrange actuatorfrclimited"},
        {"freejoint", "name"},
        {"inertial", "mass diaginertia fullinertia" PLACE},
        {"body", "name childclass" PLACE},
        {"frame", "name childclass" PLACE},
        {"replicate", "count offset euler sep childclass"},
        {"site", "name class" PLACE},
        {"mesh", "name class file scale refpos refquat vertex content_type"},
        {"material", "name class rgba"},
        {"compiler", "angle eulerseq meshdir assetdir autolimits strippath inertiafromgeom inertiagrouprange boundmass "
                     "boundinertia coordinate"},
        {TD_MJCF_ACTUATORS,
         "name class joint jointinparent tendon gear ctrlrange ctrllimited forcerange forcelimited kp "
         "kv dampratio gaintype biastype dyntype gainprm biasprm"},
        {"connect", "name class active body1 body2 anchor site1 site2"},
        {"weld", "name class active body1 body2 anchor site1 site2"},
        {"exclude", "name body1 body2"},
        {"pair", "name class geom1 geom2"},
        {"key", "name qpos ctrl time"},
        {"default", "class"},
    };
    if (td_xml_is(node, "joint") && node->parent != NULL && td_xml_is(node->parent, "equality"))
        return "name class active joint1 joint2 polycoef";
    for (size_t i = 0; i < sizeof used / sizeof used[0]; i++)
        if (td_xml_listed(used[i].elements, (const char *)node->name))
            return used[i].attributes;
    return NULL;
}

void td_mjcf_attributes(tdMjcf *m, const xmlNode *node)
{
    const char *used = used_of(node);
    for (const xmlAttr *a = node->properties; a != NULL && used != NULL; a = a->next)
        if (!td_xml_listed(used, (const char *)a->name))
            td_mjcf_unused(m, (const char *)node->name, (const char *)a->name);
}

// ---------------------------------------------------------------- classes

int td_mjcf_class(const tdMjcf *m, const char *name)
{
    for (int i = 0; i < m->n_classes; i++)
        if (strcmp(m->classes[i].name, name) == 0)
            return i;
    return -1;
}

static const char *own_text(const xmlNode *node, const char *name)
{
    for (const xmlAttr *a = node->properties; a != NULL; a = a->next)
        if (strcmp((const char *)a->name, name) == 0)
            return a->children == NULL || a->children->content == NULL ? "" : (const char *)a->children->content;
    return NULL;
}

tdStatus td_mjcf_element(const tdMjcf *m, const xmlNode *node, int childclass, tdMjElement *out)
{
    const char *name = own_text(node, "class");
    // The first class, "main", is that of all which name none.
    *out = (tdMjElement){.node = node, .class_of = childclass >= 0 ? childclass : m->n_classes > 0 ? 0 : -1};
    if (name == NULL)
        return TD_OK;
    out->class_of = td_mjcf_class(m, name);
    return out->class_of >= 0 ? TD_OK : td_mjcf_fail(m, node, "there is no default class '%.100s'", name);
}

// In the defaults of one class, by the element's name and those that share its defaults.
static const char *class_text(const tdMjcf *m, const tdMjElement *e, int class_of, const char *name)
{
    const char *found = NULL;
    for (const xmlNode *child = m->classes[class_of].node->children; child != NULL; child = child->next)
    {
        if (child->type != XML_ELEMENT_NODE)
            continue;
        bool same = strcmp((const char *)child->name, (const char *)e->node->name) == 0;
        bool other = e->others != NULL && td_xml_listed(e->others, (const char *)child->name);
        const char *text = same || other ? own_text(child, name) : NULL;
        if (text != NULL && (same || found == NULL))
            found = text;
    }
    return found;
}

const char *td_mjcf_text(const tdMjcf *m, const tdMjElement *e, const char *name)
{
    const char *text = own_text(e->node, name);
    for (int c = e->class_of; c >= 0 && text == NULL; c = m->classes[c].parent)
        text = class_text(m, e, c, name);
    return text;
}

// ---------------------------------------------------------------- values

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

tdStatus td_mjcf_numbers(const tdMjcf *m, const tdMjElement *e, const char *name, int n, double *out, int *count)
{
    const char *text = td_mjcf_text(m, e, name), *at = text;
    int found = 0;
    if (count != NULL)
        *count = 0;
    if (text == NULL)
        return TD_OK;
    while (found < n)
    {
        char *end = NULL;
        double value = td_number(at, &end);
        if (end == at)
            break;
        if (!(fabs(value) <= 1e12) || (*end != '\0' && !is_space(*end)))
            return td_mjcf_fail(m, e->node, "found '%.60s' in '%s', expected finite numbers", text, name);
        out[found++] = value;
        at = end;
    }
    while (is_space(*at))
        at++;
    if ((*at != '\0' && count == NULL) || (found < n && count == NULL) || (*at != '\0' && found < n))
        return td_mjcf_fail(m, e->node, "found '%.60s' in '%s', expected %d number%s", text, name, n,
                            n == 1 ? "" : "s");
    if (count != NULL)
        *count = found;
    return TD_OK;
}

tdStatus td_mjcf_integer(const tdMjcf *m, const tdMjElement *e, const char *name, int *out)
{
    double value = *out;
    TD_TRY(td_mjcf_numbers(m, e, name, 1, &value, NULL));
    if (value != floor(value) || fabs(value) > 2147483647.0)
        return td_mjcf_fail(m, e->node, "'%s' is %g; it must be a whole number", name, value);
    *out = (int)value;
    return TD_OK;
}

tdStatus td_mjcf_flag(const tdMjcf *m, const tdMjElement *e, const char *name, bool *out)
{
    const char *text = td_mjcf_text(m, e, name);
    if (text == NULL || strcmp(text, "auto") == 0)
        return TD_OK;
    if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
        return td_mjcf_fail(m, e->node, "found '%.60s' in '%s', expected true or false", text, name);
    *out = text[0] == 't';
    return TD_OK;
}

tdStatus td_mjcf_name(tdMjcf *m, const tdMjElement *e, const char *attribute, const char **out)
{
    const char *text = own_text(e->node, attribute);
    bool copied = m->suffix[0] != '\0' && text != NULL && text[0] != '\0' && strcmp(attribute, "name") == 0;
    char *copy = !copied ? td_arena_copy(m->arena, text == NULL ? "" : text)
                         : td_arena_take(m->arena, (int64_t)(strlen(text) + strlen(m->suffix) + 1), 1);
    *out = copy;
    if (copy == NULL)
        return td_fail_memory(m->error, m->file);
    if (copied)
        snprintf(copy, strlen(text) + strlen(m->suffix) + 1, "%s%s", text, m->suffix);
    if (strlen(copy) > 200)
        return td_mjcf_fail(m, e->node, "the name '%.40s...' has %zu bytes; 200 are allowed", copy, strlen(copy));
    for (char *c = copy; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f || strchr("\"',<>[]{}", *c) != NULL)
            *c = '_';
    return TD_OK;
}

void *td_mjcf_add(tdMjcf *m, void *table, int *n, int which, size_t size)
{
    void **data = table;
    if (*n >= TD_MJCF_ITEMS || !td_grow(data, &m->room[which], *n + 1, size))
        return NULL;
    char *item = (char *)*data + (size_t)*n * size;
    memset(item, 0, size);
    ++*n;
    return item;
}

// ---------------------------------------------------------------- places

static bool unit(double *x, int n)
{
    double length = 0;
    for (int i = 0; i < n; i++)
        length += x[i] * x[i];
    length = sqrt(length);
    for (int i = 0; i < n && length > 1e-12; i++)
        x[i] /= length;
    return length > 1e-12;
}

void td_mjcf_quaternion(const double q[4], double R[9])
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    const double made[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                            2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                            2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    memcpy(R, made, sizeof made);
}

static void from_axis(const double axis[3], double angle, double R[9])
{
    const double q[4] = {cos(angle / 2), sin(angle / 2) * axis[0], sin(angle / 2) * axis[1], sin(angle / 2) * axis[2]};
    td_mjcf_quaternion(q, R);
}

static void multiply(const double A[9], const double B[9], double out[9])
{
    double made[9];
    for (int i = 0; i < 9; i++)
        made[i] = A[i / 3 * 3] * B[i % 3] + A[i / 3 * 3 + 1] * B[3 + i % 3] + A[i / 3 * 3 + 2] * B[6 + i % 3];
    memcpy(out, made, sizeof made);
}

// Small letters turn about axes that turn along, capital ones about fixed axes.
static void from_euler(const tdMjcf *m, const double angle[3], double scale, double R[9])
{
    tdPose identity = td_pose_identity();
    memcpy(R, identity.R, sizeof identity.R);
    for (int i = 0; i < 3; i++)
    {
        char c = m->eulerseq[i];
        double axis[3] = {0, 0, 0}, step[9];
        axis[(c | 0x20) - 'x'] = 1;
        from_axis(axis, scale * angle[i], step);
        if (c >= 'a')
            multiply(R, step, R);
        else
            multiply(step, R, R);
    }
}

// The shortest rotation that takes z to a direction.
static void from_z(const double z[3], double R[9])
{
    double axis[3] = {-z[1], z[0], 0}, sine = sqrt(z[0] * z[0] + z[1] * z[1]);
    if (!unit(axis, 3))
        axis[0] = 1;
    from_axis(axis, atan2(sine, z[2]), R);
}

static bool from_axes(double v[6], double R[9])
{
    double along = 0, third[3];
    for (int k = 0; k < 3; k++)
        along += v[k] * v[3 + k];
    for (int k = 0; k < 3; k++)
        v[3 + k] -= along * v[k];
    bool good = unit(v + 3, 3);
    for (int k = 0; k < 3; k++)
        third[k] = v[(k + 1) % 3] * v[3 + (k + 2) % 3] - v[(k + 2) % 3] * v[3 + (k + 1) % 3];
    for (int k = 0; k < 3; k++)
    {
        R[3 * k] = v[k];
        R[3 * k + 1] = v[3 + k];
        R[3 * k + 2] = third[k];
    }
    return good;
}

tdStatus td_mjcf_euler(const tdMjcf *m, const tdMjElement *e, double times, double R[9])
{
    double angle[3] = {0};
    TD_TRY(td_mjcf_numbers(m, e, "euler", 3, angle, NULL));
    from_euler(m, angle, times * (m->radians ? 1 : atan(1) / 45), R);
    return TD_OK;
}

tdStatus td_mjcf_pose(const tdMjcf *m, const tdMjElement *e, tdPose *out)
{
    const double degree = atan(1) / 45, scale = m->radians ? 1 : degree;
    double v[6] = {0};
    *out = td_pose_identity();
    TD_TRY(td_mjcf_numbers(m, e, "pos", 3, out->t, NULL));
    if (td_mjcf_text(m, e, "quat") != NULL)
    {
        TD_TRY(td_mjcf_numbers(m, e, "quat", 4, v, NULL));
        if (!unit(v, 4))
            return td_mjcf_fail(m, e->node, "the quaternion is zero");
        td_mjcf_quaternion(v, out->R);
    }
    else if (td_mjcf_text(m, e, "axisangle") != NULL)
    {
        TD_TRY(td_mjcf_numbers(m, e, "axisangle", 4, v, NULL));
        if (!unit(v, 3))
            return td_mjcf_fail(m, e->node, "the axis is zero");
        from_axis(v, scale * v[3], out->R);
    }
    else if (td_mjcf_text(m, e, "euler") != NULL)
    {
        TD_TRY(td_mjcf_numbers(m, e, "euler", 3, v, NULL));
        from_euler(m, v, scale, out->R);
    }
    else if (td_mjcf_text(m, e, "xyaxes") != NULL)
    {
        TD_TRY(td_mjcf_numbers(m, e, "xyaxes", 6, v, NULL));
        if (!unit(v, 3) || !from_axes(v, out->R))
            return td_mjcf_fail(m, e->node, "an axis is zero, or both are one");
    }
    else if (td_mjcf_text(m, e, "zaxis") != NULL)
    {
        TD_TRY(td_mjcf_numbers(m, e, "zaxis", 3, v, NULL));
        if (!unit(v, 3))
            return td_mjcf_fail(m, e->node, "the axis is zero");
        from_z(v, out->R);
    }
    return TD_OK;
}
