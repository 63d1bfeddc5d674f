// SPDX-License-Identifier: Apache-2.0
// Inside the convex solver: the problem cut into islands, each with its unknowns in an order of elimination.
//
// All vectors of an island are in that order. Its Hessian is a list of supernodes: runs of unknowns with a dense lower
// triangle and the rows below it that are not zero. Whatever is scattered into them (the blocks A, the constraints) is
// a tdSapPatch: sorted places with, for each supernode that holds some of them, the rows in its panel.
#pragma once
#include "solve/sap.h"

#define TD_SAP_FREE 6 // coordinates of a free body

/// Whether a constraint has three rows over all velocities of one free body, or of two.
static inline bool td_sap_is_free(const tdSapConstraint *c)
{
    bool all = c->law.rows == TD_SAP_ROWS && (c->sides == 1 || c->side[0].block != c->side[1].block);
    for (int s = 0; s < c->sides && all; s++)
        all = c->side[s].columns == NULL && c->side[s].count == TD_SAP_FREE;
    return all;
}

// ---------------------------------------------------------------- plan

/// Where sorted places fall into one supernode: places [begin, end) are its columns, and all from `begin` on its rows.
typedef struct tdSapRun
{
    int32_t super, begin, end;
    int32_t *row; ///< from `begin` on: row in the panel
} tdSapRun;

typedef struct tdSapPatch
{
    int32_t n;
    int32_t *at; ///< places, ascending, each once
    int32_t n_runs;
    tdSapRun *runs;
} tdSapPatch;

typedef struct tdSapSuper
{
    int32_t first, n;  ///< its unknowns
    int32_t m;         ///< rows below
    int32_t *rows;     ///< their places, ascending
    int32_t tree;      ///< that it is factored in, or -1: after them
    double *base;      ///< A in the shape of the panel
    double *panel;     ///< (n + m) x n by columns: the Hessian, then its factor
    int32_t n_parts;   ///< of constraints that fall into it
    int32_t *parts;    ///< link and run of each
    int32_t n_stacked; ///< rows of constraints that are added as one product, because they fill most of the panel
    double *stacked;   ///< n_stacked x (n + m); NULL: constraints are scattered
} tdSapSuper;

/// A constraint in an island.
typedef struct tdSapLink
{
    int32_t constraint; ///< number in the problem
    const tdSapLaw *law;
    tdSapPatch patch;
    double *J;                           ///< rows x patch.n
    double *T;                           ///< the same: scratch for G J
    double S[TD_SAP_ROWS * TD_SAP_ROWS]; ///< S'S = G
    bool idle;                           ///< G = 0
    int32_t split;                       ///< in small islands: columns of its first side,
    bool lumped;                         ///< and whether they stand next to each other, and those of the other
    int32_t *entry; ///< in islands with sparse blocks: of each pair of places; NULL: too many, a border
    double *border; ///< H^-1 J' of its row
} tdSapLink;

/// A part of the elimination tree that is factored by itself: supernodes [first, last], all descendants of the last.
typedef struct tdSapTree
{
    int32_t first, last;
    double *update;    ///< of a supernode on those above it
    int32_t *relative; ///< rows of it there
    double *outside;   ///< what the tree adds to supernodes outside: over the rows of its last one
    bool failed;
} tdSapTree;

/// A block in an island.
typedef struct tdSapMember
{
    int32_t block;
    int32_t first;     ///< of its coordinates in the island, before ordering
    tdSapPatch patch;  ///< its unknowns by place
    int32_t *column;   ///< their columns in the block
    double *in, *out;  ///< scratch in the order of the block
    double *wide[2];   ///< of a block by nodes: the same over its coordinates; the first is zero where none is unknown
    tdSapSparse plain; ///< of a sparse block: with its values in order
} tdSapMember;

