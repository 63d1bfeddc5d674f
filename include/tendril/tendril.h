// SPDX-License-Identifier: Apache-2.0
// Tendril: real-time simulation of soft robots and deformable bodies.
//
//   scene file --td_model_load--> tdModel (never changes) --td_state_create--> tdState (what changes)
//   td_step(model, state) advances the state by one time step.
//
// Everything is in SI units. Nothing here prints, exits or keeps globals. A function that can
// fail returns a tdStatus and, if the caller passes a tdError, says where, why and what to do.
// One model may be shared by many states in many threads; one state belongs to one thread at a time, and
// the model must outlive it. An index out of range, or a state with a model it was not made for, is a bug
// of the caller and ends in an assert.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

#define TD_VERSION_MAJOR  0
#define TD_VERSION_MINOR  1
#define TD_VERSION_PATCH  0
#define TD_VERSION_STRING "0.1.0"

    // ---------------------------------------------------------------- status and errors

    /// Outcome of a call. The values double as exit codes of the command-line program.
    typedef enum tdStatus
    {
        TD_OK = 0,
        TD_ERROR_USAGE = 2,   ///< the caller asked for something that makes no sense
        TD_ERROR_INPUT = 3,   ///< a file, scene or value is wrong; the message names it
        TD_ERROR_NUMERIC = 4, ///< the numbers failed; the last good state is kept
        TD_ERROR_MEMORY = 5,  ///< out of memory
        TD_ERROR_IO = 6       ///< the system refused to read or write
    } tdStatus;

    /// Where, why and what to do. Empty strings and line 0 mean "does not apply".
    typedef struct tdError
    {
        tdStatus status;
        int line;          ///< line in the file, from 1; 0 if none
        char file[256];    ///< file the problem is in
        char field[128];   ///< field, e.g. "bodies[0].material.young"
        char message[640]; ///< reason and way out, one paragraph, no newline at the end
    } tdError;

    /// Short name of a status, e.g. "bad input".
    const char *td_status_name(tdStatus status);
    /// Writes "file:line: field: message" as far as the parts exist. Returns the length written.
    int td_error_format(const tdError *error, char *buffer, size_t size);
    /// Version of the library that runs, "major.minor.patch".
    const char *td_version(void);

    // ---------------------------------------------------------------- settings

    typedef enum tdLogLevel
    {
        TD_LOG_DEBUG,
        TD_LOG_INFO,
        TD_LOG_WARNING
    } tdLogLevel;

    typedef void (*tdLogFn)(void *user, tdLogLevel level, const char *message);

    /// How to run. Start from td_default_settings().
    typedef struct tdSettings
    {
        int threads;      ///< worker threads of a state; 0 = all cores. Results are the same bits for any number.
        bool portable;    ///< use the portable kernels even where AVX2 is available
        tdLogFn log;      ///< receives messages; NULL = silent
        void *log_user;   ///< handed to log
        tdLogLevel level; ///< least level that is handed to log
    } tdSettings;

    tdSettings td_default_settings(void);

    // ---------------------------------------------------------------- model

    typedef struct tdModel tdModel;
    typedef struct tdState tdState;

    /// Reads a scene file, checks it and compiles it. Warnings (mesh quality, ...) go to the log.
    tdStatus td_model_load(const char *scene_path, const tdSettings *settings, tdModel **out, tdError *error);
    /// The same from text in memory. `name` stands for the file in messages; relative paths of
    /// meshes are taken from `folder` (NULL = current).
    tdStatus td_model_parse(const char *text, size_t length, const char *name, const char *folder,
                            const tdSettings *settings, tdModel **out, tdError *error);
    void td_model_free(tdModel *model);

    int td_model_bodies(const tdModel *model);                      ///< number of bodies
    const char *td_model_body_name(const tdModel *model, int body); ///< name given in the scene
    int td_model_body_nodes(const tdModel *model, int body);        ///< number of nodes
    int td_model_body_elements(const tdModel *model, int body);     ///< number of elements
    int64_t td_model_dofs(const tdModel *model);                    ///< free coordinates of all bodies
    double td_model_time_step(const tdModel *model);                ///< [s]
    int td_model_steps(const tdModel *model);                       ///< steps the scene asks for
    int td_model_probes(const tdModel *model);                      ///< number of probes
    const char *td_model_probe_name(const tdModel *model, int probe);
    /// Index of a named input (a load or a prescribed motion), or -1.
    int td_model_find_input(const tdModel *model, const char *name);

    // ---------------------------------------------------------------- state

    tdStatus td_state_create(const tdModel *model, const tdSettings *settings, tdState **out, tdError *error);
    void td_state_free(tdState *state);

    /// Advances by one time step (or to the next equilibrium in a static scene). On failure the
    /// state is what it was before the call and td_state_report() says what happened and where.
    tdStatus td_step(const tdModel *model, tdState *state);

    double td_state_time(const tdState *state);   ///< [s]
    int64_t td_state_steps(const tdState *state); ///< steps taken
    /// Positions of a body's nodes [m], x0 y0 z0 x1 ...; valid until the next call that changes the state.
    const double *td_state_positions(const tdModel *model, const tdState *state, int body);
    const double *td_state_velocities(const tdModel *model, const tdState *state, int body); ///< [m/s]
    /// Position of a probe [m].
    void td_state_probe(const tdModel *model, const tdState *state, int probe, double position[3]);
    /// Sum of the forces [N] that fixed and prescribed nodes of a body exert on it.
    void td_state_reaction(const tdModel *model, const tdState *state, int body, double force[3]);
    /// Overrides a named input from now on; NAN hands it back to the scene's motion.
    tdStatus td_state_set_input(const tdModel *model, tdState *state, int input, double value);

    /// Stages of a step, in order.
    typedef enum tdStage
    {
        TD_STAGE_LATCH,
        TD_STAGE_KINEMATICS,
        TD_STAGE_FORCES,
        TD_STAGE_FREE,
        TD_STAGE_CONSTRAIN,
        TD_STAGE_SOLVE,
        TD_STAGE_INTEGRATE,
        TD_STAGE_PUBLISH,
        TD_STAGES
    } tdStage;

    const char *td_stage_name(tdStage stage);

    /// What the last step did.
    typedef struct tdReport
    {
        tdStatus status;        ///< of the last step
        tdError error;          ///< filled when status is not TD_OK
        int newton_iterations;  ///< linearizations made in the step
        int line_search_steps;  ///< shortened Newton steps
        int load_steps;         ///< static: increments used
        int load_cuts;          ///< static: increments that failed and were retried smaller
        int cg_iterations;      ///< conjugate-gradient iterations
        int factorizations;     ///< sparse factorizations made
        int projected_elements; ///< tangents made positive semi-definite, over all linearizations
        int inverted_elements;  ///< elements with a non-positive volume where forces were last evaluated
        int extended_elements;  ///< so compressed (to a tenth) that their hyperelastic law is continued by a polynomial
        double residual;        ///< relative residual of the momentum balance that the step solved
        double stage_seconds[TD_STAGES];
    } tdReport;

    const tdReport *td_state_report(const tdState *state);
    /// Kinetic and elastic energy [J] at the present positions and velocities. Either may be NULL.
    void td_state_energy(const tdModel *model, tdState *state, double *kinetic, double *elastic);

    /// Writes all that the state holds, so that a run continues bit for bit. Appears by atomic rename.
    tdStatus td_state_save(const tdModel *model, const tdState *state, const char *path, tdError *error);
    /// Reads it back. A file made from another scene is refused with the reason.
    tdStatus td_state_load(const tdModel *model, tdState *state, const char *path, tdError *error);

#ifdef __cplusplus
}
#endif
