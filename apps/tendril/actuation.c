// SPDX-License-Identifier: Apache-2.0
#include "actuation.h"

#include "output/actuation.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------- state

static const char *bound_words(const tdActuatorInfo *info, const tdActuation *now)
{
    static const char *const words[3][3] = {
        {"effort and displacement at their minimum", "effort at its minimum",
         "effort at its minimum, displacement at its maximum"},
        {"displacement at its minimum", "", "displacement at its maximum"},
        {"effort at its maximum, displacement at its minimum", "effort at its maximum",
         "effort and displacement at their maximum"},
    };
    if (strcmp(info->kind, "cable") == 0 && now->effort == 0)
        return "slack";
    return words[now->effort_bound + 1][now->displacement_bound + 1];
}

static void print_cell(const tdModel *model, double value, const char *si)
{
    char text[64];
    const char *unit;
    double factor = act_unit(model, si, value, &unit);
    snprintf(text, sizeof text, "%.6g%s%s", value / factor, *unit ? " " : "", unit);
    printf(" %18s", text);
}

void act_print_state(const tdModel *model, const tdState *state)
{
    if (td_model_actuators(model) > 0)
        printf("\n%-16s %18s %18s\n", "actuator", "effort", "displacement");
    for (int a = 0; a < td_model_actuators(model); a++)
    {
        tdActuatorInfo info = td_model_actuator(model, a);
        tdActuation now = td_state_actuation(model, state, a);
        const char *words = bound_words(&info, &now);
        printf("%-16s", info.name);
        print_cell(model, now.effort, info.effort_unit);
        print_cell(model, now.displacement, info.displacement_unit);
        printf("%s%s\n", *words ? "  " : "", words);
    }
    if (td_model_effectors(model) > 0)
        printf("\n%-16s %14s %14s %14s\n", "effector", "x", "y", "z");
    for (int e = 0; e < td_model_effectors(model); e++)
    {
        tdEffectorInfo info = td_model_effector(model, e);
        double value[3] = {0}, target[3] = {0}, largest = 0;
        bool has_target = td_state_target(model, state, e, target);
        td_state_effector(model, state, e, value);
        for (int r = 0; r < info.rows; r++)
            largest = fmax(largest, fabs(value[r]));
        const char *unit;
        double factor = act_unit(model, info.unit, largest, &unit);
        printf("%-16s", info.name);
        for (int r = 0; r < info.rows; r++)
            printf(" %14.6g", value[r] / factor);
        printf("%s%s\n", *unit ? " " : "", unit);
        if (!has_target)
            continue;
        printf("  %-14s", "target");
        for (int r = 0; r < info.rows; r++)
            printf(" %14.6g", target[r] / factor);
        printf("%s%s, error %.3g%s%s\n", *unit ? " " : "", unit, td_effector_error(model, state, e) / factor,
               *unit ? " " : "", unit);
    }
}

void act_json_state(tdJson *json, const tdModel *model, const tdState *state)
{
    td_json_open(json, "actuators", '{');
    for (int a = 0; a < td_model_actuators(model); a++)
    {
        tdActuatorInfo info = td_model_actuator(model, a);
        tdActuation now = td_state_actuation(model, state, a);
        td_json_open(json, info.name, '{');
        td_json_number(json, "effort", now.effort);
        td_json_string(json, "effort_unit", info.effort_unit);
        td_json_number(json, "displacement", now.displacement);
        td_json_string(json, "displacement_unit", info.displacement_unit);
        td_json_integer(json, "effort_bound", now.effort_bound);
        td_json_integer(json, "displacement_bound", now.displacement_bound);
        td_json_close(json, '}');
    }
    td_json_close(json, '}');
    td_json_open(json, "effectors", '{');
    for (int e = 0; e < td_model_effectors(model); e++)
    {
        tdEffectorInfo info = td_model_effector(model, e);
        double value[3], target[3];
        td_json_open(json, info.name, '{');
        td_state_effector(model, state, e, value);
        td_json_numbers(json, "value", info.rows, value);
        if (td_state_target(model, state, e, target))
        {
            td_json_numbers(json, "target", info.rows, target);
            td_json_number(json, "error", td_effector_error(model, state, e));
        }
        td_json_string(json, "unit", info.unit);
        td_json_close(json, '}');
    }
    td_json_close(json, '}');
}

// ---------------------------------------------------------------- run

void act_print_totals(const simResult *result)
{
    const tdTotals *totals = &result->totals;
    if (totals->constraint_error > 0)
        printf("drives      relative error %.2e at most\n", totals->constraint_error);
    if (totals->inverse_steps == 0)
        return;
    printf("inverse     %" PRId64 " steps, %.1f iterations per step, residual %.3g at most\n", totals->inverse_steps,
           (double)totals->inverse_iterations / (double)totals->inverse_steps, totals->inverse_residual);
    if (totals->out_of_reach + totals->inverse_limits > 0)
        printf("            out of reach in %" PRId64 " steps, iteration limit reached in %" PRId64 "\n",
               totals->out_of_reach, totals->inverse_limits);
}

void act_json_totals(tdJson *json, const tdModel *model, const simResult *result)
{
    const tdTotals *totals = &result->totals;
    td_json_number(json, "constraint_error", totals->constraint_error);
    td_json_integer(json, "saturated_steps", result->saturated_steps);
    if (result->saturated_steps > 0)
        td_json_string(json, "saturated_actuator", td_model_actuator(model, result->saturated_actuator).name);
    td_json_open(json, "inverse", '{');
    td_json_integer(json, "steps", totals->inverse_steps);
    td_json_integer(json, "iterations", totals->inverse_iterations);
    td_json_integer(json, "limit_steps", totals->inverse_limits);
    td_json_integer(json, "out_of_reach_steps", totals->out_of_reach);
    td_json_number(json, "residual", totals->inverse_residual);
    td_json_number(json, "bound_violation", totals->bound_violation);
    td_json_close(json, '}');
}

void act_warn(const tdModel *model, const simResult *result)
{
    const tdTotals *totals = &result->totals;
    if (result->saturated_steps > 0)
        fprintf(stderr,
                "warning: actuator '%s' reached its limits at %g s; limits restricted some actuator in "
                "%" PRId64 " of %" PRId64 " steps. Widen its range or rate, or reduce the demand\n",
                td_model_actuator(model, result->saturated_actuator).name, result->saturated_time,
                result->saturated_steps, totals->steps);
    if (totals->out_of_reach > 0)
        fprintf(stderr,
                "warning: targets were out of reach of the actuators within their limits in %" PRId64 " of %" PRId64
                " steps; the nearest was taken\n",
                totals->out_of_reach, totals->steps);
    if (totals->inverse_limits > 0)
        fprintf(stderr,
                "warning: inverse control reached its iteration limit in %" PRId64 " of %" PRId64
                " steps; raise control.max_iterations\n",
                totals->inverse_limits, totals->steps);
    if (totals->bound_violation > 1e-6)
        fprintf(stderr, "warning: limits contradict each other and were violated by %.2g of their size\n",
                totals->bound_violation);
}
