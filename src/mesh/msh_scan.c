// SPDX-License-Identifier: Apache-2.0
#include "base/number.h"
#include "mesh/msh.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const tdMshType td_msh_types[TD_MSH_TYPES] = {
    [1] = {"2-node line", 2, 1, TD_CELL_LINE},
    [2] = {"3-node triangle", 3, 2, TD_CELL_TRI},
    [3] = {"4-node quadrilateral", 4, 2, TD_CELL_QUAD},
    [4] = {"4-node tetrahedron", 4, 3, TD_CELL_TET},
    [5] = {"8-node hexahedron", 8, 3, TD_CELL_HEX},
    [6] = {"6-node prism", 6, 3, -1},
    [7] = {"5-node pyramid", 5, 3, -1},
    [8] = {"3-node line", 3, 1, -1},
    [9] = {"6-node triangle", 6, 2, TD_CELL_TRI}, // by its corners, see read_element_nodes()
    [10] = {"9-node quadrilateral", 9, 2, -1},
    [11] = {"10-node tetrahedron", 10, 3, TD_CELL_TET10},
    [12] = {"27-node hexahedron", 27, 3, -1},
    [13] = {"18-node prism", 18, 3, -1},
    [14] = {"14-node pyramid", 14, 3, -1},
    [15] = {"point", 1, 0, TD_CELL_VERTEX},
    [16] = {"8-node quadrilateral", 8, 2, -1},
    [17] = {"20-node hexahedron", 20, 3, -1},
    [18] = {"15-node prism", 15, 3, -1},
    [19] = {"13-node pyramid", 13, 3, -1},
    [20] = {"9-node triangle", 9, 2, -1},
    [21] = {"10-node triangle", 10, 2, -1},
    [22] = {"12-node triangle", 12, 2, -1},
    [23] = {"15-node triangle", 15, 2, -1},
    [24] = {"15-node incomplete triangle", 15, 2, -1},
    [25] = {"21-node triangle", 21, 2, -1},
    [26] = {"4-node line", 4, 1, -1},
    [27] = {"5-node line", 5, 1, -1},
    [28] = {"6-node line", 6, 1, -1},
    [29] = {"20-node tetrahedron", 20, 3, -1},
    [30] = {"35-node tetrahedron", 35, 3, -1},
    [31] = {"56-node tetrahedron", 56, 3, -1},
    [36] = {"16-node quadrilateral", 16, 2, -1},
    [37] = {"25-node quadrilateral", 25, 2, -1},
    [38] = {"36-node quadrilateral", 36, 2, -1},
    [39] = {"12-node quadrilateral", 12, 2, -1},
    [90] = {"40-node prism", 40, 3, -1},
    [91] = {"75-node prism", 75, 3, -1},
    [92] = {"64-node hexahedron", 64, 3, -1},
    [93] = {"125-node hexahedron", 125, 3, -1},
    [118] = {"30-node pyramid", 30, 3, -1},
    [119] = {"55-node pyramid", 55, 3, -1},
};

tdStatus td_msh_fail(tdMshReader *reader, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *section = reader->section[0] != '\0' ? reader->section : NULL;
    if (reader->binary)
        return td_fail_at(reader->error, TD_ERROR_INPUT, reader->name, 0, section, "byte %lld: %s",
                          (long long)(reader->at - reader->data), text);
    int line = 1;
    for (const char *c = reader->data; c < reader->at; c++)
        line += *c == '\n';
    return td_fail_at(reader->error, TD_ERROR_INPUT, reader->name, line, section, "%s", text);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\v' || c == '\f';
}

void td_msh_skip_blank(tdMshReader *reader)
{
    while (reader->at < reader->end && is_blank(*reader->at))
        reader->at++;
}

// What stands at `at`, for a message: the token, cut to a readable length.
static const char *shown(const tdMshReader *reader, char *text, size_t size)
{
    size_t n = 0;
    while (n + 1 < size && reader->at + n < reader->end && !is_blank(reader->at[n]))
    {
        char c = reader->at[n];
        text[n++] = c >= 32 && c < 127 ? c : '?';
    }
    text[n] = '\0';
    return text;
}

static tdStatus fail_number(tdMshReader *reader, const char *what, const char *kind)
{
    char text[32];
    if (reader->at >= reader->end)
        return td_msh_fail(reader, "the file ends where %s is expected; it was cut off, so write or copy it again",
                           what);
    return td_msh_fail(reader, "'%s' found where %s is expected (%s)", shown(reader, text, sizeof text), what, kind);
}

tdStatus td_msh_text_int(tdMshReader *reader, const char *what, int64_t *out)
{
    td_msh_skip_blank(reader);
    const char *c = reader->at;
    bool negative = c < reader->end && *c == '-';
    if (c < reader->end && (*c == '-' || *c == '+'))
        c++;
    const char *digits = c;
    int64_t value = 0;
    for (; c < reader->end && *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *c - '0', &value))
            return fail_number(reader, what, "an integer below 2^63");
    if (c == digits || (c < reader->end && !is_blank(*c)))
        return fail_number(reader, what, "an integer");
    reader->at = c;
    *out = negative ? -value : value;
    return TD_OK;
}

