// SPDX-License-Identifier: Apache-2.0
// What clients say. The library that serves the sockets is kept from reading them (view/frames.h says why): it hands
// over a descriptor that it waits at, and what can be read there is read here.
#include "base/timer.h"
#include "view/view_own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLOSE_SECONDS 5 // that a client has to take a closing frame
#define TOLD_EACH     20
#define TOLD_SOME     100

// ---------------------------------------------------------------- refusals

static void close_with(tdViewClient *client, int code)
{
    client->close = code;
    lws_set_timeout(client->wsi, PENDING_TIMEOUT_CLOSE_SEND, CLOSE_SECONDS);
    lws_callback_on_writable(client->wsi);
}

void td_view_refuse(tdView *view, tdViewClient *client, tdViewAction action, const char *why)
{
    atomic_fetch_add(&view->counted_refused, 1);
    if (++client->refused > view->settings.most_refused)
    {
        close_with(client, LWS_CLOSE_STATUS_POLICY_VIOLATION);
        return;
    }
    // A flood of nonsense is not answered by a flood, a few mistakes are each.
    if (client->refused > TOLD_EACH && client->refused % TOLD_SOME != 0)
        return;
    tdViewReply reply = {.client = client->id, .refused = true, .action = action};
    tdText text = {0};
    snprintf(reply.text, sizeof reply.text, "%s", why);
    td_view_reply(&reply, &text);
    td_view_client_tell(client, &text);
}

static bool is_allowed(tdView *view, tdViewClient *client)
{
    return td_view_allow(&client->allowance, view->settings.messages, view->settings.at_once, td_seconds());
}

static void refuse_more(tdView *view, tdViewClient *client)
{
    char why[64];
    snprintf(why, sizeof why, "more than %g messages a second", view->settings.messages);
    td_view_refuse(view, client, TD_VIEW_ACTIONS, why);
}

// ---------------------------------------------------------------- messages

// Messages that are the server's own, not the simulation's.
static bool serve(tdView *view, tdViewClient *client, const tdViewMessage *m)
{
    tdText text = {0};
    int field;
    switch (m->action)
    {
    case TD_VIEW_FIELD:
        field = td_view_find_field(view->snapshot->stage, m->name);
        if (field < 0)
            td_view_refuse(view, client, m->action, "there is no field of this name");
        else
        {
            client->field = (tdViewField)field;
            client->painted = 0;
            client->status = true;
        }
        return true;
    case TD_VIEW_RATE: client->rate = m->value[0]; return true;
    case TD_VIEW_ACK:
        client->acknowledges = true;
        client->acknowledged = (uint32_t)m->count;
        return true;
    case TD_VIEW_PING:
        td_view_pong(m->count, &text);
        td_view_client_tell(client, &text);
        return true;
    default: return false;
    }
}

static void take_message(tdView *view, tdViewClient *client, bool binary)
{
    tdViewMessage message;
    char why[TD_VIEW_WHY];
    atomic_fetch_add(&view->counted_messages, 1);
    if (!is_allowed(view, client))
        refuse_more(view, client);
    else if (binary)
        td_view_refuse(view, client, TD_VIEW_ACTIONS, "messages must be text");
    else if (!td_view_message(client->reader.message, client->reader.size, &message, why))
        td_view_refuse(view, client, message.action, why);
    else if (!serve(view, client, &message))
    {
        if (!td_view_sim_command(view->sim, client->id, &message))
            td_view_refuse(view, client, message.action, "the simulation is still busy with an earlier request");
        else
            view->status_after = view->snapshot->number;
    }
}

// ---------------------------------------------------------------- bytes

static void take_event(tdView *view, tdViewClient *client, tdViewEvent event)
{
    const tdViewReader *reader = &client->reader;
    switch (event)
    {
    case TD_VIEW_NOTHING: break;
    case TD_VIEW_TEXT:
    case TD_VIEW_BINARY: take_message(view, client, event == TD_VIEW_BINARY); break;
    case TD_VIEW_PIECE: // of nothing, again and again
        if (!is_allowed(view, client))
            td_view_refuse(view, client, TD_VIEW_ACTIONS, "a message in too many pieces");
        break;
    case TD_VIEW_PINGED:
        if (!is_allowed(view, client))
            refuse_more(view, client);
        client->pong = (int)reader->control_size;
        memcpy(client->ping, reader->control, reader->control_size);
        lws_callback_on_writable(client->wsi);
        break;
    case TD_VIEW_PONGED: break; // that something came was enough
    case TD_VIEW_CLOSED:
        client->goodbye = true;
        close_with(client, reader->code);
        break;
    case TD_VIEW_BROKEN:
        atomic_fetch_add(&view->counted_refused, 1);
        close_with(client, reader->code);
        break;
    }
}

bool td_view_client_listen(tdView *view, tdViewClient *client)
{
    lws_sock_file_fd_type own = {.filefd = dup(lws_get_socket_fd(client->wsi))};
    if (own.filefd < 0)
        return false;
    lws_rx_flow_control(client->wsi, 0);
    // As its child it goes with the client; where it cannot be made the library has closed the descriptor.
    return lws_adopt_descriptor_vhost(view->vhost, LWS_ADOPT_RAW_FILE_DESC, own, view->protocols[2].name,
                                      client->wsi) != NULL;
}

void td_view_client_read(tdView *view, tdViewClient *client)
{
    unsigned char bytes[8192];
    ssize_t n = recv(lws_get_socket_fd(client->wsi), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (n <= 0)
    {
        lws_set_timeout(client->wsi, PENDING_TIMEOUT_CLOSE_ACK, LWS_TO_KILL_ASYNC);
        return;
    }
    lws_validity_confirmed(client->wsi);
    for (size_t at = 0; at < (size_t)n && client->close == 0 && !client->goodbye;)
    {
        tdViewEvent event;
        at += td_view_reader_take(&client->reader, bytes + at, (size_t)n - at, &event);
        take_event(view, client, event);
    }
}
