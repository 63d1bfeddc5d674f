// SPDX-License-Identifier: Apache-2.0
#include "output/frames.h"

#include "body/soft.h"
#include "contact/contact.h"
#include "core/parts.h"
#include "output/actuation.h"
#include "output/bonds.h"
#include "output/contacts.h"
#include "output/csv.h"
#include "output/joints.h"
#include "output/pvd.h"
#include "output/sensors.h"
#include "output/supports.h"
#include "output/trajectory.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// What a frame needs of a body beyond the state.
#define MOST_LINK_GROUPS 64 // of a file; `link` tells more of them apart

typedef struct tdBodyOutput
{
    double *displacement, *von_mises, *energy;
    int64_t cells;       ///< of all types
    int64_t *element;    ///< by cell: the element whose values it shows, -1 = none
    double *cell_fields; ///< 3 * cells: von Mises, energy, link of rigid and articulated bodies
    double *unknown;     ///< NaN a node: reactions of a reduced body, which has none of its nodes; else NULL
} tdBodyOutput;

struct tdOutput
{
    tdArena arena;
    const tdModel *model;
    tdOutputSettings settings;
    char folder[PATH_MAX];
    tdPvd *pvd;
    tdCsv *probe_table, *reaction_table, *report_table, *joint_table, *contact_table, *pair_table, *attachment_table,
        *coupling_table, *sensor_table;
    tdBondFrame bonds;
    tdTrajectory *trajectory;
    tdActuationOutput *actuation; ///< NULL: nothing acts
    tdTotals totals;              ///< since the last frame
    int64_t last_step, frames;
    tdBodyOutput *bodies;
    tdBodyFrame *frame; ///< by body
    int n_supports;
    tdSupport *supports;
    double *probes;    ///< 3 each
    double *reactions; ///< 3 each: bodies, then supports
    int n_joints;
    double *joints; ///< 2 each: position, rate
    int n_sensed;
    double *sensed; ///< values of all sensors
    tdText text;
};

tdOutputSettings td_default_output(const tdModel *model)
{
    const tdSceneOutput *scene = &model->scene.output;
    return (tdOutputSettings){.vtu = scene->vtu, .csv = scene->csv, .hdf5 = scene->hdf5, .keep = -1};
}

// ---------------------------------------------------------------- cells that are no elements

static const int32_t *element_nodes(const tdSoft *soft, int64_t element, int *n)
{
    tdCellType type = TD_CELL_TRI;
    while (element >= soft->element_start[type + 1])
        type++;
    *n = td_cell_nodes(type);
    return soft->mesh.cells[type].nodes + *n * (int64_t)soft->element_cell[element];
}

// Elements at each node: list[start[node] .. start[node + 1]).
static bool elements_at_nodes(tdArena *arena, const tdSoft *soft, int64_t **start, int32_t **list)
{
    int64_t uses = 0;
    int n = 0;
    for (int64_t e = 0; e < soft->elements; e++, uses += n)
        element_nodes(soft, e, &n);
    *start = TD_TAKE(arena, int64_t, soft->n_nodes + 2);
    *list = TD_TAKE(arena, int32_t, uses + 1);
    if (*start == NULL || *list == NULL)
        return false;
    // Counted two places ahead, so that filling leaves the starts in place.
    for (int64_t e = 0; e < soft->elements; e++)
    {
        const int32_t *nodes = element_nodes(soft, e, &n);
        for (int a = 0; a < n; a++)
            (*start)[nodes[a] + 2]++;
    }
    for (int64_t i = 0; i < soft->n_nodes; i++)
        (*start)[i + 2] += (*start)[i + 1];
    for (int64_t e = 0; e < soft->elements; e++)
    {
        const int32_t *nodes = element_nodes(soft, e, &n);
        for (int a = 0; a < n; a++)
            (*list)[(*start)[nodes[a] + 1]++] = (int32_t)e;
    }
    return true;
}

static bool element_has(const tdSoft *soft, int32_t element, const int32_t *nodes, int n)
{
    int m = 0;
    const int32_t *own = element_nodes(soft, element, &m);
    for (int i = 0; i < n; i++)
    {
        bool found = false;
        for (int a = 0; a < m; a++)
            found = found || own[a] == nodes[i];
        if (!found)
            return false;
    }
    return true;
}

