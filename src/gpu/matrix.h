// SPDX-License-Identifier: Apache-2.0
// The matrix of a robot that moves as a whole or touches something, in double precision: in the registers of a warp on
// a device (TD_WARP), in tiles for one lane. Both have
//
//     TD_WHOLE(n)              n, filled up
//     TD_MATRIX(n)             doubles of a symmetric matrix
//     TD_MATRIX_ROOM(n)        doubles near by that work is done in
//     TD_MATRIX_COLUMNS(plan)  and farther away
//     td_matrix_place()        row and column of each of the doubles
//     td_matrix_times()        y = A x
#pragma once
#if defined(TD_WARP)
#include "gpu/warp.h"
#else
#include "gpu/tiles.h"
#endif
