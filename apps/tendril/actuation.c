// SPDX-License-Identifier: Apache-2.0
#include "actuation.h"

#include "core/model.h"
#include "output/actuation.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------- quantities

// Units that people would use for a quantity given in SI. Lengths follow the scene's own unit.
static double unit_for(const tdModel *model, const char *si, double size, const char **unit)
{
    size = isfinite(size) ? fabs(size) : 0;
    *unit = si;
    if (strcmp(si, "m") == 0 && model->scene.length_unit < 0.9)
        return *unit = "mm", 1e-3;
    if (strcmp(si, "m^3") == 0)
        return *unit = size >= 1e-9 || size == 0 ? "mL" : "mm^3", size >= 1e-9 || size == 0 ? 1e-6 : 1e-9;
    if (strcmp(si, "Pa") == 0 && size >= 1e3)
        return *unit = size >= 1e6 ? "MPa" : "kPa", size >= 1e6 ? 1e6 : 1e3;
    if (strcmp(si, "rad") == 0)
        return *unit = "deg", M_PI / 180;
    return 1;
}

static void print_quantity(const tdModel *model, double value, const char *si)
{
    const char *unit;
    double factor = unit_for(model, si, value, &unit);
    printf("%.6g%s%s", value / factor, *unit ? " " : "", unit);
}

// ", WHAT from A to B"; nothing when there are no limits.
static void print_range(const tdModel *model, const char *what, const double range[2], const char *si)
{
    if (!isfinite(range[0]) && !isfinite(range[1]))
        return;
    double largest = fmax(isfinite(range[0]) ? fabs(range[0]) : 0, isfinite(range[1]) ? fabs(range[1]) : 0);
    const char *unit;
    double factor = unit_for(model, si, largest, &unit);
    printf(", %s ", what);
    if (!isfinite(range[1]))
        printf("from %.6g %s", range[0] / factor, unit);
    else if (!isfinite(range[0]))
        printf("up to %.6g %s", range[1] / factor, unit);
    else
        printf("%.6g to %.6g %s", range[0] / factor, range[1] / factor, unit);
}

static void print_rate(const tdModel *model, const char *what, double rate, const char *si)
{
    if (!isfinite(rate))
        return;
    printf(", %s by ", what);
    print_quantity(model, rate, si);
    printf(" a second at most");
}

static const char *effort_word(const tdSceneActuator *given)
{
    static const char *const words[TD_ACTUATOR_KINDS] = {"force",  "pressure", "force", "force",
                                                         "torque", "torque",   "force"};
    return words[given->kind];
}

static const char *displacement_word(const tdSceneActuator *given)
{
    static const char *const words[TD_ACTUATOR_KINDS] = {"displacement", "volume",   "displacement", "displacement",
                                                         "angle",        "position", "position"};
    return words[given->kind];
}

static const char *drive_word(const tdSceneActuator *given)
{
    return given->drive == TD_DRIVE_EFFORT         ? effort_word(given)
           : given->drive == TD_DRIVE_DISPLACEMENT ? displacement_word(given)
           : given->drive == TD_DRIVE_GAS          ? "gas"
           : given->rate                           ? "velocity"
                                                   : "position";
}

// ---------------------------------------------------------------- scene

static void print_geometry(const tdModel *model, const tdActuator *actuator)
{
    const tdMeasure *measure = &actuator->measure;
    if (actuator->given->kind == TD_ACTUATOR_CABLE)
    {
        printf("  %d points, ", (int)measure->n);
        print_quantity(model, actuator->rest_value, "m");
        printf(" long at rest");
        if (actuator->given->stiffness > 0)
            printf(", stretches (E A %.6g N)", actuator->given->stiffness);
        if (actuator->given->friction > 0)
            printf(", friction %g", actuator->given->friction);
        printf("\n");
    }
    if (actuator->given->kind == TD_ACTUATOR_CAVITY)
    {
        printf("  %d triangles around ", (int)measure->n_tris);
        print_quantity(model, actuator->rest_value, "m^3");
        printf(" at rest\n");
    }
}

