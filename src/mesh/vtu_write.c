// SPDX-License-Identifier: Apache-2.0
// VTU files, as ParaView reads them: text, inline base64, or appended raw bytes, plain or compressed.
#include "base/print.h"
#include "mesh/vtk.h"

#include <stdlib.h>
#include <string.h>

typedef struct Writer
{
    tdMeshEncoding encoding;
    tdText head;     // the XML
    tdText appended; // bytes behind its '_'
} Writer;

static double value_at(tdVtkType type, const void *data, int64_t i)
{
    switch (type)
    {
    case TD_VTK_UINT8: return ((const uint8_t *)data)[i];
    case TD_VTK_INT32: return ((const int32_t *)data)[i];
    case TD_VTK_INT64: return (double)((const int64_t *)data)[i];
    default: return ((const double *)data)[i];
    }
}

static void put_ascii(tdText *out, tdVtkType type, int components, const void *data, int64_t count)
{
    // One tuple a line reads well; scalars go twenty to a line.
    int per_line = components > 1 ? components : 20;
    for (int64_t i = 0; i < count; i++)
    {
        td_print_number(out, value_at(type, data, i));
        td_text_append(out, (i + 1) % per_line == 0 || i + 1 == count ? "\n" : " ", 1);
    }
}

// One DataArray of `count` values; prefix and name together are its name.
static void put_array(Writer *w, tdVtkType type, const char *prefix, const char *name, int components, const void *data,
                      int64_t count)
{
    static const char *const types[] = {
        [TD_VTK_UINT8] = "UInt8", [TD_VTK_INT32] = "Int32", [TD_VTK_INT64] = "Int64", [TD_VTK_FLOAT64] = "Float64"};
    size_t bytes = (size_t)count * (size_t)td_vtk_type_bytes(type);
    td_text_format(&w->head, "        <DataArray type=\"%s\" Name=\"", types[type]);
    td_vtk_encode_xml(&w->head, prefix);
    td_vtk_encode_xml(&w->head, name);
    td_text_format(&w->head, "\" NumberOfComponents=\"%d\" format=\"", components);
    switch (w->encoding)
    {
    case TD_MESH_ASCII:
        td_text_format(&w->head, "ascii\">\n");
        put_ascii(&w->head, type, components, data, count);
        td_text_format(&w->head, "        </DataArray>\n");
        break;
    case TD_MESH_BASE64:
        td_text_format(&w->head, "binary\">\n");
        td_vtu_append_base64(&w->head, data, bytes);
        td_text_format(&w->head, "\n        </DataArray>\n");
        break;
    case TD_MESH_BINARY:
        td_text_format(&w->head, "appended\" offset=\"%lld\"/>\n", (long long)w->appended.size);
        td_vtu_append_raw(&w->appended, data, bytes);
        break;
    case TD_MESH_COMPRESSED:
        td_text_format(&w->head, "appended\" offset=\"%lld\"/>\n", (long long)w->appended.size);
        td_vtu_append_zlib(&w->appended, data, bytes);
        break;
    }
}

// Node numbers are 32 bits in memory; only the offsets of a very large mesh need 64.
static tdStatus put_cells(Writer *w, const tdMesh *mesh, int64_t total, tdError *error)
{
    int64_t numbers = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
        numbers += mesh->cells[t].count * td_cell_nodes((tdCellType)t);
    int32_t *nodes = malloc((size_t)(numbers + 1) * sizeof(int32_t));
    int64_t *offsets = malloc((size_t)(total + 1) * sizeof(int64_t));
    uint8_t *types = malloc((size_t)total + 1);
    if (nodes == NULL || offsets == NULL || types == NULL)
    {
        free(nodes);
        free(offsets);
        free(types);
        return td_fail_memory(error, "the cells of a VTU file");
    }
    int64_t cell = 0, at = 0;
    for (int t = 0; t < TD_CELL_TYPES; t++)
    {
        int n = td_cell_nodes((tdCellType)t);
        const tdCells *cells = &mesh->cells[t];
        if (cells->count > 0)
            memcpy(nodes + at, cells->nodes, (size_t)(cells->count * n) * sizeof(int32_t));
        for (int64_t k = 0; k < cells->count; k++, cell++)
        {
            at += n;
            offsets[cell] = at;
            types[cell] = td_vtk_cell_codes[t];
        }
    }
    td_text_format(&w->head, "      <Cells>\n");
    put_array(w, TD_VTK_INT32, "", "connectivity", 1, nodes, numbers);
    put_array(w, TD_VTK_INT64, "", "offsets", 1, offsets, total);
    put_array(w, TD_VTK_UINT8, "", "types", 1, types, total);
    td_text_format(&w->head, "      </Cells>\n");
    free(nodes);
    free(offsets);
    free(types);
    return TD_OK;
}

