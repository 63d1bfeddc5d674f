// SPDX-License-Identifier: Apache-2.0
// What may stand in a scene file. scene/keys.c and its parts keys_*.c hold one table for each kind of
// map; the reader here checks a map against its table, and scene/reference.c prints the same tables as Markdown. So a
// key exists, is checked and is documented in one place.
#pragma once
#include "base/file.h"
#include "base/memory.h"
#include "describe/unit.h"
#include "scene/yaml.h"

typedef enum tdKeyKind
{
    TD_KEY_TEXT,         // any text
    TD_KEY_NAME,         // letters, digits, _ - .
    TD_KEY_CHOICE,       // one of `choices`
    TD_KEY_CHOICES,      // list of `choices`, each at most once; bits of their values
    TD_KEY_BOOL,         // true or false
    TD_KEY_INTEGER,      // whole number in [least, most]
    TD_KEY_COUNTS,       // two or three whole numbers in [least, most]; the third is 0 when there are two
    TD_KEY_NUMBERS,      // list of whole numbers in [least, most], read by the caller
    TD_KEY_QUANTITY,     // number of dimension `dim` in the range
    TD_KEY_VECTOR,       // three of them
    TD_KEY_BOX,          // two vectors, first <= second
    TD_KEY_RECTANGLE,    // two points [x, y], first <= second; as a box with z = 0
    TD_KEY_AXES,         // letters of xyz
    TD_KEY_UNIT,         // unit of dimension `dim`, without a number
    TD_KEY_MAP,          // map of `schema`
    TD_KEY_LIST,         // list of maps of `schema`, `least` to `most` of them
    TD_KEY_LIST_OR_BOOL, // the same, or true or false
    TD_KEY_FILE,         // path
    TD_KEY_FILE_OR_MAP,  // path, or map of `schema`
    TD_KEY_OTHER,        // read by the caller: its form or dimension hangs on other keys; `form` says how it is written
    TD_KEY_UNSUPPORTED   // known, but not by this version
} tdKeyKind;

typedef struct tdChoice
{
    const char *name;
    int value;
    const char *doc;
    const char *refused; ///< reason why this version does not take it; NULL if it does
} tdChoice;

typedef enum tdRange
{
    TD_RANGE_ANY,
    TD_RANGE_POSITIVE,     // > 0
    TD_RANGE_NOT_NEGATIVE, // >= 0
    TD_RANGE_OPEN,         // lo < x < hi
    TD_RANGE_CLOSED,       // lo <= x <= hi
    TD_RANGE_HALF_OPEN     // lo < x <= hi
} tdRange;

struct tdSchema;

typedef struct tdKey
{
    const char *name;
    tdKeyKind kind;
    const char *doc;
    bool required;
    char either;              ///< keys with the same letter exclude each other; `required`: one must be given
    const char *standard;     ///< default, as it would be written; NULL: none
    const char *form;         ///< OTHER: how the value is written, for the reference
    const char *standard_doc; ///< when the default depends on other keys, the words for it
    tdDim dim;
    tdRange range;
    double lo, hi;
    int64_t least, most;
    const tdChoice *choices; ///< ends with a NULL name
    const struct tdSchema *schema;
} tdKey;

typedef struct tdSchema
{
    const char *title;           ///< heading in the reference
    const char *doc;             ///< paragraph below it
    const char *example;         ///< YAML, or NULL
    const tdKey *keys;           ///< ends with a NULL name
    const struct tdSchema *also; ///< more keys, shared by several maps
    const char *also_when;       ///< who needs one of those, where not every item does; the caller checks it
    const char *open;            ///< meaning of keys that are not in the table, when such are allowed
} tdSchema;

#define TD_MOST_KEYS 40

/// Value of one key, in SI units.
typedef struct tdValue
{
    const tdKey *key;
    const tdYaml *node; ///< NULL: not given, the default stands
    bool has;           ///< given or has a default
    double number[6];   ///< QUANTITY: [0]; VECTOR: [0..2]; BOX, RECTANGLE: min, max
    int64_t integer[3]; ///< INTEGER, CHOICE, CHOICES, BOOL, AXES: [0]; COUNTS
    const char *text;   ///< TEXT, NAME, FILE: as in the tree
} tdValue;

/// Values of a map, and its path for messages.
typedef struct tdRecord
{
    const tdYaml *node;
    const tdSchema *schema;
    int n;
    tdValue values[TD_MOST_KEYS];
    char path[160];
} tdRecord;

/// What reading needs. The tree and the strings live in the caller's arenas.
typedef struct tdReader
{
    const char *file;
    tdUnits units;
    tdError *error;
} tdReader;

