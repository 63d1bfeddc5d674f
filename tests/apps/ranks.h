// SPDX-License-Identifier: Apache-2.0
// 'tendril reduce' started by mpirun, in tests.
#pragma once
#include "program.h"

// Eight trajectories, training in some blocks, and a file within seconds.
#define RANKS_SCENE                                                                                                    \
    "tendril: 1\n"                                                                                                     \
    "gravity: [0, 0, -9.81]\n"                                                                                         \
    "time_step: 20 ms\n"                                                                                               \
    "steps: 10\n"                                                                                                      \
    "bodies:\n"                                                                                                        \
    "  - name: arm\n"                                                                                                  \
    "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [12, 2, 2]}\n"                                             \
    "    material: {law: corotational, young: 100 kPa, poisson: 0.4, density: 1000}\n"                                 \
    "    damping: {mass: 10 1/s}\n"                                                                                    \
    "    fixed: [{group: xmin}]\n"                                                                                     \
    "actuators:\n"                                                                                                     \
    "  - {name: top, type: cable, body: arm, path: [[0.09, 0.01, 0.02], [0, 0.01, 0.02]], drive: displacement, "       \
    "range: [0, 8 mm]}\n"                                                                                              \
    "  - {name: side, type: cable, body: arm, path: [[0.09, 0.02, 0.01], [0, 0.02, 0.01]], drive: displacement, "      \
    "range: [0, 8 mm]}\n"                                                                                              \
    "motion: {keyframes: [{t: 0, top: 0}, {t: 0.2, top: 4 mm}]}\n"                                                     \
    "reduction: {samples: latin_hypercube, count: 60, steps_between: 3, pod_tolerance: 1e-4, ecsw_tolerance: 1e-3, "   \
    "memory: 16 MB}\n"                                                                                                 \
    "validation: {random: {steps: 8, moves: 3}}\n"

/// Why ranks cannot be tried here; NULL: they can.
static inline const char *no_ranks(void)
{
    if (access(TD_BUILD_DIR "/libtendril_mpi.so", F_OK) != 0)
        return "libtendril_mpi.so was not built: there is no MPI (scripts/setup mpi)";
    return system("mpirun --version >/dev/null 2>&1") != 0 ? "there is no mpirun (scripts/setup mpi)" : NULL;
}

/// As start_command, by so many ranks. Leaks are those of MPI. Its files go into the test's folder, because two mpirun
/// of one user at a time share those in /tmp.
static inline pid_t start_ranks(int ranks, const char *arguments)
{
    char command[1200];
    snprintf(command, sizeof command,
             "cd %s && ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=%s "
             "exec mpirun --oversubscribe -n %d %s reduce %s >stdout.txt 2>stderr.txt",
             folder, folder, ranks, TD_PROGRAM, arguments);
    return start_shell(command);
}
