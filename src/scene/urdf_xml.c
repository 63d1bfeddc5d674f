// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"
#include "scene/urdf_part.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tdStatus td_urdf_fail(const tdUrdf *urdf, const xmlNode *node, const char *format, ...)
{
    char text[700];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    char field[64];
    snprintf(field, sizeof field, "<%.40s>", (const char *)node->name);
    return td_fail_at(urdf->error, TD_ERROR_INPUT, urdf->file, td_xml_line(node), field, "%s", text);
}

tdStatus td_urdf_warn(tdUrdf *urdf, const xmlNode *node, const char *format, ...)
{
    char text[800];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return td_tree_warn(urdf->arena, urdf->tree, "%s:%d: %s", urdf->file, td_xml_line(node), text)
               ? TD_OK
               : td_fail_memory(urdf->error, urdf->file);
}

tdStatus td_urdf_child(const tdUrdf *urdf, const xmlNode *node, const char *name, const xmlNode **out)
{
    *out = NULL;
    for (const xmlNode *child = node->children; child != NULL; child = child->next)
    {
        if (!td_xml_is(child, name))
            continue;
        if (*out != NULL)
            return td_urdf_fail(urdf, child, "<%s> already exists (line %d); remove one of them", name,
                                td_xml_line(*out));
        *out = child;
    }
    return TD_OK;
}

// ---------------------------------------------------------------- what is not used

// One warning for each name within each element.
static tdStatus tell(tdUrdf *urdf, const xmlNode *node, const char *name, bool attribute)
{
    char what[160];
    snprintf(what, sizeof what, "%.60s %s%.60s", (const char *)node->name, attribute ? "@" : "", name);
    for (int i = 0; i < urdf->n_told; i++)
        if (strcmp(urdf->told[i], what) == 0)
            return TD_OK;
    if (urdf->n_told == (int)(sizeof urdf->told / sizeof urdf->told[0]))
        return TD_OK;
    urdf->told[urdf->n_told] = td_arena_copy(&urdf->scratch, what);
    bool good =
        urdf->told[urdf->n_told++] != NULL &&
        (attribute ? td_tree_warn(urdf->arena, urdf->tree, "%s:%d: the attribute '%.60s' of <%.60s> is not used",
                                  urdf->file, td_xml_line(node), name, (const char *)node->name)
                   : td_tree_warn(urdf->arena, urdf->tree, "%s:%d: <%.60s> in <%.60s> is not used", urdf->file,
                                  td_xml_line(node), name, (const char *)node->name));
    return good ? TD_OK : td_fail_memory(urdf->error, urdf->file);
}

tdStatus td_urdf_unused(tdUrdf *urdf, const xmlNode *node, const char *elements, const char *attributes)
{
    for (const xmlAttr *a = node->properties; a != NULL; a = a->next)
        if (!td_xml_listed(attributes, (const char *)a->name))
            TD_TRY(tell(urdf, node, (const char *)a->name, true));
    for (const xmlNode *child = node->children; child != NULL; child = child->next)
    {
        if (child->type != XML_ELEMENT_NODE)
            continue;
        // With its namespace declared the name is without the prefix. What was forgotten within a link is only not
        // used.
        bool top = td_xml_is(node, "robot");
        if (top && ((child->ns != NULL && child->ns->prefix != NULL &&
                     strcmp((const char *)child->ns->prefix, "xacro") == 0) ||
                    strncmp((const char *)child->name, "xacro:", 6) == 0))
        {
            urdf->xacro = true;
            return td_urdf_fail(
                urdf, child,
                "this is a xacro file, not a URDF, and the program xacro, which would expand it, is not "
                "on the PATH; expand it where ROS is: xacro robot.urdf.xacro > robot.urdf");
        }
        if (!td_xml_listed(elements, (const char *)child->name))
            TD_TRY(tell(urdf, node, (const char *)child->name, false));
    }
    return TD_OK;
}

// ---------------------------------------------------------------- attributes

tdStatus td_urdf_text(tdUrdf *urdf, const xmlNode *node, const char *name, const char **out)
{
    *out = NULL;
    if (xmlHasProp((xmlNode *)node, (const xmlChar *)name) == NULL)
        return TD_OK;
    xmlChar *text = xmlGetProp((xmlNode *)node, (const xmlChar *)name);
    *out = text == NULL ? NULL : td_arena_copy(&urdf->scratch, (const char *)text);
    xmlFree(text);
    return *out != NULL ? TD_OK : td_fail_memory(urdf->error, urdf->file);
}

