// SPDX-License-Identifier: Apache-2.0
// What the benchmarks share.
#pragma once
#include "cli.h"

#define BENCH_MOST_RUNS 101

typedef struct spread
{
    double median, low, high;
} spread;

/// Sorts the values.
spread bench_spread(double *values, int n);
void bench_json_spread(tdJson *json, const char *key, spread s);

/// Processor time of this thread: what others take of the machine is not counted.
double bench_processor_seconds(void);

/// Steps of a model, each timed.
typedef struct benchSteps
{
    int threads; ///< one: processor time, else that of the clock
    int settle;  ///< steps before
    int steps, runs;
    const char *goals; ///< a table of goals that effectors follow by inverse control; NULL: by the scene's motion
} benchSteps;

typedef struct benchTimes
{
    double rate;                ///< steps a second, the median of runs
    double middle, late, worst; ///< of single steps [s], median, 99 % and most; of each step the quickest of all runs
    double points, passes;      ///< contact points that bear a force and iterations of the convex solver, means
} benchTimes;

tdStatus bench_time_steps(const tdModel *model, const benchSteps *how, benchTimes *out, tdError *error);

/// Energy, stress and tangent of one point, every law in each of its forms.
tdStatus bench_laws(int runs, bool print, tdJson *json, tdError *error);

/// The inverse problem of one linearization along a motion: each mode, warm and cold.
tdStatus bench_inverse(bool print, tdJson *json, tdError *error);

/// Inverse control beside exact contact: 12 actuators, 60 contacts with friction, along a motion.
tdStatus bench_qpcc(bool print, tdJson *json, tdError *error);
/// Robots along their paths by inverse control, one thread.
tdStatus bench_control(int runs, bool print, tdJson *json, tdError *error);
/// Force and stiffness of reduced St. Venant-Kirchhoff bodies from their polynomials; a plot where there is a folder.
tdStatus bench_stvk(int runs, const tdSettings *settings, const char *folder, bool print, tdJson *json, tdError *error);
/// Steps of a hyper-reduced arm; dense: rate of a dense product on one core [flop/s].
tdStatus bench_reduced(const tdSettings *settings, double dense, bool print, tdJson *json, tdError *error);
/// Writes such an arm as a scene and a reduced model: 12 x cells^3 cubes of six tetrahedra.
tdStatus bench_arm(const tdSettings *settings, int cells, const char *scene_path, const char *rom_path, tdError *error);
/// Such an arm of 72,000 tetrahedra by itself; *out is the caller's to free, whatever is returned.
tdStatus bench_arm_model(const tdSettings *settings, int modes, int elements, tdModel **out, tdError *error);
/// The viewer: steps a second with nobody, with one client and with a hundred that read nothing.
tdStatus bench_view(int runs, const tdSettings *settings, bool print, tdJson *json, tdError *error);
/// All contacts of a step, one thread and two.
tdStatus bench_collide(int runs, bool print, tdJson *json, tdError *error);
/// Scenes of S5's Table I beside its figures; plots where there is a folder.
tdStatus bench_contact(const tdSettings *settings, const char *folder, const char *only, bool print, tdJson *json,
                       tdError *error);
/// A soft sheet on a rough floor, one thread: time of a step against the number of points that touch.
tdStatus bench_sheet(int runs, bool print, tdJson *json, tdError *error);
/// Rigid bodies and robots, one thread: steps a second.
tdStatus bench_rigid(int runs, bool print, tdJson *json, tdError *error);

typedef struct benchRobots
{
    int runs, threads; ///< 0: one, two and all
    const char *only;  ///< rows whose scene or words contain it; NULL: all
    double dense;      ///< rate of a dense product on one core [flop/s]
} benchRobots;

/// Shipped robots at full order along their motion; growth from coarse to fine.
tdStatus bench_robots(const benchRobots *how, bool print, tdJson *json, tdError *error);
/// Asynchronous factors beside S3's figures, the force with them, and ticks of the haptic loop; a plot where there is a
/// folder.
tdStatus bench_haptic(const tdSettings *settings, const char *folder, bool print, tdJson *json, tdError *error);
/// Batches of reduced robots beside one robot alone; reduced models are kept in the folder, or made anew where it is
/// NULL.
tdStatus bench_batch(const char *folder, int runs, const tdSettings *settings, bool print, tdJson *json,
                     tdError *error);
/// Contact solvers: condensation of full-order bodies, towers and chains.
tdStatus bench_sap(int runs, int threads, bool print, tdJson *json, tdError *error);
