// SPDX-License-Identifier: Apache-2.0
#include "subject.h"

#include "base/file.h"
#include "body/soft.h"
#include "cli.h"
#include "constraint/constraint.h"
#include "core/parts.h"
#include "core/state.h"
#include "mesh/topology.h"
#include "output/pvd.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void subject_free(Subject *s)
{
    for (int i = 0; i < s->n_pictures; i++)
        td_picture_free(&s->pictures[i]);
    free(s->pictures);
    marks_free(&s->cables);
    marks_free(&s->slack);
    marks_free(&s->course);
    marks_free(&s->probes);
    marks_free(&s->domain);
    marks_free(&s->cavities);
    marks_free(&s->effectors);
    marks_free(&s->targets);
    marks_free(&s->supports);
    marks_free(&s->contacts);
    for (int i = 0; i < s->n_parts; i++)
        marks_free(&s->parts[i].marks);
    for (int i = 0; i < s->n_floors; i++)
    {
        marks_free(&s->floors[i].marks);
        free(s->floors[i].edge_mask);
    }
    free(s->parts);
    free(s->floors);
}

static tdPicture *add_picture(Subject *s)
{
    tdPicture *more = realloc(s->pictures, ((size_t)s->n_pictures + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    s->pictures = more;
    more[s->n_pictures] = (tdPicture){0};
    return &more[s->n_pictures++];
}

static tdStatus read_picture(tdPicture *p, const char *path, tdError *error)
{
    TD_TRY(td_picture_read(p, path, error));
    if (p->mesh.notes != NULL && !cli_quiet())
        fprintf(stderr, "%s: %s\n", path, p->mesh.notes);
    return TD_OK;
}

// Marks follow the size of the bodies.
static void set_radius(Subject *s)
{
    double box[6], size = 0;
    bool any = subject_box(s, box);
    for (int k = 0; k < 3 && any; k++)
        size += (box[3 + k] - box[k]) * (box[3 + k] - box[k]);
    s->radius = isfinite(size) ? 0.0045 * sqrt(size) : 0;
}

static void between(const double a[3], const double b[3], double t, double x[3])
{
    for (int k = 0; k < 3; k++)
        x[k] = a[k] + t * (b[k] - a[k]);
}

// Thinner than one that pulls, and dashed.
static bool add_slack(Subject *s, const double a[3], const double b[3])
{
    double length = sqrt((b[0] - a[0]) * (b[0] - a[0]) + (b[1] - a[1]) * (b[1] - a[1]) + (b[2] - a[2]) * (b[2] - a[2]));
    double period = 9 * s->radius;
    int n = period > 0 && length / period < 1000 ? (int)(length / period) + 1 : 1;
    bool good = true;
    for (int i = 0; i < n && good; i++)
    {
        double from[3], to[3];
        between(a, b, (i + 0.2) / n, from);
        between(a, b, (i + 0.8) / n, to);
        good = marks_rod(&s->slack, from, to, 0.75 * s->radius, 0);
    }
    s->n_slack++;
    return good && marks_ball(&s->slack, a, 1.5 * s->radius, 0) && marks_ball(&s->slack, b, 1.5 * s->radius, 0);
}

static bool add_segment(Subject *s, const double a[3], const double b[3], double tension)
{
    s->n_segments++;
    if (s->tension_known && !(tension > 0))
        return add_slack(s, a, b);
    return marks_rod(&s->cables, a, b, s->radius, tension) && marks_ball(&s->cables, a, 1.5 * s->radius, tension) &&
           marks_ball(&s->cables, b, 1.5 * s->radius, tension);
}

static bool add_effector(Subject *s, const double x[3])
{
    s->n_effectors++;
    return marks_ball(&s->effectors, x, 2.6 * s->radius, 0);
}

static bool add_target(Subject *s, const double x[3])
{
    s->n_targets++;
    return marks_cross(&s->targets, x, 9 * s->radius, s->radius);
}

static bool add_probe(Subject *s, const double x[3])
{
    s->n_probes++;
    return marks_ball(&s->probes, x, 2 * s->radius, 0);
}

tdStatus subject_add_path(Subject *s, int64_t n, const double *x, tdError *error)
{
    bool good = true;
    for (int64_t i = 0; i + 1 < n && good; i++)
        good = marks_rod(&s->course, x + 3 * i, x + 3 * (i + 1), 0.7 * s->radius, 0) &&
               marks_ball(&s->course, x + 3 * (i + 1), 0.7 * s->radius, 0);
    return good ? TD_OK : td_fail_memory(error, "a path");
}

// ---------------------------------------------------------------- scenes

// Where a cable leaves for its motor, a larger ball.
static bool mark_cable(Subject *s, const tdActuator *actuator, const double *x, double tension, double slide)
{
    const tdMeasure *measure = &actuator->measure;
    double *share = calloc((size_t)measure->n, sizeof *share);
    bool good = share != NULL;
    if (good)
        td_cable_shares(measure, x, actuator->given->friction * slide, share);
    for (int32_t k = 0; good && k + 1 < measure->n; k++)
        good = add_segment(s, x + 3 * (int64_t)k, x + 3 * (int64_t)(k + 1), share[k] * tension);
    if (good && actuator->given->has_pull)
        good = marks_ball(s->tension_known && !(tension > 0) ? &s->slack : &s->cables,
                          x + 3 * (int64_t)(measure->n - 1), 2.6 * s->radius, tension);
    free(share);
    return good;
}

static bool mark_actuators(Subject *s, const tdModel *model, const tdState *state)
{
    const tdConstraintState *cs = state->constraint;
    bool good = true;
    for (int a = 0; a < model->n_actuators && good; a++)
    {
        const tdActuator *actuator = &model->actuators[a];
        const tdMeasure *measure = &actuator->measure;
        if (actuator->held || (measure->kind != TD_MEASURE_LENGTH && measure->kind != TD_MEASURE_VOLUME))
            continue;
        double *x = calloc((size_t)measure->n, 3 * sizeof *x);
        if (x == NULL)
            return false;
        td_constraint_points(model, state, measure, state->q, x);
        good = measure->kind == TD_MEASURE_LENGTH
                   ? mark_cable(s, actuator, x, cs->effort[a], cs->slide[a])
                   : marks_triangles(&s->cavities, measure->n, x, measure->n_tris, measure->tris, cs->effort[a]);
        free(x);
    }
    return good;
}

// Before the first step the target is that of the scene's start.
static bool target_of(const tdModel *model, const tdState *state, int e, double target[3])
{
    const tdSceneEffector *given = model->effectors[e].given;
    if (td_state_target(model, state, e, target))
        return true;
    for (int k = 0; k < 3 && given->has_target; k++)
        target[k] = given->path == NULL        ? given->target[k]
                    : k < given->path->n_names ? td_motion_value(given->path, k, state->time, 0)
                                               : 0;
    return given->has_target;
}

static bool mark_effectors(Subject *s, const tdModel *model, const tdState *state)
{
    bool good = true;
    for (int e = 0; e < model->n_effectors && good; e++)
    {
        double value[3], target[3];
        if (model->effectors[e].given->kind != TD_EFFECTOR_POSITION)
            continue;
        td_state_effector(model, state, e, value);
        good = add_effector(s, value);
        if (good && target_of(model, state, e, target))
            good = add_target(s, target);
    }
    return good;
}

static bool mark_supports(Subject *s, const tdModel *model, const tdState *state)
{
    bool good = true;
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdSoft *soft = model->bodies[b].soft;
        const double *x = td_state_positions(model, state, b);
        for (int32_t i = 0; i < soft->n_held && good; i++)
        {
            // Coordinates of a node follow each other: the first that is held stands for it.
            int64_t node = soft->held_list[i] / 3;
            if (i > 0 && soft->held_list[i - 1] / 3 == node)
                continue;
            good = marks_ball(&s->supports, x + 3 * node, 1.3 * s->radius, 0);
            s->n_supports++;
        }
    }
    return good;
}

static bool mark_probes(Subject *s, const tdModel *model, const tdState *state)
{
    bool good = true;
    for (int p = 0; p < model->n_probes && good; p++)
    {
        double x[3];
        td_state_probe(model, state, p, x);
        good = add_probe(s, x);
    }
    return good;
}

// The boundary of the elements of a reduced body's domain, as it is now.
static tdStatus mark_domain(Subject *s, const tdModel *model, const tdState *state, const tdBody *body, tdError *error)
{
    const tdSoft *domain = body->modes->domain;
    const tdSoft *soft = body->soft;
    tdMesh few = {0};
    tdSurface surface = {0};
    const double *x = td_state_positions(model, state, body->index);
    bool room = true;
    for (int32_t i = 0; i < soft->n_nodes && room; i++)
        room = td_mesh_add_node(&few, x[3 * i], x[3 * i + 1], x[3 * i + 2]);
    for (int k = 0; k < domain->n_blocks; k++)
        for (int64_t i = 0; i < 4 * (int64_t)domain->blocks[k].batches && room; i++)
        {
            int32_t element = domain->blocks[k].element[i];
            int t = 0;
            while (element >= 0 && t + 1 < TD_CELL_TYPES && element >= soft->element_start[t + 1])
                t++;
            if (element < 0)
                continue;
            int64_t at = (int64_t)soft->element_cell[element] * td_cell_nodes((tdCellType)t);
            room = td_mesh_add_cell(&few, (tdCellType)t, soft->mesh.cells[t].nodes + at);
            s->n_chosen++;
        }
    tdStatus status = room ? td_mesh_boundary_faces(&few, &surface, error) : td_fail_memory(error, "the elements");
    const tdCells *tris = &few.cells[TD_CELL_TRI];
    if (status == TD_OK && !(marks_triangles(&s->domain, few.n_nodes, few.x, surface.n_tris, surface.tris, 0) &&
                             marks_triangles(&s->domain, few.n_nodes, few.x, tris->count, tris->nodes, 0)))
        status = td_fail_memory(error, "the elements");
    td_surface_free(&surface);
    td_mesh_free(&few);
    return status;
}

static tdStatus mark_domains(Subject *s, const tdModel *model, const tdState *state, tdError *error)
{
    for (int b = 0; b < model->n_bodies; b++)
        if (model->bodies[b].modes != NULL)
            TD_TRY(mark_domain(s, model, state, &model->bodies[b], error));
    if (s->n_chosen == 0)
        return td_fail_at(error, TD_ERROR_USAGE, s->path, 0, "--domain",
                          "no body here is reduced to some of its elements; give such a model with --rom FILE");
    return TD_OK;
}

static bool has_cells(const tdMesh *mesh)
{
    int64_t n = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        n += mesh->cells[t].count;
    return n > 0;
}

tdStatus subject_take(Subject *s, const char *path, const tdModel *model, const tdState *state,
                      const SubjectSettings *settings, tdError *error)
{
    *s = (Subject){.path = path, .step = td_state_steps(state), .time = td_state_time(state)};
    s->tension_known = s->step > 0;
    tdPicture *p = add_picture(s);
    if (p == NULL)
        return td_fail_memory(error, s->path);
    TD_TRY(td_picture_add_bodies(p, model, state, !settings->coloured, error));
    bool good = !settings->coloured || subject_links(s, model, state, true);
    // A scene of links alone has no picture beside them.
    if (s->n_parts > 0 && !has_cells(&p->mesh))
    {
        td_picture_free(p);
        s->n_pictures = 0;
    }
    else
        TD_TRY(td_picture_surface(p, s->path, error));
    set_radius(s);
    good = good && subject_links(s, model, state, false);
    if (settings->marks)
        good = good && mark_actuators(s, model, state) && mark_effectors(s, model, state) &&
               subject_contacts(s, model, state);
    if (good && settings->supports)
        good = mark_supports(s, model, state);
    if (good && settings->probes)
        good = mark_probes(s, model, state);
    if (!good)
        return td_fail_memory(error, "the marks of a scene");
    if (settings->probes && s->n_probes == 0)
        return td_fail_at(error, TD_ERROR_USAGE, s->path, 0, "--probes", "the scene has no probes");
    return settings->domain ? mark_domains(s, model, state, error) : TD_OK;
}

static tdStatus simulate(const tdModel *model, tdState *state, const SubjectSettings *settings, tdError *error)
{
    double steps = isnan(settings->time) ? (double)settings->step : nearbyint(settings->time / model->scheme.h);
    if (!(steps <= 1e9))
        return td_fail_at(error, TD_ERROR_USAGE, model->scene.file, 0, "--time",
                          "%g s are more than 1e9 steps of the scene", settings->time);
    while ((double)td_state_steps(state) < steps)
    {
        tdStatus status = td_step(model, state);
        if (status != TD_OK)
        {
            *error = td_state_report(state)->error;
            return status;
        }
        cli_progress("simulating", td_state_steps(state), (int64_t)steps);
    }
    return TD_OK;
}

static tdStatus load_scene(Subject *s, const SubjectSettings *settings, tdError *error)
{
    tdSettings model_settings = cli_settings();
    tdModel *model = NULL;
    tdState *state = NULL;
    TD_TRY(td_model_load(s->path, &model_settings, &model, error));
    tdStatus status = td_state_create(model, &model_settings, &state, error);
    if (status == TD_OK)
        status = simulate(model, state, settings, error);
    if (status == TD_OK)
        status = subject_take(s, s->path, model, state, settings, error);
    td_state_free(state);
    td_model_free(model);
    return status;
}

// ---------------------------------------------------------------- folders

// Time of the entry whose line holds `at`; NAN: not written.
static double entry_time(const char *list, const char *at)
{
    static const char start[] = "timestep=\"";
    while (at > list && at[-1] != '\n')
        at--;
    size_t length = strcspn(at, "\n");
    const char *found = memmem(at, length, start, sizeof start - 1);
    return found == NULL ? NAN : strtod(found + sizeof start - 1, NULL);
}

// The file of the next entry of a list as td_pvd_add() writes it, and its step; false at the end.
static bool next_entry(const char **at, char *name, size_t size, int64_t *step)
{
    static const struct
    {
        const char *text;
        char c;
    } escapes[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&quot;", '"'}};
    while ((*at = strstr(*at, " file=\"")) != NULL)
    {
        const char *c = *at += strlen(" file=\"");
        size_t n = 0;
        while (*c != '\0' && *c != '"' && n + 1 < size)
        {
            char plain = *c;
            size_t length = 1;
            for (int i = 0; i < 3; i++)
                if (strncmp(c, escapes[i].text, strlen(escapes[i].text)) == 0)
                {
                    plain = escapes[i].c;
                    length = strlen(escapes[i].text);
                }
            name[n++] = plain;
            c += length;
        }
        name[n] = '\0';
        const char *number = strrchr(name, '_');
        char *end = NULL;
        *step = number == NULL ? -1 : strtoll(number + 1, &end, 10);
        // Only files beside the list are ours.
        if (number != NULL && end > number + 1 && strcmp(end, ".vtu") == 0 && strchr(name, '/') == NULL && *step >= 0)
            return true;
    }
    return false;
}

static tdStatus read_bodies(Subject *s, const char *list, int64_t step, tdError *error)
{
    char name[NAME_MAX + 1], path[PATH_MAX];
    int64_t found = 0;
    for (const char *at = list; next_entry(&at, name, sizeof name, &found);)
    {
        if (found != step)
            continue;
        tdPicture *p = add_picture(s);
        if (p == NULL || !td_path_join(path, sizeof path, s->path, name))
            return td_fail_memory(error, s->path);
        TD_TRY(read_picture(p, path, error));
        TD_TRY(td_picture_surface(p, path, error));
    }
    return TD_OK;
}

// The file of the cables or cavities at a step; false: there is none.
static bool part_path(const Subject *s, const char *series, int64_t step, char *path, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "%s.pvd", series);
    return td_path_join(path, size, s->path, name) && access(path, F_OK) == 0 &&
           td_pvd_name(name, sizeof name, series, step) && td_path_join(path, size, s->path, name) &&
           access(path, F_OK) == 0;
}

static tdStatus read_cables(Subject *s, int64_t step, tdError *error)
{
    char path[PATH_MAX];
    if (!part_path(s, "cables", step, path, sizeof path))
        return TD_OK;
    tdPicture p = {0};
    tdStatus status = read_picture(&p, path, error);
    const struct tdFieldData *tension = status == TD_OK ? td_picture_find(&p, "tension") : NULL;
    const tdCells *lines = &p.mesh.cells[TD_CELL_LINE];
    int64_t before = p.mesh.cells[TD_CELL_VERTEX].count;
    bool known = tension != NULL && tension->by_cell && tension->components == 1, good = true;
    for (int64_t i = 0; status == TD_OK && i < lines->count && good; i++)
    {
        const double *a = p.mesh.x + 3 * (int64_t)lines->nodes[2 * i];
        const double *b = p.mesh.x + 3 * (int64_t)lines->nodes[2 * i + 1];
        good = add_segment(s, a, b, known ? tension->data[before + i] : NAN);
    }
    td_picture_free(&p);
    return good ? status : td_fail_memory(error, "the cables");
}

static tdStatus read_cavities(Subject *s, int64_t step, tdError *error)
{
    char path[PATH_MAX];
    if (!part_path(s, "cavities", step, path, sizeof path))
        return TD_OK;
    tdPicture p = {0};
    tdStatus status = read_picture(&p, path, error);
    const tdCells *tris = &p.mesh.cells[TD_CELL_TRI];
    bool good = true;
    if (status == TD_OK)
        good = marks_triangles(&s->cavities, p.mesh.n_nodes, p.mesh.x, tris->count, tris->nodes, 0);
    td_picture_free(&p);
    return good ? status : td_fail_memory(error, "the cavities");
}

double subject_field(const char *line, int column)
{
    for (; column > 0; column--)
    {
        if (*line == '"') // a name; a quotation mark in it is there twice
            for (line++; *line != '\0' && *line != '\n' && (*line != '"' || line[1] == '"'); line++)
                line += *line == '"';
        line += strcspn(line, ",\n");
        if (*line != ',')
            return NAN;
        line++;
    }
    char *end = NULL;
    double value = strtod(line, &end);
    return end == line || *line == '\n' ? NAN : value;
}

static const char *row_of_step(const char *table, int64_t step)
{
    for (const char *line = strchr(table, '\n'); line != NULL && *++line != '\0'; line = strchr(line, '\n'))
    {
        char *end = NULL;
        if (strtoll(line, &end, 10) == step && end != line && *end == ',')
            return line;
    }
    return NULL;
}

// Calls `add` for the positions in a table of the folder: columns "NAME.x [m]" or "NAME_x [m]", with y and z behind
// them. There may be no table, and no row of the step.
static tdStatus read_positions(Subject *s, const char *file, int64_t step, const char *ending,
                               bool (*add)(Subject *s, const double x[3], bool target), tdError *error)
{
    static const char goal[] = ".target.x [m]";
    char path[PATH_MAX], *table = NULL;
    size_t size = 0;
    if (!td_path_join(path, sizeof path, s->path, file) || access(path, F_OK) != 0)
        return TD_OK;
    TD_TRY(td_file_read(path, &table, &size, error));
    const char *row = row_of_step(table, step);
    bool good = true;
    int column = 0;
    for (const char *title = table; row != NULL && good; title++, column++)
    {
        size_t n = strcspn(title, ",\n");
        bool place = n > strlen(ending) && memcmp(title + n - strlen(ending), ending, strlen(ending)) == 0;
        bool target = n > strlen(goal) && memcmp(title + n - strlen(goal), goal, strlen(goal)) == 0;
        double x[3] = {subject_field(row, column), subject_field(row, column + 1), subject_field(row, column + 2)};
        if (place && isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]))
            good = add(s, x, target);
        title += n;
        if (*title != ',')
            break;
    }
    free(table);
    return good ? TD_OK : td_fail_memory(error, file);
}

