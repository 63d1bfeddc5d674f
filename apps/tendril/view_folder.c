// SPDX-License-Identifier: Apache-2.0
#include "view_folder.h"

#include "base/memory.h"
#include "output/pvd.h"
#include "subject_load.h"
#include "view/describe.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---------------------------------------------------------------- frames

static tdStatus list_frames(Player *p, tdError *error)
{
    char file[NAME_MAX + 1];
    int64_t step = 0, room = 0, time_room = 0;
    double time = NAN;
    TD_TRY(subject_list(p->folder, p->list_path, &p->list, error));
    for (const char *at = p->list; td_pvd_next(p->list, &at, file, sizeof file, &step, &time);)
    {
        if (p->n_frames > 0 && p->step[p->n_frames - 1] == step)
            continue;
        if (!td_grow((void **)&p->step, &room, p->n_frames + 1, sizeof *p->step) ||
            !td_grow((void **)&p->time, &time_room, p->n_frames + 1, sizeof *p->time))
            return td_fail_memory(error, "the list of frames");
        p->step[p->n_frames] = step;
        p->time[p->n_frames++] = isfinite(time) ? time : (double)step;
    }
    if (p->n_frames == 0)
        return td_fail_at(error, TD_ERROR_INPUT, p->list_path, 0, NULL, "lists no frame; let the run write one");
    return TD_OK;
}

tdStatus run_part(const Player *p, const char *file, tdPicture *picture, tdError *error)
{
    char path[PATH_MAX];
    if (!td_path_join(path, sizeof path, p->folder, file))
        return td_fail_at(error, TD_ERROR_IO, p->folder, 0, NULL, "the path is too long");
    return td_picture_read(picture, path, error);
}

// ---------------------------------------------------------------- bodies

static int64_t count_elements(const tdMesh *mesh, bool soft)
{
    int64_t n = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        n += td_cell_dim((tdCellType)t) == (soft ? 3 : 2) ? mesh->cells[t].count : 0;
    return n;
}

// The surface, with the nodes that are on it, and where they are at rest.
static tdStatus take_surface(Player *p, Shown *body, const tdPicture *picture, tdError *error)
{
    const tdMesh *mesh = &picture->mesh;
    const struct tdFieldData *way = td_picture_find(picture, "displacement");
    bool moved = way != NULL && !way->by_cell && way->components == 3;
    int32_t *vertex = td_take((size_t)mesh->n_nodes, sizeof *vertex);
    body->soft = td_picture_find(picture, "von_mises") != NULL && td_picture_find(picture, "link") == NULL;
    body->plane = subject_is_plane(picture);
    body->nodes = mesh->n_nodes;
    body->elements = count_elements(mesh, body->soft);
    body->n_triangles = (int32_t)picture->n_tris;
    body->triangles = TD_TAKE(&p->arena, int32_t, 3 * picture->n_tris);
    body->node = TD_TAKE(&p->arena, int32_t, mesh->n_nodes);
    body->rest = TD_TAKE(&p->arena, float, 3 * mesh->n_nodes);
    bool good = vertex != NULL && body->triangles != NULL && body->node != NULL && body->rest != NULL;
    for (int64_t i = 0; good && i < 3 * picture->n_tris; i++)
    {
        int32_t node = picture->tris[i];
        if (vertex[node] == 0)
        {
            body->node[body->n_vertices] = node;
            vertex[node] = ++body->n_vertices;
        }
        body->triangles[i] = vertex[node] - 1;
    }
    for (int32_t v = 0; good && v < body->n_vertices; v++)
        for (int c = 0; c < 3; c++)
        {
            int64_t at = 3 * (int64_t)body->node[v] + c;
            double x = mesh->x[at] - (moved ? way->data[at] : 0);
            body->rest[3 * (int64_t)v + c] = (float)x;
            if (!body->plane)
            {
                p->bounds[c] = fmin(p->bounds[c], x);
                p->bounds[3 + c] = fmax(p->bounds[3 + c], x);
            }
        }
    free(vertex);
    return good ? TD_OK : td_fail_memory(error, p->folder);
}

