// SPDX-License-Identifier: Apache-2.0
// The offline stage (S1, Algorithm 1): from a scene to the file of a reduced model of one of its bodies.
//
//     snapshots  equilibria along the path of the scene's `reduction`           -> d = q - q0 - Psi u
//     pod        modes of the snapshots (S1 eq. 13-15)                          -> Phi, alpha
//     training   forces of single elements at the snapshots, projected          -> G, sketched
//     ecsw       few elements with weights that stand for all (S1 eq. 20-21)    -> domains, one a force field
//     check      the reduced model against full order, held out                 -> held-out error
//
// or, for bodies of the law stvk, without snapshots and without a choice of elements (S2)
//
//     modes        vibration modes, their derivatives, the directions that matter most    -> Phi
//     polynomials  forces as polynomials of the coordinates                               -> P, Q, S
//
// What is done lies in a folder beside the output, so that the job goes on where it was killed; the file that comes out
// is the same, whatever happened on the way and however many threads there were, but for its timings. Several processes
// may share the equilibria, which take the most time by far (job_share.c). Each part there
// has the key of what it depends on, so that with other tolerances, or another validation, only what depends on them is
// done again:
//
//     snapshots  <- scene without `reduction` and `validation`, places, kernels
//     basis      <- snapshots, pod_tolerance, max_modes
//     training   <- basis (its numbers), seed
//     domains    <- training, ecsw_tolerance
//     check      <- scene as above, places of the validation
#pragma once
#include "core/model.h"

typedef enum tdReducePhase
{
    TD_REDUCE_SNAPSHOTS,
    TD_REDUCE_SEARCH, // samples greedy
    TD_REDUCE_POD,
    TD_REDUCE_TRAINING,
    TD_REDUCE_ECSW,
    TD_REDUCE_MODES,
    TD_REDUCE_POLYNOMIALS,
    TD_REDUCE_CHECK,
    TD_REDUCE_PHASES
} tdReducePhase;

const char *td_reduce_phase_name(tdReducePhase phase);

typedef struct tdReduceTask
{
    const char *scene;                    ///< file
    const char *out;                      ///< file of the reduced model
    const char *body;                     ///< in the place of the scene's `reduction.body`; NULL: that one
    bool alone;                           ///< as if it were the only body, and nothing held or touched it (alone.h)
    const char *work;                     ///< folder of the work, which stays; NULL: `out`.work
    bool restart;                         ///< throw work away that lies there
    bool keep;                            ///< leave the work folder
    double pod_tolerance, ecsw_tolerance; ///< in the place of the scene's; 0: those
    double error;                         ///< likewise
    int max_modes;
    /// > 0: this process computes the share number `share`, from 1 on, of `shares` of the equilibria, and makes no
    /// model; others do the same in the same `work` at the same time, on any machine.
    int share, shares;
    bool merge;    ///< make the model from the equilibria that shares have left in `work`; what is missing is refused
    bool tsqr;     ///< modes of all snapshots at once, in blocks of rows (tsqr.h), in the place of one trajectory after
                   ///< another
    double memory; ///< [bytes] in the place of the scene's `reduction.memory`; 0: that
    bool accept;   ///< write a model whose held_out_error is above TD_REDUCE_ACCEPTED too
    /// Processes that were started together: rank 0 leads and writes the file, the others help it; all call td_reduce
    /// with the same task. NULL: this one alone.
    const struct tdCrew *crew;
    tdSettings settings;
    /// Told of progress, by one thread at a time; false: stop in order. May be NULL. total 0: not known.
    bool (*progress)(void *user, tdReducePhase phase, int64_t done, int64_t total);
    void *user;
} tdReduceTask;

#define TD_REDUCE_ACCEPTED   0.2 ///< error beside full order, relative, beyond which a model is of no use
#define TD_REDUCE_DOMAINS    2
#define TD_REDUCE_MOST_MODES 2000 // that a scene may ask for

typedef struct tdReduceDomain
{
    const char *name;
    int64_t elements, rid_elements, check_elements;
    double error, check_error; ///< of the training forces, on all rows
    const char *why;           ///< the error is larger than was asked for; NULL: it is not
} tdReduceDomain;

typedef struct tdReduceReport
{
    const char *kind;                 ///< "domains", "stvk"
    bool stopped;                     ///< by `progress`: no file was written, the work is kept
    bool resumed;                     ///< work of an earlier run was found
    int64_t reused[TD_REDUCE_PHASES]; ///< of it: equilibria, bases, elements, domains and second choices; 0: none
    int64_t trajectories, places;     ///< of full order: of this share, or of all
    double trajectory_seconds;        ///< that those took together, by whoever computed them,
    double longest_trajectory;        ///< and the longest of them: no number of processes does it all in less
    int64_t snapshots;                ///< at places of the samples,
    int64_t weight_snapshots;         ///< and before them, while gravity comes on,
    int64_t moving_snapshots;         ///< and moments of a motion
    int runs;                         ///< of the scene, with other numbers each
    int rounds;                       ///< of training with other settings, until the error asked for held
    double ecsw_tolerance;            ///< of the last of them
    double asked;                     ///< error that was asked for
    int64_t greedy_added;             ///< samples greedy: places that were added,
    double greedy_error;              ///< and the estimated error at the worst candidate then
    int64_t iterations;               ///< of Newton's method, in all of them
    int64_t failures;                 ///< places without an equilibrium
    char why[440];                    ///< the first of those,
    char cause[600];                  ///< why the model is far off; empty: it is not
    char advice[400];                 ///< ranges that would do; empty: not looked for
    int modes;
    double pod_error;
    int64_t elements, rid_elements; ///< of the body, of all domains
    double ecsw_error;              ///< largest of the domains
    int vibration_modes;            ///< of which modes were made; 0: of snapshots
    double frequency;               ///< [Hz] of the first
    double polynomial_bytes;        ///< of polynomials while they run; 0: none
    int n_domains;
    tdReduceDomain domains[TD_REDUCE_DOMAINS];
    int64_t held_out_places, held_out_failures;
    double held_out_error, held_out_worst; ///< relative: of all places together, of the worst; NAN: none
    int64_t motion_steps;                  ///< of a motion beside full order,
    double motion_error, motion_worst;     ///< and the same of them
    double seconds[TD_REDUCE_PHASES];      ///< earlier runs included, as far as they ended in order
    uint64_t content;                      ///< td_rom_hash
} tdReduceReport;

/// Does all of it, or a share. A stop is no error. Of several ranks all return the same status; the report is that of
/// rank 0.
tdStatus td_reduce(const tdReduceTask *task, tdReduceReport *report, tdError *error);
