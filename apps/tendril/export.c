// SPDX-License-Identifier: Apache-2.0
// tendril export RUN -o FILE: the tables of a run as one file of arrays.
//
//     .npz   NumPy: a ZIP archive, not compressed, with an array file (.npy) for each column
//     .mat   MATLAB (version 5 of its format), also GNU Octave and scipy.io.loadmat
//
// Both are little-endian, and so are the machines that this is compiled for.
#include "cli.h"

#include "base/file.h"
#include "table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char help[] =
    "usage: tendril export RUN -o FILE.npz|FILE.mat\n\n"
    "Writes the tables of a run as arrays into one file, for NumPy (.npz) or MATLAB, Octave and SciPy (.mat). RUN is "
    "a\n"
    "folder of 'run', 'control', 'haptic' or 'sweep', or a table (.csv). Each column is an array by its name, in its "
    "unit;\n"
    "if two tables differ in a column of the same name, such as the time, the second is TABLE.NAME. 'names' and "
    "'units'\n"
    "list them all. In .mat files characters other than letters, digits and '_' become '_'.\n\n"
    "  -o FILE  where to write\n"
    "  --json   print one JSON object: file, arrays, rows\n\n"
    "Positions of all nodes are in run.h5, which a run writes if the scene's output has the format hdf5.\n"
    "Exit codes: 0 done, 2 usage, 3 bad input, 5 out of memory, 6 a file could not be written.\n\n"
    "example: tendril export out/run -o run.npz    # run = numpy.load('run.npz'); run['tip_z']\n";

#define NAME_SIZE   64         // of names and units, with zeros behind them; more where a name is longer
#define MOST_BYTES  UINT32_MAX // sizes and places in both formats have 32 bits,
#define MOST_ARRAYS 65000      // and numbers of entries 16

typedef struct exportArray
{
    char name[256];
    const char *unit;
    const double *values;
    int64_t n;
} exportArray;

typedef struct Export
{
    int n;
    exportArray *array;
    int width;        ///< of names and units in bytes
    bool identifiers; ///< names are such as MATLAB has them
} Export;

// ---------------------------------------------------------------- what is written

static exportArray *find(const Export *out, const char *name)
{
    for (int i = 0; i < out->n; i++)
        if (strcmp(out->array[i].name, name) == 0)
            return &out->array[i];
    return NULL;
}

