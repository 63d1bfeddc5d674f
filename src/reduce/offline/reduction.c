// SPDX-License-Identifier: Apache-2.0
// The offline stage as callers of the library see it.
#include "reduce/offline/job.h"

tdReductionSettings td_default_reduction(void)
{
    return (tdReductionSettings){0};
}

static bool tell(void *user, tdReducePhase phase, int64_t done, int64_t total)
{
    const tdReductionSettings *what = user;
    return what->progress == NULL || what->progress(what->user, td_reduce_phase_name(phase), done, total);
}

tdStatus td_model_reduce(const char *scene_path, const char *rom_path, const tdReductionSettings *what,
                         const tdSettings *settings, tdReduction *out, tdError *error)
{
    tdReductionSettings given = what != NULL ? *what : td_default_reduction();
    tdReduceTask task = {.scene = scene_path,
                         .out = rom_path,
                         .body = given.body,
                         .work = given.work,
                         .restart = given.restart,
                         .pod_tolerance = given.pod_tolerance,
                         .ecsw_tolerance = given.ecsw_tolerance,
                         .max_modes = given.max_modes,
                         .accept = given.accept,
                         .settings = settings != NULL ? *settings : td_default_settings(),
                         .progress = tell,
                         .user = &given};
    if (!(given.pod_tolerance >= 0 && given.pod_tolerance < 1) ||
        !(given.ecsw_tolerance >= 0 && given.ecsw_tolerance < 1))
        return td_fail(error, TD_ERROR_USAGE, "tolerances of a reduction are between 0 and 1; found %g and %g",
                       given.pod_tolerance, given.ecsw_tolerance);
    if (given.max_modes < 0 || given.max_modes > TD_REDUCE_MOST_MODES)
        return td_fail(error, TD_ERROR_USAGE, "%d modes; give 0 (the scene's value) to %d", given.max_modes,
                       TD_REDUCE_MOST_MODES);
    tdReduceReport report = {0};
    TD_TRY(td_reduce(&task, &report, error));
    if (out == NULL)
        return TD_OK;
    *out = (tdReduction){.stopped = report.stopped,
                         .modes = report.modes,
                         .snapshots = report.snapshots,
                         .failures = report.failures,
                         .elements = report.elements,
                         .rid_elements = report.rid_elements,
                         .pod_error = report.pod_error,
                         .ecsw_error = report.ecsw_error,
                         .held_out_error = report.held_out_error,
                         .held_out_worst = report.held_out_worst,
                         .held_out_places = report.held_out_places,
                         .motion_error = report.motion_error,
                         .motion_worst = report.motion_worst};
    for (int k = 0; k < TD_REDUCE_PHASES; k++)
        out->seconds += report.seconds[k];
    return TD_OK;
}