// A triangle on the boundary is drawn over the face of its element, so it must show the same value.
static bool map_cells(tdArena *arena, const tdSoft *soft, tdBodyOutput *out)
{
    const tdMesh *mesh = &soft->mesh;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        out->cells += mesh->cells[t].count;
    out->element = TD_TAKE(arena, int64_t, out->cells + 1);
    tdArena scratch = {0};
    int64_t *start = NULL;
    int32_t *list = NULL;
    bool good = out->element != NULL && elements_at_nodes(&scratch, soft, &start, &list);
    int64_t cell = 0, next = 0;
    for (int t = 0; t < TD_CELL_TYPES && good; t++)
    {
        int n = td_cell_nodes((tdCellType)t);
        for (int64_t i = 0; i < mesh->cells[t].count; i++, cell++)
        {
            const int32_t *nodes = mesh->cells[t].nodes + i * n;
            bool own = next < soft->element_start[t + 1] && soft->element_cell[next] == i;
            out->element[cell] = own ? next++ : -1;
            for (int64_t k = start[nodes[0]]; k < start[nodes[0] + 1] && out->element[cell] < 0; k++)
                if (element_has(soft, list[k], nodes, n))
                    out->element[cell] = list[k];
        }
    }
    td_arena_free(&scratch);
    return good;
}

// ---------------------------------------------------------------- open

static tdStatus prepare_bodies(tdOutput *output, tdError *error)
{
    const tdModel *model = output->model;
    tdArena *arena = &output->arena;
    output->bodies = TD_TAKE(arena, tdBodyOutput, model->n_bodies + 1);
    output->frame = TD_TAKE(arena, tdBodyFrame, model->n_bodies + 1);
    output->probes = TD_TAKE(arena, double, 3 * model->n_probes + 1);
    output->n_joints = td_joints(model);
    output->joints = TD_TAKE(arena, double, 2 * output->n_joints + 1);
    output->n_sensed = td_sensor_values(model);
    output->sensed = TD_TAKE(arena, double, output->n_sensed + 1);
    int most = model->n_bodies * model->n_inputs;
    output->supports = TD_TAKE(arena, tdSupport, most + 1);
    output->reactions = TD_TAKE(arena, double, 3 * (model->n_bodies + most) + 1);
    bool good = output->bodies != NULL && output->frame != NULL && output->probes != NULL && output->joints != NULL &&
                output->reactions != NULL && output->supports != NULL && output->sensed != NULL;
    good = good && td_bond_frame_take(arena, model, &output->bonds);
    output->n_supports = good ? td_supports(model, output->supports) : 0;
    for (int b = 0; b < model->n_bodies && good; b++)
    {
        const tdBody *body = &model->bodies[b];
        const tdSoft *soft = body->soft;
        tdBodyOutput *out = &output->bodies[b];
        out->displacement = TD_TAKE(arena, double, 3 * body->nodes);
        out->von_mises = TD_TAKE(arena, double, body->elements + 1);
        out->energy = TD_TAKE(arena, double, body->elements + 1);
        good = out->displacement != NULL && out->von_mises != NULL && out->energy != NULL;
        if (good && body->count != 3 * body->nodes)
        {
            out->unknown = TD_TAKE(arena, double, 3 * body->nodes);
            for (int64_t i = 0; i < 3 * body->nodes && out->unknown != NULL; i++)
                out->unknown[i] = soft->supported ? NAN : 0;
            good = out->unknown != NULL;
        }
        good = good && map_cells(arena, soft, out);
        good = good && (out->cell_fields = TD_TAKE(arena, double, 3 * out->cells + 1)) != NULL;
    }
    return good ? TD_OK : td_fail_memory(error, "the output of a run");
}

static void xyz_titles(tdText *header, const char *name, const char *unit)
{
    td_csv_title(header, name, "_x", unit);
    td_csv_title(header, name, "_y", unit);
    td_csv_title(header, name, "_z", unit);
}

