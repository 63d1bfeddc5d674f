// SPDX-License-Identifier: Apache-2.0
// td_state_render(): a picture of a state, as `tendril render` draws it.
#include "core/state.h"
#include "render/render.h"
#include "study/show.h"
#include "tendril/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tdPictureSettings td_default_picture(void)
{
    const tdRenderSettings standard = td_default_render();
    return (tdPictureSettings){.width = 800,
                               .height = 600,
                               .supersample = 2,
                               .azimuth = standard.view.azimuth,
                               .elevation = standard.view.elevation,
                               .zoom = 1,
                               .up = standard.view.up,
                               .opacity = NAN,
                               .background = "light",
                               .marks = true,
                               .shadow = true,
                               .axes = true,
                               .key = true};
}

static tdStatus check(const tdPictureSettings *what, tdBackground *background, tdError *error)
{
    static const char *const names[TD_BACKGROUNDS] = {"light", "white", "dark"};
    int k = 0;
    while (what->background != NULL && k < TD_BACKGROUNDS && strcmp(names[k], what->background) != 0)
        k++;
    *background = (tdBackground)k;
    if (k == TD_BACKGROUNDS)
        return td_fail(error, TD_ERROR_USAGE, "the background is light, white or dark, not '%.40s'", what->background);
    if (what->width < 16 || what->height < 16 || what->width > TD_IMAGE_MAX || what->height > TD_IMAGE_MAX)
        return td_fail(error, TD_ERROR_USAGE, "a picture of %d x %d pixels; sides are 16 to %d", what->width,
                       what->height, TD_IMAGE_MAX);
    if (what->supersample < 1 || what->supersample > 4 || what->up < 0 || what->up > 2)
        return td_fail(error, TD_ERROR_USAGE, "samples along a pixel are 1 to 4, and the axis that is up is 0, 1 or 2");
    if (!isfinite(what->azimuth) || !(what->elevation >= -90 && what->elevation <= 90) ||
        !(what->zoom > 0 && what->zoom < 1e3))
        return td_fail(
            error, TD_ERROR_USAGE,
            "azimuth %g, elevation %g, zoom %g: give finite angles, -90 to 90 degrees above the horizon, and "
            "a zoom above 0",
            what->azimuth, what->elevation, what->zoom);
    if (!isnan(what->opacity) && !(what->opacity > 0 && what->opacity <= 1))
        return td_fail(error, TD_ERROR_USAGE, "an opacity of %g; give a number above 0 and up to 1", what->opacity);
    return TD_OK;
}

static tdStatus draw(tdShow *show, const tdPictureSettings *what, tdBackground background, tdImage *image,
                     tdError *error)
{
    const tdShowLook look = {.opacity = what->opacity, .edges = what->edges};
    tdRenderSettings s = td_default_render();
    s.width = what->width;
    s.height = what->height;
    s.supersample = what->supersample;
    s.view.azimuth = what->azimuth;
    s.view.elevation = what->elevation;
    s.view.zoom = what->zoom;
    s.view.up = what->up;
    s.view.field_of_view = what->parallel ? 0 : s.view.field_of_view;
    s.background = background;
    s.ground_shadow = what->shadow;
    s.triad = what->axes;
    s.title = what->title;
    TD_TRY(td_show_set(show, &look, error));
    s.n_keys = what->key ? show->n_keys : 0;
    s.keys = show->keys;
    TD_TRY(td_tasks_create(0, &s.tasks, error));
    tdStatus status = td_render(&s, show->n, show->meshes, image, error);
    td_tasks_free(s.tasks);
    return status;
}

tdStatus td_state_render(const tdModel *model, const tdState *state, const tdPictureSettings *what, uint8_t *rgb,
                         tdError *error)
{
    const tdPictureSettings standard = td_default_picture();
    tdBackground background = TD_BACKGROUND_LIGHT;
    tdImage image = {0};
    what = what != NULL ? what : &standard;
    TD_TRY(check(what, &background, error));
    tdShow *show = td_take(1, sizeof *show); // too large for a stack
    if (show == NULL)
        return td_fail_memory(error, "the picture");
    const tdSubjectSettings settings = {.step = -1,
                                        .time = NAN,
                                        .marks = what->marks,
                                        .probes = what->probes && td_model_probes(model) > 0,
                                        .supports = what->supports,
                                        .coloured = true};
    show->n_files = 1;
    tdStatus status = td_subject_take(&show->subjects[0], model->scene.file, model, state, &settings, error);
    if (status == TD_OK)
        status = draw(show, what, background, &image, error);
    if (status == TD_OK)
        memcpy(rgb, image.rgb, (size_t)3 * (size_t)what->width * (size_t)what->height);
    td_image_free(&image);
    td_show_free(show);
    free(show);
    return status;
}
