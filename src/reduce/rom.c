// SPDX-License-Identifier: Apache-2.0
// The file of a reduced model: sealed HDF5 (store/seal.h), which other programs open as usual.
//
//   /              attributes version, body, physics, frame, kind, content (td_rom_hash)
//   /basis         phi (3 nodes x r), psi (3 nodes x u; attribute inputs), low, high, spread (r)
//   /domains/I     attributes name, tolerance, error; element, weight, check, check_weight
//   /stvk          P, Q, S of kind stvk (reduce/stvk.h), none of another
//   /training      attributes snapshots, pod_tolerance, pod_error, held_out_error, motion_error,
//                  indicator_slope, indicator_offset, indicator_threshold, distance_threshold, single_error, loads;
//                  sigma, lambda, load_low, load_high
//   /timing        attribute phases; seconds
#include "reduce/rom.h"

#include "base/file.h"
#include "base/hash.h"
#include "reduce/stvk.h"
#include "store/h5.h"
#include "store/seal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES   (INT32_MAX / 3)
#define MOST_MODES   100000
#define MOST_INPUTS  1000
#define MOST_DOMAINS 16
#define MOST_PHASES  64
#define MOST_LOADS   1000

static const tdSeal rom_seal = {
    .magic = {'T', 'D', 'R', 'O', 'M', '\r', '\n', '\n'},
    .format = TD_ROM_VERSION,
    .what = "reduced model",
    .given = "give a file written by 'tendril reduce'",
    .again = "make it anew with 'tendril reduce'",
    .other = "make it anew with 'tendril reduce'",
};

const char *td_frame_name(tdFrameKind frame)
{
    static const char *const names[] = {"fixed", "translation", "free"};
    return names[frame];
}

const char *td_rom_kind_name(tdRomKind kind)
{
    static const char *const names[] = {"domains", "stvk"};
    return names[kind];
}

void td_rom_free(tdRom *rom)
{
    if (rom == NULL)
        return;
    td_arena_free(&rom->arena);
    memset(rom, 0, sizeof *rom);
}

// P, Q, S.
static const char *const coefficient_names[] = {"P", "Q", "S"};

static double *const *coefficients(const tdRom *rom, int k)
{
    return k == 0 ? &rom->P : k == 1 ? &rom->Q : &rom->S;
}

static int64_t coefficient_count(const tdRom *rom, int k)
{
    int64_t n = (int64_t)rom->r + rom->n_u;
    return k == 0 ? td_stvk_pairs(n) : k == 1 ? td_stvk_triples(n) : td_stvk_quadruples(n);
}

// ---------------------------------------------------------------- hash

static void mix_bytes(uint64_t *hash, const void *bytes, size_t n)
{
    *hash = td_hash_mix(*hash ^ td_hash_bytes(bytes, n) ^ n);
}

// NaN has many forms, which are one here.
static void mix_numbers(uint64_t *hash, const double *numbers, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
    {
        double value = isnan(numbers[i]) ? (double)NAN : numbers[i];
        mix_bytes(hash, &value, sizeof value);
    }
}

static void mix_integer(uint64_t *hash, int64_t value)
{
    mix_bytes(hash, &value, sizeof value);
}

static void mix_text(uint64_t *hash, const char *text)
{
    mix_bytes(hash, text, strlen(text));
}

static void mix_choice(uint64_t *hash, int64_t n, const int32_t *element, const double *weight)
{
    mix_integer(hash, n);
    for (int64_t i = 0; i < n; i++)
        mix_integer(hash, element[i]);
    mix_numbers(hash, weight, n);
}