static tdStatus read_bodies(Player *p, tdError *error)
{
    char file[NAME_MAX + 1];
    int64_t step = 0;
    double time = NAN;
    int n = 0;
    for (const char *at = p->list; td_pvd_next(p->list, &at, file, sizeof file, &step, &time);)
        n += step == p->step[0];
    p->bodies = TD_TAKE(&p->arena, Shown, n);
    if (p->bodies == NULL)
        return td_fail_memory(error, p->folder);
    for (int c = 0; c < 6; c++)
        p->bounds[c] = c < 3 ? INFINITY : -INFINITY;
    for (const char *at = p->list; td_pvd_next(p->list, &at, file, sizeof file, &step, &time) && p->n_bodies < n;)
    {
        if (step != p->step[0])
            continue;
        tdPicture picture = {0};
        Shown *body = &p->bodies[p->n_bodies++];
        tdStatus status = run_part(p, file, &picture, error);
        if (status == TD_OK)
            status = td_picture_surface(&picture, file, error);
        if (status == TD_OK)
            status = take_surface(p, body, &picture, error);
        td_picture_free(&picture);
        TD_TRY(status);
        *strrchr(file, '_') = '\0';
        if ((body->name = td_arena_copy(&p->arena, file)) == NULL)
            return td_fail_memory(error, p->folder);
    }
    if (!(p->bounds[0] <= p->bounds[3])) // planes alone
        for (int c = 0; c < 6; c++)
            p->bounds[c] = c < 3 ? -1 : 1;
    return TD_OK;
}

int run_body(const Player *p, const char *name, size_t length)
{
    for (int b = 0; b < p->n_bodies; b++)
        if (strlen(p->bodies[b].name) == length && memcmp(p->bodies[b].name, name, length) == 0)
            return b;
    return 0;
}

// ---------------------------------------------------------------- tables

const Table *run_table(const Player *p, const char *file)
{
    for (int i = 0; i < p->tables.n; i++)
    {
        const char *slash = strrchr(p->tables.table[i].file, '/');
        if (strcmp(slash == NULL ? p->tables.table[i].file : slash + 1, file) == 0)
            return &p->tables.table[i];
    }
    return NULL;
}

int64_t run_row(const Table *table, int64_t step, int64_t *from)
{
    const tableColumn *steps = table == NULL ? NULL : table_find(table, "step");
    while (steps != NULL && *from < table->rows && steps->values[*from] < (double)step)
        ++*from;
    return steps != NULL && *from < table->rows && steps->values[*from] == (double)step ? *from : -1;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t n = strlen(text), m = strlen(ending);
    return n > m && strcmp(text + n - m, ending) == 0;
}

static const double *component(const Table *table, const char *name, const char *middle, char axis)
{
    char column[300];
    snprintf(column, sizeof column, "%.240s%.20s%c", name, middle, axis);
    const tableColumn *found = table_find(table, column);
    return found != NULL && strcmp(found->unit, "m") == 0 ? found->values : NULL;
}

// Points whose position is in a table: columns NAMEx, NAMEy, NAMEz with `mark` between name and axis.
static bool find_points(Player *p, const char *file, const char *mark, Point **out, int *n)
{
    const Table *table = run_table(p, file);
    char first[8];
    snprintf(first, sizeof first, "%sx", mark);
    *out = TD_TAKE(&p->arena, Point, table == NULL ? 1 : table->n + 1);
    for (int k = 0; table != NULL && *out != NULL && k < table->n; k++)
    {
        const char *title = table->columns[k].name;
        if (!ends_with(title, first) || strcmp(table->columns[k].unit, "m") != 0 || ends_with(title, ".target.x"))
            continue;
        Point *point = &(*out)[(*n)++];
        if ((point->name = td_arena_copy(&p->arena, title)) == NULL)
            return false;
        point->name[strlen(title) - strlen(first)] = '\0';
        for (int c = 0; c < 3; c++)
        {
            point->x[c] = component(table, point->name, mark, (char)('x' + c));
            point->target[c] = component(table, point->name, ".target.", (char)('x' + c));
        }
        char error[300];
        snprintf(error, sizeof error, "%.280s.error", point->name);
        const tableColumn *distance = table_find(table, error);
        point->error = distance == NULL ? NULL : distance->values;
    }
    return *out != NULL;
}

