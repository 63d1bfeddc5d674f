// SPDX-License-Identifier: Apache-2.0
// Clients of the server. A client always gets the newest there is, when its socket can take it; what it was too slow
// for is never kept for it. So the most that waits for a client, however slow, is a message that it has begun to take.
#include "base/timer.h"
#include "view/view_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_EVERY 0.1 // [s]
#define PAINT_EVERY  0.1
#define PAINT_SHARE  0.25 // of the time of a core that fields may take

// ---------------------------------------------------------------- buffers

static tdViewBuffer *keep(tdText *text, bool is_text)
{
    tdViewBuffer *buffer = text->failed || text->data == NULL ? NULL : calloc(1, sizeof *buffer);
    if (buffer == NULL)
    {
        free(text->data);
        return NULL;
    }
    *buffer = (tdViewBuffer){.holders = 1, .text = is_text, .size = (size_t)text->size, .data = text->data};
    return buffer;
}

void td_view_drop(tdViewBuffer **buffer)
{
    if (*buffer != NULL && --(*buffer)->holders == 0)
    {
        free((*buffer)->data);
        free(*buffer);
    }
    *buffer = NULL;
}

static tdViewBuffer *hold(tdViewBuffer *buffer)
{
    if (buffer != NULL)
        buffer->holders++;
    return buffer;
}

void td_view_client_tell(tdViewClient *client, tdText *text)
{
    tdViewBuffer *buffer = client->n_texts < TD_VIEW_TEXTS ? keep(text, true) : NULL;
    if (buffer != NULL)
        client->texts[client->n_texts++] = buffer;
    else if (client->n_texts == TD_VIEW_TEXTS)
        free(text->data);
    lws_callback_on_writable(client->wsi);
}

// ---------------------------------------------------------------- life

void td_view_client_open(tdView *view, tdViewClient *client, struct lws *wsi)
{
    double now = td_seconds();
    *client = (tdViewClient){.wsi = wsi, .id = ++view->last_id, .next = view->clients, .rate = 60, .due = now};
    client->allowance = (tdViewAllowance){.left = view->settings.at_once, .counted = now};
    client->pong = -1;
    client->status = true;
    view->clients = client;
    view->n_clients++;
    atomic_store(&view->counted_clients, view->n_clients);
    lws_callback_on_writable(wsi);
}

void td_view_client_close(tdView *view, tdViewClient *client)
{
    tdViewClient **at = &view->clients;
    while (*at != NULL && *at != client)
        at = &(*at)->next;
    if (*at == NULL)
        return;
    *at = client->next;
    td_view_drop(&client->out);
    for (int i = 0; i < client->n_texts; i++)
        td_view_drop(&client->texts[i]);
    td_view_sim_leave(view->sim, client->id);
    client->id = 0;
    view->n_clients--;
    atomic_store(&view->counted_clients, view->n_clients);
}

// ---------------------------------------------------------------- what goes

static bool is_in_flight(const tdViewClient *client)
{
    int n = 0;
    for (int i = 0; i < TD_VIEW_FLIGHT && client->acknowledges; i++)
        n += client->flight[i] > client->acknowledged;
    return n == TD_VIEW_FLIGHT;
}

static bool wants_frame(const tdView *view, const tdViewClient *client, double now)
{
    return client->topology && client->generation == view->generation && now + 0.002 >= client->due &&
           !is_in_flight(client);
}

static bool wants_field(const tdView *view, const tdViewClient *client)
{
    return client->topology && client->generation == view->generation && view->fields[client->field] != NULL &&
           client->painted != view->painted[client->field];
}

static tdViewBuffer *make_text(tdView *view, tdViewClient *client, bool hello)
{
    tdText text = {0};
    tdViewYou you = {.client = client->id,
                     .field = client->field,
                     .frames = client->frames,
                     .dropped = client->dropped,
                     .refused = client->refused};
    view->house.clients = view->n_clients;
    view->house.refused = atomic_load(&view->counted_refused);
    if (hello)
        td_view_hello(view->snapshot->stage, &view->house, client->id, &text);
    else
        td_view_status(view->snapshot, &view->house, &you, &text);
    return keep(&text, true);
}

static tdViewBuffer *take_frame(tdView *view, tdViewClient *client, double now)
{
    if (client->frame != 0 && view->frame_number - client->frame > 1)
        client->dropped += view->frame_number - client->frame - 1;
    client->frame = view->frame_number;
    client->frames++;
    memmove(client->flight, client->flight + 1, sizeof client->flight - sizeof client->flight[0]);
    client->flight[TD_VIEW_FLIGHT - 1] = client->frame;
    // On average at its rate, whatever the grain of the clock; time that was lost is not made up for.
    client->due += 1 / client->rate;
    if (client->due < now - 1 / client->rate)
        client->due = now;
    atomic_fetch_add(&view->counted_frames, 1);
    return hold(view->frame);
}

