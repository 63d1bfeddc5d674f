// SPDX-License-Identifier: Apache-2.0
// Tools of the model: where their points are, and the joints that they command.
#include "base/vector.h"
#include "constraint/tool.h"
#include "scene/compile.h"

#include <math.h>
#include <string.h>

static tdToolJoint joint_of(const tdModel *model, int a, double length)
{
    const tdActuator *actuator = &model->actuators[a];
    const tdSceneActuator *given = actuator->given;
    const tdBodyJoint *joint = td_parts_joint(model->bodies[given->body].parts, given->joint);
    const tdTreeLink *link = &model->scene.bodies[given->body].tree->links[given->joint];
    return (tdToolJoint){.actuator = a,
                         .input = actuator->input,
                         .coord = joint->coord,
                         .ratio = joint->ratio,
                         .offset = joint->offset,
                         .lower = fmax(link->lower, given->displacement[0]),
                         .upper = fmin(link->upper, given->displacement[1]),
                         .rate = link->velocity,
                         .unit = joint->slides ? length : 1,
                         .start = link->start};
}

// From the joint nearest to the root that is commanded to the point, along the links.
static double length_of(const tdModel *model, const tdTool *tool)
{
    const tdTree *tree = model->scene.bodies[tool->body].tree;
    double sum = sqrt(td_dot3(tool->local, tool->local)), length = 0;
    for (int l = tool->link; l >= 0; l = tree->links[l].parent)
    {
        const tdBodyJoint *joint = td_parts_joint(model->bodies[tool->body].parts, l);
        for (int k = 0; k < tool->n && joint != NULL; k++)
            if (tool->joints[k].coord == joint->coord)
                length = sum;
        const double *way = tree->links[l].origin.t;
        sum += sqrt(td_dot3(way, way));
    }
    return length;
}

// The pose at the start, and where the point is in the link's frame.
static void place(const tdModel *model, tdTool *tool)
{
    const tdPose *link = &model->bodies[tool->body].parts->start[tool->link];
    tool->start = *link;
    if (!tool->given->at_point)
        return;
    double from[3];
    td_subtract3(tool->given->point, link->t, from);
    for (int k = 0; k < 3; k++)
        tool->local[k] = link->R[k] * from[0] + link->R[3 + k] * from[1] + link->R[6 + k] * from[2];
    memcpy(tool->start.t, tool->given->point, sizeof tool->start.t);
}

static tdStatus compile_tool(tdModel *model, int t, tdError *error)
{
    tdTool *tool = &model->tools[t];
    const tdSceneTool *given = &model->scene.tools[t];
    *tool = (tdTool){.given = given, .name = given->name, .body = given->body, .link = given->link};
    tool->input = td_compile_input(model, given->inputs[0]);
    tool->n = given->n_joints;
    tool->joints = TD_TAKE(&model->arena, tdToolJoint, tool->n);
    if (tool->joints == NULL)
        return td_fail_memory(error, "the tools");
    place(model, tool);
    for (int k = 0; k < tool->n; k++)
        tool->joints[k] = joint_of(model, given->actuators[k], 1);
    tool->length = length_of(model, tool);
    if (!(tool->length > 0)) // a turntable with its point on the axis: turns are all there is
        tool->length = model->size > 0 ? model->size : 1;
    tool->lever = given->lever > 0 ? given->lever : 0.25 * tool->length;
    for (int k = 0; k < tool->n; k++)
    {
        tool->joints[k] = joint_of(model, given->actuators[k], tool->length);
        model->actuators[given->actuators[k]].tool = t;
        if (tool->joints[k].lower > tool->joints[k].upper)
            return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, "tools",
                              "the limits of actuator '%s' lie outside of those of its joint",
                              model->actuators[given->actuators[k]].name);
    }
    return TD_OK;
}

tdStatus td_compile_tools(tdModel *model, tdError *error)
{
    const tdScene *scene = &model->scene;
    int64_t first = 0;
    model->tools = TD_TAKE(&model->arena, tdTool, scene->n_tools);
    if (model->tools == NULL)
        return td_fail_memory(error, "the tools");
    for (int t = 0; t < scene->n_tools; t++, model->n_tools++)
    {
        TD_TRY(compile_tool(model, t, error));
        model->tools[t].first = first;
        first += TD_TOOL_COMMAND + model->tools[t].n;
    }
    return TD_OK;
}
