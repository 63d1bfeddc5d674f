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
// of the caller and ends in an assert. Studies of scenes (compare, workspace, fits) are in tendril/study.h.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C"
{
#endif

#define TD_VERSION_MAJOR  0
#define TD_VERSION_MINOR  2
#define TD_VERSION_PATCH  0
#define TD_VERSION_STRING "0.2.0"

    // ---------------------------------------------------------------- status and errors

    /// Outcome of a call. The values double as exit codes of the command-line program.
    typedef enum tdStatus
    {
        TD_OK = 0,
        TD_ERROR_USAGE = 2,   ///< the caller requested something invalid
        TD_ERROR_INPUT = 3,   ///< a file, scene or value is invalid; the message names it
        TD_ERROR_NUMERIC = 4, ///< numerical failure; the last good state is kept
        TD_ERROR_MEMORY = 5,  ///< out of memory
        TD_ERROR_IO = 6,      ///< the system refused to read or write
        TD_CANCELLED = 130    ///< the caller's tdSettings.cancel ended it; nothing changed
    } tdStatus;

    /// Where, why and what to do. Empty strings and line 0 mean "does not apply".
    typedef struct tdError
    {
        tdStatus status;
        int line;          ///< line in the file, from 1; 0 if none
        char file[256];    ///< file the problem is in
        char field[128];   ///< field, e.g. "bodies[0].material.young"
        char message[640]; ///< reason and remedy, one paragraph, no newline at the end
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
    typedef bool (*tdCancelFn)(void *user);

    /// Precision of the products that make the tangent of a reduced body. Forces are always in double precision, so
    /// that equilibria are the same; a tangent in single precision takes half the time.
    typedef enum tdRomPrecision
    {
        TD_ROM_AUTO,   ///< single where `tendril reduce` has measured that it moves the body by less than 1e-5
        TD_ROM_SINGLE, ///< single
        TD_ROM_DOUBLE  ///< double
    } tdRomPrecision;

    typedef enum tdBatchDevice
    {
        TD_DEVICE_CPU,
        /// By a back end that is found at run time (docs/gpu.md). There rom_precision selects how tangents are
        /// computed: TD_ROM_AUTO as good as single precision, TD_ROM_SINGLE in one pass of half precision, faster,
        /// TD_ROM_DOUBLE in single precision without tensor cores.
        TD_DEVICE_GPU
    } tdBatchDevice;

    /// How to run. Start from td_default_settings().
    typedef struct tdSettings
    {
        int threads;     ///< worker threads of a state; 0 = all cores. Results are the same bits for any number.
        bool portable;   ///< use the portable kernels even where AVX2 is available
        const char *rom; ///< reduced model (made by `tendril reduce`) of the scene's body; NULL: full order
        bool rom_whole;  ///< with it: integrate over all elements instead of the reduced domain
        tdRomPrecision rom_precision; ///< with it: of the tangent on the reduced domain
        const char *packages;         ///< what package://NAME/... of robots means: "NAME=FOLDER:FOLDER:...", folders of
                              ///< packages by name, and folders that hold packages (as ROS_PACKAGE_PATH); NULL: only in
                              ///< and above the robot's own folder
        tdLogFn log;       ///< receives messages; NULL = silent
        void *log_user;    ///< passed to log
        tdLogLevel level;  ///< lowest level that is passed to log
        tdCancelFn cancel; ///< called repeatedly within a step, some hundred times a second if it takes long, by
                           ///< any thread that computes (read a flag, no more): true ends the step with TD_CANCELLED
                           ///< and the state as it was before it; NULL = never
        void *cancel_user; ///< passed to cancel
        bool full_order;   ///< ignore the reduced models that the scene names (bodies[].rom)
        const char *text;  ///< the scene itself, instead of its file: what takes the path of a scene reads this,
                           ///< and the path is its name in messages and says where files are that it names; NULL: the
                           ///< file
        tdBatchDevice device; ///< of a batch; states are on the CPU
        const char *gpu;      ///< file of the GPU back end; NULL: libtendril_gpu.so next to this library, or where the
                              ///< system looks for libraries
        const char *set; ///< changes of the scene, lines of PATH=VALUE such as "bodies[finger].material.young=500 kPa";
                         ///< entries of lists by number from 0 or by name; NULL: none
    } tdSettings;

    tdSettings td_default_settings(void);

    // ---------------------------------------------------------------- model

    typedef struct tdModel tdModel;
    typedef struct tdState tdState;

    /// Reads a scene file, checks it and compiles it. Warnings (mesh quality, ...) go to the log.
    tdStatus td_model_load(const char *scene_path, const tdSettings *settings, tdModel **out, tdError *error);
    /// The same from text in memory. `name` is the file in messages; relative paths of
    /// meshes are relative to `folder` (NULL = current).
    tdStatus td_model_parse(const char *text, size_t length, const char *name, const char *folder,
                            const tdSettings *settings, tdModel **out, tdError *error);
    void td_model_free(tdModel *model);

    int td_model_bodies(const tdModel *model);                      ///< number of bodies
    const char *td_model_body_name(const tdModel *model, int body); ///< name given in the scene
    int td_model_body_nodes(const tdModel *model, int body);        ///< number of nodes
    int td_model_body_elements(const tdModel *model, int body);     ///< number of elements
    int64_t td_model_dofs(const tdModel *model);                    ///< free coordinates of all bodies
    double td_model_time_step(const tdModel *model);                ///< [s]
    int td_model_steps(const tdModel *model);                       ///< steps of the scene
    int td_model_frames_every(const tdModel *model);                ///< steps between its frames; 0: none
    int td_model_checkpoint_every(const tdModel *model);            ///< steps between its checkpoints; 0: none
    int td_model_probes(const tdModel *model);                      ///< number of probes
    const char *td_model_probe_name(const tdModel *model, int probe);
    /// Inputs: numbers that drive loads, prescribed motions, actuators and tools, by the scene's motion or by
    /// td_state_set_input.
    int td_model_inputs(const tdModel *model);
    const char *td_model_input_name(const tdModel *model, int input);
    /// Index of a named input, or -1.
    int td_model_find_input(const tdModel *model, const char *name);
    int td_model_find_body(const tdModel *model, const char *name);     ///< -1 if none
    int td_model_find_probe(const tdModel *model, const char *name);    ///< -1 if none
    int td_model_find_actuator(const tdModel *model, const char *name); ///< -1 if none

    /// How a body's motion is described: "soft" (3 coordinates a node), "reduced" (amplitudes of modes, then the
    /// frame's position and rotation vector where it has one), "articulated" (joint coordinates).
    const char *td_model_body_kind(const tdModel *model, int body);
    int64_t td_model_body_coords(const tdModel *model, int body); ///< number of coordinates
    int td_model_body_turns(const tdModel *model, int body);   ///< numbers of its reference rotations, 4 each; mostly 0
    double td_model_body_mass(const tdModel *model, int body); ///< [kg]; 0: nothing of it moves by itself
    /// Nodes of a body at rest [m], x0 y0 z0 x1 ...; as long as the model.
    const double *td_model_body_rest(const tdModel *model, int body);
    /// Triangles of its surface, three nodes each, outward; returns how many.
    int64_t td_model_body_triangles(const tdModel *model, int body, const int32_t **triangles);

    /// A joint of an articulated body that has one coordinate.
    typedef struct tdJointInfo
    {
        const char *name;
        const char *link; ///< that it carries
        bool slides;      ///< position in [m]; else in [rad]
        double start;     ///< position at the start
    } tdJointInfo;

    int td_model_joints(const tdModel *model, int body); ///< 0 of bodies that are not articulated
    tdJointInfo td_model_joint(const tdModel *model, int body, int joint);

    /// An actuator of the scene. Its input (td_state_set_input) has its name: an effort or a displacement, as `drive`
    /// says. Effort times change of displacement is work done on the body.
    typedef struct tdActuatorInfo
    {
        const char *name;
        const char *kind;              ///< "cable", "cavity", "force", "translation", "rotation"
        const char *drive;             ///< "effort", "displacement", "gas"
        const char *effort_unit;       ///< "N", "Pa", "N m"
        const char *displacement_unit; ///< "m", "m^3", "rad"
        int input;                     ///< index of its input
        bool driven;                   ///< by the scene's motion; else free for inverse control
        double effort[2];              ///< least and most, infinite where unlimited
        double displacement[2];        ///< from the shape at rest
        double gas[2];                 ///< of drive "gas": volume pumped in, at ambient pressure [m^3]
        double effort_rate;            ///< largest change per second
        double displacement_rate;
        int tool; ///< that commands it as long as its input is not set by td_state_set_input; -1: none
    } tdActuatorInfo;

    int td_model_actuators(const tdModel *model); ///< number of actuators
    tdActuatorInfo td_model_actuator(const tdModel *model, int actuator);

    /// What inverse control brings to a target.
    typedef struct tdEffectorInfo
    {
        const char *name;
        const char *kind; ///< "position", "orientation", "direction", "volume", "length"
        const char *unit; ///< "m", "rad", "", "m^3"
        int rows;         ///< numbers in its value and target: 3, or 1
    } tdEffectorInfo;

    int td_model_effectors(const tdModel *model); ///< number of effectors
    tdEffectorInfo td_model_effector(const tdModel *model, int effector);
    bool td_model_effector_has_target(const tdModel *model, int effector); ///< whether the scene gives it one
    int td_model_find_effector(const tdModel *model, const char *name);    ///< -1 if none
    double td_model_size(const tdModel *model);                            ///< largest extent of a body at rest [m]

    /// A point on a link that follows a target pose by differential inverse kinematics: in each step the commands of
    /// the position servos of its joints move so that the link, with its joints where they are commanded to, comes
    /// nearest to the target; within limits of positions and rates, damped where it is singular.
    ///
    /// Six inputs give the target as an offset from the pose at the start, along the world's axes: NAME.x, NAME.y,
    /// NAME.z [m] and the rotation vector NAME.rx, NAME.ry, NAME.rz [rad]. The scene's motion drives them, or
    /// td_state_set_input; td_state_drive_tool takes over from both.
    typedef struct tdToolInfo
    {
        const char *name;
        int body;         ///< articulated
        const char *link; ///< that it is on
        int input;        ///< of NAME.x; those of y, z, rx, ry, rz follow
        int joints;       ///< servos that it commands: the actuators whose `tool` it is
        double length;    ///< of the links from its first joint to its point [m]: the size of what it can reach
        double speed;     ///< most of its point [m/s]; infinite: only joints limit it
        double turning;   ///< most of its link [rad/s]
    } tdToolInfo;

    int td_model_tools(const tdModel *model); ///< number of tools
    tdToolInfo td_model_tool(const tdModel *model, int tool);
    int td_model_find_tool(const tdModel *model, const char *name); ///< -1 if none

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
    /// Sum of the forces [N] that fixed and prescribed nodes of a body, or a base that does not move, exert on it; of
    /// links the mean over the last step, NaN before one. NaN for a reduced body that is held: its supports are in no
    /// mode.
    void td_state_reaction(const tdModel *model, const tdState *state, int body, double force[3]);
    /// Overrides a named input from now on; NAN hands it back to the scene's motion.
    tdStatus td_state_set_input(const tdModel *model, tdState *state, int input, double value);

    /// What an actuator does at the present state. Bounds: -1 at the lower, 1 at the upper, else 0.
    typedef struct tdActuation
    {
        double effort, displacement;
        int effort_bound, displacement_bound;
    } tdActuation;
    tdActuation td_state_actuation(const tdModel *model, const tdState *state, int actuator);

    /// Value of an effector (3 numbers, or 1): position, rotation vector since rest, direction, volume or length.
    void td_state_effector(const tdModel *model, const tdState *state, int effector, double value[3]);
    /// Its target in force at the last step; false when it has none.
    bool td_state_target(const tdModel *model, const tdState *state, int effector, double target[3]);
    /// Gives an effector a target from now on; NULL hands it back to the scene. While any effector has a target,
    /// inverse control determines every actuator that neither the scene's motion nor td_state_set_input drives.
    /// TD_ERROR_USAGE: no such effector, a number that is not finite, or an integrator that does not damp (midpoint,
    /// undamped newmark, symplectic), with which efforts would oscillate from step to step.
    tdStatus td_state_set_target(const tdModel *model, tdState *state, int effector, const double *target);

    /// Where a tool is. Rotations are matrices, by rows, of the link's axes; vectors are along the world's axes.
    typedef struct tdToolState
    {
        bool driven;                            ///< by td_state_drive_tool; else by its inputs
        double twist[6];                        ///< then: [m/s], [rad/s]
        double target[3], target_rotation[9];   ///< where it should be
        double command[3], command_rotation[9]; ///< where it would be with all joints where they are commanded to
        double position[3], rotation[9];        ///< where it is
        double error[6];                        ///< from there to the target [m], rotation vector [rad]
        double miss[6];                         ///< from the command to the target: on its way, or out of reach
        int at_limits;                          ///< joints whose command is at an end of their range
    } tdToolState;

    tdToolState td_state_tool(const tdModel *model, const tdState *state, int tool);
    /// Moves the target of a tool at a velocity from now on: along [m/s] and about [rad/s] the world's axes, from where
    /// the target is; it does not move ahead of a tool that cannot follow. Zeros hold it. NULL hands the tool back to
    /// its inputs, to whose target it goes within its limits. Part of checkpoints. TD_ERROR_USAGE: no such tool, or a
    /// number that is not finite.
    tdStatus td_state_drive_tool(const tdModel *model, tdState *state, int tool, const double twist[6]);

    /// A spring from a material point of a body to a point in space, as a hand would pull: its force on the body is
    /// stiffness (anchor - point), implicit where the integrator is. The point is a weighted mean of nodes that belong
    /// to one element or one link, such as the corners of a triangle of the surface.
    typedef struct tdSpring
    {
        int body;
        int32_t nodes[3];
        double weights[3]; ///< not negative, sum 1
        double anchor[3];  ///< [m]
        double stiffness;  ///< [N/m], above zero
    } tdSpring;

#define TD_SPRINGS 8 ///< of a state

    /// Ties spring number `spring` from now on; NULL unties it. Part of checkpoints. TD_ERROR_USAGE: an invalid
    /// number, nodes that share no element and no link, or a body that cannot move.
    tdStatus td_state_set_spring(const tdModel *model, tdState *state, int spring, const tdSpring *given);
    /// Where its point is now and the force on the body; false when it is not tied.
    bool td_state_spring(const tdModel *model, const tdState *state, int spring, double point[3], double force[3]);

    /// Stages of a step, in order.
    typedef enum tdStage
    {
        TD_STAGE_LATCH,
        TD_STAGE_COLLIDE, ///< geometry of contact
        TD_STAGE_KINEMATICS,
        TD_STAGE_FORCES,
        TD_STAGE_CONSTRAIN,
        TD_STAGE_FREE,
        TD_STAGE_SOLVE,
        TD_STAGE_INTEGRATE,
        TD_STAGE_PUBLISH,
        TD_STAGES
    } tdStage;

    const char *td_stage_name(tdStage stage);

    /// What is doubtful about a step that was accepted.
    typedef enum tdDoubt
    {
        TD_DOUBT_ENERGY = 1,        ///< a body has gained more than 5 % of its energy without a source
        TD_DOUBT_LINEARIZATION = 2, ///< one linearization does not describe how a body moved
        TD_DOUBT_INVERSION = 4,     ///< elements have been inverted for more than ten steps
        TD_DOUBT_PENETRATION = 8,   ///< bodies are deeper inside each other than a tenth of the smaller one
        TD_DOUBT_TUNNELLING = 16,   ///< bodies may have passed through each other within a step
        TD_DOUBT_EJECTION = 32,     ///< deep contact pushed bodies apart with energy that has no source
        TD_DOUBT_LAW = 64,          ///< a body of the linear law has turned or stretched farther than it describes
        TD_DOUBT_SPIN = 128, ///< a body that nothing holds has lost more than 5 % of its spin to the error of steps
        TD_DOUBT_TORN = 256  ///< rigid attachments or rods are off by more than a tenth of the scene's size
    } tdDoubt;

    /// Short name of one, e.g. "energy from nothing".
    const char *td_doubt_name(tdDoubt doubt);

    /// How inverse control ended in a step.
    typedef enum tdInverseEnd
    {
        TD_INVERSE_OPTIMAL, ///< targets are reached, to control.tolerance; without contact also: no efforts within the
                            ///< limits come nearer
        TD_INVERSE_STATIONARY, ///< they are not, and no small change of the efforts comes nearer
        TD_INVERSE_STALLED,    ///< the iteration limit was reached before either
        TD_INVERSE_INFEASIBLE  ///< limits contradict each other; they are violated as little as possible
    } tdInverseEnd;

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
        double constraint_error; ///< largest miss of a driven displacement, relative to the actuator's size
        bool inverse;            ///< inverse control was active; what follows is its last linearization
        int inverse_iterations;  ///< of its solver, over all linearizations
        bool inverse_limit;      ///< the solver reached its iteration limit
        bool out_of_reach;       ///< some target cannot be reached within the bounds, to control.tolerance
        double inverse_residual; ///< weighted distance of the effectors from their targets [m, rad, ...]
        double bound_violation;  ///< limits that contradict each other are violated by this much, relative to sizes
        int active_bounds;       ///< limits of actuators that are active
        double inverse_seconds;  ///< spent in its solver
        double
            inverse_optimality;   ///< largest violation of its optimality conditions, each scaled to 1; with contact: 0
        tdInverseEnd inverse_end; ///< how it ended
        int inverse_steps;        ///< with contact: efforts that were tried, over all linearizations
        bool contact_blocks;  ///< a target is out of reach because of contact: without it the step would come nearer
        int blocking_body[2]; ///< whose contact does most against it; of no meaning where none blocks
        double blocking_point[3]; ///< where that contact is [m]
        // Reduced bodies; zero where there is none. What calibration found is in the file of the reduced model.
        double rom_indicator; ///< disagreement of two independent sets of elements: the displacement that their forces
                              ///< would answer for, relative to the largest in training
        double rom_error; ///< what calibration makes of it: an upper estimate of the relative error of displacements;
                          ///< as long as there is no warning
        double rom_distance; ///< part of the shape outside training, relative to the largest shape there; for dead
                             ///< loads their ranges there, 1 for one that was not part of training
        double rom_local;    ///< relative error of contact and spring forces, because the local compliance is not
                             ///< that of full order; above 0.1 there is a warning
        bool rom_warning;    ///< one of them exceeds its limit: the reduced model is not reliable here
        // Contact; zero where there is none.
        int contacts;        ///< points that were tracked
        int constraints;     ///< of the convex problem: these points, attachments, driven actuators, limits of joints
        int contacts_active; ///< of these, the ones that carry a force
        int asleep;          ///< bodies that slept (contact: {sleep: ...})
        int contact_iterations;   ///< of the convex solver, the most of an island, over all linearizations
        double contact_residual;  ///< relative residual that it left
        bool contact_limit;       ///< it reached its iteration limit
        double penetration;       ///< deepest of the points that carry a force, at the end of the step [m]
        double penetration_ratio; ///< largest, relative to the smaller of the two bodies or links (largest extent of
                                  ///< what collides, at rest)
        int penetration_body[2];  ///< whose that one is; of no meaning where it is 0
        double penetration_found; ///< the same at the start of the step: what the one before actually left
        int penetration_found_body[2];
        int tunnelled; ///< pairs of bodies or links that may have passed through each other in the step, undetected
        double attachment_error; ///< largest error of rigid attachments and couplings, relative to the scene's size
        // What was checked before the step was accepted; zero in static scenes.
        double energy;      ///< kinetic and elastic, of all bodies, at its end [J]
        double work;        ///< done on them in the step: by weight, loads, actuators, supports, contact [J]
        double dissipated;  ///< the part neither kinetic nor stored [J]: damping, relaxation, and the integrator's
                            ///< own; static: not known, 0
        double energy_gain; ///< largest gain of a body without a source, relative to its gain by work
        double linearization_error; ///< share of the work of internal forces that one linearization missed; 0: Newton
        int retries;                ///< attempts that were undone: one linearization failed
        unsigned doubts;            ///< tdDoubt, a bit each
        int doubt_body;             ///< the first body that they are about
        double stage_seconds[TD_STAGES];
    } tdReport;

    const tdReport *td_state_report(const tdState *state);

    /// A point of contact of the last step. Side 0 is pushed against the normal, side 1 along it.
    typedef struct tdContactPoint
    {
        int body[2];
        int link[2];  ///< of rigid and articulated bodies; -1: soft
        uint64_t key; ///< the same from step to step while the same features touch
        double position[3], normal[3];
        double distance;  ///< at the start of the step [m]; negative: they penetrate
        double force[3];  ///< on side 1 [N], mean over the step
        double slip[3];   ///< velocity of side 1 against side 0 at its end, without the part along the normal [m/s]
        double torque[3]; ///< on side 1, of torsional and rolling friction [N m], mean over the step
    } tdContactPoint;

    /// Points of the last step, valid until the next; returns how many. Points that were tracked without touching have
    /// no force.
    int64_t td_state_contacts(const tdState *state, const tdContactPoint **points);
    /// Sum of the contact forces [N] on body b by body a in the last step.
    void td_state_contact_force(const tdState *state, int a, int b, double force[3]);
    /// The same with their torque [N m] about a place in space.
    void td_state_contact_wrench(const tdState *state, int a, int b, const double about[3], double force[3],
                                 double torque[3]);

    /// Links of a rigid or articulated body, from 0; a soft body has none.
    int td_model_links(const tdModel *model, int body);
    const char *td_model_link_name(const tdModel *model, int body, int link); ///< NULL: none
    int td_model_find_link(const tdModel *model, int body, const char *name); ///< -1 if none

    /// All points between two links, of two bodies or of one; a soft body counts as one link, -1. Side 0 is that of the
    /// earlier body of the scene or, within a body, of the earlier link. What is squeezed between two fingers of one
    /// hand has a sum with each.
    typedef struct tdContactSum
    {
        int body[2];
        int link[2];        ///< -1: soft
        int points;         ///< that carry a force
        double position[3]; ///< their mean, each by the size of its force [m]
        double force[3];    ///< on side 1 [N], mean over the last step
        double torque[3];   ///< on side 1, about the position [N m]
        double pressing;    ///< sum of the sizes of forces along normals [N]
        double weight;      ///< sum of the sizes of forces [N]
    } tdContactSum;

    /// Of all pairs that bear a force in the last step, ordered by their sides, valid until the next; returns how many.
    int64_t td_state_contact_sums(const tdState *state, const tdContactSum **sums);
    /// What all contacts together do to a link (of a soft body: -1) in the last step: force [N] and torque [N m] about
    /// a place in space.
    void td_state_link_wrench(const tdState *state, int body, int link, const double about[3], double force[3],
                              double torque[3]);

    /// Attachments of the scene, in its order.
    int td_model_attachments(const tdModel *model);
    const char *td_model_attachment_name(const tdModel *model, int attachment); ///< NULL: none
    /// Force [N] on side a of an attachment, averaged over the last step, and its torque [N m] about `point`
    /// [m], the mean of the present positions of a's points. torque and point may be NULL. Zero without a step.
    void td_state_attachment_force(const tdState *state, int attachment, double force[3], double torque[3],
                                   double point[3]);
    /// Couplings of the scene, in its order.
    int td_model_couplings(const tdModel *model);
    const char *td_model_coupling_name(const tdModel *model, int coupling); ///< NULL: none
    /// Effort of a coupling, averaged over the last step. A rod: the force [N] with which it pushes its ends apart.
    /// Joints: each feels this times its factor; [N m], or [N] where the first joint slides.
    double td_state_coupling_effort(const tdState *state, int coupling);

    // Dynamics of a rigid or articulated body at the present positions and velocities, over its coordinates: joints in
    // the order of its file, of a free root position and rotation first. Nothing changes; TD_ERROR_USAGE: a soft body.
    //
    //     M dv/dt + bias = efforts of drives - damping - friction + J' forces from outside
    //
    /// Mass matrix, n x n, with the inertia of motors.
    tdStatus td_state_mass_matrix(const tdModel *model, const tdState *state, int body, double *M);
    /// Coriolis, gyroscopic and centrifugal forces less gravity, n numbers.
    tdStatus td_state_bias_forces(const tdModel *model, const tdState *state, int body, double *bias);
    /// Efforts that hold the body at rest against gravity, n numbers: bias forces at velocity zero.
    tdStatus td_state_gravity_compensation(const tdModel *model, const tdState *state, int body, double *efforts);
    /// Efforts that give it these accelerations (n numbers each; NULL: none), M dv/dt + bias.
    tdStatus td_state_inverse_dynamics(const tdModel *model, const tdState *state, int body,
                                       const double *accelerations, double *efforts);
    /// What the drives of a joint exerted on it in the last step, all of them together, springs among them [N m, N].
    /// joint: among those with one coordinate, in the order of the file.
    double td_state_joint_effort(const tdModel *model, const tdState *state, int body, int joint);

#define TD_SENSOR_VALUES 6 ///< of a sensor, at most

    /// A sensor of the scene: force_torque, touch, inertial or joint.
    typedef struct tdSensorInfo
    {
        const char *name, *kind;
        int body, link; ///< -1: none
        int values;
        const char *columns[TD_SENSOR_VALUES]; ///< "force_x", ...
        const char *units[TD_SENSOR_VALUES];   ///< "N", ...; "": none
    } tdSensorInfo;

    int td_model_sensors(const tdModel *model); ///< number of sensors
    tdSensorInfo td_model_sensor(const tdModel *model, int sensor);
    int td_model_find_sensor(const tdModel *model, const char *name); ///< -1 if none
    /// What it measured, averaged over the last step; NAN before the first. Returns how many values there are.
    int td_state_sensor(const tdModel *model, const tdState *state, int sensor, double values[TD_SENSOR_VALUES]);

    /// Kinetic and elastic energy [J] at the present positions and velocities. Either may be NULL.
    void td_state_energy(const tdModel *model, tdState *state, double *kinetic, double *elastic);

    /// Writes all that the state holds, so that a run continues bit for bit. Appears by atomic rename.
    tdStatus td_state_save(const tdModel *model, const tdState *state, const char *path, tdError *error);
    /// Reads it back. A file made from another scene is refused with the reason.
    tdStatus td_state_load(const tdModel *model, tdState *state, const char *path, tdError *error);
    // A state is a value: what td_state_save() writes can be copied and kept in memory. A run continued from a copy
    // gives the same bits. td_state_report() and contact points belong to steps, not to the value: they are empty in
    // a state that was read, until its next step. Sparse factors are made again; with bodies of full order that
    // takes as long as a factorization.

    /// Copies `from` into `to`; both of the same model.
    tdStatus td_state_copy(const tdModel *model, tdState *to, const tdState *from, tdError *error);
    /// Bytes of a state's value; the same for all states of a model.
    size_t td_state_size(const tdModel *model, const tdState *state);
    /// Writes it to the caller's memory, of at least that size and aligned to 8 bytes.
    tdStatus td_state_write(const tdModel *model, const tdState *state, void *memory, size_t size, tdError *error);
    /// Reads what td_state_write() wrote, with the same version of the library and the same scene; else it is refused
    /// and the state stays as it was. The bytes must not be changed in between.
    tdStatus td_state_read(const tdModel *model, tdState *state, const void *memory, size_t size, tdError *error);
    /// Back to its initial state: time 0, at rest, inputs and targets the scene's, springs untied.
    /// Parameters stay.
    tdStatus td_state_reset(const tdModel *model, tdState *state, tdError *error);

    /// Coordinates of a body and their rates, td_model_body_coords() each; and its reference rotations, unit
    /// quaternions (w, x, y, z) that the rotations among the coordinates are counted from, NULL where it has none.
    /// Valid as long as the state, and always what it is now.
    const double *td_state_coords(const tdModel *model, const tdState *state, int body);
    const double *td_state_rates(const tdModel *model, const tdState *state, int body);
    const double *td_state_turns(const tdModel *model, const tdState *state, int body);
    /// Places a body. Each of the three may be NULL: left as it is. Time, inputs, other bodies and what materials
    /// remember stay; contacts and kept energies are forgotten. TD_ERROR_INPUT: a number that is not finite, a rotation
    /// of no length, or a held coordinate that is given another value than it has.
    tdStatus td_state_set_coords(const tdModel *model, tdState *state, int body, const double *coords,
                                 const double *rates, const double *turns, tdError *error);
    /// Position [rad, m] and rate [rad/s, m/s] of a joint; either may be NULL.
    void td_state_joint(const tdModel *model, const tdState *state, int body, int joint, double *position,
                        double *rate);
    /// All joints of a body at once, by td_model_joints() numbers; NULL: as they are. Servos keep their commands.
    tdStatus td_state_set_joints(const tdModel *model, tdState *state, int body, const double *positions,
                                 const double *rates, tdError *error);
    /// Value that an input had in the last step; before one, that of the scene at the start.
    double td_state_input(const tdModel *model, const tdState *state, int input);

    /// What may differ from state to state without compiling the scene again. Part of the value of a state.
    typedef enum tdParameter
    {
        TD_PARAMETER_GRAVITY_X, ///< [m/s^2]
        TD_PARAMETER_GRAVITY_Y,
        TD_PARAMETER_GRAVITY_Z,
        TD_PARAMETER_FRICTION, ///< factor on all coefficients of friction between bodies, >= 0
        TD_PARAMETER_YOUNG,    ///< factor on the moduli of a body's materials, > 0; index: body
        TD_PARAMETER_MASS,     ///< factor on its mass, > 0; index: body
        TD_PARAMETER_DAMPING,  ///< factor on its damping, >= 0; index: body
        TD_PARAMETER_OFFSET,   ///< added to an input, in its unit; index: input
        TD_PARAMETERS
    } tdParameter;

    const char *td_parameter_name(tdParameter parameter); ///< "gravity_x", "young", ...
    /// Sets one from now on. index: as above, else 0. Factors are relative to the scene; 1 is the scene itself.
    /// TD_ERROR_INPUT, and nothing changes: a value out of its range, or a body that cannot have it (rigid links have
    /// neither moduli nor damping of their own, and the mass of links, and of a reduced body on a free frame, is
    /// compiled).
    tdStatus td_state_set_parameter(const tdModel *model, tdState *state, tdParameter parameter, int index,
                                    double value, tdError *error);
    double td_state_parameter(const tdModel *model, const tdState *state, tdParameter parameter, int index);

    /// A hash of every bit of what td_state_save() keeps: positions, velocities, efforts, memories of
    /// materials, time, and what decides how the next steps are solved. Runs of one scene that have the same number
    /// after a step continue identically to the bit, whatever their numbers of threads, and whether they were resumed
    /// or not. Kernels of another instruction set round differently and give another number; so may the next version of
    /// the library. It takes no memory.
    uint64_t td_state_hash(const tdModel *model, const tdState *state);

    // ---------------------------------------------------------------- outputs by name

    /// What is read from a state, chosen once by names; each is one or more numbers.
    ///
    ///     time                       [s]                     probe:NAME         position, 3 [m]
    ///     effector:NAME              its value, 1 or 3       input:NAME         value in the last step
    ///     effort:ACTUATOR            [N, Pa, N m]            displacement:ACTUATOR  [m, m^3, rad]
    ///     reaction:BODY              force on it, 3 [N]      contact:A,B        force on B by A, 3 [N]
    ///     joint:BODY,JOINT           position [rad, m]       joint_rate:BODY,JOINT  [rad/s, m/s]
    ///     coords:BODY, rates:BODY    all of them             positions:BODY     nodes, 3 each [m]
    ///     kinetic, elastic           energy [J]              contacts           points under load
    ///     penetration                deepest [m]             indicator, rom_error   of reduced bodies
    ///     sensor:NAME                its values
    typedef struct tdOutputs tdOutputs;

    typedef struct tdOutputInfo
    {
        const char *name; ///< as it was chosen
        const char *unit; ///< "m", "N", ...; "" where it has none or several
        int64_t first;    ///< of its numbers, among all
        int64_t count;
    } tdOutputInfo;

    /// TD_ERROR_INPUT: a name that the model does not have; the message says which there are.
    tdStatus td_outputs_create(const tdModel *model, int n, const char *const *names, tdOutputs **out, tdError *error);
    void td_outputs_free(tdOutputs *outputs);
    int td_outputs_count(const tdOutputs *outputs);     ///< of names
    int64_t td_outputs_width(const tdOutputs *outputs); ///< of numbers
    tdOutputInfo td_outputs_info(const tdOutputs *outputs, int output);
    /// Writes all numbers to data[0], data[stride], ... The state is not changed.
    void td_outputs_read(const tdOutputs *outputs, const tdModel *model, tdState *state, double *data, int64_t stride);

    // ---------------------------------------------------------------- batches

    // Many robots of one model, stepped by all cores in one call. Each robot is a separate state: it gives the
    // same bits as it would alone, whatever the number of robots and of threads. A robot that fails stops, with its
    // last good state, and the others go on; it is skipped until it is reset or read again.
    //
    // Arrays are the caller's. Masks have a byte a robot, 0: leave it alone; NULL: all robots.
    //
    // With settings->device = TD_DEVICE_GPU the robots are on a GPU, in single precision: the same bits run to run on
    // one machine and batch, near those of the CPU. What the GPU does not support is refused when the batch is made.

    typedef struct tdBatch tdBatch;

    /// Numbers of robots over time: number k of robot i in row t is data[i * robot + t * time + k * number]. Strides
    /// count numbers, not bytes; with a stride of 0 all share the same numbers.
    typedef struct tdSpan
    {
        double *data;
        int64_t robot, time, number;
    } tdSpan;

    /// settings->threads: number of threads that step the robots.
    tdStatus td_batch_create(const tdModel *model, const tdSettings *settings, int robots, tdBatch **out,
                             tdError *error);
    void td_batch_free(tdBatch *batch);
    int td_batch_robots(const tdBatch *batch);
    /// The state of a robot, as long as the batch and not while it steps. On a GPU: a copy, until the next call, and
    /// what is set there reaches no robot; NULL where the device has failed.
    tdState *td_batch_state(const tdBatch *batch, int robot);
    /// Why a robot stopped; status TD_OK: it has not. On a GPU until the next call.
    const tdError *td_batch_error(const tdBatch *batch, int robot);
    /// What rows of inputs hold, in this order; n = 0: nothing. At first all inputs of the model.
    tdStatus td_batch_choose_inputs(tdBatch *batch, int n, const int *inputs, tdError *error);
    /// What rows of outputs hold (see tdOutputs). At first nothing.
    tdStatus td_batch_choose_outputs(tdBatch *batch, int n, const char *const *names, tdError *error);
    /// What was chosen; belongs to the batch, until outputs are chosen again.
    const tdOutputs *td_batch_outputs(const tdBatch *batch);
    /// Back to the start, each with its parameters and its delay; clears failures.
    tdStatus td_batch_reset(tdBatch *batch, const uint8_t *mask, tdError *error);
    /// A parameter of each robot: values[0], values[stride], ...; 0: one for all. The first that is refused ends it.
    tdStatus td_batch_set_parameter(tdBatch *batch, tdParameter parameter, int index, const double *values,
                                    int64_t stride, const uint8_t *mask, tdError *error);
    /// Delay between a row of inputs and its effect [s], in whole steps: values as above. Until the first row arrives
    /// inputs keep their values. A changed delay starts over.
    tdStatus td_batch_set_delay(tdBatch *batch, const double *values, int64_t stride, const uint8_t *mask,
                                tdError *error);
    /// Values of states (td_state_write, _read) to and from memory: robot i at memory + i * stride bytes; reading with
    /// stride 0 makes all robots the same. Failures of those that were read are cleared.
    tdStatus td_batch_write(const tdBatch *batch, void *memory, size_t stride, const uint8_t *mask, tdError *error);
    tdStatus td_batch_read(tdBatch *batch, const void *memory, size_t stride, const uint8_t *mask, tdError *error);

    /// Start from td_default_rollout().
    typedef struct tdRollout
    {
        int rows;            ///< of inputs and outputs; 1
        int hold;            ///< steps that each row of inputs holds for; 1
        tdSpan inputs;       ///< data NULL: they stay. NaN: the scene's motion
        tdSpan outputs;      ///< after the steps of each row; data NULL: not wanted. NaN where a robot has stopped
        const uint8_t *mask; ///< robots that take part; rows of the others are not written
        int32_t *status;     ///< by robot: its tdStatus; NULL: not wanted
        int32_t *steps;      ///< by robot: steps that it took in this call; NULL: not wanted
        bool on_device;      ///< of a batch on a GPU: data of inputs and outputs are addresses in its memory
    } tdRollout;

    tdRollout td_default_rollout(void);
    /// Takes rows x hold steps. TD_OK also where robots stop: status says which. TD_CANCELLED: by tdSettings.cancel,
    /// each robot after its last whole step.
    tdStatus td_batch_rollout(tdBatch *batch, const tdRollout *rollout, tdError *error);
    /// Outputs at the present states.
    tdStatus td_batch_read_outputs(tdBatch *batch, const tdSpan *outputs, const uint8_t *mask, tdError *error);

    // ---------------------------------------------------------------- reduced models

    /// Start from td_default_reduction().
    typedef struct tdReductionSettings
    {
        const char *body;      ///< that is reduced; NULL: as the scene says
        const char *work;      ///< folder of the work; NULL: next to the output, removed at the end
        bool restart;          ///< discard work that is there; else a job that was stopped resumes
        double pod_tolerance;  ///< instead of the scene's; 0: that
        double ecsw_tolerance; ///< likewise
        int max_modes;         ///< likewise
        bool accept;           ///< write a model even if its held-out error exceeds 20 %; else it fails
        /// Called with progress, by one thread at a time; false: stop cleanly, the work is kept. total 0: not known.
        bool (*progress)(void *user, const char *phase, int64_t done, int64_t total);
        void *user;
    } tdReductionSettings;

    /// The result.
    typedef struct tdReduction
    {
        bool stopped;                          ///< by `progress`: no file was written
        int modes;                             ///< of the reduced model
        int64_t snapshots, failures;           ///< equilibria; points without one
        int64_t elements, rid_elements;        ///< of the body; that represent all
        double pod_error, ecsw_error;          ///< relative, in training
        double held_out_error, held_out_worst; ///< relative, at held-out points: of all, of the worst
        int64_t held_out_places;
        double motion_error, motion_worst; ///< the same along a motion
        double seconds;
    } tdReduction;

    tdReductionSettings td_default_reduction(void);
    /// The offline stage: from a scene file with a `reduction` to the file of a reduced model, which tdSettings.rom
    /// takes. Minutes; the same as `tendril reduce`. what NULL: all defaults; out NULL: not wanted.
    tdStatus td_model_reduce(const char *scene_path, const char *rom_path, const tdReductionSettings *what,
                             const tdSettings *settings, tdReduction *out, tdError *error);

    // ---------------------------------------------------------------- closed loop

    /// Follows goals with a real robot: what is measured of an effector corrects its target by an integral term,
    ///
    ///     target = goal + I,   dI/dt = gain (goal - measured)
    ///
    /// Where the actuators cannot bring the model's effector to the target, I follows the error of the model instead
    /// (no windup). It is never longer than `limit`.
    typedef struct tdControlSettings
    {
        double gain; ///< [1/s] default: 1 / (20 time steps); stable below about 1 / (2 lag), lag = what is not in delay
        double limit; ///< most correction, in the unit of the effector; 0: a tenth of the robot's size (its cube for a
                      ///< volume), 0.5 for orientations, directions and [N] forces of contact
        double
            delay; ///< [s] known delay of the measurement, to whole steps: it is compared with the step that it shows
    } tdControlSettings;

    typedef struct tdControl tdControl;

    tdControlSettings td_default_control(const tdModel *model);
    tdStatus td_control_create(const tdModel *model, const tdControlSettings *settings, tdControl **out,
                               tdError *error);
    void td_control_free(tdControl *control);
    /// Goals over time from a CSV file: t, NAME.x, NAME.y, NAME.z (NAME for effectors of one number), in SI units or
    /// with units in the header, e.g. "tip.x [mm]"; rotation vectors need theirs, "[rad]" or "[deg]". Straight lines
    /// between rows, constant before the first and after the last. Gaps and values that are not numbers are errors.
    tdStatus td_control_load_goals(tdControl *control, const tdModel *model, const char *path, tdError *error);
    /// Measurements of effectors over time, in the same form; they are replayed as time goes on. Outside of their time
    /// there is none.
    tdStatus td_control_load_measurements(tdControl *control, const tdModel *model, const char *path, tdError *error);
    double td_control_duration(const tdControl *control); ///< last time of the goals [s], 0 without
    /// From now on, instead of the file's; NULL: back to the file's, or none. Numbers that are not finite and a
    /// direction of zero length are refused.
    tdStatus td_control_set_goal(tdControl *control, int effector, const double *goal);
    /// Goal of an effector at a time; false when it has none.
    bool td_control_goal(const tdControl *control, int effector, double time, double goal[3]);
    /// The newest measurement of an effector, likewise. Without one its correction is kept.
    tdStatus td_control_measure(tdControl *control, int effector, const double *measured);
    /// Updates the integral terms by what was measured of the steps before, sets the targets and takes the next step.
    /// If that fails, they stay what they were.
    tdStatus td_control_step(tdControl *control, const tdModel *model, tdState *state);
    /// The integral term of an effector.
    void td_control_correction(const tdControl *control, int effector, double correction[3]);

    // ---------------------------------------------------------------- haptics

    /// What a hand feels of a scene: two threads, one that takes steps and one at the rate of a device (1 kHz), which
    /// never wait for each other. The tool is a rigid body of the scene with `guided: true`; its pose is given as a
    /// displacement from its initial position in world axes, and a rotation as a unit quaternion (w, x, y, z).
    typedef struct tdHapticSettings
    {
        const char *tool;         ///< name of the body; NULL: the only one that is guided
        double period;            ///< [s] of the device's loop (1e-3)
        double stiffness;         ///< [N/m] of the coupling of device and tool (1000): no contact feels stiffer
        double angular_stiffness; ///< [N m/rad] the same of rotations; infinite (default): the tool turns as the device
        double max_force;         ///< [N] of the device (3)
        double max_torque;        ///< [N m] (0.3)
        double slew;              ///< [N/s] how fast a force may grow; 0 (default): 200 times max_force a second
        double resolution;        ///< [m] of the device's encoders (1e-5)
        bool passive;             ///< true (default): the guard prevents the device from adding energy to the hand
    } tdHapticSettings;

    typedef struct tdHaptic tdHaptic;

    /// Result of a tick.
    typedef struct tdHapticForce
    {
        double force[3], torque[3]; ///< to apply: on the hand, about the origin of the tool [N, N m]
        double asked[3];            ///< force before limits and guard
        double tool[3];             ///< where the origin of the tool is: the device's, less what the coupling gives
        int contacts;               ///< that carry a force
        int slipping;               ///< of these
        int sweeps;                 ///< of the solver
        double fade;                ///< 1; less: the simulation is late, and the force fades
        int fault;                  ///< 0; else why there is no force, see td_haptic_fault()
    } tdHapticForce;

    tdHapticSettings td_default_haptic(void);
    /// The state must be of the model and outlive the object.
    tdStatus td_haptic_create(const tdModel *model, const tdHapticSettings *settings, tdHaptic **out, tdError *error);
    void td_haptic_free(tdHaptic *haptic);
    /// Simulation's thread: places the tool where the hand has it, takes a step, and hands its local model over. clock:
    /// that of td_haptic_tick() [s]. A step that fails leaves the local model of the last.
    tdStatus td_haptic_step(tdHaptic *haptic, const tdModel *model, tdState *state, double clock);
    /// The same with several tools of one scene, each of which has an object and a device of its own.
    tdStatus td_haptic_step_all(tdHaptic *const *haptics, int n, const tdModel *model, tdState *state, double clock);
    /// Device's thread, before a tick: how far the hand closes a grasper, 0: open, 1: closed. Nothing where no body of
    /// the scene follows the tool.
    void td_haptic_grip(tdHaptic *haptic, double grip);
    /// Device's thread, once a period: no lock, no allocation, no system call. position NULL: none has come
    /// since the last tick; the force fades out if this lasts. rotation NULL: none.
    void td_haptic_tick(tdHaptic *haptic, double clock, const double position[3], const double rotation[4],
                        tdHapticForce *out);
    const char *td_haptic_fault(int fault);

#ifdef __cplusplus
}
#endif
