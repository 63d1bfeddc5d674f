// SPDX-License-Identifier: Apache-2.0
// Soft body of full order: finite elements, three coordinates a node, A sparse.
//
// Elements of one kind and one material form a block. In a block, elements are sorted along a space-filling
// curve and stored in batches of four (one lane each), batches in chunks, chunks in colours. Chunks of a
// colour share no node, so they add into the same vectors and matrices in parallel, and each entry gets its
// terms in one order whatever the number of threads.
//
//     F = sum_a x_a (x) dN_a                   at each point of an element, weight w
//     f_a = sum w P dN_a                       K_ab = sum w dN_a . D . dN_b
//
// A triangle has F = sum_a x_a (x) dN_a + f3 (x) n with its normal n at rest. Plane strain: f3 = n. Membranes
// and plane stress: f3 is what makes P n = 0, and D is condensed, D - D n (n.D.n)^-1 n D.
//
// Mean dilatation: the law without its volumetric energy at the points, and V U(Jbar) with the mean
// Jbar = 1/V sum w J of the element, so that an element has one condition of volume instead of one a point.
#pragma once
#include "base/block.h"
#include "core/model.h"
#include "core/state.h"
#include "material/law.h"
#include "mesh/mesh.h"
#include "solve/linear.h"
#include "solve/sap.h"
#include "solve/schur.h"

typedef enum tdElementKind
{
    TD_ELEMENT_TET4,
    TD_ELEMENT_HEX8,
    TD_ELEMENT_TET10,
    TD_ELEMENT_TRI3,
    TD_ELEMENT_KINDS
} tdElementKind;

#define TD_ELEMENT_NODES 10 // most nodes of a kind

/// Of a kind: its cells in a mesh, nodes, points, node pairs a >= b.
typedef struct tdElementShape
{
    tdCellType cell;
    int nodes, points, pairs;
    const char *name; ///< of one element
} tdElementShape;
extern const tdElementShape td_element_shape[TD_ELEMENT_KINDS];

/// Where the third column of a triangle's F comes from.
typedef enum tdThrough
{
    TD_THROUGH_VOLUME, ///< not a triangle
    TD_THROUGH_HELD,   ///< plane strain
    TD_THROUGH_FREE    ///< membrane, plane stress
} tdThrough;

/// A law with its numbers, as the elements of a block see it.
typedef struct tdMaterial
{
    const tdLaw *law;
    double parameters[TD_LAW_PARAMETERS];
    double isochoric[TD_LAW_PARAMETERS]; ///< the same with kappa = 0, for mean dilatation
    double density;                      ///< [kg/m^3]
    double thickness;                    ///< triangles [m]
    bool mean_dilatation;
    tdThrough through;
    int n_prony;
    double g[TD_PRONY_TERMS], tau[TD_PRONY_TERMS];
    double *fibre; ///< 9 x 4: the frame in each lane; NULL: none
    double *rest; ///< D at rest, the same in each lane, for damping; NULL: that is by D itself, which is never negative
    double lame[2]; ///< lambda and mu, where D at rest is isotropic; else NAN
} tdMaterial;

/// What the kernels read. Lane l of component c is at [4 c + l]. The nodes of an element ascend, so that
/// every pair a >= b is a block of the lower triangle.
typedef struct tdElements
{
    tdElementKind kind;
    tdMaterial material;
    int64_t count; ///< elements
    double volume; ///< at rest [m^3]
    int32_t batches;
    int64_t first;               ///< its first point batch (four points, one a lane) among those of the body
    int32_t *nodes;              ///< nodes x 4 a batch
    int32_t *block;              ///< pairs x 4 a batch: blocks of the pairs (0,0) (1,0) (1,1) (2,0) ...
    int32_t *element;            ///< 4 a batch: number in the body (see tdSoft), -1 for padding
    double *gradient;            ///< nodes x 3 x 4 a point batch: dN_a; linear tetrahedra: of nodes 1, 2, 3 only
    double *weight;              ///< 4 a point batch: volume of the point, zero for padding
    double *normal;              ///< triangles: 3 x 4 a batch
    int32_t chunks, first_chunk; ///< first_chunk: its place in tdSoftState.sums
    int32_t *chunk;              ///< chunks + 1: first batch
    int32_t colours;
    int32_t *colour;   ///< colours + 1: first place in `coloured`
    int32_t *coloured; ///< chunks by colour
    int64_t history;   ///< Prony: where its numbers begin in tdSoftState.history,
    int64_t H;         ///< and in tdSoftState.H
} tdElements;

