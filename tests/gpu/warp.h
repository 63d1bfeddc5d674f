// SPDX-License-Identifier: Apache-2.0
// A warp on the host: 32 lanes that run in turns, each until all of them exchange something. Included before the source
// of the device's steps (src/gpu/back_host.c), it stands for what CUDA has for that, so that the source runs as a
// device runs it and can be compared on any machine. Lanes take turns in changing order, so that a missing barrier
// shows; that some of them come to another exchange than the others ends the program.
#pragma once
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum
{
    WARP = 32,
    WARP_STACK = 1 << 18
};

typedef void (*warpTask)(void *data, int lane);

static struct
{
    ucontext_t caller, lane[WARP];
    char *stacks;
    int next[WARP], now, done, turn;
    bool runs;
    double box[2][WARP][2];
    long phase[WARP];
    int place[WARP]; ///< line of the exchange that a lane has come to
    warpTask task;
    void *data;
} warp;

static void warp_pass(void)
{
    int from = warp.now;
    warp.now = warp.next[from];
    swapcontext(&warp.lane[from], &warp.lane[warp.now]);
}

/// What all lanes have brought.
static double (*warp_exchange(double x, double y, int line))[2]
{
    int lane = warp.now, side = (int)(warp.phase[lane]++ % 2);
    warp.box[side][lane][0] = x;
    warp.box[side][lane][1] = y;
    warp.place[lane] = line;
    warp_pass();
    for (int k = 0; k < WARP; k++)
        if (warp.phase[k] != warp.phase[lane] && warp.phase[k] != warp.phase[lane] + 1)
        {
            fprintf(stderr, "lanes %d and %d are %ld exchanges apart, at lines %d and %d\n", lane, k,
                    warp.phase[k] - warp.phase[lane], warp.place[lane], warp.place[k]);
            abort();
        }
        else if (warp.phase[k] == warp.phase[lane] && warp.place[k] != line)
        {
            fprintf(stderr, "lane %d exchanges at line %d, lane %d at %d\n", lane, line, k, warp.place[k]);
            abort();
        }
    return warp.box[side];
}

static void warp_enter(void)
{
    int lane = warp.now;
    warp.task(warp.data, lane);
    warp_exchange(0, 0, -1); // nobody goes before all have come to the end
    warp.phase[lane]++;
    if (++warp.done == WARP)
        warp.runs = false;
    if (!warp.runs)
        setcontext(&warp.caller);
    warp.now = warp.next[lane];
    setcontext(&warp.lane[warp.now]);
}

/// Runs a task in all lanes.
static void warp_run(warpTask task, void *data)
{
    static const int ways[] = {1, 31, 5, 19}; // from each lane to the next
    if (warp.stacks == NULL)
        warp.stacks = malloc((size_t)WARP * WARP_STACK);
    if (warp.stacks == NULL)
        abort();
    warp.task = task;
    warp.data = data;
    warp.done = 0;
    warp.runs = true;
    warp.turn++;
    for (int k = 0; k < WARP; k++)
    {
        warp.phase[k] = 0;
        warp.next[k] = (k + ways[warp.turn % 4]) % WARP;
        getcontext(&warp.lane[k]);
        warp.lane[k].uc_stack.ss_sp = warp.stacks + (size_t)k * WARP_STACK;
        warp.lane[k].uc_stack.ss_size = WARP_STACK;
        warp.lane[k].uc_link = NULL;
        makecontext(&warp.lane[k], warp_enter, 0);
    }
    warp.now = warp.turn % WARP;
    swapcontext(&warp.caller, &warp.lane[warp.now]);
}

static inline double warp_from(double x, int lane, int line)
{
    return warp_exchange(x, 0, line)[lane % WARP][0];
}

static inline unsigned warp_votes(bool x, int line)
{
    double(*box)[2] = warp_exchange(x, 0, line);
    unsigned votes = 0;
    for (int k = 0; k < WARP; k++)
        votes |= (unsigned)(box[k][0] != 0) << k;
    return votes;
}

/// c += a b, 8 x 4 times 4 x 8.
static inline void warp_product(double *c, double a, double b, int line)
{
    int g = warp.now >> 2, t = warp.now & 3;
    double(*box)[2] = warp_exchange(a, b, line);
    for (int e = 0; e < 2; e++)
        for (int k = 0; k < 4; k++)
            c[e] += box[4 * g + k][0] * box[4 * (2 * t + e) + k][1];
}

#define TD_WARP                     1
#define TD_FROM(x, lane)            warp_from(x, lane, __LINE__)
#define TD_LANES                    1
#define __shfl_xor_sync(mask, x, k) ((__typeof__(x))warp_from((double)(x), warp.now ^ (k), __LINE__))
#define __shfl_sync(mask, x, k)     ((__typeof__(x))warp_from((double)(x), k, __LINE__))
#define __ballot_sync(mask, x)      warp_votes(x, __LINE__)
#define __popc(x)                   __builtin_popcount(x)
#define __syncwarp(mask)            (void)(warp.runs && warp_exchange(0, 0, __LINE__))
#define td_warp_product(c, a, b)    warp_product(c, a, b, __LINE__)
#define td_warp_inverse_root(x)     (1 / sqrt(x))
