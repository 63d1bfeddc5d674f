// SPDX-License-Identifier: Apache-2.0
// tendril render from outside: exit codes, messages and the picture that appears.
#include "test.h"

#include "base/file.h"

#include <png.h>
#include <sys/wait.h>
#include <unistd.h>

// A cube of one cell, lifted by 0.5: points are deformed, "displacement" leads back to rest.
static const char cube[] =
    "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"0.1\" byte_order=\"LittleEndian\">\n"
    "<UnstructuredGrid><Piece NumberOfPoints=\"8\" NumberOfCells=\"1\">\n"
    "<PointData><DataArray type=\"Float64\" Name=\"displacement\" NumberOfComponents=\"3\" format=\"ascii\">\n"
    "0 0 0.5 0 0 0.5 0 0 0.5 0 0 0.5 0 0 0.5 0 0 0.5 0 0 0.5 0 0 0.7</DataArray></PointData>\n"
    "<CellData><DataArray type=\"Float64\" Name=\"von_mises\" format=\"ascii\">2500</DataArray></CellData>\n"
    "<Points><DataArray type=\"Float64\" NumberOfComponents=\"3\" format=\"ascii\">\n"
    "0 0 0.5 1 0 0.5 1 1 0.5 0 1 0.5 0 0 1.5 1 0 1.5 1 1 1.5 0 1 1.7</DataArray></Points>\n"
    "<Cells><DataArray type=\"Int32\" Name=\"connectivity\" format=\"ascii\">0 1 2 3 4 5 6 7</DataArray>\n"
    "<DataArray type=\"Int32\" Name=\"offsets\" format=\"ascii\">8</DataArray>\n"
    "<DataArray type=\"UInt8\" Name=\"types\" format=\"ascii\">12</DataArray></Cells>\n"
    "</Piece></UnstructuredGrid></VTKFile>\n";

typedef struct Place
{
    char folder[64], vtu[96], png[96], said[96];
} Place;

static int setup(void **state)
{
    Place *p = calloc(1, sizeof *p);
    snprintf(p->folder, sizeof p->folder, "/tmp/tendril_render_XXXXXX");
    if (mkdtemp(p->folder) == NULL)
        return -1;
    snprintf(p->vtu, sizeof p->vtu, "%s/cube.vtu", p->folder);
    snprintf(p->png, sizeof p->png, "%s/cube.png", p->folder);
    snprintf(p->said, sizeof p->said, "%s/said", p->folder);
    *state = p;
    return td_file_write(p->vtu, cube, sizeof cube - 1, NULL) == TD_OK ? 0 : -1;
}

static int teardown(void **state)
{
    Place *p = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", p->folder);
    free(p);
    return system(command);
}

// Runs "tendril render cube.vtu -o cube.png OPTIONS"; returns the exit code, all output in *said.
static int render(const Place *p, const char *options, char **said)
{
    char command[1024];
    size_t size;
    unlink(p->png);
    snprintf(command, sizeof command, "%s render %s -o %s --width 160 --height 120 %s > %s 2>&1", TD_PROGRAM, p->vtu,
             p->png, options, p->said);
    int status = system(command);
    assert_true(WIFEXITED(status));
    assert_int_equal(td_file_read(p->said, said, &size, NULL), TD_OK);
    return WEXITSTATUS(status);
}

