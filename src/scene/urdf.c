// SPDX-License-Identifier: Apache-2.0
// The document, and the order of its links: from the root, children after their parents.
#include "scene/urdf.h"

#include "base/file.h"
#include "scene/urdf_part.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- robot

static int count_children(const xmlNode *node, const char *name)
{
    int n = 0;
    for (const xmlNode *child = node->children; child != NULL; child = child->next)
        n += td_xml_is(child, name) && n < INT_MAX;
    return n;
}

static tdStatus count_parts(tdUrdf *urdf, const xmlNode *robot)
{
    int links = count_children(robot, "link"), joints = count_children(robot, "joint");
    int planar = 0;
    for (const xmlNode *child = robot->children; child != NULL; child = child->next)
    {
        xmlChar *type = td_xml_is(child, "joint") ? xmlGetProp((xmlNode *)child, (const xmlChar *)"type") : NULL;
        planar += type != NULL && strcmp((const char *)type, "planar") == 0 && planar < INT_MAX / 4;
        xmlFree(type);
    }
    if (links == 0)
        return td_urdf_fail(urdf, robot, "the robot has no <link>");
    if (links + 2 * planar > TD_TREE_LINKS || joints > TD_TREE_LINKS)
        return td_urdf_fail(urdf, robot, "%d links and %d joints; %d of each are allowed", links, joints,
                            TD_TREE_LINKS);
    urdf->links = TD_TAKE(&urdf->scratch, tdTreeLink, links + 2 * planar);
    urdf->joints = TD_TAKE(&urdf->scratch, tdUrdfJoint, joints + 2 * planar);
    return urdf->links != NULL && urdf->joints != NULL ? TD_OK : td_fail_memory(urdf->error, urdf->file);
}

// Colours that a visual defines by the way, for others that only name them.
static tdStatus read_colours_of(tdUrdf *urdf, const xmlNode *link)
{
    for (const xmlNode *visual = link->children; visual != NULL; visual = visual->next)
    {
        const xmlNode *material = td_xml_is(visual, "visual") ? td_xml_child(visual, "material") : NULL;
        if (material != NULL && xmlHasProp((xmlNode *)material, (const xmlChar *)"name") != NULL)
            TD_TRY(td_urdf_colour(urdf, material));
    }
    return TD_OK;
}

// Colours first, because links name them; links before joints, which name those.
static tdStatus read_parts(tdUrdf *urdf, const xmlNode *robot)
{
    for (const xmlNode *child = robot->children; child != NULL; child = child->next)
        if (td_xml_is(child, "material"))
            TD_TRY(td_urdf_colour(urdf, child));
    for (const xmlNode *child = robot->children; child != NULL; child = child->next)
        if (td_xml_is(child, "link"))
            TD_TRY(read_colours_of(urdf, child));
    for (const xmlNode *child = robot->children; child != NULL; child = child->next)
        if (td_xml_is(child, "link"))
        {
            TD_TRY(td_urdf_link(urdf, child, urdf->n_links));
            urdf->n_links++;
        }
    for (const xmlNode *child = robot->children; child != NULL; child = child->next)
        if (td_xml_is(child, "joint"))
            TD_TRY(td_urdf_joint(urdf, child));
    return TD_OK;
}

// ---------------------------------------------------------------- order

// The joint above each link, -1: none; and the only link without.
static tdStatus find_root(tdUrdf *urdf, int *above, int *root)
{
    *root = -1;
    for (int l = 0; l < urdf->n_links; l++)
        above[l] = -1;
    for (int j = 0; j < urdf->n_joints; j++)
        above[urdf->joints[j].child] = j;
    for (int l = 0; l < urdf->n_links; l++)
    {
        if (above[l] >= 0)
            continue;
        if (*root >= 0)
            return td_fail_at(urdf->error, TD_ERROR_INPUT, urdf->file, urdf->links[l].line, "<link>",
                              "two links have no parent, '%s' (line %d) and '%s'; a robot is one tree: join them, by a "
                              "fixed joint if nothing else",
                              urdf->links[*root].name, urdf->links[*root].line, urdf->links[l].name);
        *root = l;
    }
    if (*root < 0)
        return td_fail_at(
            urdf->error, TD_ERROR_INPUT, urdf->file, urdf->links[0].line, "<joint>",
            "every link has a parent, so the joints form a loop; one link must have none. Leave a joint out "
            "and close the loop by 'attachments' of the scene");
    return TD_OK;
}

