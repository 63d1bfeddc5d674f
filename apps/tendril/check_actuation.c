// SPDX-License-Identifier: Apache-2.0
// What `check` says of actuators, effectors and tools: what the scene gave, and its size at rest.
#include "actuation.h"

#include "core/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------- quantities

double act_unit(const tdModel *model, const char *si, double size, const char **unit)
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
    double factor = act_unit(model, si, value, &unit);
    printf("%.6g%s%s", value / factor, *unit ? " " : "", unit);
}

// ", WHAT from A to B"; nothing when there are no limits.
static void print_range(const tdModel *model, const char *what, const double range[2], const char *si)
{
    if (!isfinite(range[0]) && !isfinite(range[1]))
        return;
    double largest = fmax(isfinite(range[0]) ? fabs(range[0]) : 0, isfinite(range[1]) ? fabs(range[1]) : 0);
    const char *unit;
    double factor = act_unit(model, si, largest, &unit);
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
    double factor = act_unit(model, si, largest, &unit);
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
