// SPDX-License-Identifier: Apache-2.0
#include "output/actuation.h"

#include "constraint/constraint.h"
#include "mesh/mesh.h"
#include "output/pvd.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Files of the cables or of the cavities.
typedef struct tdPartSeries
{
    tdPvd *pvd;     ///< NULL: there are none
    char name[300]; ///< of the files
    tdActuatorKind kind;
    tdCellType cell;     ///< lines or triangles
    const char *effort;  ///< name of the array
    tdMesh mesh;         ///< in the arena
    double *cell_fields; ///< effort, displacement, actuator
} tdPartSeries;

struct tdActuationOutput
{
    tdArena arena;
    const tdModel *model;
    tdActuationSettings settings;
    tdCsv *actuator_table, *effector_table;
    tdPartSeries cables, cavities;
    char folder[PATH_MAX];
    double *share; ///< of a cable's tension, by segment
    double *effort, *displacement, *value, *target;
    double *row;
    tdText text;
};

// ---------------------------------------------------------------- what the state says

double td_effector_error(const tdModel *model, const tdState *state, int effector)
{
    const tdEffector *e = &model->effectors[effector];
    double value[3], target[3], error[3] = {0}, sum = 0;
    if (!td_state_target(model, state, effector, target))
        return NAN;
    td_state_effector(model, state, effector, value);
    td_measure_error(e->measure.kind, value, target, error);
    for (int r = 0; r < e->measure.rows; r++)
        if (e->given->kind != TD_EFFECTOR_POSITION || (e->given->axes >> r & 1) != 0)
            sum += error[r] * error[r];
    return sqrt(sum);
}

static bool outside(double value, const double limit[2])
{
    return value < limit[0] || value > limit[1];
}

// At a stop an actuator does less than it is asked to, by more than Newton leaves; nodes that are moved, by more than
// one linearization leaves.
static bool stopped(const tdState *state, const tdActuator *actuator, int a)
{
    const tdConstraintState *cs = state->constraint;
    const double *travel = cs->travel_limit + 2 * a;
    double given = fabs(cs->given[a]), tolerance = actuator->held && !state->newton ? 0.01 : 1e-5;
    bool stops = isfinite(travel[0]) || isfinite(travel[1]);
    return stops && given > 0 && fabs(cs->effort[a] - cs->given[a]) > tolerance * given;
}

// A slack cable is at its least tension, none; that is no lack of force.
static bool saturated(const tdModel *model, const tdState *state, int a)
{
    const tdConstraintState *cs = state->constraint;
    const tdActuator *actuator = &model->actuators[a];
    double set = state->override[actuator->input];
    double wanted = isnan(set) ? td_input_value(model, actuator->input, state->time) : set;
    const double *effort = cs->effort_limit + 2 * a;
    int bound = actuator->held ? 0 : td_bound_of(effort, cs->effort[a], fabs(cs->effort[a]));
    bool pushed = bound != 0 && effort[bound < 0 ? 0 : 1] != 0;
    switch (cs->role[a])
    {
    case TD_ROLE_EFFORT: return outside(state->input[actuator->input], effort) || stopped(state, actuator, a);
    case TD_ROLE_GAS: return outside(wanted, actuator->given->gas) || pushed;
    case TD_ROLE_DISPLACEMENT: return outside(wanted, cs->travel_limit + 2 * a) || pushed;
    default: return false;
    }
}

int td_actuation_saturated(const tdModel *model, const tdState *state)
{
    for (int a = 0; a < model->n_actuators && state->steps > 0; a++)
        if (saturated(model, state, a))
            return a;
    return -1;
}

// ---------------------------------------------------------------- tables

static void effector_titles(tdText *header, const char *name, const char *what, const tdEffectorInfo *info)
{
    static const char *const axes[] = {".x", ".y", ".z"};
    for (int r = 0; r < info->rows; r++)
    {
        char suffix[32];
        snprintf(suffix, sizeof suffix, "%s%s", what, info->rows == 3 ? axes[r] : "");
        td_csv_title(header, name, suffix, info->unit);
    }
}