uint64_t td_rom_hash(const tdRom *rom)
{
    uint64_t hash = rom->physics;
    mix_text(&hash, rom->body);
    mix_integer(&hash, rom->n_nodes);
    mix_integer(&hash, rom->r);
    mix_integer(&hash, rom->n_u);
    mix_integer(&hash, rom->frame);
    mix_integer(&hash, rom->kind);
    mix_integer(&hash, rom->n_snapshots);
    mix_numbers(&hash, rom->phi, 3 * rom->n_nodes * rom->r);
    mix_numbers(&hash, rom->psi, 3 * rom->n_nodes * rom->n_u);
    for (int i = 0; i < rom->n_u; i++)
        mix_text(&hash, rom->inputs[i]);
    for (int d = 0; d < rom->n_domains; d++)
    {
        const tdRomDomain *domain = &rom->domains[d];
        const double numbers[2] = {domain->tolerance, domain->error};
        mix_text(&hash, domain->name);
        mix_choice(&hash, domain->n, domain->element, domain->weight);
        mix_choice(&hash, domain->n_check, domain->check, domain->check_weight);
        mix_numbers(&hash, numbers, 2);
    }
    for (int k = 0; k < 3 && rom->kind == TD_ROM_STVK; k++)
        mix_numbers(&hash, *coefficients(rom, k), coefficient_count(rom, k));
    mix_integer(&hash, rom->n_sigma);
    mix_numbers(&hash, rom->sigma, rom->n_sigma);
    mix_integer(&hash, rom->n_lambda);
    mix_numbers(&hash, rom->lambda, rom->n_lambda);
    mix_numbers(&hash, rom->low, rom->r);
    mix_numbers(&hash, rom->high, rom->r);
    mix_numbers(&hash, rom->spread, rom->r);
    for (int i = 0; i < rom->n_loads; i++)
        mix_text(&hash, rom->loads[i]);
    mix_numbers(&hash, rom->load_low, rom->n_loads);
    mix_numbers(&hash, rom->load_high, rom->n_loads);
    const double numbers[] = {rom->pod_tolerance,      rom->pod_error,        rom->held_out_error,
                              rom->indicator_slope,    rom->indicator_offset, rom->indicator_threshold,
                              rom->distance_threshold, rom->motion_error,     rom->single_error};
    mix_numbers(&hash, numbers, (int64_t)(sizeof numbers / sizeof numbers[0]));
    if (rom->contact > 0)
        mix_numbers(&hash, &rom->contact, 1);
    return hash;
}

// ---------------------------------------------------------------- write

static herr_t write_vector(hid_t group, const char *name, hid_t type, int64_t n, const void *data)
{
    const hsize_t dims[1] = {(hsize_t)n};
    return td_h5_array(group, name, type, 1, dims, data, NULL);
}

static herr_t write_basis(const tdRom *rom, hid_t group)
{
    const hsize_t phi[2] = {3 * (hsize_t)rom->n_nodes, (hsize_t)rom->r};
    const hsize_t psi[2] = {3 * (hsize_t)rom->n_nodes, (hsize_t)rom->n_u};
    if (td_h5_array(group, "phi", H5T_NATIVE_DOUBLE, 2, phi, rom->phi, NULL) < 0 ||
        td_h5_array(group, "psi", H5T_NATIVE_DOUBLE, 2, psi, rom->psi, NULL) < 0 ||
        (rom->n_u > 0 && td_h5_texts(group, "inputs", rom->n_u, rom->inputs) < 0))
        return -1;
    return write_vector(group, "low", H5T_NATIVE_DOUBLE, rom->r, rom->low) < 0 ||
                   write_vector(group, "high", H5T_NATIVE_DOUBLE, rom->r, rom->high) < 0
               ? -1
               : write_vector(group, "spread", H5T_NATIVE_DOUBLE, rom->r, rom->spread);
}

static herr_t write_domain(const tdRomDomain *domain, hid_t group)
{
    if (td_h5_text(group, "name", domain->name) < 0 || td_h5_number(group, "tolerance", domain->tolerance) < 0 ||
        td_h5_number(group, "error", domain->error) < 0 ||
        write_vector(group, "element", H5T_NATIVE_INT32, domain->n, domain->element) < 0 ||
        write_vector(group, "weight", H5T_NATIVE_DOUBLE, domain->n, domain->weight) < 0 ||
        write_vector(group, "check", H5T_NATIVE_INT32, domain->n_check, domain->check) < 0)
        return -1;
    return write_vector(group, "check_weight", H5T_NATIVE_DOUBLE, domain->n_check, domain->check_weight);
}

