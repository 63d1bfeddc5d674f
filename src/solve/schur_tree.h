// SPDX-License-Identifier: Apache-2.0
// Inside the condensation: a supernodal factor as a tree, and forward substitution along its paths.
//
// Columns are in postorder, so the subtree of a supernode is a range of columns: of right-hand sides E sorted by their
// place, those that reach a supernode are a range too, and every block of Z = L^-1 E is dense.
#pragma once
#include "base/memory.h"
#include "base/status.h"

struct cholmod_factor_struct;

typedef struct tdSchurTree
{
    int32_t n, supers;
    const struct cholmod_factor_struct *factor;
    int32_t *super;  ///< by place: its supernode
    int32_t *parent; ///< by supernode, or -1
    int32_t *begin;  ///< by supernode: first place of its subtree
    int32_t *place;  ///< by unknown

    // the paths from a set of places
    int32_t n_path, *path; ///< supernodes, ascending
    int32_t *low, *high;   ///< of each on the path: the right-hand sides that reach it
    int32_t *row;          ///< by place on the path: its row in Z
    bool *visited;         ///< by supernode
    int64_t rows;          ///< of Z
    void *Z;               ///< rows x right-hand sides, by columns; in the precision of the factor's values
    int64_t Z_room;        ///< [bytes]
    void *update;          ///< rows below a supernode x right-hand sides, likewise
    int64_t update_room;   ///< [bytes]
    int32_t longest;       ///< most rows below a supernode
} tdSchurTree;

/// Room for factors of n unknowns.
tdStatus td_schur_tree_create(tdArena *arena, int32_t n, tdSchurTree *out, tdError *error);
void td_schur_tree_free(tdSchurTree *tree);
/// Reads the shape of a symbolic or numeric factor, which must outlive it.
void td_schur_tree_set(tdSchurTree *tree, const struct cholmod_factor_struct *factor);

/// The paths from n ascending places; with it the operations of Z (flops) and of Z'Z.
void td_schur_tree_visit(tdSchurTree *tree, int32_t n, const int32_t *places, double *flops, double *square);
/// W = Z'Z, lower triangle by columns, for the places visited last; values: of the numeric factor.
tdStatus td_schur_tree_square(tdSchurTree *tree, const double *values, int32_t n, const int32_t *places, double *W,
                              tdError *error);
tdStatus td_schur_tree_square_single(tdSchurTree *tree, const float *values, int32_t n, const int32_t *places, float *W,
                                     tdError *error);
/// After that: t = Z' y, and y -= Z t, for y over places.
void td_schur_tree_gather(const tdSchurTree *tree, int32_t n, const double *y, double *t);
void td_schur_tree_scatter(const tdSchurTree *tree, const double *t, double *y);
void td_schur_tree_gather_single(const tdSchurTree *tree, int32_t n, const float *y, float *t);
void td_schur_tree_scatter_single(const tdSchurTree *tree, const float *t, float *y);
