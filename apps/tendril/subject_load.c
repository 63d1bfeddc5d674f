// SPDX-License-Identifier: Apache-2.0
// What `render` draws of a file: a scene is simulated, frames of a folder are read.
#include "subject_load.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/vector.h"
#include "cli.h"
#include "output/pvd.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tdStatus read_picture(tdPicture *p, const char *path, tdError *error)
{
    TD_TRY(td_picture_read(p, path, error));
    if (p->mesh.notes != NULL && !cli_quiet())
        fprintf(stderr, "%s: %s\n", path, p->mesh.notes);
    return TD_OK;
}

// ---------------------------------------------------------------- scenes

static tdStatus simulate(const char *path, const tdModel *model, tdState *state, const tdSubjectSettings *settings,
                         tdError *error)
{
    double steps =
        isnan(settings->time) ? (double)settings->step : nearbyint(settings->time / td_model_time_step(model));
    if (!(steps <= 1e9))
        return td_fail_at(error, TD_ERROR_USAGE, path, 0, "--time", "%g s are more than 1e9 steps of the scene",
                          settings->time);
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

static tdStatus load_scene(tdSubject *s, const tdSubjectSettings *settings, tdError *error)
{
    tdSettings model_settings = cli_settings();
    tdModel *model = NULL;
    tdState *state = NULL;
    TD_TRY(td_model_load(s->path, &model_settings, &model, error));
    tdStatus status = td_state_create(model, &model_settings, &state, error);
    if (status == TD_OK)
        status = simulate(s->path, model, state, settings, error);
    if (status == TD_OK)
        status = td_subject_take(s, s->path, model, state, settings, error);
    td_state_free(state);
    td_model_free(model);
    return status;
}

// ---------------------------------------------------------------- folders

static tdStatus read_bodies(tdSubject *s, const char *list, int64_t step, tdError *error)
{
    char name[NAME_MAX + 1], path[PATH_MAX];
    int64_t found = 0;
    double time = NAN;
    for (const char *at = list; td_pvd_next(list, &at, name, sizeof name, &found, &time);)
    {
        if (found != step)
            continue;
        tdPicture *p = td_subject_add_picture(s);
        if (p == NULL || !td_path_join(path, sizeof path, s->path, name))
            return td_fail_memory(error, s->path);
        TD_TRY(read_picture(p, path, error));
        TD_TRY(td_picture_surface(p, path, error));
    }
    return TD_OK;
}

// The file of the cables or cavities at a step; false: there is none.
static bool part_path(const tdSubject *s, const char *series, int64_t step, char *path, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "%s.pvd", series);
    return td_path_join(path, size, s->path, name) && access(path, F_OK) == 0 &&
           td_pvd_name(name, sizeof name, series, step) && td_path_join(path, size, s->path, name) &&
           access(path, F_OK) == 0;
}

static tdStatus read_cables(tdSubject *s, int64_t step, tdError *error)
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
        good = td_subject_add_segment(s, a, b, known ? tension->data[before + i] : NAN);
    }
    td_picture_free(&p);
    return good ? status : td_fail_memory(error, "the cables");
}

static tdStatus read_cavities(tdSubject *s, int64_t step, tdError *error)
{
    char path[PATH_MAX];
    if (!part_path(s, "cavities", step, path, sizeof path))
        return TD_OK;
    tdPicture p = {0};
    tdStatus status = read_picture(&p, path, error);
    const tdCells *tris = &p.mesh.cells[TD_CELL_TRI];
    bool good = true;
    if (status == TD_OK)
        good = td_mark_triangles(&s->cavities, p.mesh.n_nodes, p.mesh.x, tris->count, tris->nodes, 0);
    td_picture_free(&p);
    return good ? status : td_fail_memory(error, "the cavities");
}

static double subject_field(const char *line, int column)
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
static tdStatus read_positions(tdSubject *s, const char *file, int64_t step, const char *ending,
                               bool (*add)(tdSubject *s, const double x[3], bool target), tdError *error)
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

static bool add_effector_or_target(tdSubject *s, const double x[3], bool target)
{
    return target ? td_subject_add_target(s, x) : td_subject_add_effector(s, x);
}

static bool add_probe_of_table(tdSubject *s, const double x[3], bool target)
{
    (void)target;
    return td_subject_add_probe(s, x);
}

static tdStatus read_effectors(tdSubject *s, int64_t step, tdError *error)
{
    return read_positions(s, "effectors.csv", step, ".x [m]", add_effector_or_target, error);
}

static tdStatus read_probes(tdSubject *s, int64_t step, tdError *error)
{
    TD_TRY(read_positions(s, "probes.csv", step, "_x [m]", add_probe_of_table, error));
    if (s->n_probes == 0)
        return td_fail_at(error, TD_ERROR_INPUT, s->path, 0, "--probes",
                          "there are no probes of step %" PRId64
                          " in a probes.csv; give the scene probes, and csv among its formats",
                          step);
    return TD_OK;
}

// The frame that is meant: its step, with its time. Nothing that was asked for is replaced by something far from it.
static tdStatus choose_frame(tdSubject *s, const char *path, const char *list, const tdSubjectSettings *settings,
                             tdError *error)
{
    char name[NAME_MAX + 1];
    int64_t last = -1, found = 0;
    double last_time = NAN, time = NAN;
    s->step = -1;
    s->time = NAN;
    for (const char *at = list; td_pvd_next(list, &at, name, sizeof name, &found, &time);)
    {
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
                          "there is no frame at %g s; the last one is at %g s", settings->time, last_time);
    if (s->step < 0)
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, "--step",
                          "there is no frame of step %ld; the last one is %" PRId64, settings->step, last);
    return TD_OK;
}

