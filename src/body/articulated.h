// SPDX-License-Identifier: Apache-2.0
// Articulated rigid body: a tree of links in joint coordinates, A dense.
//
//     M(q) dv/dt + b(q, v) = tau            M by the composite rigid body algorithm, b by recursive Newton-Euler
//     b = 1/2 dM/dt v + G v                 G skew, for drifts that keep the energy (articulated_drift.c)
//
// Spatial vectors are (angular, linear) in world axes, linear parts taken at the origin of the root link, a point that
// stands still for the moment of the evaluation. Inertias of links then simply add up, and far from the world's origin
// nothing is lost to rounding.
//
// Coordinates. One of revolute, continuous and prismatic joints: the position itself. A ball has three: the rotation
// vector phi, in the link's axes, of its rotation since the start of the step, R = R_ref exp(phi); their velocity is
// the angular velocity of the link against its parent, in the link's axes. A free joint has the position of the link's
// origin, in the axes of `origin`, then three as a ball. R_ref is part of the state; when a step is accepted phi goes
// into it and starts from zero. So every coordinate is advanced by q += c v, and angles are never near a singularity.
//
// Forces at points are carried over by dx/dt = J v, not by dx/d(phi): at phi = 0, where one linearization is taken,
// they are the same, and elsewhere the first is what does work.
//
// Laws of joints: viscous damping and armature are linear. Dry friction, limits and servos with limited effort are
// monotone functions of a joint's position x and rate:
//
//     friction   F rate / sqrt(rate^2 + slip^2)
//     limit      (k (x - upper) + d rate)+ and the like below
//     servo      -clamp(stiffness (target - x) + damping (target rate - rate), effort limits)
//
// With Newton they are in m and A like everything else. With one linearization a step they are solved with the free
// motion (articulated_free.c), at the velocity that comes out.
#pragma once
#include "body/drawing.h"
#include "body/soft.h"
#include "core/parts.h"
#include "describe/tree.h"

/// A link as the algorithms see it. Column c of its joint moves coordinate `coord` + c at `ratio` times its rate.
typedef struct tdLink
{
    int32_t parent; ///< -1: the world, in which `origin` stands then
    tdJointKind kind;
    int32_t coord;   ///< -1: no coordinate
    int32_t column;  ///< its first among the columns of all joints
    int32_t columns; ///< 0, 1, 3 or 6
    int32_t ball;    ///< which reference rotation; -1: none
    double ratio, offset;
    tdPose origin;
    double axis[3];
    double mass, center[3], inertia[6];
    double armature;
    // Short ways, set with the tables:
    bool straight; ///< its frame is not turned against its parent's
    int8_t along;  ///< a hinge about axis 1, 2 or 3 of its frame; 0: it is none
    double sense;  ///< of that, 1 or -1
    int32_t tip;   ///< the last column on the way from the root to it, -1: none,
    int32_t path;  ///< and how many there are
} tdLink;

/// A limit of one joint. Kept for solvers that take limits as constraints.
typedef struct tdJointLimit
{
    int32_t link, coord;
    double ratio, offset; ///< position = ratio q + offset
    double lower, upper;
    double stiffness, damping;
} tdJointLimit;

typedef struct tdJointFriction
{
    int32_t link, coord;
    double ratio;
    double force; ///< [N m, N]
    double slip;  ///< rate over which it turns round
} tdJointFriction;

/// A drive with a gain, by an input.
typedef struct tdServo
{
    int32_t link, coord, input, actuator;
    double ratio, offset;
    bool rate;       ///< the input is a rate, else a position
    bool weightless; ///< adds the effort that holds the body against gravity where the step begins
    double stiffness, damping;
    double effort[2];
} tdServo;

/// Points that constraints act on: x_p = sum over its parts of weight t_link + R_link local.
typedef struct tdRigidSet
{
    int32_t *start; ///< n + 1
    int32_t *link;
    double *weight;
    double *local; ///< 3 a part, times the weight
    int32_t *slot; ///< by coordinate of the body: its place in a row; -1: none
} tdRigidSet;

