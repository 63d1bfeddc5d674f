// SPDX-License-Identifier: Apache-2.0
// Inside a reduced body: its tables, its state, and what its kernels read and write.
//
// Columns of all matrices are the coordinates (alpha, u) and, up to `stride`, zeros. A body that a frame carries has
// the coordinates (alpha, x, theta); only A and what constraints add to it know of the last two, in rows of `wide`. The
// rows of B of a point batch (four points, one a lane) stand as F does: row 4 c + l is component c of lane l.
#pragma once
#include "body/soft.h"
#include "core/parts.h"
#include "reduce/floating.h"
#include "reduce/reduced.h"
#include "reduce/residual.h"
#include "reduce/stvk.h"

/// A dead load: force on the coordinates for an input of 1.
typedef struct tdReducedLoad
{
    int32_t input; ///< -1: constant 1
    double *force; ///< n
} tdReducedLoad;

/// Points that constraints act on: x = rest + X (alpha, u), in a frame from its centre.
typedef struct tdReducedSet
{
    int64_t first; ///< row of its first point among those of all sets, for the state
    double *X;     ///< 3 n_points x stride
    double *rest;  ///< 3 n_points
    // A closed surface instead: V = sum T_ijk y_i y_j y_k with y = (1, alpha, u), T symmetric, i >= j >= k kept.
    double *T;
    int number; ///< among the sets of the body
    int32_t n;  ///< points; of a volume none
} tdReducedSet;

#define TD_REDUCED_SETS  4096 // point sets of one body
#define TD_REDUCED_MODES 4096 // modes and moved coordinates together

/// What training did with an actuator.
typedef struct tdDriveRange
{
    int actuator;
    tdDrive drive;    ///< what was given of it there, whatever is given of it now
    double low, high; ///< between which values
} tdDriveRange;

typedef struct tdReduced
{
    tdSoft *soft; ///< its mesh, materials and supports
    int r, n_u, n;
    int stride;           ///< n, rounded up to whole registers
    int coords;           ///< of the body: n, and 6 of a frame
    int wide;             ///< coords, rounded up
    tdFloating *floating; ///< NULL: no frame
    int32_t *input;       ///< n_u: which input moves a held coordinate; -1: constant 1
    int32_t *held;        ///< n_u
    double *basis;        ///< 3 n_nodes x stride: (Phi, Psi)
    double *M;            ///< stride^2, exact
    double *start;        ///< n: velocity at the start
    double *gravity;
    double *weight; ///< 3 n: the load of 1 m/s^2 along each axis; of bodies without a frame
    int n_loads;
    tdReducedLoad *loads;
    tdStvk stvk;     ///< polynomials of (alpha, u) in the place of a domain; r = 0: none
    tdSoft domain;   ///< blocks of the elements that stand for all, weights included; only what their points need
    double *B;       ///< 36 x stride a point batch of the domain
    float *B_single; ///< the same in rows of `stride_single`, for the tangent; NULL: double precision throughout
    int stride_single;
    double **lanes;       ///< by block: B by point batch, mode, component, point, where it is read so; else NULL
    float **lanes_single; ///< by block: the same of pairs of point batches, in single precision; NULL, or none of it
    double *F0;           ///< 36 a point batch
    double **constant;    ///< by block: stride^2, the part 2 mu sum w B'B of a corotational law's K; NULL: no such law
    // Whether it is to be trusted (reduced_check.c)
    struct tdReduced *check; ///< domain of a second, independent choice of elements; NULL: none
    double *low, *high;      ///< r: range of each amplitude in training; NULL: not known
    int n_forces;            ///< dead loads by input: their ranges in training, none: low = high = 0
    int32_t *force_input;
    double *force_low, *force_high;
    int n_ranges; ///< actuators whose range in training is known
    tdDriveRange *ranges;
    int free_modes;                  ///< the first, in which a body translates as a whole: no matter how far
    double amplitude;                ///< largest displacement in training, as a norm of amplitudes
    double slope, offset, threshold; ///< of the indicator; NAN: not calibrated
    double far;                      ///< distance that is warned of
    tdResidual *residual;            ///< what modes lack where something touches (reduced_dents.c)
    bool enriched;                   ///< it is part of the answer; else only of the warning
    int64_t set_rows;                ///< of all point sets
    int n_sets;
    tdReducedSet *sets[TD_REDUCED_SETS];
    tdBodyModes modes; ///< what others ask for
} tdReduced;

