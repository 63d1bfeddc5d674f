// SPDX-License-Identifier: Apache-2.0
// Legacy VTK, version 3.0, which every reader of the format understands: text or big-endian binary.
#include "base/print.h"
#include "mesh/vtk.h"

#include <stdlib.h>
#include <string.h>

// VTK's own reader takes words of at most this many bytes.
#define LONGEST_NAME 255

static void put_int32(tdText *out, bool binary, int32_t value)
{
    if (binary)
    {
        uint32_t word = __builtin_bswap32((uint32_t)value);
        td_text_append(out, &word, sizeof word);
    }
    else
    {
        td_text_append(out, " ", 1);
        td_print_integer(out, value);
    }
}

static void put_double(tdText *out, bool binary, double value)
{
    if (binary)
    {
        uint64_t word = 0;
        memcpy(&word, &value, sizeof word);
        word = __builtin_bswap64(word);
        td_text_append(out, &word, sizeof word);
    }
    else
    {
        td_text_append(out, " ", 1);
        td_print_number(out, value);
    }
}

static void end_line(tdText *out, bool binary)
{
    if (!binary)
        td_text_append(out, "\n", 1);
}

static void put_cells(const tdMesh *mesh, bool binary, int64_t total, int64_t numbers, tdText *out)
{
    td_text_format(out, "CELLS %lld %lld\n", (long long)total, (long long)numbers);
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        int n = td_cell_nodes((tdCellType)t);
        for (int64_t k = 0; k < mesh->cells[t].count; k++)
        {
            put_int32(out, binary, n);
            for (int i = 0; i < n; i++)
                put_int32(out, binary, mesh->cells[t].nodes[k * n + i]);
            end_line(out, binary);
        }
    }
    td_text_format(out, "\nCELL_TYPES %lld\n", (long long)total);
    for (int t = 0; t < TD_CELL_TYPES; t++)
        for (int64_t k = 0; k < mesh->cells[t].count; k++)
        {
            put_int32(out, binary, td_vtk_cell_codes[t]);
            end_line(out, binary);
        }
}

static tdStatus put_groups(const tdMesh *mesh, bool binary, int64_t total, tdText *out, tdError *error)
{
    uint8_t *members = malloc(total > 0 ? (size_t)total : 1);
    if (members == NULL)
        return td_fail_memory(error, "the groups of a mesh");
    td_text_format(out, "\nCELL_DATA %lld\nFIELD FieldData %d\n", (long long)total, mesh->n_groups);
    for (int g = 0; g < mesh->n_groups; g++)
    {
        td_vtk_group_bytes(mesh, g, members);
        int64_t start = out->size;
        td_vtk_encode_name(out, TD_VTK_GROUP);
        td_vtk_encode_name(out, mesh->groups[g].name);
        if (out->size - start > LONGEST_NAME)
        {
            free(members);
            return td_fail(
                error, TD_ERROR_USAGE,
                "the group name '%.40s...' is too long for a legacy VTK file; shorten it or write a VTU file",
                mesh->groups[g].name);
        }
        td_text_format(out, " 1 %lld unsigned_char\n", (long long)total);
        if (binary)
            td_text_append(out, members, (size_t)total);
        else
            for (int64_t i = 0; i < total; i++)
                td_text_append(out, members[i] ? "1\n" : "0\n", 2);
        td_text_append(out, "\n", 1);
    }
    free(members);
    return TD_OK;
}

tdStatus td_mesh_write_vtk(const tdMesh *mesh, tdMeshEncoding encoding, tdText *out, tdError *error)
{
    if (encoding != TD_MESH_ASCII && encoding != TD_MESH_BINARY)
        return td_fail(error, TD_ERROR_USAGE,
                       "legacy VTK files are ASCII or binary; base64 and compression exist only in VTU");
    bool binary = encoding == TD_MESH_BINARY;
    int64_t total = td_vtk_cells_total(mesh), numbers = total;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        numbers += mesh->cells[t].count * td_cell_nodes((tdCellType)t);
    if (numbers > INT32_MAX)
        return td_fail(error, TD_ERROR_USAGE, "%lld cells are too many for a legacy VTK file; write a VTU file",
                       (long long)total);
    td_text_format(out, "# vtk DataFile Version 3.0\nTendril mesh\n%s\nDATASET UNSTRUCTURED_GRID\nPOINTS %lld double\n",
                   binary ? "BINARY" : "ASCII", (long long)mesh->n_nodes);
    for (int64_t i = 0; i < mesh->n_nodes; i++)
    {
        for (int k = 0; k < 3; k++)
            put_double(out, binary, mesh->x[3 * i + k]);
        end_line(out, binary);
    }
    td_text_append(out, "\n", 1);
    put_cells(mesh, binary, total, numbers, out);
    if (mesh->n_groups > 0)
        TD_TRY(put_groups(mesh, binary, total, out, error));
    td_text_append(out, "\n", 1);
    return out->failed ? td_fail_memory(error, "a VTK file") : TD_OK;
}
