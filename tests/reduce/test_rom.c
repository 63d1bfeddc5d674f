// SPDX-License-Identifier: Apache-2.0
// Files of reduced models: what is written is read back bit for bit; what is damaged or makes no sense is refused.
#include "test.h"

#include "base/file.h"
#include "base/memory.h"
#include "reduce/rom.h"
#include "reduce/stvk.h"

#include <unistd.h>

#define FILE_NAME "test_rom.h5"

enum
{
    NODES = 5,
    MODES = 3,
    MOVED = 2,
    CHOSEN = 4
};

/// A small model with every field in use. Numbers are exact in binary, so that they compare.
static void make_rom(tdRom *rom)
{
    *rom = (tdRom){.body = "arm", .physics = 0x123456789abcdef0U, .n_nodes = NODES, .r = MODES, .n_u = MOVED};
    rom->phi = TD_TAKE(&rom->arena, double, 3 * NODES * MODES);
    rom->psi = TD_TAKE(&rom->arena, double, 3 * NODES * MOVED);
    for (int i = 0; i < 3 * NODES * MODES; i++)
        rom->phi[i] = i / 64.0;
    for (int i = 0; i < 3 * NODES * MOVED; i++)
        rom->psi[i] = -i / 32.0;
    rom->inputs = TD_TAKE(&rom->arena, const char *, MOVED);
    rom->inputs[0] = "slide";
    rom->inputs[1] = "a_longer_name";
    rom->frame = TD_FRAME_TRANSLATION;
    rom->n_domains = 2;
    rom->domains = TD_TAKE(&rom->arena, tdRomDomain, 2);
    for (int d = 0; d < 2; d++)
    {
        tdRomDomain *domain = &rom->domains[d];
        *domain = (tdRomDomain){.name = d == 0 ? "volume" : "membrane", .n = CHOSEN, .tolerance = 0.05, .error = 0.04};
        domain->element = TD_TAKE(&rom->arena, int32_t, CHOSEN);
        domain->weight = TD_TAKE(&rom->arena, double, CHOSEN);
        for (int i = 0; i < CHOSEN; i++)
        {
            domain->element[i] = 3 * i + d;
            domain->weight[i] = 1 + i / 8.0;
        }
        domain->n_check = d == 0 ? 2 : 0;
        domain->check = domain->element + 1;
        domain->check_weight = domain->weight + 1;
    }
    rom->n_snapshots = 136;
    rom->n_sigma = MODES;
    rom->sigma = TD_TAKE(&rom->arena, double, MODES);
    rom->low = TD_TAKE(&rom->arena, double, MODES);
    rom->high = TD_TAKE(&rom->arena, double, MODES);
    rom->spread = TD_TAKE(&rom->arena, double, MODES);
    for (int i = 0; i < MODES; i++)
    {
        rom->sigma[i] = 8.0 / (1 << i);
        rom->low[i] = -i;
        rom->high[i] = i;
        rom->spread[i] = 0.5;
    }
    rom->pod_tolerance = 1e-3;
    rom->pod_error = 0.5e-3;
    rom->held_out_error = NAN;
    rom->indicator_slope = 2;
    rom->indicator_threshold = 0.25;
    rom->single_error = 3e-7;
    rom->n_loads = 2;
    rom->loads = TD_TAKE(&rom->arena, const char *, 2);
    rom->loads[0] = " 0123456789abcdef";
    rom->loads[1] = "push 0000000000000001";
    rom->load_low = TD_TAKE(&rom->arena, double, 2);
    rom->load_high = TD_TAKE(&rom->arena, double, 2);
    rom->load_low[1] = -1;
    rom->load_high[1] = 3;
    rom->n_phases = 2;
    rom->phases = TD_TAKE(&rom->arena, const char *, 2);
    rom->phases[0] = "snapshots";
    rom->phases[1] = "pod";
    rom->seconds = TD_TAKE(&rom->arena, double, 2);
    rom->seconds[0] = 12.5;
}