typedef struct tdArticulated
{
    const tdTree *tree;
    int n_links, n_columns, n_balls;
    int n;      ///< coordinates
    bool plain; ///< no joint follows another: columns and coordinates are the same
    bool chain; ///< and each column is carried by the one before it: matrices have no zeros
    bool alone; ///< one free link whose origin is its center of mass: M is the same wherever it is
    tdLink *links;
    int32_t *link_of; ///< by coordinate: the link whose joint it moves
    // By column of a joint: the next one on the way to the root, -1: none; its coordinate; the column's link.
    int32_t *above, *coord_of, *carries;
    double *start;     ///< q at the start
    double *start_v;   ///< v at the start
    double *reference; ///< 4 a ball: at the start
    double *damping;   ///< by coordinate
    double gravity[3];
    int n_limits, n_frictions, n_servos;
    tdJointLimit *limits;
    tdJointFriction *frictions;
    tdServo *servos;
    // Nodes 4 l .. 4 l + 3 are the origin of link l and a point on each of its axes, `reach` away: their weighted means
    // are all points of the link. Then follow the corners of its shapes' triangles.
    double *reach;      ///< by link
    int32_t *node_link; ///< by node
    double *node_local; ///< 3 a node: in the link's frame
    tdSoft *shape;      ///< nodes at rest and triangles, for output and selectors; no elements in the sense of soft.h
} tdArticulated;

/// Scratch of the algorithms, by link or column.
typedef struct tdTreeWork
{
    tdPose *pose;         ///< of links in the world
    double *S;            ///< 6 a column: what a unit rate of the joint does, at the root's origin
    double *rate;         ///< 6 a column: dS/dt
    double *I, *C;        ///< 10 a link: mass, first moment, second moment (xx, yy, zz, xy, xz, yz); of the subtree
    double *v, *a, *f;    ///< 6 a link
    double *hang;         ///< 9 a link: stiffness of what hangs, of the subtree
    double *by_component; ///< S, and for the moment only rate, by component
    double *row;          ///< two rows of columns: for the moment only
    double origin[3];     ///< where spatial vectors are taken
    bool summed;          ///< C and the first half of by_component are of this place
} tdTreeWork;

typedef struct tdArticulatedState
{
    double *reference; ///< 4 a ball: unit quaternions (w, x, y, z) of R_ref
    tdTreeWork at;     ///< where forces are taken, at `at_q`
    double *at_q;
    bool at_valid;
    tdTreeWork points; ///< of points, at `points_q`
    double *points_q;
    bool points_valid;
    bool points_folded;        ///< placed by `folded`: as the next step will find them
    double *folded_q, *folded; ///< coordinates and reference rotations at the end of the step that is judged
    double *M, *A, *L;         ///< n^2
    double *M_end, *mass_q;    ///< n^2: M where the step ends, at these coordinates,
    bool mass_known;           ///< where it is of the last step
    double *sluggish;          ///< n^2: what is added to M for steps that are long for pendulums,
    bool hangs;                ///< where there is some
    double *kick_q, *kick_v;   ///< n: where forces change the velocity, and the velocity that they find there
    double *drift;             ///< 4 n: for the moment only
    double *weight;            ///< n: forces of gravity as the step has them
    double potential;          ///< of gravity at the start of the step
    double account[2]; ///< [J] gained since the start, at most zero but for what was not there to be taken back,
    double next[2];    ///< and the most kinetic energy; both after the step that is judged
    double unpaid;     ///< [J] that the whole way of the step would have lifted it above its energy
    double astray;     ///< [J] that laws of joints did as they were foreseen, and cannot do as the step ended
    double *coupling;  ///< 2 n^2: stiffness of constraints, definite ones, then those that may not be
    double *rhs;       ///< n: for the moment only
    double *law;       ///< 3 n: forces of the laws of joints, slopes by position and by rate
    double *slope;     ///< n: by v
    double *trial;     ///< n: velocity that the laws are linearized about
    double *trial_v;   ///< n: velocity where forces are taken that goes with it
    double *turning;   ///< n: Coriolis and gyroscopic forces at the trial velocity
    double *expected, *before; ///< n: for the moment only
    double *asked;             ///< 3 n: rates of joints whose position is given, NAN: none; their bias and diagonal
    double *slope_A;           ///< n^2: A with the slope of Coriolis forces
    double *bias;              ///< n: m without laws and Coriolis forces,
    double *diagonal;          ///< n: and the diagonal of A
    double *effort;            ///< by servo, at the end of the step
    double *feed;              ///< by servo: what it adds against gravity in this step
    double *node_x, *node_v;
    double *link_v, *link_rates; ///< 6 a link: velocities at `points`, of the rates n, where
    bool twists_known;           ///< they are
    double *jacobian;            ///< 6 n: of points
    double momentum[3];          ///< of all links at the start of the step,
    double arrived[3];           ///< at its end, where coordinates move by
    double *arrived_v;           ///< n
    double kinetic;              ///< energy of the motion where the step ends [J]
    double gain[3];              ///< and what they gained of it a second in the last step; NAN: none yet
    bool stiffened;              ///< some constraint has stiffness in this pass
    bool indefinite;             ///< A was, with all of its terms
    double *factored;            ///< n^2, of a body that is alone: the A that L is of,
    bool factor_known;           ///< if it is
    bool foreseeing;             ///< laws are those of all that acts, also of what a contact solver takes (rows_apart)
} tdArticulatedState;