static tdStatus put_groups(Writer *w, const tdMesh *mesh, int64_t total, tdError *error)
{
    uint8_t *members = malloc((size_t)total + 1);
    if (members == NULL)
        return td_fail_memory(error, "the groups of a VTU file");
    for (int g = 0; g < mesh->n_groups; g++)
    {
        td_vtk_group_bytes(mesh, g, members);
        put_array(w, TD_VTK_UINT8, TD_VTK_GROUP, mesh->groups[g].name, 1, members, total);
    }
    free(members);
    return TD_OK;
}

static tdStatus check_fields(int n, const tdField *fields, bool by_cell, tdError *error)
{
    for (int i = 0; i < n; i++)
    {
        if (fields[i].components < 1)
            return td_fail(error, TD_ERROR_USAGE, "field '%.80s' has %d components; give 1, 3 or 9", fields[i].name,
                           fields[i].components);
        if (by_cell && strncmp(fields[i].name, TD_VTK_GROUP, strlen(TD_VTK_GROUP)) == 0)
            return td_fail(error, TD_ERROR_USAGE, "field '%.80s' would be read as a group; choose another name",
                           fields[i].name);
    }
    return TD_OK;
}

static tdStatus put_piece(Writer *w, const tdMesh *mesh, int n_node_fields, const tdField *node_fields,
                          int n_cell_fields, const tdField *cell_fields, tdError *error)
{
    int64_t total = td_vtk_cells_total(mesh);
    td_text_format(&w->head, "    <Piece NumberOfPoints=\"%lld\" NumberOfCells=\"%lld\">\n      <PointData>\n",
                   (long long)mesh->n_nodes, (long long)total);
    for (int i = 0; i < n_node_fields; i++)
        put_array(w, TD_VTK_FLOAT64, "", node_fields[i].name, node_fields[i].components, node_fields[i].data,
                  mesh->n_nodes * node_fields[i].components);
    td_text_format(&w->head, "      </PointData>\n      <CellData>\n");
    for (int i = 0; i < n_cell_fields; i++)
        put_array(w, TD_VTK_FLOAT64, "", cell_fields[i].name, cell_fields[i].components, cell_fields[i].data,
                  total * cell_fields[i].components);
    TD_TRY(put_groups(w, mesh, total, error));
    td_text_format(&w->head, "      </CellData>\n      <Points>\n");
    put_array(w, TD_VTK_FLOAT64, "", "Points", 3, mesh->x, 3 * mesh->n_nodes);
    td_text_format(&w->head, "      </Points>\n");
    TD_TRY(put_cells(w, mesh, total, error));
    td_text_format(&w->head, "    </Piece>\n");
    return TD_OK;
}

tdStatus td_mesh_write_vtu(const tdMesh *mesh, tdMeshEncoding encoding, int n_node_fields, const tdField *node_fields,
                           int n_cell_fields, const tdField *cell_fields, tdText *out, tdError *error)
{
    TD_TRY(check_fields(n_node_fields, node_fields, false, error));
    TD_TRY(check_fields(n_cell_fields, cell_fields, true, error));
    Writer w = {.encoding = encoding};
    td_text_format(&w.head,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
                   "header_type=\"UInt64\"%s>\n  <UnstructuredGrid>\n",
                   encoding == TD_MESH_COMPRESSED ? " compressor=\"vtkZLibDataCompressor\"" : "");
    tdStatus status = put_piece(&w, mesh, n_node_fields, node_fields, n_cell_fields, cell_fields, error);
    td_text_format(&w.head, "  </UnstructuredGrid>\n");
    if (w.appended.size > 0)
    {
        td_text_format(&w.head, "  <AppendedData encoding=\"raw\">\n   _");
        td_text_append(&w.head, w.appended.data, (size_t)w.appended.size);
        td_text_format(&w.head, "\n  </AppendedData>\n");
    }
    td_text_format(&w.head, "</VTKFile>\n");
    if (status == TD_OK && (w.head.failed || w.appended.failed))
        status = td_fail_memory(error, "a VTU file");
    if (status == TD_OK && out->size == 0 && out->data == NULL)
    {
        *out = w.head; // the usual case needs no copy
        w.head.data = NULL;
    }
    else if (status == TD_OK)
        td_text_append(out, w.head.data, (size_t)w.head.size);
    free(w.head.data);
    free(w.appended.data);
    if (status == TD_OK && out->failed)
        status = td_fail_memory(error, "a VTU file");
    return status;
}