/// Checks a map against its schema: unknown, missing and excluding keys, kinds, units, ranges.
tdStatus td_schema_read(const tdReader *reader, const tdYaml *node, const tdSchema *schema, const char *path,
                        tdRecord *record);

/// The value of a key that the schema has (asserted).
const tdValue *td_record_get(const tdRecord *record, const char *key);
/// Its number, or the other one where the key was not given.
double td_record_number(const tdRecord *record, const char *key, double other);
/// Line of a key, or of its map when it was not given.
int td_record_line(const tdRecord *record, const char *key);

/// Fails at a line, with the field path.key (or path, or path[i]).
tdStatus td_reader_fail(const tdReader *reader, int line, const char *path, const char *key, const char *format, ...)
    TD_PRINTF(5, 6);
tdStatus td_record_fail(const tdReader *reader, const tdRecord *record, const char *key, const char *format, ...)
    TD_PRINTF(4, 5);

/// path.key or path[i], cut to the size.
void td_path_key(char *out, size_t size, const char *path, const char *key);
void td_path_item(char *out, size_t size, const char *path, const char *key, int i);

/// "found 'x', expected ..." at a value.
tdStatus td_reader_unexpected(const tdReader *reader, const tdYaml *node, const char *field, const char *expected);

/// Readers of single values, for what is not a map with a schema.
tdStatus td_read_integer(const tdReader *reader, const tdYaml *node, const char *field, int64_t least, int64_t most,
                         int64_t *out);
tdStatus td_read_vector(const tdReader *reader, const tdYaml *node, const char *field, tdDim dim, double out[3]);
tdStatus td_read_quantity(const tdReader *reader, const tdYaml *node, const char *field, tdDim dim, double *out);

/// "> 0", "> -1 and < 0.5", "" for any.
void td_range_describe(const tdKey *key, char *out, size_t size);

// The tables of scene/keys.c and keys_*.c.
extern const tdSchema td_schema_scene, td_schema_units, td_schema_body, td_schema_mesh_box, td_schema_transform,
    td_schema_material, td_schema_part, td_schema_term, td_schema_viscoelastic, td_schema_damping, td_schema_select,
    td_schema_sphere, td_schema_plane, td_schema_side, td_schema_connected, td_schema_fixed, td_schema_prescribed,
    td_schema_load, td_schema_probe, td_schema_motion, td_schema_keyframe, td_schema_integrator, td_schema_solver,
    td_schema_output, td_schema_actuator, td_schema_effector, td_schema_control, td_schema_group, td_schema_reduction,
    td_schema_validation, td_schema_random, td_schema_vary, td_schema_shape, td_schema_round, td_schema_joint,
    td_schema_contact, td_schema_exclude, td_schema_body_contact, td_schema_attachment, td_schema_coupling,
    td_schema_coupling_term, td_schema_rod, td_schema_torus, td_schema_repeat, td_schema_tool, td_schema_sensor;

/// Values of choices that are not enumerations of scene.h.
enum
{
    TD_OUTPUT_VTU = 1,
    TD_OUTPUT_CSV = 2,
    TD_OUTPUT_HDF5 = 4,
    TD_TYPE_POINT = 0,
    TD_TYPE_SURFACE = 1,
    TD_ELEMENTS_TETRAHEDRA = 0,
    TD_ELEMENTS_HEXAHEDRA = 1,
    TD_ON_NODES = 0,
    TD_ON_SURFACE = 1,
    TD_SHARE_DISPLACEMENT = 0,
    TD_SHARE_EFFORT = 1,
    TD_PART_VOLUME = 0,
    TD_PART_MEMBRANE = 1
};

/// Words of an actuator's `drive`.
typedef enum tdDriveChoice
{
    TD_CHOICE_DISPLACEMENT,
    TD_CHOICE_FORCE,
    TD_CHOICE_PRESSURE,
    TD_CHOICE_VOLUME,
    TD_CHOICE_GAS,
    TD_CHOICE_ANGLE,
    TD_CHOICE_TORQUE,
    TD_CHOICE_EFFORT,
    TD_CHOICE_POSITION,
    TD_CHOICE_RATE
} tdDriveChoice;

typedef enum tdMethodChoice
{
    TD_CHOICE_BACKWARD_EULER,
    TD_CHOICE_MIDPOINT,
    TD_CHOICE_SYMPLECTIC,
    TD_CHOICE_THETA,
    TD_CHOICE_NEWMARK,
    TD_CHOICE_RK4,
    TD_CHOICE_STATIC
} tdMethodChoice;

typedef enum tdCollisionChoice
{
    TD_COLLISION_SURFACE,
    TD_COLLISION_HULL
} tdCollisionChoice;
