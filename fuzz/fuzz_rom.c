// SPDX-License-Identifier: Apache-2.0
// Files of reduced models that are sealed as they should be and well-formed for HDF5, but whose content is anything:
// the bytes say which groups, arrays and attributes of a good file are removed, replaced by others of any type and
// shape, or filled with any numbers. HDF5 itself is not safe on bytes that it did not write, which is what the checksum
// is for; so they are not changed behind its back. What is accepted is sound and survives a round trip.
#include "base/file.h"
#include "reduce/rom.h"
#include "store/seal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum
{
    NODES = 4,
    MODES = 2,
    CHOSEN = 3
};

static const char *const objects[] = {"basis",
                                      "basis/phi",
                                      "basis/psi",
                                      "basis/low",
                                      "basis/high",
                                      "basis/spread",
                                      "domains",
                                      "domains/0",
                                      "domains/1",
                                      "domains/0/element",
                                      "domains/0/weight",
                                      "domains/0/check",
                                      "domains/0/check_weight",
                                      "training",
                                      "training/sigma",
                                      "training/lambda",
                                      "training/load_low",
                                      "training/load_high",
                                      "timing",
                                      "timing/seconds",
                                      "stvk",
                                      "stvk/P",
                                      "stvk/Q",
                                      "stvk/S"};
static const char *const attributes[] = {"version",
                                         "body",
                                         "frame",
                                         "kind",
                                         "physics",
                                         "content",
                                         "inputs",
                                         "name",
                                         "tolerance",
                                         "error",
                                         "phases",
                                         "loads",
                                         "snapshots",
                                         "pod_error",
                                         "made_by",
                                         "pod_tolerance",
                                         "held_out_error",
                                         "indicator_slope",
                                         "indicator_threshold"};

#define COUNT(list) (sizeof list / sizeof list[0])

typedef struct bytes
{
    const uint8_t *at, *end;
} bytes;

static unsigned next(bytes *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static uint64_t next_wide(bytes *in)
{
    uint64_t value = 0;
    for (unsigned n = next(in) % 9; n > 0; n--)
        value = value << 8 | next(in);
    return value;
}

// ---------------------------------------------------------------- a good file

static char folder[] = "/tmp/tendril_fuzz_rom_XXXXXX", file_name[64];
static char *good;
static size_t good_size;

static void forget(void)
{
    unlink(file_name);
    rmdir(folder);
    free(good);
}

static void make_good(void)
{
    static double phi[3 * NODES * MODES], psi[3 * NODES], weight[CHOSEN] = {1, 2, 0.5}, sigma[MODES] = {2, 1};
    static double low[MODES] = {-1, -1}, high[MODES] = {1, 1}, seconds[1] = {1}, load[1] = {1};
    static int32_t element[CHOSEN] = {1, 4, 7};
    static const char *inputs[] = {"slide"}, *phases[] = {"pod"}, *loads[] = {"push 1"};
    static tdRomDomain domains[2];
    for (int i = 0; i < 3 * NODES * MODES; i++)
        phi[i] = i / 8.0;
    for (int d = 0; d < 2; d++)
        domains[d] = (tdRomDomain){.name = d == 0 ? "volume" : "membrane",
                                   .n = CHOSEN,
                                   .element = element,
                                   .weight = weight,
                                   .n_check = 1,
                                   .check = element,
                                   .check_weight = weight};
    const tdRom rom = {.body = "arm",
                       .n_nodes = NODES,
                       .r = MODES,
                       .phi = phi,
                       .n_u = 1,
                       .inputs = inputs,
                       .psi = psi,
                       .n_domains = 2,
                       .domains = domains,
                       .n_snapshots = 3,
                       .n_sigma = MODES,
                       .sigma = sigma,
                       .low = low,
                       .high = high,
                       .spread = high,
                       .n_loads = 1,
                       .loads = loads,
                       .load_low = load,
                       .load_high = load,
                       .n_phases = 1,
                       .phases = phases,
                       .seconds = seconds};
    tdError error = {0};
    if (mkdtemp(folder) == NULL)
        abort();
    snprintf(file_name, sizeof file_name, "%s/fuzz.h5", folder);
    if (td_rom_write(&rom, file_name, &error) != TD_OK || td_file_read(file_name, &good, &good_size, &error) != TD_OK)
        abort();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    atexit(forget);
}

// ---------------------------------------------------------------- changes

static hid_t pick_type(bytes *in)
{
    const hid_t types[] = {H5T_IEEE_F64LE, H5T_STD_I32LE, H5T_STD_I64LE, H5T_STD_U8LE, H5T_IEEE_F32BE, H5T_STD_B64BE};
    unsigned k = next(in) % 8;
    if (k < 6)
        return H5Tcopy(types[k]);
    hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, k == 6 ? 1 + next(in) : H5T_VARIABLE);
    return text;
}