/// The law whose tangent is never negative and damps the material; of no use where it has a `rest`.
static inline const tdLaw *td_damping_law(const tdMaterial *material)
{
    return material->law->rotation == TD_ROTATION_CURRENT ? td_law(TD_LAW_COROTATIONAL_LAGGED) : material->law;
}

/// A coordinate that follows an input: rest position + displacement * input.
typedef struct tdDriven
{
    int32_t coord;
    int32_t input; ///< -1: constant 1
    double displacement;
} tdDriven;

/// A node that turns about an axis by the value of an input [rad].
typedef struct tdTurned
{
    int32_t node, input;
    double center[3], axis[3];
} tdTurned;

typedef struct tdSoftLoad
{
    tdLoadKind kind;
    int32_t input; ///< -1: constant 1
    int32_t n;
    int32_t face_nodes; ///< pressure: nodes of each face, 3, 4 or 6 (see td_shape_face)
    int32_t *nodes;     ///< dead loads: the nodes; pressure: face_nodes a face
    int32_t *block;     ///< pressure: face_nodes^2 a face, blocks of node pairs (larger number first)
    double *force;      ///< dead loads: 3 a node
    bool relief;        ///< inertia that bears the load before it, of a body that is adrift
    double pressure;
} tdSoftLoad;

/// Elements are numbered through the body: by type of cell, then by number in the mesh.
typedef struct tdSoft
{
    tdMesh mesh; ///< cells and groups, placed
    int32_t n_nodes;
    const double *rest;
    int n_blocks;
    tdElements *blocks;
    int64_t elements;
    int64_t element_start[TD_CELL_TYPES + 1]; ///< by type of cell: its first element
    int32_t *element_cell;                    ///< by element: number of its cell in the mesh
    int64_t point_batches;
    double *weight; ///< 4 a point batch
    int32_t chunks; ///< of all blocks
    tdBlockPattern pattern;
    tdLinearModel linear;
    bool constant;        ///< the stiffness is, in all blocks
    bool semidefinite;    ///< the stiffness is, in all blocks, whatever the shape
    bool lagged;          ///< some law wants the rotation of the step's start
    bool turning;         ///< some law turns with the body
    int64_t history, H;   ///< numbers that Prony series keep, and that they use in a step (without gamma)
    double total_mass;    ///< [kg]
    double rest_volume;   ///< [m^3]
    bool consistent;      ///< mass matrix
    int64_t *node_start;  ///< n_nodes + 1: where the elements of a node are listed
    int32_t *node_lane;   ///< 4 * point batch + lane of the element's first point
    uint8_t *node_points; ///< how many point batches follow each other there
    double *node_mass;    ///< lumped, positive: the mass matrix, or what preconditions a consistent one
    double *node_weight;  ///< [kg] what gravity acts on: row sums of the mass matrix
    double *mass;         ///< by block: M = mass I; only diagonals when lumped
    double alpha, beta;   ///< Rayleigh
    double velocity[3];   ///< at the start
    bool *held;           ///< by coordinate: fixed or driven
    int32_t n_held;
    bool leans;     ///< in a static scene only contacts or attachments hold it: its stiffness alone is singular
    bool supported; ///< something holds it: fixed, prescribed or moved nodes, a plane; not only nodes of no element
    int32_t *held_list;
    int32_t n_driven;
    tdDriven *driven;
    int32_t n_turned;
    tdTurned *turned;
    int32_t n_coupled;       ///< blocks of the matrix that constraints stiffen
    int32_t *coupled;        ///< ascending
    int32_t *coupled_column; ///< of each
    int32_t *coupled_row;    ///< n_nodes + 1: those of each row; NULL where there are none
    int n_loads;
    tdSoftLoad *loads;
    int64_t surface_tris;
    int32_t *surface; ///< boundary triangles, outward; of a body of triangles, these
} tdSoft;

