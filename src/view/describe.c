// SPDX-License-Identifier: Apache-2.0
// The binary messages: topology, frames, fields.
#include "view/describe.h"

#include "body/soft.h"
#include "constraint/constraint.h"
#include "core/parts.h"

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

int64_t td_view_open_message(tdText *out, enum tdViewBinary kind, uint32_t generation, int64_t step, double time,
                             uint32_t extra)
{
    header h = {kind, generation, step, time, 0, extra};
    int64_t at = out->size;
    td_text_append(out, &h, sizeof h);
    return at;
}

void *td_view_open_section(tdText *out, int64_t message, enum tdViewSection type, int index, int64_t count,
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
    uint32_t *tris = td_view_open_section(out, message, TD_VIEW_TRIANGLES, m, mesh->n_triangles, 3);
    if (tris != NULL)
        memcpy(tris, mesh->triangles, 12 * (size_t)mesh->n_triangles);
    float *rest = td_view_open_section(out, message, TD_VIEW_REST, m, mesh->n_vertices, 3);
    for (int32_t i = 0; rest != NULL && i < mesh->n_vertices; i++)
    {
        double x[3];
        td_view_vertex_rest(stage, mesh, i, x);
        for (int c = 0; c < 3; c++)
            rest[3 * (int64_t)i + c] = (float)x[c];
    }
    if (mesh->modal)
    {
        int n = body->modes->n;
        float *modes = td_view_open_section(out, message, TD_VIEW_MODES, m, n, 3 * (int64_t)mesh->n_vertices);
        for (int j = 0; modes != NULL && j < n; j++)
            for (int64_t i = 0; i < 3 * (int64_t)mesh->n_vertices; i++)
                *modes++ = (float)td_view_vertex_mode(stage, mesh, (int32_t)(i / 3), (int)(i % 3), j);
    }
    if (mesh->kind != TD_VIEW_SURFACE)
        return;
    uint32_t *fixed = td_view_open_section(out, message, TD_VIEW_FIXED, m, mesh->n_fixed, 1);
    if (fixed != NULL)
        memcpy(fixed, mesh->fixed, 4 * (size_t)mesh->n_fixed);
}

void td_view_topology(const tdViewStage *stage, tdText *out)
{
    int64_t message = td_view_open_message(out, TD_VIEW_TOPOLOGY, stage->generation, 0, 0, 0);
    for (int m = 0; m < stage->n_meshes && !out->failed; m++)
        add_mesh(stage, m, message, out);
}

// ---------------------------------------------------------------- frames

// Positions of a mesh that clients do not expand themselves.
static void fill_positions(const tdViewSnapshot *s, const tdViewMesh *mesh, float *out)
{
    const tdBody *body = &s->stage->model->bodies[mesh->body];
    const double *q = s->q + body->first;
    if (mesh->nodes != NULL && body->count == 3 * body->nodes)
    {
        for (int64_t i = 0; i < 3 * (int64_t)mesh->n_vertices; i++)
            out[i] = (float)q[3 * (int64_t)mesh->nodes[i / 3] + i % 3];
        return;
    }
    for (int32_t i = 0; i < mesh->n_vertices; i++)
    {
        double x[3];
        if (mesh->set != NULL)
            td_view_point(s->stage, s->q, s->poses, mesh->set, i, x);
        else
            td_view_node(s->stage, s->q, s->poses, mesh->body, mesh->nodes[i], x);
        for (int c = 0; c < 3; c++)
            out[3 * (int64_t)i + c] = (float)x[c];
    }
}

// Unit quaternion (x, y, z, w) of a rotation, by its largest component, which no rounding can make small.
static void quaternion(const double R[9], double q[4])
{
    double square[4] = {1 + R[0] - R[4] - R[8], 1 - R[0] + R[4] - R[8], 1 - R[0] - R[4] + R[8], 1 + R[0] + R[4] + R[8]};
    int big = 0;
    for (int k = 1; k < 4; k++)
        big = square[k] > square[big] ? k : big;
    double d = sqrt(square[big]), s = 0.5 / d;
    const double turn[3] = {R[7] - R[5], R[2] - R[6], R[3] - R[1]};
    const double pair[3] = {R[7] + R[5], R[2] + R[6], R[3] + R[1]}; // yz, zx, xy
    for (int k = 0; k < 3; k++)
        q[k] = big == 3 ? s * turn[k] : k == big ? 0.5 * d : s * pair[3 - k - big];
    q[3] = big == 3 ? 0.5 * d : s * turn[big];
}

