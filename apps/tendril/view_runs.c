// SPDX-License-Identifier: Apache-2.0
// The frames of a run as the viewer's messages: hello, topology, then for each frame von Mises stress and positions
// (docs/viewer-protocol.md).
#include "view_runs.h"

#include "cli.h"
#include "output/pvd.h"
#include "view/describe.h"
#include "view/recording.h"
#include "view_folder.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES   (192.0 * 1048576) // of a recording, as the page itself records
#define STRESS_FIELD 2                 // index of von Mises stress in hello

// ---------------------------------------------------------------- messages

static void add_hello_bodies(const Player *p, tdJson *json)
{
    td_json_open(json, "bodies", '[');
    for (int b = 0; b < p->n_bodies; b++)
    {
        const Shown *body = &p->bodies[b];
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", body->name);
        td_json_string(json, "kind", body->soft ? "full" : "rigid");
        td_json_bool(json, "fixed", false);
        td_json_integer(json, "nodes", body->nodes);
        td_json_integer(json, "elements", body->elements);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    td_json_open(json, "meshes", '[');
    for (int b = 0; b < p->n_bodies; b++)
    {
        td_json_open(json, NULL, '{');
        td_json_string(json, "kind", p->bodies[b].plane ? "plane" : "surface");
        td_json_integer(json, "body", b);
        td_json_integer(json, "vertices", p->bodies[b].n_vertices);
        td_json_integer(json, "triangles", p->bodies[b].n_triangles);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
}

static void add_hello_points(const Player *p, tdJson *json)
{
    td_json_open(json, "actuators", '[');
    for (int a = 0; a < p->n_actuators; a++)
    {
        const Acting *actuator = &p->actuators[a];
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", actuator->name);
        td_json_string(json, "kind", actuator->points > 0 ? "cable" : "actuator");
        td_json_string(json, "drive", "effort");
        td_json_string(json, "unit", actuator->effort_unit);
        td_json_string(json, "effort_unit", actuator->effort_unit);
        td_json_string(json, "displacement_unit", actuator->displacement_unit);
        td_json_number(json, "low", 0);
        td_json_number(json, "high", 1);
        td_json_bool(json, "driven", true);
        td_json_integer(json, "points", actuator->points);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    for (int kind = 0; kind < 2; kind++)
    {
        td_json_open(json, kind == 0 ? "effectors" : "probes", '[');
        for (int i = 0; i < (kind == 0 ? p->n_effectors : p->n_probes); i++)
        {
            const Point *point = kind == 0 ? &p->effectors[i] : &p->probes[i];
            double rest[3];
            for (int c = 0; c < 3; c++)
                rest[c] = point->x[c] == NULL ? NAN : point->x[c][0];
            td_json_open(json, NULL, '{');
            td_json_string(json, "name", point->name);
            if (kind == 0)
            {
                td_json_string(json, "kind", "position");
                td_json_string(json, "unit", "m");
                td_json_integer(json, "rows", 3);
            }
            td_json_numbers(json, "rest", 3, rest);
            td_json_close(json, '}');
        }
        td_json_close(json, ']');
    }
}

static void add_hello_fields(const Player *p, bool stress, tdJson *json)
{
    static const char *const fields[][3] = {
        {"none", "none", ""}, {"displacement", "displacement", "m"}, {"von_mises", "von Mises stress", "Pa"}};
    td_json_open(json, "fields", '[');
    for (int f = 0; f < (stress ? 3 : 2); f++)
    {
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", fields[f][0]);
        td_json_string(json, "label", fields[f][1]);
        td_json_string(json, "unit", fields[f][2]);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    td_json_string(json, "recorded", stress ? fields[STRESS_FIELD][0] : "");
    td_json_open(json, "contact", '{');
    td_json_bool(json, "possible", p->contacts[0] != NULL);
    td_json_integer(json, "most", 4096);
    td_json_close(json, '}');
    static const char *const refusals[] = {"inverse", "recording"};
    for (int i = 0; i < 2; i++)
    {
        td_json_open(json, refusals[i], '{');
        td_json_bool(json, "possible", false);
        td_json_string(json, "why", "this is a run that has ended");
        td_json_close(json, '}');
    }
}

static bool has_stress(const Player *p)
{
    bool any = false;
    for (int b = 0; b < p->n_bodies; b++)
        any = any || p->bodies[b].soft;
    return any;
}

static void record_hello(const Player *p)
{
    static const double down[3] = {0, 0, 0};
    tdJson json = {0};
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", p->folder);
    for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--)
        folder[n - 1] = '\0';
    const char *slash = strrchr(folder, '/');
    double size = 0;
    for (int c = 0; c < 3; c++)
        size = fmax(size, p->bounds[3 + c] - p->bounds[c]);
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "type", "hello");
    td_json_integer(&json, "protocol", TD_VIEW_PROTOCOL);
    td_json_string(&json, "version", td_version());
    td_json_integer(&json, "generation", 1);
    td_json_integer(&json, "client", 0);
    td_json_string(&json, "scene", slash == NULL ? folder : slash + 1);
    td_json_string(&json, "file", folder);
    td_json_open(&json, "scenes", '[');
    td_json_close(&json, ']');
    td_json_number(&json, "time_step",
                   p->n_frames > 1 ? (p->time[p->n_frames - 1] - p->time[0]) / (p->n_frames - 1) : 1);
    td_json_bool(&json, "static", false);
    td_json_numbers(&json, "gravity", 3, down);
    td_json_number(&json, "size", size);
    td_json_open(&json, "bounds", '[');
    td_json_numbers(&json, NULL, 3, p->bounds);
    td_json_numbers(&json, NULL, 3, p->bounds + 3);
    td_json_close(&json, ']');
    add_hello_bodies(p, &json);
    add_hello_points(p, &json);
    add_hello_fields(p, has_stress(p), &json);
    td_json_close(&json, '}');
    p->out->failed = p->out->failed || json.text.failed;
    if (!p->out->failed)
        td_view_record(p->out, true, 0, json.text.data, (size_t)json.text.size);
    free(json.text.data);
}

static void record_topology(const Player *p)
{
    tdText text = {0};
    int64_t message = td_view_open_message(&text, TD_VIEW_TOPOLOGY, 1, 0, 0, 0);
    for (int b = 0; b < p->n_bodies; b++)
    {
        const Shown *body = &p->bodies[b];
        void *to = td_view_open_section(&text, message, TD_VIEW_TRIANGLES, b, body->n_triangles, 3);
        if (to != NULL)
            memcpy(to, body->triangles, 12 * (size_t)body->n_triangles);
        to = td_view_open_section(&text, message, TD_VIEW_REST, b, body->n_vertices, 3);
        if (to != NULL)
            memcpy(to, body->rest, 12 * (size_t)body->n_vertices);
    }
    p->out->failed = p->out->failed || text.failed;
    if (!p->out->failed)
        td_view_record(p->out, false, 0, text.data, (size_t)text.size);
    free(text.data);
}

// Positions of a body, and its stress into the message of the field.
static tdStatus add_body(const Player *p, int b, const char *file, int64_t at, tdText *frame, int64_t stress_at,
                         tdText *stress, tdError *error)
{
    const Shown *body = &p->bodies[b];
    tdPicture picture = {0};
    tdStatus status = run_part(p, file, &picture, error);
    if (status == TD_OK && picture.mesh.n_nodes != body->nodes)
        status =
            td_fail_at(error, TD_ERROR_INPUT, p->folder, 0, file,
                       "has %" PRId64 " nodes and the first frame of the run %" PRId64 "; give the folder of one run",
                       (int64_t)picture.mesh.n_nodes, body->nodes);
    if (status == TD_OK && body->soft)
        status = td_picture_field(&picture, file, "von_mises", -1, false, false, error);
    float *x = status == TD_OK ? td_view_open_section(frame, at, TD_VIEW_POSITIONS, b, body->n_vertices, 3) : NULL;
    for (int64_t i = 0; x != NULL && i < 3 * (int64_t)body->n_vertices; i++)
        x[i] = (float)picture.mesh.x[3 * (int64_t)body->node[i / 3] + i % 3];
    float *values = status == TD_OK && body->soft
                        ? td_view_open_section(stress, stress_at, TD_VIEW_VALUES, b, body->n_vertices, 1)
                        : NULL;
    for (int32_t v = 0; values != NULL && v < body->n_vertices; v++)
        values[v] = (float)picture.values[body->node[v]];
    td_picture_free(&picture);
    return status;
}

static float value_at(const double *values, int64_t row)
{
    return values == NULL || row < 0 ? NAN : (float)values[row];
}

static void add_values(Player *p, int64_t step, int64_t message, tdText *frame)
{
    int64_t row = run_row(run_table(p, "actuators.csv"), step, &p->row[0]);
    float *to = td_view_open_section(frame, message, TD_VIEW_ACTUATORS, 0, p->n_actuators, 3);
    for (int a = 0; to != NULL && a < p->n_actuators; a++)
    {
        *to++ = value_at(p->actuators[a].effort, row);
        *to++ = value_at(p->actuators[a].displacement, row);
        *to++ = value_at(p->actuators[a].effort, row);
    }
    row = run_row(run_table(p, "effectors.csv"), step, &p->row[1]);
    to = td_view_open_section(frame, message, TD_VIEW_EFFECTORS, 0, p->n_effectors, 7);
    for (int e = 0; to != NULL && e < p->n_effectors; e++)
    {
        for (int c = 0; c < 6; c++)
            *to++ = value_at(c < 3 ? p->effectors[e].x[c] : p->effectors[e].target[c - 3], row);
        *to++ = value_at(p->effectors[e].error, row);
    }
    row = run_row(run_table(p, "probes.csv"), step, &p->row[2]);
    to = td_view_open_section(frame, message, TD_VIEW_PROBES, 0, p->n_probes, 3);
    for (int i = 0; to != NULL && i < p->n_probes; i++)
        for (int c = 0; c < 3; c++)
            *to++ = value_at(p->probes[i].x[c], row);
}

static tdStatus record_frame(Player *p, int f, const char **at, tdError *error)
{
    char file[NAME_MAX + 1];
    int64_t step = p->step[f], found = 0;
    double time = NAN, ms = 1e3 * (p->time[f] - p->time[0]);
    tdText frame = {0}, stress = {0};
    tdStatus status = TD_OK;
    int64_t message = td_view_open_message(&frame, TD_VIEW_FRAME, 1, step, p->time[f], (uint32_t)f + 1);
    int64_t field = td_view_open_message(&stress, TD_VIEW_FIELDS, 1, step, p->time[f], STRESS_FIELD);
    int n = 0;
    for (const char *next = *at; status == TD_OK && td_pvd_next(p->list, &next, file, sizeof file, &found, &time);)
    {
        if (found != step && n > 0)
            break;
        *at = next;
        if (found != step)
            continue;
        int b = run_body(p, file, (size_t)(strrchr(file, '_') - file));
        status = add_body(p, b, file, message, &frame, field, &stress, error);
        n++;
    }
    if (status == TD_OK)
        status = run_add_cables(p, step, message, &frame, error);
    for (int k = 0; k < 2; k++)
        run_add_contacts(p, step, k, message, &frame);
    add_values(p, step, message, &frame);
    p->out->failed = p->out->failed || frame.failed || stress.failed;
    if (status == TD_OK && !p->out->failed && has_stress(p))
        td_view_record(p->out, false, ms, stress.data, (size_t)stress.size);
    if (status == TD_OK && !p->out->failed)
        td_view_record(p->out, false, ms, frame.data, (size_t)frame.size);
    free(frame.data);
    free(stress.data);
    return status;
}

// ---------------------------------------------------------------- a run

static tdStatus record(Player *p, tdError *error)
{
    double bytes = 0;
    for (int b = 0; b < p->n_bodies; b++)
        bytes += 16.0 * p->bodies[b].n_vertices;
    p->stride = (int)fmax(1, ceil(bytes * p->n_frames / MOST_BYTES));
    if (p->stride > 1 && !cli_quiet())
        fprintf(stderr, "%s: one of %d frames is shown, so that the page stays below %.0f MiB\n", p->folder, p->stride,
                MOST_BYTES / 1048576);
    record_hello(p);
    record_topology(p);
    const char *at = p->list;
    for (int f = 0; f < p->n_frames; f += p->stride)
    {
        TD_TRY(record_frame(p, f, &at, error));
        cli_progress("reading", f + 1, p->n_frames);
    }
    return p->out->failed ? td_fail_memory(error, "the frames of a run") : TD_OK;
}

tdStatus runs_read(const char *folder, tdText *recording, tdError *error)
{
    Player p;
    tdStatus status = run_open(&p, folder, error);
    p.out = recording;
    if (status == TD_OK)
        status = record(&p, error);
    run_close(&p);
    return status;
}
