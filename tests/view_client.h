// SPDX-License-Identifier: Apache-2.0
// A client of the viewer for tests: as little of HTTP and WebSocket as it takes, so that it can also misbehave.
#pragma once
#include "test.h"

#include "base/timer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENT_PATIENCE 600.0 // [s] that end a test which hangs; nothing may depend on it

/// Repeats what follows until something has come true, however slow the machine is.
#define UNTIL(condition)                                                                                               \
    for (double until_end = td_seconds() + CLIENT_PATIENCE; !(condition); client_watch(until_end, #condition))

static inline void client_watch(double end, const char *what)
{
    if (td_seconds() > end)
        fail_msg("after %g s still not: %s", CLIENT_PATIENCE, what);
}

typedef struct viewClient
{
    int fd;
    size_t held; ///< bytes that were read and not used
    size_t capacity;
    unsigned char *bytes;
    // the message that was received last
    int opcode; ///< 1 text, 2 binary, 8 close
    size_t size;
    char *message; ///< with a zero behind it
} viewClient;

static inline int client_connect(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    // The server may just be starting again.
    UNTIL (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        usleep(10000);
    return fd;
}

static inline bool client_fill(viewClient *c)
{
    if (c->held + 65536 > c->capacity)
    {
        c->capacity = 2 * c->capacity + 65536;
        c->bytes = realloc(c->bytes, c->capacity);
        assert_non_null(c->bytes);
    }
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    if (poll(&p, 1, (int)(1000 * CLIENT_PATIENCE)) <= 0)
        fail_msg("the server says nothing");
    ssize_t n = read(c->fd, c->bytes + c->held, 65536);
    if (n <= 0)
        return false;
    c->held += (size_t)n;
    return true;
}

static inline void client_use(viewClient *c, size_t n)
{
    memmove(c->bytes, c->bytes + n, c->held - n);
    c->held -= n;
}

/// A request; the status code of the answer. `headers` each end in "\r\n".
static inline int client_request(viewClient *c, int port, const char *line, const char *headers)
{
    char text[8192];
    *c = (viewClient){.fd = client_connect(port)};
    int n = snprintf(text, sizeof text, "%s HTTP/1.1\r\n%s\r\n", line, headers);
    assert_true(n > 0 && (size_t)n < sizeof text);
    assert_int_equal(write(c->fd, text, (size_t)n), n);
    unsigned char *end = NULL;
    while (end == NULL)
    {
        if (!client_fill(c))
            return 0; // hung up
        end = memmem(c->bytes, c->held, "\r\n\r\n", 4);
    }
    int code = atoi((const char *)c->bytes + strlen("HTTP/1.1 "));
    if (code == 101)
        client_use(c, (size_t)(end - c->bytes) + 4);
    return code;
}

/// Asks for the socket; the status code. NULL: usual Host, no Origin.
static inline int client_upgrade(viewClient *c, int port, const char *path, const char *host, const char *origin)
{
    char line[600], headers[2048], local[64];
    snprintf(local, sizeof local, "127.0.0.1:%d", port);
    snprintf(line, sizeof line, "GET %s", path);
    snprintf(headers, sizeof headers,
             "Host: %s\r\n%s%s%sConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: tendril.1\r\n",
             host == NULL ? local : host, origin == NULL ? "" : "Origin: ", origin == NULL ? "" : origin,
             origin == NULL ? "" : "\r\n");
    return client_request(c, port, line, headers);
}

static inline void client_open(viewClient *c, int port)
{
    assert_int_equal(client_upgrade(c, port, "/ws", NULL, NULL), 101);
}

static inline void client_end(viewClient *c)
{
    if (c->fd > 0)
        close(c->fd);
    free(c->bytes);
    free(c->message);
    *c = (viewClient){0};
}

/// One frame; a mask of NULL sends it as clients may not.
static inline void client_send_masked(viewClient *c, int first, const void *data, size_t size,
                                      const unsigned char *mask)
{
    unsigned char *frame = malloc(size + 14);
    const unsigned char bit = mask == NULL ? 0 : 0x80;
    size_t n = 0;
    frame[n++] = (unsigned char)first;
    if (size < 126)
        frame[n++] = (unsigned char)(bit | size);
    else
    {
        frame[n++] = (unsigned char)(bit | (size < 65536 ? 126 : 127));
        for (int i = size < 65536 ? 1 : 7; i >= 0; i--)
            frame[n++] = (unsigned char)((uint64_t)size >> (8 * i));
    }
    for (size_t i = 0; i < 4 && mask != NULL; i++)
        frame[n++] = mask[i];
    for (size_t i = 0; i < size; i++)
        frame[n++] = ((const unsigned char *)data)[i] ^ (mask == NULL ? 0 : mask[i % 4]);
    // A server that has closed may not take it, which the answer tells.
    for (size_t at = 0; at < n;)
    {
        ssize_t sent = send(c->fd, frame + at, n - at, MSG_NOSIGNAL);
        if (sent <= 0)
            break;
        at += (size_t)sent;
    }
    free(frame);
}

static inline void client_send_frame(viewClient *c, int first, const void *data, size_t size)
{
    client_send_masked(c, first, data, size, (const unsigned char[]){1, 2, 3, 4});
}

static inline void client_say(viewClient *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline void client_say(viewClient *c, const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert_true(n > 0 && (size_t)n < sizeof text);
    client_send_frame(c, 0x81, text, (size_t)n);
}

/// The next message, whole. False: the connection has ended.
static inline bool client_receive(viewClient *c)
{
    c->size = 0;
    for (;;)
    {
        uint64_t size = c->held < 2 ? 0 : c->bytes[1] & 127;
        size_t head = size == 126 ? 4 : size == 127 ? 10 : 2;
        if (c->held >= head && head > 2)
        {
            size = 0;
            for (size_t i = 2; i < head; i++)
                size = size << 8 | c->bytes[i];
        }
        if (c->held < 2 || c->held < head || c->held - head < size)
        {
            if (!client_fill(c))
                return false;
            continue;
        }
        int opcode = c->bytes[0] & 15, final = c->bytes[0] & 0x80;
        if (opcode != 0)
            c->opcode = opcode;
        c->message = realloc(c->message, c->size + size + 1);
        memcpy(c->message + c->size, c->bytes + head, size);
        c->size += size;
        c->message[c->size] = '\0';
        client_use(c, head + size);
        if (final && c->opcode != 9) // pings are passed over
            return true;
        if (c->opcode == 9)
            c->size = 0;
    }
}

/// Receives until the server closes; the code that it gives, 0: none.
static inline int client_close_code(viewClient *c)
{
    while (client_receive(c))
        if (c->opcode == 8)
            return c->size < 2 ? 0 : (unsigned char)c->message[0] << 8 | (unsigned char)c->message[1];
    return 0;
}

static inline uint32_t client_word(const viewClient *c, size_t at)
{
    uint32_t word;
    assert_true(at + 4 <= c->size);
    memcpy(&word, c->message + at, sizeof word);
    return word;
}

/// Receives until a text message that contains both texts comes.
static inline void client_await(viewClient *c, const char *type, const char *text)
{
    char want[64];
    snprintf(want, sizeof want, "\"type\": \"%s\"", type);
    double end = td_seconds() + CLIENT_PATIENCE;
    while (client_receive(c))
    {
        if (c->opcode == 1 && strstr(c->message, want) != NULL && strstr(c->message, text) != NULL)
            return;
        client_watch(end, text);
    }
    fail_msg("the connection ended before a message '%s' with '%s'", type, text);
}

/// Receives until a binary message of this kind comes.
static inline void client_await_binary(viewClient *c, uint32_t kind)
{
    double end = td_seconds() + CLIENT_PATIENCE;
    while (client_receive(c))
    {
        if (c->opcode == 2 && client_word(c, 0) == kind)
            return;
        client_watch(end, "a binary message of this kind");
    }
    fail_msg("the connection ended before a binary message of kind %u", kind);
}

/// Words of a section of the last message; NULL: none. The message must be whole.
static inline const void *client_section(const viewClient *c, uint32_t type, uint32_t index, uint32_t *count,
                                         uint32_t *width)
{
    size_t at = 32;
    const void *found = NULL;
    *count = *width = 0;
    for (uint32_t i = 0; i < client_word(c, 24); i++)
    {
        uint32_t n = client_word(c, at + 8), w = client_word(c, at + 12);
        if (client_word(c, at) == type && client_word(c, at + 4) == index)
        {
            found = c->message + at + 16;
            *count = n;
            *width = w;
        }
        at += 16 + 4 * (size_t)n * w;
    }
    assert_int_equal(at, c->size);
    return found;
}

/// A number of the last text message by its key.
static inline double client_number(const viewClient *c, const char *key)
{
    char want[64];
    snprintf(want, sizeof want, "\"%s\": ", key);
    const char *at = strstr(c->message, want);
    if (at == NULL)
        fail_msg("no '%s' in %s", key, c->message);
    return strtod(at + strlen(want), NULL);
}
