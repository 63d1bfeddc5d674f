// SPDX-License-Identifier: Apache-2.0
// Numbers of VTK files: names of types, either order of bytes.
#include "mesh/vtk.h"

#include <string.h>
#include <strings.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the decoders assume a little-endian machine");

static const struct
{
    const char *name;
    tdVtkType type;
} legacy_types[] = {
    {"bit", TD_VTK_BIT},
    {"char", TD_VTK_INT8},
    {"signed_char", TD_VTK_INT8},
    {"unsigned_char", TD_VTK_UINT8},
    {"short", TD_VTK_INT16},
    {"unsigned_short", TD_VTK_UINT16},
    {"int", TD_VTK_INT32},
    {"unsigned_int", TD_VTK_UINT32},
    {"long", TD_VTK_INT64}, // as on the 64-bit Unix systems where most such files come from
    {"unsigned_long", TD_VTK_UINT64},
    {"float", TD_VTK_FLOAT32},
    {"double", TD_VTK_FLOAT64},
    {"vtkidtype", TD_VTK_INT32}, // VTK writes these as int, whatever they are in memory
    {"vtktypeint8", TD_VTK_INT8},
    {"vtktypeuint8", TD_VTK_UINT8},
    {"vtktypeint16", TD_VTK_INT16},
    {"vtktypeuint16", TD_VTK_UINT16},
    {"vtktypeint32", TD_VTK_INT32},
    {"vtktypeuint32", TD_VTK_UINT32},
    {"vtktypeint64", TD_VTK_INT64},
    {"vtktypeuint64", TD_VTK_UINT64},
    {"vtktypefloat32", TD_VTK_FLOAT32},
    {"vtktypefloat64", TD_VTK_FLOAT64},
    {"string", TD_VTK_STRING},
    {"utf8_string", TD_VTK_STRING},
    {"unicode_string", TD_VTK_STRING},
};

static const struct
{
    const char *name;
    int bytes;
} xml_types[] = {
    [TD_VTK_INT8] = {"Int8", 1},       [TD_VTK_UINT8] = {"UInt8", 1},   [TD_VTK_INT16] = {"Int16", 2},
    [TD_VTK_UINT16] = {"UInt16", 2},   [TD_VTK_INT32] = {"Int32", 4},   [TD_VTK_UINT32] = {"UInt32", 4},
    [TD_VTK_INT64] = {"Int64", 8},     [TD_VTK_UINT64] = {"UInt64", 8}, [TD_VTK_FLOAT32] = {"Float32", 4},
    [TD_VTK_FLOAT64] = {"Float64", 8}, [TD_VTK_BIT] = {"", 0},          [TD_VTK_STRING] = {"String", 0},
};

tdVtkType td_vtk_type_legacy(const char *name)
{
    for (size_t i = 0; i < sizeof legacy_types / sizeof legacy_types[0]; i++)
        if (strcasecmp(name, legacy_types[i].name) == 0)
            return legacy_types[i].type;
    return TD_VTK_NONE;
}

tdVtkType td_vtk_type_xml(const char *name)
{
    for (int type = TD_VTK_INT8; type <= TD_VTK_STRING; type++)
        if (type != TD_VTK_BIT && strcmp(name, xml_types[type].name) == 0)
            return (tdVtkType)type;
    return TD_VTK_NONE;
}

int td_vtk_type_bytes(tdVtkType type)
{
    return type == TD_VTK_NONE ? 0 : xml_types[type].bytes;
}

bool td_vtk_type_integer(tdVtkType type)
{
    return type >= TD_VTK_INT8 && type <= TD_VTK_UINT64;
}

// One loop for each type; the copy through memcpy is what compilers turn into an unaligned load.
#define DECODE(ctype, word, swap)                                                                                      \
    for (int64_t i = 0; i < count; i++)                                                                                \
    {                                                                                                                  \
        word raw;                                                                                                      \
        ctype value;                                                                                                   \
        memcpy(&raw, from + (size_t)i * sizeof raw, sizeof raw);                                                       \
        if (big_endian)                                                                                                \
            raw = (word)swap(raw);                                                                                     \
        memcpy(&value, &raw, sizeof value);                                                                            \
        out[i] = (double)value;                                                                                        \
    }                                                                                                                  \
    break

void td_vtk_decode(tdVtkType type, bool big_endian, const void *bytes, int64_t count, double *out)
{
    const unsigned char *from = bytes;
    switch (type)
    {
    case TD_VTK_INT8: DECODE(int8_t, uint8_t, );
    case TD_VTK_UINT8: DECODE(uint8_t, uint8_t, );
    case TD_VTK_INT16: DECODE(int16_t, uint16_t, __builtin_bswap16);
    case TD_VTK_UINT16: DECODE(uint16_t, uint16_t, __builtin_bswap16);
    case TD_VTK_INT32: DECODE(int32_t, uint32_t, __builtin_bswap32);
    case TD_VTK_UINT32: DECODE(uint32_t, uint32_t, __builtin_bswap32);
    case TD_VTK_INT64: DECODE(int64_t, uint64_t, __builtin_bswap64);
    case TD_VTK_UINT64: DECODE(uint64_t, uint64_t, __builtin_bswap64);
    case TD_VTK_FLOAT32: DECODE(float, uint32_t, __builtin_bswap32);
    case TD_VTK_FLOAT64: DECODE(double, uint64_t, __builtin_bswap64);
    case TD_VTK_BIT:
        for (int64_t i = 0; i < count; i++)
            out[i] = from[i / 8] >> (7 - i % 8) & 1;
        break;
    case TD_VTK_NONE:
    case TD_VTK_STRING: break;
    }
}