// order[] = links of the file, parents first: depth first, children in the order of their joints.
static tdStatus order_links(tdUrdf *urdf, int root, const int *above, int *order)
{
    int n = urdf->n_links, *first = TD_TAKE(&urdf->scratch, int, n), *next = TD_TAKE(&urdf->scratch, int, n),
        *stack = TD_TAKE(&urdf->scratch, int, n), depth = 0, placed = 0;
    bool *seen = TD_TAKE(&urdf->scratch, bool, n);
    if (first == NULL || next == NULL || stack == NULL || seen == NULL)
        return td_fail_memory(urdf->error, urdf->file);
    for (int l = 0; l < n; l++)
        first[l] = next[l] = -1;
    // The stack hands out what was pushed last first: lists in the order of the file become pushes in reverse.
    for (int j = 0; j < urdf->n_joints; j++)
    {
        next[urdf->joints[j].child] = first[urdf->joints[j].parent];
        first[urdf->joints[j].parent] = urdf->joints[j].child;
    }
    stack[depth++] = root;
    while (depth > 0)
    {
        int l = stack[--depth];
        seen[l] = true;
        order[placed++] = l;
        for (int child = first[l]; child >= 0; child = next[child])
            stack[depth++] = child;
    }
    for (int l = 0; l < n; l++)
        if (!seen[l])
            return td_fail_at(urdf->error, TD_ERROR_INPUT, urdf->file, urdf->joints[above[l]].joint.joint_line,
                              "<joint>",
                              "link '%s' is below itself: its joints form a loop that the root '%s' is not in",
                              urdf->links[l].name, urdf->links[root].name);
    return TD_OK;
}

// The joint that each one names in <mimic>, -1: none.
static tdStatus find_mimicked(tdUrdf *urdf, int *named)
{
    for (int j = 0; j < urdf->n_joints; j++)
    {
        const tdUrdfJoint *joint = &urdf->joints[j];
        named[j] = -1;
        for (int other = 0; joint->mimic != NULL && other < urdf->n_joints && named[j] < 0; other++)
            if (strcmp(urdf->joints[other].joint.joint, joint->mimic) == 0)
                named[j] = other;
        if (joint->mimic == NULL)
            continue;
        if (named[j] < 0)
        {
            if (!td_tree_warn(urdf->arena, urdf->tree,
                              "%s:%d: there is no joint '%s' that joint '%s' could mimic; it moves on its own",
                              urdf->file, joint->mimic_line, joint->mimic, joint->joint.joint))
                return td_fail_memory(urdf->error, urdf->file);
            continue;
        }
        if (td_joint_coordinates(urdf->joints[named[j]].joint.kind) != 1)
            return td_fail_at(urdf->error, TD_ERROR_INPUT, urdf->file, joint->mimic_line, "<mimic>",
                              "joint '%s' is %s; only joints with one coordinate can be mimicked", joint->mimic,
                              td_joint_name(urdf->joints[named[j]].joint.kind));
    }
    return TD_OK;
}

// Who is followed in the end, with the ratio and offset of all between: leader, ratio[], offset[].
static tdStatus resolve_mimics(tdUrdf *urdf, int *leader)
{
    int n = urdf->n_joints, *named = TD_TAKE(&urdf->scratch, int, n);
    double *ratio = TD_TAKE(&urdf->scratch, double, n), *offset = TD_TAKE(&urdf->scratch, double, n);
    if (named == NULL || ratio == NULL || offset == NULL)
        return td_fail_memory(urdf->error, urdf->file);
    TD_TRY(find_mimicked(urdf, named));
    for (int j = 0; j < n; j++)
    {
        int at = j;
        ratio[j] = 1;
        for (int steps = 0; named[at] >= 0; steps++, at = named[at])
        {
            if (steps == n)
                return td_fail_at(urdf->error, TD_ERROR_INPUT, urdf->file, urdf->joints[j].mimic_line, "<mimic>",
                                  "joint '%s' follows joints that follow each other in a circle",
                                  urdf->joints[j].joint.joint);
            offset[j] += ratio[j] * urdf->joints[at].joint.offset;
            ratio[j] *= urdf->joints[at].joint.ratio;
        }
        leader[j] = at == j ? -1 : at;
    }
    for (int j = 0; j < n; j++)
    {
        urdf->joints[j].joint.ratio = ratio[j];
        urdf->joints[j].joint.offset = offset[j];
    }
    return TD_OK;
}

// The joint's part of a link.
static void join(tdTreeLink *link, const tdTreeLink *joint)
{
    tdTreeLink own = *link;
    *link = *joint;
    link->name = own.name;
    link->line = own.line;
    link->mass = own.mass;
    memcpy(link->center, own.center, sizeof own.center);
    memcpy(link->inertia, own.inertia, sizeof own.inertia);
}

static int compare_shapes(const void *a, const void *b)
{
    const tdTreeShape *x = a, *y = b;
    return x->link != y->link ? (x->link > y->link) - (x->link < y->link) : (x->line > y->line) - (x->line < y->line);
}

