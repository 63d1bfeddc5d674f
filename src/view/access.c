// SPDX-License-Identifier: Apache-2.0
#include "view/access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

bool td_view_is_loopback(const char *host)
{
    if (strcasecmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 || strcmp(host, "[::1]") == 0)
        return true;
    struct in_addr address;
    return inet_pton(AF_INET, host, &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

tdStatus td_view_make_token(char token[TD_VIEW_TOKEN + 1], tdError *error)
{
    unsigned char random[16];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return td_fail(error, TD_ERROR_IO, "the system gives no random numbers for a token (%s); give one by --token",
                       strerror(errno));
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(token + 2 * i, 3, "%02x", random[i]);
    return TD_OK;
}

bool td_view_is_token(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    size_t length = strlen(text);
    return length >= 16 && length <= TD_VIEW_TOKEN && strspn(text, letters) == length;
}

// Compares without telling by its time how much was right.
static bool is_same(const char *given, const char *token)
{
    size_t length = strlen(token);
    unsigned different = strlen(given) != length;
    for (size_t i = 0; i < length; i++)
        different |= (unsigned)(unsigned char)given[different ? 0 : i] ^ (unsigned char)token[i];
    return different == 0;
}

// Length of the name in NAME, NAME:PORT or [ADDRESS]:PORT; 0: it is none.
static size_t name_length(const char *host)
{
    const char *end = host[0] == '[' ? strchr(host, ']') : strchr(host, ':');
    if (host[0] == '[' && end == NULL)
        return 0;
    size_t length = end == NULL ? strlen(host) : (size_t)(end - host) + (host[0] == '[');
    const char *port = host + length;
    if (*port != '\0' && (*port != ':' || port[1] == '\0' || strspn(port + 1, "0123456789") != strlen(port + 1)))
        return 0;
    return length;
}

tdViewRefusal td_view_check_host(const tdViewAccess *access, const char *host)
{
    char name[128];
    size_t length = host == NULL ? 0 : name_length(host);
    if (length == 0 || length >= sizeof name)
        return TD_VIEW_WRONG_HOST;
    if (!access->loopback)
        return TD_VIEW_WELCOME;
    memcpy(name, host, length);
    name[length] = '\0';
    return td_view_is_loopback(name) || strcasecmp(name, access->host) == 0 ? TD_VIEW_WELCOME : TD_VIEW_WRONG_HOST;
}

tdViewRefusal td_view_check(const tdViewAccess *access, const char *host, const char *origin, const char *token)
{
    tdViewRefusal refusal = td_view_check_host(access, host);
    if (refusal != TD_VIEW_WELCOME)
        return refusal;
    if (origin != NULL)
    {
        const char *authority = strncasecmp(origin, "http://", 7) == 0    ? origin + 7
                                : strncasecmp(origin, "https://", 8) == 0 ? origin + 8
                                                                          : NULL;
        if (authority == NULL || strcasecmp(authority, host) != 0)
            return TD_VIEW_WRONG_ORIGIN;
    }
    if (access->token[0] != '\0' && (token == NULL || !is_same(token, access->token)))
        return TD_VIEW_WRONG_TOKEN;
    return TD_VIEW_WELCOME;
}

bool td_view_allow(tdViewAllowance *allowance, double rate, double most, double now)
{
    allowance->left += rate * (now - allowance->counted);
    allowance->counted = now;
    if (allowance->left > most)
        allowance->left = most;
    if (allowance->left < 1)
        return false;
    allowance->left -= 1;
    return true;
}