/// Of a frame.
typedef struct tdFloatingState
{
    double *turn;         ///< 4: R_ref as a quaternion, kept from step to step
    double damping;       ///< the state's factor on it
    double l0[3], *p0;    ///< momenta at the start of the step: angular in the frame, of the modes
    double gain[3];       ///< of angular momentum, in the last evaluation
    bool linear;          ///< that was a first pass
    int looks;            ///< kinematics since the step began
    tdInertia at_e, at_c; ///< where forces are taken; elsewhere
    double *mass;         ///< wide^2
    double *X;            ///< set_rows x wide: motion of points, in the axes of the frame
    double *bend[2];      ///< wide^2: forces on turning points, in balance among themselves and other
    bool bent[2];
    double *p, *slope, *coriolis, *part;  ///< for the moment only,
    double *v, *q_e, *q_c, *v_e, *change; ///< of a first pass too
} tdFloatingState;

#define TD_DENT_NODES   32 // touched nodes that have dents of their own, at most: the nearest
#define TD_DENT_KEPT    64 // nodes whose forces are kept: touched ones and those that were
#define TD_DENT_SOURCES (TD_DENT_KEPT + 3 * TD_SPRINGS)

/// A force that makes dents.
typedef struct tdDentSource
{
    int32_t node;
    const double *G;         ///< column of the node
    double R[9], R_modes[9]; ///< how the surface is turned there, in the world and seen from the body's frame
    double g[3];             ///< along the axes of rest, over the state's factor on moduli
} tdDentSource;

#define TD_DENT_GOOD  0.5 // of the first term of the series of a dent: up to here its second is taken whole,
#define TD_DENT_LARGE 0.8 // and from here on not at all

#define TD_PATCH_ELEMENTS 1024
#define TD_PATCH_CORNERS  10
#define TD_PATCH_NODES    1024

/// Elements under touched places (reduced_patch.c); scratch of a step, but what it was gathered for.
typedef struct tdPatch
{
    int n_around;
    int32_t around[TD_DENT_KEPT]; ///< nodes
    int n, n_nodes;
    int32_t *lane, *from;  ///< by element: 4 point batch + lane of its first point; the force it is near
    int32_t *corner;       ///< TD_PATCH_CORNERS each: its nodes, as numbered here
    int32_t *node;         ///< in the body
    double *x, *w, *force; ///< 3 a node: by modes, by dents; what elements add
    double *rest;          ///< D at rest by block of the body
} tdPatch;

/// The dent that a spring pulls out.
typedef struct tdSpringDent
{
    double share; ///< of the small response to its force
    double ratio; ///< of what elements add to it
} tdSpringDent;

/// Dents (reduced_dents.c).
typedef struct tdDents
{
    // from step to step
    int64_t *node; ///< TD_DENT_KEPT: nodes that forces act on; -1: no more
    double *force; ///< 3 each
    // of this step
    int n;                          ///< nodes that are touched,
    int32_t touched[TD_DENT_NODES]; ///< the nearest first,
    double gap[TD_DENT_NODES];
    bool left_out;                    ///< and there are more
    bool made;                        ///< what follows is there
    bool stays[TD_DENT_KEPT];         ///< a node of the last step is touched in this one too
    const double *G[TD_DENT_NODES];   ///< columns of the touched nodes
    double R[TD_DENT_NODES][9];       ///< rotations there
    double share;                     ///< of the flexibility that acts
    double d[3 * TD_DENT_NODES];      ///< dents at the start, less what others leave
    double v[3 * TD_DENT_NODES];      ///< how fast they grow
    double v_star[3 * TD_DENT_NODES]; ///< and would if nothing touched
    double *D;                        ///< inverse of their flexibility, (3 n)^2
    double *T;                        ///< force by velocity: c slope + beta D^-1
    uint64_t spring_key[TD_SPRINGS];  ///< of what was last found for springs; 0: nothing
    tdSpringDent spring[TD_SPRINGS];
    int next_spring;
    double first, second; ///< twice the energy of small dents at the start, and what elements add
    tdPatch patch;
    double *A;     ///< of the whole block
    double *modal; ///< n of the body, scratch
} tdDents;