static void tidy(const Export *out, char *name)
{
    if (!out->identifiers)
        return;
    name[63] = '\0'; // the longest that MATLAB takes
    for (char *c = name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    if (!isalpha((unsigned char)name[0]))
        name[0] = 'x';
}

static void add(Export *out, const Table *table, const tableColumn *column)
{
    exportArray array = {.unit = column->unit, .values = column->values, .n = table->rows};
    const char *slash = strrchr(table->file, '/'), *base = slash != NULL ? slash + 1 : table->file;
    snprintf(array.name, sizeof array.name, "%s", column->name);
    tidy(out, array.name);
    const exportArray *same = find(out, array.name);
    if (same != NULL && same->n == array.n &&
        memcmp(same->values, array.values, (size_t)array.n * sizeof *array.values) == 0)
        return; // step and time of another table
    for (int k = 1; find(out, array.name) != NULL; k++)
    {
        char number[16] = "";
        if (k > 1)
            snprintf(number, sizeof number, ".%d", k);
        size_t room = (out->identifiers ? 64 : sizeof array.name) - strlen(number); // however long, names differ
        snprintf(array.name, room, "%.*s.%s", (int)strcspn(base, "."), base, column->name);
        strcat(array.name, number);
        tidy(out, array.name);
    }
    int length = (int)strlen(array.name) + 1;
    out->width = length > out->width ? length : out->width;
    out->array[out->n++] = array;
    table_warn(table, column);
}

static tdStatus collect(Export *out, const runTables *run, tdError *error)
{
    int most = 0;
    for (int t = 0; t < run->n; t++)
        most += run->table[t].n;
    out->array = td_take((size_t)most + 1, sizeof *out->array);
    if (out->array == NULL)
        return td_fail_memory(error, "the arrays");
    out->width = NAME_SIZE;
    for (int t = 0; t < run->n; t++)
        for (int k = 0; k < run->table[t].n; k++)
            if (!run->table[t].columns[k].words)
                add(out, &run->table[t], &run->table[t].columns[k]);
    int64_t bytes = 0;
    for (int i = 0; i < out->n; i++)
        bytes += out->array[i].n * (int64_t)sizeof(double) + 1024;
    if (bytes > MOST_BYTES || out->n > MOST_ARRAYS)
        return td_fail_at(
            error, TD_ERROR_INPUT, run->path, 0, NULL,
            "%d columns with %.1f GB are more than such a file holds; export single tables, or use run.h5 "
            "(format hdf5 of the scene's output)",
            out->n, 1e-9 * (double)bytes);
    return TD_OK;
}

// Names or units, `width` bytes each. free().
static char *words_of(const Export *out, bool units)
{
    size_t width = (size_t)out->width;
    char *words = td_take((size_t)out->n + 1, width);
    for (int i = 0; i < out->n && words != NULL; i++)
        snprintf(words + (size_t)i * width, width, "%s", units ? out->array[i].unit : out->array[i].name);
    return words;
}

static void put16(tdText *text, unsigned value)
{
    unsigned char bytes[2] = {(unsigned char)value, (unsigned char)(value >> 8)};
    td_text_append(text, bytes, 2);
}

static void put32(tdText *text, uint32_t value)
{
    put16(text, value & 0xffff);
    put16(text, value >> 16);
}

// ---------------------------------------------------------------- .npz

typedef struct Zip
{
    tdText data, directory;
    int n;
} Zip;

// An entry of a ZIP archive, as it is. Dates are those of the first that ZIP knows, so that files repeat.
static void put_entry(Zip *zip, const char *name, const tdText *content)
{
    uint32_t where = (uint32_t)zip->data.size, size = (uint32_t)content->size;
    uint32_t sum = (uint32_t)crc32(0, (const Bytef *)content->data, (uInt)content->size);
    for (int central = 0; central < 2; central++)
    {
        tdText *to = central ? &zip->directory : &zip->data;
        put32(to, central ? 0x02014b50 : 0x04034b50);
        if (central)
            put16(to, 20); // made by
        put16(to, 20);     // version needed
        put16(to, 0);      // flags
        put16(to, 0);      // stored
        put16(to, 0);      // time
        put16(to, 0x21);   // 1980-01-01
        put32(to, sum);
        put32(to, size);
        put32(to, size);
        put16(to, (unsigned)strlen(name));
        put16(to, 0);
        if (central)
        {
            put16(to, 0); // comment
            put16(to, 0); // disk
            put16(to, 0);
            put32(to, 0);
            put32(to, where);
        }
        td_text_append(to, name, strlen(name));
    }
    td_text_append(&zip->data, content->data, (size_t)content->size);
    zip->n++;
}

// An array of one axis in NumPy's own format.
static void put_npy(Zip *zip, const char *name, const char *type, int64_t n, const void *data, size_t bytes)
{
    char head[128], file[300];
    tdText content = {0};
    int length =
        snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': False, 'shape': (%lld,), }", type, (long long)n);
    while ((10 + length + 1) % 64 != 0 && length < (int)sizeof head - 2) // the data begin at a multiple of 64
        head[length++] = ' ';
    head[length++] = '\n';
    td_text_append(&content, "\x93NUMPY\x01\x00", 8);
    put16(&content, (unsigned)length);
    td_text_append(&content, head, (size_t)length);
    td_text_append(&content, data, bytes);
    snprintf(file, sizeof file, "%s.npy", name);
    if (!content.failed)
        put_entry(zip, file, &content);
    zip->data.failed = zip->data.failed || content.failed;
    free(content.data);
}

static tdStatus write_npz(const Export *out, const char *path, tdError *error)
{
    Zip zip = {{0}, {0}, 0};
    char type[16], *names = words_of(out, false), *units = words_of(out, true);
    for (int i = 0; i < out->n; i++)
        put_npy(&zip, out->array[i].name, "<f8", out->array[i].n, out->array[i].values,
                (size_t)out->array[i].n * sizeof(double));
    snprintf(type, sizeof type, "|S%d", out->width);
    if (names != NULL && units != NULL)
    {
        put_npy(&zip, "names", type, out->n, names, (size_t)out->n * (size_t)out->width);
        put_npy(&zip, "units", type, out->n, units, (size_t)out->n * (size_t)out->width);
    }
    uint32_t where = (uint32_t)zip.data.size;
    td_text_append(&zip.data, zip.directory.data, (size_t)zip.directory.size);
    put32(&zip.data, 0x06054b50);
    put32(&zip.data, 0);
    put16(&zip.data, (unsigned)zip.n);
    put16(&zip.data, (unsigned)zip.n);
    put32(&zip.data, (uint32_t)zip.directory.size);
    put32(&zip.data, where);
    put16(&zip.data, 0);
    tdStatus status = names == NULL || units == NULL || zip.data.failed || zip.directory.failed
                          ? td_fail_memory(error, path)
                          : td_file_write(path, zip.data.data, (size_t)zip.data.size, error);
    free(names);
    free(units);
    free(zip.data.data);
    free(zip.directory.data);
    return status;
}

// ---------------------------------------------------------------- .mat

enum
{
    MI_INT8 = 1,
    MI_UINT16 = 4,
    MI_INT32 = 5,
    MI_UINT32 = 6,
    MI_DOUBLE = 9,
    MI_MATRIX = 14,
    MX_CHAR = 4,
    MX_DOUBLE = 6
};

static void put_element(tdText *to, uint32_t type, const void *data, size_t bytes)
{
    static const char zeros[8] = "";
    put32(to, type);
    put32(to, (uint32_t)bytes);
    td_text_append(to, data, bytes);
    td_text_append(to, zeros, (8 - bytes % 8) % 8);
}

static void put_matrix(tdText *to, const char *name, uint32_t class, int32_t rows, int32_t columns, uint32_t type,
                       const void *data, size_t bytes)
{
    tdText body = {0};
    const uint32_t flags[2] = {class, 0};
    const int32_t dims[2] = {rows, columns};
    put_element(&body, MI_UINT32, flags, sizeof flags);
    put_element(&body, MI_INT32, dims, sizeof dims);
    put_element(&body, MI_INT8, name, strlen(name));
    put_element(&body, type, data, bytes);
    put32(to, MI_MATRIX);
    put32(to, (uint32_t)body.size);
    td_text_append(to, body.data, (size_t)body.size);
    to->failed = to->failed || body.failed;
    free(body.data);
}

// Words as a matrix of characters, a word a row; MATLAB's matrices go by columns.
static void put_words(tdText *to, const char *name, const Export *out, bool units)
{
    char *words = words_of(out, units);
    size_t width = (size_t)out->width;
    uint16_t *letters = td_take((size_t)out->n + 1, width * sizeof *letters);
    to->failed = to->failed || words == NULL || letters == NULL;
    for (int i = 0; i < out->n && words != NULL && letters != NULL; i++)
        for (size_t k = 0; k < width; k++)
        {
            char c = words[(size_t)i * width + k];
            letters[k * (size_t)out->n + (size_t)i] = (uint16_t)(c != '\0' ? (unsigned char)c : ' ');
        }
    if (words != NULL && letters != NULL)
        put_matrix(to, name, MX_CHAR, out->n, out->width, MI_UINT16, letters, (size_t)out->n * width * sizeof *letters);
    free(words);
    free(letters);
}

static tdStatus write_mat(const Export *out, const char *path, tdError *error)
{
    tdText text = {0};
    char head[125];
    snprintf(head, sizeof head, "%-116s%8s", "MATLAB 5.0 MAT-file, written by tendril", "");
    td_text_append(&text, head, 124);
    put16(&text, 0x0100);
    td_text_append(&text, "IM", 2);
    for (int i = 0; i < out->n; i++)
        put_matrix(&text, out->array[i].name, MX_DOUBLE, (int32_t)out->array[i].n, 1, MI_DOUBLE, out->array[i].values,
                   (size_t)out->array[i].n * sizeof(double));
    put_words(&text, "names", out, false);
    put_words(&text, "units", out, true);
    tdStatus status =
        text.failed ? td_fail_memory(error, path) : td_file_write(path, text.data, (size_t)text.size, error);
    free(text.data);
    return status;
}

// ---------------------------------------------------------------- the command

static void print(const Export *out, const char *path)
{
    if (cli_json())
    {
        tdJson json = {0};
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "status", "done");
        td_json_string(&json, "file", path);
        td_json_integer(&json, "rows", out->n > 0 ? out->array[0].n : 0);
        td_json_open(&json, "arrays", '[');
        for (int i = 0; i < out->n; i++)
            td_json_string(&json, NULL, out->array[i].name);
        td_json_close(&json, ']');
        td_json_close(&json, '}');
        cli_print_json(&json);
    }
    else
        printf("%s: %d arrays\n", path, out->n);
}

int cmd_export(int argc, char **argv)
{
    const char *path = NULL, *run_path = NULL;
    const cliOption options[] = {{"-o", &path, NULL}};
    int code = cli_parse(argc, argv, help, options, 1, &run_path, 1, 1);
    if (code >= 0)
        return code;
    char extension[16] = "";
    if (path != NULL)
        td_path_extension(extension, sizeof extension, path);
    bool mat = strcmp(extension, ".mat") == 0;
    if (!mat && strcmp(extension, ".npz") != 0)
        return cli_usage("the output is missing: -o takes a file that ends in .npz or .mat");
    runTables run = {0};
    Export out = {.identifiers = mat};
    tdError error = {0};
    tdStatus status = tables_read(run_path, &run, &error);
    if (status == TD_OK)
        status = collect(&out, &run, &error);
    if (status == TD_OK)
        status = mat ? write_mat(&out, path, &error) : write_npz(&out, path, &error);
    if (status == TD_OK)
        print(&out, path);
    else
        code = cli_fail(&error);
    free(out.array);
    tables_free(&run);
    return status == TD_OK ? 0 : code;
}