static tdStatus build_tree(tdUrdf *urdf)
{
    tdTree *tree = urdf->tree;
    int n = urdf->n_links, root = -1;
    int *above = TD_TAKE(&urdf->scratch, int, n), *order = TD_TAKE(&urdf->scratch, int, n),
        *place = TD_TAKE(&urdf->scratch, int, n), *leader = TD_TAKE(&urdf->scratch, int, urdf->n_joints);
    tree->links = TD_TAKE(urdf->arena, tdTreeLink, n);
    tree->shapes = TD_TAKE(urdf->arena, tdTreeShape, urdf->n_shapes);
    if (above == NULL || order == NULL || place == NULL || leader == NULL || tree->links == NULL ||
        tree->shapes == NULL)
        return td_fail_memory(urdf->error, urdf->file);
    TD_TRY(find_root(urdf, above, &root));
    TD_TRY(order_links(urdf, root, above, order));
    TD_TRY(resolve_mimics(urdf, leader));
    for (int i = 0; i < n; i++)
        place[order[i]] = i;
    for (int i = 0; i < n; i++)
    {
        tdTreeLink *link = &tree->links[i];
        int j = above[order[i]];
        *link = urdf->links[order[i]];
        if (j < 0)
            continue;
        join(link, &urdf->joints[j].joint);
        link->parent = place[urdf->joints[j].parent];
        link->mimic = leader[j] < 0 ? -1 : place[urdf->joints[leader[j]].child];
    }
    tree->n_links = n;
    for (int s = 0; s < urdf->n_shapes; s++)
    {
        tree->shapes[s] = urdf->shapes[s];
        tree->shapes[s].link = place[urdf->shapes[s].link];
    }
    tree->n_shapes = urdf->n_shapes;
    if (tree->n_shapes > 1)
        qsort(tree->shapes, (size_t)tree->n_shapes, sizeof *tree->shapes, compare_shapes);
    TD_TRY(td_robot_masses(urdf->arena, tree, urdf->error));
    return td_tree_check(urdf->arena, tree, urdf->error);
}

static tdStatus read_robot(tdUrdf *urdf, const xmlNode *robot)
{
    if (robot != NULL && td_xml_is(robot, "mujoco"))
        return td_fail_at(urdf->error, TD_ERROR_INPUT, urdf->file, td_xml_line(robot), NULL,
                          "found <mujoco>, expected <robot>: this is an MJCF file; write 'mjcf' instead of 'urdf'");
    if (robot != NULL && td_xml_is(robot, "sdf"))
        return td_fail_at(
            urdf->error, TD_ERROR_INPUT, urdf->file, td_xml_line(robot), NULL,
            "found <sdf>, expected <robot>: SDF is not read; look for the URDF or MJCF of the same robot, or "
            "convert it");
    if (robot == NULL || !td_xml_is(robot, "robot"))
        return td_fail_at(urdf->error, TD_ERROR_INPUT, urdf->file, robot == NULL ? 0 : td_xml_line(robot), NULL,
                          "found <%.60s>, expected <robot>: this is not a URDF file",
                          robot == NULL ? "nothing" : (const char *)robot->name);
    TD_TRY(td_urdf_unused(urdf, robot, "link joint material", "name version"));
    TD_TRY(count_parts(urdf, robot));
    TD_TRY(read_parts(urdf, robot));
    return build_tree(urdf);
}

tdStatus td_urdf_parse(tdArena *arena, const char *text, size_t size, const char *name, const tdRobotFiles *files,
                       tdTree *tree, bool *xacro, tdError *error)
{
    *tree = (tdTree){.file = td_arena_copy(arena, name)};
    if (tree->file == NULL)
        return td_fail_memory(error, name);
    tdUrdf urdf = {.file = tree->file,
                   .arena = arena,
                   .tree = tree,
                   .error = error,
                   .reader = {.arena = arena, .tree = tree, .files = *files}};
    xmlDoc *doc = NULL;
    tdStatus status = td_xml_parse(text, size, tree->file, &doc, error);
    if (status == TD_OK)
        status = read_robot(&urdf, xmlDocGetRootElement(doc));
    xmlFreeDoc(doc);
    free(urdf.shapes);
    free(urdf.colours);
    td_arena_free(&urdf.scratch);
    if (status != TD_OK)
        td_error_clean(error);
    if (xacro != NULL)
        *xacro = urdf.xacro;
    return status;
}

tdStatus td_urdf_read(tdArena *arena, const char *path, const tdRobotFiles *files, tdTree *tree, tdError *error)
{
    char *text = NULL, folder[PATH_MAX];
    size_t size = 0;
    bool xacro = false, missing = false;
    tdRobotFiles own = *files;
    *tree = (tdTree){0};
    TD_TRY(td_file_read(path, &text, &size, error));
    td_path_folder(folder, sizeof folder, path);
    own.folder = folder;
    tdStatus status = td_urdf_parse(arena, text, size, path, &own, tree, &xacro, error);
    free(text);
    text = NULL;
    if (!xacro)
        return status;
    tdError inner = {0};
    tdStatus expanded = td_robot_xacro(path, own.packages, &text, &size, &missing, &inner);
    if (missing)
        return status; // says how to expand it
    if (expanded == TD_OK)
        expanded = td_urdf_parse(arena, text, size, path, &own, tree, NULL, &inner);
    free(text);
    if (expanded != TD_OK && error != NULL)
        *error = inner;
    return expanded;
}