// Binary numbers: `n` bytes in the order of the file.
static tdStatus take(tdMshReader *reader, const char *what, int n, uint64_t *bits)
{
    if (reader->end - reader->at < n)
        return td_msh_fail(reader, "the file ends inside %s; it was cut off, so write or copy it again", what);
    uint32_t four;
    if (n == 4)
    {
        memcpy(&four, reader->at, 4);
        *bits = reader->swap ? __builtin_bswap32(four) : four;
    }
    else
    {
        memcpy(bits, reader->at, 8);
        if (reader->swap)
            *bits = __builtin_bswap64(*bits);
    }
    reader->at += n;
    return TD_OK;
}

tdStatus td_msh_int(tdMshReader *reader, const char *what, int64_t *out)
{
    if (reader->binary)
    {
        uint64_t bits = 0;
        TD_TRY(take(reader, what, 4, &bits));
        *out = (int32_t)(uint32_t)bits;
        return TD_OK;
    }
    TD_TRY(td_msh_text_int(reader, what, out));
    if (*out > INT32_MAX || *out < INT32_MIN)
        return td_msh_fail(reader, "%s is %lld, which does not fit into 32 bits", what, (long long)*out);
    return TD_OK;
}

tdStatus td_msh_size(tdMshReader *reader, const char *what, int64_t *out)
{
    if (reader->binary)
    {
        uint64_t bits = 0;
        TD_TRY(take(reader, what, reader->size_bytes, &bits));
        *out = (int64_t)bits;
    }
    else
        TD_TRY(td_msh_text_int(reader, what, out));
    if (*out < 0)
        return td_msh_fail(reader, "%s is out of range (0 to 2^63 - 1)", what);
    return TD_OK;
}

tdStatus td_msh_real(tdMshReader *reader, const char *what, double *out)
{
    if (reader->binary)
    {
        uint64_t bits = 0;
        TD_TRY(take(reader, what, 8, &bits));
        memcpy(out, &bits, 8);
        return TD_OK;
    }
    td_msh_skip_blank(reader);
    char *stop = NULL;
    double value = reader->at < reader->end ? td_number(reader->at, &stop) : 0;
    if (reader->at >= reader->end || stop == reader->at || stop > reader->end ||
        (stop < reader->end && !is_blank(*stop)))
        return fail_number(reader, what, "a number");
    reader->at = stop;
    *out = value;
    return TD_OK;
}

tdStatus td_msh_check_count(tdMshReader *reader, const char *what, int64_t count, int64_t text_bytes,
                            int64_t binary_bytes)
{
    int64_t left = reader->end - reader->at;
    int64_t each = reader->binary ? binary_bytes : text_bytes;
    if (count < 0 || count > left / each)
        return td_msh_fail(reader,
                           "%lld %s are announced, but the %lld bytes that follow cannot hold them; "
                           "the count is wrong or the file was cut off",
                           (long long)count, what, (long long)left);
    if (count > INT32_MAX)
        return td_msh_fail(reader, "%lld %s are more than the 2147483647 that a mesh can have", (long long)count, what);
    return TD_OK;
}

tdStatus td_msh_map_tags(tdMshReader *reader)
{
    int64_t n = reader->mesh->n_nodes, least = INT64_MAX, most = 0;
    for (int64_t i = 0; i < n; i++)
    {
        least = reader->node_tags[i] < least ? reader->node_tags[i] : least;
        most = reader->node_tags[i] > most ? reader->node_tags[i] : most;
    }
    if (n == 0)
        return TD_OK;
    // Tags may be anything up to 2^63: a table by tag only when it is hardly larger than the nodes.
    bool dense = most - least < 4 * n + 1024;
    reader->least_tag = least;
    if (dense)
    {
        reader->span = most - least + 1;
        reader->dense = malloc((size_t)reader->span * sizeof(int32_t));
        if (reader->dense == NULL)
            return td_fail_memory(reader->error, "the table of node tags");
        memset(reader->dense, 0xff, (size_t)reader->span * sizeof(int32_t));
    }
    for (int64_t i = 0; i < n; i++)
    {
        int64_t tag = reader->node_tags[i];
        if (td_msh_node(reader, tag) >= 0)
            return td_msh_fail(reader, "the node tag %lld is given twice; every node needs its own", (long long)tag);
        if (dense)
            reader->dense[tag - least] = (int32_t)i;
        else if (!td_hash_add(&reader->sparse, td_hash_mix((uint64_t)tag), (int32_t)i))
            return td_fail_memory(reader->error, "the table of node tags");
    }
    return TD_OK;
}

int32_t td_msh_node(const tdMshReader *reader, int64_t tag)
{
    if (reader->dense != NULL)
        return tag >= reader->least_tag && tag - reader->least_tag < reader->span
                   ? reader->dense[tag - reader->least_tag]
                   : -1;
    int64_t probe = -1;
    const int32_t *found = td_hash_next(&reader->sparse, td_hash_mix((uint64_t)tag), &probe);
    return found == NULL ? -1 : *found; // the key is a bijection of the tag: equal keys, equal tags
}