static herr_t write_domains(const tdRom *rom, hid_t group)
{
    herr_t status = 0;
    for (int d = 0; d < rom->n_domains && status >= 0; d++)
    {
        char name[16];
        snprintf(name, sizeof name, "%d", d);
        hid_t inner = td_h5_group(group, name);
        status = inner < 0 ? -1 : write_domain(&rom->domains[d], inner);
        if (inner >= 0)
            H5Gclose(inner);
    }
    return status;
}

static herr_t write_stvk(const tdRom *rom, hid_t group)
{
    herr_t status = 0;
    for (int k = 0; k < 3 && status >= 0 && rom->kind == TD_ROM_STVK; k++)
        status = write_vector(group, coefficient_names[k], H5T_NATIVE_DOUBLE, coefficient_count(rom, k),
                              *coefficients(rom, k));
    return status;
}

static herr_t write_loads(const tdRom *rom, hid_t group)
{
    if (rom->load_low == NULL)
        return 0;
    if ((rom->n_loads > 0 && td_h5_texts(group, "loads", rom->n_loads, rom->loads) < 0) ||
        write_vector(group, "load_low", H5T_NATIVE_DOUBLE, rom->n_loads, rom->load_low) < 0)
        return -1;
    return write_vector(group, "load_high", H5T_NATIVE_DOUBLE, rom->n_loads, rom->load_high);
}

static herr_t write_training(const tdRom *rom, hid_t group)
{
    if (td_h5_integer(group, "snapshots", rom->n_snapshots) < 0 ||
        td_h5_number(group, "pod_tolerance", rom->pod_tolerance) < 0 ||
        td_h5_number(group, "pod_error", rom->pod_error) < 0 ||
        td_h5_number(group, "held_out_error", rom->held_out_error) < 0 ||
        td_h5_number(group, "indicator_slope", rom->indicator_slope) < 0 ||
        td_h5_number(group, "indicator_offset", rom->indicator_offset) < 0 ||
        td_h5_number(group, "indicator_threshold", rom->indicator_threshold) < 0 ||
        td_h5_number(group, "distance_threshold", rom->distance_threshold) < 0 ||
        td_h5_number(group, "motion_error", rom->motion_error) < 0 ||
        td_h5_number(group, "contact", rom->contact) < 0 ||
        td_h5_number(group, "single_error", rom->single_error) < 0 || write_loads(rom, group) < 0)
        return -1;
    return write_vector(group, "sigma", H5T_NATIVE_DOUBLE, rom->n_sigma, rom->sigma) < 0
               ? -1
               : write_vector(group, "lambda", H5T_NATIVE_DOUBLE, rom->n_lambda, rom->lambda);
}

static herr_t write_timing(const tdRom *rom, hid_t group)
{
    if (rom->n_phases > 0 && td_h5_texts(group, "phases", rom->n_phases, rom->phases) < 0)
        return -1;
    return write_vector(group, "seconds", H5T_NATIVE_DOUBLE, rom->n_phases, rom->seconds);
}

static herr_t write_rom(void *context, hid_t file)
{
    const tdRom *rom = context;
    static const struct
    {
        const char *name;
        herr_t (*write)(const tdRom *rom, hid_t group);
    } groups[] = {{"basis", write_basis},
                  {"domains", write_domains},
                  {"stvk", write_stvk},
                  {"training", write_training},
                  {"timing", write_timing}};
    char physics[17], content[17];
    snprintf(physics, sizeof physics, "%016" PRIx64, rom->physics);
    snprintf(content, sizeof content, "%016" PRIx64, td_rom_hash(rom));
    if (td_h5_text(file, "version", td_version()) < 0 || td_h5_text(file, "body", rom->body) < 0 ||
        td_h5_text(file, "physics", physics) < 0 || td_h5_text(file, "content", content) < 0 ||
        td_h5_text(file, "frame", td_frame_name(rom->frame)) < 0 ||
        td_h5_text(file, "kind", td_rom_kind_name(rom->kind)) < 0)
        return -1;
    herr_t status = 0;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0] && status >= 0; i++)
    {
        hid_t group = td_h5_group(file, groups[i].name);
        status = group < 0 ? -1 : groups[i].write(rom, group);
        if (group >= 0)
            H5Gclose(group);
    }
    return status;
}

