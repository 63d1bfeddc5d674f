// SPDX-License-Identifier: Apache-2.0
// The loop that 'run', 'demo' and 'control' share: steps, frames, checkpoints, interruption.
#pragma once
#include "cli.h"
#include "output/totals.h"
#include "signals.h"

typedef struct simOptions
{
    const char *what;       ///< for the progress
    int64_t until;          ///< number of the last step, counted from the scene's start
    const char *out;        ///< folder for frames, or NULL
    int every;              ///< steps between frames; 0 = only the last
    bool compressed;        ///< frames are
    bool resumed;           ///< goes on in the folder
    const char *checkpoint; ///< file, or NULL: DIR/checkpoint.h5 when one is due
    int checkpoint_every;   ///< steps; 0 = none on the way
    /// Takes a step instead of td_step(), and is told of each that was taken, with its wall time; NULL = none.
    tdStatus (*step)(void *user, const tdModel *model, tdState *state);
    tdStatus (*stepped)(void *user, const tdModel *model, const tdState *state, double seconds, tdError *error);
    void *user;
} simOptions;

typedef enum simEnd
{
    SIM_DONE,
    SIM_FAILED,     // the numbers; the last good state was kept and written
    SIM_INTERRUPTED // by a signal; the state is that of a whole step
} simEnd;

typedef struct simResult
{
    simEnd end;
    tdError error; ///< when it failed
    tdTotals totals;
    double wall_s;         ///< in steps
    double output_s;       ///< in writing
    double simulated_s;    ///< time that passed in the scene
    int64_t frames;        ///< written
    char checkpoint[4096]; ///< last one written, or ""
    int64_t checkpoint_step;
    int64_t saturated_steps; ///< in which limits held a driven actuator back
    int saturated_actuator;  ///< the first
    double saturated_time;   ///< and when that was
} simResult;

/// Steps until options->until. A numerical failure and an interruption are results (TD_OK); other
/// trouble, such as a full disk, comes back as an error.
tdStatus sim_run(const tdModel *model, tdState *state, const simOptions *options, simResult *result, tdError *error);

/// The step to end at by the options --steps and --time (NULL = not given), else `standard`. False after a usage error.
bool sim_last_step(const char *steps, const char *time, const tdModel *model, int64_t standard, int64_t *out);
/// --threads and --out, which are checked before anything is read. -1 to go on, else the exit code.
int sim_check_common(const char *threads, const char *out, tdSettings *settings);

/// What is said of an early end on stderr, and the exit code.
int sim_end(const tdState *state, const simResult *result);
/// The status, the error if there is one, and counts and rates of a run.
void sim_json(tdJson *json, const char *scene, const tdModel *model, const tdState *state, const simResult *result);
/// The same as the first lines of a table.
void sim_print(const char *scene, const tdModel *model, const tdState *state, const simResult *result);
/// Exit code of a result.
int sim_exit_code(const simResult *result);
/// Largest resident memory of this process so far [bytes].
int64_t sim_peak_memory(void);
