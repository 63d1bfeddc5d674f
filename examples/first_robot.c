// SPDX-License-Identifier: Apache-2.0
// A robot without a file: the scene is put together in code, a cable bends it, and a picture shows the end.
//
//     cc first_robot.c -o first_robot $(pkg-config --cflags --libs tendril) && ./first_robot robot.ppm
#include <stdio.h>
#include <stdlib.h>
#include <tendril/study.h>

#define WIDTH  480
#define HEIGHT 360

static int fail(const tdError *error)
{
    char text[1200];
    td_error_format(error, text, sizeof text);
    fprintf(stderr, "first_robot: %s\n", text);
    return error->status;
}

// Values stand at the same paths as in a scene file. A mistake is an error that names its path.
static tdStatus build_arm(tdBuild **arm, tdError *error)
{
    tdStatus status = td_build_create("arm", NULL, arm, error);
    if (status != TD_OK)
        return status;
    const struct
    {
        const char *path, *value;
    } keys[] = {
        {"tendril", "1"},
        {"time_step", "10 ms"},
        {"steps", "100"},
        {"gravity", "[0, 0, -9.81]"},
        {"bodies[0].name", "arm"},
        {"bodies[0].mesh", "{box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [10, 2, 2]}"},
        {"bodies[0].material", "{law: corotational, young: 200 kPa, poisson: 0.4, density: 1000}"},
        {"bodies[0].damping.mass", "10"},
        {"bodies[0].fixed", "[{group: xmin}]"},
        {"actuators[0]", "{name: top, type: cable, body: arm, drive: displacement, range: [0, 10 mm]}"},
        {"actuators[0].path", "[[0.09, 0.01, 0.02], [0.05, 0.01, 0.02], [0, 0.01, 0.02]]"},
        {"probes[0]", "{name: tip, body: arm, point: [0.1, 0.01, 0.01]}"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys && status == TD_OK; i++)
        status = td_build_yaml(*arm, keys[i].path, keys[i].value, error);
    return status;
}

// A PPM file, which image viewers and converters read.
static int write_picture(const tdModel *model, const tdState *state, const char *path)
{
    tdPictureSettings how = td_default_picture();
    how.width = WIDTH;
    how.height = HEIGHT;
    tdError error = {0};
    uint8_t *rgb = malloc(3 * WIDTH * HEIGHT);
    FILE *file = rgb ? fopen(path, "wb") : NULL;
    bool written = file && td_state_render(model, state, &how, rgb, &error) == TD_OK;
    written = written && fprintf(file, "P6 %d %d 255\n", WIDTH, HEIGHT) > 0;
    written = written && fwrite(rgb, 3, (size_t)WIDTH * HEIGHT, file) == (size_t)WIDTH * HEIGHT;
    if (file && fclose(file) != 0)
        written = false;
    free(rgb);
    if (!written)
        fprintf(stderr, "first_robot: no picture in %s: %s\n", path, error.message);
    return written ? 0 : 6;
}

int main(int argc, char **argv)
{
    tdBuild *arm = NULL;
    tdModel *model = NULL; // the compiled scene, which never changes
    tdState *state = NULL; // what changes
    tdError error = {0};
    if (build_arm(&arm, &error) != TD_OK || td_build_model(arm, NULL, &model, &error) != TD_OK ||
        td_state_create(model, NULL, &state, &error) != TD_OK)
        return fail(&error);

    double tip[3];
    int probe = td_model_find_probe(model, "tip");
    td_state_set_input(model, state, td_model_find_input(model, "top"), 8e-3); // [m]: all values are in SI units
    while (td_state_steps(state) < td_model_steps(model))
        if (td_step(model, state) != TD_OK)
            return fail(&td_state_report(state)->error);
    td_state_probe(model, state, probe, tip);
    tdActuation pull = td_state_actuation(model, state, td_model_find_actuator(model, "top"));
    printf("%.2f s: tip at %.1f %.1f %.1f mm, the cable pulls with %.2f N\n", td_state_time(state), 1e3 * tip[0],
           1e3 * tip[1], 1e3 * tip[2], pull.effort);
    int status = argc > 1 ? write_picture(model, state, argv[1]) : 0;
    td_state_free(state);
    td_model_free(model);
    td_build_free(arm);
    return status;
}
