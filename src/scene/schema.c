// SPDX-License-Identifier: Apache-2.0
#include "scene/schema.h"

#include "base/suggest.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NAME 64

// ---------------------------------------------------------------- places and messages

void td_path_key(char *out, size_t size, const char *path, const char *key)
{
    snprintf(out, size, "%s%s%s", path, path[0] != '\0' && key[0] != '\0' ? "." : "", key);
}

void td_path_item(char *out, size_t size, const char *path, const char *key, int i)
{
    snprintf(out, size, "%s%s%s[%d]", path, path[0] != '\0' && key[0] != '\0' ? "." : "", key, i);
}

TD_PRINTF(5, 0)
static tdStatus fail_v(const tdReader *reader, int line, const char *path, const char *key, const char *format,
                       va_list args)
{
    char field[256], message[sizeof((tdError *)NULL)->message];
    td_path_key(field, sizeof field, path, key != NULL ? key : "");
    vsnprintf(message, sizeof message, format, args);
    return td_fail_at(reader->error, TD_ERROR_INPUT, reader->file, line, field, "%s", message);
}

tdStatus td_reader_fail(const tdReader *reader, int line, const char *path, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tdStatus status = fail_v(reader, line, path, key, format, args);
    va_end(args);
    return status;
}

tdStatus td_record_fail(const tdReader *reader, const tdRecord *record, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tdStatus status = fail_v(reader, td_record_line(record, key), record->path, key, format, args);
    va_end(args);
    return status;
}

const tdValue *td_record_get(const tdRecord *record, const char *key)
{
    int i = 0;
    while (i < record->n && strcmp(record->values[i].key->name, key) != 0)
        i++;
    assert(i < record->n && "a key that the schema does not have");
    return &record->values[i];
}

double td_record_number(const tdRecord *record, const char *key, double other)
{
    const tdValue *value = td_record_get(record, key);
    return value->has ? value->number[0] : other;
}

int td_record_line(const tdRecord *record, const char *key)
{
    const tdYaml *node = td_record_get(record, key)->node;
    if (node == NULL)
        return record->node->line;
    return node->kind == TD_YAML_SCALAR ? node->line : node->key_line;
}

// ---------------------------------------------------------------- single values

tdStatus td_reader_unexpected(const tdReader *reader, const tdYaml *node, const char *field, const char *expected)
{
    char found[80];
    td_yaml_describe(node, found, sizeof found);
    return td_reader_fail(reader, node->line, field, NULL, "found %s, expected %s", found, expected);
}

tdStatus td_read_integer(const tdReader *reader, const tdYaml *node, const char *field, int64_t least, int64_t most,
                         int64_t *out)
{
    char expected[96];
    snprintf(expected, sizeof expected, "a whole number from %" PRId64 " to %" PRId64, least, most);
    if (node->kind != TD_YAML_SCALAR)
        return td_reader_unexpected(reader, node, field, expected);
    const char *text = node->text;
    size_t sign = text[0] == '-' || text[0] == '+';
    size_t digits = strspn(text + sign, "0123456789");
    errno = 0;
    long long value = digits > 0 && text[sign + digits] == '\0' ? strtoll(text, NULL, 10) : 0;
    if (digits == 0 || text[sign + digits] != '\0' || errno != 0 || value < least || value > most)
        return td_reader_unexpected(reader, node, field, expected);
    *out = value;
    return TD_OK;
}

tdStatus td_read_quantity(const tdReader *reader, const tdYaml *node, const char *field, tdDim dim, double *out)
{
    char why[TD_UNIT_WHY], expected[64];
    td_dim_describe(dim, expected, sizeof expected);
    if (node->kind != TD_YAML_SCALAR || td_yaml_empty(node))
        return td_reader_unexpected(reader, node, field, expected);
    if (!td_quantity_parse(node->text, &reader->units, dim, out, why))
        return td_reader_fail(reader, node->line, field, NULL, "%s", why);
    return TD_OK;
}

void td_range_describe(const tdKey *key, char *out, size_t size)
{
    switch (key->range)
    {
    case TD_RANGE_ANY: snprintf(out, size, "%s", ""); break;
    case TD_RANGE_POSITIVE: snprintf(out, size, "> 0"); break;
    case TD_RANGE_NOT_NEGATIVE: snprintf(out, size, ">= 0"); break;
    case TD_RANGE_OPEN: snprintf(out, size, "> %g and < %g", key->lo, key->hi); break;
    case TD_RANGE_CLOSED: snprintf(out, size, ">= %g and <= %g", key->lo, key->hi); break;
    case TD_RANGE_HALF_OPEN: snprintf(out, size, "> %g and <= %g", key->lo, key->hi); break;
    }
}