static void test_draws(void **state)
{
    const Place *p = *state;
    static const char *const options[] = {
        "",
        "--edges --features --ghost --scale-bar --title cube",
        "--field von_mises --json",
        "--field von_mises --flat --range 0: --colormap ember --background dark",
        "--field displacement --component z --deform 3 --parallel --up y --no-axes --no-legend --no-shadow",
        "--field displacement --azimuth 10 --elevation -40 --zoom 2 --unit furlong --quiet",
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    {
        char *said;
        assert_int_equal(render(p, options[i], &said), 0);
        png_image png = {.version = PNG_IMAGE_VERSION};
        assert_true(png_image_begin_read_from_file(&png, p->png));
        assert_int_equal(png.width, 160);
        assert_int_equal(png.height, 120);
        png_image_free(&png);
        if (strstr(options[i], "--json") != NULL)
        {
            assert_int_equal(said[0], '{');
            assert_non_null(strstr(said, "\"triangles\": 12"));
            assert_non_null(strstr(said, "2500"));
        }
        if (strstr(options[i], "--quiet") != NULL)
            assert_string_equal(said, "");
        free(said);
    }
}

static char *picture(const Place *p, const char *options, size_t *size)
{
    char *said, *bytes;
    assert_int_equal(render(p, options, &said), 0);
    free(said);
    assert_int_equal(td_file_read(p->png, &bytes, size, NULL), TD_OK);
    return bytes;
}

// Tendril's own arrays have their SI units in the legend without being asked, as if the unit were given.
static void test_units_of_own_fields(void **state)
{
    const Place *p = *state;
    static const char *const fields[][2] = {
        {"displacement", "m"}, {"velocity", "m/s"}, {"force", "N"},
        {"reaction", "N"},     {"von_mises", "Pa"}, {"stress", "Pa"},
        {"pressure", "Pa"},    {"tension", "N"},    {"acceleration", "m/s\xC2\xB2"},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    {
        char text[sizeof cube + 200], options[128];
        const char *at = strstr(cube, "<CellData>") + strlen("<CellData>"), *rest = strstr(cube, "</CellData>");
        int n = snprintf(text, sizeof text,
                         "%.*s<DataArray type=\"Float64\" Name=\"%s\" format=\"ascii\">2500</DataArray>%s",
                         (int)(at - cube), cube, fields[i][0], rest);
        if (strcmp(fields[i][0], "displacement") == 0) // of the points, as ever
            n = snprintf(text, sizeof text, "%s", cube);
        assert_int_equal(td_file_write(p->vtu, text, (size_t)n, NULL), TD_OK);
        char *bytes[3];
        size_t size[3];
        const char *units[3] = {NULL, fields[i][1], "furlong"};
        for (int k = 0; k < 3; k++)
        {
            snprintf(options, sizeof options, "--field %s%s%s --width 600 --height 400", fields[i][0],
                     units[k] != NULL ? " --unit " : "", units[k] != NULL ? units[k] : "");
            bytes[k] = picture(p, options, &size[k]);
        }
        if (size[0] != size[1] || memcmp(bytes[0], bytes[1], size[0]) != 0)
            fail_msg("%s is not in %s", fields[i][0], fields[i][1]);
        assert_false(size[0] == size[2] && memcmp(bytes[0], bytes[2], size[0]) == 0);
        for (int k = 0; k < 3; k++)
            free(bytes[k]);
    }
    assert_int_equal(td_file_write(p->vtu, cube, sizeof cube - 1, NULL), TD_OK);
}

// Runs the program with its words in the test's folder; returns the exit code, all output in *said.
static int program(const Place *p, const char *words, char **said)
{
    char command[1024];
    size_t size;
    snprintf(command, sizeof command, "cd %s && %s %s > %s 2>&1", p->folder, TD_PROGRAM, words, p->said);
    int status = system(command);
    assert_true(WIFEXITED(status));
    assert_int_equal(td_file_read(p->said, said, &size, NULL), TD_OK);
    return WEXITSTATUS(status);
}

static void expect(const Place *p, const char *words, int code, const char *const *says)
{
    char *said;
    int ended = program(p, words, &said);
    for (int i = 0; says[i] != NULL; i++)
        if (ended != code || strstr(said, says[i]) == NULL)
            fail_msg("'%s' ended with %d, not %d, or does not say '%s': %s", words, ended, code, says[i], said);
    free(said);
}

// Share of pixels of a picture in which one channel, red or green, is well above the others.
static double share_of(const Place *p, const char *name, int channel)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", p->folder, name);
    png_image png = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&png, path));
    png.format = PNG_FORMAT_RGB;
    unsigned char *pixels = malloc(PNG_IMAGE_SIZE(png));
    assert_non_null(pixels);
    assert_true(png_image_finish_read(&png, NULL, pixels, 0, NULL));
    double n = (double)png.width * png.height, found = 0;
    for (size_t i = 0; i < (size_t)n; i++)
    {
        const unsigned char *c = pixels + 3 * i;
        found += c[channel] > c[(channel + 1) % 3] + 40 && c[channel] > c[(channel + 2) % 3] + 40;
    }
    free(pixels);
    return found / n;
}