typedef struct tdReducedState
{
    const double *factors;         ///< TD_FACTORS of the state
    tdSoftState points;            ///< F, R, history and sums of the domain
    tdSoftState whole;             ///< the same of all elements, for output; F NULL: nobody has asked
    double *K, *K_damping, *A, *L; ///< stride^2; both triangles, but of L the lower one
    double *rows;                  ///< of the kernels: TD_REDUCED_WORK(stride)
    double *at;                    ///< stride: where F was taken, or will be
    double *sum;                   ///< stride: force
    double *stiff[2];              ///< set_rows x stride: what constraints stiffen times X, definite and other
    bool *stiffened;               ///< by set
    double *coupling;              ///< stride^2: stiffness of volumes, which has no sign of its own
    const tdReducedSet *volume;    ///< that S was made for,
    double *y, *S;                 ///< with y: S_ij = sum T_ijk y_k; rows of `stride` + 4
    double *polynomial;            ///< scratch of polynomials, td_stvk_scratch(n), and of eigenvectors, 2 r^2
    double elastic;                ///< energy of polynomials
    double *node_x, *node_v;       ///< 3 n_nodes: expanded
    tdFloatingState *floating;     ///< NULL: no frame
    struct tdReducedState *check;  ///< points of the second choice
    double *check_force, *check_L; ///< stride, stride^2
    bool checking;                 ///< it can be judged: there is a second choice, and the body is held
    double *excess;                ///< 1: how far actuators were beyond training, as far as the shape remembers it
    double forgets;                ///< [1/s] how fast it does: the slowest mode at rest
    bool warned;                   ///< some step was not to be trusted
    bool warned_of_touch;          ///< or forces where something touches
    bool current;                  ///< F is that of `at`, if it is there: td_reduced_current()
    const double *filled;          ///< F when it was made
    const void **holder; ///< whose F and R are there: other states may have been in the same room (base/room.h)
    bool projecting, damping_kept, K_valid;
    bool arrived;        ///< forces and K are those of `at`, even if F and R are not there any more
    bool first;          ///< no forces of this step have been taken yet
    double energy_start; ///< elastic, at the start of the step
    double *K_apart;     ///< room for K_damping where it is not K
    double damped;       ///< K is K + damped K_damping; 0: K
    tdDents *dents;      ///< NULL: nothing can touch it, or there is no local flexibility
} tdReducedState;

/// F and R, which are in a room, with who holds them.
bool td_reduced_take_points(tdArena *arena, const tdReduced *reduced, tdReducedState *mine);

/// Whether F, and R of laws that turn with it, are there and those of `at`.
static inline bool td_reduced_current(const tdReducedState *mine)
{
    return mine->current && mine->filled == mine->points.F && *mine->holder == mine;
}

static inline void td_reduced_set_current(tdReducedState *mine)
{
    mine->current = true;
    mine->filled = mine->points.F;
    *mine->holder = mine;
}