static tdStatus open_tables(tdActuationOutput *output, tdError *error)
{
    const tdModel *model = output->model;
    tdText actuators = {0}, effectors = {0};
    for (int a = 0; a < model->n_actuators; a++)
    {
        tdActuatorInfo info = td_model_actuator(model, a);
        td_csv_title(&actuators, info.name, ".effort", info.effort_unit);
        td_csv_title(&actuators, info.name, ".displacement", info.displacement_unit);
    }
    for (int e = 0; e < model->n_effectors; e++)
    {
        tdEffectorInfo info = td_model_effector(model, e);
        effector_titles(&effectors, info.name, "", &info);
        effector_titles(&effectors, info.name, ".target", &info);
        td_csv_title(&effectors, info.name, ".error", info.unit);
    }
    td_csv_title(&effectors, "residual", "", "");
    td_csv_title(&effectors, "out_of_reach", "", "");
    tdStatus status = TD_OK;
    int64_t keep = output->settings.keep;
    if (model->n_actuators > 0)
        status = td_csv_open(output->folder, "actuators.csv", &actuators, keep, &output->actuator_table, error);
    if (status == TD_OK && model->n_effectors > 0)
        status = td_csv_open(output->folder, "effectors.csv", &effectors, keep, &output->effector_table, error);
    free(actuators.data);
    free(effectors.data);
    return status;
}

static tdStatus write_tables(tdActuationOutput *output, const tdState *state, tdError *error)
{
    const tdModel *model = output->model;
    double *row = output->row;
    for (int a = 0; a < model->n_actuators; a++)
    {
        row[2 * a] = output->effort[a];
        row[2 * a + 1] = output->displacement[a];
    }
    if (output->actuator_table != NULL)
        TD_TRY(td_csv_row(output->actuator_table, state->steps, state->time, 2 * model->n_actuators, row, error));
    if (output->effector_table == NULL)
        return TD_OK;
    int n = 0;
    for (int e = 0; e < model->n_effectors; e++)
    {
        int rows = model->effectors[e].measure.rows;
        for (int r = 0; r < rows; r++)
        {
            row[n + r] = output->value[3 * e + r];
            row[n + rows + r] = output->target[3 * e + r];
        }
        n += 2 * rows;
        row[n++] = td_effector_error(model, state, e);
    }
    const tdReport *report = &state->report;
    row[n++] = report->inverse ? report->inverse_residual : NAN;
    row[n++] = report->inverse ? report->out_of_reach : NAN;
    return td_csv_row(output->effector_table, state->steps, state->time, n, row, error);
}

// ---------------------------------------------------------------- cables and cavities

// Files of bodies are called by the body; one may be called like the cables.
static void choose_name(const tdModel *model, const char *name, tdPartSeries *series)
{
    snprintf(series->name, sizeof series->name, "%s", name);
    for (int b = 0; b < model->n_bodies; b++)
    {
        size_t length = strlen(series->name);
        if (strcmp(model->bodies[b].name, series->name) == 0 && length + 2 < sizeof series->name)
        {
            series->name[length] = '_';
            series->name[length + 1] = '\0';
            b = -1;
        }
    }
}

static int64_t cells_of(const tdPartSeries *series, const tdMeasure *measure)
{
    return series->cell == TD_CELL_LINE ? measure->n - 1 : measure->n_tris;
}

// Cells do not change: lines from point to point, or the triangles.
static void fill_cells(const tdModel *model, tdPartSeries *series)
{
    int32_t *node = series->mesh.cells[series->cell].nodes, first = 0;
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdMeasure *measure = &model->actuators[a].measure;
        if (model->actuators[a].given->kind != series->kind)
            continue;
        for (int32_t i = 0; series->cell == TD_CELL_LINE && i + 1 < measure->n; i++)
        {
            *node++ = first + i;
            *node++ = first + i + 1;
        }
        for (int64_t i = 0; series->cell == TD_CELL_TRI && i < 3 * (int64_t)measure->n_tris; i++)
            *node++ = first + measure->tris[i];
        first += measure->n;
    }
}

