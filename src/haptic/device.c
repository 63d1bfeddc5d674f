// SPDX-License-Identifier: Apache-2.0
// Which device a name stands for; recorded motions, and the simulated hand that follows one.
#include "haptic/device.h"

#include "base/log.h"
#include "core/model.h"
#include "core/rotation.h"
#include "describe/path.h"
#include "haptic/hand.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- recorded motions

typedef struct motionTable
{
    tdArena arena;
    tdSceneMotion motion;
    int column[7]; ///< of x, y, z, rx, ry, rz, grip; -1: zero
    double start;  ///< clock
} motionTable;

typedef struct tableColumns
{
    motionTable *table;
    int n;
} tableColumns;

static bool know_column(void *context, const char *name, tdDim *dim, char why[TD_UNIT_WHY])
{
    static const char *const names[7] = {"x", "y", "z", "rx", "ry", "rz", "grip"};
    tableColumns *columns = context;
    for (int k = 0; k < 7; k++)
        if (strcmp(name, names[k]) == 0)
        {
            columns->table->column[k] = columns->n++;
            *dim = k < 3 ? TD_DIM_LENGTH : k < 6 ? TD_DIM_ANGLE : TD_DIM_NONE;
            return true;
        }
    snprintf(why, TD_UNIT_WHY,
             "a motion of a device has the columns t, x, y, z, rx, ry, rz with '[rad]' or '[deg]', and grip");
    return false;
}

static tdStatus load_table(const char *path, double clock, motionTable *table, tdError *error)
{
    tableColumns columns = {table, 0};
    const tdUnits units = {1, 1, 1};
    *table = (motionTable){.start = clock, .column = {-1, -1, -1, -1, -1, -1, -1}};
    tdStatus status = td_path_load_csv(path, &units, know_column, &columns, &table->arena, &table->motion, error);
    if (status != TD_OK)
        td_arena_free(&table->arena);
    return status;
}

static double table_value(const motionTable *table, int k, double time)
{
    return table->column[k] < 0 ? 0 : td_motion_value(&table->motion, table->column[k], time, 0);
}

static bool table_ended(const motionTable *table, double clock)
{
    return clock - table->start > table->motion.times[table->motion.n_times - 1];
}

static void table_pose(const motionTable *table, double clock, tdReading *out)
{
    double time = clock - table->start, turn[3];
    for (int k = 0; k < 3; k++)
    {
        out->position[k] = table_value(table, k, time);
        turn[k] = table_value(table, 3 + k, time);
    }
    td_rotation_from_vector(turn, out->rotation);
    out->turned = true;
    out->buttons = 0;
    out->grip = table_value(table, 6, time);
}

typedef struct traceDevice
{
    tdDevice head;
    motionTable table;
} traceDevice;

static bool read_trace(tdDevice *head, double clock, tdReading *out)
{
    table_pose(&((traceDevice *)head)->table, clock, out);
    return true;
}

// A recording does not feel.
static void write_trace(tdDevice *head, double clock, const double force[3], const double torque[3], int fault)
{
    (void)head;
    (void)clock;
    (void)force;
    (void)torque;
    (void)fault;
}

static bool trace_ended(const tdDevice *head, double clock)
{
    return table_ended(&((const traceDevice *)head)->table, clock);
}

static void tell_nothing(const tdDevice *head, char *out, size_t size)
{
    (void)head;
    if (size > 0)
        out[0] = '\0';
}

static void close_table(tdDevice *head)
{
    td_arena_free(&((traceDevice *)head)->table.arena);
    free(head);
}

// A device that begins as a trace does, of that many bytes.
static tdStatus open_table(size_t bytes, const char *path, double clock, const tdDeviceOps *ops, const char *kind,
                           traceDevice **out, tdError *error)
{
    traceDevice *device = td_take(1, bytes);
    if (device == NULL)
        return td_fail_memory(error, "the device");
    tdStatus status = load_table(path, clock, &device->table, error);
    if (status != TD_OK)
    {
        free(device);
        return status;
    }
    device->head.ops = ops;
    snprintf(device->head.name, sizeof device->head.name, "%s:%.100s", kind, path);
    *out = device;
    return TD_OK;
}

static const tdDeviceOps trace_ops = {read_trace, write_trace, trace_ended, tell_nothing, close_table};

tdStatus td_device_trace(const char *path, double clock, tdDevice **out, tdError *error)
{
    traceDevice *device = NULL;
    TD_TRY(open_table(sizeof *device, path, clock, &trace_ops, "trace", &device, error));
    *out = &device->head;
    return TD_OK;
}

// ---------------------------------------------------------------- a simulated hand

typedef struct handDevice
{
    traceDevice goal;
    tdHand hand;
} handDevice;

