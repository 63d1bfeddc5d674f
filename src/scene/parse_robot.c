// SPDX-License-Identifier: Apache-2.0
// What a robot's file has besides its tree becomes part of the scene: drives are actuators, loops are attachments.
#include "scene/parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool turns(const tdTreeLink *link)
{
    return link->kind != TD_JOINT_PRISMATIC;
}

static bool name_taken(const tdSceneParser *parser, const char *name)
{
    for (int i = 0; i < parser->n_inputs; i++)
        if (strcmp(parser->inputs[i].name, name) == 0)
            return true;
    return strcmp(name, "t") == 0;
}

// The name of the file, or BODY.NAME, or with a number, where it is taken; it becomes an input.
static tdStatus name_drive(tdSceneParser *parser, const tdSceneBody *body, const tdTreeDrive *drive, tdDim dim,
                           const char **out)
{
    char name[600];
    snprintf(name, sizeof name, "%s", drive->name);
    for (int n = 1; name_taken(parser, name); n++)
        snprintf(name, sizeof name, n == 1 ? "%s.%s" : "%s.%s.%d", body->name, drive->name, n);
    if (parser->n_inputs == TD_MOST_INPUTS)
        return td_reader_fail(&parser->reader, body->line, "bodies", NULL,
                              "more than %d named loads, prescribed motions and actuators", TD_MOST_INPUTS);
    TD_TRY(td_parse_copy(parser, name, out));
    parser->inputs[parser->n_inputs].name = *out;
    parser->inputs[parser->n_inputs].dim = dim;
    parser->inputs[parser->n_inputs++].line = body->line;
    return TD_OK;
}

static tdStatus add_drive(tdSceneParser *parser, int b, const tdTreeDrive *drive, tdSceneActuator *out)
{
    const tdSceneBody *body = &parser->scene->bodies[b];
    const tdTreeLink *link = &body->tree->links[drive->link];
    bool servo = drive->kind != TD_TREE_EFFORT;
    *out = (tdSceneActuator){.line = body->line,
                             .kind = turns(link) ? TD_ACTUATOR_JOINT : TD_ACTUATOR_SLIDE,
                             .drive = servo ? TD_DRIVE_SERVO : TD_DRIVE_EFFORT,
                             .body = b,
                             .pull_body = -1,
                             .joint = drive->link,
                             .stiffness = servo ? drive->stiffness : 0,
                             .damping = servo ? drive->damping : 0,
                             .rate = drive->kind == TD_TREE_RATE,
                             .rests = servo && !isnan(drive->target),
                             .rest = drive->target,
                             .effort = {drive->effort[0], drive->effort[1]},
                             .displacement = {drive->range[0], drive->range[1]},
                             .gas = {-INFINITY, INFINITY},
                             .effort_rate = INFINITY,
                             .displacement_rate = INFINITY};
    tdDim dim = servo ? td_actuator_displacement_dim(out->kind) : td_actuator_effort_dim(out->kind);
    dim.time -= out->rate;
    return name_drive(parser, body, drive, dim, &out->name);
}

// A joint that was found to move nothing is fixed by now, and nothing drives it.
static bool is_driven(const tdSceneBody *body, const tdTreeDrive *drive)
{
    return td_joint_coordinates(body->tree->links[drive->link].kind) == 1;
}

tdStatus td_parse_robot_drives(tdSceneParser *parser)
{
    tdScene *scene = parser->scene;
    int n = scene->n_actuators;
    for (int b = 0; b < scene->n_bodies; b++)
        for (int i = 0; scene->bodies[b].tree != NULL && i < scene->bodies[b].tree->n_drives; i++)
            n += is_driven(&scene->bodies[b], &scene->bodies[b].tree->drives[i]);
    if (n == scene->n_actuators)
        return TD_OK;
    tdSceneActuator *all = TD_TAKE(parser->arena, tdSceneActuator, n);
    if (all == NULL)
        return td_fail_memory(parser->reader.error, "the actuators");
    if (scene->n_actuators > 0)
        memcpy(all, scene->actuators, (size_t)scene->n_actuators * sizeof *all);
    scene->actuators = all;
    for (int b = 0; b < scene->n_bodies; b++)
        for (int i = 0; scene->bodies[b].tree != NULL && i < scene->bodies[b].tree->n_drives; i++)
        {
            const tdTreeDrive *drive = &scene->bodies[b].tree->drives[i];
            if (!is_driven(&scene->bodies[b], drive))
                continue;
            TD_TRY(add_drive(parser, b, drive, &scene->actuators[scene->n_actuators]));
            scene->n_actuators++;
        }
    return TD_OK;
}

// ---------------------------------------------------------------- loops

static tdStatus add_bond(tdSceneParser *parser, int b, const tdTreeBond *bond, int index, tdSceneAttachment *out)
{
    const tdSceneBody *body = &parser->scene->bodies[b];
    char name[600];
    tdPose base, pose = td_tree_start(body->tree, bond->link[0]);
    memcpy(base.R, body->rotation, sizeof base.R);
    memcpy(base.t, body->translate, sizeof base.t);
    pose = td_pose_multiply(&base, &pose);
    snprintf(name, sizeof name, "%s.%s", body->name, bond->name[0] != '\0' ? bond->name : "loop");
    for (int k = 0, n = 2; k < parser->scene->n_attachments; k++)
        if (strcmp(parser->scene->attachments[k].name, name) == 0)
        {
            snprintf(name, sizeof name, "%s.%s.%d", body->name, bond->name[0] != '\0' ? bond->name : "loop",
                     index + n++);
            k = -1;
        }
    *out = (tdSceneAttachment){.line = body->line,
                               .a = b,
                               .b = b,
                               .link_a = body->tree->links[bond->link[0]].name,
                               .link = body->tree->links[bond->link[1]].name,
                               .n_points = bond->n_points,
                               .points = TD_TAKE(parser->arena, double, 9),
                               .gap = NAN,
                               .stiffness = INFINITY};
    if (out->points == NULL)
        return td_fail_memory(parser->reader.error, "the attachments");
    for (int k = 0; k < bond->n_points; k++)
        td_place(&pose, bond->points + 3 * (size_t)k, out->points + 3 * (size_t)k);
    return td_parse_copy(parser, name, &out->name);
}

tdStatus td_parse_robot_bonds(tdSceneParser *parser)
{
    tdScene *scene = parser->scene;
    int n = scene->n_attachments;
    for (int b = 0; b < scene->n_bodies; b++)
        n += scene->bodies[b].tree != NULL ? scene->bodies[b].tree->n_bonds : 0;
    if (n == scene->n_attachments)
        return TD_OK;
    tdSceneAttachment *all = TD_TAKE(parser->arena, tdSceneAttachment, n);
    if (all == NULL)
        return td_fail_memory(parser->reader.error, "the attachments");
    if (scene->n_attachments > 0)
        memcpy(all, scene->attachments, (size_t)scene->n_attachments * sizeof *all);
    scene->attachments = all;
    for (int b = 0; b < scene->n_bodies; b++)
        for (int i = 0; scene->bodies[b].tree != NULL && i < scene->bodies[b].tree->n_bonds; i++)
        {
            TD_TRY(add_bond(parser, b, &scene->bodies[b].tree->bonds[i], i, &scene->attachments[scene->n_attachments]));
            scene->n_attachments++;
        }
    return TD_OK;
}
