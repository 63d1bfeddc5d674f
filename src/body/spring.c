// SPDX-License-Identifier: Apache-2.0
#include "body/spring.h"

#include "body/soft.h"
#include "core/parts.h"
#include "core/state.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// ---------------------------------------------------------------- numbers

bool td_spring_get(const double *springs, int k, tdSpring *out)
{
    const double *s = springs + TD_SPRING_NUMBERS * k;
    if (s[0] == 0)
        return false;
    *out = (tdSpring){.body = (int)s[1], .stiffness = s[0]};
    for (int i = 0; i < 3; i++)
    {
        out->nodes[i] = (int32_t)s[2 + i];
        out->weights[i] = s[5 + i];
        out->anchor[i] = s[8 + i];
    }
    return true;
}

static void put(const tdSpring *spring, double *s)
{
    s[0] = spring->stiffness;
    s[1] = spring->body;
    for (int i = 0; i < 3; i++)
    {
        s[2 + i] = spring->nodes[i];
        s[5 + i] = spring->weights[i];
        s[8 + i] = spring->anchor[i];
    }
}

// Nodes of one element have a block of the matrix for each pair.
static bool share_element(const tdSoft *soft, const int32_t nodes[3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++)
        {
            int32_t a = nodes[i] > nodes[j] ? nodes[i] : nodes[j], b = nodes[i] > nodes[j] ? nodes[j] : nodes[i];
            if (td_block_find(&soft->pattern, a, b) < 0)
                return false;
        }
    return true;
}

// Of a body that cannot move there is nothing to pull.
static bool share_part(const tdBody *body, const int32_t nodes[3])
{
    const int32_t *part = body->parts->of_node;
    return body->count > 0 && part[nodes[0]] == part[nodes[1]] && part[nodes[0]] == part[nodes[2]];
}

static bool is_sound(const tdModel *model, const tdSpring *spring)
{
    if (spring->body < 0 || spring->body >= model->n_bodies || !(spring->stiffness > 0) || !isfinite(spring->stiffness))
        return false;
    const tdBody *body = &model->bodies[spring->body];
    double sum = 0;
    for (int i = 0; i < 3; i++)
    {
        if (spring->nodes[i] < 0 || spring->nodes[i] >= body->nodes)
            return false;
        if (!(spring->weights[i] >= 0) || !isfinite(spring->anchor[i]))
            return false;
        sum += spring->weights[i];
    }
    return fabs(sum - 1) <= 1e-6 &&
           (body->parts != NULL ? share_part(body, spring->nodes) : share_element(body->soft, spring->nodes));
}

tdStatus td_springs_check(const tdModel *model, const double *springs, tdError *error)
{
    for (int k = 0; k < TD_SPRINGS; k++)
    {
        const double *s = springs + TD_SPRING_NUMBERS * k;
        tdSpring spring;
        bool good = isfinite(s[0]);
        // Before they become whole numbers.
        for (int i = 1; i < 5 && s[0] != 0; i++)
            good = good && s[i] >= 0 && s[i] <= INT32_MAX;
        if (!good || (td_spring_get(springs, k, &spring) && !is_sound(model, &spring)))
            return td_fail(error, TD_ERROR_INPUT,
                           "spring %d is not valid in this scene; use another checkpoint or start the run again", k);
    }
    return TD_OK;
}

// All numbers of a spring but its anchor.
static bool is_same_matrix(const double *a, const double *b)
{
    for (int i = 0; i < TD_SPRING_NUMBERS - 3; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

bool td_springs_same_matrix(const double *a, const double *b)
{
    for (int k = 0; k < TD_SPRINGS; k++)
        if (!is_same_matrix(a + TD_SPRING_NUMBERS * k, b + TD_SPRING_NUMBERS * k))
            return false;
    return true;
}

// ---------------------------------------------------------------- of a state

tdStatus td_state_set_spring(const tdModel *model, tdState *state, int spring, const tdSpring *given)
{
    assert(state->model == model);
    if (spring < 0 || spring >= TD_SPRINGS || (given != NULL && !is_sound(model, given)))
        return TD_ERROR_USAGE;
    double *s = state->springs + TD_SPRING_NUMBERS * spring, next[TD_SPRING_NUMBERS] = {0};
    if (given != NULL)
        put(given, next);
    if (given != NULL && model->bodies[given->body].ops->tie != NULL)
        model->bodies[given->body].ops->tie(&model->bodies[given->body], given);
    state->spring_changes += !is_same_matrix(s, next);
    memcpy(s, next, sizeof next);
    return TD_OK;
}

bool td_state_spring(const tdModel *model, const tdState *state, int number, double point[3], double force[3])
{
    assert(state->model == model && number >= 0 && number < TD_SPRINGS);
    tdSpring spring;
    if (!td_spring_get(state->springs, number, &spring))
        return false;
    const tdBody *body = &model->bodies[spring.body];
    int32_t start[2] = {0, 3};
    tdPointSet set = {.body = spring.body, .n = 1, .start = start, .nodes = spring.nodes, .weights = spring.weights};
    body->ops->positions(body, state, &set, state->q + body->first, point);
    if (body->ops->give != NULL)
        body->ops->give(body, state, &set, point);
    for (int c = 0; c < 3; c++)
        force[c] = spring.stiffness * (spring.anchor[c] - point[c]);
    return true;
}

// ---------------------------------------------------------------- soft bodies

void td_soft_spring_loads(const tdBody *body, tdState *state)
{
    const double *q = state->q_e + body->first;
    double *load = state->load + body->first;
    tdSpring spring;
    for (int k = 0; k < TD_SPRINGS; k++)
    {
        if (!td_spring_get(state->springs, k, &spring) || spring.body != body->index)
            continue;
        for (int c = 0; c < 3; c++)
        {
            double x = 0;
            for (int a = 0; a < 3; a++)
                x += spring.weights[a] * q[3 * (int64_t)spring.nodes[a] + c];
            for (int a = 0; a < 3; a++)
                load[3 * (int64_t)spring.nodes[a] + c] += spring.weights[a] * spring.stiffness * (spring.anchor[c] - x);
        }
    }
}

void td_soft_spring_stiffness(const tdBody *body, const double *springs, double factor, double *A)
{
    const tdSoft *soft = body->data;
    tdSpring spring;
    for (int k = 0; k < TD_SPRINGS; k++)
    {
        if (!td_spring_get(springs, k, &spring) || spring.body != body->index)
            continue;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
            {
                // Of two blocks that mirror each other one is stored.
                int32_t a = spring.nodes[i], b = spring.nodes[j];
                if (a < b)
                    continue;
                double stiffness = factor * spring.stiffness * spring.weights[i] * spring.weights[j];
                double *block = A + 9 * (int64_t)td_block_find(&soft->pattern, a, b);
                for (int c = 0; c < 9; c += 4)
                    block[c] += stiffness;
            }
    }
}