static bool read_hand(tdDevice *head, double clock, tdReading *out)
{
    handDevice *device = (handDevice *)head;
    table_pose(&device->goal.table, clock, out); // its rotation is that of the goal: it feels no torques
    td_hand_measure(&device->hand, out->position);
    return true;
}

static void write_hand(tdDevice *head, double clock, const double force[3], const double torque[3], int fault)
{
    handDevice *device = (handDevice *)head;
    tdReading goal;
    (void)torque;
    (void)fault;
    table_pose(&device->goal.table, clock, &goal);
    td_hand_move(&device->hand, force, goal.position);
}

static void tell_hand(const tdDevice *head, char *out, size_t size)
{
    const tdHand *hand = &((const handDevice *)head)->hand;
    snprintf(out, size, "the hand was given %.3g mJ at most, and %.3g mJ in the end", 1e3 * hand->most,
             1e3 * hand->energy);
}

static const tdDeviceOps hand_ops = {read_hand, write_hand, trace_ended, tell_hand, close_table};

tdStatus td_device_hand(const char *path, double period, double clock, tdDevice **out, tdError *error)
{
    traceDevice *goal = NULL;
    TD_TRY(open_table(sizeof(handDevice), path, clock, &hand_ops, "hand", &goal, error));
    handDevice *device = (handDevice *)goal;
    tdHandSettings settings = td_default_hand();
    tdReading start;
    settings.period = period;
    table_pose(&device->goal.table, clock, &start);
    td_hand_start(&device->hand, &settings, start.position);
    *out = &device->goal.head;
    return TD_OK;
}

// ---------------------------------------------------------------- by name

static bool begins(const char *text, const char *with, const char **rest)
{
    size_t n = strlen(with);
    *rest = text + n;
    return strncmp(text, with, n) == 0;
}

static bool ends(const char *text, const char *with)
{
    size_t n = strlen(text), m = strlen(with);
    return n >= m && strcmp(text + n - m, with) == 0;
}

static tdStatus haply_here(const char *library, tdDevice **out, tdError *error)
{
    (void)library;
    return td_device_haply(NULL, out, error);
}

// The first that is there; what is not is logged with its reason.
static tdStatus search(const tdSettings *settings, tdDevice **out, tdError *error)
{
    static const struct
    {
        const char *name;
        tdStatus (*open)(const char *library, tdDevice **out, tdError *error);
    } kinds[] = {
        {"forcedimension", td_device_force_dimension}, {"openhaptics", td_device_openhaptics}, {"haply", haply_here}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
    {
        if (kinds[k].open(NULL, out, error) == TD_OK)
        {
            td_log(settings, TD_LOG_INFO, "device found: %s", kinds[k].name);
            return TD_OK;
        }
        td_log(settings, TD_LOG_INFO, "no device '%s': %s", kinds[k].name, error->message);
    }
    return td_fail(error, TD_ERROR_INPUT,
                   "no device was found; looked for forcedimension and openhaptics (their libraries, libdhd.so and "
                   "libHD.so) and haply (its service at 127.0.0.1:10001). Name one to see why, or udp:PORT for a "
                   "device that sends datagrams");
}

tdStatus td_device_open(const char *spec, double period, double clock, const tdSettings *settings, tdDevice **out,
                        tdError *error)
{
    const char *rest = NULL;
    *out = NULL;
    if ((begins(spec, "trace:", &rest) || begins(spec, "hand:", &rest)) && *rest == '\0')
        return td_fail(error, TD_ERROR_USAGE, "'%s' names no file; write %sFILE.csv", spec, spec);
    if (begins(spec, "trace:", &rest))
        return td_device_trace(rest, clock, out, error);
    if (begins(spec, "hand:", &rest))
        return td_device_hand(rest, period, clock, out, error);
    if (begins(spec, "udp:", &rest))
        return td_device_udp(rest, out, error);
    if (strcmp(spec, "forcedimension") == 0)
        return td_device_force_dimension(NULL, out, error);
    if (strcmp(spec, "openhaptics") == 0)
        return td_device_openhaptics(NULL, out, error);
    if (strcmp(spec, "haply") == 0 || begins(spec, "haply:", &rest))
        return td_device_haply(strcmp(spec, "haply") == 0 ? NULL : rest, out, error);
    if (ends(spec, ".csv"))
        return td_device_trace(spec, clock, out, error);
    if (strcmp(spec, "auto") == 0)
        return search(settings, out, error);
    return td_fail(error, TD_ERROR_USAGE,
                   "there is no device '%.80s'; devices are FILE.csv (a recorded motion; with another ending "
                   "trace:FILE), hand:FILE.csv, udp:PORT, udp:ADDRESS:PORT, forcedimension, openhaptics, haply, "
                   "haply:PORT, haply:ADDRESS:PORT, auto",
                   spec);
}
