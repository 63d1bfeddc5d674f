// SPDX-License-Identifier: Apache-2.0
// Large scenes: what is read and compiled grows with their size, not with its square or cube. Before, each of these
// took minutes or gigabytes; that they end, and sizes of files, are looked at, never the clock.
#include "test.h"

#include "base/file.h"
#include "body/articulated.h"
#include "collide/collide.h"
#include "contact/contact.h"
#include "core/state.h"
#include "output/frames.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/tendril-large-XXXXXX";

// A chain of links with spheres; `moving` of its joints turn, the first ones, and the others are fixed.
static void write_chain(int links, int moving)
{
    tdText text = {0};
    tdError error = {0};
    char path[128];
    td_text_format(&text, "<robot name='r'>\n");
    for (int i = 0; i < links; i++)
        td_text_format(&text,
                       "<link name='l%d'><inertial><origin xyz='0 0 -0.05'/><mass value='0.1'/><inertia ixx='1e-4' "
                       "iyy='1e-4' izz='1e-4'/></inertial><collision><geometry><sphere radius='0.01'/></geometry>"
                       "</collision></link>\n",
                       i);
    for (int i = 0; i + 1 < links; i++)
        td_text_format(&text,
                       "<joint name='j%d' type='%s'><parent link='l%d'/><child link='l%d'/><origin xyz='0 0 -0.1'/>"
                       "<axis xyz='0 1 0'/></joint>\n",
                       i, i < moving ? "continuous" : "fixed", i, i + 1);
    td_text_format(&text, "</robot>\n");
    assert_false(text.failed);
    snprintf(path, sizeof path, "%s/chain.urdf", folder);
    assert_ok(td_file_write(path, text.data, (size_t)text.size, &error), error);
    free(text.data);
}

static tdModel *chain_model(const char *rest)
{
    char scene[512];
    tdModel *model = NULL;
    tdError error = {0};
    int n = snprintf(scene, sizeof scene,
                     "tendril: 1\ntime_step: 10 ms\nsteps: 1\ngravity: [0, 0, -9.81]\nbodies:\n"
                     "  - {name: r, type: articulated, urdf: chain.urdf}\n%s",
                     rest);
    assert_ok(td_model_parse(scene, (size_t)n, "scene.yaml", folder, NULL, &model, &error), error);
    return model;
}

// Links of one piece do not meet. Which piece a link is of was looked for anew for every pair of links, link by link.
static void test_long_pieces(void **unused)
{
    (void)unused;
    write_chain(3000, 2);
    tdModel *model = chain_model("contact: {self: true}\n");
    assert_int_equal(td_articulated_of(&model->bodies[0])->n, 2);
    assert_int_equal(model->contact->n_frames, 3000);
    td_model_free(model);
}

// Each link was an array over all triangles in the files of a run.
static void test_files_of_chains(void **unused)
{
    (void)unused;
    double bytes[2];
    for (int twice = 0; twice < 2; twice++)
    {
        write_chain(twice ? 400 : 200, 1);
        tdModel *model = chain_model("");
        tdState *state = NULL;
        tdOutput *output = NULL;
        tdError error = {0};
        tdOutputSettings settings = td_default_output(model);
        settings.vtu = true;
        settings.csv = settings.hdf5 = false;
        assert_ok(td_state_create(model, NULL, &state, &error), error);
        assert_ok(td_output_open(model, folder, &settings, &output, &error), error);
        assert_ok(td_output_frame(output, state, &error), error);
        assert_ok(td_output_close(output, &error), error);
        char path[128];
        struct stat about;
        snprintf(path, sizeof path, "%s/r_000000.vtu", folder);
        assert_int_equal(stat(path, &about), 0);
        bytes[twice] = (double)about.st_size;
        unlink(path);
        snprintf(path, sizeof path, "%s/run.pvd", folder);
        unlink(path);
        td_state_free(state);
        td_model_free(model);
    }
    assert_true(bytes[1] < 2.2 * bytes[0]);
}

// Copies are turned one against the other and have names of their own; all can be referred to.
static void test_repeated_bodies(void **unused)
{
    (void)unused;
    static const char text[] = "tendril: 1\ntime_step: 10 ms\nsteps: 1\nbodies:\n  - name: b\n"
                               "    mesh: {box: [[0, 0, 0], [0.01, 0.01, 0.01]], cells: [1, 1, 1]}\n"
                               "    material: {law: linear, young: 100 kPa, poisson: 0.3, density: 1000}\n"
                               "    repeat: {count: 10000, translate: [0.02, 0, 0], rotate: [0, 0, 1 deg]}\n%s"
                               "probes: [{name: far, body: b_9000, point: [179.98, 0, 0]}]\n";
    char scene[1024];
    tdScene out;
    tdError error = {0};
    snprintf(scene, sizeof scene, text, "");
    assert_ok(td_scene_parse(scene, strlen(scene), "scene.yaml", NULL, &out, &error), error);
    assert_int_equal(out.n_bodies, 10000);
    assert_int_equal(out.probes[0].body, 8999);
    double turn = acos(-1) / 180 * 9999;
    assert_near(out.bodies[9999].rotation[0], cos(turn), 1e-10);
    assert_near(out.bodies[9999].rotation[3], sin(turn), 1e-10);
    assert_near(out.bodies[9999].translate[0], 9999 * 0.02, 1e-9);
    td_scene_free(&out);
    snprintf(scene, sizeof scene, text, "  - {name: b_7777, type: rigid, shape: {sphere: 0.01}, density: 1000}\n");
    assert_int_equal(td_scene_parse(scene, strlen(scene), "scene.yaml", NULL, &out, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "the name 'b_7777' is that of two bodies"));
    assert_int_equal(error.line, 9);
    td_scene_free(&out);
}

static int make_folder(void **unused)
{
    (void)unused;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **unused)
{
    (void)unused;
    char path[128];
    snprintf(path, sizeof path, "%s/chain.urdf", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_pieces),
        cmocka_unit_test(test_files_of_chains),
        cmocka_unit_test(test_repeated_bodies),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