tdStatus td_rom_write(const tdRom *rom, const char *path, tdError *error)
{
    unsigned char *image = NULL;
    size_t size = 0;
    tdH5Quiet quiet = td_h5_begin();
    tdStatus status = td_seal_make(&rom_seal, path, write_rom, (void *)rom, &image, &size, error);
    td_h5_end(quiet);
    if (status == TD_OK)
    {
        td_seal_close(&rom_seal, rom->physics, image, size);
        status = td_file_write(path, image, size, error);
    }
    free(image);
    return status;
}

// ---------------------------------------------------------------- read

/// What reading hands around.
typedef struct Reader
{
    hid_t file;
    const char *path;
    tdRom *rom;
    tdError *error;
} Reader;

#define ROM_FAIL(reader, field, ...) td_fail_at((reader)->error, TD_ERROR_INPUT, (reader)->path, 0, field, __VA_ARGS__)

static tdStatus read_numbers(const Reader *reader, const char *name, int rank, const int64_t *dims, double **out)
{
    void *data = NULL;
    TD_TRY(td_h5_read_array(reader->file, name, reader->path, false, rank, dims, &reader->rom->arena, &data,
                            reader->error));
    *out = data;
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= dims[i];
    for (int64_t i = 0; i < n; i++)
        if (!isfinite((*out)[i]))
            return ROM_FAIL(reader, name, "number %lld is not finite; make the file anew with 'tendril reduce'",
                            (long long)i);
    return TD_OK;
}

static tdStatus read_frame(const Reader *reader)
{
    const char *frame = NULL;
    TD_TRY(td_h5_read_text(reader->file, ".", "frame", &reader->rom->arena, reader->path, &frame, reader->error));
    for (int i = TD_FRAME_FIXED; i <= TD_FRAME_FREE; i++)
        if (strcmp(frame, td_frame_name((tdFrameKind)i)) == 0)
        {
            reader->rom->frame = (tdFrameKind)i;
            return TD_OK;
        }
    return ROM_FAIL(reader, "frame", "found '%.40s', expected fixed, translation or free", frame);
}

static tdStatus read_kind(const Reader *reader)
{
    const char *kind = NULL;
    TD_TRY(td_h5_read_text(reader->file, ".", "kind", &reader->rom->arena, reader->path, &kind, reader->error));
    for (int i = TD_ROM_DOMAINS; i <= TD_ROM_STVK; i++)
        if (strcmp(kind, td_rom_kind_name((tdRomKind)i)) == 0)
        {
            reader->rom->kind = (tdRomKind)i;
            return TD_OK;
        }
    return ROM_FAIL(reader, "kind", "found '%.40s', expected domains or stvk", kind);
}

static tdStatus read_head(const Reader *reader)
{
    tdRom *rom = reader->rom;
    const char *physics = NULL;
    TD_TRY(td_h5_read_text(reader->file, ".", "version", &rom->arena, reader->path, &rom->made_by, reader->error));
    TD_TRY(td_h5_read_text(reader->file, ".", "body", &rom->arena, reader->path, &rom->body, reader->error));
    TD_TRY(td_h5_read_text(reader->file, ".", "physics", &rom->arena, reader->path, &physics, reader->error));
    if (strlen(physics) != 16 || strspn(physics, "0123456789abcdef") != 16)
        return ROM_FAIL(reader, "physics", "found '%.40s', expected 16 hexadecimal digits", physics);
    rom->physics = strtoull(physics, NULL, 16);
    TD_TRY(read_kind(reader));
    return read_frame(reader);
}

