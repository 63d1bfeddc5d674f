// SPDX-License-Identifier: Apache-2.0
// Frames that translate (S1 eq. 22): three modes that move all nodes alike stand before those of the snapshots, from
// which translations were taken. Free frames need no modes of their own.
#include "reduce/offline/job_parts.h"

#include <math.h>
#include <string.h>

#define TRANSLATIONS 3

// Rows of `columns` numbers, with three before them that are zero.
static double *widen(tdArena *arena, const double *from, int64_t rows, int columns)
{
    int wide = columns + TRANSLATIONS;
    double *to = TD_TAKE(arena, double, rows *wide);
    for (int64_t i = 0; i < rows && to != NULL; i++)
        memcpy(to + i * wide + TRANSLATIONS, from + i * columns, (size_t)columns * sizeof *to);
    return to;
}

tdStatus td_job_frame(tdJob *job, tdError *error)
{
    tdRom *rom = &job->rom;
    tdArena *arena = &job->round;
    if (rom->frame != TD_FRAME_TRANSLATION)
        return TD_OK;
    rom->phi = widen(arena, rom->phi, job->trainee.n, rom->r);
    job->alpha = widen(arena, job->alpha, job->n_k, rom->r);
    rom->r += TRANSLATIONS;
    rom->low = TD_TAKE(arena, double, rom->r);
    rom->high = TD_TAKE(arena, double, rom->r);
    rom->spread = TD_TAKE(arena, double, rom->r);
    if (rom->phi == NULL || job->alpha == NULL || rom->low == NULL || rom->high == NULL || rom->spread == NULL)
        return td_fail_memory(error, "the translations of a frame");
    double moved = 0;
    for (int64_t i = 0; i < job->trainee.n; i += 3)
        moved += job->trainee.loose[i];
    for (int64_t i = 0; i < job->trainee.n; i++)
        rom->phi[i * rom->r + i % 3] = job->trainee.loose[i] / sqrt(moved);
    return TD_OK;
}