typedef struct tdSapIsland
{
    int32_t n, n_members, n_links, n_supers;
    tdSapMember *members;
    tdSapLink *links;
    tdSapSuper *supers;
    struct tdSapFactor *factor;  ///< with sparse blocks, instead of supernodes
    struct tdEnvelope *envelope; ///< of few unknowns, the same; places are in the order of the blocks
    bool sparse;
    // vectors over the unknowns
    double *v, *v_star;
    double *b;        ///< of the blocks; NULL: none has one
    double *q;        ///< A v_star + b
    double *p;        ///< A (v - v_star) - b
    double *force;    ///< J' gamma
    double *gradient; ///< p - force
    double *dv, *Adv; ///< step of Newton, and A times it
    double *scale;    ///< diag(A)^(-1/2)
    double *best;     ///< v of the least residual; at the start what is foreseen
    bool foreseen;    ///< blocks say how v may change
    double *x, *y;    ///< scratch
    tdTasks *tasks;   ///< that products of sparse blocks may use
    // over the constraints, TD_SAP_ROWS each; G TD_SAP_ROWS² each
    double *v_c, *dv_c, *gamma, *G;
    int32_t n_trees;
    tdSapTree *trees; ///< independent of each other; the last one is for all other supernodes and comes after them
    double flops;     ///< of a factorization
    double accuracy;  ///< with sparse blocks: what a solve may leave of its right-hand side, in the norm that `scale`
                      ///< gives; 0: as little as it can
    // results
    int iterations, evaluations, shifted;
    double residual, cost;
    tdSapEnd end;
    bool failed; ///< numbers that are not finite, or a Hessian that is not positive definite
} tdSapIsland;

typedef struct tdSapPlan
{
    int32_t n_islands;
    tdSapIsland *islands;
    int32_t n_alone;
    int32_t *alone; ///< blocks without constraints
} tdSapPlan;

struct tdSap
{
    tdStack stack;
    struct tdSapFactor *factors; ///< of islands with sparse blocks, kept (sap_sparse.c)
    tdSapPlan plan;              ///< of the last solution, for td_sap_slope
};

/// Sizes and sides; numbers and laws too where asked for: before weighing, laws are not there yet, and what is not
/// finite is found when the problem is solved.
tdStatus td_sap_check(const tdSapProblem *problem, bool numbers, tdError *error);
/// Islands of the problem, ordered, with memory for their solution.
tdStatus td_sap_plan(tdSap *sap, const tdSapProblem *problem, tdSapStructure structure, tdSapPlan *out, tdError *error);
/// Order of elimination, supernodes and patches of an island whose members (block, first) and links (constraint, law)
/// are set. first_of_block: by block, its first coordinate in the island. False: out of memory.
bool td_sap_order(tdStack *stack, const tdSapProblem *problem, tdSapStructure structure, const int32_t *first_of_block,
                  tdSapIsland *island);

/// Sorted places of a constraint's columns, each once, with the rows J in their order. first: by block, its first
/// coordinate; place: by coordinate; mark: scratch over the places.
bool td_sap_gather_link(tdStack *stack, const tdSapProblem *problem, const int32_t *first, const int32_t *place,
                        int32_t *mark, tdSapLink *link);

/// Units of elimination: unknowns of a block that are in contact with the same blocks.
typedef struct tdSapUnits
{
    int32_t n;
    int32_t *of;      ///< by coordinate
    int32_t *size;    ///< unknowns of each
    int32_t *block;   ///< member it belongs to
    int32_t words;    ///< of a row of bits
    uint64_t *bits;   ///< n rows: who is adjacent, then the structure of the factor
    int32_t *order;   ///< elimination: unit at each step
    int32_t *parent;  ///< in the elimination tree, or -1
    int32_t *place;   ///< by coordinate: its place
    int32_t *super;   ///< by place: its supernode
    int32_t *scratch; ///< over coordinates
    int32_t *mark;    ///< over coordinates
} tdSapUnits;