static tdStatus read_ranges(const Reader *reader)
{
    tdRom *rom = reader->rom;
    const int64_t r[1] = {rom->r};
    TD_TRY(read_numbers(reader, "basis/low", 1, r, &rom->low));
    TD_TRY(read_numbers(reader, "basis/high", 1, r, &rom->high));
    TD_TRY(read_numbers(reader, "basis/spread", 1, r, &rom->spread));
    for (int i = 0; i < rom->r; i++)
        if (rom->low[i] > rom->high[i] || rom->spread[i] < 0)
            return ROM_FAIL(reader, "basis/low", "the range of mode %d is empty; make the file anew", i);
    return TD_OK;
}

static tdStatus read_basis(const Reader *reader)
{
    tdRom *rom = reader->rom;
    int64_t phi[2], psi[2];
    TD_TRY(td_h5_read_shape(reader->file, "basis/phi", reader->path, 2, 3 * (int64_t)MOST_NODES, phi, reader->error));
    TD_TRY(td_h5_read_shape(reader->file, "basis/psi", reader->path, 2, 3 * (int64_t)MOST_NODES, psi, reader->error));
    if (phi[0] < 3 || phi[0] % 3 != 0 || phi[1] < 1 || phi[1] > MOST_MODES || phi[1] > phi[0] || psi[0] != phi[0] ||
        psi[1] > MOST_INPUTS)
        return ROM_FAIL(reader, "basis/phi",
                        "phi is %lld x %lld and psi %lld x %lld; expected three rows for each node, and 1 to %d modes",
                        (long long)phi[0], (long long)phi[1], (long long)psi[0], (long long)psi[1], MOST_MODES);
    rom->n_nodes = phi[0] / 3;
    rom->r = (int)phi[1];
    rom->n_u = (int)psi[1];
    TD_TRY(read_numbers(reader, "basis/phi", 2, phi, &rom->phi));
    TD_TRY(read_numbers(reader, "basis/psi", 2, psi, &rom->psi));
    if (rom->n_u > 0)
        TD_TRY(td_h5_read_texts(reader->file, "basis", "inputs", rom->n_u, MOST_INPUTS, &rom->arena, reader->path, NULL,
                                &rom->inputs, reader->error));
    return read_ranges(reader);
}

// A choice of elements with their weights.
static tdStatus read_choice(const Reader *reader, const char *group, const char *elements, const char *weights,
                            int64_t *n, int32_t **element, double **weight)
{
    char name[64];
    void *data = NULL;
    snprintf(name, sizeof name, "%s/%s", group, elements);
    TD_TRY(td_h5_read_shape(reader->file, name, reader->path, 1, INT32_MAX, n, reader->error));
    TD_TRY(td_h5_read_array(reader->file, name, reader->path, true, 1, n, &reader->rom->arena, &data, reader->error));
    *element = data;
    for (int64_t i = 0; i < *n; i++)
        if ((*element)[i] < 0 || (i > 0 && (*element)[i] <= (*element)[i - 1]))
            return ROM_FAIL(reader, name, "number %lld is %d; elements are numbered from 0 and ascend", (long long)i,
                            (*element)[i]);
    snprintf(name, sizeof name, "%s/%s", group, weights);
    TD_TRY(read_numbers(reader, name, 1, n, weight));
    for (int64_t i = 0; i < *n; i++)
        if (!((*weight)[i] > 0))
            return ROM_FAIL(reader, name, "weight %lld is %g; weights are positive", (long long)i, (*weight)[i]);
    return TD_OK;
}

static tdStatus read_domain(const Reader *reader, int d)
{
    tdRom *rom = reader->rom;
    tdRomDomain *domain = &rom->domains[d];
    char group[32];
    snprintf(group, sizeof group, "domains/%d", d);
    TD_TRY(td_h5_read_text(reader->file, group, "name", &rom->arena, reader->path, &domain->name, reader->error));
    TD_TRY(td_h5_read_number(reader->file, group, "tolerance", reader->path, &domain->tolerance, reader->error));
    TD_TRY(td_h5_read_number(reader->file, group, "error", reader->path, &domain->error, reader->error));
    TD_TRY(read_choice(reader, group, "element", "weight", &domain->n, &domain->element, &domain->weight));
    return read_choice(reader, group, "check", "check_weight", &domain->n_check, &domain->check, &domain->check_weight);
}

