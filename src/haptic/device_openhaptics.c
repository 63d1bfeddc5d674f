// SPDX-License-Identifier: Apache-2.0
// Devices of 3D Systems (Touch, formerly Phantom) by the vendor's library, OpenHaptics (HDAPI), which is loaded where
// it is installed: nothing of it is needed to build. Its axes are x to the right, y up, z towards the user [mm]; ours
// have z up. Its thread calls us at its own rate; poses and forces pass by three slots each. A force that is not
// renewed for 10 ms ends.
#include "haptic/device.h"

#include "base/exchange.h"
#include "base/memory.h"
#include "core/rotation.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Of its headers.
#define HD_INVALID_HANDLE    0xFFFFFFFFU
#define HD_CURRENT_BUTTONS   0x2000U
#define HD_CURRENT_TRANSFORM 0x2052U
#define HD_CURRENT_FORCE     0x2700U
#define HD_FORCE_OUTPUT      0x4000U
#define HD_CALLBACK_CONTINUE 1U
#define HD_DEFAULT_PRIORITY  0x7FFF

#define SILENCE 10e-3 // [s]

typedef unsigned int (*hdCallback)(void *);

typedef struct hdPose
{
    double transform[16]; ///< by columns [mm]
    int buttons;
} hdPose;

typedef struct hdForce
{
    double force[3], time;
} hdForce;

typedef struct hdDevice
{
    tdDevice head;
    void *library;
    unsigned int handle;
    unsigned long scheduled;
    unsigned int (*init)(const char *name);
    void (*disable)(unsigned int handle);
    void (*enable)(unsigned int what);
    void (*start)(void);
    void (*stop)(void);
    void (*begin)(unsigned int handle);
    void (*end)(unsigned int handle);
    void (*get_doubles)(unsigned int what, double *values);
    void (*get_integers)(unsigned int what, int *values);
    void (*set_doubles)(unsigned int what, const double *values);
    unsigned long (*schedule)(hdCallback call, void *user, unsigned short priority);
    void (*unschedule)(unsigned long handle);
    tdExchange poses, forces;
    hdPose pose[3];
    hdForce force[3];
    bool has_center;
    double center[3], rotation[4]; ///< of the first pose
    int64_t frames;                ///< that were read
} hdDevice;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// A frame of the vendor's thread.
static unsigned int frame(void *user)
{
    hdDevice *device = user;
    hdPose *pose = &device->pose[device->poses.writing];
    td_exchange_take(&device->forces);
    const hdForce *force = &device->force[device->forces.reading];
    bool fresh = seconds() - force->time < SILENCE;
    const double out[3] = {fresh ? force->force[0] : 0, fresh ? force->force[2] : 0, fresh ? -force->force[1] : 0};
    device->begin(device->handle);
    device->get_doubles(HD_CURRENT_TRANSFORM, pose->transform);
    device->get_integers(HD_CURRENT_BUTTONS, &pose->buttons);
    device->set_doubles(HD_CURRENT_FORCE, out);
    device->end(device->handle);
    td_exchange_publish(&device->poses);
    return HD_CALLBACK_CONTINUE;
}

// R = T R_device T', T: (x, y, z) to (x, -z, y).
static void turn_axes(const double *by_columns, double R[9])
{
    static const int from[3] = {0, 2, 1};
    static const double sign[3] = {1, -1, 1};
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            R[3 * r + c] = sign[r] * sign[c] * by_columns[4 * from[c] + from[r]];
}

static bool read_hd(tdDevice *head, double clock, tdReading *out)
{
    hdDevice *device = (hdDevice *)head;
    (void)clock;
    if (!td_exchange_take(&device->poses))
        return false;
    const hdPose *pose = &device->pose[device->poses.reading];
    const double *t = pose->transform + 12;
    double position[3] = {1e-3 * t[0], -1e-3 * t[2], 1e-3 * t[1]}, R[9], q[4];
    turn_axes(pose->transform, R);
    td_rotation_from_matrix(R, q);
    if (!device->has_center)
    {
        memcpy(device->center, position, sizeof position);
        memcpy(device->rotation, q, sizeof q);
        device->has_center = true;
    }
    for (int k = 0; k < 3; k++)
        out->position[k] = position[k] - device->center[k];
    td_rotation_difference(q, device->rotation, out->rotation);
    out->turned = true;
    out->buttons = (uint32_t)pose->buttons;
    out->grip = pose->buttons & 1;
    device->frames++;
    return true;
}

