// SPDX-License-Identifier: Apache-2.0
#include "render_draw.h"

#include "subject_load.h"

#include <math.h>

static void widen_box(const tdShow *stage, double box[6])
{
    for (int m = 0; m < stage->n; m++)
        for (int64_t i = 0; i < 3 * stage->meshes[m].n_nodes && !stage->meshes[m].floor; i++)
        {
            double x = stage->meshes[m].x[i], *lo = &box[i % 3], *hi = &box[3 + i % 3];
            *lo = fmin(*lo, x);
            *hi = fmax(*hi, x);
        }
}

// Frames share view and colours: all are looked at before the first is drawn.
tdStatus render_movie(RenderDrawing *drawing, const RenderOptions *o, tdRenderSettings *s, int component,
                      const RenderNumbers *numbers, bool *named, tdError *error)
{
    double span[2], range[2] = {NAN, NAN}, box[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    TD_TRY(subject_span(o->inputs[0], span, error));
    double seconds = isnan(numbers->seconds) ? span[1] - span[0] : numbers->seconds;
    int wait = (int)fmin(fmax(round(1000 * seconds / (double)numbers->movie), 1), UINT16_MAX);
    tdMovie film = {0};
    tdStatus status = TD_OK;
    *named = true;
    for (long i = 0; i < 2 * numbers->movie && status == TD_OK && *named; i++)
    {
        bool look = i < numbers->movie;
        long k = i % numbers->movie;
        RenderNumbers at = *numbers;
        at.time = span[0] + (span[1] - span[0]) * (double)k / (double)(numbers->movie - 1);
        tdImage image = {0};
        td_show_free(&drawing->stage);
        status = render_compose(drawing, o, component, &at, named, error);
        if (status != TD_OK || !*named)
            continue;
        if (look)
        {
            widen_box(&drawing->stage, box);
            render_widen(range, drawing->range);
            continue;
        }
        if (k == 0 && o->field != NULL)
            render_colours(range, o, s);
        for (int e = 0; e < 2 && k == 0 && o->field != NULL; e++)
            s->range[e] = isnan(s->range[e]) ? range[e] : s->range[e];
        s->view.fit = box;
        status = render_draw(&drawing->stage, o, s, &image, error);
        if (status == TD_OK)
            status = td_movie_add(&film, &image, wait, error);
        td_image_free(&image);
    }
    s->view.fit = NULL;
    if (status == TD_OK && *named)
        status = td_movie_write(&film, o->output, error);
    td_movie_free(&film);
    return status;
}
