// SPDX-License-Identifier: Apache-2.0
#include "subject.h"

#include "base/file.h"
#include "body/soft.h"
#include "cli.h"
#include "constraint/constraint.h"
#include "output/pvd.h"
#include "state.h"

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
        picture_free(&s->pictures[i]);
    free(s->pictures);
    marks_free(&s->cables);
    marks_free(&s->cavities);
    marks_free(&s->effectors);
    marks_free(&s->targets);
    marks_free(&s->supports);
}

static Picture *add_picture(Subject *s)
{
    Picture *more = realloc(s->pictures, ((size_t)s->n_pictures + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    s->pictures = more;
    more[s->n_pictures] = (Picture){0};
    return &more[s->n_pictures++];
}

// Marks follow the size of the bodies.
static void set_radius(Subject *s)
{
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, size = 0;
    for (int p = 0; p < s->n_pictures; p++)
        for (int64_t i = 0; i < 3 * s->pictures[p].mesh.n_nodes; i++)
        {
            lo[i % 3] = fmin(lo[i % 3], s->pictures[p].mesh.x[i]);
            hi[i % 3] = fmax(hi[i % 3], s->pictures[p].mesh.x[i]);
        }
    for (int k = 0; k < 3; k++)
        size += (hi[k] - lo[k]) * (hi[k] - lo[k]);
    s->radius = isfinite(size) ? 0.0045 * sqrt(size) : 0;
}

static bool add_segment(Subject *s, const double a[3], const double b[3], double tension)
{
    s->n_segments++;
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
        good = marks_ball(&s->cables, x + 3 * (int64_t)(measure->n - 1), 2.6 * s->radius, tension);
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
        }
    }
    return good;
}

static tdStatus simulate(const tdModel *model, tdState *state, long step, tdError *error)
{
    while (td_state_steps(state) < step)
    {
        tdStatus status = td_step(model, state);
        if (status != TD_OK)
        {
            *error = td_state_report(state)->error;
            return status;
        }
        cli_progress("simulating", td_state_steps(state), step);
    }
    return TD_OK;
}

static tdStatus take_model(Subject *s, const tdModel *model, tdState *state, const SubjectSettings *settings,
                           tdError *error)
{
    TD_TRY(simulate(model, state, settings->step, error));
    Picture *p = add_picture(s);
    if (p == NULL)
        return td_fail_memory(error, s->path);
    TD_TRY(picture_add_bodies(p, model, state, error));
    TD_TRY(picture_surface(p, s->path, error));
    set_radius(s);
    bool good = true;
    if (settings->marks)
        good = mark_actuators(s, model, state) && mark_effectors(s, model, state);
    if (good && settings->supports)
        good = mark_supports(s, model, state);
    return good ? TD_OK : td_fail_memory(error, "the marks of a scene");
}

static tdStatus load_scene(Subject *s, const SubjectSettings *settings, tdError *error)
{
    tdSettings model_settings = cli_settings();
    tdModel *model = NULL;
    tdState *state = NULL;
    TD_TRY(td_model_load(s->path, &model_settings, &model, error));
    tdStatus status = td_state_create(model, &model_settings, &state, error);
    if (status == TD_OK)
        status = take_model(s, model, state, settings, error);
    td_state_free(state);
    td_model_free(model);
    return status;
}

// ---------------------------------------------------------------- folders

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
        Picture *p = add_picture(s);
        if (p == NULL || !td_path_join(path, sizeof path, s->path, name))
            return td_fail_memory(error, s->path);
        TD_TRY(picture_read(p, path, error));
        TD_TRY(picture_surface(p, path, error));
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
    Picture p = {0};
    tdStatus status = picture_read(&p, path, error);
    const struct tdFieldData *tension = status == TD_OK ? picture_find(&p, "tension") : NULL;
    const tdCells *lines = &p.mesh.cells[TD_CELL_LINE];
    int64_t before = p.mesh.cells[TD_CELL_VERTEX].count;
    bool known = tension != NULL && tension->by_cell && tension->components == 1, good = true;
    for (int64_t i = 0; status == TD_OK && i < lines->count && good; i++)
    {
        const double *a = p.mesh.x + 3 * (int64_t)lines->nodes[2 * i];
        const double *b = p.mesh.x + 3 * (int64_t)lines->nodes[2 * i + 1];
        good = add_segment(s, a, b, known ? tension->data[before + i] : NAN);
    }
    picture_free(&p);
    return good ? status : td_fail_memory(error, "the cables");
}