/// Polynomials instead of domains.
static void make_polynomials(tdRom *rom)
{
    make_rom(rom);
    rom->kind = TD_ROM_STVK;
    rom->n_domains = 0;
    int64_t n[3] = {td_stvk_pairs(MODES + MOVED), td_stvk_triples(MODES + MOVED), td_stvk_quadruples(MODES + MOVED)};
    double **to[3] = {&rom->P, &rom->Q, &rom->S};
    for (int k = 0; k < 3; k++)
    {
        *to[k] = TD_TAKE(&rom->arena, double, n[k]);
        for (int64_t i = 0; i < n[k]; i++)
            (*to[k])[i] = (double)(k + i) / 16;
    }
    rom->n_lambda = 2;
    rom->lambda = TD_TAKE(&rom->arena, double, 2);
    rom->lambda[0] = 4;
    rom->lambda[1] = 9.5;
}

static void test_round_trip(void **unused)
{
    (void)unused;
    tdRom rom, back;
    tdError error = {0};
    make_rom(&rom);
    assert_ok(td_rom_write(&rom, FILE_NAME, &error), error);
    assert_ok(td_rom_read(FILE_NAME, &back, &error), error);
    assert_string_equal(back.body, rom.body);
    assert_string_equal(back.made_by, td_version());
    assert_true(back.physics == rom.physics);
    assert_int_equal(back.n_nodes, NODES);
    assert_int_equal(back.r, MODES);
    assert_int_equal(back.n_u, MOVED);
    assert_memory_equal(back.phi, rom.phi, 3 * NODES * MODES * sizeof(double));
    assert_memory_equal(back.psi, rom.psi, 3 * NODES * MOVED * sizeof(double));
    assert_string_equal(back.inputs[0], "slide");
    assert_string_equal(back.inputs[1], "a_longer_name");
    assert_int_equal(back.frame, TD_FRAME_TRANSLATION);
    assert_int_equal(back.n_domains, 2);
    for (int d = 0; d < 2; d++)
    {
        assert_string_equal(back.domains[d].name, rom.domains[d].name);
        assert_int_equal(back.domains[d].n, CHOSEN);
        assert_memory_equal(back.domains[d].element, rom.domains[d].element, CHOSEN * sizeof(int32_t));
        assert_memory_equal(back.domains[d].weight, rom.domains[d].weight, CHOSEN * sizeof(double));
        assert_int_equal(back.domains[d].n_check, rom.domains[d].n_check);
    }
    assert_memory_equal(back.domains[0].check, rom.domains[0].check, 2 * sizeof(int32_t));
    assert_int_equal(back.n_sigma, MODES);
    assert_memory_equal(back.sigma, rom.sigma, MODES * sizeof(double));
    assert_true(isnan(back.held_out_error));
    assert_true(back.indicator_threshold == 0.25);
    assert_true(back.single_error == 3e-7);
    assert_int_equal(back.n_loads, 2);
    assert_string_equal(back.loads[1], rom.loads[1]);
    assert_true(back.load_low[1] == -1 && back.load_high[1] == 3);
    assert_int_equal(back.n_phases, 2);
    assert_string_equal(back.phases[1], "pod");
    assert_true(back.seconds[0] == 12.5);
    assert_true(td_rom_hash(&back) == td_rom_hash(&rom));
    td_rom_free(&back);
    td_rom_free(&rom);
    unlink(FILE_NAME);
}

static void test_polynomials(void **unused)
{
    (void)unused;
    tdRom rom, back;
    tdError error = {0};
    make_polynomials(&rom);
    size_t size = (size_t)td_stvk_quadruples(MODES + MOVED) * sizeof(double);
    assert_ok(td_rom_write(&rom, FILE_NAME, &error), error);
    assert_ok(td_rom_read(FILE_NAME, &back, &error), error);
    assert_int_equal(back.kind, TD_ROM_STVK);
    assert_int_equal(back.n_domains, 0);
    assert_memory_equal(back.P, rom.P, (size_t)td_stvk_pairs(MODES + MOVED) * sizeof(double));
    assert_memory_equal(back.Q, rom.Q, (size_t)td_stvk_triples(MODES + MOVED) * sizeof(double));
    assert_memory_equal(back.S, rom.S, size);
    assert_int_equal(back.n_lambda, 2);
    assert_true(back.lambda[1] == 9.5);
    assert_true(td_rom_hash(&back) == td_rom_hash(&rom));
    back.S[69] += 1e-12;
    assert_true(td_rom_hash(&back) != td_rom_hash(&rom));
    td_rom_free(&back);
    td_rom_free(&rom);
    unlink(FILE_NAME);
}