extern const tdBodyOps td_articulated_ops;

static inline const tdArticulated *td_articulated_of(const tdBody *body)
{
    return (const tdArticulated *)body->data;
}

static inline tdArticulatedState *td_articulated_mine(const tdBody *body, const tdState *state)
{
    return (tdArticulatedState *)state->bodies[body->index];
}

static inline bool td_body_is_articulated(const tdBody *body)
{
    return body->ops == &td_articulated_ops;
}

/// Whether it stands on a base that does not move.
static inline bool td_articulated_is_based(const tdBody *body)
{
    return td_body_is_articulated(body) && td_articulated_of(body)->tree->links[0].kind == TD_JOINT_FIXED;
}

// ---------------------------------------------------------------- articulated_model.c

/// Tables of a checked tree whose root is at `base`. velocity, turning: of a free root at the start, in the world.
tdStatus td_articulated_build(tdArena *arena, const tdTree *tree, const tdPose *base, const double velocity[3],
                              const double turning[3], const double gravity[3], tdArticulated *body, tdError *error);

// ---------------------------------------------------------------- articulated_parts.c: see tdBodyOps and parts.h

#define TD_LINK_AXIS 0.0625 // length of the axes of a link's frame, as a share of its size

/// After the nodes of the links are there.
tdStatus td_articulated_parts(tdArena *arena, tdArticulated *rigid, tdBody *body, tdError *error);
void td_articulated_hash(const tdBody *body, uint64_t *hash);
int td_articulated_locate(const tdBody *body, const char *name, const double p[3], double slack, int32_t *nodes,
                          double *weights);
double *td_articulated_turns(const tdBody *body, const tdState *state);
void td_articulated_inverse(const tdBody *body, const tdState *state, bool still, const double *dv, const double g[3],
                            double *efforts);
void td_articulated_mass(const tdBody *body, const tdState *state, double *M);
double td_articulated_effort(const tdBody *body, const tdState *state, int drive);
bool td_articulated_gain(const tdBody *body, const tdState *state, double gain[3], double weight[3]);

// ---------------------------------------------------------------- articulated_dynamics.c: algorithms, no step

/// Room for a body; false: no memory.
bool td_tree_work_take(tdArena *arena, const tdArticulated *body, tdTreeWork *work);
/// reads q and reference rotations      writes pose, S, I, origin
void td_tree_kinematics(const tdArticulated *body, const double *q, const double *reference, tdTreeWork *work);
/// What td_tree_kinematics() writes, from one to the other.
void td_tree_copy(const tdArticulated *body, const tdTreeWork *from, tdTreeWork *to);
/// reads pose, S      writes v
void td_tree_velocities(const tdArticulated *body, const double *v, tdTreeWork *work);
/// Recursive Newton-Euler: tau = M dv + b(q, v) - gravity. dv NULL: zero. gravity [m/s^2].
void td_tree_inverse(const tdArticulated *body, const double *v, const double *dv, const double gravity[3],
                     tdTreeWork *work, double *tau);