static bool in_range(const tdKey *key, double x)
{
    switch (key->range)
    {
    case TD_RANGE_ANY: return true;
    case TD_RANGE_POSITIVE: return x > 0;
    case TD_RANGE_NOT_NEGATIVE: return x >= 0;
    case TD_RANGE_OPEN: return x > key->lo && x < key->hi;
    case TD_RANGE_CLOSED: return x >= key->lo && x <= key->hi;
    case TD_RANGE_HALF_OPEN: return x > key->lo && x <= key->hi;
    }
    return false;
}

static tdStatus read_quantity(const tdReader *reader, const tdYaml *node, const tdKey *key, const char *field,
                              double *out)
{
    TD_TRY(td_read_quantity(reader, node, field, key->dim, out));
    bool positive = key->range == TD_RANGE_POSITIVE ||
                    ((key->range == TD_RANGE_OPEN || key->range == TD_RANGE_HALF_OPEN) && key->lo == 0);
    char why[TD_UNIT_WHY];
    if (in_range(key, *out) && td_dim_check(key->dim, positive, *out, why))
        return TD_OK;
    if (in_range(key, *out))
        return td_reader_fail(reader, node->line, field, NULL, "found '%.60s'; %.300s", node->text, why);
    char range[64];
    td_range_describe(key, range, sizeof range);
    return td_reader_fail(reader, node->line, field, NULL, "found '%.60s', must be %s", node->text, range);
}

static tdStatus read_vector(const tdReader *reader, const tdYaml *node, const tdKey *key, const char *field,
                            double *out)
{
    bool flat = key->kind == TD_KEY_RECTANGLE;
    if (node->kind != TD_YAML_LIST || node->n != (flat ? 2 : 3))
        return td_reader_unexpected(reader, node, field,
                                    flat ? "a list of two numbers [x, y]" : "a list of three numbers [x, y, z]");
    int i = 0;
    for (const tdYaml *item = node->first; item != NULL; item = item->next, i++)
    {
        char place[256];
        td_path_item(place, sizeof place, field, "", i);
        TD_TRY(read_quantity(reader, item, key, place, &out[i]));
    }
    return TD_OK;
}

tdStatus td_read_vector(const tdReader *reader, const tdYaml *node, const char *field, tdDim dim, double out[3])
{
    const tdKey key = {.kind = TD_KEY_VECTOR, .dim = dim};
    return read_vector(reader, node, &key, field, out);
}

static tdStatus read_box(const tdReader *reader, const tdYaml *node, const tdKey *key, const char *field, double *out)
{
    if (node->kind != TD_YAML_LIST || node->n != 2)
        return td_reader_unexpected(reader, node, field,
                                    key->kind == TD_KEY_RECTANGLE
                                        ? "two corners [[xmin, ymin], [xmax, ymax]]"
                                        : "two corners [[xmin, ymin, zmin], [xmax, ymax, zmax]]");
    char place[256];
    td_path_item(place, sizeof place, field, "", 0);
    TD_TRY(read_vector(reader, node->first, key, place, out));
    td_path_item(place, sizeof place, field, "", 1);
    TD_TRY(read_vector(reader, node->last, key, place, out + 3));
    for (int i = 0; i < 3; i++)
        if (out[i] > out[3 + i])
            return td_reader_fail(reader, node->line, field, NULL,
                                  "the first corner's %c (%g m) is larger than the second's (%g m); the first corner "
                                  "is the smaller one in every coordinate",
                                  "xyz"[i], out[i], out[3 + i]);
    return TD_OK;
}

static tdStatus read_counts(const tdReader *reader, const tdYaml *node, const tdKey *key, const char *field,
                            int64_t *out)
{
    if (node->kind != TD_YAML_LIST || node->n < 2 || node->n > 3)
        return td_reader_unexpected(reader, node, field, "a list of whole numbers [nx, ny] or [nx, ny, nz]");
    int i = 0;
    for (const tdYaml *item = node->first; item != NULL; item = item->next, i++)
    {
        char place[256];
        td_path_item(place, sizeof place, field, "", i);
        TD_TRY(td_read_integer(reader, item, place, key->least, key->most, &out[i]));
    }
    return TD_OK;
}

static void list_choices(const tdChoice *choices, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (const tdChoice *c = choices; c->name != NULL && used < size; c++)
        if (c->refused == NULL)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", c->name);
}