// Any shape; large ones, whose chunks are not there, have no data.
static hid_t pick_space(bytes *in, bool *small)
{
    hsize_t dims[3], all = 1;
    int rank = (int)(next(in) % 4);
    *small = true;
    for (int i = 0; i < rank; i++)
    {
        dims[i] = next(in) % 4 == 0 ? next_wide(in) >> 1 : next(in) % 32;
        *small = *small && dims[i] < 64;
        all *= *small ? dims[i] : 1;
    }
    *small = *small && all < 4096;
    return rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, dims, NULL);
}

static void fill(bytes *in, hid_t array, hid_t type)
{
    static uint8_t numbers[1 << 18];
    if (H5Tget_class(type) == H5T_STRING)
        return;
    for (size_t i = 0; i < sizeof numbers && in->at < in->end && i < 4096; i++)
        numbers[i] = (uint8_t)next(in);
    H5Dwrite(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers);
}

static void put_array(bytes *in, hid_t file, const char *name)
{
    bool small = true;
    hid_t type = pick_type(in), space = pick_space(in, &small), list = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[3] = {16, 16, 16};
    int rank = H5Sget_simple_extent_ndims(space);
    if (!small && rank > 0)
        H5Pset_chunk(list, rank, chunk);
    H5Ldelete(file, name, H5P_DEFAULT);
    hid_t array = space >= 0 ? H5Dcreate2(file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT) : -1;
    if (array >= 0 && small)
        fill(in, array, type);
    if (array >= 0)
        H5Dclose(array);
    H5Pclose(list);
    H5Sclose(space);
    H5Tclose(type);
}

static void put_numbers(bytes *in, hid_t file, const char *name)
{
    hid_t array = H5Dopen2(file, name, H5P_DEFAULT), type = array >= 0 ? H5Dget_type(array) : -1;
    hid_t space = array >= 0 ? H5Dget_space(array) : -1;
    if (space >= 0 && H5Sget_simple_extent_npoints(space) < 4096)
        fill(in, array, type);
    if (array < 0)
        return;
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(array);
}

static void put_attribute(bytes *in, hid_t file, const char *object)
{
    const char *name = attributes[next(in) % COUNT(attributes)];
    hid_t at = H5Oopen(file, object, H5P_DEFAULT);
    if (at < 0)
        return;
    H5Adelete(at, name);
    bool small = true;
    hid_t type = pick_type(in), space = pick_space(in, &small);
    uint64_t numbers[4096] = {next_wide(in), next_wide(in)};
    hid_t attribute = small && space >= 0 ? H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
    if (attribute >= 0 && H5Tis_variable_str(type) <= 0 && H5Tget_size(type) <= 8)
        H5Awrite(attribute, type, numbers);
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
    H5Oclose(at);
}