/// Arguments of the kernels: of one block of the domain.
typedef struct tdReducedWork
{
    tdElementWork points;
    int stride;
    const double *B, *F0;  ///< of the block, from its point batch `first` on
    const float *B_single; ///< the same rows, for the tangent alone, `stride_single` apart; NULL: in double precision
    int stride_single;
    const double *lanes;       ///< B by point batch, mode, component, point; NULL: it is not there
    const float *lanes_single; ///< the same of pairs of point batches, for the tangent alone; NULL: likewise
    int n;                     ///< modes and held coordinates
    int64_t first;
    const double *q;    ///< stride; NULL: F is there
    double *rows;       ///< TD_REDUCED_WORK(stride)
    double *force;      ///< stride, added to
    double damped;      ///< K + damped K_damping instead of K
    tdRotationUse spin; ///< of a corotational law: without the constant part of K; else TD_ROTATION_NONE
    double *K;          ///< stride^2, lower triangle added to; NULL: forces only
} tdReducedWork;

#define TD_REDUCED_ROWS 72 // of one rank update: two point batches
#define TD_REDUCED_TILES(stride)                                                                                       \
    (96 * ((size_t)(stride) / 3 + 1) * ((size_t)(stride) / 4 + 1)) ///< sums of eight numbers for each of K, in tiles
#define TD_REDUCED_WORK(stride)                                                                                        \
    (140 * (int64_t)(stride) + 144 +                                                                                   \
     (int64_t)TD_REDUCED_TILES(stride)) ///< numbers that a pass needs room for: rows and stresses of a piece, sums

typedef struct tdReducedKernels
{
    /// F and R of all points.
    void (*gradients)(const tdReducedWork *work);
    /// F and R where work->q is given, then forces and tangent.
    void (*forces)(const tdReducedWork *work);
    /// What stiffness damping multiplies, at F.
    void (*damping)(const tdReducedWork *work);
    /// F, R and w P of one batch of elements: 36 a point batch.
    void (*stress)(const tdReducedWork *work, int32_t batch, double *P);
    /// K += X'Y, lower triangle, n columns (a multiple of 4).
    void (*gram)(int64_t rows, int n, const double *X, const double *Y, double *K);
    /// L L' = A on the first n coordinates, lower triangles; L has the reciprocals of its diagonal. False: not
    /// definite.
    bool (*cholesky)(int n, int stride, const double *A, double *L);
    /// x = A^-1 x for `count` columns, `step` apart.
    void (*solve)(int n, int stride, const double *L, int count, int64_t step, double *x);
    /// Of some nodes, by their numbers: x = basis a and y = basis b, n columns.
    void (*expand)(int n, int stride, const double *basis, int32_t n_nodes, const int32_t *nodes, const double *a,
                   const double *b, double *x, double *y);
} tdReducedKernels;
const tdReducedKernels *td_reduced_kernels(tdIsa isa);

static inline const tdReduced *td_reduced_of(const tdBody *body)
{
    return body->data;
}

/// Coordinates that are not held: the first of them.
static inline int td_reduced_unknowns(const tdReduced *reduced)
{
    return reduced->coords - reduced->n_u;
}

static inline tdReducedState *td_reduced_mine(const tdBody *body, const tdState *state)
{
    return (tdReducedState *)state->bodies[body->index];
}

/// What the kernels of block b of the domain read and write.
tdReducedWork td_reduced_work(const tdReduced *reduced, int b, tdReducedState *mine, const tdState *state);

/// reduced.c: points of the domain. Where F will be taken; false: it is there already.
bool td_reduced_move(const tdReduced *reduced, tdReducedState *mine, const double *q);
/// F at `at`, and the rotations that are kept during a step when `lagged`.
void td_reduced_gradients(const tdReduced *reduced, tdReducedState *mine, const tdState *state, bool lagged);
/// Forces of the domain, and the tangent where K is given; F on the way where it is not there yet.
void td_reduced_domain_forces(const tdModel *model, const tdReduced *reduced, tdReducedState *mine,
                              const tdState *state, double *force, double *K);
void td_reduced_history_begin(const tdReduced *reduced, tdReducedState *mine, double h);

/// reduced_lanes.c: reduced->lanes; the same in single precision.
tdStatus td_reduced_build_lanes(tdArena *arena, tdReduced *reduced, tdError *error);
tdStatus td_reduced_build_lanes_single(tdArena *arena, tdReduced *reduced, tdError *error);

