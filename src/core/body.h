// SPDX-License-Identifier: Apache-2.0
// The seam of the engine. Whatever a body is made of, a step sees it through these few calls; they leave
// behind the same small problem
//
//     A (v - v*) = J' lambda
//
// with A = dm/dv, v* the motion without constraints, and J the rows of all constraints. A new kind of
// body implements tdBodyOps and gets contact, actuation, control and haptics; a new constraint adds rows
// and works on every kind of body.
#pragma once
#include "base/status.h"

typedef struct tdBodyOps tdBodyOps;
typedef struct tdBodyState tdBodyState;
typedef struct tdStateArray tdStateArray;
struct tdMeasure;
struct tdPose;      // collide/shape.h
struct tdBodyParts; // core/parts.h
struct tdBodyModes;

/// What a body is like where a step has brought it.
typedef struct tdArrival
{
    double kinetic, elastic; ///< [J] at the present q and v
    double elastic_start;    ///< at the start of the step, with the same memory of the material
    double force_work;       ///< internal forces at the present q times the motion of the step [J]
    double force_work_start; ///< the same with those at its start
    bool remembers;          ///< its material relaxes: `elastic` and `elastic_start` are a potential of this step alone
    bool turns;              ///< nothing holds it, and what follows is known
    double turning[3];       ///< angular momentum about the origin [kg m^2/s],
    double spin[3];          ///< and about its centre of mass
    double inertia;          ///< about the same, mass times the square of the distance [kg m^2]
    double drift;            ///< [J] of the motion of that centre
    double braked;           ///< the share of it that damping by mass takes in a second
    double unpaid;           ///< [J] that the step would have lifted it above its energy, had it gone its whole way, or
                             ///< that laws did which were taken elsewhere than where it ended
} tdArrival;

/// A body in the constraint problem: the velocities that take part in it, and their inertia with all others condensed
/// away.
typedef struct tdBodyBlock
{
    int32_t n;             ///< velocities that take part
    int32_t stride;        ///< of A, >= n
    const double *A;       ///< symmetric positive definite; only i >= j of A[i + j stride] is read
    const double *L;       ///< its Cholesky factor, lower triangle by columns, stride n; NULL: it is not known
    const double *reverse; ///< of a tree: see tdSapBlock; NULL: none
    const int32_t *coord;  ///< n: the coordinate of each; NULL: the first n coordinates in order
    const int32_t *column; ///< by coordinate: its row of A, -1: none; with coord
    int32_t touched;       ///< columns that a row of a point of three nodes has, at most
    /// All of its unknowns take part, and A is sparse (solve/sap.h): A and L are not there. NULL: as above.
    const struct tdSapSparse *sparse;
    /// Then: impulses, by coordinate, that the free motion is without (v* = v_new + dv + A^-1 of them); NULL: none.
    const double *impulse;
    /// The last of the n are velocities of the body's own that are no coordinates (dents of a reduced body): what they
    /// are without constraints, and where they start from; their solution is written there.
    int32_t n_own;
    const double *own_star;
    double *own_v;
} tdBodyBlock;

/// Row of A that a coordinate of the body has; -1: none.
static inline int32_t td_block_column(const tdBodyBlock *block, int64_t coord)
{
    return block->column != NULL ? block->column[coord] : coord < block->n - block->n_own ? (int32_t)coord : -1;
}

/// The coordinate that belongs to a row of A; -1: it is the body's own.
static inline int64_t td_block_coord(const tdBodyBlock *block, int32_t row)
{
    return row >= block->n - block->n_own ? -1 : block->coord != NULL ? block->coord[row] : row;
}

/// A row that a body brings into the problem itself, e.g. a limit of a joint, over one of its coordinates: effort =
/// clamp(-stiffness error - damping (ratio v - rate)), the error growing by ratio v.
typedef struct tdBodyRow
{
    int32_t coord;
    double ratio, error, stiffness, damping, rate;
    double low, high; ///< of the impulse
} tdBodyRow;