static void print_actuator(const tdModel *model, int a)
{
    const tdActuator *actuator = &model->actuators[a];
    const tdSceneActuator *given = actuator->given;
    tdActuatorInfo info = td_model_actuator(model, a);
    printf("actuator %s: %s on %s, by its %s, %s%s", info.name, info.kind, model->bodies[given->body].name,
           drive_word(given),
           info.driven      ? "driven by the motion"
           : info.tool >= 0 ? "commanded by tool "
                            : "free",
           info.tool >= 0 ? td_model_tool(model, info.tool).name : "");
    print_range(model, effort_word(given), info.effort, info.effort_unit);
    print_range(model, displacement_word(given), info.displacement, info.displacement_unit);
    if (given->drive == TD_DRIVE_GAS)
        print_range(model, "gas", info.gas, "m^3");
    print_rate(model, effort_word(given), info.effort_rate, info.effort_unit);
    print_rate(model, displacement_word(given), info.displacement_rate, info.displacement_unit);
    printf("\n");
    print_geometry(model, actuator);
}

static void print_values(const tdModel *model, int rows, const double *values, const char *si)
{
    const char *unit;
    double largest = 0;
    for (int r = 0; r < rows; r++)
        largest = fmax(largest, fabs(values[r]));
    double factor = unit_for(model, si, largest, &unit);
    for (int r = 0; r < rows; r++)
    {
        double value = fabs(values[r]) < 1e-12 * largest ? 0 : values[r] / factor;
        printf("%s%.6g", r > 0 ? ", " : rows > 1 ? "[" : "", value);
    }
    printf("%s%s%s", rows > 1 ? "]" : "", *unit ? " " : "", unit);
}

static void print_effector(const tdModel *model, int e)
{
    const tdEffector *effector = &model->effectors[e];
    const tdSceneEffector *given = effector->given;
    tdEffectorInfo info = td_model_effector(model, e);
    bool contact = effector->measure.kind == TD_MEASURE_CONTACT;
    printf("effector %s: %s of %s, ", info.name, info.kind,
           given->kind == TD_EFFECTOR_VOLUME || given->kind == TD_EFFECTOR_LENGTH
               ? model->actuators[given->actuator].name
               : model->bodies[contact ? given->bodies[0] : given->body].name);
    print_values(model, info.rows, effector->rest, info.unit);
    printf(" at rest, ");
    if (!given->has_target)
        printf("no target");
    else if (given->path != NULL)
        printf("target from a path of %d times up to %g s", given->path->n_times,
               given->path->times[given->path->n_times - 1]);
    else
    {
        printf("target ");
        print_values(model, info.rows, given->target, info.unit);
    }
    if (given->kind == TD_EFFECTOR_POSITION && given->axes != (TD_AXIS_X | TD_AXIS_Y | TD_AXIS_Z))
        printf(", axes %s%s%s", given->axes & TD_AXIS_X ? "x" : "", given->axes & TD_AXIS_Y ? "y" : "",
               given->axes & TD_AXIS_Z ? "z" : "");
    if (contact && given->bodies[1] >= 0)
        printf(", against %s", model->bodies[given->bodies[1]].name);
    if (contact && (isfinite(given->range[0]) || isfinite(given->range[1])))
        printf(", from %g to %g %s", given->range[0], given->range[1], info.unit);
    if (given->weight != 1)
        printf(", weight %g", given->weight);
    if (given->priority > 1)
        printf(", priority %d", given->priority);
    printf("\n");
}