static bool find_actuators(Player *p)
{
    const Table *table = run_table(p, "actuators.csv");
    p->actuators = TD_TAKE(&p->arena, Acting, table == NULL ? 1 : table->n + 1);
    for (int k = 0; table != NULL && p->actuators != NULL && k < table->n; k++)
    {
        const tableColumn *effort = &table->columns[k];
        char column[300];
        if (!ends_with(effort->name, ".effort"))
            continue;
        Acting *actuator = &p->actuators[p->n_actuators++];
        if ((actuator->name = td_arena_copy(&p->arena, effort->name)) == NULL)
            return false;
        *strrchr(actuator->name, '.') = '\0';
        snprintf(column, sizeof column, "%.280s.displacement", actuator->name);
        const tableColumn *displacement = table_find(table, column);
        actuator->effort = effort->values;
        actuator->effort_unit = effort->unit;
        actuator->displacement = displacement == NULL ? NULL : displacement->values;
        actuator->displacement_unit = displacement == NULL ? "m" : displacement->unit;
    }
    return p->actuators != NULL;
}

// ---------------------------------------------------------------- cables

// The cables at a step; false: the run has none there.
static bool cables_at(const Player *p, int64_t step, tdPicture *picture, const double **actuator, tdStatus *status,
                      tdError *error)
{
    char file[64], path[PATH_MAX];
    if (!td_pvd_name(file, sizeof file, "cables", step) || !td_path_join(path, sizeof path, p->folder, file) ||
        access(path, F_OK) != 0)
        return false;
    *status = td_picture_read(picture, path, error);
    const struct tdFieldData *of = *status == TD_OK ? td_picture_find(picture, "actuator") : NULL;
    *actuator =
        of != NULL && of->by_cell && of->components == 1 ? of->data + picture->mesh.cells[TD_CELL_VERTEX].count : NULL;
    return *status == TD_OK && *actuator != NULL;
}

static tdStatus count_cables(Player *p, tdError *error)
{
    tdPicture picture = {0};
    tdStatus status = TD_OK;
    const double *of = NULL;
    if (cables_at(p, p->step[0], &picture, &of, &status, error))
        for (int64_t i = 0; i < picture.mesh.cells[TD_CELL_LINE].count; i++)
            if (of[i] >= 0 && of[i] < p->n_actuators)
            {
                Acting *actuator = &p->actuators[(int)of[i]];
                actuator->points += actuator->points == 0 ? 2 : 1;
            }
    td_picture_free(&picture);
    return status;
}

tdStatus run_add_cables(const Player *p, int64_t step, int64_t message, tdText *frame, tdError *error)
{
    tdPicture picture = {0};
    tdStatus status = TD_OK;
    const double *of = NULL;
    bool any = cables_at(p, step, &picture, &of, &status, error);
    const tdCells *lines = &picture.mesh.cells[TD_CELL_LINE];
    for (int a = 0; any && a < p->n_actuators; a++)
    {
        int points = p->actuators[a].points, n = 0;
        float *to = points == 0 ? NULL : td_view_open_section(frame, message, TD_VIEW_CABLE, a, points, 3);
        for (int64_t i = 0; to != NULL && i < lines->count; i++)
            for (int end = n == 0 ? 0 : 1; (int)of[i] == a && end < 2 && n < points; end++, n++)
                for (int c = 0; c < 3; c++)
                    *to++ = (float)picture.mesh.x[3 * (int64_t)lines->nodes[2 * i + end] + c];
    }
    td_picture_free(&picture);
    return status;
}