static void write_hd(tdDevice *head, double clock, const double force[3], const double torque[3], int fault)
{
    hdDevice *device = (hdDevice *)head;
    hdForce *out = &device->force[device->forces.writing];
    (void)clock;
    (void)torque;
    (void)fault;
    memcpy(out->force, force, sizeof out->force);
    out->time = seconds();
    td_exchange_publish(&device->forces);
}

static bool ended(const tdDevice *head, double clock)
{
    (void)head;
    (void)clock;
    return false;
}

static void tell(const tdDevice *head, char *out, size_t size)
{
    snprintf(out, size, "%lld frames were read", (long long)((const hdDevice *)head)->frames);
}

static void close_hd(tdDevice *head)
{
    hdDevice *device = (hdDevice *)head;
    device->stop();
    device->unschedule(device->scheduled);
    device->disable(device->handle);
    dlclose(device->library);
    free(device);
}

static const tdDeviceOps hd_ops = {read_hd, write_hd, ended, tell, close_hd};

// A function of the library. ISO C has no conversion from an object's pointer to a function's; POSIX has this one.
static void find(void *library, const char *name, void *out, const char **missing)
{
    void *at = dlsym(library, name);
    memcpy(out, &at, sizeof at);
    if (at == NULL && *missing == NULL)
        *missing = name;
}

static tdStatus start(hdDevice *device, const char *library, tdError *error)
{
    const char *missing = NULL;
    find(device->library, "hdInitDevice", &device->init, &missing);
    find(device->library, "hdDisableDevice", &device->disable, &missing);
    find(device->library, "hdEnable", &device->enable, &missing);
    find(device->library, "hdStartScheduler", &device->start, &missing);
    find(device->library, "hdStopScheduler", &device->stop, &missing);
    find(device->library, "hdBeginFrame", &device->begin, &missing);
    find(device->library, "hdEndFrame", &device->end, &missing);
    find(device->library, "hdGetDoublev", &device->get_doubles, &missing);
    find(device->library, "hdGetIntegerv", &device->get_integers, &missing);
    find(device->library, "hdSetDoublev", &device->set_doubles, &missing);
    find(device->library, "hdScheduleAsynchronous", &device->schedule, &missing);
    find(device->library, "hdUnschedule", &device->unschedule, &missing);
    if (missing != NULL)
        return td_fail(error, TD_ERROR_INPUT, "'%.200s' has no function %s; install OpenHaptics, version 3", library,
                       missing);
    device->handle = device->init(NULL);
    if (device->handle == HD_INVALID_HANDLE)
        return td_fail(error, TD_ERROR_INPUT,
                       "'%.200s' found no device; plug it in, set it up by the vendor's Touch setup, and check that "
                       "you have permission to use it",
                       library);
    device->enable(HD_FORCE_OUTPUT);
    device->scheduled = device->schedule(frame, device, HD_DEFAULT_PRIORITY);
    device->start();
    return TD_OK;
}

tdStatus td_device_openhaptics(const char *library, tdDevice **out, tdError *error)
{
    static const char *const names[] = {"libHD.so.3", "libHD.so"};
    void *handle = library != NULL ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t k = 0; k < 2 && handle == NULL && library == NULL; k++)
        handle = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return td_fail(
            error, TD_ERROR_INPUT,
            "the library of OpenHaptics (%s) is not installed; install the vendor's SDK, or use another device",
            library != NULL ? library : "libHD.so.3, libHD.so");
    hdDevice *device = td_take(1, sizeof *device);
    tdStatus status = device == NULL ? td_fail_memory(error, "the device") : TD_OK;
    if (device != NULL)
    {
        device->head.ops = &hd_ops;
        device->library = handle;
        td_exchange_init(&device->poses);
        td_exchange_init(&device->forces);
        for (int k = 0; k < 3; k++)
            device->force[k].time = -INFINITY;
        snprintf(device->head.name, sizeof device->head.name, "openhaptics");
        status = start(device, library != NULL ? library : "libHD.so", error);
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