static void add_poses(const tdViewSnapshot *s, int64_t message, tdText *out)
{
    const tdViewStage *stage = s->stage;
    for (int b = 0; b < stage->model->n_bodies; b++)
    {
        int first = stage->first_pose[b], n = stage->first_pose[b + 1] - first;
        float *to = n == 0 ? NULL : td_view_open_section(out, message, TD_VIEW_POSES, b, n, 7);
        for (int l = 0; to != NULL && l < n; l++)
        {
            const tdPose *pose = &s->poses[first + l];
            double q[4];
            quaternion(pose->R, q);
            for (int c = 0; c < 7; c++)
                *to++ = (float)(c < 3 ? pose->t[c] : q[c - 3]);
        }
    }
}

// Where no vertex of a mesh can ever be elsewhere, and where a pose says it, there is nothing to send.
static bool has_positions(const tdViewStage *stage, const tdViewMesh *mesh)
{
    return !mesh->modal && mesh->pose < 0 && stage->model->bodies[mesh->body].count > 0;
}

static void add_bodies(const tdViewSnapshot *s, int64_t message, tdText *out)
{
    const tdViewStage *stage = s->stage;
    for (int b = 0; b < stage->model->n_bodies; b++)
    {
        if (stage->surface[b] < 0 || !stage->meshes[stage->surface[b]].modal)
            continue;
        const tdBody *body = &stage->model->bodies[b];
        int n = body->modes->n;
        float *q = td_view_open_section(out, message, TD_VIEW_COORDINATES, b, n, 1);
        for (int64_t i = 0; q != NULL && i < n; i++)
            q[i] = (float)s->q[body->first + i];
    }
    add_poses(s, message, out);
    for (int m = 0; m < stage->n_meshes; m++)
    {
        const tdViewMesh *mesh = &stage->meshes[m];
        float *x = has_positions(stage, mesh)
                       ? td_view_open_section(out, message, TD_VIEW_POSITIONS, m, mesh->n_vertices, 3)
                       : NULL;
        if (x != NULL)
            fill_positions(s, mesh, x);
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
        float *to = td_view_open_section(out, message, TD_VIEW_CABLE, a, measure->n, 3);
        for (int k = 0; to != NULL && k < measure->n_sets; k++)
        {
            const tdPointSet *set = &measure->sets[k];
            for (int32_t p = 0; p < set->n; p++)
            {
                double x[3];
                td_view_point(s->stage, s->q, s->poses, set, p, x);
                for (int c = 0; c < 3; c++)
                    *to++ = (float)x[c];
            }
        }
    }
}

static void add_control(const tdViewSnapshot *s, int64_t message, tdText *out)
{
    const tdModel *model = s->stage->model;
    float *to = td_view_open_section(out, message, TD_VIEW_ACTUATORS, 0, model->n_actuators, 3);
    for (int a = 0; to != NULL && a < model->n_actuators; a++)
    {
        *to++ = (float)s->actuators[a].effort;
        *to++ = (float)s->actuators[a].displacement;
        *to++ = (float)s->actuators[a].value;
    }
    to = td_view_open_section(out, message, TD_VIEW_EFFECTORS, 0, model->n_effectors, 7);
    for (int e = 0; to != NULL && e < model->n_effectors; e++)
    {
        for (int c = 0; c < 3; c++)
            *to++ = (float)s->effectors[e].value[c];
        for (int c = 0; c < 3; c++)
            *to++ = (float)s->effectors[e].target[c];
        *to++ = (float)s->effectors[e].error;
    }
    to = td_view_open_section(out, message, TD_VIEW_PROBES, 0, model->n_probes, 3);
    for (int p = 0; to != NULL && p < model->n_probes; p++)
    {
        double x[3];
        td_view_point(s->stage, s->q, s->poses, &model->probes[p].point, 0, x);
        for (int c = 0; c < 3; c++)
            *to++ = (float)x[c];
    }
}