/// reduced_check.c
tdStatus td_reduced_check_compile(tdModel *model, int body, tdReduced *reduced, const tdRom *rom, bool whole,
                                  tdError *error);
bool td_reduced_check_take(const tdModel *model, tdArena *arena, const tdReduced *reduced, tdReducedState *mine,
                           const tdState *state);
void td_reduced_judge(const tdModel *model, const tdBody *body, tdState *state);

/// reduced_stvk.c: bodies whose forces are polynomials.
static inline bool td_reduced_polynomial(const tdReduced *reduced)
{
    return reduced->stvk.r > 0;
}
tdStatus td_reduced_stvk_compile(tdReduced *reduced, const tdRom *rom, tdError *error);
/// Numbers of state->polynomial.
int64_t td_reduced_stvk_scratch(const tdReduced *reduced);
/// Force [n] and K (NULL: energy instead) at mine->at.
void td_reduced_stvk_forces(const tdReduced *reduced, tdReducedState *mine, tdIsa isa, double *force, double *K);
/// Takes away what makes K indefinite on the unknowns, if it is. True: it was.
bool td_reduced_stvk_project(const tdReduced *reduced, tdReducedState *mine, tdIsa isa, double *K);

/// reduced_frame.c: what a frame adds to the stages; nothing where the body has none.
tdStatus td_reduced_frame_compile(tdModel *model, tdReduced *reduced, const tdRom *rom, tdError *error);
tdStatus td_reduced_frame_take(tdArena *arena, const tdReduced *reduced, tdReducedState *mine, tdError *error);
/// Whether rotations of the lagged law are those of each iterate.
bool td_reduced_rotation_follows(const tdModel *model, const tdState *state);
/// y += factor K x, K rows x columns
void td_reduced_multiply_add(int rows, int columns, int stride, double factor, const double *K, const double *x,
                             double *y);
/// reduced_keep.c: see tdBodyOps.
int td_reduced_arrays(const tdModel *model, const tdBody *body, tdState *state, tdStateArray *out, int most);
tdStatus td_reduced_restore(const tdModel *model, const tdBody *body, tdState *state, tdError *error);
double td_reduced_keeps(const tdBody *body, const tdState *state);
unsigned td_reduced_varies(const tdBody *body);
void td_reduced_vary(const tdModel *model, const tdBody *body, tdState *state);

/// reduced_energy.c: elastic energy where forces were taken last; what the blocks counted goes into the report and the
/// state's bad element; see tdBodyOps.arrive and tdBodyOps.energy.
double td_reduced_elastic(const tdReduced *reduced, const tdReducedState *mine);
void td_reduced_sum_blocks(const tdReduced *reduced, const tdBody *body, const tdReducedState *mine, tdState *state);
void td_reduced_arrive(const tdModel *model, const tdBody *body, tdState *state, tdArrival *arrival);
void td_reduced_energy(const tdModel *model, const tdBody *body, tdState *state, double *kinetic, double *elastic);
/// Of bodies that have one. Momenta of the start; after a step the turn goes into the reference.
void td_reduced_frame_begin(const tdReduced *reduced, tdReducedState *mine, const double *q, const double *v);
void td_reduced_frame_commit(const tdReduced *reduced, tdReducedState *mine, double *q);
/// After integration: the angular velocity that has the momentum which a step of one linearization ends with.
void td_reduced_frame_arrive(const tdModel *model, const tdReduced *reduced, tdReducedState *mine, const tdState *state,
                             const double *q, double *v);