static bool add_effector_or_target(Subject *s, const double x[3], bool target)
{
    return target ? add_target(s, x) : add_effector(s, x);
}

static bool add_probe_of_table(Subject *s, const double x[3], bool target)
{
    (void)target;
    return add_probe(s, x);
}

static tdStatus read_effectors(Subject *s, int64_t step, tdError *error)
{
    return read_positions(s, "effectors.csv", step, ".x [m]", add_effector_or_target, error);
}

static tdStatus read_probes(Subject *s, int64_t step, tdError *error)
{
    TD_TRY(read_positions(s, "probes.csv", step, "_x [m]", add_probe_of_table, error));
    if (s->n_probes == 0)
        return td_fail_at(error, TD_ERROR_INPUT, s->path, 0, "--probes",
                          "there are no probes of step %" PRId64
                          " in a probes.csv; let the scene have probes and csv among its formats",
                          step);
    return TD_OK;
}

// The frame that is meant: its step, with its time. Nothing that was asked for is replaced by something far from it.
static tdStatus choose_frame(Subject *s, const char *path, const char *list, const SubjectSettings *settings,
                             tdError *error)
{
    char name[NAME_MAX + 1];
    int64_t last = -1, found = 0;
    double last_time = NAN;
    s->step = -1;
    s->time = NAN;
    for (const char *at = list; next_entry(&at, name, sizeof name, &found);)
    {
        double time = entry_time(list, at);
        if (found >= last)
            last_time = time;
        last = found > last ? found : last;
        bool nearer = isnan(s->time) || fabs(time - settings->time) < fabs(s->time - settings->time);
        if (isnan(settings->time) ? found == settings->step || (settings->step < 0 && found == last) : nearer)
        {
            s->step = found;
            s->time = time;
        }
    }
    if (last < 0)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "lists no frame; let the run write one");
    if (settings->time > last_time * (1 + 1e-9))
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, "--time",
                          "there is no frame of %g s; the last one is of %g s", settings->time, last_time);
    if (s->step < 0)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, "--step",
                          "there is no frame of step %ld; the last one is %" PRId64, settings->step, last);
    return TD_OK;
}