// ---------------------------------------------------------------- planes and contacts of a folder

bool subject_is_plane(const tdPicture *p)
{
    double u[2][3], square[2] = {0, 0}, dot = 0;
    for (int e = 0; e < 2 && p->n_tris == 2; e++)
        for (int k = 0; k < 3; k++)
        {
            const int32_t *t = p->tris;
            u[e][k] = p->mesh.x[3 * (int64_t)t[e + 1] + k] - p->mesh.x[3 * (int64_t)t[e] + k];
            square[e] += u[e][k] * u[e][k];
            dot += e == 1 ? u[0][k] * u[1][k] : 0;
        }
    return p->n_tris == 2 && fabs(square[0] - 4) < 1e-9 && fabs(square[1] - 4) < 1e-9 && fabs(dot) < 1e-9;
}

static bool subject_draw_planes(tdSubject *s)
{
    bool good = true;
    for (int i = s->n_pictures - 1; i >= 0 && s->n_pictures > 1 && good; i--)
    {
        tdPicture p = s->pictures[i];
        double at[3] = {0, 0, 0}, a[3], b[3], normal[3];
        if (!subject_is_plane(&p))
            continue;
        for (int k = 0; k < 3; k++)
        {
            const double *x0 = p.mesh.x + 3 * (int64_t)p.tris[0], *x1 = p.mesh.x + 3 * (int64_t)p.tris[1],
                         *x2 = p.mesh.x + 3 * (int64_t)p.tris[2];
            at[k] = x1[k];
            a[k] = x1[k] - x0[k];
            b[k] = x2[k] - x1[k];
        }
        td_cross3(a, b, normal);
        memmove(&s->pictures[i], &s->pictures[i + 1], (size_t)(s->n_pictures - i - 1) * sizeof p);
        s->n_pictures--;
        td_picture_free(&p);
        good = td_subject_floor(s, at, normal);
    }
    return good;
}

// Points of contacts.csv; there may be none.
static tdStatus subject_read_contacts(tdSubject *s, int64_t step, tdError *error)
{
    char path[PATH_MAX], *table = NULL;
    size_t size = 0;
    double *points = NULL;
    int64_t n = 0, capacity = 0;
    bool good = true;
    if (!td_path_join(path, sizeof path, s->path, "contacts.csv") || access(path, F_OK) != 0)
        return TD_OK;
    TD_TRY(td_file_read(path, &table, &size, error));
    for (const char *line = strchr(table, '\n'); line != NULL && *++line != '\0' && good; line = strchr(line, '\n'))
    {
        if (strtoll(line, NULL, 10) != step)
            continue;
        good = td_grow((void **)&points, &capacity, 6 * (n + 1), sizeof *points);
        for (int k = 0; k < 6 && good; k++)
            points[6 * n + k] = subject_field(line, k < 3 ? 6 + k : 10 + k);
        n++;
    }
    good = good && td_subject_forces(s, n, points);
    free(points);
    free(table);
    return good ? TD_OK : td_fail_memory(error, "the contacts");
}

tdStatus subject_list(const char *folder, char *path, char **list, tdError *error)
{
    size_t size = 0;
    if (!td_path_join(path, PATH_MAX, folder, "run.pvd"))
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    if (access(path, F_OK) != 0)
        return td_fail_at(error, TD_ERROR_INPUT, folder, 0, NULL,
                          "there is no run.pvd in this folder; give one that 'tendril run --out' wrote with VTU files");
    return td_file_read(path, list, &size, error);
}

tdStatus subject_span(const char *folder, double span[2], tdError *error)
{
    char path[PATH_MAX], name[NAME_MAX + 1], *list = NULL;
    int64_t step = 0;
    double time = NAN;
    struct stat info;
    if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))
        return td_fail_at(error, TD_ERROR_USAGE, folder, 0, "--movie",
                          "is for the folder of a run; 'tendril run SCENE --out DIR' writes one");
    TD_TRY(subject_list(folder, path, &list, error));
    span[0] = INFINITY;
    span[1] = -INFINITY;
    for (const char *at = list; td_pvd_next(list, &at, name, sizeof name, &step, &time);)
    {
        span[0] = fmin(span[0], time);
        span[1] = fmax(span[1], time);
    }
    free(list);
    if (!(span[1] > span[0]))
        return td_fail_at(error, TD_ERROR_INPUT, path, 0, "--movie",
                          "there are not two frames in the folder; let the run write more ('--every N')");
    return TD_OK;
}

static tdStatus load_folder(tdSubject *s, const tdSubjectSettings *settings, tdError *error)
{
    char path[PATH_MAX], *list = NULL;
    if (settings->supports || settings->domain)
        return td_fail_at(error, TD_ERROR_USAGE, s->path, 0, settings->supports ? "--supports" : "--domain",
                          "the files of a run do not hold this; give the scene, with --step or --time");
    TD_TRY(subject_list(s->path, path, &list, error));
    tdStatus status = choose_frame(s, path, list, settings, error);
    if (status == TD_OK)
        status = read_bodies(s, list, s->step, error);
    free(list);
    TD_TRY(status);
    if (!subject_draw_planes(s))
        return td_fail_memory(error, s->path);
    td_subject_set_radius(s);
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

tdStatus subject_load(tdSubject *s, const char *path, const tdSubjectSettings *settings, tdError *error)
{
    char extension[16];
    struct stat info;
    *s = (tdSubject){.path = path, .step = -1, .time = NAN};
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
    tdPicture *p = td_subject_add_picture(s);
    if (p == NULL)
        return td_fail_memory(error, path);
    TD_TRY(read_picture(p, path, error));
    return td_picture_surface(p, path, error);
}