/// m[coords] of inertia and mass damping, and the mass matrix when `tangent`. Returns the square of their size.
double td_reduced_frame_inertia(const tdModel *model, const tdBody *body, tdState *state, bool tangent, double *m);
void td_reduced_frame_loads(const tdModel *model, const tdBody *body, const tdState *state, double *load);
double td_reduced_frame_kinetic(const tdReduced *reduced, tdReducedState *mine, const double *q, const double *v);
/// A = of_mass times the mass, rows of `wide`.
void td_reduced_frame_matrix(const tdReduced *reduced, const tdReducedState *mine, double of_mass, double *A);
void td_reduced_frame_nodes(const tdReduced *reduced, const tdReducedState *mine, const double *q, double *out);
void td_reduced_frame_velocities(const tdReduced *reduced, const tdReducedState *mine, const double *q, const double *v,
                                 double *out);

/// reduced_touch.c: what contact sees. Positions x and velocities u (3 a node, by the numbers of nodes) of some nodes.
void td_reduced_surface(const tdBody *body, const tdState *state, int32_t n, const int32_t *nodes, double *x,
                        double *u);
/// See tdBodyOps: all unknowns take part.
tdStatus td_reduced_condense(const tdBody *body, tdState *state, tdBodyBlock *out);
int32_t td_reduced_touch(const tdBody *body, tdState *state, const tdTouchPoint *point, int part,
                         const tdBodyBlock *block, double sign, double axes[3][3], double *J, int32_t *columns,
                         double *drift);
void td_reduced_push(const tdBody *body, const tdState *state, const tdTouchPoint *point, int part, const double f[3],
                     double *m);

/// reduced_dents.c: dents.
bool td_reduced_dents_take(const tdModel *model, tdArena *arena, const tdReduced *reduced, tdReducedState *mine,
                           tdIsa isa);
void td_reduced_part_none(const tdBody *body, tdState *state);
bool td_reduced_part_point(const tdBody *body, tdState *state, const tdTouchPoint *point);
/// The block with the velocities of dents, where there are any.
void td_reduced_dents_block(const tdBody *body, tdState *state, tdBodyBlock *out);
/// Nodes of a point that have dents: three columns each, and their weights. Returns how many.
int32_t td_reduced_dents_touch(const tdBody *body, const tdState *state, const tdTouchPoint *point,
                               const tdBodyBlock *block, int32_t columns[3 * TD_TOUCH_NODES],
                               double weights[TD_TOUCH_NODES]);
void td_reduced_dents_arm(const tdBody *body, const tdState *state, int n, const int32_t *nodes, const double *weights,
                          double x[3]);
/// Positions x, by node, of these nodes (NULL: the first n), or of the points of a set: dents are added.
void td_reduced_dents_nodes(const tdBody *body, const tdState *state, int32_t n, const int32_t *nodes, double *x);
void td_reduced_dents_move(const tdBody *body, const tdState *state, const tdPointSet *set, double *x);
/// Stiffness of a spring and of the dent that it makes, one after the other; false: of the spring alone. And dents that
/// contacts make where it is tied, added to x.
void td_reduced_dents_tie(const tdBody *body, const tdSpring *spring);
bool td_reduced_dents_spring(const tdBody *body, const tdState *state, const tdSpring *spring, double H[9]);
/// By how much elements under it change the dent of a spring, to second order.
tdSpringDent td_reduced_dents_share(const tdBody *body, const tdState *state, const tdSpring *spring);
void td_reduced_dents_at(const tdBody *body, const tdState *state, const tdSpring *spring, double x[3]);
/// By how much of themselves forces of touch are off.
double td_reduced_dents_judge(const tdModel *model, const tdBody *body, tdState *state);
#define TD_DENT_WARNING 0.1 // that is warned of
void td_reduced_dents_commit(const tdModel *model, const tdBody *body, tdState *state);

/// reduced_give.c: how the surface at a node has turned since rest, in the world and seen from the frame; a force that
/// makes dents (false: it has no column); u += factor R times the dent of forces at a node; out = factor R_i G R_j'.
void td_dents_turn(const tdBody *body, const tdState *state, int32_t node, double R[9], double local[9]);
bool td_dents_source(const tdBody *body, const tdState *state, int32_t node, const double f[3], tdDentSource *out);
void td_dents_add(int n, const tdDentSource *sources, int64_t node, const double *R, double factor, double u[3]);
void td_dents_turned(const double *Ri, const double *G, const double *Rj, double factor, double out[9]);

