// SPDX-License-Identifier: Apache-2.0
// The reference manual of the scene file, printed from the tables that the parser checks by.
#include "describe/scene.h"
#include "describe/together.h"
#include "scene/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_SCHEMAS 64

static const char intro[] =
    "# Scene file\n"
    "\n"
    "A scene is a YAML file. `tendril check SCENE` validates one and prints what it understood; `tendril run SCENE`\n"
    "simulates it. This page is printed by `tendril check --reference` from the tables that the parser itself uses.\n"
    "\n"
    "```yaml\n"
    "tendril: 1\n"
    "units: {length: mm, mass: kg, time: s}\n"
    "gravity: [0, 0, -9.81 m/s^2]\n"
    "time_step: 10 ms\n"
    "duration: 1 s\n"
    "bodies:\n"
    "  - name: beam\n"
    "    mesh: {box: [[0, 0, 0], [100, 10, 10]], cells: [20, 4, 4]}\n"
    "    material: {law: corotational, young: 450 kPa, poisson: 0.45, density: 1.07 g/cm^3}\n"
    "    fixed: [{group: xmin}]\n"
    "loads:\n"
    "  - {name: tip, type: point, body: beam, group: xmax, force: [0, 0, -0.1 N]}\n"
    "probes:\n"
    "  - {name: tip, body: beam, point: [100, 5, 5]}\n"
    "motion: {keyframes: [{t: 0, tip: 0}, {t: 0.5 s, tip: 1}], interpolation: smooth}\n"
    "output: {every: 10, formats: [vtu, csv]}\n"
    "```\n"
    "\n"
    "Unknown keys, duplicate keys, wrong units and values out of range are errors that name the line. Anchors and\n"
    "aliases of YAML are understood; tags and merge keys (`<<`) are not. The z axis points up by convention; gravity "
    "is\n"
    "what the scene says.\n"
    "\n"
    "Every command that takes a scene also takes it from standard input, as `-`, and changes it by `--set "
    "PATH=VALUE`:\n"
    "\n"
    "```sh\n"
    "tendril run finger.yaml --set 'bodies[finger].material.young=500 kPa' --set time_step=5ms\n"
    "```\n"
    "\n"
    "Entries of a list are chosen by their number, from 0, or by their name. The value is YAML; it is checked like "
    "the\n"
    "rest of the scene.\n"
    "\n"
    "## Numbers and units\n"
    "\n"
    "A number may carry a unit: `450 kPa`, `40 mm`, `1.07 g/cm^3`, `9.81 m/s²`, `0.1 1/s`, `2 N*mm`. Units are\n"
    "multiplied by `*` or a space, divided by `/`, raised by `^` and grouped by parentheses. A bare number is in the\n"
    "scene's base units (see [units](#units)), except that an angle other than 0 must say `deg` or `rad`. A unit of "
    "the\n"
    "wrong dimension is an error.\n"
    "\n";

static void write_units(tdText *out)
{
    static const char *const shown[] = {"length",   "volume",           "mass",  "time",  "rate",  "force",
                                        "pressure", "energy or torque", "power", "angle", "number"};
    td_text_format(out, "| quantity | units |\n|---|---|\n");
    for (size_t k = 0; k < sizeof shown / sizeof shown[0]; k++)
    {
        td_text_format(out, "| %s |", shown[k]);
        const char *name, *comma = "";
        tdDim dim;
        double si;
        for (int i = 0; td_unit_at(i, &name, &dim, &si); i++)
        {
            const char *of = td_dim_name(dim);
            if (of == NULL || strcmp(of, shown[k]) != 0)
                continue;
            td_text_format(out, "%s `%s`", comma, name);
            comma = ",";
        }
        td_text_format(out, " |\n");
    }
    td_text_format(out, "\n");
}

// A dimensionless number has no unit to show.
static void write_limit(tdText *out, double value, const char *si)
{
    td_text_format(out, " %g%s%s |", value, si[0] != '\0' ? " " : "", si);
}

static void write_limits(tdText *out)
{
    td_text_format(out,
                   "Every quantity has limits that no real scene approaches, so that a mistaken unit is detected and\n"
                   "nothing computed from it overflows. They apply to its magnitude; the smallest only where a\n"
                   "key must be positive.\n\n"
                   "| quantity | at least, where it must be positive | at most |\n|---|---|---|\n");
    const char *name, *si;
    double least, most;
    for (int i = 0; td_dim_at(i, &name, &si, &least, &most); i++)
    {
        td_text_format(out, "| %s |", name);
        write_limit(out, least, si);
        write_limit(out, most, si);
        td_text_format(out, "\n");
    }
    td_text_format(out, "\n");
}