static tdStatus open_tables(tdOutput *output, tdError *error)
{
    const tdModel *model = output->model;
    int64_t keep = output->settings.keep;
    tdText probes = {0}, reactions = {0}, report = {0}, joints = {0}, contacts = {0}, pairs = {0}, attachments = {0},
           couplings = {0}, sensors = {0};
    for (int i = 0; i < model->n_probes; i++)
        xyz_titles(&probes, model->probes[i].name, "m");
    for (int b = 0; b < model->n_bodies; b++)
        xyz_titles(&reactions, model->bodies[b].name, "N");
    for (int i = 0; i < output->n_supports; i++)
    {
        char name[512];
        td_support_name(model, &output->supports[i], name, sizeof name);
        xyz_titles(&reactions, name, "N");
    }
    for (int i = 0; i < TD_TOTALS_COLUMNS; i++)
        td_csv_title(&report, td_totals_name(i), "", td_totals_unit(i));
    td_joint_titles(model, &joints);
    td_contact_titles(&contacts);
    td_contact_pair_titles(&pairs);
    td_attachment_titles(model, &attachments);
    td_coupling_titles(model, &couplings);
    td_sensor_titles(model, &sensors);
    tdStatus status = TD_OK;
    bool touch = td_contact_is_possible(model);
    if (touch)
        status = td_csv_open(output->folder, "contacts.csv", &contacts, keep, &output->contact_table, error);
    if (touch && status == TD_OK)
        status = td_csv_open(output->folder, "contact_pairs.csv", &pairs, keep, &output->pair_table, error);
    if (td_model_attachments(model) > 0 && status == TD_OK)
        status = td_csv_open(output->folder, "attachments.csv", &attachments, keep, &output->attachment_table, error);
    if (td_model_couplings(model) > 0 && status == TD_OK)
        status = td_csv_open(output->folder, "couplings.csv", &couplings, keep, &output->coupling_table, error);
    if (output->n_sensed > 0 && status == TD_OK)
        status = td_csv_open(output->folder, "sensors.csv", &sensors, keep, &output->sensor_table, error);
    if (output->n_joints > 0 && status == TD_OK)
        status = td_csv_open(output->folder, "joints.csv", &joints, keep, &output->joint_table, error);
    if (model->n_probes > 0 && status == TD_OK)
        status = td_csv_open(output->folder, "probes.csv", &probes, keep, &output->probe_table, error);
    if (status == TD_OK)
        status = td_csv_open(output->folder, "reactions.csv", &reactions, keep, &output->reaction_table, error);
    if (status == TD_OK)
        status = td_csv_open(output->folder, "report.csv", &report, keep, &output->report_table, error);
    free(probes.data);
    free(reactions.data);
    free(report.data);
    free(joints.data);
    free(contacts.data);
    free(pairs.data);
    free(attachments.data);
    free(couplings.data);
    free(sensors.data);
    return status;
}

// A folder remembers which scene its run is of. One that goes on must be the same, or tables of two scenes would become
// one; folders without a word of it are of an earlier version.
static tdStatus check_scene(const tdOutput *output, const char *folder, tdError *error)
{
    char path[PATH_MAX], mine[32], *found = NULL;
    size_t size = 0;
    if (!td_path_join(path, sizeof path, folder, ".scene"))
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    int n = snprintf(mine, sizeof mine, "%016" PRIx64 "\n", output->model->scene.hash);
    bool other = output->settings.keep >= 0 && td_file_read(path, &found, &size, NULL) == TD_OK &&
                 (size != (size_t)n || memcmp(found, mine, size) != 0);
    free(found);
    if (other)
        return td_fail_at(error, TD_ERROR_INPUT, folder, 0, NULL,
                          "holds a run of another scene, so this run cannot continue there; give the folder of the run "
                          "that the checkpoint belongs to, or a new one");
    return td_file_write(path, mine, (size_t)n, error);
}

static tdStatus open_files(tdOutput *output, const char *folder, tdError *error)
{
    const tdOutputSettings *settings = &output->settings;
    char path[PATH_MAX];
    if (!td_path_join(output->folder, sizeof output->folder, ".", folder) ||
        !td_path_join(path, sizeof path, folder, "run.h5"))
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    TD_TRY(td_path_make(folder, error));
    td_file_sweep(folder);
    TD_TRY(check_scene(output, folder, error));
    TD_TRY(prepare_bodies(output, error));
    if (settings->vtu)
        TD_TRY(td_pvd_open(folder, "run.pvd", settings->keep, &output->pvd, error));
    if (settings->csv)
        TD_TRY(open_tables(output, error));
    const tdActuationSettings actuation = {settings->vtu, settings->csv, settings->compressed, settings->keep};
    TD_TRY(td_actuation_open(output->model, folder, &actuation, &output->actuation, error));
    if (settings->hdf5)
        TD_TRY(
            td_trajectory_open(output->model, path, settings->compressed, settings->keep, &output->trajectory, error));
    return TD_OK;
}

// The last step that the folder has whole; -1: none.
static int64_t kept_step(const tdOutput *output)
{
    int64_t kept = output->settings.keep;
    if (output->pvd != NULL && td_pvd_kept(output->pvd) < kept)
        kept = td_pvd_kept(output->pvd);
    if (output->report_table != NULL && td_csv_kept(output->report_table) < kept)
        kept = td_csv_kept(output->report_table);
    if (output->trajectory != NULL && td_trajectory_kept(output->trajectory) < kept)
        kept = td_trajectory_kept(output->trajectory);
    return kept;
}