/// A point of a body that something touches: on its surface a weighted mean of nodes, else on one of its parts.
typedef struct tdTouchPoint
{
    int32_t n;            ///< nodes, TD_TOUCH_NODES at most, each of them once; 0: on a part
    const int32_t *node;  ///< of the body
    const double *weight; ///< with the sum 1
    const double *local;  ///< on a part: the place in its frame
    double gap;           ///< to what touches, where points are listed [m]
    bool turns;           ///< on a part: what counts is its angular velocity, and what pushes is a torque
} tdTouchPoint;

/// A part of a body and all that hangs on it.
typedef struct tdCarried
{
    double mass, moment[3];       ///< [kg], mass times center [kg m]
    double linear[3], angular[3]; ///< momentum, and that about the world's origin
} tdCarried;

#define TD_TOUCH_NODES 30 // three corners of a triangle, each a point of an element with ten nodes

/// A body in the model. Its coordinates are [first, first + count) of the state's vectors.
typedef struct tdBody
{
    const tdBodyOps *ops;
    const char *name;
    int index;
    int64_t first, count; ///< coordinates
    int64_t unknowns;     ///< coordinates that are neither fixed nor prescribed
    int64_t nodes, elements;
    double mass;     ///< [kg]; zero: nothing of it moves by itself
    bool rows_apart; ///< a constraint problem takes its `rows`: the free motion leaves them out
    int32_t n_held;
    const int32_t *held;             ///< held coordinates, counted from `first`
    void *data;                      ///< of its kind, e.g. tdSoft
    const struct tdSoft *soft;       ///< its mesh, materials and supports, whatever its coordinates are
    const struct tdBodyParts *parts; ///< rigid parts that it consists of; NULL: it deforms
    const struct tdBodyModes *modes; ///< shapes that its coordinates are the amplitudes of; NULL: they are not
    const struct tdGuided *guided;   ///< how its motion is given; NULL: it moves by itself
    int n_turns;                     ///< numbers of reference rotations, 4 each, that with q tell where it is
} tdBody;

/// Material points of one body that constraints act on, or points fixed in space. A point is a weighted mean
/// of nodes: a node, a point inside an element, the centroid of a set.
typedef struct tdPointSet
{
    int body; ///< -1: fixed in space
    int32_t n;
    int32_t *start; ///< n + 1: where the nodes of each point are listed
    int32_t *nodes;
    double *weights;
    double *rest;     ///< 3 n: at rest; of fixed points, where they are
    int64_t size;     ///< entries of a row
    int32_t *coord;   ///< size: their coordinates, counted from the body's first; one may occur more than once
    const void *data; ///< of the body's kind
} tdPointSet;

/// Parameters that a kind of body takes from the state (td_state_factors), beside gravity.
enum
{
    TD_VARIES_YOUNG = 1,
    TD_VARIES_MASS = 2,
    TD_VARIES_DAMPING = 4
};

struct tdBodyOps
{
    const char *kind;
    void (*free_model)(tdBody *body);

    tdStatus (*state_create)(const tdModel *model, const tdBody *body, tdState *state, tdError *error);
    void (*state_free)(const tdBody *body, tdState *state); ///< NULL: all is of the state's arena