static tdStatus read_choice(const tdReader *reader, const tdYaml *node, const tdKey *key, const char *field,
                            int64_t *out)
{
    char list[200], expected[240];
    list_choices(key->choices, list, sizeof list);
    snprintf(expected, sizeof expected, "one of: %s", list);
    if (node->kind != TD_YAML_SCALAR || td_yaml_empty(node))
        return td_reader_unexpected(reader, node, field, expected);
    const char *names[16];
    int n = 0;
    for (const tdChoice *c = key->choices; c->name != NULL; c++)
    {
        if (strcmp(c->name, node->text) == 0 && c->refused != NULL)
            return td_reader_fail(reader, node->line, field, NULL, "'%s' is not supported by this version: %s", c->name,
                                  c->refused);
        if (strcmp(c->name, node->text) == 0)
        {
            *out = c->value;
            return TD_OK;
        }
        assert(n < 16);
        names[n++] = c->name;
    }
    const char *nearest = td_suggest(node->text, names, n);
    if (nearest == NULL)
        return td_reader_unexpected(reader, node, field, expected);
    return td_reader_fail(reader, node->line, field, NULL, "found '%.60s', did you mean '%s'? Expected one of: %s",
                          node->text, nearest, list);
}

static tdStatus read_choices(const tdReader *reader, const tdYaml *node, const tdKey *key, const char *field,
                             int64_t *out)
{
    if (node->kind != TD_YAML_LIST)
    {
        char list[200], expected[240];
        list_choices(key->choices, list, sizeof list);
        snprintf(expected, sizeof expected, "a list of some of: %s", list);
        return td_reader_unexpected(reader, node, field, expected);
    }
    *out = 0;
    int i = 0;
    for (const tdYaml *item = node->first; item != NULL; item = item->next, i++)
    {
        int64_t bit = 0;
        char place[256];
        td_path_item(place, sizeof place, field, "", i);
        TD_TRY(read_choice(reader, item, key, place, &bit));
        if (*out & bit)
            return td_reader_fail(reader, item->line, place, NULL, "'%s' is listed twice; remove one", item->text);
        *out |= bit;
    }
    return TD_OK;
}

static tdStatus read_bool(const tdReader *reader, const tdYaml *node, const char *field, int64_t *out)
{
    bool yes = node->kind == TD_YAML_SCALAR && strcmp(node->text, "true") == 0;
    if (!yes && (node->kind != TD_YAML_SCALAR || strcmp(node->text, "false") != 0))
        return td_reader_unexpected(reader, node, field, "true or false");
    *out = yes;
    return TD_OK;
}

static tdStatus read_axes(const tdReader *reader, const tdYaml *node, const char *field, int64_t *out)
{
    const char *expected = "letters of x, y and z, each at most once, e.g. 'xz'";
    *out = 0;
    if (node->kind != TD_YAML_SCALAR || node->text[0] == '\0')
        return td_reader_unexpected(reader, node, field, expected);
    for (const char *c = node->text; *c != '\0'; c++)
    {
        int64_t bit = *c == 'x' ? 1 : *c == 'y' ? 2 : *c == 'z' ? 4 : 0;
        if (bit == 0 || (*out & bit))
            return td_reader_unexpected(reader, node, field, expected);
        *out |= bit;
    }
    return TD_OK;
}

// Names end up in file names, in CSV headers and as keys of keyframes.
static bool good_name(const char *text)
{
    size_t n = strlen(text);
    if (n == 0 || n > LONGEST_NAME || text[0] == '.' || text[0] == '-')
        return false;
    for (size_t i = 0; i < n; i++)
    {
        unsigned char c = (unsigned char)text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 0x80;
        if (!letter && c != '_' && c != '-' && c != '.')
            return false;
    }
    return true;
}

static tdStatus read_text(const tdReader *reader, const tdYaml *node, const tdKey *key, const char *field,
                          const char **out)
{
    const char *expected = key->kind == TD_KEY_NAME ? "a name" : key->kind == TD_KEY_TEXT ? "a text" : "a file's path";
    if (node->kind != TD_YAML_SCALAR || td_yaml_empty(node) || node->text[0] == '\0')
        return td_reader_unexpected(reader, node, field, expected);
    if (key->kind == TD_KEY_NAME && !good_name(node->text))
        return td_reader_fail(reader, node->line, field, NULL,
                              "found '%.80s', expected a name: letters, digits, '_', '-' and '.', at most %d bytes, "
                              "beginning with a letter, a digit or '_'",
                              node->text, LONGEST_NAME);
    *out = node->text;
    return TD_OK;
}