static tdStatus open_series(tdActuationOutput *output, const char *name, tdPartSeries *series, tdError *error)
{
    const tdModel *model = output->model;
    tdArena *arena = &output->arena;
    tdCells *cells = &series->mesh.cells[series->cell];
    int64_t points = 0;
    for (int a = 0; a < model->n_actuators; a++)
        if (model->actuators[a].given->kind == series->kind)
        {
            points += model->actuators[a].measure.n;
            cells->count += cells_of(series, &model->actuators[a].measure);
        }
    if (points == 0)
        return TD_OK;
    series->mesh.n_nodes = points;
    series->mesh.x = TD_TAKE(arena, double, 3 * points);
    cells->nodes = TD_TAKE(arena, int32_t, 3 * cells->count + 1);
    series->cell_fields = TD_TAKE(arena, double, 3 * cells->count + 1);
    if (points > INT32_MAX || series->mesh.x == NULL || cells->nodes == NULL || series->cell_fields == NULL)
        return td_fail_memory(error, name);
    fill_cells(model, series);
    choose_name(model, name, series);
    char list[320];
    snprintf(list, sizeof list, "%s.pvd", series->name);
    return td_pvd_open(output->folder, list, output->settings.keep, &series->pvd, error);
}

// reads state      writes points, efforts by cell
static void gather(tdActuationOutput *output, tdPartSeries *series, const tdState *state)
{
    const tdModel *model = output->model;
    const tdConstraintState *cs = state->constraint;
    int64_t total = series->mesh.cells[series->cell].count;
    double *x = series->mesh.x, *effort = series->cell_fields;
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdActuator *actuator = &model->actuators[a];
        const tdMeasure *measure = &actuator->measure;
        if (actuator->given->kind != series->kind)
            continue;
        bool cable = series->kind == TD_ACTUATOR_CABLE;
        int64_t n = cells_of(series, measure);
        td_constraint_points(model, state, measure, state->q, x);
        if (cable)
            td_cable_shares(measure, x, actuator->given->friction * cs->slide[a], output->share);
        for (int64_t k = 0; k < n; k++)
        {
            effort[k] = cable ? output->share[k] * cs->effort[a] : cs->effort[a];
            effort[total + k] = cs->displacement[a];
            effort[2 * total + k] = a;
        }
        x += 3 * (int64_t)measure->n;
        effort += n;
    }
}

static tdStatus write_series(tdActuationOutput *output, tdPartSeries *series, const tdState *state, tdError *error)
{
    char name[PATH_MAX], path[PATH_MAX];
    int64_t n = series->mesh.cells[series->cell].count;
    if (series->pvd == NULL)
        return TD_OK;
    if (!td_pvd_name(name, sizeof name, series->name, state->steps) ||
        !td_path_join(path, sizeof path, output->folder, name))
        return td_fail_at(error, TD_ERROR_IO, output->folder, 0, NULL, "the path is too long");
    gather(output, series, state);
    const tdField by_cell[] = {{series->effort, 1, series->cell_fields},
                               {"displacement", 1, series->cell_fields + n},
                               {"actuator", 1, series->cell_fields + 2 * n}};
    tdMeshEncoding encoding = output->settings.compressed ? TD_MESH_COMPRESSED : TD_MESH_BINARY;
    output->text.size = 0;
    TD_TRY(td_mesh_write_vtu(&series->mesh, encoding, 0, NULL, 3, by_cell, &output->text, error));
    if (output->text.failed)
        return td_fail_memory(error, path);
    TD_TRY(td_file_write_quickly(path, output->text.data, (size_t)output->text.size, error));
    td_pvd_add(series->pvd, state->time, 0, series->name, name);
    return td_pvd_frame(series->pvd, error);
}

static tdStatus open_parts(tdActuationOutput *output, tdError *error)
{
    output->cables = (tdPartSeries){.kind = TD_ACTUATOR_CABLE, .cell = TD_CELL_LINE, .effort = "tension"};
    output->cavities = (tdPartSeries){.kind = TD_ACTUATOR_CAVITY, .cell = TD_CELL_TRI, .effort = "pressure"};
    output->share = TD_TAKE(&output->arena, double, output->model->most_points + 1);
    if (output->share == NULL)
        return td_fail_memory(error, "the cables");
    TD_TRY(open_series(output, "cables", &output->cables, error));
    return open_series(output, "cavities", &output->cavities, error);
}