static tdStatus load_folder(Subject *s, const SubjectSettings *settings, tdError *error)
{
    char path[PATH_MAX], *list = NULL;
    size_t size = 0;
    if (settings->supports || settings->domain)
        return td_fail_at(error, TD_ERROR_USAGE, s->path, 0, settings->supports ? "--supports" : "--domain",
                          "the files of a run do not hold this; give the scene, with --step or --time");
    if (!td_path_join(path, sizeof path, s->path, "run.pvd"))
        return td_fail_at(error, TD_ERROR_IO, s->path, 0, NULL, "the path is too long");
    if (access(path, F_OK) != 0)
        return td_fail_at(error, TD_ERROR_INPUT, s->path, 0, NULL,
                          "there is no run.pvd in this folder; give one that 'tendril run --out' wrote with VTU files");
    TD_TRY(td_file_read(path, &list, &size, error));
    tdStatus status = choose_frame(s, path, list, settings, error);
    if (status == TD_OK)
        status = read_bodies(s, list, s->step, error);
    free(list);
    TD_TRY(status);
    if (!subject_draw_planes(s))
        return td_fail_memory(error, s->path);
    set_radius(s);
    s->tension_known = s->step > 0;
    if (settings->probes)
        TD_TRY(read_probes(s, s->step, error));
    if (!settings->marks)
        return TD_OK;
    TD_TRY(read_cables(s, s->step, error));
    TD_TRY(read_cavities(s, s->step, error));
    TD_TRY(subject_read_contacts(s, s->step, error));
    return read_effectors(s, s->step, error);
}

tdStatus subject_load(Subject *s, const char *path, const SubjectSettings *settings, tdError *error)
{
    char extension[16];
    struct stat info;
    *s = (Subject){.path = path, .step = -1, .time = NAN};
    td_path_extension(extension, sizeof extension, path);
    if (strcmp(extension, ".yaml") == 0 || strcmp(extension, ".yml") == 0)
        return load_scene(s, settings, error);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return load_folder(s, settings, error);
    if (settings->step >= 0 || !isnan(settings->time))
        return td_fail_at(error, TD_ERROR_USAGE, path, 0, settings->step >= 0 ? "--step" : "--time",
                          "is for scenes and folders of runs");
    if (settings->supports || settings->probes || settings->domain)
        return td_fail_at(error, TD_ERROR_USAGE, path, 0,
                          settings->supports ? "--supports"
                          : settings->probes ? "--probes"
                                             : "--domain",
                          "is for scenes; a mesh alone does not hold this");
    tdPicture *p = add_picture(s);
    if (p == NULL)
        return td_fail_memory(error, path);
    TD_TRY(read_picture(p, path, error));
    return td_picture_surface(p, path, error);
}