static tdStatus read_unit(const tdReader *reader, const tdYaml *node, const tdKey *key, const char *field, double *out)
{
    char why[TD_UNIT_WHY];
    if (node->kind != TD_YAML_SCALAR || td_yaml_empty(node))
        return td_reader_unexpected(reader, node, field, "a unit, e.g. mm");
    if (!td_unit_parse(node->text, key->dim, out, why))
        return td_reader_fail(reader, node->line, field, NULL, "%s", why);
    return TD_OK;
}

static tdStatus read_list(const tdReader *reader, const tdYaml *node, const tdKey *key, const char *field)
{
    if (node->kind != TD_YAML_LIST)
        return td_reader_unexpected(
            reader, node, field, key->kind != TD_KEY_NUMBERS ? "a list, one '- ' an item" : "a list of whole numbers");
    bool maps = key->kind != TD_KEY_NUMBERS;
    int64_t least = maps ? key->least : 1, most = maps ? key->most : INT64_MAX;
    if (node->n < least || node->n > most)
        return td_reader_fail(reader, node->line, field, NULL,
                              "the list has %d items, expected %" PRId64 " to %" PRId64, node->n, least, most);
    return TD_OK;
}

static tdStatus read_value(const tdReader *reader, const tdYaml *node, const tdKey *key, const char *field,
                           tdValue *out)
{
    switch (key->kind)
    {
    case TD_KEY_TEXT:
    case TD_KEY_NAME:
    case TD_KEY_FILE: return read_text(reader, node, key, field, &out->text);
    case TD_KEY_CHOICE: return read_choice(reader, node, key, field, &out->integer[0]);
    case TD_KEY_CHOICES: return read_choices(reader, node, key, field, &out->integer[0]);
    case TD_KEY_BOOL: return read_bool(reader, node, field, &out->integer[0]);
    case TD_KEY_INTEGER: return td_read_integer(reader, node, field, key->least, key->most, &out->integer[0]);
    case TD_KEY_COUNTS: return read_counts(reader, node, key, field, out->integer);
    case TD_KEY_QUANTITY: return read_quantity(reader, node, key, field, &out->number[0]);
    case TD_KEY_VECTOR: return read_vector(reader, node, key, field, out->number);
    case TD_KEY_BOX:
    case TD_KEY_RECTANGLE: return read_box(reader, node, key, field, out->number);
    case TD_KEY_AXES: return read_axes(reader, node, field, &out->integer[0]);
    case TD_KEY_UNIT: return read_unit(reader, node, key, field, &out->number[0]);
    case TD_KEY_NUMBERS:
    case TD_KEY_LIST: return read_list(reader, node, key, field);
    case TD_KEY_LIST_OR_BOOL:
        return node->kind == TD_YAML_LIST ? read_list(reader, node, key, field)
                                          : read_bool(reader, node, field, &out->integer[0]);
    case TD_KEY_MAP:
        return node->kind == TD_YAML_MAP ? TD_OK : td_reader_unexpected(reader, node, field, "a map {key: value}");
    case TD_KEY_FILE_OR_MAP: return node->kind == TD_YAML_MAP ? TD_OK : read_text(reader, node, key, field, &out->text);
    case TD_KEY_OTHER: return TD_OK;
    case TD_KEY_UNSUPPORTED:
        return td_reader_fail(reader, node->key_line, field, NULL, "not supported by this version; remove '%s'",
                              key->name);
    }
    return TD_OK;
}

// ---------------------------------------------------------------- maps

// A default is read by the same code as a user's value, so what the reference says is what is used.
static tdStatus read_standard(const tdReader *reader, const tdKey *key, const char *field, tdValue *value)
{
    char copy[64];
    snprintf(copy, sizeof copy, "%s", key->standard);
    tdYaml item[4], list = {.kind = TD_YAML_LIST};
    if (copy[0] != '[')
    {
        item[0] = (tdYaml){.kind = TD_YAML_SCALAR, .text = copy};
        return read_value(reader, &item[0], key, field, value);
    }
    char *rest = NULL;
    for (char *word = strtok_r(copy, "[], ", &rest); word != NULL; word = strtok_r(NULL, "[], ", &rest))
    {
        assert(list.n < 4);
        item[list.n] = (tdYaml){.kind = TD_YAML_SCALAR, .text = word};
        if (list.n > 0)
            item[list.n - 1].next = &item[list.n];
        list.n++;
    }
    list.first = list.n > 0 ? &item[0] : NULL;
    return read_value(reader, &list, key, field, value);
}

