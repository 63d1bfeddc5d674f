// SPDX-License-Identifier: Apache-2.0
// The binary messages: topology, frames, fields.
#include "view/describe.h"

#include "body/soft.h"
#include "constraint/constraint.h"
#include "reduce/reduced_body.h"

#include <math.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the messages of the viewer are little endian, and are written as they lie in memory"
#endif

// ---------------------------------------------------------------- parts

typedef struct header
{
    uint32_t kind, generation;
    int64_t step;
    double time;
    uint32_t sections, extra;
} header;
_Static_assert(sizeof(header) == 32, "as documented");

static int64_t open_message(tdText *out, enum tdViewBinary kind, uint32_t generation, int64_t step, double time,
                            uint32_t extra)
{
    header h = {kind, generation, step, time, 0, extra};
    int64_t at = out->size;
    td_text_append(out, &h, sizeof h);
    return at;
}

// Begins a section of count x width words and returns where they go; NULL when memory ran out or there are none.
static void *open_section(tdText *out, int64_t message, enum tdViewSection type, int index, int64_t count,
                          int64_t width)
{
    const uint32_t head[4] = {type, (uint32_t)index, (uint32_t)count, (uint32_t)width};
    td_text_append(out, head, sizeof head);
    int64_t bytes = 4 * count * width;
    if (out->failed || !td_grow((void **)&out->data, &out->capacity, out->size + bytes + 1, 1))
    {
        out->failed = true;
        return NULL;
    }
    ((header *)(out->data + message))->sections++;
    void *words = out->data + out->size;
    out->size += bytes;
    out->data[out->size] = '\0';
    return count * width == 0 ? NULL : words;
}

// ---------------------------------------------------------------- topology

static void add_mesh(const tdViewStage *stage, int m, int64_t message, tdText *out)
{
    const tdViewMesh *mesh = &stage->meshes[m];
    const tdBody *body = &stage->model->bodies[mesh->body];
    uint32_t *tris = open_section(out, message, TD_VIEW_TRIANGLES, m, mesh->n_triangles, 3);
    if (tris != NULL)
        memcpy(tris, mesh->triangles, 12 * (size_t)mesh->n_triangles);
    float *rest = open_section(out, message, TD_VIEW_REST, m, mesh->n_vertices, 3);
    for (int32_t i = 0; rest != NULL && i < mesh->n_vertices; i++)
    {
        double x[3];
        td_view_vertex_rest(stage, mesh, i, x);
        for (int c = 0; c < 3; c++)
            rest[3 * (int64_t)i + c] = (float)x[c];
    }
    if (mesh->modal)
    {
        int n = td_reduced_of(body)->n;
        float *modes = open_section(out, message, TD_VIEW_MODES, m, n, 3 * (int64_t)mesh->n_vertices);
        for (int j = 0; modes != NULL && j < n; j++)
            for (int64_t i = 0; i < 3 * (int64_t)mesh->n_vertices; i++)
                *modes++ = (float)td_view_vertex_mode(stage, mesh, (int32_t)(i / 3), (int)(i % 3), j);
    }
    if (mesh->kind != TD_VIEW_SURFACE)
        return;
    uint32_t *fixed = open_section(out, message, TD_VIEW_FIXED, m, mesh->n_fixed, 1);
    if (fixed != NULL)
        memcpy(fixed, mesh->fixed, 4 * (size_t)mesh->n_fixed);
}

void td_view_topology(const tdViewStage *stage, tdText *out)
{
    int64_t message = open_message(out, TD_VIEW_TOPOLOGY, stage->generation, 0, 0, 0);
    for (int m = 0; m < stage->n_meshes && !out->failed; m++)
        add_mesh(stage, m, message, out);
}

// ---------------------------------------------------------------- frames

// Positions of a mesh that clients do not expand themselves.
static void fill_positions(const tdViewStage *stage, const tdViewMesh *mesh, const double *all, float *out)
{
    const tdBody *body = &stage->model->bodies[mesh->body];
    const double *q = all + body->first;
    if (mesh->nodes != NULL && body->count == 3 * body->nodes)
    {
        for (int64_t i = 0; i < 3 * (int64_t)mesh->n_vertices; i++)
            out[i] = (float)q[3 * (int64_t)mesh->nodes[i / 3] + i % 3];
        return;
    }
    for (int32_t i = 0; i < mesh->n_vertices; i++)
    {
        // One point after the other, by what it is made of.
        double one = 1, x[3];
        int32_t start[2] = {0, 1}, node = mesh->nodes == NULL ? 0 : mesh->nodes[i];
        tdPointSet set = {.body = mesh->body, .n = 1, .start = start, .nodes = &node, .weights = &one};
        if (mesh->set != NULL)
        {
            start[1] = mesh->set->start[i + 1] - mesh->set->start[i];
            set.nodes = mesh->set->nodes + mesh->set->start[i];
            set.weights = mesh->set->weights + mesh->set->start[i];
        }
        body->ops->positions(body, NULL, &set, q, x);
        for (int c = 0; c < 3; c++)
            out[3 * (int64_t)i + c] = (float)x[c];
    }
}