    /// Places held coordinates for the end of the step: target positions into state->q_end (held only).
    void (*place)(const tdModel *model, const tdBody *body, tdState *state);
    /// Optional, before anything of a step is evaluated: what is done with state->q and v of its start first. May
    /// change the velocities that the step starts from, and v_new, the first guess of those it ends with.
    void (*set_out)(const tdModel *model, const tdBody *body, tdState *state);
    /// Start of a step or of a static increment: what is kept constant during it (lagged rotations).
    void (*begin)(const tdModel *model, const tdBody *body, tdState *state);
    /// reads state->q_e      writes the body's deformation gradients, rotations, frames
    void (*kinematics)(const tdModel *model, const tdBody *body, tdState *state);
    /// reads kinematics, state->v_e, inertia, inputs      writes state->m, own, force, and A when `tangent`
    tdStatus (*forces)(const tdModel *model, const tdBody *body, tdState *state, bool tangent);
    /// reads state->m, A      writes state->dv = -A^-1 (m + A dv_held), the way to the free motion v*
    tdStatus (*free_motion)(const tdModel *model, const tdBody *body, tdState *state);
    /// Newmark's first step, and those of Runge-Kutta: state->a = M^-1 (external - internal forces) from state->m at
    /// q0, v0.
    tdStatus (*start_acceleration)(const tdModel *model, const tdBody *body, tdState *state);
    /// Optional: dq/dt of the coordinates at q, where it is not v. reads q, v, both of the body      writes dq
    void (*rates)(const tdBody *body, const double *q, const double *v, double *dq);
    /// x = A^-1 b over the body's coordinates, for the condensed problem W = J A^-1 J': n vectors, `stride` apart. x
    /// holds first guesses; held coordinates become zero.
    tdStatus (*apply_inverse)(const tdModel *model, const tdBody *body, tdState *state, int n, int64_t stride,
                              const double *b, double *x);
    /// Of bodies that may leave free motion and columns approximate (state->ahead.rough). reads m, dv of the solution
    /// that came of them. *met: the momentum balance of this linearization is met to the tolerance of linear solutions;
    /// else x = what dv lacks, or most of it. Where corrections bring too little, the body takes back ahead.rough and
    /// ahead.done: its free motion is then made again, exactly.
    tdStatus (*correct)(const tdModel *model, const tdBody *body, tdState *state, int round, double *x, bool *met);
    /// y = A x over all of the body's coordinates, held ones included.
    void (*multiply)(const tdModel *model, const tdBody *body, tdState *state, const double *x, double *y);

    // The body in a problem that several bodies share: contacts, bonds, driven actuators.

    /// Optional, of bodies too large for all their unknowns to take part; without it they always do. Start of a step:
    /// none do. Then, for coordinates (counted from `first`) and for points of its surface: they do; returns whether
    /// one is unknown.
    void (*part_none)(const tdBody *body, tdState *state);
    bool (*part_coords)(const tdBody *body, tdState *state, int64_t n, const int32_t *coord);
    bool (*part_point)(const tdBody *body, tdState *state, const tdTouchPoint *point);
    /// Optional: whether so many take part that all do, which makes the block sparse. company: bodies that are joined
    /// so that their blocks are factored together, itself included.
    bool (*part_all)(const tdBody *body, tdState *state, int company);
    /// After free_motion: the block; valid until A changes.
    tdStatus (*condense)(const tdBody *body, tdState *state, tdBodyBlock *out);
    /// Of blocks that have `coord` and are not sparse: dv of all coordinates from those that take part.
    tdStatus (*recover)(const tdBody *body, tdState *state, const double *dv_p, double *dv);
    /// Optional, where rows_apart: rows that the body brings itself, at the start of the step. Writes `most` at most
    /// and returns how many there are.
    int (*rows)(const tdModel *model, const tdBody *body, const tdState *state, tdBodyRow *out, int most);

    // The body as others touch it. Points lie on its surface (point->n nodes) or on one of its parts (point->local).

    bool nodal; ///< its coordinates are the positions of its nodes, 3 each: it needs no `surface`
    /// Positions and velocities at the present q and v of these nodes, into x and v by node.
    void (*surface)(const tdBody *body, const tdState *state, int32_t n, const int32_t *nodes, double *x, double *v);
    /// Pose of a part at the coordinates q of the body; with v also the velocity of its origin and its angular
    /// velocity, in the world (NULL: not wanted).
    void (*part)(const tdBody *body, const tdState *state, const double *q, const double *v, int part,
                 struct tdPose *pose, double twist[6]);
    /// Optional, with parts: what a part carries, itself included, for q and v of the body.
    void (*carried)(const tdBody *body, const tdState *state, const double *q, const double *v, int part,
                    tdCarried *out);
    /// Optional: M dv + b(v) - gravity over the coordinates, at the present q and v; without b where `still`, g
    /// [m/s^2]. And the mass matrix, n x n.
    void (*inverse)(const tdBody *body, const tdState *state, bool still, const double *dv, const double g[3],
                    double *efforts);
    void (*mass_matrix)(const tdBody *body, const tdState *state, double *M);
    /// Rows sign frame dx/dt of a point (frame times the angular velocity, where it turns), taken at the start of the
    /// step: J[3 n] by rows, columns[n] of the block (NULL: the body has none), and what given motion adds to drift[3].
    /// Returns n.
    int32_t (*touch)(const tdBody *body, tdState *state, const tdTouchPoint *point, int part, const tdBodyBlock *block,
                     double sign, double frame[3][3], double *J, int32_t *columns, double *drift);
    /// Optional, with parts: adds what a unit rate of a coordinate does to a point that a part carries, in the world,
    /// and to the angular velocity of the part, at the coordinates q of the body.
    void (*part_rate)(const tdBody *body, const tdState *state, const double *q, int part, const double point[3],
                      int32_t coord, double twist[6]);
    /// m += (dx/dq)' f over the body's coordinates, for a force or impulse at a point; where it turns, f is a torque.
    void (*push)(const tdBody *body, const tdState *state, const tdTouchPoint *point, int part, const double f[3],
                 double *m);