/// load[n]: forces of gravity on the coordinates. reads pose, S, I      writes f
void td_tree_weights(const tdArticulated *body, const double gravity[3], tdTreeWork *work, double *load);
/// Composite rigid bodies: M[n x n], both triangles.
void td_tree_mass(const tdArticulated *body, tdTreeWork *work, double *M);
/// The skew part G[n x n] of the Coriolis matrix: b(q, v) = 1/2 dM/dt v + G v. reads pose, S, I      writes v, f, rate,
/// C
void td_tree_gyration(const tdArticulated *body, const double *v, tdTreeWork *work, double *G);
/// Kinetic energy, linear and angular momentum about the world's origin, center of mass; any may be NULL.
void td_tree_momentum(const tdArticulated *body, const double *v, tdTreeWork *work, double *energy, double linear[3],
                      double angular[3], double center[3]);
/// A link and all that hangs on it.
void td_tree_carried(const tdArticulated *body, const double *v, int link, tdTreeWork *work, tdCarried *out);
/// Of a plain tree: row[k] = S_k . wrench (moment about the root's origin, force) of columns below `count`; valid until
/// the next call. reads pose, S
const double *td_tree_along(const tdArticulated *body, tdTreeWork *work, int64_t count, const double wrench[6]);
/// The same of three wrenches, for the columns on the way to a link: J[3 x count], columns in ascending order.
void td_tree_rows(const tdArticulated *body, tdTreeWork *work, int tip, int count, double wrench[3][6], double *J);
/// Potential energy of gravity [J], zero at the world's origin.
double td_tree_potential(const tdArticulated *body, const double gravity[3], const tdTreeWork *work);
/// Derivative of -gravity of td_tree_inverse() by the coordinates, K[n x n]; after td_tree_mass().
void td_tree_gravity_stiffness(const tdArticulated *body, const double gravity[3], tdTreeWork *work, double *K);
/// The part of it, K[n x n], that pulls links back to where they hang: positive semi-definite, link by link.
void td_tree_hanging_stiffness(const tdArticulated *body, const double gravity[3], tdTreeWork *work, double *K);
/// R_ref <- R_ref exp(phi), phi <- 0
void td_tree_fold(const tdArticulated *body, double *q, double *reference);

// ---------------------------------------------------------------- articulated_joint.c: laws of joints

/// What the laws add to the momentum balance at q_e, v_e: force (added to), and slopes of it by q and v (added to the
/// diagonal; NULL: not wanted). `secant`: of friction the slope to the origin instead of the tangent.
void td_joint_laws(const tdModel *model, const tdBody *body, const tdState *state, const double *q_e, const double *v_e,
                   bool secant, double *force, double *slope_q, double *slope_v);
/// See tdBodyOps.rows: limits that are near, and servos with limited efforts.
int td_joint_rows(const tdModel *model, const tdBody *body, const tdState *state, tdBodyRow *out, int most);
/// Whether a servo has an effort that it cannot exceed.
bool td_servo_is_limited(const tdServo *servo);
/// Effort of a servo at a position and rate of its joint. feed: what it adds to what the error asks for.
double td_servo_effort(const tdServo *servo, double feed, double input, double position, double rate);
/// What servos add against gravity, at the place of `at`.
void td_servo_feed(const tdBody *body, tdState *state, const double gravity[3]);
/// What limits add to the momentum balance at q_e, v_e: force (added to); and what they store at q [J].
void td_joint_limits(const tdArticulated *body, const double *q_e, const double *v_e, double *force);
double td_joint_limit_energy(const tdArticulated *body, const double *q);
/// Potential energy of limits and servos at the present q.
double td_joint_energy(const tdModel *model, const tdBody *body, const tdState *state);

// ---------------------------------------------------------------- articulated.c, articulated_free.c: the step

/// Kinematics at q into mine->at.
void td_articulated_place(const tdArticulated *given, tdArticulatedState *mine, const double *q);
/// Gravity of which the present share acts.
void td_articulated_gravity(const tdArticulated *given, const tdState *state, double g[3]);
/// Newton's method, or one linearization a step.
bool td_articulated_iterates(const tdModel *model, const tdState *state);
/// Where joint laws and damping are taken: with a method of theta below 1/2 at the end of the step, since what brakes
/// overshoots when it is taken at the start.
tdScheme td_articulated_law_scheme(const tdModel *model);
/// Laws of joints at q_e, v_e into the state's law: forces, slopes by position and by rate.
void td_articulated_laws(const tdModel *model, const tdBody *body, const tdState *state, const double *q_e,
                         const double *v_e, bool secant);
