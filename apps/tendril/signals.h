// SPDX-License-Identifier: Apache-2.0
// How the program ends when it is told to.
//
// SIGINT, SIGTERM and SIGHUP (unless it is ignored, as under nohup) ask for an orderly end: the step that is being
// taken is finished and what there is to write is written. A step that takes longer than SIG_GRACE seconds is given up
// at its next pass, with the state before it. What does not ask meanwhile whether to go on, such as the factorization
// of a large matrix, is ended with the whole program SIG_LIMIT seconds after the signal, and so is everything by a
// second signal; files appear by rename, so that the last ones that were finished are whole.
#pragma once
#include <signal.h>
#include <stdbool.h>

#define SIG_GRACE 3  ///< [s]
#define SIG_LIMIT 10 ///< [s]; the environment variable TENDRIL_STOP_LIMIT sets another

/// What was in force before.
typedef struct sigBefore
{
    struct sigaction interrupt, terminate, hang_up, alarm;
} sigBefore;

/// Between these two, signals ask for an orderly end.
sigBefore sig_catch(void);
void sig_release(const sigBefore *before);
/// Whether one came since sig_catch(), also after sig_release().
bool sig_came(void);
/// What is left is to write files, however long that takes: only a second signal ends it.
void sig_writing(void);
/// For tdSettings.cancel: the grace is over.
bool sig_cancel(void *unused);

/// For the whole program: where a pipe has no reader or a file must not grow, the writer learns of it as an error.
void sig_ignore_writing(void);