static void write_link(tdText *out, const tdSchema *schema)
{
    td_text_format(out, "[%s](#%s)", schema->title, schema->title);
}

static void write_quantity(tdText *out, const tdKey *key)
{
    char range[64];
    const char *example = td_dim_example(key->dim), *name = td_dim_name(key->dim);
    td_range_describe(key, range, sizeof range);
    td_text_format(out, "%s%s%s", name, range[0] != '\0' ? " " : "", range);
    if (example != NULL && example[0] != '\0')
        td_text_format(out, ", e.g. in `%s`", example);
}

static void write_kind(tdText *out, const tdKey *key)
{
    switch (key->kind)
    {
    case TD_KEY_TEXT: td_text_format(out, "text"); break;
    case TD_KEY_NAME: td_text_format(out, "name: letters, digits, `_`, `-`, `.`"); break;
    case TD_KEY_CHOICE: td_text_format(out, "one of the words below"); break;
    case TD_KEY_CHOICES: td_text_format(out, "list of the words below"); break;
    case TD_KEY_BOOL: td_text_format(out, "`true` or `false`"); break;
    case TD_KEY_INTEGER: td_text_format(out, "whole number from %" PRId64 " to %" PRId64, key->least, key->most); break;
    case TD_KEY_COUNTS:
        td_text_format(out, "[nx, ny, nz] or [nx, ny], whole numbers from %" PRId64 " to %" PRId64, key->least,
                       key->most);
        break;
    case TD_KEY_NUMBERS: td_text_format(out, "list of whole numbers from %" PRId64, key->least); break;
    case TD_KEY_QUANTITY: write_quantity(out, key); break;
    case TD_KEY_VECTOR:
        td_text_format(out, "[x, y, z]: ");
        write_quantity(out, key);
        break;
    case TD_KEY_BOX: td_text_format(out, "[[x, y, z], [x, y, z]], smallest and largest corner, lengths"); break;
    case TD_KEY_RECTANGLE: td_text_format(out, "[[x, y], [x, y]], smallest and largest corner, lengths"); break;
    case TD_KEY_AXES: td_text_format(out, "letters of `xyz`"); break;
    case TD_KEY_UNIT: td_text_format(out, "unit of %s", td_dim_name(key->dim)); break;
    case TD_KEY_MAP:
        td_text_format(out, "map, see ");
        write_link(out, key->schema);
        break;
    case TD_KEY_LIST:
        td_text_format(out, "list of maps, see ");
        write_link(out, key->schema);
        break;
    case TD_KEY_LIST_OR_BOOL:
        td_text_format(out, "`true`, `false` or a list of maps, see ");
        write_link(out, key->schema);
        break;
    case TD_KEY_FILE: td_text_format(out, "path, relative to the scene's folder"); break;
    case TD_KEY_FILE_OR_MAP:
        td_text_format(out, "path, or map, see ");
        write_link(out, key->schema);
        break;
    case TD_KEY_OTHER: td_text_format(out, "%s", key->form); break;
    case TD_KEY_UNSUPPORTED: break;
    }
}

// A map that may be left out as a whole and then still has values.
static bool fills_itself(const tdKey *key)
{
    if (key->kind != TD_KEY_MAP || key->either != '\0')
        return false;
    for (const tdKey *inner = key->schema->keys; inner->name != NULL; inner++)
        if (inner->required)
            return false;
    return true;
}

static void write_standard(tdText *out, const tdKey *key)
{
    if (key->standard_doc != NULL)
        td_text_format(out, "%s", key->standard_doc);
    else if (key->standard != NULL)
        td_text_format(out, "`%s`", key->standard);
    else if (key->required && key->either != '\0')
        td_text_format(out, "one of these is required");
    else
        td_text_format(out, "%s", key->required ? "required" : fills_itself(key) ? "defaults of its keys" : "none");
}

// The other keys of which only one may be given, unless the default column says so already.
static void write_excluded(tdText *out, const tdSchema *schema, const tdKey *key)
{
    if (key->either == '\0' || key->required)
        return;
    for (const tdKey *other = schema->keys; other->name != NULL; other++)
        if (other != key && other->either == key->either)
            td_text_format(out, "; excludes `%s`", other->name);
}