/// A without the laws of joints. all: with stiffness that may make it indefinite.
void td_articulated_matrix(const tdModel *model, const tdBody *body, tdState *state, bool all);
/// The free motion of one linearization: m, A, dv.
tdStatus td_articulated_linear_motion(const tdModel *model, const tdBody *body, tdState *state);
/// After it, when constraints have given v_new: the energy [J] that laws of joints did because they were taken at
/// another velocity.
double td_articulated_astray(const tdModel *model, const tdBody *body, tdState *state);
/// Tells the step of a solution.
void td_articulated_solved(const tdBody *body, tdState *state);
tdStatus td_articulated_indefinite(const tdModel *model, tdState *state);

/// The same for one instruction set (articulated_kernel.c).
typedef struct tdTreeKernel
{
    void (*kinematics)(const tdArticulated *, const double *, const double *, tdTreeWork *);
    void (*velocities)(const tdArticulated *, const double *, tdTreeWork *);
    void (*inverse)(const tdArticulated *, const double *, const double *, const double *, tdTreeWork *, double *);
    void (*weights)(const tdArticulated *, const double *, tdTreeWork *, double *);
    void (*mass)(const tdArticulated *, tdTreeWork *, double *);
    void (*gyration)(const tdArticulated *, const double *, tdTreeWork *, double *);
    void (*gravity_stiffness)(const tdArticulated *, const double *, tdTreeWork *, double *);
    void (*hanging_stiffness)(const tdArticulated *, const double *, tdTreeWork *, double *);
    void (*momentum)(const tdArticulated *, const double *, tdTreeWork *, double *, double *, double *, double *);
    void (*carried)(const tdArticulated *, const double *, int, tdTreeWork *, tdCarried *);
    double (*potential)(const tdArticulated *, const double *, const tdTreeWork *);
    const double *(*along)(const tdArticulated *, tdTreeWork *, int64_t, const double *);
    void (*rows)(const tdArticulated *, tdTreeWork *, int, int, double[3][6], double *);
} tdTreeKernel;

extern const tdTreeKernel td_tree_kernel_portable, td_tree_kernel_avx2;

// ---------------------------------------------------------------- articulated_dynamics.c: dense matrices of trees

double td_small_dot(int64_t n, const double *a, const double *b);
/// y += factor A x
void td_small_multiply(int64_t n, double factor, const double *A, const double *x, double *y);
/// x' M x
double td_small_product(int64_t n, const double *M, const double *x);
/// L' L = A, lower triangles; L has the reciprocals of its diagonal. False: not definite.
bool td_small_cholesky(int n, const double *A, double *L);
/// x = A^-1 x
void td_small_solve(int n, const double *L, double *x);
/// With mean = (M0 + M1)/2 and turn = (M1 - M0)/2 + time B: w = [mean - (1 - late) turn] v, B = mean + late turn.
void td_small_mix(int64_t n, double time, double late, const double *M0, const double *M1, const double *v, double *B,
                  double *w);
/// x = B^-1 x, of a B whose symmetric part is definite; B is lost. False: it is not.
bool td_small_unravel(int n, double *B, double *x);
/// x = B^-1 x by elimination with row exchanges; B is lost. False: singular.
bool td_small_eliminate(int n, double *B, double *x);

/// The same for one instruction set (small_kernel.c).
typedef struct tdSmallKernel
{
    double (*dot)(int64_t, const double *, const double *);
    void (*multiply)(int64_t, double, const double *, const double *, double *);
    double (*product)(int64_t, const double *, const double *);
    bool (*cholesky)(int, const double *, double *);
    void (*solve)(int, const double *, double *);
    void (*mix)(int64_t, double, double, const double *, const double *, const double *, double *, double *);
    bool (*unravel)(int, double *, double *);
    bool (*eliminate)(int, double *, double *);
} tdSmallKernel;

extern const tdSmallKernel td_small_kernel_portable, td_small_kernel_avx2;

// ---------------------------------------------------------------- articulated_drift.c: Coriolis and gyroscopic forces