/// Results of the element loop, by chunk, summed in order afterwards.
typedef struct tdChunkSums
{
    double energy;
    double relaxed; ///< of the step that was accepted: the law's own energy, where there are Prony series
    int64_t bad;    ///< first element that the law could not evaluate, INT64_MAX = none
    int32_t projected, inverted, extended;
} tdChunkSums;

/// The body in a problem that it shares with others; all NULL where there is none.
typedef struct tdSoftPart
{
    tdSchur *schur;
    int32_t n_nodes; ///< that take part in this step, each once
    int32_t *nodes;
    bool *takes_part;        ///< by node
    int64_t *ordered, *left; ///< what a checkpoint keeps of schur, by node
    double spent;
    bool all;          ///< so many nodes take part that all do
    bool spared;       ///< then: the problem finds the free motion too; it was not solved for,
    double *impulse;   ///< by coordinate: and this is the right-hand side
    tdSapSparse whole; ///< then: A
} tdSoftPart;

/// The state of a soft body.
typedef struct tdSoftState
{
    const double *factors;     ///< TD_FACTORS of the state
    double *F, *R;             ///< 9 x 4 a point batch; R only where a law turns
    double *K, *K_damping, *A; ///< block values
    tdChunkSums *sums;
    tdLinear *linear;
    tdSoftPart part;
    // Prony series, symmetric tensors of 6 x 4 a point batch
    double *history;   ///< by block: S0 at the end of the last step, then the stress of each term
    double *gamma, *H; ///< by block: S = gamma S0 + H in the step that is being taken
    bool dense;        ///< never by invariants (for comparison)
    bool projecting;   ///< tangents are projected in this pass
    bool damping_kept; ///< K_damping is that of this step
    bool K_valid;      ///< K is constant and has been assembled
    bool same;         ///< the next A will be that of the kept factor
    bool exact;        ///< A is that of the kept factor
    bool condensed;    ///< A is factored by part.schur in this pass
    bool placed;       ///< F and R are those of arrived_q
    bool arrived;      ///< and forces and K are
    double *arrived_q;
    double relaxed;      ///< elastic, of Prony series after relaxation where F was last taken; NaN: not known
    double *K_apart;     ///< room for K_damping where it is not K of the last pass
    double energy_start; ///< elastic, at the start of the step
    bool first;          ///< no forces of this step have been taken yet
    /// Stiffness of constraints, by coupled block: definite ones, then those that are dropped where tangents are
    /// projected; and what of it the kept factor was made with.
    double *coupling, *factor_coupling;
    double *turn;        ///< by node: rotation of its elements now, then since the factor was made
    double *turn_factor; ///< and when it was made; of a background factor: now
    double *balanced;    ///< m + A dv + s K held of a solution that was found good enough
    bool has_balanced;
    double rhs_size, left; ///< |right-hand side| of the free motion; what the last correction had to begin with
    struct tdAsync *async; ///< NULL: each step has the factor it needs
    const double *Q;       ///< rotations since that factor was made; NULL: none
    // Where the kept factor was made, for checkpoints.
    double *factor_q, *factor_start, *factor_input;
    double *factor_history;             ///< gamma and H, which are one array
    double *damping_q, *factor_damping; ///< where K_damping was taken, now and in the factor
    int64_t factor_flags;               ///< 1: projected, 2: there is one, 4: damping apart, 8: rotations follow
    double *factor_springs;             ///< of the state, when the factor was made
    int64_t spring_changes;             ///< of the state, when `same` was last known
} tdSoftState;

