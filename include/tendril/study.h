// SPDX-License-Identifier: Apache-2.0
// Studies of a scene: comparison of reduced models with full order, the workspace of a robot, loads from measured
// shapes, materials from measured stresses; scenes that are built in code; pictures.
// The command-line program uses the same functions.
//
// Each study is one long call that returns an object with its results, to be freed by the caller. Progress is
// reported by one thread at a time: `progress` is called with the name of a phase, and returning false stops the study
// with the results so far. tdSettings.cancel ends it within a step. The scene is a file, or tdSettings.text.
#pragma once
#include "tendril/tendril.h"

#ifdef __cplusplus
extern "C"
{
#endif

    /// total 0: not known.
    typedef bool (*tdProgressFn)(void *user, const char *phase, int64_t done, int64_t total);

    /// For callers whose own cancel takes long, such as an interpreter's: td_cancel_rarely as tdSettings.cancel with
    /// this as cancel_user asks `cancel` from one thread only, and at most once in a period.
    typedef struct tdRarely
    {
        tdCancelFn cancel;
        void *user;
        double period;   ///< [s]
        uint64_t thread; ///< pthread_self() of the thread that is to ask
        double last;     ///< [s] when it was asked; starts at 0
    } tdRarely;

    bool td_cancel_rarely(void *rarely);

    // ---------------------------------------------------------------- models side by side

    typedef enum tdCompareKind
    {
        TD_COMPARE_FULL,    ///< the reference
        TD_COMPARE_REDUCED, ///< modes, all elements
        TD_COMPARE_HYPER,   ///< modes, few elements
        TD_COMPARE_SCENE    ///< another scene of full order: a coarser mesh
    } tdCompareKind;

#define TD_COMPARE_MODELS 24 ///< most at once

    /// Start from td_default_compare().
    typedef struct tdCompareSettings
    {
        const char *rom;    ///< reduced model of the scene; NULL: none
        const char *coarse; ///< another scene of the same robot; NULL: none
        int n_others;
        const char *const *others; ///< more reduced models (*.h5) and scenes
        bool no_whole;             ///< leave out the reduced model over all elements, which is slow
        int64_t steps;             ///< only the first; 0: all of the motion
        tdProgressFn progress;
        void *user;
    } tdCompareSettings;

    typedef struct tdComparison tdComparison;

    typedef struct tdComparisonInfo
    {
        const char *motion; ///< "the validation", "the scene's motion", "a random path"
        int64_t steps;      ///< that were compared
        double time_step;   ///< [s]
        int models;         ///< [0] is the reference
        int errors;         ///< of each model: one a probe, and the last of the whole shape
        bool stopped;       ///< by `progress` or cancel, before the end of the motion
    } tdComparisonInfo;

    /// One of the models.
    typedef struct tdComparedInfo
    {
        const char *name; ///< "hyper-reduced (34, 376)"
        const char *file; ///< scene, or reduced model
        tdCompareKind kind;
        int modes; ///< 0: full order
        int64_t elements, unknowns;
        int64_t steps;          ///< that it completed
        const tdError *failure; ///< why it did not complete more; NULL: it did
        int64_t worst_step;     ///< with the largest error of the shape, from 1; 0: not known
        double rate;            ///< steps a second on one thread: of the median step
        int64_t warnings;       ///< steps in which its indicator exceeded its limit
        double indicator, foretold,
            distance; ///< the most in any step, see tdReport.rom_indicator, rom_error, rom_distance
    } tdComparedInfo;

    tdCompareSettings td_default_compare(void);
    /// Full order, reduced models and other meshes of a scene on one motion: the scene's `validation`, else its own
    /// motion, else a random path over the actuators' ranges. Errors are distances from the full-order position of a
    /// point, relative to its largest displacement there. The same as `tendril compare`.
    tdStatus td_compare(const char *scene_path, const tdCompareSettings *what, const tdSettings *settings,
                        tdComparison **out, tdError *error);
    void td_comparison_free(tdComparison *comparison);
    tdComparisonInfo td_comparison_info(const tdComparison *comparison);
    tdComparedInfo td_comparison_model(const tdComparison *comparison, int model);
    /// Name of a probe, or "shape"; the largest displacement of the reference there [m].
    const char *td_comparison_error_name(const tdComparison *comparison, int error);
    double td_comparison_amplitude(const tdComparison *comparison, int error);
    /// Mean and largest relative error over the steps; NAN: not known. Either pointer may be NULL.
    void td_comparison_error(const tdComparison *comparison, int model, int error, double *mean, double *most);
    /// Distances [m] by step and error, steps x errors; and displacements of the probes [m], steps x probes x 3. As
    /// long as the object.
    const double *td_comparison_errors(const tdComparison *comparison, int model);
    const double *td_comparison_paths(const tdComparison *comparison, int model);
    /// errors.csv, paths.csv and pictures: shapes.png, error.png, rates.png, paths.png.
    tdStatus td_comparison_write(const tdComparison *comparison, const char *folder, tdError *error);
    /// A page (.html) with the table, plots and pictures.
    tdStatus td_comparison_report(const tdComparison *comparison, const char *path, tdError *error);

    // ---------------------------------------------------------------- batches from file to file

    /// Start from td_default_sweep().
    typedef struct tdSweepSettings
    {
        const char *inputs; ///< HDF5: `inputs` (robots, rows, n) with an attribute `names`, parameters/NAME (robots)
        const char *out;    ///< HDF5: outputs/NAME (robots, rows, numbers), `status` and `steps` (robots)
        int n_outputs;
        const char *const *outputs; ///< names (see tdOutputs); none: all probes, and what actuators do
        int hold;                   ///< steps that each row of inputs holds for; 1
        bool restart;               ///< discard what another job has left in out.work; else it is refused
        tdProgressFn progress;
        void *user;
    } tdSweepSettings;

    typedef struct tdSweep
    {
        bool stopped; ///< by `progress` or cancel: no file was written, and the same call resumes
        bool resumed; ///< work of an earlier call was found
        int64_t robots, rows, steps;
        int64_t failed; ///< robots that stopped; their rows are NaN from there on
        double seconds;
    } tdSweep;

    tdSweepSettings td_default_sweep(void);
    /// Rollouts of many robots from a file to a file, on all cores. Finished work is kept next to the output, so a
    /// job that was killed can be resumed; the file is the same, to the bit. The same as `tendril run --batch`. out
    /// NULL: not wanted.
    tdStatus td_sweep_run(const char *scene_path, const tdSweepSettings *what, const tdSettings *settings, tdSweep *out,
                          tdError *error);

    // ---------------------------------------------------------------- how well goals were followed

    /// What inverse control did, step by step: kept in memory, and in files as it goes.
    typedef struct tdTracking tdTracking;

    typedef struct tdTrackingInfo
    {
        int effectors; ///< that have a goal
        int64_t steps;
        int64_t out_of_reach, limited, blocked, stopped; ///< steps: out of reach; an active limit of an actuator;
                                                         ///< contact is in the way; the iteration limit was reached
        double solve[4], step[4]; ///< [s] of the inverse problem and of a step: 50, 90, 99 and 100 of a hundred
    } tdTrackingInfo;

    /// Distances from the goal, in the effector's unit. NAN: there is none.
    typedef struct tdTrackingError
    {
        int effector; ///< its number in the model; -1: there is no such one
        double mean, max, rms;
        int64_t settled; ///< the first step whose error is not above the median: the start is over
        double settled_mean, settled_max;
    } tdTrackingError;

    /// For the effectors that have a goal by now. With a folder (else NULL) it writes there, one row per step,
    ///
    ///   actuation.csv  effort and displacement of every actuator
    ///   tracking.csv   goal, value and error of effectors (and what was measured of them), residual, limits
    ///
    /// measured: what is measured is kept too. Model and control have to live as long.
    tdStatus td_tracking_create(const tdModel *model, tdControl *control, const char *folder, bool measured,
                                tdTracking **out, tdError *error);
    void td_tracking_free(tdTracking *tracking);
    /// Adds the step that was just taken, in `seconds`.
    tdStatus td_tracking_add(tdTracking *tracking, const tdState *state, double seconds, tdError *error);
    /// Closes the tables and draws tracking.png and actuation.png beside them.
    tdStatus td_tracking_finish(tdTracking *tracking, tdError *error);
    tdTrackingInfo td_tracking_info(const tdTracking *tracking);
    tdTrackingError td_tracking_error(const tdTracking *tracking, int k, bool measured);
    /// A page (.html) with paths, errors and what the actuators did. lead: its first sentence; NULL: none. early: the
    /// page says that the run ended early.
    tdStatus td_tracking_report(const tdTracking *tracking, const char *lead, bool early, const char *path,
                                tdError *error);

    // ---------------------------------------------------------------- what a robot can reach

    /// Start from td_default_workspace().
    typedef struct tdWorkspaceSettings
    {
        int64_t samples;      ///< number (200): the ends of all ranges, then points that fill them evenly
        int grid;             ///< > 0: this many values of every actuator instead, in all combinations
        const char *effector; ///< that pictures show; NULL: the first
        tdProgressFn progress;
        void *user;
    } tdWorkspaceSettings;

    typedef struct tdWorkspace tdWorkspace;

    typedef struct tdWorkspaceInfo
    {
        int axes;                ///< that can be set independently: actuators, or groups that share a motor
        int actuators;           ///< of the scene
        int values;              ///< of all effectors together, one after the other
        int64_t places;          ///< number of samples
        int64_t reached, failed; ///< with an equilibrium, without
        const tdError *failure;  ///< of the first sample without one; NULL: there is none
        bool stopped;            ///< before all samples were visited
        double seconds;
    } tdWorkspaceInfo;

    tdWorkspaceSettings td_default_workspace(void);
    /// Equilibria of a scene with its actuators set to samples across their ranges: what its effectors reach. A dynamic
    /// scene is treated as static; loads and prescribed motions act as at its end. Samples without an equilibrium
    /// are counted. The same as `tendril workspace`.
    tdStatus td_workspace_explore(const char *scene_path, const tdWorkspaceSettings *what, const tdSettings *settings,
                                  tdWorkspace **out, tdError *error);
    void td_workspace_free(tdWorkspace *workspace);
    tdWorkspaceInfo td_workspace_info(const tdWorkspace *workspace);
    /// The static model that was used: names and units of actuators and effectors. As long as the object.
    const tdModel *td_workspace_model(const tdWorkspace *workspace);
    const double *td_workspace_points(const tdWorkspace *workspace);  ///< reached x values
    const double *td_workspace_at_rest(const tdWorkspace *workspace); ///< values, at rest
    /// What each actuator was set to at a sample that was reached: `actuators` numbers; NAN: none of the axes.
    void td_workspace_actuation(const tdWorkspace *workspace, int64_t place, double *out);
    /// points.csv, points.vtu, workspace.png; failures.csv where there are any.
    tdStatus td_workspace_write(const tdWorkspace *workspace, const char *folder, tdError *error);

    // ---------------------------------------------------------------- loads from shapes

    /// Start from td_default_estimate().
    typedef struct tdEstimateSettings
    {
        const char *body;       ///< that the points are on; NULL: the only one
        const char *measured;   ///< CSV file: x0, y0, z0, x, y, z of each point; NULL: the arrays that follow
        int n;                  ///< points,
        const double *rest;     ///< 3 n: where they are on the body at rest [m],
        const double *position; ///< 3 n: and where they were measured [m]
        double noise;           ///< standard deviation of a measured coordinate [m]; NAN: from the residual
        tdProgressFn progress;
        void *user;
    } tdEstimateSettings;

    typedef struct tdLoads tdLoads;

    typedef struct tdLoadsInfo
    {
        int loads, points;
        double residual; ///< root of the mean square of the coordinates' errors [m]
        double sigma;    ///< of one coordinate [m]: given, or from the residual
        int equilibria;  ///< that were looked for
        double seconds;
    } tdLoadsInfo;

    typedef struct tdLoadInfo
    {
        const char *name; ///< of the actuator
        const char *unit; ///< "N", "Pa", ...
        double effort;
        double deviation; ///< standard deviation; infinite if the points do not determine it
        bool limited;     ///< a limit of the actuator is active
    } tdLoadInfo;

    tdEstimateSettings td_default_estimate(void);
    /// The efforts of all actuators of type force, cavity and cable that the scene's motion does not drive, such that
    /// points of a body come closest to their measured positions. The same as `tendril estimate`. TD_CANCELLED: stopped
    /// by `progress` or cancel.
    tdStatus td_loads_estimate(const char *scene_path, const tdEstimateSettings *what, const tdSettings *settings,
                               tdLoads **out, tdError *error);
    void td_loads_free(tdLoads *loads);
    tdLoadsInfo td_loads_info(const tdLoads *loads);
    tdLoadInfo td_loads_load(const tdLoads *loads, int load);
    const double *td_loads_fitted(const tdLoads *loads); ///< points x 3: where the model puts them [m]
    /// loads.csv and points.csv.
    tdStatus td_loads_write(const tdLoads *loads, const char *folder, tdError *error);

    // ---------------------------------------------------------------- materials from stresses

    /// Start from td_default_fits().
    typedef struct tdFitsSettings
    {
        const char *data;         ///< CSV file: mode, stretch (or strain, gamma), stress; NULL: the arrays that follow
        int n;                    ///< points,
        const char *const *modes; ///< n: "uniaxial", "biaxial", "planar", "shear"; NULL: all of `mode`
        const double *stretch;    ///< n; in shear the amount of shear
        const double *stress;     ///< n: nominal, force per undeformed area [Pa]
        const char *mode;         ///< of points that do not say; NULL: none
        const char *law;          ///< a law's name; NULL or "all": all that can be fitted
        int terms;                ///< of Ogden's law; 0: 2, or of all laws 1 to 3
        double poisson;           ///< compressible, with this Poisson's ratio at small strain; NAN: incompressible
        bool relative;            ///< errors relative to the stress: small strains count more
        tdProgressFn progress;
        void *user;
    } tdFitsSettings;

    typedef struct tdFits tdFits;

    /// One law, the best first: sorted by AIC.
    typedef struct tdFittedInfo
    {
        const char *name;      ///< "ogden, 2 terms"
        const char *law;       ///< as scenes have it
        int terms;             ///< of Ogden's; else 1
        const tdError *reason; ///< why it was not fitted; NULL: it was, and only then does the rest hold
        int parameters;
        double r2, rms, worst, aic; ///< of stresses; rms and worst [Pa]
        double young, poisson;      ///< at small strain [Pa]
        double volume_error;        ///< incompressible fits: how far `material` is from the fit at the points, relative
        bool converged;
        int iterations, remarks;
        const char *material; ///< for a scene: "law: ogden, terms: [...], poisson: 0.49"
    } tdFittedInfo;

    typedef struct tdFittedParameter
    {
        const char *name;
        bool modulus; ///< [Pa]; else a pure number
        double value;
        double half;   ///< half of the 95 % interval; NAN: at a bound, or not determined by the data
        bool at_bound; ///< the fit would go beyond what the law allows
    } tdFittedParameter;

    tdFitsSettings td_default_fits(void);
    /// Laws with their parameters by least squares, compared. The same as `tendril material fit`. TD_ERROR_NUMERIC,
    /// TD_ERROR_INPUT: no law could be fitted. TD_CANCELLED: stopped by `progress`.
    tdStatus td_fits_make(const tdFitsSettings *what, tdFits **out, tdError *error);
    void td_fits_free(tdFits *fits);
    int td_fits_points(const tdFits *fits);
    int td_fits_laws(const tdFits *fits);
    tdFittedInfo td_fits_law(const tdFits *fits, int law);
    tdFittedParameter td_fits_parameter(const tdFits *fits, int law, int parameter);
    const char *td_fits_remark(const tdFits *fits, int law, int remark);
    /// Stretches (amounts of shear) of a test between which a fitted law is stable; false: there is no such mode.
    bool td_fits_stable(const tdFits *fits, int law, const char *mode, double range[2]);
    /// Nominal stress [Pa] of a fitted law; NAN: it has no solution there, or there is no such mode.
    double td_fits_stress(const tdFits *fits, int law, const char *mode, double stretch);
    /// A picture (.png, .svg): points and curves.
    tdStatus td_fits_plot(const tdFits *fits, const char *path, tdError *error);

    // ---------------------------------------------------------------- pictures

    /// Start from td_default_picture().
    typedef struct tdPictureSettings
    {
        int width, height;      ///< [pixels]
        int supersample;        ///< samples along a pixel's side, 1 to 4
        double azimuth;         ///< [deg] of the viewer about the up axis
        double elevation;       ///< [deg] above the horizon
        double zoom;            ///< 1: all fits
        int up;                 ///< axis that points up: 0, 1, 2
        bool parallel;          ///< projection
        double opacity;         ///< of bodies; NAN: chosen so that what is in them can be seen
        const char *background; ///< "light", "white", "dark"
        const char *title;      ///< NULL: none
        bool marks;             ///< cables, cavities, effectors, targets, forces of contact
        bool probes, supports;  ///< marks of these too
        bool edges;             ///< of the mesh
        bool shadow, axes, key;
    } tdPictureSettings;

    tdPictureSettings td_default_picture(void);
    /// Draws a state without a display: rgb has 3 x width x height bytes, rows from the top. The same state gives the
    /// same bytes.
    tdStatus td_state_render(const tdModel *model, const tdState *state, const tdPictureSettings *what, uint8_t *rgb,
                             tdError *error);

    // ---------------------------------------------------------------- scenes in code

    /// A scene that is put together by calls. Values stand at paths of the keys that scene files have, "gravity",
    /// "bodies[0].material.young"; maps and lists on the way are created, and elements of lists are added in order.
    /// It is checked when it is used: with the parser's own tables and messages, whose `field` is the path.
    typedef struct tdBuild tdBuild;

    /// name: for messages, in the place of a file; folder: of files that the scene names, NULL: the current one.
    tdStatus td_build_create(const char *name, const char *folder, tdBuild **out, tdError *error);
    void td_build_free(tdBuild *build);
    /// A text, with a unit where it has one ("450 kPa"); a number or several in the scene's units; yes or no. An
    /// existing value is replaced.
    tdStatus td_build_text(tdBuild *build, const char *path, const char *text, tdError *error);
    tdStatus td_build_number(tdBuild *build, const char *path, double value, tdError *error);
    tdStatus td_build_numbers(tdBuild *build, const char *path, int64_t n, const double *values, tdError *error);
    tdStatus td_build_flag(tdBuild *build, const char *path, bool value, tdError *error);
    /// An empty map or list, for keys that take one.
    tdStatus td_build_map(tdBuild *build, const char *path, tdError *error);
    tdStatus td_build_list(tdBuild *build, const char *path, tdError *error);
    /// A value as a scene file has it: "{law: corotational, young: 450 kPa, poisson: 0.45}".
    tdStatus td_build_yaml(tdBuild *build, const char *path, const char *text, tdError *error);
    /// Removes a value, with everything below it. Elements of a list behind it move up.
    tdStatus td_build_remove(tdBuild *build, const char *path, tdError *error);
    int64_t td_build_count(const tdBuild *build, const char *path); ///< of elements or keys there; -1: there is nothing
    /// The scene as the text of a scene file, for tdSettings.text or to be written; as long as nothing changes.
    tdStatus td_build_scene(tdBuild *build, const char **text, tdError *error);
    /// The model.
    tdStatus td_build_model(tdBuild *build, const tdSettings *settings, tdModel **out, tdError *error);

#ifdef __cplusplus
}
#endif