/// Whether they are in the drifts before and after the forces of the step; else they are among its forces (Newmark).
bool td_articulated_drifts(const tdModel *model);
/// See tdBodyOps. writes  v, M, kick_q, kick_v, potential, momentum
void td_articulated_set_out(const tdModel *model, const tdBody *body, tdState *state);
/// From where the kick was to the present q. writes  v, M_end, next
void td_articulated_come_in(const tdModel *model, const tdBody *body, tdState *state);

// ---------------------------------------------------------------- articulated_points.c: links as others see them

/// Poses of all links in the world for the coordinates q of the body; valid until the next call.
const tdPose *td_articulated_poses(const tdBody *body, const tdState *state, const double *q);
/// Places `points` where a step ends, so that the next one need not do it again.
void td_articulated_place_end(const tdBody *body, const tdState *state, const double *q);
/// When a step is accepted: rotations go into the references, and what is known of the end of the step is kept.
void td_articulated_fold(const tdBody *body, const tdState *state, double *q);
/// Velocity of the link's origin, then its angular velocity, both in the world, for q and v of the body.
void td_articulated_twist(const tdBody *body, const tdState *state, const double *q, const double *v, int link,
                          double twist[6]);
/// See tdBodyOps: A is dense, all of it takes part; parts are links.
tdStatus td_articulated_condense(const tdBody *body, tdState *state, tdBodyBlock *out);
void td_articulated_part_pose(const tdBody *body, const tdState *state, const double *q, const double *v, int link,
                              tdPose *pose, double twist[6]);
void td_articulated_part_rate(const tdBody *body, const tdState *state, const double *q, int link,
                              const double point[3], int32_t coord, double twist[6]);
void td_articulated_carried(const tdBody *body, const tdState *state, const double *q, const double *v, int link,
                            tdCarried *out);
int32_t td_articulated_touch(const tdBody *body, tdState *state, const tdTouchPoint *point, int link,
                             const tdBodyBlock *block, double sign, double frame[3][3], double *J, int32_t *columns,
                             double *drift);
void td_articulated_push_side(const tdBody *body, const tdState *state, const tdTouchPoint *point, int link,
                              const double f[3], double *m);
/// row[n] += J' f for a force f at a point of a link (in the link's frame): by coordinate of the body.
void td_articulated_push(const tdBody *body, const tdState *state, const double *q, int link, const double local[3],
                         const double f[3], double *row);

/// J[3 x n] of that point, dx/dt = J v.
void td_articulated_jacobian(const tdBody *body, const tdState *state, const double *q, int link, const double local[3],
                             double *J);
/// Coordinates that move a link, ascending, into coord[n]; returns how many.
int td_articulated_path(const tdBody *body, int link, int32_t *coord);

tdStatus td_articulated_point_set(tdModel *model, const tdBody *body, tdPointSet *set, tdError *error);
void td_articulated_positions(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q,
                              double *x);
void td_articulated_pull(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q,
                         const double *f, double *row);
void td_articulated_stiffen(const tdModel *model, const tdBody *body, tdState *state, const tdPointSet *set, int32_t i,
                            int32_t j, const double H[9], bool definite);
/// Springs of the state on the links, where forces are taken: load += J'f, A += factor J'k J.
void td_articulated_spring_loads(const tdBody *body, const tdState *state, double *load);
void td_articulated_spring_stiffness(const tdBody *body, const tdState *state, double factor, double *A);
const double *td_articulated_nodes(const tdModel *model, const tdBody *body, const tdState *state);
const double *td_articulated_node_velocities(const tdModel *model, const tdBody *body, const tdState *state);

// ---------------------------------------------------------------- articulated_shape.c: triangles of shapes

/// Triangles of a body's drawing that are of one link and one colour; a plane is always one of its own.
typedef struct tdLinkPart
{
    int shape;                   ///< where the next one starts
    int64_t triangle, triangles; ///< first of the surface, how many
    int link;
    bool plane, coloured;
    float colour[4]; ///< where it is coloured: red, green, blue, opacity
} tdLinkPart;

/// The first part of a body from a zeroed one, then the next; false: there is none left.
bool td_articulated_part(const tdArticulated *body, tdLinkPart *part);