extern const tdBodyOps td_soft_ops;

/// Within this folder. Where the kept factor was made; once: the next step will make its own.
void td_soft_remember_factor(const tdModel *model, const tdBody *body, tdState *state, bool once);
/// Whether a held coordinate has still to move in this pass.
bool td_soft_held_moves(const tdSoft *soft, const double *held);
/// Columns of the condensed problem that go with the free motion; false: none.
bool td_soft_columns_ahead(const tdModel *model, const tdBody *body, const struct tdColumnsAhead *ahead,
                           tdLinearMore *out);
/// soft_rough.c: whether free motion and columns are left approximate; then both, unless *done is false: A does not
/// look definite in single precision.
bool td_soft_is_rough(const tdModel *model, const tdBody *body, const tdState *state);
tdStatus td_soft_solve_roughly(const tdModel *model, const tdBody *body, tdState *state, const double *rhs, bool *done);
tdStatus td_soft_correct(const tdModel *model, const tdBody *body, tdState *state, int round, double *x, bool *met);
/// m += A dv + s K held
void td_soft_add_motion(const tdModel *model, const tdBody *body, tdState *state, double *m);

/// Arguments of the element kernels.
typedef struct tdElementWork
{
    const tdElements *block;
    const double *x;
    double *F, *R; ///< of the block
    tdLawKernel law;
    tdLawKernel damping; ///< whose tangent damps where the material has no `rest`
    tdMjedKernel mjed;   ///< NULL: by F
    const double *parameters;
    tdPolarKernel polar; ///< NULL: leave R
    double gamma;        ///< Prony: P = gamma P0 + F H
    const double *H;     ///< NULL: none
    bool project;
    double *force; ///< 3 a node, added to
    double *K;     ///< block values, added to; NULL: forces only
    tdChunkSums *sums;
} tdElementWork;

/// Work on the batches of a chunk.
typedef void (*tdElementKernel)(const tdElementWork *work, int32_t chunk);

/// F (and R); counts inverted and extended elements. Forces and tangent. What stiffness damping multiplies, at F.
typedef struct tdElementKernels
{
    tdElementKernel gradients, forces, damping;
} tdElementKernels;
const tdElementKernels *td_element_kernels(tdElementKind kind, tdIsa isa);

/// A material and the elements of one kind that are made of it.
typedef struct tdElementList
{
    tdElementKind kind;
    const tdSceneMaterial *given;
    tdMaterial material; ///< density 0: what is left of total_mass of `given` is shared by volume
    int64_t count;
    int32_t *cells; ///< ascending
} tdElementList;

/// soft_model.c: blocks, pattern, mass and symbolic factor of a body whose mesh and held coordinates are set.
/// couplings: sets of nodes that constraints couple beyond the elements.
tdStatus td_soft_build(tdArena *arena, tdSoft *soft, int n_lists, const tdElementList *lists, int n_couplings,
                       const tdBlockCells *couplings, const tdSceneBody *body, const tdSceneSettings *settings,
                       const char *file, tdError *error);

/// soft_vary.c: see tdBodyOps. Factors of M, of alpha and of beta in this state.
double td_soft_keeps(const tdBody *body, const tdState *state);
unsigned td_soft_varies(const tdBody *body);
void td_soft_vary(const tdModel *model, const tdBody *body, tdState *state);

static inline double td_soft_mass_factor(const tdSoftState *mine)
{
    return mine->factors[TD_FACTOR_MASS];
}

static inline double td_soft_alpha(const tdSoft *soft, const tdSoftState *mine)
{
    return soft->alpha * mine->factors[TD_FACTOR_DAMPING];
}

static inline double td_soft_beta(const tdSoft *soft, const tdSoftState *mine)
{
    return soft->beta * mine->factors[TD_FACTOR_DAMPING];
}

/// Of M in A.
static inline double td_soft_of_mass(const tdScheme *scheme, const tdSoft *soft, const tdSoftState *mine)
{
    double damping = scheme->mass > 0 ? scheme->s * scheme->de * td_soft_alpha(soft, mine) : 0;
    return td_soft_mass_factor(mine) * (scheme->mass + damping);
}