static void print_tool(const tdModel *model, int t)
{
    tdToolInfo info = td_model_tool(model, t);
    printf("tool %s: link %s of %s, %d joint%s over ", info.name, info.link, model->bodies[info.body].name, info.joints,
           info.joints == 1 ? "" : "s");
    print_quantity(model, info.length, "m");
    if (isfinite(info.speed))
        printf(", at most %g m/s", info.speed);
    if (isfinite(info.turning))
        printf(", at most %g rad/s", info.turning);
    printf("\n");
}

void act_print_scene(const tdModel *model)
{
    for (int a = 0; a < model->n_actuators; a++)
        print_actuator(model, a);
    for (int e = 0; e < model->n_effectors; e++)
        print_effector(model, e);
    for (int t = 0; t < model->n_tools; t++)
        print_tool(model, t);
}

static void json_actuator(tdJson *json, const tdModel *model, int a)
{
    const tdActuator *actuator = &model->actuators[a];
    tdActuatorInfo info = td_model_actuator(model, a);
    td_json_open(json, NULL, '{');
    td_json_string(json, "name", info.name);
    td_json_string(json, "kind", info.kind);
    td_json_string(json, "body", model->bodies[actuator->given->body].name);
    td_json_string(json, "drive", info.drive);
    td_json_bool(json, "driven", info.driven);
    if (info.tool >= 0)
        td_json_string(json, "tool", td_model_tool(model, info.tool).name);
    td_json_string(json, "effort_unit", info.effort_unit);
    td_json_string(json, "displacement_unit", info.displacement_unit);
    td_json_numbers(json, "effort_range", 2, info.effort);
    td_json_numbers(json, "displacement_range", 2, info.displacement);
    td_json_number(json, "effort_rate", info.effort_rate);
    td_json_number(json, "displacement_rate", info.displacement_rate);
    if (actuator->given->drive == TD_DRIVE_GAS)
        td_json_numbers(json, "gas_range", 2, info.gas);
    if (actuator->given->kind == TD_ACTUATOR_CABLE)
    {
        td_json_integer(json, "points", actuator->measure.n);
        td_json_number(json, "length", actuator->rest_value);
    }
    if (actuator->given->kind == TD_ACTUATOR_CAVITY)
    {
        td_json_integer(json, "triangles", actuator->measure.n_tris);
        td_json_number(json, "volume", actuator->rest_value);
    }
    td_json_close(json, '}');
}

