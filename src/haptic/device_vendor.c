// SPDX-License-Identifier: Apache-2.0
// Devices of Force Dimension by the vendor's library (DHD), which is loaded where it is installed: nothing of it is
// needed to build. Its axes are x towards the user, y to the right, z up [m].
#include "haptic/device.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DEVICE ((signed char)-1) // the one that was opened last

typedef struct dhdDevice
{
    tdDevice head;
    void *library;
    int (*open)(void);
    int (*close)(signed char id);
    int (*position)(double *x, double *y, double *z, signed char id);
    int (*force)(double x, double y, double z, signed char id);
    int (*enable)(unsigned char on, signed char id);
    double center[3]; ///< where it was when it was opened
    int64_t read_failures, write_failures;
} dhdDevice;

static bool read_dhd(tdDevice *head, double clock, tdReading *out)
{
    dhdDevice *device = (dhdDevice *)head;
    double x[3] = {NAN, NAN, NAN};
    (void)clock;
    if (device->position(&x[0], &x[1], &x[2], DEFAULT_DEVICE) < 0)
    {
        device->read_failures++;
        return false;
    }
    for (int k = 0; k < 3; k++)
        out->position[k] = x[k] - device->center[k];
    out->turned = false;
    out->buttons = 0;
    out->grip = 0;
    return true;
}

static void write_dhd(tdDevice *head, double clock, const double force[3], const double torque[3], int fault)
{
    dhdDevice *device = (dhdDevice *)head;
    (void)clock;
    (void)torque;
    (void)fault;
    device->write_failures += device->force(force[0], force[1], force[2], DEFAULT_DEVICE) < 0;
}

static bool ended(const tdDevice *head, double clock)
{
    (void)head;
    (void)clock;
    return false;
}

static void tell(const tdDevice *head, char *out, size_t size)
{
    const dhdDevice *device = (const dhdDevice *)head;
    snprintf(out, size, "%lld positions and %lld forces failed", (long long)device->read_failures,
             (long long)device->write_failures);
}

static void close_dhd(tdDevice *head)
{
    dhdDevice *device = (dhdDevice *)head;
    device->force(0, 0, 0, DEFAULT_DEVICE);
    device->close(DEFAULT_DEVICE);
    dlclose(device->library);
    free(device);
}

static const tdDeviceOps dhd_ops = {read_dhd, write_dhd, ended, tell, close_dhd};

// A function of the library. ISO C has no conversion from an object's pointer to a function's; POSIX has this one.
static bool find(void *library, const char *name, void *out, const char **missing)
{
    void *at = dlsym(library, name);
    memcpy(out, &at, sizeof at);
    if (at == NULL && *missing == NULL)
        *missing = name;
    return at != NULL;
}

static tdStatus start(dhdDevice *device, const char *library, tdError *error)
{
    const char *missing = NULL;
    find(device->library, "dhdOpen", &device->open, &missing);
    find(device->library, "dhdClose", &device->close, &missing);
    find(device->library, "dhdGetPosition", &device->position, &missing);
    find(device->library, "dhdSetForce", &device->force, &missing);
    find(device->library, "dhdEnableForce", &device->enable, &missing);
    if (missing != NULL)
        return td_fail(error, TD_ERROR_INPUT, "'%.200s' has no function %s; install the vendor's SDK, version 3",
                       library, missing);
    if (device->open() < 0)
        return td_fail(
            error, TD_ERROR_INPUT,
            "'%.200s' found no device; plug it in, switch it on, and check that you have permission to use it",
            library);
    double *c = device->center;
    if (device->position(&c[0], &c[1], &c[2], DEFAULT_DEVICE) < 0 || device->enable(1, DEFAULT_DEVICE) < 0)
    {
        device->close(DEFAULT_DEVICE);
        return td_fail(error, TD_ERROR_INPUT, "the device of '%.200s' does not answer; is it calibrated?", library);
    }
    return TD_OK;
}

tdStatus td_device_force_dimension(const char *library, tdDevice **out, tdError *error)
{
    static const char *const names[] = {"libdhd.so.3", "libdhd.so"};
    void *handle = library != NULL ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t k = 0; k < 2 && handle == NULL && library == NULL; k++)
        handle = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return td_fail(
            error, TD_ERROR_INPUT,
            "the library of Force Dimension (%s) is not installed; install the vendor's SDK, or use another device",
            library != NULL ? library : "libdhd.so.3, libdhd.so");
    dhdDevice *device = td_take(1, sizeof *device);
    tdStatus status = device == NULL ? td_fail_memory(error, "the device") : TD_OK;
    if (device != NULL)
    {
        device->head.ops = &dhd_ops;
        device->library = handle;
        snprintf(device->head.name, sizeof device->head.name, "forcedimension");
        status = start(device, library != NULL ? library : "libdhd.so", error);
    }
    if (status != TD_OK)
    {
        free(device);
        dlclose(handle);
        return status;
    }
    *out = &device->head;
    return TD_OK;
}