/// soft.c: names an element of a body of either order for a message.
void td_soft_describe(const tdBody *body, int64_t element, char *out, size_t size);

/// soft_async.c, where the scene has an asynchronous factor or that at rest (`async` of the state):
/// solutions, n columns, and what a checkpoint keeps. x of the first holds a guess.
tdStatus td_soft_async_create(const tdModel *model, const tdBody *body, tdState *state, tdError *error);
tdStatus td_soft_async_solve(const tdModel *model, const tdBody *body, tdState *state, const double *b, double *x,
                             tdLinearResult *result);
tdStatus td_soft_async_inverse(const tdModel *model, const tdBody *body, tdState *state, int n, int64_t stride,
                               const double *b, double *x);
int td_soft_async_arrays(const tdBody *body, tdState *state, tdStateArray *out, int most);
/// Rotations from `then` to `now` by node: now then', which it returns.
const double *td_soft_turns_since(const tdSoft *soft, const double *now, const double *then, double *turn);

/// soft_part.c: see tdBodyOps; what a checkpoint keeps, and after it was read.
tdStatus td_soft_part_create(const tdBody *body, tdState *state, tdError *error);
void td_soft_part_none(const tdBody *body, tdState *state);
bool td_soft_part_coords(const tdBody *body, tdState *state, int64_t n, const int32_t *coord);
bool td_soft_part_point(const tdBody *body, tdState *state, const tdTouchPoint *point);
tdStatus td_soft_condense(const tdBody *body, tdState *state, tdBodyBlock *out);
bool td_soft_part_all(const tdBody *body, tdState *state, int company);
/// Leaves the free motion to the problem, with rhs as what it is made of, where A may be taken to be definite. False:
/// it is to be solved for.
bool td_soft_part_spare(const tdBody *body, tdState *state, const double *rhs);
tdStatus td_soft_recover(const tdBody *body, tdState *state, const double *dv_p, double *dv);
int32_t td_soft_touch(const tdBody *body, tdState *state, const tdTouchPoint *point, int link, const tdBodyBlock *block,
                      double sign, double frame[3][3], double *J, int32_t *columns, double *drift);
void td_soft_push(const tdBody *body, const tdState *state, const tdTouchPoint *point, int link, const double f[3],
                  double *m);
int td_soft_part_arrays(const tdBody *body, tdState *state, tdStateArray *out, int most);
tdStatus td_soft_part_restore(const tdBody *body, tdState *state, tdError *error);

/// soft_points.c: points of the body that constraints act on.
tdStatus td_soft_point_set(tdModel *model, const tdBody *body, tdPointSet *set, tdError *error);
void td_soft_positions(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, double *x);
void td_soft_pull(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q, const double *f,
                  double *row);
void td_soft_stiffen(const tdModel *model, const tdBody *body, tdState *state, const tdPointSet *set, int32_t i,
                     int32_t j, const double H[9], bool definite);
void td_soft_drive(const tdModel *model, const tdBody *body, const tdState *state, int input, double *psi);
/// Held coordinates at the end of the step into q_end.
void td_soft_place(const tdModel *model, const tdBody *body, tdState *state);
/// A += factor times the stiffness of constraints.
void td_soft_add_coupling(const tdSoft *soft, const tdSoftState *mine, double factor, double *A);

/// soft_load.c: external forces at q_e into state->load; pressure stiffness into A (times `factor`).
void td_soft_loads(const tdModel *model, const tdBody *body, tdState *state);
void td_soft_pressure_stiffness(const tdModel *model, const tdBody *body, tdState *state, double factor, double *A);

/// Newmark's first acceleration.
tdStatus td_soft_start_acceleration(const tdModel *model, const tdBody *body, tdState *state);

