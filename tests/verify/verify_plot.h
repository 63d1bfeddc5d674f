// SPDX-License-Identifier: Apache-2.0
// Pictures of verification results for the documentation, written when the environment names a folder for
// them (scripts/verification does).
#pragma once
#include "render/plot.h"
#include "verify.h"

static inline void verify_plot(const char *file, const tdPlotSettings *settings, int n, const tdSeries *series)
{
    const char *folder = getenv("TENDRIL_VERIFY_IMAGES");
    tdImage image = {0};
    tdError error = {0};
    assert_ok(td_plot(settings, n, series, &image, &error), error);
    if (folder != NULL)
    {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, file);
        assert_ok(td_image_write_png(&image, path, &error), error);
    }
    td_image_free(&image);
}
