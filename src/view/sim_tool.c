// SPDX-License-Identifier: Apache-2.0
// What clients move at a velocity: tools, and groups of actuators such as the fingers of a hand. A velocity holds until
// it is set again, but for the `hold` of the settings at most, so that what a client moved stands still when it hangs,
// and at once when it goes.
#include "base/timer.h"
#include "view/sim_own.h"

#include <math.h>
#include <string.h>

static bool is_zero(int n, const double *a)
{
    for (int i = 0; i < n; i++)
        if (a[i] != 0)
            return false;
    return true;
}

// twist NULL: back to the scene.
static void drive(tdViewSim *sim, int tool, const double *twist)
{
    int links = sim->stage->model->n_tools;
    if (tool < links)
        td_state_drive_tool(sim->stage->model, sim->state, tool, twist);
    else
        td_view_sim_guide(sim, tool - links, twist);
}

static void stop_tool(tdViewSim *sim, int tool)
{
    static const double still[6] = {0};
    sim->tools[tool] = (tdViewHand){0};
    drive(sim, tool, still);
    sim->changed = true;
}

void td_view_sim_tool(tdViewSim *sim, int client, const tdViewMessage *m)
{
    double twist[6];
    int tool = td_view_stage_find_tool(sim->stage, m->name);
    if (tool < 0)
    {
        td_view_sim_say(sim, client, true, true, m->action, "the scene has no tool of this name");
        return;
    }
    // Another client may take over what one has let go of, not what it is moving.
    if (sim->tools[tool].client != 0 && sim->tools[tool].client != client)
    {
        td_view_sim_say(sim, client, true, true, m->action, "another client is driving the tool '%s'", m->name);
        return;
    }
    memcpy(twist, m->value, sizeof m->value);
    memcpy(twist + 3, m->turn, sizeof m->turn);
    drive(sim, tool, m->n_values == 0 ? NULL : twist);
    bool moves = m->n_values > 0 && !is_zero(6, twist);
    sim->tools[tool] = moves ? (tdViewHand){client, td_seconds() + sim->settings.hold} : (tdViewHand){0};
}

void td_view_sim_group(tdViewSim *sim, int client, const tdViewMessage *m)
{
    const tdModel *model = sim->stage->model;
    tdViewGroup *group = NULL;
    for (int i = 0; i < m->n_list; i++)
        if (m->list[i] >= model->n_actuators)
        {
            td_view_sim_say(sim, client, true, true, m->action, "the scene has no actuator of number %d",
                            (int)m->list[i]);
            return;
        }
    for (int g = 0; g < TD_VIEW_GROUPS; g++)
        if (sim->groups[g].hand.client == client || (group == NULL && sim->groups[g].hand.client == 0))
            group = &sim->groups[g];
    if (m->value[0] == 0)
    {
        if (group != NULL && group->hand.client == client)
            *group = (tdViewGroup){0};
        return;
    }
    if (group == NULL)
    {
        td_view_sim_say(sim, client, true, true, m->action, "%d other clients move actuators", TD_VIEW_GROUPS);
        return;
    }
    *group = (tdViewGroup){.hand = {client, td_seconds() + sim->settings.hold}, .rate = m->value[0], .n = m->n_list};
    memcpy(group->actuators, m->list, (size_t)m->n_list * sizeof *m->list);
}

void td_view_sim_let_go(tdViewSim *sim, int client)
{
    for (int t = 0; t < td_view_stage_tools(sim->stage); t++)
        if (sim->tools[t].client == client)
            stop_tool(sim, t);
    for (int g = 0; g < sim->stage->n_guides; g++)
        if (sim->guides[g].gripper.client == client)
            sim->guides[g].gripper = (tdViewHand){0}, sim->guides[g].grip_rate = 0;
    for (int g = 0; g < TD_VIEW_GROUPS; g++)
        if (sim->groups[g].hand.client == client)
            sim->groups[g] = (tdViewGroup){0};
}

// Where it is commanded to, or of one that a tool or inverse control commands, where it is.
static double present(const tdViewSim *sim, int a)
{
    double value = td_view_sim_value(sim, a);
    tdActuation now = td_state_actuation(sim->stage->model, sim->state, a);
    bool effort = sim->stage->model->actuators[a].given->drive == TD_DRIVE_EFFORT;
    return !isnan(value) ? value : effort ? now.effort : now.displacement;
}

static void move_group(tdViewSim *sim, const tdViewGroup *group)
{
    for (int i = 0; i < group->n; i++)
    {
        int a = group->actuators[i];
        const tdViewActuator *actuator = &sim->stage->actuators[a];
        double way = group->rate * (actuator->high - actuator->low) * td_view_sim_time_step(sim);
        sim->manual[a] = fmin(fmax(present(sim, a) + way, actuator->low), actuator->high);
    }
}

void td_view_sim_move_on(tdViewSim *sim)
{
    double now = td_seconds();
    for (int t = 0; t < td_view_stage_tools(sim->stage); t++)
        if (sim->tools[t].client != 0 && now > sim->tools[t].until)
            stop_tool(sim, t);
    td_view_sim_guides_on(sim);
    for (int g = 0; g < TD_VIEW_GROUPS; g++)
    {
        tdViewGroup *group = &sim->groups[g];
        if (group->hand.client != 0 && now > group->hand.until)
            *group = (tdViewGroup){0};
        else if (group->hand.client != 0)
            move_group(sim, group);
    }
}