    /// Optional, while the model is compiled: nodes and weights (TD_SHAPE_NODES at most) of the place p at rest, on the
    /// part of that name (NULL: the nearest, no farther than `slack` of the body's size). Returns how many; 0: it is on
    /// no part. Without it a place is looked for in the elements of the mesh.
    int (*locate)(const tdBody *body, const char *part, const double p[3], double slack, int32_t *nodes,
                  double *weights);
    /// Optional: what the body's motion depends on besides its mesh, for the hash of a checkpoint.
    void (*hash)(const tdBody *body, uint64_t *hash);
    /// Compiles a point set whose points are given: size, coord, data.
    tdStatus (*point_set)(tdModel *model, const tdBody *body, tdPointSet *set, tdError *error);
    /// Positions x[3 n] of a set's points for the coordinates q of the body. The set need not be compiled.
    void (*positions)(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, double *x);
    /// Optional: adds what places give way by that is in no coordinate, to x[3 n] of a set's points at the present q.
    void (*give)(const tdBody *body, const tdState *state, const tdPointSet *set, double *x);
    /// Optional: a spring is tied; what steps would have to make for it.
    void (*tie)(const tdBody *body, const struct tdSpring *spring);
    /// row[size] = J' f for forces f[3 n] at a set's points, dx/dt = J v, at the coordinates q of the body.
    void (*pull)(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, const double *f,
                 double *row);
    /// Between forces and free_motion: adds the stiffness (dx_i/dq)' H (dx_j/dq), and its transpose when i != j, to A,
    /// times s ce. One that is not `definite` is dropped where tangents are projected.
    void (*stiffen)(const tdModel *model, const tdBody *body, tdState *state, const tdPointSet *set, int32_t i,
                    int32_t j, const double H[9], bool definite);
    /// Optional, of bodies whose points are no linear function of the coordinates: adds the stiffness f . d2x/dq2 of
    /// the potential whose gradient at the points is f[3 n], at the coordinates q of the body, to A as `stiffen` does.
    void (*bend)(const tdBody *body, tdState *state, const tdPointSet *set, const double *q, const double *f);
    /// Optional: a closed surface whose volume and derivatives come from the coordinates of one body alone, at a cost
    /// that does not depend on its triangles. volume_set stands for point_set; volume writes row[size] = dV/dq (NULL:
    /// not wanted); volume_stiffen adds factor d2V/dq2 as `stiffen` does.
    tdStatus (*volume_set)(tdModel *model, const tdBody *body, const struct tdMeasure *measure, tdPointSet *set,
                           tdError *error);
    double (*volume)(const tdBody *body, tdState *state, const tdPointSet *set, const double *q, double *row);
    void (*volume_stiffen)(const tdBody *body, tdState *state, const tdPointSet *set, const double *q, double factor);
    /// psi = d(held coordinates)/d(input) at the end of the step, over the body's coordinates; zero elsewhere.
    void (*drive)(const tdModel *model, const tdBody *body, const tdState *state, int input, double *psi);
    /// Before integration: state->m of the solved system on all coordinates, m + A dv + s K held (one
    /// linearization a step; Newton has m itself). What is left on held coordinates is s times the reaction.
    void (*balance)(const tdModel *model, const tdBody *body, tdState *state);
    /// Optional, where it is more than state->own less m: s times the generalized forces from outside, as the step that
    /// was solved has them, before `balance`.
    void (*outside)(const tdModel *model, const tdBody *body, tdState *state, double *f);
    /// After integration, before the step is accepted: forces and tangent at the present q, from which the next step
    /// starts without taking them again, and the energy there. May change the velocities that the step ends with.
    /// reads state->q, v, start      writes state->force
    void (*arrive)(const tdModel *model, const tdBody *body, tdState *state, tdArrival *arrival);
    /// Optional: how far the body has left the range of laws of small displacements, where F was last taken: the
    /// largest |F - I| among their points, and the turn [rad] there. Zero: it has none.
    double (*stray)(const tdBody *body, const tdState *state, double *turn);
    /// Optional: after a step was accepted and before commit, whether the body's own approximation is to be trusted:
    /// the rom_ fields of the report, the worst of all bodies. Reads state->force where it was last taken.
    void (*judge)(const tdModel *model, const tdBody *body, tdState *state);
    /// After a step was accepted: what the material remembers of it. Reads state->q.
    void (*commit)(const tdModel *model, const tdBody *body, tdState *state);
    /// Names an element for a message: "element 12 of body 'arm' (a tetrahedron)".
    void (*describe)(const tdBody *body, int64_t element, char *out, size_t size);
    /// Lists what a checkpoint must keep of the body (see td_state_arrays). NULL: q and v are all.
    int (*arrays)(const tdModel *model, const tdBody *body, tdState *state, tdStateArray *out, int most);
    /// After a checkpoint was read: rebuilds what is derived (kept factors). NULL: nothing is.
    tdStatus (*restore)(const tdModel *model, const tdBody *body, tdState *state, tdError *error);
    /// Optional: which factors it takes, TD_VARIES_* together; without it none. After one has changed: `vary`, which
    /// drops what was made with the old one (kept factors, tangents).
    unsigned (*varies)(const tdBody *body);
    void (*vary)(const tdModel *model, const tdBody *body, tdState *state);
    /// Optional: effort of one of the body's own drives (tdActuator.servo) at the end of the last step.
    double (*effort)(const tdBody *body, const tdState *state, int drive);
    /// Optional: the share of its velocity that the body keeps in the next step where all forces from outside stay as
    /// they are: 1 where only inertia resists, 0 where only stiffness does. Without it none.
    double (*keeps)(const tdBody *body, const tdState *state);
    /// Optional, of bodies on supports that have no coordinate: momentum that the body gained a second in the last
    /// step, and its weight; false: it stands on none.
    bool (*gain)(const tdBody *body, const tdState *state, double gain[3], double weight[3]);
    /// Where n_turns > 0: the reference rotations. After they were written: `restore`.
    double *(*turns)(const tdBody *body, const tdState *state);
    /// Where modes->framed: motion of the frame since rest.
    void (*frame)(const tdBody *body, const double *turns, const double *q, struct tdPose *pose);
    /// With modes: positions and velocities of all nodes for coordinates that need not be those of a state.
    void (*expand)(const tdBody *body, const double *turns, const double *q, const double *v, double *x, double *dx);
    /// Positions [m] and velocities [m/s] of all nodes, 3 each, at the present q and v; valid until the next step. A
    /// body whose coordinates are not its nodes' expands them when somebody asks.
    const double *(*nodes)(const tdModel *model, const tdBody *body, const tdState *state);
    const double *(*node_velocities)(const tdModel *model, const tdBody *body, const tdState *state);
    /// By element: von Mises stress [Pa] and energy density [J/m^3] at the present q, means over its points. Either may
    /// be NULL.
    void (*fields)(const tdModel *model, const tdBody *body, tdState *state, double *von_mises, double *energy);
    /// Kinetic and elastic energy [J] of the present q and v; of materials that relax, what would be left
    /// after relaxation. Either may be NULL.
    void (*energy)(const tdModel *model, const tdBody *body, tdState *state, double *kinetic, double *elastic);
};