/// soft_energy.c: y += factor M x (`work`: scratch over the body's coordinates); what the chunks counted goes into the
/// report and the state's bad element.
void td_soft_add_mass(const tdSoft *soft, tdTasks *tasks, double factor, const double *x, double *y, double *work);
void td_soft_sum_chunks(const tdSoft *soft, const tdBody *body, const tdSoftState *mine, tdState *state);
/// See tdBodyOps.stray, of the points of `mine`.
double td_soft_stray(const tdSoft *soft, const tdSoftState *mine, tdIsa isa, double *turn);
double td_soft_body_stray(const tdBody *body, const tdState *state, double *turn);
/// See tdBodyOps.arrive and tdBodyOps.energy.
void td_soft_arrive(const tdModel *model, const tdBody *body, tdState *state, tdArrival *arrival);
void td_soft_body_energy(const tdModel *model, const tdBody *body, tdState *state, double *kinetic, double *elastic);

/// soft_fields.c: see tdBodyOps.fields; and the same for positions x, with gamma and H of `mine`.
void td_soft_fields(const tdModel *model, const tdBody *body, tdState *state, double *von_mises, double *energy);
void td_soft_fields_at(const tdSoft *soft, tdSoftState *mine, tdState *state, const double *x, double *von_mises,
                       double *energy);

/// soft_loop.c: runs the kernels over all chunks. x are positions of the body's nodes; `lagged`: also the
/// rotations that are kept during a step.
void td_soft_gradients(const tdSoft *soft, tdSoftState *mine, tdState *state, const double *x, bool lagged);
/// Whether F and R are those of x already, where a step has arrived.
bool td_soft_placed(const tdSoft *soft, const tdSoftState *mine, const double *x);
void td_soft_forces(const tdSoft *soft, tdSoftState *mine, tdState *state, double *force, double *K);
/// K of the damping beta K at F, positive semi-definite (docs/theory/damping.md).
void td_soft_damping(const tdSoft *soft, tdSoftState *mine, tdState *state, double *K);
double td_soft_energy(const tdSoft *soft, const tdSoftState *mine); ///< of the last td_soft_forces()
/// What would be left of it after relaxation, where a step has just been accepted; else NaN.
double td_soft_relaxed(const tdSoft *soft, const tdSoftState *mine);
/// Rotation of the mean deformation gradient of each node's elements, by volume, from F.
void td_soft_turns(const tdSoft *soft, const tdSoftState *mine, tdState *state, double *turn);

/// soft_history.c: Prony series. Stress of a step of length h from the kept state: S = gamma S0 + H.
/// Infinite h: all has relaxed.
void td_soft_history_begin(const tdSoft *soft, tdSoftState *mine, double h);
/// Numbers of gamma and H together.
int64_t td_soft_step_history(const tdSoft *soft);
/// Room for what is known of points: F, R, history, sums. False: no memory.
bool td_soft_take_points(tdArena *arena, const tdSoft *domain, tdSoftState *points);
/// Whether F depends on the length of the step: then it cannot be kept from one step to the next.
bool td_soft_thickness_relaxes(const tdSoft *soft);
/// End of a step of length h at positions x.
void td_soft_history_commit(const tdSoft *soft, tdSoftState *mine, tdState *state, const double *x, double h);
/// The same where F is there already. Finds mine->relaxed, at no cost.
void td_soft_history_update(const tdSoft *soft, tdSoftState *mine, tdState *state, double h);
/// gamma and H for the stress of the kept state itself.
void td_soft_history_present(const tdSoft *soft, tdSoftState *mine);
/// The law's own stress at a point batch; `pressure`, U'(Jbar) of each lane, where volume changes are averaged,
/// else NULL. No Prony series.
void td_soft_stress(const tdElements *block, tdLawKernel law, const double *F, const double *R, const double *pressure,
                    double *psi, double *P);
/// U'(Jbar) and U(Jbar) of the elements of a batch; F of the block.
void td_soft_mean_pressure(const tdElements *block, const double *F, int32_t batch, double pressure[4],
                           double energy[4]);
