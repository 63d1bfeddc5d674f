// SPDX-License-Identifier: Apache-2.0
// Guided bodies as tools: a client moves them at a velocity and closes their jaws, as it does with tools of robots, and
// is shown the force that a hand would feel. A haptic device has a loop of its own ('tendril haptic'); this is the same
// scene by the keyboard, at the rate of the simulation.
#include "base/timer.h"
#include "body/guided.h"
#include "core/rotation.h"
#include "view/sim_own.h"

#include <math.h>
#include <string.h>

void td_view_sim_guide(tdViewSim *sim, int g, const double *twist)
{
    const tdModel *model = sim->stage->model;
    const tdViewGuide *guide = &sim->stage->guides[g];
    tdViewGuideMotion *motion = &sim->guides[g];
    if (twist == NULL)
    {
        for (int k = 0; k < 6; k++)
            td_state_set_input(model, sim->state, guide->input[k], NAN);
        for (int k = 0; k < 3 && guide->jaw >= 0; k++)
            td_state_set_input(model, sim->state, guide->jaw_input[k], NAN);
        *motion = (tdViewGuideMotion){0};
        return;
    }
    // It goes on from where the scene had it.
    for (int k = 0; k < 6 && !motion->driven; k++)
        motion->offset[k] = td_state_input(model, sim->state, guide->input[k]);
    motion->driven = true;
    motion->led = false;
    memcpy(motion->twist, twist, sizeof motion->twist);
}

// A pointer leads a body to where it is, by the way that a hand could take: as quickly as across the scene in a second.
void td_view_sim_lead(tdViewSim *sim, int client, const tdViewMessage *m)
{
    static const double still[6] = {0};
    int tool = td_view_stage_find_tool(sim->stage, m->name), g = tool - sim->stage->model->n_tools;
    if (g < 0)
    {
        td_view_sim_say(sim, client, true, true, m->action, "the scene has no guided body of this name");
        return;
    }
    if (sim->tools[tool].client != 0 && sim->tools[tool].client != client)
    {
        td_view_sim_say(sim, client, true, true, m->action, "another client is driving the tool '%s'", m->name);
        return;
    }
    td_view_sim_guide(sim, g, still);
    sim->guides[g].led = true;
    memcpy(sim->guides[g].goal, m->anchor, sizeof m->anchor);
    sim->tools[tool] = (tdViewHand){client, td_seconds() + sim->settings.hold};
}

// The velocity of a step on the way to the goal.
static void lead(const tdViewSim *sim, const tdViewGuide *guide, tdViewGuideMotion *motion, double h)
{
    const tdGuided *guided = sim->stage->model->bodies[guide->body].guided;
    double way[3], most = h * sim->stage->size;
    for (int k = 0; k < 3; k++)
        way[k] = motion->goal[k] - guided->rigid.links[0].origin.t[k] - motion->offset[k];
    double length = sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2]);
    for (int k = 0; k < 3; k++)
        motion->twist[k] = (length > most ? most / length : 1) * way[k] / h;
}

void td_view_sim_grip(tdViewSim *sim, int client, const tdViewMessage *m)
{
    int tool = td_view_stage_find_tool(sim->stage, m->name), g = tool - sim->stage->model->n_tools;
    if (g < 0 || sim->stage->guides[g].jaw < 0)
    {
        td_view_sim_say(sim, client, true, true, m->action, "the scene has no guided body of this name with a jaw");
        return;
    }
    tdViewGuideMotion *motion = &sim->guides[g];
    if (motion->gripper.client != 0 && motion->gripper.client != client)
    {
        td_view_sim_say(sim, client, true, true, m->action, "another client is closing the jaw of '%s'", m->name);
        return;
    }
    motion->grip_rate = m->value[0];
    motion->gripper = m->value[0] != 0 ? (tdViewHand){client, td_seconds() + sim->settings.hold} : (tdViewHand){0};
}

// Turns compose, so that keys turn a body about the world's axes however it has been turned before.
static void advance(tdViewGuideMotion *motion, double h)
{
    double turn[3], before[4], by[4], after[4];
    for (int k = 0; k < 3; k++)
    {
        motion->offset[k] += h * motion->twist[k];
        turn[k] = h * motion->twist[3 + k];
    }
    if (turn[0] == 0 && turn[1] == 0 && turn[2] == 0)
        return;
    td_rotation_from_vector(motion->offset + 3, before);
    td_rotation_from_vector(turn, by);
    td_rotation_multiply(by, before, after);
    double near[3] = {motion->offset[3], motion->offset[4], motion->offset[5]};
    td_rotation_vector(after, near, motion->offset + 3);
}

void td_view_sim_guides_on(tdViewSim *sim)
{
    const tdModel *model = sim->stage->model;
    double now = td_seconds(), h = td_view_sim_time_step(sim);
    for (int g = 0; g < sim->stage->n_guides; g++)
    {
        const tdViewGuide *guide = &sim->stage->guides[g];
        tdViewGuideMotion *motion = &sim->guides[g];
        if (motion->gripper.client != 0 && now > motion->gripper.until)
            motion->gripper = (tdViewHand){0}, motion->grip_rate = 0;
        if (motion->grip_rate != 0)
        {
            motion->grip = fmin(fmax(motion->grip + h * motion->grip_rate, 0), 1);
            for (int k = 0; k < 3; k++)
                td_state_set_input(model, sim->state, guide->jaw_input[k], motion->grip * guide->close[k]);
        }
        if (!motion->driven)
            continue;
        if (motion->led)
            lead(sim, guide, motion, h);
        advance(motion, h);
        for (int k = 0; k < 6; k++)
            td_state_set_input(model, sim->state, guide->input[k], motion->offset[k]);
    }
}

void td_view_sim_read_guide(const tdViewSim *sim, int g, tdViewTool *out)
{
    const tdModel *model = sim->stage->model;
    const tdViewGuide *guide = &sim->stage->guides[g];
    const tdViewGuideMotion *motion = &sim->guides[g];
    *out = (tdViewTool){.client = sim->tools[model->n_tools + g].client, .grip = guide->jaw >= 0 ? motion->grip : NAN};
    tdToolState *state = &out->state;
    state->driven = motion->driven;
    memcpy(state->twist, motion->twist, sizeof state->twist);
    // The first nodes of a link are its origin and a point on each of its axes.
    const double *x = td_state_positions(model, sim->state, guide->body);
    for (int k = 0; k < 9; k++)
        state->rotation[k] = x[3 * (k % 3 + 1) + k / 3] - x[k / 3];
    for (int axis = 0; axis < 3; axis++)
    {
        double length = hypot(hypot(state->rotation[axis], state->rotation[3 + axis]), state->rotation[6 + axis]);
        for (int k = 0; k < 3; k++)
            state->rotation[3 * k + axis] /= length;
    }
    memcpy(state->position, x, sizeof state->position);
    memcpy(state->target, x, sizeof state->target);
    memcpy(state->target_rotation, state->rotation, sizeof state->rotation);
    // What guides a body is what its hand exerts on it; the hand feels the opposite, of the jaw too.
    const int bodies[2] = {guide->body, guide->jaw};
    for (int i = 0; i < 2 && bodies[i] >= 0; i++)
    {
        double force[3];
        td_state_reaction(model, sim->state, bodies[i], force);
        for (int k = 0; k < 3; k++)
            out->force[k] -= isnan(force[k]) ? 0 : force[k];
    }
}