// The next message for a client, NULL: none.
static tdViewBuffer *choose(tdView *view, tdViewClient *client)
{
    double now = td_seconds();
    if (client->generation != view->generation)
    {
        client->generation = view->generation;
        client->topology = false;
        client->frame = 0;
        client->painted = 0;
        client->acknowledged = 0;
        memset(client->flight, 0, sizeof client->flight);
        return make_text(view, client, true);
    }
    if (!client->topology)
    {
        client->topology = true;
        return hold(view->topology);
    }
    if (client->n_texts > 0)
    {
        tdViewBuffer *text = client->texts[0];
        client->n_texts--;
        for (int i = 0; i < client->n_texts; i++)
            client->texts[i] = client->texts[i + 1];
        return text;
    }
    if (client->status)
    {
        client->status = false;
        return make_text(view, client, false);
    }
    if (view->frame != NULL && client->frame != view->frame_number && wants_frame(view, client, now))
        return take_frame(view, client, now);
    if (wants_field(view, client))
    {
        client->painted = view->painted[client->field];
        return hold(view->fields[client->field]);
    }
    return NULL;
}

// One that has said so first is answered and can go at once; another one is given some seconds to say it too.
static bool say_goodbye(tdView *view, tdViewClient *client)
{
    if (!client->goodbye)
    {
        lws_close_reason(client->wsi, (enum lws_close_status)client->close, NULL, 0);
        return false;
    }
    const unsigned char frame[] = {0x88, 2, (unsigned char)(client->close >> 8), (unsigned char)client->close};
    memcpy(view->chunk + LWS_PRE, frame, sizeof frame);
    lws_write(client->wsi, view->chunk + LWS_PRE, sizeof frame, LWS_WRITE_RAW);
    lws_set_timeout(client->wsi, PENDING_TIMEOUT_CLOSE_ACK, LWS_TO_KILL_ASYNC);
    client->close = 0;
    return true;
}

bool td_view_client_write(tdView *view, tdViewClient *client)
{
    if (client->close != 0)
        return say_goodbye(view, client);
    if (client->pong >= 0)
    {
        memcpy(view->chunk + LWS_PRE, client->ping, (size_t)client->pong);
        int size = client->pong;
        client->pong = -1;
        if (lws_write(client->wsi, view->chunk + LWS_PRE, (size_t)size, LWS_WRITE_PONG) < size)
            return false;
        lws_callback_on_writable(client->wsi);
        return true;
    }
    if (client->out == NULL)
    {
        client->sent = 0;
        client->out = choose(view, client);
    }
    tdViewBuffer *out = client->out;
    if (out == NULL)
        return true;
    size_t size = out->size - client->sent < TD_VIEW_CHUNK ? out->size - client->sent : TD_VIEW_CHUNK;
    bool first = client->sent == 0, last = client->sent + size == out->size;
    int mode = first ? (out->text ? LWS_WRITE_TEXT : LWS_WRITE_BINARY) : LWS_WRITE_CONTINUATION;
    // The header goes in front of the bytes, where those of others may not be touched.
    memcpy(view->chunk + LWS_PRE, out->data + client->sent, size);
    if (lws_write(client->wsi, view->chunk + LWS_PRE, size,
                  (enum lws_write_protocol)(mode | (last ? 0 : LWS_WRITE_NO_FIN))) < (int)size)
        return false;
    atomic_fetch_add(&view->counted_bytes, (long long)size);
    client->sent += size;
    if (last)
        td_view_drop(&client->out);
    lws_callback_on_writable(client->wsi);
    return true;
}

// ---------------------------------------------------------------- tick

static void change_scene(tdView *view)
{
    tdText text = {0};
    td_view_topology(view->snapshot->stage, &text);
    tdViewBuffer *topology = keep(&text, false);
    // Without memory for it the old scene stays; the next tick tries again.
    if (topology == NULL)
        return;
    td_view_drop(&view->topology);
    view->topology = topology;
    td_view_drop(&view->frame);
    for (int f = 0; f < TD_VIEW_FIELD_KINDS; f++)
        td_view_drop(&view->fields[f]);
    view->generation = view->snapshot->stage->generation;
    view->framed = view->painted_of = 0;
    // A field that the new scene does not have is wanted no more.
    for (tdViewClient *c = view->clients; c != NULL; c = c->next)
        if (td_view_find_field(view->snapshot->stage, td_view_field_name(c->field)) < 0)
            c->field = TD_VIEW_FIELD_NONE;
}