// Timings are no content; a changed weight, name or mode is.
static void test_hash(void **unused)
{
    (void)unused;
    tdRom rom;
    make_rom(&rom);
    uint64_t before = td_rom_hash(&rom);
    rom.seconds[0] = 99;
    assert_true(td_rom_hash(&rom) == before);
    rom.domains[1].weight[3] += 1e-12;
    assert_true(td_rom_hash(&rom) != before);
    rom.domains[1].weight[3] = 1 + 3 / 8.0;
    assert_true(td_rom_hash(&rom) == before);
    rom.phi[7] = -rom.phi[7];
    assert_true(td_rom_hash(&rom) != before);
    td_rom_free(&rom);
}

// The same content gives the same bytes, so that files can be compared.
static void test_same_bytes(void **unused)
{
    (void)unused;
    tdRom rom;
    tdError error = {0};
    char *bytes[2] = {NULL};
    size_t size[2] = {0};
    make_rom(&rom);
    for (int i = 0; i < 2; i++)
    {
        assert_ok(td_rom_write(&rom, FILE_NAME, &error), error);
        assert_ok(td_file_read(FILE_NAME, &bytes[i], &size[i], &error), error);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    free(bytes[0]);
    free(bytes[1]);
    td_rom_free(&rom);
    unlink(FILE_NAME);
}

static void refuse(const char *words)
{
    tdRom rom;
    tdError error = {0};
    assert_int_equal(td_rom_read(FILE_NAME, &rom, &error), TD_ERROR_INPUT);
    if (strstr(error.message, words) == NULL)
        fail_msg("'%s' is not in '%s: %s'", words, error.field, error.message);
    td_rom_free(&rom);
}

// Every byte counts: a flip anywhere in the file, or a shorter file, is refused before HDF5 sees it.
static void test_damaged(void **unused)
{
    (void)unused;
    tdRom rom;
    tdError error = {0};
    char *bytes = NULL;
    size_t size = 0;
    make_rom(&rom);
    assert_ok(td_rom_write(&rom, FILE_NAME, &error), error);
    assert_ok(td_file_read(FILE_NAME, &bytes, &size, &error), error);
    for (size_t at = 0; at < size; at += at < 64 ? 1 : 97)
    {
        bytes[at] ^= 0x10;
        assert_ok(td_file_write(FILE_NAME, bytes, size, &error), error);
        refuse("tendril reduce");
        bytes[at] ^= 0x10;
    }
    assert_ok(td_file_write(FILE_NAME, bytes, size - 8, &error), error);
    refuse("damaged");
    assert_ok(td_file_write(FILE_NAME, bytes, 100, &error), error);
    refuse("ends after 100 bytes");
    assert_ok(td_file_write(FILE_NAME, "t,north\n0,1\n", 12, &error), error);
    refuse("is not a reduced model");
    unlink(FILE_NAME);
    refuse("cannot be opened");
    free(bytes);
    td_rom_free(&rom);
}

// Sealed by the program itself, but with numbers that no training gives.
static void test_senseless(void **unused)
{
    (void)unused;
    for (int k = 0; k < 12; k++)
    {
        tdRom rom;
        tdError error = {0};
        if (k < 8)
            make_rom(&rom);
        else
            make_polynomials(&rom);
        const char *words = "";
        switch (k)
        {
        case 0: rom.phi[3] = NAN, words = "not finite"; break;
        case 1: rom.domains[0].weight[2] = 0, words = "weights are positive"; break;
        case 2: rom.domains[0].element[2] = 1, words = "ascend"; break;
        case 3: rom.domains[1].element[0] = -4, words = "numbered from 0"; break;
        case 4: rom.sigma[2] = 100, words = "descend"; break;
        case 5: rom.low[1] = 9, words = "range of mode 1"; break;
        case 6: rom.r = 0, words = "1 to"; break;
        case 8: rom.Q[7] = INFINITY, words = "number 7 is not finite"; break;
        case 9: rom.S[69] = NAN, words = "number 69 is not finite"; break;
        case 10: rom.lambda[0] = 0, words = "eigenvalue 0 is 0"; break;
        case 11: rom.lambda[0] = 10, words = "ascend"; break;
        default: rom.n_snapshots = -1, words = "expected 0 to"; break;
        }
        assert_ok(td_rom_write(&rom, FILE_NAME, &error), error);
        refuse(words);
        td_rom_free(&rom);
    }
    unlink(FILE_NAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_hash),    cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_polynomials), cmocka_unit_test(test_damaged), cmocka_unit_test(test_senseless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