static void add_keys(tdRecord *record, const tdSchema *schema)
{
    for (const tdKey *key = schema->keys; key->name != NULL; key++)
    {
        assert(record->n < TD_MOST_KEYS);
        record->values[record->n++] = (tdValue){.key = key};
    }
    if (schema->also != NULL)
        add_keys(record, schema->also);
}

static tdStatus unknown_key(const tdReader *reader, const tdRecord *record, const tdYaml *child)
{
    const char *names[TD_MOST_KEYS];
    char list[400] = "";
    size_t used = 0;
    int n = 0;
    for (int i = 0; i < record->n; i++)
    {
        const tdKey *key = record->values[i].key;
        if (key->kind == TD_KEY_UNSUPPORTED)
            continue;
        names[n++] = key->name;
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", key->name);
    }
    if (child->key[0] != '\0' && strspn(child->key, "0123456789") == strlen(child->key))
        return td_reader_fail(
            reader, child->key_line, record->path, child->key,
            "a number stands where a key is expected; the decimal mark is a point, e.g. '0.%.20s', and "
            "a list stands in [ ]",
            child->key);
    const char *nearest = td_suggest(child->key, names, n);
    if (nearest != NULL)
        return td_reader_fail(reader, child->key_line, record->path, child->key,
                              "unknown key '%.60s'; did you mean '%s'? Known keys: %s", child->key, nearest, list);
    return td_reader_fail(reader, child->key_line, record->path, child->key, "unknown key '%.60s'. Known keys: %s",
                          child->key, list);
}

static tdStatus check_either(const tdReader *reader, const tdRecord *record, char either)
{
    const tdValue *given = NULL;
    char list[200] = "";
    size_t used = 0;
    bool required = false;
    for (int i = 0; i < record->n; i++)
    {
        const tdValue *value = &record->values[i];
        if (value->key->either != either)
            continue;
        required = required || (value->key->required && record->schema->also_when == NULL);
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", value->key->name);
        if (value->node == NULL)
            continue;
        if (given != NULL)
            return td_reader_fail(reader, value->node->key_line, record->path, value->key->name,
                                  "'%s' (line %d) and '%s' exclude each other; give one", given->key->name,
                                  given->node->key_line, value->key->name);
        given = value;
    }
    if (given == NULL && required)
        return td_reader_fail(reader, record->node->line, record->path, NULL, "one of these keys is required: %s",
                              list);
    return TD_OK;
}

static tdStatus check_presence(const tdReader *reader, const tdRecord *record)
{
    char checked[TD_MOST_KEYS + 1] = "";
    for (int i = 0; i < record->n; i++)
    {
        const tdValue *value = &record->values[i];
        char either = value->key->either;
        if (either == '\0' && value->key->required && value->node == NULL)
            return td_reader_fail(reader, record->node->line, record->path, value->key->name,
                                  "the key '%s' is missing: %s", value->key->name, value->key->doc);
        if (either != '\0' && strchr(checked, either) == NULL)
        {
            checked[strlen(checked)] = either;
            TD_TRY(check_either(reader, record, either));
        }
    }
    return TD_OK;
}

tdStatus td_schema_read(const tdReader *reader, const tdYaml *node, const tdSchema *schema, const char *path,
                        tdRecord *record)
{
    memset(record, 0, sizeof *record);
    record->node = node;
    record->schema = schema;
    snprintf(record->path, sizeof record->path, "%s", path);
    if (node->kind != TD_YAML_MAP)
        return td_reader_unexpected(reader, node, path, "a map {key: value}");
    add_keys(record, schema);
    char field[256];
    for (const tdYaml *child = node->first; child != NULL; child = child->next)
    {
        int i = 0;
        while (i < record->n && strcmp(record->values[i].key->name, child->key) != 0)
            i++;
        if (i == record->n && schema->open != NULL)
            continue;
        if (i == record->n)
            return unknown_key(reader, record, child);
        td_path_key(field, sizeof field, path, child->key);
        TD_TRY(read_value(reader, child, record->values[i].key, field, &record->values[i]));
        record->values[i].node = child;
        record->values[i].has = true;
    }
    TD_TRY(check_presence(reader, record));
    for (int i = 0; i < record->n; i++)
    {
        tdValue *value = &record->values[i];
        if (value->has || value->key->standard == NULL)
            continue;
        td_path_key(field, sizeof field, path, value->key->name);
        TD_TRY(read_standard(reader, value->key, field, value));
        value->has = true;
    }
    return TD_OK;
}