// A beam with cables as a scene, as it was simulated and as the folder of a run: cables, effectors, targets.
static void test_draws_what_acts(void **state)
{
    const Place *p = *state;
    static const char scene[] =
        "tendril: 1\ntime_step: 10 ms\nsteps: 4\nbodies:\n"
        "  - name: arm\n    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [5, 2, 2]}\n"
        "    material: {law: corotational, young: 200 kPa, poisson: 0.4, density: 1000}\n"
        "    fixed: [{group: xmin}]\n"
        "actuators:\n"
        "  - {name: top, type: cable, body: arm, path: [[0.09, 0.01, 0.018], [0.05, 0.01, 0.018]],\n"
        "     pull_point: [-0.04, 0.01, 0.018], drive: displacement}\n"
        "effectors: [{name: tip, body: arm, point: [0.1, 0.01, 0.01], target: [0.08, 0.01, 0.12]}]\n"
        "output: {every: 2, formats: [vtu, csv]}\n";
    char path[400], *said;
    snprintf(path, sizeof path, "%s/arm.yaml", p->folder);
    assert_int_equal(td_file_write(path, scene, strlen(scene), NULL), TD_OK);
    static const char *const marks[] = {"\"cable_segments\": 2", "\"effectors\": 1", "\"targets\": 1", NULL};
    expect(p, "render arm.yaml -o rest.png --width 160 --height 120 --json --supports", 0, marks);
    expect(p, "render arm.yaml --step 3 -o bent.png --width 160 --height 120 --json --quiet --ghost", 0, marks);
    expect(p, "run arm.yaml --out out --quiet", 0, (const char *const[]){"top", "tip", NULL});
    expect(p, "render out -o out.png --width 160 --height 120 --json --no-shadow", 0, marks);
    expect(p, "render out --step 2 -o out.png --width 160 --height 120 --json --field tension", 0,
           (const char *const[]){"\"field\": \"tension\"", "\"cable_segments\": 2", NULL});
    expect(p, "render out --step 3 -o none.png", 3, (const char *const[]){"no frame of step 3", "4", NULL});
    expect(p, "render . -o none.png", 3, (const char *const[]){"run.pvd", NULL});
    expect(p, "render out -o bare.png --no-marks --no-legend --no-axes --width 400 --height 300 --json", 0,
           (const char *const[]){"\"cable_segments\": 0", "\"targets\": 0", NULL});

    // The green cross of the target is there when marks are, the red cable too.
    expect(p, "render arm.yaml -o marked.png --no-legend --no-axes --width 400 --height 300", 0,
           (const char *const[]){"", NULL});
    assert_true(share_of(p, "marked.png", 0) > 3e-4 && share_of(p, "marked.png", 1) > 3e-4);
    assert_near(share_of(p, "bare.png", 0) + share_of(p, "bare.png", 1), 0, 0);

    // Superposed: both are there, the second in orange.
    expect(p, "render out arm.yaml -o both.png --names bent,rest --no-marks --width 160 --height 120 --json", 0,
           (const char *const[]){"\"files\": 2", "\"nodes\": 108", NULL});
    assert_true(share_of(p, "both.png", 0) > 0.01);
    assert_int_equal(program(p, "render out arm.yaml -o both.png --names bent,rest,more", &said), 2);
    free(said);
    snprintf(path, sizeof path, "rm -r %s/out %s/arm.yaml %s/*.png", p->folder, p->folder, p->folder);
    assert_int_equal(system(path), 0);
}