static void make_frame(tdView *view, double now)
{
    bool wanted = false;
    for (tdViewClient *c = view->clients; c != NULL && !wanted; c = c->next)
        wanted = wants_frame(view, c, now) && c->out == NULL;
    if (!wanted || view->framed == view->snapshot->number)
        return;
    tdText text = {0};
    td_view_frame(view->snapshot, view->frame_number + 1, &text);
    tdViewBuffer *frame = keep(&text, false);
    if (frame == NULL)
        return;
    td_view_drop(&view->frame);
    view->frame = frame;
    view->frame_number++;
    view->framed = view->snapshot->number;
    atomic_store(&view->frame_bytes, (long long)frame->size);
}

// A field that has been worked out. One of a scene that has gone is thrown away.
static void take_field(tdView *view, int f, tdText *message)
{
    tdViewBuffer *field = keep(message, false);
    if (field != NULL && ((const uint32_t *)(const void *)field->data)[1] != view->generation)
        td_view_drop(&field);
    if (field == NULL)
        return;
    td_view_drop(&view->fields[f]);
    view->fields[f] = field;
    view->painted[f]++;
}

static unsigned wanted_fields(tdView *view)
{
    unsigned wanted = 0;
    for (tdViewClient *c = view->clients; c != NULL; c = c->next)
        wanted |= c->field != TD_VIEW_FIELD_NONE ? 1u << c->field : 0;
    // One that nobody wants is not kept, so that who asks again later does not get an old one.
    for (int f = 0; f < TD_VIEW_FIELD_KINDS; f++)
        if (!(wanted & (1u << f)))
            td_view_drop(&view->fields[f]);
    return wanted;
}

static void compare(tdView *view, bool wanted)
{
    tdViewReply notice = {.warning = true};
    tdText message;
    td_view_mirror_want(view->mirror, wanted ? view->snapshot->stage : NULL);
    if (!wanted)
        return;
    if (td_view_mirror_take(view->mirror, &message))
        take_field(view, TD_VIEW_FIELD_ERROR, &message);
    td_view_mirror_why(view->mirror, notice.text, sizeof notice.text);
    for (tdViewClient *c = view->clients; c != NULL && notice.text[0] != '\0'; c = c->next)
    {
        tdText text = {0};
        td_view_reply(&notice, &text);
        td_view_client_tell(c, &text);
    }
}

static void paint(tdView *view, double now)
{
    double seconds = 0;
    tdText messages[TD_VIEW_FIELD_KINDS] = {{0}};
    unsigned wanted = wanted_fields(view);
    compare(view, wanted & (1u << TD_VIEW_FIELD_ERROR));
    wanted &= ~(1u << TD_VIEW_FIELD_ERROR);
    if (td_view_painter_take(view->painter, messages, &seconds))
    {
        for (int f = 0; f < TD_VIEW_FIELD_KINDS; f++)
            if (messages[f].data != NULL)
                take_field(view, f, &messages[f]);
        view->paint_due = now + (seconds / PAINT_SHARE > PAINT_EVERY ? seconds / PAINT_SHARE : PAINT_EVERY);
    }
    bool old = view->painted_of != view->snapshot->number;
    for (int f = 0; f < TD_VIEW_FIELD_KINDS; f++)
        old = old || ((wanted & (1u << f)) && view->fields[f] == NULL);
    if (wanted != 0 && old && now >= view->paint_due && td_view_painter_ask(view->painter, view->snapshot, wanted))
    {
        view->painted_of = view->snapshot->number;
        view->paint_due = now + PAINT_EVERY;
    }
}

static void deliver_replies(tdView *view)
{
    tdViewReply reply;
    while (td_view_sim_reply(view->sim, &reply))
        for (tdViewClient *c = view->clients; c != NULL; c = c->next)
        {
            if (reply.client != 0 && reply.client != c->id)
                continue;
            if (reply.refused)
                td_view_refuse(view, c, reply.action, reply.text);
            else
            {
                tdText text = {0};
                td_view_reply(&reply, &text);
                td_view_client_tell(c, &text);
            }
        }
}

void td_view_tick(tdView *view)
{
    double now = td_seconds();
    view->snapshot = td_view_sim_snapshot(view->sim);
    if (view->snapshot->stage->generation != view->generation)
        change_scene(view);
    deliver_replies(view);
    if (view->clients == NULL)
    {
        td_view_mirror_want(view->mirror, NULL);
        return;
    }
    make_frame(view, now);
    paint(view, now);
    bool status = now >= view->status_due;
    if (view->status_after != 0 && view->snapshot->number > view->status_after)
    {
        view->status_after = 0;
        status = true;
    }
    if (status)
        view->status_due = now + STATUS_EVERY;
    for (tdViewClient *c = view->clients; c != NULL; c = c->next)
    {
        c->status = c->status || status;
        bool frame = view->frame != NULL && c->frame != view->frame_number && wants_frame(view, c, now);
        if (c->out == NULL && (c->status || c->generation != view->generation || !c->topology || c->n_texts > 0 ||
                               frame || wants_field(view, c)))
            lws_callback_on_writable(c->wsi);
    }
}
