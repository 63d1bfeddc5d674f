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
    typedef bool (*tdCancelFn)(void *user);

    /// Precision of the products that make the tangent of a reduced body. Forces are in double precision always, so
    /// that equilibria are the same; a tangent in single precision takes half the time.
    typedef enum tdRomPrecision
    {
        TD_ROM_AUTO,   ///< single where `tendril reduce` has measured that it moves the body by less than 1e-5
        TD_ROM_SINGLE, ///< single
        TD_ROM_DOUBLE  ///< double
    } tdRomPrecision;

    /// How to run. Start from td_default_settings().
    typedef struct tdSettings
    {
        int threads;     ///< worker threads of a state; 0 = all cores. Results are the same bits for any number.
        bool portable;   ///< use the portable kernels even where AVX2 is available
        const char *rom; ///< reduced model (made by `tendril reduce`) of the scene's body; NULL: full order
        bool rom_whole;  ///< with it: integrate over all elements instead of the reduced domain
        tdRomPrecision rom_precision; ///< with it: of the tangent on the reduced domain
        const char *packages; ///< where package://NAME/... of robots is: "NAME=FOLDER:FOLDER:...", folders of packages
                              ///< by name, and folders that hold packages (as ROS_PACKAGE_PATH); NULL: only in and
                              ///< above the robot's own folder
        tdLogFn log;          ///< receives messages; NULL = silent
        void *log_user;       ///< handed to log
        tdLogLevel level;     ///< least level that is handed to log
        tdCancelFn cancel; ///< asked again and again within a step, some hundred times a second where it takes long, by
                           ///< any thread that computes (read a flag, no more): true ends the step with TD_CANCELLED
                           ///< and the state as it was before it; NULL = never
        void *cancel_user; ///< handed to cancel
        bool full_order;   ///< reduced models that the scene names (bodies[].rom) are left out
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
        double effort_rate;            ///< most change in a second
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
    int td_model_find_effector(const tdModel *model, const char *name); ///< -1 if none
    double td_model_size(const tdModel *model);                         ///< largest extent of a body at rest [m]

    /// A place on a link that follows a target pose by differential inverse kinematics: in each step the commands of
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

    /// What an actuator does at the present state. Bounds: -1 at the least, 1 at the most, else 0.
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
    /// every actuator that neither the scene's motion nor td_state_set_input drives is found by inverse control.
    /// TD_ERROR_USAGE: no such effector, a number that is not finite, or an integrator that does not damp (midpoint,
    /// newmark as it is, symplectic), with which efforts would alternate from step to step.
    tdStatus td_state_set_target(const tdModel *model, tdState *state, int effector, const double *target);

    /// Where a tool is. Rotations are matrices, by rows, of the link's axes; ways and turns are along the world's axes.
    typedef struct tdToolState
    {
        bool driven;                            ///< by td_state_drive_tool; else by its inputs
        double twist[6];                        ///< then: [m/s], [rad/s]
        double target[3], target_rotation[9];   ///< where it shall be
        double command[3], command_rotation[9]; ///< where it would be with all joints where they are commanded to
        double position[3], rotation[9];        ///< where it is
        double error[6];                        ///< from there to the target: way [m], rotation vector [rad]
        double miss[6];                         ///< from the command to the target: on its way, or out of reach
        int at_limits;                          ///< joints whose command is at an end of their range
    } tdToolState;

    tdToolState td_state_tool(const tdModel *model, const tdState *state, int tool);
    /// Moves the target of a tool at a velocity from now on: along [m/s] and about [rad/s] the world's axes, from where
    /// the target is; it does not run away from a tool that cannot follow. Zeros hold it. NULL hands the tool back to
    /// its inputs, to whose target it goes within its limits. Part of checkpoints. TD_ERROR_USAGE: no such tool, or a
    /// number that is not finite.
    tdStatus td_state_drive_tool(const tdModel *model, tdState *state, int tool, const double twist[6]);

    /// A spring from a material point of a body to a place in space, as a hand would pull: its force on the body is
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

    /// Ties spring number `spring` from now on; NULL unties it. Part of checkpoints. TD_ERROR_USAGE: a number that
    /// makes no sense, nodes that share no element and no link, or a body that cannot move.
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
        TD_DOUBT_ENERGY = 1,        ///< a body has gained more than 5 % of its energy from nothing
        TD_DOUBT_LINEARIZATION = 2, ///< one linearization does not describe how a body moved
        TD_DOUBT_INVERSION = 4,     ///< elements have been inside out for more than ten steps
        TD_DOUBT_PENETRATION = 8,   ///< bodies are deeper inside each other than a tenth of the smaller one
        TD_DOUBT_TUNNELLING = 16,   ///< bodies may have passed through each other within a step
        TD_DOUBT_EJECTION = 32,     ///< contact that was found deep pushed bodies apart with energy from nothing
        TD_DOUBT_LAW = 64           ///< a body of the linear law has turned or stretched farther than it describes
    } tdDoubt;

    /// Short name of one, e.g. "energy from nothing".
    const char *td_doubt_name(tdDoubt doubt);

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
        double constraint_error;   ///< largest miss of a driven displacement, relative to the actuator's size
        bool inverse;              ///< inverse control was active; what follows is its last linearization
        int inverse_iterations;    ///< of its solver, over all linearizations
        bool inverse_limit;        ///< the solver reached its bound on iterations
        bool out_of_reach;         ///< some target cannot be reached within the bounds, to control.tolerance
        double inverse_residual;   ///< weighted distance of the effectors from their targets [m, rad, ...]
        double bound_violation;    ///< limits that contradict each other are broken by this much, relative to sizes
        int active_bounds;         ///< limits of actuators that hold
        double inverse_seconds;    ///< spent in its solver
        double inverse_optimality; ///< largest violation of its optimality conditions, each scaled to 1
        // Reduced bodies; zero where there is none. What calibration found is in the file of the reduced model.
        double rom_indicator; ///< disagreement of two independent sets of elements: the displacement that their forces
                              ///< would answer for, relative to the largest in training
        double rom_error;    ///< what calibration makes of it: relative error of displacements, about; as long as there
                             ///< is no warning
        double rom_distance; ///< how far amplitudes and dead loads lie outside of their ranges in training, in such
                             ///< ranges; 1 for a load that training has not seen
        bool rom_warning;    ///< either is beyond its limit: the reduced model is not to be trusted here
        // Contact; zero where there is none.
        int contacts;        ///< points that were followed
        int constraints;     ///< of the convex problem: these points, attachments, driven actuators, limits of joints
        int contacts_active; ///< of these, the ones that bear a force
        int contact_iterations;   ///< of the convex solver, the most of an island, over all linearizations
        double contact_residual;  ///< relative residual that it left
        bool contact_limit;       ///< it reached its bound on iterations
        double penetration;       ///< deepest of the points that bear a force, at the end of the step [m]
        double penetration_ratio; ///< largest, relative to the smaller of the two bodies or links (largest extent of
                                  ///< what collides, at rest)
        int penetration_body[2];  ///< whose that one is; of no meaning where it is 0
        double penetration_found; ///< the same where the step began: what the one before really left
        int penetration_found_body[2];
        int tunnelled; ///< pairs of bodies or links that may have passed through each other in the step, unseen
        double attachment_error; ///< largest error of rigid attachments and couplings, relative to the scene's size
        // What was looked at before the step was accepted; zero in static scenes.
        double energy;     ///< kinetic and elastic, of all bodies, at its end [J]
        double work;       ///< done on them in the step: by weight, loads, actuators, supports, contact [J]
        double dissipated; ///< what of it they neither move by nor store [J]: damping, relaxation, and the integrator's
                           ///< own; static: not known, 0
        double energy_gain; ///< most that a body has gained from nothing, as a share of what it came by honestly
        double linearization_error; ///< share of the work of internal forces that one linearization missed; 0: Newton
        int retries;                ///< attempts that were taken back: one linearization went wrong
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
        double distance; ///< at the start of the step [m]; negative: they penetrate
        double force[3]; ///< on side 1 [N], mean over the step
        double slip[3];  ///< velocity of side 1 beside side 0 at its end, without the part along the normal [m/s]
    } tdContactPoint;

    /// Points of the last step, valid until the next; returns how many. Points that were followed without touching have
    /// no force.
    int64_t td_state_contacts(const tdState *state, const tdContactPoint **points);
    /// Sum of the contact forces [N] on body b by body a in the last step.
    void td_state_contact_force(const tdState *state, int a, int b, double force[3]);
    /// The same with their torque [N m] about a place in space.
    void td_state_contact_wrench(const tdState *state, int a, int b, const double about[3], double force[3],
                                 double torque[3]);

    /// Links of a rigid or articulated body, from 0; a soft body has none.
    int td_model_links(const tdModel *model, int body);
    const char *td_model_link_name(const tdModel *model, int body, int link); ///< NULL: there is no such
    int td_model_find_link(const tdModel *model, int body, const char *name); ///< -1 if none

    /// All points between two links, of two bodies or of one; a soft body counts as one link, -1. Side 0 is that of the
    /// earlier body of the scene or, within a body, of the earlier link. What is squeezed between two fingers of one
    /// hand has a sum with each.
    typedef struct tdContactSum
    {
        int body[2];
        int link[2];        ///< -1: soft
        int points;         ///< that bear a force
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
    const char *td_model_attachment_name(const tdModel *model, int attachment); ///< NULL: there is no such
    /// What side a of an attachment feels in the last step, mean over it: force [N] and its torque [N m] about `point`
    /// [m], the mean of the places of a's points now. torque and point may be NULL. Zero without a step.
    void td_state_attachment_force(const tdState *state, int attachment, double force[3], double torque[3],
                                   double point[3]);
    /// Couplings of the scene, in its order.
    int td_model_couplings(const tdModel *model);
    const char *td_model_coupling_name(const tdModel *model, int coupling); ///< NULL: there is no such
    /// Effort of a coupling in the last step, mean over it. A rod: the force [N] with which it pushes its ends apart.
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
    /// What it measured in the last step, mean over it; NAN before one. Returns how many values there are.
    int td_state_sensor(const tdModel *model, const tdState *state, int sensor, double values[TD_SENSOR_VALUES]);

    /// Kinetic and elastic energy [J] at the present positions and velocities. Either may be NULL.
    void td_state_energy(const tdModel *model, tdState *state, double *kinetic, double *elastic);

    /// Writes all that the state holds, so that a run continues bit for bit. Appears by atomic rename.
    tdStatus td_state_save(const tdModel *model, const tdState *state, const char *path, tdError *error);
    /// Reads it back. A file made from another scene is refused with the reason.
    tdStatus td_state_load(const tdModel *model, tdState *state, const char *path, tdError *error);
    /// A number that stands for every bit of what td_state_save() keeps: positions, velocities, efforts, memories of
    /// materials, time, and what decides how the next steps are solved. Runs of one scene that have the same number
    /// after a step go on alike to the bit, whatever their numbers of threads, and whether they were resumed or not.
    /// Kernels of another instruction set round differently, and with them the number is another; so may it be from one
    /// version of the library to the next. It takes no memory.
    uint64_t td_state_hash(const tdModel *model, const tdState *state);

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
                      ///< volume), 0.5 for orientations and directions
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
    /// between rows, constant before and behind. Gaps and values that are not numbers are errors.
    tdStatus td_control_load_goals(tdControl *control, const tdModel *model, const char *path, tdError *error);
    /// Measurements of effectors over time, in the same form; they are replayed as time goes on. Outside of their time
    /// there is none.
    tdStatus td_control_load_measurements(tdControl *control, const tdModel *model, const char *path, tdError *error);
    double td_control_duration(const tdControl *control); ///< last time of the goals [s], 0 without
    /// From now on, instead of the file's; NULL: back to the file's, or none. Numbers that are not finite and a
    /// direction of no length are refused.
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

#ifdef __cplusplus
}
#endif
