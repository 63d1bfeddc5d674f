// SPDX-License-Identifier: Apache-2.0
// The text messages: hello, status, replies.
#include "view/describe.h"

#include "body/soft.h"
#include "core/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct
{
    const char *name, *label, *unit;
} fields[TD_VIEW_FIELD_KINDS] = {
    [TD_VIEW_FIELD_NONE] = {"none", "none", ""},
    [TD_VIEW_FIELD_DISPLACEMENT] = {"displacement", "displacement", "m"},
    [TD_VIEW_FIELD_VON_MISES] = {"von_mises", "von Mises stress", "Pa"},
    [TD_VIEW_FIELD_STRAIN] = {"strain", "equivalent strain", ""},
    [TD_VIEW_FIELD_ENERGY] = {"energy", "strain energy density", "J/m³"},
    [TD_VIEW_FIELD_ERROR] = {"error", "error of the reduced model", "m"},
};

// All of them, or of a scene without reduced bodies all but the last.
static int field_count(const tdViewStage *stage)
{
    return stage->reduced ? TD_VIEW_FIELD_KINDS : TD_VIEW_FIELD_ERROR;
}

const char *td_view_field_name(tdViewField field)
{
    return fields[field].name;
}

int td_view_find_field(const tdViewStage *stage, const char *name)
{
    for (int f = 0; f < field_count(stage); f++)
        if (strcmp(fields[f].name, name) == 0)
            return f;
    return -1;
}

static void null_value(tdJson *json, const char *key)
{
    td_json_number(json, key, NAN);
}

static void optional_index(tdJson *json, const char *key, int index)
{
    if (index < 0)
        null_value(json, key);
    else
        td_json_integer(json, key, index);
}

static void begin(tdJson *json, tdText *out, const char *type)
{
    *json = (tdJson){.text = *out};
    td_json_open(json, NULL, '{');
    td_json_string(json, "type", type);
}

// Length of the UTF-8 sequence at the start of n bytes; 0: there is none.
static int utf8_length(const unsigned char *c, int64_t n)
{
    int length = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
    if (length > n)
        return 0;
    for (int i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    bool odd = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90) ||
               (c[0] == 0xf4 && c[1] > 0x8f);
    return odd ? 0 : length;
}

// A browser closes a socket that sends text which is not UTF-8, and names of files may be any bytes.
static void end(tdJson *json, tdText *out)
{
    td_json_close(json, '}');
    *out = json->text;
    for (int64_t i = 0, n; !out->failed && i < out->size; i += n)
    {
        n = utf8_length((const unsigned char *)out->data + i, out->size - i);
        if (n > 0)
            continue;
        out->data[i] = '?';
        n = 1;
    }
}

// ---------------------------------------------------------------- hello