tdStatus td_output_open(const tdModel *model, const char *folder, const tdOutputSettings *settings, tdOutput **out,
                        tdError *error)
{
    *out = NULL;
    tdOutput *output = calloc(1, sizeof *output);
    if (output == NULL)
        return td_fail_memory(error, "the output of a run");
    output->model = model;
    output->settings = *settings;
    output->last_step = -1;
    tdStatus status = open_files(output, folder, error);
    if (status != TD_OK)
    {
        td_output_close(output, NULL);
        return status;
    }
    output->last_step = kept_step(output);
    *out = output;
    return TD_OK;
}

// ---------------------------------------------------------------- frames

void td_output_count(tdOutput *output, const tdReport *report)
{
    td_totals_add(&output->totals, report);
}

// reads state      writes output->frame, displacement, von_mises, energy
static void gather_body(tdOutput *output, tdState *state, int b)
{
    const tdBody *body = &output->model->bodies[b];
    const tdSoft *soft = body->soft;
    tdBodyOutput *out = &output->bodies[b];
    tdBodyFrame *frame = &output->frame[b];
    body->ops->fields(output->model, body, state, out->von_mises, out->energy);
    *frame = (tdBodyFrame){
        body->ops->nodes(output->model, body, state), body->ops->node_velocities(output->model, body, state),
        out->unknown != NULL ? out->unknown : state->reaction + body->first, out->von_mises, out->energy};
    for (int64_t i = 0; i < 3 * body->nodes; i++)
        out->displacement[i] = frame->position[i] - soft->rest[i];
    for (int64_t i = 0; i < out->cells; i++)
    {
        int64_t e = out->element[i];
        out->cell_fields[i] = e < 0 ? 0 : out->von_mises[e];
        out->cell_fields[out->cells + i] = e < 0 ? 0 : out->energy[e];
    }
    // Links are drawn with triangles alone.
    const tdCells *tris = &soft->mesh.cells[TD_CELL_TRI];
    for (int64_t i = 0; body->parts != NULL && i < tris->count; i++)
        out->cell_fields[2 * out->cells + i] = body->parts->of_node[tris->nodes[3 * i]];
}

static tdStatus write_vtu(tdOutput *output, const tdState *state, int b, tdError *error)
{
    const tdBody *body = &output->model->bodies[b];
    const tdSoft *soft = body->soft;
    const tdBodyOutput *out = &output->bodies[b];
    const tdBodyFrame *frame = &output->frame[b];
    char name[PATH_MAX], path[PATH_MAX];
    if (!td_pvd_name(name, sizeof name, body->name, state->steps) ||
        !td_path_join(path, sizeof path, output->folder, name))
        return td_fail_at(error, TD_ERROR_IO, output->folder, 0, NULL, "the path is too long");
    const tdField by_node[] = {
        {"displacement", 3, out->displacement}, {"velocity", 3, frame->velocity}, {"reaction", 3, frame->reaction}};
    const tdField by_cell[] = {{"von_mises", 1, out->cell_fields},
                               {"strain_energy_density", 1, out->cell_fields + out->cells},
                               {"link", 1, out->cell_fields + 2 * out->cells}};
    bool links = body->parts != NULL;
    tdMesh mesh = soft->mesh; // a view: the writer only reads
    mesh.x = (double *)frame->position;
    // Each link is a group, and a group is an array over all cells: of many links that would be most of the file.
    if (links && mesh.n_groups > MOST_LINK_GROUPS)
        mesh.n_groups = 0;
    output->text.size = 0;
    tdMeshEncoding encoding = output->settings.compressed ? TD_MESH_COMPRESSED : TD_MESH_BINARY;
    TD_TRY(td_mesh_write_vtu(&mesh, encoding, 3, by_node, links ? 3 : 2, by_cell, &output->text, error));
    if (output->text.failed)
        return td_fail_memory(error, path);
    TD_TRY(td_file_write_quickly(path, output->text.data, (size_t)output->text.size, error));
    td_pvd_add(output->pvd, state->time, b, body->name, name);
    return TD_OK;
}

