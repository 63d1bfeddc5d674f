// SPDX-License-Identifier: Apache-2.0
// Back ends, found at run time.
#pragma once
#include "base/status.h"
#include "gpu/plan.h"

/// A back end and what it was loaded from.
typedef struct tdGpuLibrary
{
    void *handle;
    const tdGpuBackEnd *back;
    const char *device; ///< its name
} tdGpuLibrary;

/// From a file, or (NULL) libtendril_gpu.so beside the library or program and then where the system looks. It fails
/// where there is none, or no device; the message says why and what to do.
tdStatus td_gpu_open(const char *file, tdGpuLibrary *out, tdError *error);
void td_gpu_close(tdGpuLibrary *library);
