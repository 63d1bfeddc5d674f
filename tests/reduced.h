// SPDX-License-Identifier: Apache-2.0
// Reduced models for tests, made in memory: random orthonormal modes on the free coordinates of a body.
#pragma once
#include "scenes.h"

#include "reduce/reduced_body.h"

static inline void *rom_take(tdRom *rom, int64_t count, size_t size)
{
    void *out = td_arena_take(&rom->arena, (size_t)count, size);
    assert_non_null(out);
    return out;
}

/// Orthonormal columns, random on the free coordinates: as many as there are, or r.
static inline void rom_modes(const tdSoft *soft, tdRom *rom, int r, uint64_t seed)
{
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    int most = (int)(coords - soft->n_held);
    rom->r = r <= 0 || r > most ? most : r;
    rom->phi = rom_take(rom, coords * rom->r, sizeof(double));
    for (int j = 0; j < rom->r; j++)
    {
        double *column = calloc((size_t)coords, sizeof *column);
        for (int64_t i = 0; i < coords; i++)
            column[i] = soft->held[i] ? 0 : next_random(&seed);
        for (int pass = 0; pass < 2; pass++)
        {
            double size = 0;
            for (int k = 0; k < j; k++)
            {
                double along = 0;
                for (int64_t i = 0; i < coords; i++)
                    along += column[i] * rom->phi[i * rom->r + k];
                for (int64_t i = 0; i < coords; i++)
                    column[i] -= along * rom->phi[i * rom->r + k];
            }
            for (int64_t i = 0; i < coords; i++)
                size += column[i] * column[i];
            for (int64_t i = 0; i < coords; i++)
                column[i] /= sqrt(size);
        }
        for (int64_t i = 0; i < coords; i++)
            rom->phi[i * rom->r + j] = column[i];
        free(column);
    }
}

/// Each input that moves nodes: its displacement on them; other nodes stay.
static inline void rom_inputs(const tdModel *model, const tdSoft *soft, tdRom *rom)
{
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    rom->inputs = rom_take(rom, model->n_inputs + 1, sizeof(char *));
    rom->psi = rom_take(rom, coords * (model->n_inputs + 1), sizeof(double));
    int list[64];
    for (int32_t k = 0; k < soft->n_driven; k++)
    {
        int known = 0;
        for (; known < rom->n_u && list[known] != soft->driven[k].input; known++)
            ;
        if (known < rom->n_u)
            continue;
        list[rom->n_u] = soft->driven[k].input;
        rom->inputs[rom->n_u++] = soft->driven[k].input < 0 ? "" : model->inputs[soft->driven[k].input].name;
    }
    for (int32_t k = 0; k < soft->n_driven; k++)
        for (int j = 0; j < rom->n_u; j++)
            if (list[j] == soft->driven[k].input)
                rom->psi[soft->driven[k].coord * (int64_t)rom->n_u + j] = soft->driven[k].displacement;
}

/// One domain: elements e with e % every == 0, weight 1 (every = 1) or random.
static inline void rom_domain(const tdSoft *soft, tdRom *rom, int every, uint64_t seed)
{
    rom->n_domains = 1;
    rom->domains = rom_take(rom, 1, sizeof *rom->domains);
    tdRomDomain *d = rom->domains;
    d->name = "volume";
    d->element = rom_take(rom, soft->elements, sizeof(int32_t));
    d->weight = rom_take(rom, soft->elements, sizeof(double));
    for (int32_t e = 0; e < soft->elements; e += every)
    {
        d->element[d->n] = e;
        d->weight[d->n++] = every == 1 ? 1 : every * (1 + 0.5 * next_random(&seed));
    }
}

/// r <= 0: all modes.
static inline tdRom rom_of_body(const tdModel *full, int body, int r, int every)
{
    const tdSoft *soft = full->bodies[body].soft;
    tdRom rom = {.file = "test.rom", .made_by = "test", .n_nodes = soft->n_nodes, .frame = TD_FRAME_FIXED};
    rom.body = full->bodies[body].name;
    rom.physics = td_soft_physics(full, body);
    rom_modes(soft, &rom, r, 11);
    rom_inputs(full, soft, &rom);
    rom_domain(soft, &rom, every, 5);
    return rom;
}

static inline tdRom rom_of(const tdModel *full, int r, int every)
{
    return rom_of_body(full, 0, r, every);
}

/// A second choice of elements, which shares none with the first (every > 1), and ranges of training.
static inline void rom_check(const tdModel *full, tdRom *rom, int every, double range)
{
    const tdSoft *soft = full->bodies[0].soft;
    tdRomDomain *d = rom->domains;
    d->check = rom_take(rom, soft->elements, sizeof(int32_t));
    d->check_weight = rom_take(rom, soft->elements, sizeof(double));
    for (int32_t e = 1; e < soft->elements; e += every)
    {
        d->check[d->n_check] = e;
        d->check_weight[d->n_check++] = every;
    }
    rom->low = rom_take(rom, rom->r, sizeof(double));
    rom->high = rom_take(rom, rom->r, sizeof(double));
    for (int i = 0; i < rom->r; i++)
        rom->high[i] = -(rom->low[i] = -range);
    rom->indicator_slope = 1;
    rom->indicator_threshold = 1e-12;
}

static inline tdModel *rom_model(const char *text, const tdRom *rom, bool whole)
{
    tdModel *model = NULL;
    tdError error = {0};
    tdSettings settings = td_default_settings();
    settings.rom_whole = whole;
    tdStatus status = td_model_parse_reduced(text, strlen(text), "scene.yaml", NULL, &settings, rom, &model, &error);
    assert_ok(status, error);
    return model;
}
