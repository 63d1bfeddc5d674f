// SPDX-License-Identifier: Apache-2.0
// What the public header tells of actuators and effectors.
#include "constraint/constraint.h"
#include "core/state.h"

#include <assert.h>
#include <math.h>
#include <string.h>

int td_model_actuators(const tdModel *model)
{
    return model->n_actuators;
}

tdActuatorInfo td_model_actuator(const tdModel *model, int actuator)
{
    static const struct
    {
        const char *kind, *effort, *displacement;
    } words[TD_ACTUATOR_KINDS] = {[TD_ACTUATOR_CABLE] = {"cable", "N", "m"},
                                  [TD_ACTUATOR_CAVITY] = {"cavity", "Pa", "m^3"},
                                  [TD_ACTUATOR_FORCE] = {"force", "N", "m"},
                                  [TD_ACTUATOR_TRANSLATION] = {"translation", "N", "m"},
                                  [TD_ACTUATOR_ROTATION] = {"rotation", "N m", "rad"},
                                  [TD_ACTUATOR_JOINT] = {"joint", "N m", "rad"},
                                  [TD_ACTUATOR_SLIDE] = {"joint", "N", "m"}};
    static const char *const drives[] = {"effort", "displacement", "gas", "servo"};
    assert(actuator >= 0 && actuator < model->n_actuators);
    const tdActuator *a = &model->actuators[actuator];
    tdActuatorInfo info = {.name = a->name,
                           .kind = words[a->given->kind].kind,
                           .drive = drives[a->given->drive],
                           .effort_unit = words[a->given->kind].effort,
                           .displacement_unit = words[a->given->kind].displacement,
                           .input = a->input,
                           .driven = a->driven,
                           .effort_rate = a->given->effort_rate,
                           .displacement_rate = a->given->displacement_rate,
                           .tool = a->tool};
    memcpy(info.effort, a->given->effort, sizeof info.effort);
    memcpy(info.displacement, a->given->displacement, sizeof info.displacement);
    memcpy(info.gas, a->given->gas, sizeof info.gas);
    return info;
}

int td_model_effectors(const tdModel *model)
{
    return model->n_effectors;
}

tdEffectorInfo td_model_effector(const tdModel *model, int effector)
{
    static const struct
    {
        const char *kind, *unit;
    } words[TD_EFFECTOR_KINDS] = {
        [TD_EFFECTOR_POSITION] = {"position", "m"},   [TD_EFFECTOR_ORIENTATION] = {"orientation", "rad"},
        [TD_EFFECTOR_DIRECTION] = {"direction", ""},  [TD_EFFECTOR_VOLUME] = {"volume", "m^3"},
        [TD_EFFECTOR_LENGTH] = {"length", "m"},       [TD_EFFECTOR_CONTACT] = {"contact_force", "N"},
        [TD_EFFECTOR_FRICTION] = {"friction_use", ""}};
    assert(effector >= 0 && effector < model->n_effectors);
    const tdEffector *e = &model->effectors[effector];
    return (tdEffectorInfo){e->name, words[e->given->kind].kind, words[e->given->kind].unit, e->measure.rows};
}

bool td_model_effector_has_target(const tdModel *model, int effector)
{
    assert(effector >= 0 && effector < model->n_effectors);
    return model->effectors[effector].given->has_target;
}

int td_model_find_effector(const tdModel *model, const char *name)
{
    assert(name != NULL);
    for (int e = 0; e < model->n_effectors; e++)
        if (strcmp(model->effectors[e].name, name) == 0)
            return e;
    return -1;
}

double td_model_size(const tdModel *model)
{
    return model->size;
}

tdActuation td_state_actuation(const tdModel *model, const tdState *state, int actuator)
{
    assert(state->model == model && actuator >= 0 && actuator < model->n_actuators);
    const tdConstraintState *cs = state->constraint;
    tdActuation out = {.effort = cs->effort[actuator], .displacement = cs->displacement[actuator]};
    // Limits of rates count too: those of the last step.
    out.effort_bound = td_bound_of(cs->effort_limit + 2 * actuator, out.effort, fabs(out.effort));
    out.displacement_bound =
        td_bound_of(cs->travel_limit + 2 * actuator, out.displacement, model->actuators[actuator].size);
    return out;
}

void td_state_effector(const tdModel *model, const tdState *state, int effector, double value[3])
{
    assert(state->model == model && effector >= 0 && effector < model->n_effectors);
    for (int r = 0; r < 3; r++)
        value[r] = r < model->effectors[effector].measure.rows ? state->constraint->value[3 * effector + r] : 0;
}

bool td_state_target(const tdModel *model, const tdState *state, int effector, double target[3])
{
    assert(state->model == model && effector >= 0 && effector < model->n_effectors);
    const double *set = state->constraint->target + 3 * effector;
    for (int r = 0; r < 3; r++)
        target[r] = r < model->effectors[effector].measure.rows && !isnan(set[0]) ? set[r] : 0;
    return !isnan(set[0]);
}

bool td_actuator_has_stops(const tdActuator *actuator)
{
    const tdSceneActuator *given = actuator->given;
    return isfinite(given->displacement[0]) || isfinite(given->displacement[1]) || isfinite(given->displacement_rate);
}

tdStatus td_inverse_suits(const tdModel *model, int line, tdError *error)
{
    const char *within = td_part_clash(TD_PART_INVERSE, td_scheme_part(&model->scheme));
    bool touches = model->touches;
    bool coulomb = touches && model->contact_solver == TD_CONTACT_NLCP;
    const char *beside = coulomb ? td_part_clash(TD_PART_INVERSE, TD_PART_COULOMB) : NULL;
    if (model->turning)
        beside = td_part_clash(TD_PART_INVERSE, TD_PART_TURNING);
    if (beside != NULL)
        return td_fail_at(error, TD_ERROR_INPUT, model->file, line, "contact", "%s", beside);
    return within == NULL ? TD_OK : td_fail_at(error, TD_ERROR_INPUT, model->file, line, "integrator", "%s", within);
}

tdStatus td_state_set_target(const tdModel *model, tdState *state, int effector, const double *target)
{
    if (effector < 0 || effector >= model->n_effectors || td_inverse_suits(model, 0, NULL) != TD_OK)
        return TD_ERROR_USAGE;
    double *wanted = state->constraint->wanted + 3 * effector;
    int rows = model->effectors[effector].measure.rows;
    for (int r = 0; target != NULL && r < rows; r++)
        if (!isfinite(target[r]))
            return TD_ERROR_USAGE;
    if (target == NULL)
        wanted[0] = wanted[1] = wanted[2] = NAN;
    else
        for (int r = 0; r < 3; r++)
            wanted[r] = r < rows ? target[r] : 0;
    return TD_OK;
}