static tdStatus read_domains(const Reader *reader)
{
    H5G_info_t info;
    if (H5Gget_info_by_name(reader->file, "domains", &info, H5P_DEFAULT) < 0 || info.nlinks > MOST_DOMAINS)
        return ROM_FAIL(reader, "domains", "is missing or holds more than %d domains; make the file anew",
                        MOST_DOMAINS);
    reader->rom->domains = TD_TAKE(&reader->rom->arena, tdRomDomain, info.nlinks + 1);
    if (reader->rom->domains == NULL)
        return td_fail_memory(reader->error, reader->path);
    for (; reader->rom->n_domains < (int)info.nlinks; reader->rom->n_domains++)
        TD_TRY(read_domain(reader, reader->rom->n_domains));
    return TD_OK;
}

static tdStatus read_stvk(const Reader *reader)
{
    tdRom *rom = reader->rom;
    double **to[3] = {&rom->P, &rom->Q, &rom->S};
    if (rom->kind != TD_ROM_STVK)
        return TD_OK;
    if (rom->r + rom->n_u > TD_STVK_COLUMNS)
        return ROM_FAIL(reader, "stvk", "%d modes and %d moved coordinates; polynomials have %d at most", rom->r,
                        rom->n_u, TD_STVK_COLUMNS);
    for (int k = 0; k < 3; k++)
    {
        char name[16];
        int64_t found = 0, expected = coefficient_count(rom, k);
        snprintf(name, sizeof name, "stvk/%s", coefficient_names[k]);
        TD_TRY(td_h5_read_shape(reader->file, name, reader->path, 1, expected, &found, reader->error));
        if (found != expected)
            return ROM_FAIL(reader, name, "found %lld numbers, expected %lld for %d modes and %d moved coordinates",
                            (long long)found, (long long)expected, rom->r, rom->n_u);
        TD_TRY(read_numbers(reader, name, 1, &expected, to[k]));
    }
    return TD_OK;
}

static tdStatus read_lambda(const Reader *reader)
{
    tdRom *rom = reader->rom;
    int64_t n = 0;
    TD_TRY(td_h5_read_shape(reader->file, "training/lambda", reader->path, 1, MOST_MODES, &n, reader->error));
    rom->n_lambda = (int)n;
    TD_TRY(read_numbers(reader, "training/lambda", 1, &n, &rom->lambda));
    for (int i = 0; i < rom->n_lambda; i++)
        if (rom->lambda[i] <= 0 || (i > 0 && rom->lambda[i] < rom->lambda[i - 1]))
            return ROM_FAIL(reader, "training/lambda", "eigenvalue %d is %g; they are positive and ascend", i,
                            rom->lambda[i]);
    return TD_OK;
}

// Files may not tell of them.
static tdStatus read_loads(const Reader *reader)
{
    tdRom *rom = reader->rom;
    int64_t n = 0;
    if (H5Lexists(reader->file, "training/load_low", H5P_DEFAULT) <= 0)
        return TD_OK;
    TD_TRY(td_h5_read_shape(reader->file, "training/load_low", reader->path, 1, MOST_LOADS, &n, reader->error));
    TD_TRY(read_numbers(reader, "training/load_low", 1, &n, &rom->load_low));
    TD_TRY(read_numbers(reader, "training/load_high", 1, &n, &rom->load_high));
    if (n > 0)
        TD_TRY(td_h5_read_texts(reader->file, "training", "loads", (int)n, MOST_LOADS, &rom->arena, reader->path, NULL,
                                &rom->loads, reader->error));
    rom->n_loads = (int)n;
    for (int i = 0; i < rom->n_loads; i++)
        if (rom->load_low[i] > rom->load_high[i])
            return ROM_FAIL(reader, "training/load_low", "the range of load %d is empty; make the file anew", i);
    return TD_OK;
}