static tdStatus read_cavities(Subject *s, int64_t step, tdError *error)
{
    char path[PATH_MAX];
    if (!part_path(s, "cavities", step, path, sizeof path))
        return TD_OK;
    Picture p = {0};
    tdStatus status = picture_read(&p, path, error);
    const tdCells *tris = &p.mesh.cells[TD_CELL_TRI];
    bool good = true;
    if (status == TD_OK)
        good = marks_triangles(&s->cavities, p.mesh.n_nodes, p.mesh.x, tris->count, tris->nodes, 0);
    picture_free(&p);
    return good ? status : td_fail_memory(error, "the cavities");
}

// A number of a table that ends at a comma or at the end of the line; NAN where the field is empty.
static double field_of(const char *line, int column)
{
    for (; column > 0; column--)
    {
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

// Positions among the effectors are those of which there is a column "NAME.x [m]"; y and z stand behind it.
static tdStatus read_effectors(Subject *s, int64_t step, tdError *error)
{
    static const char ending[] = ".x [m]", goal[] = ".target.x [m]";
    char path[PATH_MAX], *table = NULL;
    size_t size = 0;
    if (!td_path_join(path, sizeof path, s->path, "effectors.csv") || access(path, F_OK) != 0)
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
        double x[3] = {field_of(row, column), field_of(row, column + 1), field_of(row, column + 2)};
        if (place && isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]))
            good = target ? add_target(s, x) : add_effector(s, x);
        title += n;
        if (*title != ',')
            break;
    }
    free(table);
    return good ? TD_OK : td_fail_memory(error, "the effectors");
}

static tdStatus load_folder(Subject *s, const SubjectSettings *settings, tdError *error)
{
    char path[PATH_MAX], name[NAME_MAX + 1], *list = NULL;
    size_t size = 0;
    if (!td_path_join(path, sizeof path, s->path, "run.pvd"))
        return td_fail_at(error, TD_ERROR_IO, s->path, 0, NULL, "the path is too long");
    if (access(path, F_OK) != 0)
        return td_fail_at(error, TD_ERROR_INPUT, s->path, 0, NULL,
                          "there is no run.pvd in this folder; give one that 'tendril run --out' wrote with VTU files");
    TD_TRY(td_file_read(path, &list, &size, error));
    int64_t step = settings->step, last = -1, found = 0;
    for (const char *at = list; next_entry(&at, name, sizeof name, &found);)
        last = found > last ? found : last;
    if (step < 0)
        step = last;
    tdStatus status = read_bodies(s, list, step, error);
    free(list);
    TD_TRY(status);
    if (last < 0)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, NULL, "lists no frame; let the run write one");
    if (s->n_pictures == 0)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, "--step",
                          "there is no frame of step %" PRId64 "; the last one is %" PRId64, step, last);
    set_radius(s);
    if (!settings->marks)
        return TD_OK;
    TD_TRY(read_cables(s, step, error));
    TD_TRY(read_cavities(s, step, error));
    return read_effectors(s, step, error);
}

tdStatus subject_load(Subject *s, const char *path, const SubjectSettings *settings, tdError *error)
{
    char extension[16];
    struct stat info;
    *s = (Subject){.path = path};
    td_path_extension(extension, sizeof extension, path);
    if (strcmp(extension, ".yaml") == 0 || strcmp(extension, ".yml") == 0)
        return load_scene(s, settings, error);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return load_folder(s, settings, error);
    if (settings->step >= 0)
        return td_fail_at(error, TD_ERROR_USAGE, path, 0, "--step", "is for scenes and folders of runs");
    Picture *p = add_picture(s);
    if (p == NULL)
        return td_fail_memory(error, path);
    TD_TRY(picture_read(p, path, error));
    return picture_surface(p, path, error);
}