static void add_springs(const tdViewSnapshot *s, int64_t message, tdText *out)
{
    int n = 0;
    for (int k = 0; k < TD_SPRINGS; k++)
        n += s->springs[k].client != 0;
    float *to = n == 0 ? NULL : td_view_open_section(out, message, TD_VIEW_SPRINGS, 0, n, 11);
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

// Where each tool is and where it shall be, and who drives it.
static void add_tools(const tdViewSnapshot *s, int64_t message, tdText *out)
{
    int n = td_view_stage_tools(s->stage);
    float *to = n == 0 ? NULL : td_view_open_section(out, message, TD_VIEW_TOOLS, 0, n, 15);
    for (int t = 0; to != NULL && t < n; t++)
    {
        const tdToolState *tool = &s->tools[t].state;
        const double *place[2] = {tool->position, tool->target}, *turn[2] = {tool->rotation, tool->target_rotation};
        for (int k = 0; k < 2; k++)
        {
            double q[4];
            quaternion(turn[k], q);
            for (int c = 0; c < 7; c++)
                *to++ = (float)(c < 3 ? place[k][c] : q[c - 3]);
        }
        *to++ = (float)s->tools[t].client;
    }
    to = s->stage->n_guides == 0 ? NULL : td_view_open_section(out, message, TD_VIEW_TOOL_FORCES, 0, n, 4);
    for (int t = 0; to != NULL && t < n; t++)
        for (int c = 0; c < 4; c++)
            *to++ = (float)(c < 3 ? s->tools[t].force[c] : s->tools[t].grip);
}

static void add_touches(const tdViewTouch *touches, int n, bool sums, int64_t message, tdText *out)
{
    enum tdViewSection type = sums ? TD_VIEW_PAIR_FORCES : TD_VIEW_CONTACTS;
    float *to = n == 0 ? NULL : td_view_open_section(out, message, type, 0, n, sums ? 11 : 8);
    for (int k = 0; to != NULL && k < n; k++)
    {
        const tdViewTouch *touch = &touches[k];
        for (int c = 0; c < 3; c++)
            *to++ = (float)touch->at[c];
        for (int c = 0; c < 3; c++)
            *to++ = (float)touch->force[c];
        *to++ = (float)touch->body[0];
        *to++ = (float)touch->body[1];
        if (!sums)
            continue;
        *to++ = (float)touch->points;
        *to++ = (float)touch->link[0];
        *to++ = (float)touch->link[1];
    }
}

void td_view_frame(const tdViewSnapshot *s, uint32_t number, tdText *out)
{
    int64_t message = td_view_open_message(out, TD_VIEW_FRAME, s->stage->generation, s->step, s->time, number);
    add_bodies(s, message, out);
    add_cables(s, message, out);
    add_control(s, message, out);
    add_springs(s, message, out);
    add_tools(s, message, out);
    add_touches(s->contact.points, s->contact.n, false, message, out);
    add_touches(s->contact.pairs, s->contact.n_pairs, true, message, out);
    int held = td_model_attachments(s->stage->model);
    float *force = held == 0 ? NULL : td_view_open_section(out, message, TD_VIEW_ATTACHMENTS, 0, held, 6);
    for (int k = 0; force != NULL && k < 6 * held; k++)
        force[k] = (float)s->attachments[k / 6][(k % 6 + 3) % 6]; // the place first
    float *to = td_view_open_section(out, message, TD_VIEW_TIMING, 0, 4, 1);
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
    int64_t message = td_view_open_message(out, TD_VIEW_FIELDS, stage->generation, step, time, field);
    for (int b = 0; b < stage->model->n_bodies; b++)
    {
        if (stage->surface[b] < 0)
            continue;
        int32_t n = stage->meshes[stage->surface[b]].n_vertices;
        float *to = td_view_open_section(out, message, TD_VIEW_VALUES, stage->surface[b], n, 1);
        if (to != NULL)
            memcpy(to, values[b], (size_t)n * sizeof *to);
    }
}