static tdStatus read_training(const Reader *reader)
{
    tdRom *rom = reader->rom;
    const struct
    {
        const char *name;
        double *out;
        double standard; // of a file that does not have it
        bool later;      // files of 0.1 do not
    } numbers[] = {{"pod_tolerance", &rom->pod_tolerance, 0, false},
                   {"pod_error", &rom->pod_error, 0, false},
                   {"held_out_error", &rom->held_out_error, 0, false},
                   {"motion_error", &rom->motion_error, NAN, true},
                   {"contact", &rom->contact, NAN, true},
                   {"indicator_slope", &rom->indicator_slope, 0, false},
                   {"indicator_offset", &rom->indicator_offset, 0, true},
                   {"indicator_threshold", &rom->indicator_threshold, 0, false},
                   {"distance_threshold", &rom->distance_threshold, NAN, true},
                   {"single_error", &rom->single_error, 0, false}};
    TD_TRY(td_h5_read_integer(reader->file, "training", "snapshots", reader->path, 0, INT64_MAX, &rom->n_snapshots,
                              reader->error));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    {
        *numbers[i].out = numbers[i].standard;
        if (numbers[i].later && !td_h5_has_attribute(reader->file, "training", numbers[i].name))
            continue;
        TD_TRY(
            td_h5_read_number(reader->file, "training", numbers[i].name, reader->path, numbers[i].out, reader->error));
    }
    TD_TRY(read_loads(reader));
    int64_t n = 0;
    TD_TRY(td_h5_read_shape(reader->file, "training/sigma", reader->path, 1, MOST_MODES, &n, reader->error));
    rom->n_sigma = (int)n;
    TD_TRY(read_numbers(reader, "training/sigma", 1, &n, &rom->sigma));
    for (int i = 0; i < rom->n_sigma; i++)
        if (rom->sigma[i] < 0 || (i > 0 && rom->sigma[i] > rom->sigma[i - 1]))
            return ROM_FAIL(reader, "training/sigma", "singular value %d is %g; they are positive and descend", i,
                            rom->sigma[i]);
    return read_lambda(reader);
}

static tdStatus read_timing(const Reader *reader)
{
    tdRom *rom = reader->rom;
    int64_t n = 0;
    TD_TRY(td_h5_read_shape(reader->file, "timing/seconds", reader->path, 1, MOST_PHASES, &n, reader->error));
    TD_TRY(read_numbers(reader, "timing/seconds", 1, &n, &rom->seconds));
    if (n > 0)
        TD_TRY(td_h5_read_texts(reader->file, "timing", "phases", (int)n, MOST_PHASES, &rom->arena, reader->path, NULL,
                                &rom->phases, reader->error));
    rom->n_phases = (int)n;
    return TD_OK;
}

static tdStatus read_image(const Reader *reader)
{
    TD_TRY(read_head(reader));
    TD_TRY(read_basis(reader));
    TD_TRY(read_domains(reader));
    TD_TRY(read_stvk(reader));
    TD_TRY(read_training(reader));
    return read_timing(reader);
}

tdStatus td_rom_read(const char *path, tdRom *rom, tdError *error)
{
    *rom = (tdRom){0};
    char *image = NULL;
    size_t size = 0;
    uint64_t tag = 0;
    TD_TRY(td_file_read(path, &image, &size, error));
    tdStatus status = td_seal_check(&rom_seal, (const unsigned char *)image, size, path, &tag, error);
    if (status == TD_OK && (rom->file = td_arena_copy(&rom->arena, path)) == NULL)
        status = td_fail_memory(error, path);
    if (status == TD_OK)
    {
        tdH5Quiet quiet = td_h5_begin();
        Reader reader = {-1, path, rom, error};
        status = td_seal_open(&rom_seal, image, size, path, &reader.file, error);
        if (status == TD_OK)
            status = read_image(&reader);
        if (reader.file >= 0)
            H5Fclose(reader.file);
        td_h5_end(quiet);
    }
    free(image);
    if (status != TD_OK && error != NULL)
        td_error_clean(error); // it may quote bytes of the file
    return status;
}