/// reduced_patch.c: forces on the nodes of the elements around forces, beyond those of a linear response. Returns how
/// many elements there are. Then what they do along the dent of a node, in the axes of rest.
bool td_reduced_patch_take(tdArena *arena, const tdReduced *reduced, tdPatch *patch);
void td_reduced_patch_rest(const tdReduced *reduced, tdIsa isa, tdPatch *patch);
int td_reduced_patch(const tdBody *body, const tdState *state, tdPatch *patch, int n, const tdDentSource *sources);
void td_reduced_patch_along(const tdPatch *patch, const double *G, double rho[3]);

/// reduced_modes.c: see tdBodyOps.
const double *td_reduced_nodes(const tdModel *model, const tdBody *body, const tdState *state);
const double *td_reduced_node_velocities(const tdModel *model, const tdBody *body, const tdState *state);
void td_reduced_fields(const tdModel *model, const tdBody *body, tdState *state, double *von_mises, double *density);
/// When all else is there; see tdBodyOps.
void td_reduced_list_modes(tdReduced *reduced);
double *td_reduced_turns(const tdBody *body, const tdState *state);
void td_reduced_frame_motion(const tdBody *body, const double *turn, const double *q, tdPose *pose);
void td_reduced_expand(const tdBody *body, const double *turn, const double *q, const double *v, double *x, double *dx);

/// reduced_points.c
tdStatus td_reduced_point_set(tdModel *model, const tdBody *body, tdPointSet *set, tdError *error);
void td_reduced_positions(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, double *x);
void td_reduced_pull(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, const double *f,
                     double *row);
void td_reduced_bend(const tdBody *body, tdState *state, const tdPointSet *set, const double *q, const double *f);
void td_reduced_stiffen(const tdModel *model, const tdBody *body, tdState *state, const tdPointSet *set, int32_t i,
                        int32_t j, const double H[9], bool definite);
tdStatus td_reduced_volume_set(tdModel *model, const tdBody *body, const struct tdMeasure *measure, tdPointSet *set,
                               tdError *error);
double td_reduced_volume(const tdBody *body, tdState *state, const tdPointSet *set, const double *q, double *row);
void td_reduced_volume_stiffen(const tdBody *body, tdState *state, const tdPointSet *set, const double *q,
                               double factor);
/// A += factor times the stiffness of constraints.
void td_reduced_add_coupling(const tdReduced *reduced, tdReducedState *mine, const tdState *state, double factor,
                             double *A);
/// Where a spring is tied as modes move it.
void td_reduced_spring_point(const tdBody *body, const tdState *state, const tdSpring *spring, const double *q,
                             double x[3]);
/// Springs of the state on the body: at q_e into state->load, and A += factor times their stiffness (lower triangle).
void td_reduced_spring_loads(const tdBody *body, tdState *state);
void td_reduced_spring_stiffness(const tdBody *body, const tdState *state, double factor, double *A);
void td_reduced_clear_coupling(const tdReduced *reduced, tdReducedState *mine);

/// reduced_compile.c: the blocks of some elements: weight[e] > 0 for those that are in. From td_soft_build's tables.
/// lane: room for all elements and 4 a block; by lane of the domain, 4 batch + lane in the block of `soft`.
tdStatus td_reduced_domain(tdArena *arena, const tdSoft *soft, const double *weight, tdSoft *domain, int32_t *lane,
                           tdError *error);
/// The domain of the file's first or second choice of elements, or of all, with its rows.
tdStatus td_reduced_build_domain(tdArena *arena, tdReduced *reduced, const tdRom *rom, bool whole, bool second,
                                 tdError *error);
/// Rows of B (36 x stride) and F0 (36) of one point batch.
void td_reduced_rows(const tdSoft *soft, const double *basis, int stride, const tdElements *block,
                     const int32_t lane[4], int point, double *B, double *F0);
