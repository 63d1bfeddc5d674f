// SPDX-License-Identifier: Apache-2.0
// Memory that OpenBLAS works in.
//
// OpenBLAS maps a buffer for each of its routines that run at the same time, when they first do, and keeps it. Where
// the system gives no more memory it tries for ever, or ends the program. So the buffers are asked for while there is
// somebody to tell: before the first call, as many as there are threads that may call it.
#pragma once
#include "base/status.h"

/// So many more threads may be in BLAS at the same time. TD_ERROR_MEMORY: the system does not give what it takes.
tdStatus td_blas_reserve(int threads, tdError *error);
/// So many threads have ended. Their buffers stay with OpenBLAS.
void td_blas_release(int threads);
