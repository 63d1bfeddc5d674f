// SPDX-License-Identifier: Apache-2.0
#include "gpu/device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define LOCAL "use 'device: cpu', or see docs/gpu.md"

// A file in the folder of the library or program that this code is part of.
static void file_beside(const char *name, char *to, size_t size)
{
    Dl_info info;
    bool known = dladdr((const void *)(size_t)&td_gpu_open, &info) != 0 && info.dli_fname != NULL;
    const char *slash = known ? strrchr(info.dli_fname, '/') : NULL;
    snprintf(to, size, "%.*s%s", slash == NULL ? 0 : (int)(slash - info.dli_fname + 1), known ? info.dli_fname : "",
             name);
}

static tdStatus load(const char *file, tdGpuLibrary *out, tdError *error)
{
    char beside[1024], why[400];
    file_beside(TD_GPU_LIBRARY, beside, sizeof beside);
    out->handle = dlopen(file != NULL ? file : beside, RTLD_NOW | RTLD_LOCAL);
    snprintf(why, sizeof why, "%s", out->handle == NULL ? dlerror() : "");
    if (out->handle == NULL && file == NULL)
        out->handle = dlopen(TD_GPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (out->handle == NULL)
        return td_fail(error, TD_ERROR_INPUT,
                       "the GPU is not used, because its back end cannot be loaded (%s); 'make gpu' builds it "
                       "where CUDA's compiler is; " LOCAL,
                       why);
    return TD_OK;
}

tdStatus td_gpu_open(const char *file, tdGpuLibrary *out, tdError *error)
{
    *out = (tdGpuLibrary){0};
    TD_TRY(load(file, out, error));
    const tdGpuBackEnd *(*entry)(void) = NULL;
    void *symbol = dlsym(out->handle, TD_GPU_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry);
    const char *why = NULL;
    tdStatus status = TD_OK;
    if (entry == NULL)
        status = td_fail(error, TD_ERROR_INPUT, "'%.300s' is not a GPU back end: it has no %s; " LOCAL,
                         file == NULL ? TD_GPU_LIBRARY : file, TD_GPU_SYMBOL);
    else if ((out->back = entry())->version != TD_GPU_VERSION)
        status = td_fail(error, TD_ERROR_INPUT,
                         "the back end of the GPU is of version %d, and this library needs %d: build both from the "
                         "same source, or use 'device: cpu'",
                         (int)out->back->version, TD_GPU_VERSION);
    else if ((out->device = out->back->device(&why)) == NULL)
        status = td_fail(error, TD_ERROR_INPUT, "the GPU is not used, because %.400s; " LOCAL,
                         why == NULL ? "there is none" : why);
    if (status != TD_OK)
        td_gpu_close(out);
    return status;
}

// CUDA's run time does not like to be unloaded while the process lives; a handle that is loaded again is the same one.
void td_gpu_close(tdGpuLibrary *library)
{
    *library = (tdGpuLibrary){0};
}