tdStatus td_urdf_name(tdUrdf *urdf, const xmlNode *node, const char *attribute, const char **out)
{
    const char *text = NULL;
    TD_TRY(td_urdf_text(urdf, node, attribute, &text));
    if (text == NULL || text[0] == '\0')
        return td_urdf_fail(urdf, node, "the attribute '%s' is missing", attribute);
    if (strlen(text) > TD_URDF_NAME)
        return td_urdf_fail(urdf, node, "the name '%.40s...' has %zu bytes; %d are allowed", text, strlen(text),
                            TD_URDF_NAME);
    // Names go into tables, file formats and messages.
    for (const char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f || strchr("\"',<>[]{}", *c) != NULL)
            return td_urdf_fail(urdf, node,
                                "the %s '%.60s' has a character that names must not have: quotes, commas, brackets and "
                                "control characters",
                                attribute, text);
    *out = td_arena_copy(urdf->arena, text);
    return *out != NULL ? TD_OK : td_fail_memory(urdf->error, urdf->file);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

tdStatus td_urdf_numbers(tdUrdf *urdf, const xmlNode *node, const char *name, tdDim dim, int n, double *out,
                         bool *given)
{
    const char *text = NULL;
    char why[TD_UNIT_WHY];
    TD_TRY(td_urdf_text(urdf, node, name, &text));
    if (given != NULL)
        *given = text != NULL;
    if (text == NULL && given != NULL)
        return TD_OK;
    if (text == NULL)
        return td_urdf_fail(urdf, node, "the attribute '%s' is missing", name);
    const char *c = text;
    for (int i = 0; i < n; i++)
    {
        char *end = NULL;
        double value = td_number(c, &end);
        if (end == c || !isfinite(value) || (*end != '\0' && !is_space(*end)))
            return td_urdf_fail(urdf, node, "found '%.60s' in '%s', expected %d finite number%s", text, name, n,
                                n == 1 ? "" : "s");
        if (!td_dim_check(dim, false, value, why))
            return td_urdf_fail(urdf, node, "found '%.60s' in '%s'; %.300s", text, name, why);
        out[i] = value;
        c = end;
    }
    while (is_space(*c))
        c++;
    if (*c != '\0')
        return td_urdf_fail(urdf, node, "found '%.60s' in '%s', expected %d number%s and nothing more", text, name, n,
                            n == 1 ? "" : "s");
    return TD_OK;
}

// Roll, pitch, yaw about the fixed axes x, y, z in this order.
static void rotation_of(const double angle[3], double R[9])
{
    double c[3], s[3];
    for (int i = 0; i < 3; i++)
    {
        c[i] = cos(angle[i]);
        s[i] = sin(angle[i]);
    }
    const double made[9] = {c[2] * c[1],
                            c[2] * s[1] * s[0] - s[2] * c[0],
                            c[2] * s[1] * c[0] + s[2] * s[0],
                            s[2] * c[1],
                            s[2] * s[1] * s[0] + c[2] * c[0],
                            s[2] * s[1] * c[0] - c[2] * s[0],
                            -s[1],
                            c[1] * s[0],
                            c[1] * c[0]};
    memcpy(R, made, sizeof made);
}

tdStatus td_urdf_origin(tdUrdf *urdf, const xmlNode *node, tdPose *out)
{
    const xmlNode *origin = NULL;
    double angle[3] = {0, 0, 0};
    bool given = false;
    *out = td_pose_identity();
    TD_TRY(td_urdf_child(urdf, node, "origin", &origin));
    if (origin == NULL)
        return TD_OK;
    TD_TRY(td_urdf_unused(urdf, origin, "", "xyz rpy"));
    TD_TRY(td_urdf_numbers(urdf, origin, "xyz", TD_DIM_LENGTH, 3, out->t, &given));
    TD_TRY(td_urdf_numbers(urdf, origin, "rpy", TD_DIM_ANGLE, 3, angle, &given));
    rotation_of(angle, out->R);
    return TD_OK;
}