static void add_bodies(const tdViewStage *stage, tdJson *json)
{
    td_json_open(json, "bodies", '[');
    for (int b = 0; b < stage->model->n_bodies; b++)
    {
        const tdBody *body = &stage->model->bodies[b];
        bool links = stage->surface[b] < 0, modal = !links && stage->meshes[stage->surface[b]].modal;
        const tdBodyModes *modes = modal ? body->modes : NULL;
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", body->name);
        td_json_string(json, "kind", links ? "rigid" : modal ? "reduced" : "full");
        td_json_bool(json, "fixed", links && body->count == 0);
        td_json_integer(json, "nodes", body->nodes);
        td_json_integer(json, "elements", body->elements);
        if (modal)
        {
            td_json_integer(json, "modes", modes->free);
            td_json_integer(json, "moved", modes->given);
            td_json_integer(json, "domain", modes->domain_elements);
            td_json_open(json, "ranges", '[');
            for (int i = 0; i < modes->free; i++)
            {
                const double range[2] = {modes->low == NULL ? NAN : modes->low[i],
                                         modes->high == NULL ? NAN : modes->high[i]};
                td_json_numbers(json, NULL, 2, range);
            }
            td_json_close(json, ']');
        }
        if (links)
        {
            td_json_open(json, "links", '[');
            for (int l = 0; l < body->parts->n; l++)
                td_json_string(json, NULL, body->parts->names[l]);
            td_json_close(json, ']');
        }
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
}

static void add_meshes(const tdViewStage *stage, tdJson *json)
{
    static const char *const kinds[] = {"surface", "domain", "cavity", "plane"};
    td_json_open(json, "meshes", '[');
    for (int m = 0; m < stage->n_meshes; m++)
    {
        const tdViewMesh *mesh = &stage->meshes[m];
        td_json_open(json, NULL, '{');
        td_json_string(json, "kind", kinds[mesh->kind]);
        td_json_integer(json, "body", mesh->body);
        optional_index(json, "actuator", mesh->actuator);
        td_json_integer(json, "vertices", mesh->n_vertices);
        td_json_integer(json, "triangles", mesh->n_triangles);
        optional_index(json, "pose", mesh->pose);
        if (mesh->coloured)
        {
            double colour[4];
            for (int k = 0; k < 4; k++)
                colour[k] = round(1e4 * (double)mesh->colour[k]) / 1e4;
            td_json_numbers(json, "colour", 4, colour);
        }
        else
            null_value(json, "colour");
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
}

static void add_actuators(const tdViewStage *stage, tdJson *json)
{
    const tdModel *model = stage->model;
    td_json_open(json, "actuators", '[');
    for (int a = 0; a < model->n_actuators; a++)
    {
        tdActuatorInfo info = td_model_actuator(model, a);
        bool cable = !model->actuators[a].held && model->actuators[a].measure.kind == TD_MEASURE_LENGTH;
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", info.name);
        td_json_string(json, "kind", info.kind);
        td_json_string(json, "drive", info.drive);
        bool rate = model->actuators[a].given->rate;
        td_json_string(json, "unit",
                       strcmp(info.drive, "effort") == 0            ? info.effort_unit
                       : !rate                                      ? info.displacement_unit
                       : strcmp(info.displacement_unit, "rad") == 0 ? "rad/s"
                                                                    : "m/s");
        td_json_string(json, "effort_unit", info.effort_unit);
        td_json_string(json, "displacement_unit", info.displacement_unit);
        td_json_number(json, "low", stage->actuators[a].low);
        td_json_number(json, "high", stage->actuators[a].high);
        td_json_numbers(json, "effort", 2, info.effort);
        td_json_numbers(json, "displacement", 2, info.displacement);
        td_json_bool(json, "driven", stage->actuators[a].column >= 0);
        optional_index(json, "tool", info.tool);
        td_json_integer(json, "points", cable ? model->actuators[a].measure.n : 0);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
}

static void add_effectors(const tdViewStage *stage, tdJson *json)
{
    const tdModel *model = stage->model;
    td_json_open(json, "effectors", '[');
    for (int e = 0; e < model->n_effectors; e++)
    {
        tdEffectorInfo info = td_model_effector(model, e);
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", info.name);
        td_json_string(json, "kind", info.kind);
        td_json_string(json, "unit", info.unit);
        td_json_integer(json, "rows", info.rows);
        td_json_numbers(json, "rest", info.rows, model->effectors[e].rest);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    td_json_open(json, "probes", '[');
    for (int p = 0; p < model->n_probes; p++)
    {
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", model->probes[p].name);
        td_json_numbers(json, "rest", 3, model->probes[p].point.rest);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
}

static void add_tools(const tdViewStage *stage, tdJson *json)
{
    td_json_open(json, "tools", '[');
    for (int t = 0; t < td_model_tools(stage->model); t++)
    {
        tdToolInfo info = td_model_tool(stage->model, t);
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", info.name);
        td_json_integer(json, "body", info.body);
        td_json_string(json, "link", info.link);
        td_json_integer(json, "joints", info.joints);
        td_json_number(json, "length", info.length);
        td_json_number(json, "speed", info.speed);
        td_json_number(json, "turning", info.turning);
        td_json_bool(json, "guided", false);
        td_json_bool(json, "jaw", false);
        td_json_close(json, '}');
    }
    for (int g = 0; g < stage->n_guides; g++)
    {
        const tdViewGuide *guide = &stage->guides[g];
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", stage->model->bodies[guide->body].name);
        td_json_integer(json, "body", guide->body);
        null_value(json, "link");
        td_json_integer(json, "joints", 0);
        td_json_number(json, "length", stage->size);
        null_value(json, "speed");
        null_value(json, "turning");
        td_json_bool(json, "guided", true);
        td_json_bool(json, "jaw", guide->jaw >= 0);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
}

static void add_attachments(const tdViewStage *stage, tdJson *json)
{
    td_json_open(json, "attachments", '[');
    for (int a = 0; a < td_model_attachments(stage->model); a++)
        td_json_string(json, NULL, td_model_attachment_name(stage->model, a));
    td_json_close(json, ']');
}

static void add_offer(const tdViewStage *stage, const tdViewHouse *house, tdJson *json)
{
    td_json_open(json, "fields", '[');
    for (int f = 0; f < field_count(stage); f++)
    {
        td_json_open(json, NULL, '{');
        td_json_string(json, "name", fields[f].name);
        td_json_string(json, "label", fields[f].label);
        td_json_string(json, "unit", fields[f].unit);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    td_json_open(json, "spring", '{');
    td_json_number(json, "stiffness", stage->stiffness);
    td_json_number(json, "most", 100 * stage->stiffness);
    td_json_integer(json, "springs", TD_SPRINGS);
    td_json_close(json, '}');
    td_json_open(json, "contact", '{');
    td_json_bool(json, "possible", stage->model->contact != NULL);
    td_json_integer(json, "most", TD_VIEW_MOST_CONTACTS);
    td_json_close(json, '}');
    td_json_open(json, "inverse", '{');
    td_json_bool(json, "possible", stage->inverse[0] == '\0');
    td_json_string(json, "why", stage->inverse);
    td_json_close(json, '}');
    td_json_open(json, "recording", '{');
    td_json_bool(json, "possible", house->may_record);
    td_json_string(json, "why", house->may_record ? "" : "the server was started without --out FOLDER");
    td_json_close(json, '}');
    td_json_open(json, "limits", '{');
    td_json_integer(json, "message", TD_VIEW_MESSAGE);
    td_json_integer(json, "messages_a_second", house->messages);
    td_json_integer(json, "clients", house->most_clients);
    td_json_integer(json, "rate", 60);
    td_json_close(json, '}');
}

void td_view_hello(const tdViewStage *stage, const tdViewHouse *house, int client, tdText *out)
{
    const tdSceneSettings *settings = &stage->model->scene.settings;
    tdJson json;
    begin(&json, out, "hello");
    td_json_integer(&json, "protocol", TD_VIEW_PROTOCOL);
    td_json_string(&json, "version", td_version());
    td_json_integer(&json, "generation", stage->generation);
    td_json_integer(&json, "client", client);
    td_json_string(&json, "scene", stage->name);
    td_json_string(&json, "file", stage->file);
    td_json_open(&json, "scenes", '[');
    for (int i = 0; i < house->n_entries; i++)
        td_json_string(&json, NULL, house->entries[i].name);
    td_json_close(&json, ']');
    td_json_number(&json, "time_step", stage->model->scheme.h);
    td_json_bool(&json, "static", stage->model->scheme.method == TD_METHOD_STATIC);
    td_json_numbers(&json, "gravity", 3, settings->gravity);
    td_json_number(&json, "size", stage->size);
    td_json_open(&json, "bounds", '[');
    td_json_numbers(&json, NULL, 3, stage->bounds);
    td_json_numbers(&json, NULL, 3, stage->bounds + 3);
    td_json_close(&json, ']');
    add_bodies(stage, &json);
    add_meshes(stage, &json);
    add_actuators(stage, &json);
    add_effectors(stage, &json);
    add_tools(stage, &json);
    add_attachments(stage, &json);
    add_offer(stage, house, &json);
    end(&json, out);
}

// ---------------------------------------------------------------- status

static void add_control(const tdViewSnapshot *s, tdJson *json)
{
    static const char *const modes[] = {"scene", "manual", "inverse", "tool"};
    const tdModel *model = s->stage->model;
    td_json_open(json, "actuators", '[');
    for (int a = 0; a < model->n_actuators; a++)
    {
        const tdViewActuation *actuator = &s->actuators[a];
        td_json_open(json, NULL, '{');
        td_json_number(json, "value", actuator->value);
        td_json_number(json, "effort", actuator->effort);
        td_json_number(json, "displacement", actuator->displacement);
        td_json_string(json, "mode", modes[actuator->mode]);
        td_json_integer(json, "bound", actuator->bound);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    td_json_open(json, "effectors", '[');
    for (int e = 0; e < model->n_effectors; e++)
    {
        const tdViewEffect *effect = &s->effectors[e];
        int rows = model->effectors[e].measure.rows;
        td_json_open(json, NULL, '{');
        td_json_numbers(json, "value", rows, effect->value);
        if (isnan(effect->target[0]))
            null_value(json, "target");
        else
            td_json_numbers(json, "target", rows, effect->target);
        td_json_number(json, "error", effect->error);
        td_json_bool(json, "set", effect->set);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    td_json_open(json, "tools", '[');
    for (int t = 0; t < td_view_stage_tools(s->stage); t++)
    {
        const tdToolState *tool = &s->tools[t].state;
        td_json_open(json, NULL, '{');
        td_json_bool(json, "driven", tool->driven);
        optional_index(json, "client", s->tools[t].client > 0 ? s->tools[t].client : -1);
        td_json_numbers(json, "twist", 6, tool->twist);
        td_json_numbers(json, "position", 3, tool->position);
        td_json_numbers(json, "target", 3, tool->target);
        td_json_numbers(json, "error", 6, tool->error);
        td_json_integer(json, "at_limits", tool->at_limits);
        if (isnan(s->tools[t].force[0]))
            null_value(json, "force");
        else
            td_json_numbers(json, "force", 3, s->tools[t].force);
        td_json_number(json, "grip", s->tools[t].grip);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
    td_json_open(json, "probes", '[');
    for (int p = 0; p < model->n_probes; p++)
    {
        double x[3];
        td_view_point(s->stage, s->q, s->poses, &model->probes[p].point, 0, x);
        td_json_numbers(json, NULL, 3, x);
    }
    td_json_close(json, ']');
}

static void add_report(const tdViewSnapshot *s, tdJson *json)
{
    td_json_open(json, "inverse", '{');
    td_json_bool(json, "active", s->inverse);
    td_json_bool(json, "out_of_reach", s->inverse && s->out_of_reach);
    td_json_number(json, "residual", s->inverse_residual);
    td_json_integer(json, "active_bounds", s->active_bounds);
    if (s->inverse && s->out_of_reach && s->contact_blocks)
    {
        td_json_open(json, "blocked_by", '[');
        for (int side = 0; side < 2; side++)
            td_json_string(json, NULL, s->stage->model->bodies[s->blocking_body[side]].name);
        td_json_close(json, ']');
    }
    else
        null_value(json, "blocked_by");
    td_json_close(json, '}');
    td_json_open(json, "rom", '{');
    td_json_bool(json, "reduced", s->stage->reduced);
    td_json_number(json, "indicator", s->rom_indicator);
    td_json_number(json, "error", s->rom_error);
    td_json_number(json, "distance", s->rom_distance);
    td_json_bool(json, "warning", s->rom_warning);
    td_json_close(json, '}');
    td_json_open(json, "contact", '{');
    td_json_integer(json, "points", s->contact.followed);
    td_json_integer(json, "active", s->contact.active);
    td_json_integer(json, "shown", s->contact.n);
    td_json_integer(json, "iterations", s->contact.iterations);
    td_json_number(json, "residual", s->contact.residual);
    td_json_bool(json, "limit", s->contact.limit);
    td_json_close(json, '}');
    td_json_open(json, "timing", '{');
    td_json_integer(json, "steps", s->timing.steps);
    td_json_number(json, "p50", s->timing.p50);
    td_json_number(json, "p99", s->timing.p99);
    td_json_number(json, "longest", s->timing.longest);
    td_json_integer(json, "misses", s->timing.misses);
    td_json_integer(json, "missed_total", s->timing.missed_total);
    td_json_number(json, "steps_a_second", s->timing.steps_a_second);
    td_json_number(json, "realtime", s->timing.realtime);
    td_json_number(json, "possible", s->timing.possible);
    td_json_bool(json, "heavy", s->timing.heavy);
    td_json_close(json, '}');
}

static void add_springs(const tdViewSnapshot *s, tdJson *json)
{
    td_json_open(json, "springs", '[');
    for (int k = 0; k < TD_SPRINGS; k++)
    {
        const tdViewPull *pull = &s->springs[k];
        if (pull->client == 0)
            continue;
        td_json_open(json, NULL, '{');
        td_json_integer(json, "client", pull->client);
        td_json_numbers(json, "force", 3, pull->force);
        td_json_numbers(json, "point", 3, pull->point);
        td_json_numbers(json, "anchor", 3, pull->anchor);
        td_json_number(json, "stiffness", pull->stiffness);
        td_json_close(json, '}');
    }
    td_json_close(json, ']');
}

static void add_error(const tdViewSnapshot *s, tdJson *json)
{
    if (!s->failed)
    {
        null_value(json, "error");
        return;
    }
    char text[1200];
    td_error_format(&s->error, text, sizeof text);
    td_json_open(json, "error", '{');
    td_json_string(json, "kind", td_status_name(s->error.status));
    td_json_string(json, "message", text);
    td_json_integer(json, "step", s->step + 1);
    td_json_number(json, "time", s->time);
    td_json_close(json, '}');
}

void td_view_status(const tdViewSnapshot *s, const tdViewHouse *house, const tdViewYou *you, tdText *out)
{
    tdJson json;
    begin(&json, out, "status");
    td_json_integer(&json, "generation", s->stage->generation);
    td_json_integer(&json, "step", s->step);
    td_json_number(&json, "time", s->time);
    td_json_bool(&json, "playing", s->playing);
    td_json_number(&json, "speed", s->speed);
    td_json_integer(&json, "resets", s->resets);
    add_control(s, &json);
    add_report(s, &json);
    add_springs(s, &json);
    td_json_open(&json, "recording", '{');
    td_json_bool(&json, "active", s->recording);
    if (s->folder[0] == '\0')
        null_value(&json, "folder");
    else
        td_json_string(&json, "folder", s->folder);
    td_json_integer(&json, "frames", s->recorded);
    td_json_close(&json, '}');
    add_error(s, &json);
    td_json_integer(&json, "clients", house->clients);
    td_json_integer(&json, "refused", house->refused);
    if (s->loading[0] == '\0')
        null_value(&json, "loading");
    else
        td_json_string(&json, "loading", s->loading);
    td_json_open(&json, "you", '{');
    td_json_string(&json, "field", fields[you->field].name);
    td_json_integer(&json, "frames", you->frames);
    td_json_integer(&json, "dropped", you->dropped);
    td_json_integer(&json, "refused", you->refused);
    td_json_close(&json, '}');
    end(&json, out);
}

// ---------------------------------------------------------------- replies

void td_view_reply(const tdViewReply *reply, tdText *out)
{
    tdJson json;
    begin(&json, out, reply->refused ? "refused" : "notice");
    if (reply->refused)
        td_json_string(&json, "what", td_view_action_name(reply->action));
    else
        td_json_string(&json, "level", reply->warning ? "warning" : "info");
    td_json_string(&json, "message", reply->text);
    end(&json, out);
}

void td_view_pong(int64_t id, tdText *out)
{
    tdJson json;
    begin(&json, out, "pong");
    td_json_integer(&json, "id", id);
    end(&json, out);
}