static void write_choices(tdText *out, const tdKey *key)
{
    td_text_format(out, "Words of `%s`:\n\n", key->name);
    for (const tdChoice *c = key->choices; c->name != NULL; c++)
        if (c->refused == NULL)
            td_text_format(out, "- `%s`: %s\n", c->name, c->doc);
    const char *comma = "- not supported by this version: ";
    for (const tdChoice *c = key->choices; c->name != NULL; c++)
        if (c->refused != NULL)
        {
            td_text_format(out, "%s`%s`", comma, c->name);
            comma = ", ";
        }
    td_text_format(out, "%s\n", comma[0] == ',' ? "\n" : "");
}

static void write_unsupported(tdText *out, const tdSchema *schema)
{
    const char *comma = "Not supported by this version, and refused: ";
    for (const tdKey *key = schema->keys; key->name != NULL; key++)
        if (key->kind == TD_KEY_UNSUPPORTED)
        {
            td_text_format(out, "%s`%s`", comma, key->name);
            comma = ", ";
        }
    if (comma[0] == ',')
        td_text_format(out, ".\n\n");
}

static void write_section(tdText *out, const tdSchema *schema)
{
    td_text_format(out, "## %s\n\n%s\n\n", schema->title, schema->doc);
    if (schema->example != NULL)
        td_text_format(out, "```yaml\n%s\n```\n\n", schema->example);
    td_text_format(out, "| key | value | default | meaning |\n|---|---|---|---|\n");
    for (const tdKey *key = schema->keys; key->name != NULL; key++)
    {
        if (key->kind == TD_KEY_UNSUPPORTED)
            continue;
        td_text_format(out, "| `%s` | ", key->name);
        write_kind(out, key);
        td_text_format(out, " | ");
        write_standard(out, key);
        td_text_format(out, " | %s", key->doc);
        write_excluded(out, schema, key);
        td_text_format(out, " |\n");
    }
    if (schema->also == &td_schema_material)
        td_text_format(out, "| the keys of a [%s](#%s), without `total_mass` | | | law, constants and mass |\n",
                       schema->also->title, schema->also->title);
    else if (schema->also != NULL)
        td_text_format(out, "| one of the keys of a [%s](#%s) | | required%s%s | which nodes |\n", schema->also->title,
                       schema->also->title, schema->also_when != NULL ? " " : "",
                       schema->also_when != NULL         ? schema->also_when
                       : schema == &td_schema_probe      ? ", or `point`"
                       : schema == &td_schema_attachment ? ", or `points`"
                                                         : "");
    if (schema->open != NULL)
        td_text_format(out, "| NAME | number, or quantity | none | %s |\n", schema->open);
    td_text_format(out, "\n");
    for (const tdKey *key = schema->keys; key->name != NULL; key++)
        if (key->kind == TD_KEY_CHOICE || key->kind == TD_KEY_CHOICES)
            write_choices(out, key);
    write_unsupported(out, schema);
}

// Depth first, each schema once: the order in which a reader of the file meets them.
static void write_schema(tdText *out, const tdSchema *schema, const tdSchema **done, int *n)
{
    for (int i = 0; i < *n; i++)
        if (done[i] == schema)
            return;
    if (*n == MOST_SCHEMAS)
    {
        out->failed = true;
        return;
    }
    done[(*n)++] = schema;
    write_section(out, schema);
    for (const tdKey *key = schema->keys; key->name != NULL; key++)
        if (key->schema != NULL)
            write_schema(out, key->schema, done, n);
    if (schema->also != NULL)
        write_schema(out, schema->also, done, n);
}

void td_scene_reference(tdText *out)
{
    const tdSchema *done[MOST_SCHEMAS];
    int n = 0;
    td_text_append(out, intro, sizeof intro - 1);
    write_units(out);
    write_limits(out);
    td_text_format(out, "## What goes together\n\nSome features cannot be combined. A scene that uses both is refused, "
                        "with the reason and a remedy.\n\n");
    td_part_table(out);
    td_text_format(out, "\n");
    write_schema(out, &td_schema_scene, done, &n);
    // One newline at the end of the file.
    if (!out->failed && out->size >= 2 && out->data[out->size - 2] == '\n')
        out->data[--out->size] = '\0';
}