void act_json_scene(tdJson *json, const tdModel *model)
{
    td_json_open(json, "actuators", '[');
    for (int a = 0; a < model->n_actuators; a++)
        json_actuator(json, model, a);
    td_json_close(json, ']');
    td_json_open(json, "effectors", '[');
    for (int e = 0; e < model->n_effectors; e++)
    {
        const tdEffector *effector = &model->effectors[e];
        tdEffectorInfo info = td_model_effector(model, e);
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", info.name);
        td_json_string(json, "kind", info.kind);
        td_json_string(json, "unit", info.unit);
        td_json_numbers(json, "rest", info.rows, effector->rest);
        if (effector->given->has_target && effector->given->path == NULL)
            td_json_numbers(json, "target", info.rows, effector->given->target);
        if (effector->given->path != NULL)
            td_json_integer(json, "target_times", effector->given->path->n_times);
        td_json_number(json, "weight", effector->given->weight);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
}

// ---------------------------------------------------------------- state

static const char *bound_words(const tdActuatorInfo *info, const tdActuation *now)
{
    static const char *const words[3][3] = {
        {"effort and displacement at their least", "effort at its least",
         "effort at its least, displacement at its most"},
        {"displacement at its least", "", "displacement at its most"},
        {"effort at its most, displacement at its least", "effort at its most",
         "effort and displacement at their most"},
    };
    if (strcmp(info->kind, "cable") == 0 && now->effort == 0)
        return "slack";
    return words[now->effort_bound + 1][now->displacement_bound + 1];
}

static void print_cell(double value, const char *unit)
{
    char text[64];
    snprintf(text, sizeof text, "%.6g%s%s", value, *unit ? " " : "", unit);
    printf(" %18s", text);
}

void act_print_state(const tdModel *model, const tdState *state)
{
    if (model->n_actuators > 0)
        printf("\n%-16s %18s %18s\n", "actuator", "effort", "displacement");
    for (int a = 0; a < model->n_actuators; a++)
    {
        tdActuatorInfo info = td_model_actuator(model, a);
        tdActuation now = td_state_actuation(model, state, a);
        const char *words = bound_words(&info, &now);
        printf("%-16s", info.name);
        print_cell(now.effort, info.effort_unit);
        print_cell(now.displacement, info.displacement_unit);
        printf("%s%s\n", *words ? "  " : "", words);
    }
    if (model->n_effectors > 0)
        printf("\n%-16s %14s %14s %14s\n", "effector", "x", "y", "z");
    for (int e = 0; e < model->n_effectors; e++)
    {
        tdEffectorInfo info = td_model_effector(model, e);
        double value[3], target[3];
        bool has_target = td_state_target(model, state, e, target);
        td_state_effector(model, state, e, value);
        printf("%-16s", info.name);
        for (int r = 0; r < info.rows; r++)
            printf(" %14.6g", value[r]);
        printf("%s%s\n", *info.unit ? " " : "", info.unit);
        if (!has_target)
            continue;
        printf("  %-14s", "target");
        for (int r = 0; r < info.rows; r++)
            printf(" %14.6g", target[r]);
        printf("%s%s, error %.3g%s%s\n", *info.unit ? " " : "", info.unit, td_effector_error(model, state, e),
               *info.unit ? " " : "", info.unit);
    }
}

void act_json_state(tdJson *json, const tdModel *model, const tdState *state)
{
    td_json_open(json, "actuators", '{');
    for (int a = 0; a < model->n_actuators; a++)
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
    for (int e = 0; e < model->n_effectors; e++)
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
        printf("drives      off by %.2e of their size at most\n", totals->constraint_error);
    if (totals->inverse_steps == 0)
        return;
    printf("inverse     %" PRId64 " steps, %.1f iterations a step, residual %.3g at most\n", totals->inverse_steps,
           (double)totals->inverse_iterations / (double)totals->inverse_steps, totals->inverse_residual);
    if (totals->out_of_reach + totals->inverse_limits > 0)
        printf("            out of reach in %" PRId64 " steps, iterations at their bound in %" PRId64 "\n",
               totals->out_of_reach, totals->inverse_limits);
}

void act_json_totals(tdJson *json, const tdModel *model, const simResult *result)
{
    const tdTotals *totals = &result->totals;
    td_json_number(json, "constraint_error", totals->constraint_error);
    td_json_integer(json, "saturated_steps", result->saturated_steps);
    if (result->saturated_steps > 0)
        td_json_string(json, "saturated_actuator", model->actuators[result->saturated_actuator].name);
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
                "warning: actuator '%s' was held back by its limits, from %g s on; limits held back some actuator in "
                "%" PRId64 " of %" PRId64 " steps. Widen its range or its rate, or ask for less\n",
                model->actuators[result->saturated_actuator].name, result->saturated_time, result->saturated_steps,
                totals->steps);
    if (totals->out_of_reach > 0)
        fprintf(stderr,
                "warning: targets were out of reach of the actuators within their limits in %" PRId64 " of %" PRId64
                " steps; the nearest was taken\n",
                totals->out_of_reach, totals->steps);
    if (totals->inverse_limits > 0)
        fprintf(stderr,
                "warning: inverse control reached its bound on iterations in %" PRId64 " of %" PRId64
                " steps; raise control.max_iterations\n",
                totals->inverse_limits, totals->steps);
    if (totals->bound_violation > 1e-6)
        fprintf(stderr, "warning: limits contradict each other and were broken by %.2g of their size\n",
                totals->bound_violation);
}