static void change(bytes *in, hid_t file)
{
    const char *name = objects[next(in) % COUNT(objects)];
    hid_t group = -1;
    switch (next(in) % 8)
    {
    case 0: H5Ldelete(file, name, H5P_DEFAULT); break;
    case 1:
    case 2: put_array(in, file, name); break;
    case 3: put_numbers(in, file, name); break;
    case 4: put_attribute(in, file, name); break;
    case 5: put_attribute(in, file, "."); break;
    case 6:
        H5Ldelete(file, name, H5P_DEFAULT);
        group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        if (group >= 0)
            H5Gclose(group);
        break;
    default:
        H5Ldelete(file, name, H5P_DEFAULT);
        if (next(in) % 2 == 0)
            H5Lcreate_soft(objects[next(in) % COUNT(objects)], file, name, H5P_DEFAULT, H5P_DEFAULT);
        else
            H5Lcreate_hard(file, "/", file, name, H5P_DEFAULT, H5P_DEFAULT);
        break;
    }
}

// The good file with changes, sealed again. free() it.
static unsigned char *changed(const uint8_t *data, size_t size, size_t *out_size)
{
    bytes in = {data, data + size};
    unsigned char *image = NULL;
    hid_t list = H5Pcreate(H5P_FILE_ACCESS), file = -1;
    if (H5Pset_fapl_core(list, 1 << 16, 0) >= 0 &&
        H5Pset_file_image(list, good + TD_SEAL_BYTES, good_size - TD_SEAL_BYTES) >= 0)
        file = H5Fopen("fuzz", H5F_ACC_RDWR, list);
    if (file < 0)
        abort();
    for (int n = 0; n < 8 && in.at < in.end; n++)
        change(&in, file);
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    ssize_t length = H5Fget_file_image(file, NULL, 0);
    if (length > 0 && length < 1 << 24)
        image = calloc(1, TD_SEAL_BYTES + (size_t)length);
    if (image != NULL && H5Fget_file_image(file, image + TD_SEAL_BYTES, (size_t)length) != length)
        abort();
    *out_size = TD_SEAL_BYTES + (size_t)(length > 0 ? length : 0);
    H5Fclose(file);
    H5Pclose(list);
    return image;
}

// ---------------------------------------------------------------- what was read

static void check_sound(const tdRom *rom)
{
    for (int64_t i = 0; i < 3 * rom->n_nodes * rom->r; i++)
        if (!isfinite(rom->phi[i]))
            abort();
    for (int d = 0; d < rom->n_domains; d++)
        for (int64_t i = 0; i < rom->domains[d].n; i++)
            if (!(rom->domains[d].weight[i] > 0) || rom->domains[d].element[i] < 0 ||
                (i > 0 && rom->domains[d].element[i] <= rom->domains[d].element[i - 1]))
                abort();
    tdRom back;
    tdError error = {0};
    if (td_rom_write(rom, file_name, &error) != TD_OK || td_rom_read(file_name, &back, &error) != TD_OK ||
        td_rom_hash(rom) != td_rom_hash(&back))
        abort();
    td_rom_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (good == NULL)
        make_good();
    tdSeal seal = {.what = "reduced model"};
    memcpy(seal.magic, good, sizeof seal.magic);
    memcpy(&seal.format, good + 8, sizeof seal.format); // little-endian, as are the machines that fuzz
    size_t length = 0;
    unsigned char *image = changed(data, size, &length);
    if (image == NULL)
        return 0;
    td_seal_close(&seal, 0, image, length);
    tdError error = {0};
    if (td_file_write(file_name, image, length, &error) != TD_OK)
        abort();
    free(image);
    tdRom rom;
    tdStatus status = td_rom_read(file_name, &rom, &error);
    if (status == TD_OK)
        check_sound(&rom);
    else if (error.message[0] == '\0')
        abort();
    for (const char *c = error.message; status != TD_OK && *c != '\0'; c++)
        if (iscntrl((unsigned char)*c))
            abort();
    td_rom_free(&rom);
    return 0;
}