// Two cables, of which one pulls and one lets go; probes; a shape by its time; a reduced model and its elements.
static void test_draws_a_time(void **state)
{
    const Place *p = *state;
    static const char scene[] =
        "tendril: 1\ntime_step: 10 ms\nsteps: 8\nbodies:\n"
        "  - name: arm\n    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [8, 2, 2]}\n"
        "    material: {law: corotational, young: 200 kPa, poisson: 0.4, density: 1000}\n"
        "    fixed: [{group: xmin}]\n"
        "actuators:\n"
        "  - {name: top, type: cable, body: arm, path: [[0.09, 0.01, 0.018], [0.05, 0.01, 0.018]],\n"
        "     pull_point: [-0.04, 0.01, 0.018], drive: displacement, range: [0, 4 mm]}\n"
        "  - {name: low, type: cable, body: arm, path: [[0.09, 0.01, 0.002]],\n"
        "     pull_point: [-0.04, 0.01, 0.002], drive: force, range: [0, 1 N]}\n"
        "probes: [{name: tip, body: arm, point: [0.1, 0.01, 0.01]}, {name: mid, body: arm, point: [0.05, 0.01, "
        "0.01]}]\n"
        "motion: {keyframes: [{t: 0, top: 0, low: 0}, {t: 50 ms, top: 3 mm, low: 0}]}\n"
        "reduction: {samples: corners, steps_between: 2}\nvalidation: {random: {steps: 4}}\n"
        "output: {every: 4, formats: [vtu, csv]}\n";
    char path[400];
    snprintf(path, sizeof path, "%s/two.yaml", p->folder);
    assert_int_equal(td_file_write(path, scene, strlen(scene), NULL), TD_OK);
#define SMALL " -o t.png --width 160 --height 120 --json --quiet"
    // At rest nobody knows which will pull.
    expect(p, "render two.yaml --probes" SMALL, 0,
           (const char *const[]){"\"cable_segments\": 3, \"slack_segments\": 0", "\"probes\": 2", "\"step\": 0", NULL});
    expect(p, "render two.yaml --time 0.052 --supports" SMALL, 0,
           (const char *const[]){"\"slack_segments\": 1", "\"held_nodes\": 9", "\"step\": 5, \"time\": 0.05", NULL});
    expect(p, "run two.yaml --out two --quiet", 0, (const char *const[]){"", NULL});
    expect(p, "render two --time 0.045 --probes" SMALL, 0,
           (const char *const[]){"\"slack_segments\": 1", "\"probes\": 2", "\"step\": 4, \"time\": 0.04", NULL});
    expect(p, "render two --field tension" SMALL, 0,
           (const char *const[]){"\"step\": 8", "\"field_range\": [0, ", NULL});
    expect(p, "reduce two.yaml -o two.h5 --accept --quiet", 0, (const char *const[]){"modes", NULL});
    expect(p, "render two.yaml --rom two.h5 --domain --time 0.05" SMALL, 0,
           (const char *const[]){"\"slack_segments\": 1", "\"chosen_elements\": ", "\"step\": 5", NULL});
    char *said;
    assert_int_equal(program(p, "render two.yaml --rom two.h5 --domain" SMALL, &said), 0);
    assert_null(strstr(said, "\"chosen_elements\": 0"));
    free(said);
    static const struct
    {
        const char *words, *says;
        int code;
    } refused[] = {
        {"render two --time 0.2" SMALL, "the last one is at 0.08 s", 3},
        {"render two.yaml --time -1" SMALL, "--time takes", 2},
        {"render two.yaml --time 1 --step 2" SMALL, "exclude each other", 2},
        {"render two.yaml --time 1e12" SMALL, "1e9 steps", 2},
        {"render two --rom two.h5" SMALL, "--rom is for scenes", 2},
        {"render two.yaml --domain" SMALL, "--rom FILE", 2},
        {"render two --supports" SMALL, "give the scene", 2},
        {"render cube.vtu --probes" SMALL, "is for scenes", 2},
        {"render cube.vtu --time 1" SMALL, "is for scenes and folders", 2},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        expect(p, refused[i].words, refused[i].code, (const char *const[]){refused[i].says, NULL});
    snprintf(path, sizeof path, "rm -r %s/two %s/two.* %s/t.png", p->folder, p->folder, p->folder);
    assert_int_equal(system(path), 0);
}

// A block on a floor that a link presses: links, planes and forces, from the scene and from a run's folder.
static void test_draws_contact(void **state)
{
    const Place *p = *state;
    static const char scene[] =
        "tendril: 1\ntime_step: 5 ms\nsteps: 40\ngravity: [0, 0, -9.81]\ncontact: {friction: 0.5}\nbodies:\n"
        "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
        "  - {name: brick, type: rigid, shape: {box: [0.1, 0.1, 0.05]}, density: 1000, transform: {translate: [0, 0, "
        "0.125]}}\n"
        "  - name: block\n    mesh: {box: [[-0.05, -0.05, 0], [0.05, 0.05, 0.1]], cells: [2, 2, 2]}\n"
        "    material: {law: corotational_lagged, young: 0.5 MPa, poisson: 0.4, density: 1000}\n"
        "output: {every: 20, formats: [vtu, csv]}\n";
    char path[400], *said;
    snprintf(path, sizeof path, "%s/pile.yaml", p->folder);
    assert_int_equal(td_file_write(path, scene, strlen(scene), NULL), TD_OK);
    // The plane has no triangles of its own among the bodies: 12 of the brick, 48 of the block.
    expect(p, "render pile.yaml" SMALL, 0, (const char *const[]){"\"triangles\": 60", "\"contacts\": 0", NULL});
    expect(p, "run pile.yaml --out pile --quiet", 0, (const char *const[]){"", NULL});
    static const char *const ways[] = {"render pile.yaml --time 0.2" SMALL, "render pile --time 0.2" SMALL,
                                       "render pile.yaml --time 0.2 --field displacement" SMALL};
    int found[3] = {0};
    for (int i = 0; i < 3; i++)
    {
        assert_int_equal(program(p, ways[i], &said), 0);
        const char *at = strstr(said, "\"contacts\": ");
        assert_non_null(at);
        found[i] = atoi(at + strlen("\"contacts\": "));
        assert_non_null(strstr(said, "\"triangles\": 60"));
        free(said);
    }
    assert_true(found[0] >= 13); // nine nodes on the floor, four corners of the brick
    assert_int_equal(found[1], found[0]);
    assert_int_equal(found[2], found[0]);
    expect(p, "render pile.yaml --time 0.2 --no-marks" SMALL, 0, (const char *const[]){"\"contacts\": 0", NULL});
    snprintf(path, sizeof path, "rm -r %s/pile %s/pile.* %s/t.png", p->folder, p->folder, p->folder);
    assert_int_equal(system(path), 0);
}

// Of a scene every body is drawn, a plane one beside a block too: 12 and 2 triangles.
static void test_draws_plane_bodies(void **state)
{
    const Place *p = *state;
    static const char scene[] = "tendril: 1\ntime_step: 1 ms\nsteps: 1\nbodies:\n"
                                "  - name: block\n    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}\n"
                                "    material: {law: stvk, young: 1e5, poisson: 0.3, density: 1}\n"
                                "  - name: sheet\n    mesh: {rectangle: [[2, 0], [3, 1]], cells: [1, 1]}\n"
                                "    plane: stress\n    material: {law: stvk, young: 1e5, poisson: 0.3, density: 1}\n";
    char command[900], path[300], *said;
    size_t size;
    snprintf(path, sizeof path, "%s.yaml", p->vtu);
    assert_int_equal(td_file_write(path, scene, strlen(scene), NULL), TD_OK);
    snprintf(command, sizeof command, "%s render %s -o %s --width 160 --height 120 --json > %s 2>&1", TD_PROGRAM, path,
             p->png, p->said);
    int status = system(command);
    unlink(path);
    assert_int_equal(status, 0);
    assert_int_equal(td_file_read(p->said, &said, &size, NULL), TD_OK);
    assert_non_null(strstr(said, "\"triangles\": 14"));
    free(said);
}

static void test_refuses(void **state)
{
    const Place *p = *state;
    static const struct
    {
        const char *options;
        int code;
        const char *says;
    } cases[] = {
        {"--field vonmises", 3, "did you mean von_mises"},
        {"--field von_mises --component x", 2, "--component"},
        {"--component x", 2, "--field"},
        {"--field von_mises --range 3:1", 2, "LO:HI"},
        {"--field von_mises --range 3", 2, "LO:HI"},
        {"--field von_mises --colormap jet", 2, "lagoon"},
        {"--background pink", 2, "light, white, dark"},
        {"--up w", 2, "x, y, z"},
        {"--zoom 0", 2, "zoom"},
        {"--elevation 100", 2, "elevation"},
        {"--width 1000000", 2, "1000000"},
        {"--supersample 7", 2, "samples"},
        {"--fild x", 2, "did you mean --field"},
        {"again.vtu", 3, "again.vtu"},
        {"a b c d e f g h", 2, "unexpected"},
        {"--opacity 2", 2, "--opacity"},
        {"--names one,two", 2, "--names"},
        {"--step 3", 2, "folders of runs"},
        {"-o picture.jpg", 2, "ends in .png"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        char *said;
        assert_int_equal(render(p, cases[i].options, &said), cases[i].code);
        if (strstr(said, cases[i].says) == NULL)
            fail_msg("'%s' says: %s", cases[i].options, said);
        assert_int_not_equal(access(p->png, F_OK), 0);
        free(said);
    }
}

// Only displacements of the points, all three of each, lead back to rest.
static void test_refuses_to_deform(void **state)
{
    const Place *p = *state;
    static const char *const fields[] = {
        "<PointData/>",
        "<PointData><DataArray type=\"Float64\" Name=\"displacement\" NumberOfComponents=\"2\" format=\"ascii\">\n"
        "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0</DataArray></PointData>",
        "<CellData><DataArray type=\"Float64\" Name=\"displacement\" NumberOfComponents=\"3\" format=\"ascii\">\n"
        "0 0 0.5</DataArray></CellData>"};
    const char *points = strstr(cube, "<Points>"), *data = strstr(cube, "<PointData>");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    {
        char path[128];
        tdText text = {0};
        td_text_format(&text, "%.*s%s\n%s", (int)(data - cube), cube, fields[i], points);
        snprintf(path, sizeof path, "%s/other.vtu", p->folder);
        assert_int_equal(td_file_write(path, text.data, (size_t)text.size, NULL), TD_OK);
        free(text.data);
        static const char *const says[] = {"displacement: --deform and --ghost need a point array", NULL};
        expect(p, "render other.vtu -o other.png --deform 2", 3, says);
        expect(p, "render other.vtu -o other.png --ghost", 3, says);
    }
}

// A run as a moving picture: a still of the first frame for whoever reads stills, its size that of the picture.
static void test_moving(void **state)
{
    const Place *p = *state;
    static const char scene[] =
        "tendril: 1\ntime_step: 10 ms\nsteps: 6\ngravity: [0, 0, -9.81]\nbodies:\n"
        "  - {name: bar, mesh: {box: [[0, 0, 0], [0.4, 0.1, 0.1]], cells: [4, 1, 1]},\n"
        "     material: {law: corotational, young: 20 kPa, poisson: 0.3, density: 1000}, fixed: [{group: xmin}]}\n"
        "output: {every: 2, formats: [vtu]}\n";
    char path[128];
    snprintf(path, sizeof path, "%s/bar.yaml", p->folder);
    assert_int_equal(td_file_write(path, scene, sizeof scene - 1, NULL), TD_OK);
    expect(p, "run bar.yaml --out bar", 0, (const char *const[]){"", NULL});
    static const char size[] = "-o bar.png --width 160 --height 120 ";
    char words[256];
    snprintf(words, sizeof words, "render bar %s --movie 4 --field displacement --json", size);
    expect(p, words, 0, (const char *const[]){"\"frames\": 4", "\"width\": 160", NULL});
    snprintf(path, sizeof path, "%s/bar.png", p->folder);
    png_image png = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&png, path));
    assert_int_equal(png.width, 160);
    png_image_free(&png);
    char *file;
    size_t length;
    assert_int_equal(td_file_read(path, &file, &length, NULL), TD_OK);
    assert_non_null(memmem(file, length, "fdAT", 4));
    free(file);
    static const struct
    {
        const char *options, *says;
        int code;
    } bad[] = {{"bar.yaml --movie 4", "is for the folder of a run", 2},
               {"bar --movie 1", "--movie", 2},
               {"bar --movie 20000", "2 to 10000 frames", 2},
               {"bar --movie 4 --time 0.02", "leave out --step and --time", 2},
               {"bar --seconds 2", "give --movie", 2},
               {"bar --movie 4 --seconds -1", "above 0", 2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    {
        snprintf(words, sizeof words, "render %s %s", bad[i].options, size);
        expect(p, words, bad[i].code, (const char *const[]){bad[i].says, NULL});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_draws),
                                       cmocka_unit_test(test_units_of_own_fields),
                                       cmocka_unit_test(test_draws_what_acts),
                                       cmocka_unit_test(test_draws_a_time),
                                       cmocka_unit_test(test_draws_plane_bodies),
                                       cmocka_unit_test(test_draws_contact),
                                       cmocka_unit_test(test_moving),
                                       cmocka_unit_test(test_refuses),
                                       cmocka_unit_test(test_refuses_to_deform)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