static void add_bodies(const tdViewSnapshot *s, int64_t message, tdText *out)
{
    const tdModel *model = s->stage->model;
    for (int b = 0; b < model->n_bodies; b++)
    {
        if (!s->stage->meshes[b].modal)
            continue;
        const tdBody *body = &model->bodies[b];
        float *q = open_section(out, message, TD_VIEW_COORDINATES, b, body->count, 1);
        for (int64_t i = 0; q != NULL && i < body->count; i++)
            q[i] = (float)s->q[body->first + i];
    }
    for (int m = 0; m < s->stage->n_meshes; m++)
    {
        const tdViewMesh *mesh = &s->stage->meshes[m];
        float *x = mesh->modal ? NULL : open_section(out, message, TD_VIEW_POSITIONS, m, mesh->n_vertices, 3);
        if (x != NULL)
            fill_positions(s->stage, mesh, s->q, x);
    }
}

static bool is_cable(const tdActuator *actuator)
{
    return !actuator->held && actuator->measure.kind == TD_MEASURE_LENGTH;
}

static void add_cables(const tdViewSnapshot *s, int64_t message, tdText *out)
{
    const tdModel *model = s->stage->model;
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdMeasure *measure = &model->actuators[a].measure;
        if (!is_cable(&model->actuators[a]))
            continue;
        float *to = open_section(out, message, TD_VIEW_CABLE, a, measure->n, 3);
        for (int k = 0; to != NULL && k < measure->n_sets; k++)
        {
            const tdPointSet *set = &measure->sets[k];
            for (int32_t p = 0; p < set->n; p++)
            {
                double x[3];
                tdPointSet one = *set;
                one.n = 1;
                one.data = NULL; // its tables are of all points
                if (set->body < 0)
                    memcpy(x, set->rest + 3 * (int64_t)p, sizeof x);
                else
                {
                    int32_t start[2] = {0, set->start[p + 1] - set->start[p]};
                    one.start = start;
                    one.nodes = set->nodes + set->start[p];
                    one.weights = set->weights + set->start[p];
                    const tdBody *body = &model->bodies[set->body];
                    body->ops->positions(body, NULL, &one, s->q + body->first, x);
                }
                for (int c = 0; c < 3; c++)
                    *to++ = (float)x[c];
            }
        }
    }
}

static void add_control(const tdViewSnapshot *s, int64_t message, tdText *out)
{
    const tdModel *model = s->stage->model;
    float *to = open_section(out, message, TD_VIEW_ACTUATORS, 0, model->n_actuators, 3);
    for (int a = 0; to != NULL && a < model->n_actuators; a++)
    {
        *to++ = (float)s->actuators[a].effort;
        *to++ = (float)s->actuators[a].displacement;
        *to++ = (float)s->actuators[a].value;
    }
    to = open_section(out, message, TD_VIEW_EFFECTORS, 0, model->n_effectors, 7);
    for (int e = 0; to != NULL && e < model->n_effectors; e++)
    {
        for (int c = 0; c < 3; c++)
            *to++ = (float)s->effectors[e].value[c];
        for (int c = 0; c < 3; c++)
            *to++ = (float)s->effectors[e].target[c];
        *to++ = (float)s->effectors[e].error;
    }
    to = open_section(out, message, TD_VIEW_PROBES, 0, model->n_probes, 3);
    for (int p = 0; to != NULL && p < model->n_probes; p++)
    {
        const tdPointSet *set = &model->probes[p].point;
        const tdBody *body = &model->bodies[set->body];
        double x[3];
        body->ops->positions(body, NULL, set, s->q + body->first, x);
        for (int c = 0; c < 3; c++)
            *to++ = (float)x[c];
    }
}

static void add_springs(const tdViewSnapshot *s, int64_t message, tdText *out)
{
    int n = 0;
    for (int k = 0; k < TD_SPRINGS; k++)
        n += s->springs[k].client != 0;
    float *to = n == 0 ? NULL : open_section(out, message, TD_VIEW_SPRINGS, 0, n, 11);
    for (int k = 0; to != NULL && k < TD_SPRINGS; k++)
    {
        const tdViewPull *pull = &s->springs[k];
        if (pull->client == 0)
            continue;
        *to++ = (float)pull->client;
        for (int c = 0; c < 9; c++)
            *to++ = (float)(c < 3 ? pull->point[c] : c < 6 ? pull->anchor[c - 3] : pull->force[c - 6]);
        *to++ = (float)pull->stiffness;
    }
}

void td_view_frame(const tdViewSnapshot *s, uint32_t number, tdText *out)
{
    int64_t message = open_message(out, TD_VIEW_FRAME, s->stage->generation, s->step, s->time, number);
    add_bodies(s, message, out);
    add_cables(s, message, out);
    add_control(s, message, out);
    add_springs(s, message, out);
    float *to = open_section(out, message, TD_VIEW_TIMING, 0, 4, 1);
    if (to == NULL)
        return;
    to[0] = (float)s->since.steps;
    to[1] = (float)s->since.mean;
    to[2] = (float)s->since.longest;
    to[3] = (float)s->rom_indicator;
}

void td_view_field(const tdViewStage *stage, int64_t step, double time, tdViewField field, float *const *values,
                   tdText *out)
{
    int64_t message = open_message(out, TD_VIEW_FIELDS, stage->generation, step, time, field);
    for (int b = 0; b < stage->model->n_bodies; b++)
    {
        int32_t n = stage->meshes[b].n_vertices;
        float *to = open_section(out, message, TD_VIEW_VALUES, b, n, 1);
        if (to != NULL)
            memcpy(to, values[b], (size_t)n * sizeof *to);
    }
}