/// Cuts an island into units and orders them: u->place, and one supernode a unit in island->supers (u->super).
bool td_sap_units(tdStack *stack, const tdSapProblem *problem, tdSapStructure structure, const int32_t *first,
                  tdSapIsland *island, tdSapUnits *u);
/// One dense supernode for all.
void td_sap_one_super(tdSapIsland *island, tdSapUnits *u);

// ---------------------------------------------------------------- islands of few unknowns, sap_small.c

/// Whether it is one: few unknowns, or blocks that follow each other so that the envelope stays narrow.
bool td_sap_is_small(tdStack *stack, const tdSapProblem *problem, const int32_t *first_of_block,
                     const tdSapIsland *island);
bool td_sap_small_order(tdStack *stack, const tdSapProblem *problem, const int32_t *first_of_block,
                        tdSapIsland *island);
void td_sap_small_load(const tdSapProblem *problem, tdSapIsland *island);
bool td_sap_small_factor(tdSapIsland *island, double shift);

/// Diagonal entry of a block.
static inline double td_sap_diagonal(const tdSapBlock *block, int64_t i)
{
    const tdSapSparse *sparse = block->sparse;
    if (sparse == NULL)
        return block->A[i + i * block->stride];
    int32_t k = sparse->start[i];
    return sparse->values[sparse->source != NULL ? sparse->source[k] : k];
}

// ---------------------------------------------------------------- islands with sparse blocks, sap_sparse.c

/// Patches, and the structure of the Hessian, of an island whose members (block, first) and links are set; it is
/// analysed again only when it has changed.
tdStatus td_sap_sparse_order(tdSap *sap, const tdSapProblem *problem, const int32_t *first_of_block,
                             tdSapIsland *island, tdError *error);
void td_sap_sparse_free(struct tdSapFactor *factors);
/// Of the islands to come none has a factor yet.
void td_sap_sparse_start(tdSap *sap);
/// y = A x of a sparse block.
void td_sap_sparse_multiply(const tdSapSparse *A, int32_t n, const double *x, double *y);
/// The same of a member's block by nodes, over the island.
void td_sap_sparse_multiply_nodes(const tdSapIsland *island, const tdSapMember *member, const tdSapSparse *A,
                                  const double *x, double *y);
bool td_sap_sparse_factor(const tdSapProblem *problem, tdSapIsland *island, tdTasks *tasks, double shift);
/// The next factor is made anew, whatever has changed since the last.
void td_sap_sparse_renew(tdSapIsland *island);
void td_sap_sparse_substitute(const tdSapIsland *island, const double *b, double *x);
/// G J of each constraint into T.
void td_sap_prepare_links(tdSapIsland *island, tdTasks *tasks);

// ---------------------------------------------------------------- Hessian

/// What depends on numbers: A in the shape of the panels, vectors in the order of the island.
void td_sap_load(const tdSapProblem *problem, tdSapIsland *island);
/// Panels = A + shift diag(A) + J' G J, factored. False: not positive definite.
bool td_sap_factor(const tdSapProblem *problem, tdSapIsland *island, tdTasks *tasks, double shift);
/// The same, with a larger diagonal where rounding makes it indefinite.
bool td_sap_factor_shifted(const tdSapProblem *problem, tdSapIsland *island, tdTasks *tasks);
/// y = A x and v_c = J x over the unknowns of an island.
void td_sap_multiply_A(const tdSapProblem *problem, const tdSapIsland *island, const double *x, double *y);
void td_sap_multiply_J(const tdSapIsland *island, const double *x, double *v_c);
/// Norm of a, or of a + b where b is not NULL, in the scale by which convergence is judged; a'b.
double td_sap_norm(const tdSapIsland *island, const double *a, const double *b);
double td_sap_product(int32_t n, const double *a, const double *b);
/// x = H^-1 b; b and x may be the same.
void td_sap_substitute(const tdSapIsland *island, const double *b, double *x);