static tdStatus write_tables(tdOutput *output, const tdState *state, tdError *error)
{
    const tdModel *model = output->model;
    double row[TD_TOTALS_COLUMNS];
    td_totals_row(&output->totals, row);
    td_joint_values(model, state, output->joints);
    if (output->contact_table != NULL)
        TD_TRY(td_contact_table(output->contact_table, state, error));
    if (output->pair_table != NULL)
        TD_TRY(td_contact_pair_table(output->pair_table, state, error));
    if (output->attachment_table != NULL)
        TD_TRY(td_attachment_row(output->attachment_table, model, state, &output->bonds, error));
    if (output->coupling_table != NULL)
        TD_TRY(td_coupling_row(output->coupling_table, model, state, &output->bonds, error));
    if (output->sensor_table != NULL)
        TD_TRY(td_csv_row(output->sensor_table, state->steps, state->time, output->n_sensed, output->sensed, error));
    if (output->joint_table != NULL)
        TD_TRY(td_csv_row(output->joint_table, state->steps, state->time, 2 * output->n_joints, output->joints, error));
    if (output->probe_table != NULL)
        TD_TRY(td_csv_row(output->probe_table, state->steps, state->time, 3 * model->n_probes, output->probes, error));
    TD_TRY(td_csv_row(output->reaction_table, state->steps, state->time, 3 * (model->n_bodies + output->n_supports),
                      output->reactions, error));
    return td_csv_row(output->report_table, state->steps, state->time, TD_TOTALS_COLUMNS, row, error);
}

tdStatus td_output_frame(tdOutput *output, tdState *state, tdError *error)
{
    const tdModel *model = output->model;
    if (state->steps == output->last_step)
        return TD_OK;
    // Tables need neither nodes nor stresses, which a reduced body has only when it is asked for them.
    for (int b = 0; b < model->n_bodies && (output->pvd != NULL || output->trajectory != NULL); b++)
        gather_body(output, state, b);
    for (int b = 0; b < model->n_bodies; b++)
        td_state_reaction(model, state, b, output->reactions + 3 * (int64_t)b);
    for (int i = 0; i < output->n_supports; i++)
        td_support_force(model, state, &output->supports[i], output->reactions + 3 * (int64_t)(model->n_bodies + i));
    for (int i = 0; i < model->n_probes; i++)
        td_state_probe(model, state, i, output->probes + 3 * (int64_t)i);
    td_bond_frame(model, state, &output->bonds);
    td_sensor_frame(model, state, output->sensed);
    td_state_energy(model, state, &output->totals.kinetic_energy, &output->totals.elastic_energy);
    if (output->pvd != NULL)
    {
        for (int b = 0; b < model->n_bodies; b++)
            TD_TRY(write_vtu(output, state, b, error));
        TD_TRY(td_pvd_frame(output->pvd, error));
    }
    if (output->settings.csv)
        TD_TRY(write_tables(output, state, error));
    tdActuationFrame actuation = {0};
    if (output->actuation != NULL)
        TD_TRY(td_actuation_frame(output->actuation, state, &actuation, error));
    if (output->trajectory != NULL)
        TD_TRY(td_trajectory_frame(output->trajectory, state->steps, state->time, &output->totals, output->frame,
                                   output->probes, &actuation, &output->bonds, output->sensed, state, error));
    output->last_step = state->steps;
    output->frames++;
    output->totals = (tdTotals){0};
    return TD_OK;
}

#define TABLES 9

static void list_tables(const tdOutput *output, tdCsv *tables[TABLES])
{
    tdCsv *all[TABLES] = {output->probe_table,      output->reaction_table, output->report_table,
                          output->joint_table,      output->contact_table,  output->pair_table,
                          output->attachment_table, output->coupling_table, output->sensor_table};
    memcpy(tables, all, sizeof all);
}

tdStatus td_output_flush(tdOutput *output, tdError *error)
{
    tdCsv *tables[TABLES];
    if (output == NULL)
        return TD_OK;
    list_tables(output, tables);
    for (int i = 0; i < TABLES; i++)
        TD_TRY(td_csv_flush(tables[i], error));
    return td_actuation_flush(output->actuation, error);
}

int64_t td_output_frames(const tdOutput *output)
{
    return output->frames;
}

int64_t td_output_last(const tdOutput *output)
{
    return output->last_step;
}

tdStatus td_output_close(tdOutput *output, tdError *error)
{
    if (output == NULL)
        return TD_OK;
    // All are closed; the first failure is told.
    tdError later = {0};
    tdStatus status = td_pvd_close(output->pvd, error);
    tdCsv *tables[TABLES];
    list_tables(output, tables);
    for (int i = 0; i < TABLES; i++)
    {
        tdStatus closed = td_csv_close(tables[i], status == TD_OK ? error : &later);
        status = status == TD_OK ? closed : status;
    }
    tdStatus closed = td_actuation_close(output->actuation, status == TD_OK ? error : &later);
    status = status == TD_OK ? closed : status;
    closed = td_trajectory_close(output->trajectory, status == TD_OK ? error : &later);
    status = status == TD_OK ? closed : status;
    free(output->text.data);
    td_arena_free(&output->arena);
    free(output);
    return status;
}