// ---------------------------------------------------------------- life

static tdStatus open_all(tdActuationOutput *output, const char *folder, tdError *error)
{
    const tdModel *model = output->model;
    tdArena *arena = &output->arena;
    int64_t n = model->n_actuators, e = model->n_effectors;
    output->effort = TD_TAKE(arena, double, n + 1);
    output->displacement = TD_TAKE(arena, double, n + 1);
    output->value = TD_TAKE(arena, double, 3 * e + 1);
    output->target = TD_TAKE(arena, double, 3 * e + 1);
    output->row = TD_TAKE(arena, double, 2 * n + 7 * e + 2);
    if (output->effort == NULL || output->displacement == NULL || output->value == NULL || output->target == NULL ||
        output->row == NULL)
        return td_fail_memory(error, "the output of actuators");
    if (!td_path_join(output->folder, sizeof output->folder, ".", folder))
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    if (output->settings.csv)
        TD_TRY(open_tables(output, error));
    return output->settings.vtu ? open_parts(output, error) : TD_OK;
}

tdStatus td_actuation_open(const tdModel *model, const char *folder, const tdActuationSettings *settings,
                           tdActuationOutput **out, tdError *error)
{
    *out = NULL;
    if (model->n_actuators + model->n_effectors == 0)
        return TD_OK;
    tdActuationOutput *output = calloc(1, sizeof *output);
    if (output == NULL)
        return td_fail_memory(error, "the output of actuators");
    output->model = model;
    output->settings = *settings;
    tdStatus status = open_all(output, folder, error);
    if (status != TD_OK)
        td_actuation_close(output, NULL);
    else
        *out = output;
    return status;
}

tdStatus td_actuation_frame(tdActuationOutput *output, const tdState *state, tdActuationFrame *frame, tdError *error)
{
    const tdModel *model = output->model;
    for (int a = 0; a < model->n_actuators; a++)
    {
        tdActuation actuation = td_state_actuation(model, state, a);
        output->effort[a] = actuation.effort;
        output->displacement[a] = actuation.displacement;
    }
    for (int e = 0; e < model->n_effectors; e++)
    {
        double value[3], target[3];
        bool has_target = td_state_target(model, state, e, target);
        td_state_effector(model, state, e, value);
        for (int r = 0; r < 3; r++)
        {
            bool row = r < model->effectors[e].measure.rows;
            output->value[3 * e + r] = row ? value[r] : NAN;
            output->target[3 * e + r] = row && has_target ? target[r] : NAN;
        }
    }
    *frame = (tdActuationFrame){output->effort, output->displacement, output->value, output->target};
    if (output->settings.csv)
        TD_TRY(write_tables(output, state, error));
    TD_TRY(write_series(output, &output->cables, state, error));
    return write_series(output, &output->cavities, state, error);
}

tdStatus td_actuation_flush(tdActuationOutput *output, tdError *error)
{
    if (output == NULL)
        return TD_OK;
    TD_TRY(td_csv_flush(output->actuator_table, error));
    return td_csv_flush(output->effector_table, error);
}

tdStatus td_actuation_close(tdActuationOutput *output, tdError *error)
{
    if (output == NULL)
        return TD_OK;
    tdError later = {0};
    tdStatus status = td_pvd_close(output->cables.pvd, error);
    tdStatus second = td_pvd_close(output->cavities.pvd, status == TD_OK ? error : &later);
    status = status == TD_OK ? second : status;
    tdCsv *tables[] = {output->actuator_table, output->effector_table};
    for (int i = 0; i < 2; i++)
    {
        tdStatus closed = td_csv_close(tables[i], status == TD_OK ? error : &later);
        status = status == TD_OK ? closed : status;
    }
    free(output->text.data);
    td_arena_free(&output->arena);
    free(output);
    return status;
}