// ---------------------------------------------------------------- contacts

// Cell k of a line of a table; quotes around it are left out.
static const char *cell_of(const char *line, int k, size_t *length)
{
    for (;; k--)
    {
        bool quoted = *line == '"';
        const char *from = line + quoted;
        size_t n = strcspn(from, quoted ? "\"\n" : ",\n");
        const char *end = from + n + (quoted && from[n] == '"');
        if (k == 0 || *end != ',')
        {
            *length = k == 0 ? n : 0;
            return from;
        }
        line = end + 1;
    }
}

static double number_of(const char *line, int k)
{
    size_t n = 0;
    const char *text = cell_of(line, k, &n);
    return n == 0 ? NAN : strtod(text, NULL);
}

static tdStatus read_contacts(Player *p, tdError *error)
{
    static const char *const files[] = {"contacts.csv", "contact_pairs.csv"};
    for (int f = 0; f < 2; f++)
    {
        char path[PATH_MAX];
        size_t size = 0;
        if (!td_path_join(path, sizeof path, p->folder, files[f]) || access(path, F_OK) != 0)
            continue;
        TD_TRY(td_file_read(path, &p->contacts[f], &size, error));
        p->contact_row[f] = strchr(p->contacts[f], '\n');
    }
    return TD_OK;
}

void run_add_contacts(Player *p, int64_t step, int f, int64_t message, tdText *frame)
{
    const char *first = p->contact_row[f], *end = NULL;
    int n = 0;
    while (first != NULL && first[1] != '\0' && strtoll(first + 1, NULL, 10) < step)
        first = strchr(first + 1, '\n');
    for (end = first; end != NULL && end[1] != '\0' && strtoll(end + 1, NULL, 10) == step; end = strchr(end + 1, '\n'))
        n++;
    p->contact_row[f] = end;
    enum tdViewSection type = f == 0 ? TD_VIEW_CONTACTS : TD_VIEW_PAIR_FORCES;
    float *to = n == 0 ? NULL : td_view_open_section(frame, message, type, 0, n, f == 0 ? 8 : 11);
    for (const char *row = first; to != NULL && row != end; row = strchr(row + 1, '\n'))
    {
        size_t length[2];
        const char *line = row + 1, *name[2] = {cell_of(line, 2, &length[0]), cell_of(line, 4, &length[1])};
        for (int c = 0; c < 3; c++)
            *to++ = (float)number_of(line, (f == 0 ? 6 : 7) + c);
        for (int c = 0; c < 3; c++)
            *to++ = (float)number_of(line, (f == 0 ? 13 : 10) + c);
        *to++ = (float)run_body(p, name[0], length[0]);
        *to++ = (float)run_body(p, name[1], length[1]);
        if (f == 0)
            continue;
        *to++ = (float)number_of(line, 6);
        *to++ = 0; // links have no names here
        *to++ = 0;
    }
}

// ---------------------------------------------------------------- a run

tdStatus run_open(Player *p, const char *folder, tdError *error)
{
    *p = (Player){.folder = folder};
    TD_TRY(list_frames(p, error));
    TD_TRY(read_bodies(p, error));
    // Tables are not needed: a run may have been asked for VTU files alone.
    tdError none = {0};
    if (tables_read(p->folder, &p->tables, &none) != TD_OK && none.status == TD_ERROR_MEMORY)
        return td_fail_memory(error, "the tables of a run");
    if (!find_actuators(p) || !find_points(p, "probes.csv", "_", &p->probes, &p->n_probes) ||
        !find_points(p, "effectors.csv", ".", &p->effectors, &p->n_effectors))
        return td_fail_memory(error, "the tables of a run");
    TD_TRY(count_cables(p, error));
    return read_contacts(p, error);
}

void run_close(Player *p)
{
    tables_free(&p->tables);
    td_arena_free(&p->arena);
    free(p->list);
    free(p->contacts[0]);
    free(p->contacts[1]);
    free(p->step);
    free(p->time);
}
