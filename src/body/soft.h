// SPDX-License-Identifier: Apache-2.0
// Soft body of full order: linear tetrahedra, three coordinates a node, A sparse.
//
// Elements are sorted along a space-filling curve and stored in batches of four (one lane each), batches
// in chunks, chunks in colours. Chunks of a colour share no node, so they add into the same vectors and
// matrices in parallel, and each entry gets its terms in one order whatever the number of threads.
#pragma once
#include "base/block.h"
#include "material/law.h"
#include "mesh/mesh.h"
#include "model.h"
#include "solve/linear.h"
#include "state.h"

#define TD_PAIRS 10 // node pairs a >= b of a tetrahedron

/// What the kernels read. Lane l of component c is at [4 c + l]. The nodes of an element ascend, so that
/// every pair a >= b is a block of the lower triangle.
typedef struct tdTets
{
    int32_t batches;
    int32_t *nodes;   ///< 4 x 4 a batch
    int32_t *block;   ///< 10 x 4 a batch: blocks of the pairs (0,0) (1,0) (1,1) (2,0) ...
    int32_t *element; ///< 4 a batch: number in the mesh, -1 for padding
    double *gradient; ///< 9 x 4 a batch: gradients of the shape functions of nodes 1, 2, 3
    double *volume;   ///< 4 a batch, zero for padding
    int32_t chunks;
    int32_t *chunk; ///< chunks + 1: first batch
    int32_t colours;
    int32_t *colour;   ///< colours + 1: first place in `coloured`
    int32_t *coloured; ///< chunks by colour
} tdTets;

/// A coordinate that follows an input: rest position + displacement * input.
typedef struct tdDriven
{
    int32_t coord;
    int32_t input; ///< -1: constant 1
    double displacement;
} tdDriven;

typedef struct tdSoftLoad
{
    tdLoadKind kind;
    int32_t input; ///< -1: constant 1
    int32_t n;
    int32_t *nodes; ///< dead loads: the nodes; pressure: 3 a face
    int32_t *block; ///< pressure: 9 a face, blocks of node pairs (larger number first)
    double *force;  ///< dead loads: 3 a node
    double pressure;
} tdSoftLoad;

typedef struct tdSoft
{
    tdMesh mesh; ///< tetrahedra and groups, placed
    int32_t n_nodes;
    const double *rest;
    tdTets tets;
    tdBlockPattern pattern;
    tdLinearModel linear;
    const tdLaw *law;
    double parameters[TD_LAW_PARAMETERS];
    double density;
    double total_mass;
    bool consistent;
    int64_t *node_start; ///< n_nodes + 1: where the elements of a node are listed
    int32_t *node_lane;  ///< their places, 4 * batch + lane
    double *node_mass;   ///< row sums
    double *mass;        ///< by block: M = mass I; only diagonals when lumped
    double alpha, beta;  ///< Rayleigh
    bool *held;          ///< by coordinate: fixed or driven
    int32_t n_held;
    int32_t *held_list;
    int32_t n_driven;
    tdDriven *driven;
    int n_loads;
    tdSoftLoad *loads;
    int64_t surface_tris;
    int32_t *surface; ///< boundary triangles, outward
    double rest_volume;
} tdSoft;

/// Results of the element loop, by chunk, summed in order afterwards.
typedef struct tdChunkSums
{
    double energy;
    int64_t bad; ///< first element that the law could not evaluate, INT64_MAX = none
    int32_t projected, inverted;
} tdChunkSums;

/// The state of a soft body.
typedef struct tdSoftState
{
    double *F, *R;             ///< 9 x 4 a batch
    double *K, *K_damping, *A; ///< block values
    tdChunkSums *sums;
    tdLinear *linear;
    bool projecting;   ///< tangents are projected in this pass
    bool damping_kept; ///< K_damping is that of this step
    bool K_valid;      ///< K is constant and has been assembled
    bool same;         ///< A is that of the kept factor
    double *turn,
        *turn_factor; ///< by node: rotation of its elements now (then: since the factor), and when the factor was made
    // Where the kept factor was made, for checkpoints.
    double *factor_q, *factor_start, *factor_input;
    double *damping_q, *factor_damping; ///< where K_damping was taken, now and in the factor
    int64_t factor_flags;               ///< bit 0: projected, bit 1: there is one
} tdSoftState;

extern const tdBodyOps td_soft_ops;

/// Arguments of the element kernels.
typedef struct tdTetWork
{
    const tdTets *tets;
    const double *x;
    double *F, *R;
    tdLawKernel law;
    const double *parameters;
    tdPolarKernel polar; ///< NULL: leave R
    bool project;
    double *force; ///< 3 a node, added to
    double *K;     ///< block values, added to; NULL: forces only
    tdChunkSums *sums;
} tdTetWork;

/// F (and R) of the batches of a chunk; counts inverted elements.
typedef void (*tdTetGradients)(const tdTetWork *work, int32_t chunk);
/// Forces and tangent of the batches of a chunk.
typedef void (*tdTetForces)(const tdTetWork *work, int32_t chunk);

void td_tet_gradients_portable(const tdTetWork *work, int32_t chunk);
void td_tet_forces_portable(const tdTetWork *work, int32_t chunk);
void td_tet_gradients_avx2(const tdTetWork *work, int32_t chunk);
void td_tet_forces_avx2(const tdTetWork *work, int32_t chunk);

/// soft_model.c: batches, pattern, mass and symbolic factor of a body whose mesh, material and held
/// coordinates are set.
tdStatus td_soft_build(tdArena *arena, tdSoft *soft, const tdSceneBody *body, const char *file, tdError *error);

/// soft_load.c: external forces at q_e into state->load; pressure stiffness into A (times `factor`).
void td_soft_loads(const tdModel *model, const tdBody *body, tdState *state);
void td_soft_pressure_stiffness(const tdModel *model, const tdBody *body, tdState *state, double factor, double *A);

/// soft_fields.c: by element of the mesh, at the present q. Arrays may be NULL.
void td_soft_fields(const tdModel *model, const tdBody *body, tdState *state, double *von_mises, double *energy);

/// Runs the kernels over all chunks. x are positions of the body's nodes.
void td_soft_gradients(const tdSoft *soft, tdSoftState *mine, tdState *state, const double *x, bool current_rotation);
void td_soft_forces(const tdSoft *soft, tdSoftState *mine, tdState *state, double *force, double *K);
