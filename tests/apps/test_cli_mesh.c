// SPDX-License-Identifier: Apache-2.0
// The program's info, convert and mesh commands, run as processes: exit codes, streams, JSON, files.
#include "test.h"

#include "mesh/doctor.h"
#include "mesh/generate.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[128]; // of this run; removed at the end

typedef struct runResult
{
    int code;
    char *out, *err;
} runResult;

static void path_of(char *path, const char *name)
{
    snprintf(path, 256, "%s/%s", folder, name);
}

static char *read_text(const char *name)
{
    char path[256], *data = NULL;
    size_t size = 0;
    path_of(path, name);
    assert_int_equal(td_file_read(path, &data, &size, NULL), TD_OK);
    return data;
}

// Runs "tendril WORDS" in the test's folder; words are separated by single blanks.
static runResult run(const char *words)
{
    char copy[512], *args[32] = {TD_PROGRAM};
    snprintf(copy, sizeof copy, "%s", words);
    int n = 1;
    for (char *word = strtok(copy, " "); word != NULL && n < 31; word = strtok(NULL, " "))
        args[n++] = word;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
    {
        if (chdir(folder) != 0)
            _exit(125);
        int out = open("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int err = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(out, STDOUT_FILENO);
        dup2(err, STDERR_FILENO);
        execv(TD_PROGRAM, args);
        _exit(126);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return (runResult){WEXITSTATUS(status), read_text("stdout.txt"), read_text("stderr.txt")};
}

static void done(runResult *r)
{
    free(r->out);
    free(r->err);
}

static void expect(const char *words, int code, const char *in_stderr)
{
    runResult r = run(words);
    if (r.code != code)
        fail_msg("'%s' ended with %d, expected %d: %s", words, r.code, code, r.err);
    if (in_stderr != NULL && strstr(r.err, in_stderr) == NULL)
        fail_msg("'%s' does not say \"%s\" but: %s", words, in_stderr, r.err);
    if (code != 0)
        assert_string_equal(r.out, ""); // results only
    done(&r);
}

// ---------------------------------------------------------------- JSON

static const char *skip_blanks(const char *c)
{
    return c + strspn(c, " \t\r\n");
}

// Steps over one JSON value; NULL when it is none.
static const char *json_value(const char *c)
{
    c = skip_blanks(c);
    if (*c == '{' || *c == '[')
    {
        char open = *c, close = open == '{' ? '}' : ']';
        c = skip_blanks(c + 1);
        if (*c == close)
            return c + 1;
        for (;;)
        {
            if (open == '{')
            {
                c = skip_blanks(c);
                if (*c != '"' || (c = json_value(c)) == NULL || *(c = skip_blanks(c)) != ':')
                    return NULL;
                c++;
            }
            if ((c = json_value(c)) == NULL)
                return NULL;
            c = skip_blanks(c);
            if (*c == close)
                return c + 1;
            if (*c++ != ',')
                return NULL;
        }
    }
    if (*c == '"')
    {
        for (c++; *c != '"'; c++)
            if (*c == '\0' || (unsigned char)*c < 0x20 || (*c == '\\' && *++c == '\0'))
                return NULL;
        return c + 1;
    }
    for (const char *const *word = (const char *const[]){"true", "false", "null", NULL}; *word != NULL; word++)
        if (strncmp(c, *word, strlen(*word)) == 0)
            return c + strlen(*word);
    char *end = NULL;
    strtod(c, &end);
    return end == c ? NULL : end;
}

static runResult run_json(const char *words)
{
    runResult r = run(words);
    if (r.code != 0)
        fail_msg("'%s' ended with %d: %s", words, r.code, r.err);
    const char *end = r.out[0] == '{' ? json_value(r.out) : NULL;
    if (end == NULL || *skip_blanks(end) != '\0')
        fail_msg("'%s' did not print one JSON object: %s", words, r.out);
    return r;
}

// The text behind a key, wherever it is first found.
static const char *json_find(const runResult *r, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *found = strstr(r->out, quoted);
    if (found == NULL)
        fail_msg("no key %s in %s", key, r->out);
    return found + strlen(quoted);
}

static double json_number(const runResult *r, const char *key)
{
    return strtod(json_find(r, key), NULL);
}

// ---------------------------------------------------------------- inputs, written without the library's writers

static void write_file(const char *name, const tdText *text)
{
    char path[256];
    path_of(path, name);
    assert_false(text->failed);
    assert_int_equal(td_file_write(path, text->data, (size_t)text->size, NULL), TD_OK);
}

static void add_triangles(tdText *text, const tdMesh *mesh, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
    {
        td_text_format(text, "facet normal 0 0 0\n outer loop\n");
        for (int k = 0; k < 3; k++)
        {
            const double *p = mesh->x + 3 * mesh->cells[TD_CELL_TRI].nodes[3 * i + k];
            td_text_format(text, "  vertex %.9g %.9g %.9g\n", p[0], p[1], p[2]);
        }
        td_text_format(text, " endloop\nendfacet\n");
    }
}

// Surfaces as one STL file, the last `missing` triangles of the last one left out.
static void write_stl(const char *name, int n, const tdMesh *const *meshes, int missing)
{
    tdText text = {0};
    td_text_format(&text, "solid test\n");
    for (int i = 0; i < n; i++)
        add_triangles(&text, meshes[i], meshes[i]->cells[TD_CELL_TRI].count - (i == n - 1 ? missing : 0));
    td_text_format(&text, "endsolid test\n");
    write_file(name, &text);
    free(text.data);
}

static void write_obj(const char *name, const tdMesh *mesh)
{
    tdText text = {0};
    for (int64_t i = 0; i < mesh->n_nodes; i++)
        td_text_format(&text, "v %.17g %.17g %.17g\n", mesh->x[3 * i], mesh->x[3 * i + 1], mesh->x[3 * i + 2]);
    for (int64_t i = 0; i < mesh->cells[TD_CELL_TRI].count; i++)
    {
        const int32_t *t = mesh->cells[TD_CELL_TRI].nodes + 3 * i;
        td_text_format(&text, "f %d %d %d\n", t[0] + 1, t[1] + 1, t[2] + 1);
    }
    write_file(name, &text);
    free(text.data);
}

static tdMesh sphere(double x, double radius, int level)
{
    tdMesh mesh = {0};
    tdError error = {0};
    assert_ok(td_mesh_sphere_surface((double[]){x, 0, 0}, radius, level, &mesh, &error), error);
    return mesh;
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tendril-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    char path[256];
    path_of(path, "tmp");
    if (mkdir(path, 0700) != 0 || setenv("TMPDIR", path, 1) != 0)
        return -1;
    tdError error = {0};
    tdMesh ball = sphere(0, 1, 3), inner = sphere(0.1, 0.5, 2), far = sphere(4, 0.7, 2), bumpy = sphere(0, 1, 5);
    tdMesh torus = {0};
    assert_ok(td_mesh_torus_surface(1, 0.4, 40, 20, &torus, &error), error);
    for (int64_t i = 0; i < bumpy.n_nodes; i++)
    {
        double *p = bumpy.x + 3 * i, r = 1 + 0.12 * sin(6 * p[0]) * sin(5 * p[1] + 1) * cos(7 * p[2]);
        for (int k = 0; k < 3; k++)
            p[k] *= r;
    }
    write_stl("ball.stl", 1, (const tdMesh *[]){&ball}, 0);
    write_stl("open.stl", 1, (const tdMesh *[]){&ball}, 2);
    write_stl("torus.stl", 1, (const tdMesh *[]){&torus}, 0);
    write_stl("bumpy.stl", 1, (const tdMesh *[]){&bumpy}, 0);
    write_stl("hollow.stl", 3, (const tdMesh *[]){&ball, &inner, &far}, 0);
    write_stl("cutting.stl", 2, (const tdMesh *[]){&ball, &torus}, 0);
    write_obj("torus.obj", &torus);
    write_file("garbage.stl", &(tdText){.data = (char *)"this is no mesh\n", .size = 16});
    write_file("garbage.msh", &(tdText){.data = (char *)"this is no mesh\n", .size = 16});
    static const char box[] = "SetFactory(\"OpenCASCADE\");\nBox(1) = {0, 0, 0, 2, 1, 1};\n"
                              "Physical Surface(\"left\") = {1};\n";
    write_file("box.geo", &(tdText){.data = (char *)box, .size = sizeof box - 1});
    write_file("bad.geo", &(tdText){.data = (char *)"Box(1 = {\n", .size = 10});
    td_mesh_free(&ball);
    td_mesh_free(&inner);
    td_mesh_free(&far);
    td_mesh_free(&bumpy);
    td_mesh_free(&torus);
    return 0;
}

static int remove_all(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int count = 0;
    while (dir != NULL && (entry = readdir(dir)) != NULL)
    {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir != NULL)
        closedir(dir);
    rmdir(path);
    return count;
}

static int teardown(void **state)
{
    (void)state;
    char path[256];
    path_of(path, "tmp");
    int left = remove_all(path);
    remove_all(folder);
    return left; // the program must have removed its temporary folders
}

// ---------------------------------------------------------------- tests

static void need_gmsh(void)
{
    if (access("/usr/bin/gmsh", X_OK) != 0 && access("/usr/local/bin/gmsh", X_OK) != 0)
        skip_because("there is no gmsh");
}

static tdMeshReport examine(const char *name)
{
    static tdMeshReport report;
    char path[256];
    tdMesh mesh = {0};
    tdError error = {0};
    path_of(path, name);
    assert_ok(td_mesh_read(path, &mesh, &error), error);
    assert_ok(td_mesh_examine(&mesh, &report, &error), error);
    td_mesh_free(&mesh);
    return report;
}

static void test_info(void **state)
{
    (void)state;
    runResult r = run("info ball.stl");
    assert_int_equal(r.code, 0);
    assert_non_null(strstr(r.out, "1280 triangles"));
    assert_non_null(strstr(r.out, "problems:"));
    assert_non_null(strstr(r.out, "##"));
    done(&r);
    r = run_json("info ball.stl --json");
    assert_near(json_number(&r, "triangles"), 1280, 0);
    assert_near(json_number(&r, "volume"), 4.0 / 3 * 3.14159265358979, 0.05);
    assert_int_equal(strncmp(json_find(&r, "closed"), "true", 4), 0);
    done(&r);
    r = run_json("info open.stl --json"); // problems are told, but it can be read
    assert_int_equal(strncmp(json_find(&r, "closed"), "false", 5), 0);
    assert_near(json_number(&r, "open_edges"), 4, 0);
    done(&r);
    expect("info --help", 0, NULL);
    expect("info", 2, "missing");
    expect("info ball.stl torus.stl", 2, "unexpected");
    expect("info ball.stl --jsn", 2, "--json");
    expect("info none.stl", 3, "none.stl");
    expect("info garbage.stl", 3, "garbage.stl");
    expect("info garbage.msh", 3, "garbage.msh");
    expect("info scene.yaml", 3, "scene.yaml"); // a scene is checked; there is none
}

static void test_convert(void **state)
{
    (void)state;
    static const char *const outputs[] = {
        "a.msh",         "b.msh --format msh22", "c.msh --binary",     "d.vtk",         "e.vtk --binary", "f.vtu",
        "g.vtu --ascii", "h.vtu --base64",       "i.vtu --compressed", "j.stl --ascii", "k.stl",          "l.obj"};
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++)
    {
        char words[128], name[16];
        snprintf(words, sizeof words, "convert torus.obj %s --scale 10 --json", outputs[i]);
        snprintf(name, sizeof name, "%.5s", outputs[i]);
        runResult r = run_json(words);
        assert_near(json_number(&r, "nodes"), 800, 0);
        done(&r);
        tdMeshReport report = examine(name);
        assert_int_equal(report.count[TD_CELL_TRI], 1600);
        assert_int_equal(report.n_nodes, 800);
        assert_true(report.surface.closed);
        assert_near(report.max[0], 14, 1e-5); // STL holds single precision
    }
    // What a format cannot hold is told.
    tdMesh block = {0};
    tdError error = {0};
    char path[256];
    const double min[3] = {0, 0, 0}, max[3] = {1, 1, 1};
    assert_ok(td_mesh_box(min, max, (const int[3]){1, 1, 1}, false, &block, &error), error);
    path_of(path, "block.vtk");
    assert_ok(td_mesh_write(&block, path, TD_MESH_VTK, TD_MESH_ASCII, &error), error);
    td_mesh_free(&block);
    expect("convert block.vtk block.vtu", 0, "");
    expect("convert block.vtk block.stl", 0, "STL holds no volumes");
    expect("convert torus.obj", 2, "missing");
    expect("convert torus.obj x.xyz", 2, ".xyz");
    expect("convert torus.obj x.vtk --format msh22", 2, "--format");
    expect("convert torus.obj x.msh --format msh2", 2, "msh22");
    expect("convert torus.obj x.msh --compressed", 2, ".vtu");
    expect("convert torus.obj x.vtu --ascii --binary", 2, "one of");
    expect("convert torus.obj x.vtu --scale big", 2, "--scale");
    expect("convert torus.obj x.vtu --scale 0", 2, "--scale");
    expect("convert torus.obj x.vtu --sale 2", 2, "--scale");
    expect("convert none.obj x.vtu", 3, "none.obj");
    expect("convert garbage.msh x.vtu", 3, "garbage.msh");
    expect("convert torus.obj no/such/folder/x.vtu", 6, "x.vtu");
}

static void mesh_and_check(const char *options, const char *input, double size, double volume)
{
    char words[256];
    snprintf(words, sizeof words, "mesh %s -o body.msh --size %g --json %s", input, size, options);
    runResult r = run_json(words);
    assert_near(json_number(&r, "volume"), volume, 0.01 * volume);
    assert_near(json_number(&r, "inverted"), 0, 0);
    assert_near(fabs(json_number(&r, "volume_error")), 0, 0.01);
    done(&r);
    tdMeshReport report = examine("body.msh");
    assert_true(report.surface.closed);
    assert_int_equal(report.inverted.count, 0);
    assert_int_equal(report.degenerate.count, 0);
    assert_near(report.volume, volume, 0.01 * volume);
    bool quadratic = strstr(options, "--order 2") != NULL;
    assert_true(report.count[quadratic ? TD_CELL_TET10 : TD_CELL_TET] > 100);
    assert_int_equal(report.count[quadratic ? TD_CELL_TET : TD_CELL_TET10], 0);
}

static void test_mesh_surfaces(void **state)
{
    (void)state;
    need_gmsh();
    double ball = examine("ball.stl").volume, torus = examine("torus.obj").volume;
    mesh_and_check("", "ball.stl", 0.3, ball);
    mesh_and_check("--keep-surface", "ball.stl", 0.3, ball);
    assert_int_equal(examine("body.msh").boundary_tris, 1280); // kept
    mesh_and_check("--order 2", "ball.stl", 0.4, ball);
    mesh_and_check("", "torus.stl", 0.2, torus);
    mesh_and_check("--keep-surface", "torus.obj", 0.2, torus);
}

// A cube of 2 in Collada, y up, in centimetres.
static void write_dae_cube(void)
{
    tdText text = {0};
    td_text_format(&text, "<COLLADA version=\"1.4.1\"><asset><unit meter=\"0.01\"/><up_axis>Y_UP</up_axis></asset>"
                          "<library_geometries><geometry id=\"g\"><mesh><source id=\"p\">"
                          "<float_array id=\"a\" count=\"24\">");
    for (int i = 0; i < 8; i++)
        td_text_format(&text, "%d %d %d ", i % 2 ? 1 : -1, i / 2 % 2 ? 1 : -1, i / 4 ? 1 : -1);
    td_text_format(&text,
                   "</float_array><technique_common><accessor source=\"#a\" count=\"8\" stride=\"3\">"
                   "<param name=\"X\" type=\"float\"/><param name=\"Y\" type=\"float\"/>"
                   "<param name=\"Z\" type=\"float\"/></accessor></technique_common></source>"
                   "<vertices id=\"v\"><input semantic=\"POSITION\" source=\"#p\"/></vertices>"
                   "<polylist count=\"6\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/>"
                   "<vcount>4 4 4 4 4 4</vcount><p>0 2 3 1 4 5 7 6 0 1 5 4 2 6 7 3 0 4 6 2 1 3 7 5</p></polylist>"
                   "</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id=\"s\"><node>"
                   "<instance_geometry url=\"#g\"/></node></visual_scene></library_visual_scenes>"
                   "<scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>");
    write_file("cube.dae", &text);
    free(text.data);
}

static void write_ply(const char *name, const tdMesh *mesh)
{
    tdText text = {0};
    const tdCells *tris = &mesh->cells[TD_CELL_TRI];
    td_text_format(
        &text,
        "ply\nformat ascii 1.0\nelement vertex %lld\nproperty double x\nproperty double y\nproperty double z\n"
        "element face %lld\nproperty list uchar int vertex_indices\nend_header\n",
        (long long)mesh->n_nodes, (long long)tris->count);
    for (int64_t i = 0; i < mesh->n_nodes; i++)
        td_text_format(&text, "%.17g %.17g %.17g\n", mesh->x[3 * i], mesh->x[3 * i + 1], mesh->x[3 * i + 2]);
    for (int64_t i = 0; i < tris->count; i++)
        td_text_format(&text, "3 %d %d %d\n", tris->nodes[3 * i], tris->nodes[3 * i + 1], tris->nodes[3 * i + 2]);
    write_file(name, &text);
    free(text.data);
}

static void test_mesh_ply_and_dae(void **state)
{
    (void)state;
    tdMesh ball = sphere(0, 1, 3);
    write_ply("ball.ply", &ball);
    td_mesh_free(&ball);
    write_dae_cube();
    runResult r = run_json("info cube.dae --json"); // in metres, whatever the file has
    assert_near(json_number(&r, "volume"), 8e-6, 1e-12);
    done(&r);
    expect("convert ball.ply x.stl", 0, NULL);
    expect("convert ball.stl x.ply", 2, ".ply");
    need_gmsh();
    mesh_and_check("", "ball.ply", 0.3, examine("ball.stl").volume);
    mesh_and_check("", "cube.dae", 0.004, 8e-6);
}

// The new surface is as near to the old one as --tolerance asks, and the distance told is the distance there is.
static void test_mesh_tolerance(void **state)
{
    (void)state;
    need_gmsh();
    double told[2], size[2];
    for (int i = 0; i < 2; i++)
    {
        runResult r = run_json(i == 0 ? "mesh ball.stl -o body.msh --size 0.5 --json"
                                      : "mesh ball.stl -o body.msh --size 0.5 --tolerance 0.004 --json");
        told[i] = json_number(&r, "surface_distance");
        size[i] = json_number(&r, "surface_size");
        done(&r);
        // Of a node on the boundary, which is on a facet of the ball, or of the ball from a new face: at least this.
        tdMesh body = {0}, surface = {0};
        char path[256];
        path_of(path, "body.msh");
        assert_int_equal(td_mesh_read(path, &body, NULL), TD_OK);
        assert_int_equal(td_mesh_boundary(&body, &surface, NULL), TD_OK);
        double deepest = 0;
        for (int64_t k = 0; k < surface.cells[TD_CELL_TRI].count; k++)
        {
            const int32_t *t = surface.cells[TD_CELL_TRI].nodes + 3 * k;
            double middle[3], radius = 0;
            for (int d = 0; d < 3; d++)
            {
                middle[d] = (surface.x[3 * t[0] + d] + surface.x[3 * t[1] + d] + surface.x[3 * t[2] + d]) / 3;
                radius += middle[d] * middle[d];
            }
            deepest = fmax(deepest, 1 - sqrt(radius));
        }
        assert_true(told[i] <= deepest + 0.01 && told[i] >= 0.3 * deepest);
        td_mesh_free(&body);
        td_mesh_free(&surface);
    }
    assert_true(told[0] > 0.004 && told[1] <= 0.004);
    assert_true(size[1] < size[0]);
    expect("mesh ball.stl -o body.msh --size 0.5 --tolerance 0.004", 0, "shape within --tolerance");
    expect("mesh ball.stl -o body.msh --size 0.9 --keep-surface", 0, "less than half of --size 0.9");
    // What cannot be is not promised: then the old triangles stay, which are exact.
    runResult r = run_json("mesh ball.stl -o body.msh --size 0.5 --tolerance 1e-9 --json");
    assert_non_null(strstr(r.out, "\"surface\": \"kept\""));
    assert_non_null(strstr(r.err, "away from the old ones"));
    assert_near(json_number(&r, "surface_distance"), 0, 0);
    done(&r);
    expect("mesh ball.stl -o x.msh --size 1 --tolerance 0", 2, "positive");
    expect("mesh ball.stl -o x.msh --size 1 --tolerance 1 --keep-surface", 2, "leave --keep-surface out");
    expect("mesh box.geo -o x.msh --size 1 --tolerance 1", 2, "--tolerance");
}

static void test_mesh_20000_triangles(void **state)
{
    (void)state;
    need_gmsh();
    double volume = examine("bumpy.stl").volume;
    mesh_and_check("", "bumpy.stl", 0.3, volume);
    assert_true(examine("body.msh").boundary_tris < 15000); // meshed anew
    mesh_and_check("--keep-surface", "bumpy.stl", 0.3, volume);
    assert_int_equal(examine("body.msh").boundary_tris, 20480);
}

// A ball with a cavity and another ball beside it. All parts face outwards in the file.
static void test_mesh_with_cavity(void **state)
{
    (void)state;
    need_gmsh();
    tdMesh ball = sphere(0, 1, 3), inner = sphere(0.1, 0.5, 2), far = sphere(4, 0.7, 2);
    const tdMesh *meshes[3] = {&ball, &inner, &far};
    double volume[3];
    for (int i = 0; i < 3; i++)
    {
        tdSurfaceCheck check;
        assert_int_equal(td_surface_check(meshes[i]->n_nodes, meshes[i]->x, meshes[i]->cells[TD_CELL_TRI].count,
                                          meshes[i]->cells[TD_CELL_TRI].nodes, &check, NULL),
                         TD_OK);
        volume[i] = check.volume;
    }
    mesh_and_check("", "hollow.stl", 0.3, volume[0] - volume[1] + volume[2]);
    mesh_and_check("--keep-surface", "hollow.stl", 0.3, volume[0] - volume[1] + volume[2]);
    char path[256];
    tdMesh body = {0};
    path_of(path, "body.msh");
    assert_int_equal(td_mesh_read(path, &body, NULL), TD_OK);
    int outer = td_mesh_find_group(&body, "outer"), cavity = td_mesh_find_group(&body, "cavity_1");
    assert_true(td_mesh_find_group(&body, "body") >= 0 && outer >= 0 && cavity >= 0);
    assert_int_equal(body.groups[outer].count[TD_CELL_TRI], 1280 + 320);
    assert_int_equal(body.groups[cavity].count[TD_CELL_TRI], 320);
    td_mesh_free(&body);
    td_mesh_free(&ball);
    td_mesh_free(&inner);
    td_mesh_free(&far);
}

static void test_mesh_geometry(void **state)
{
    (void)state;
    need_gmsh();
    double nodes[2];
    for (int i = 0; i < 2; i++)
    {
        runResult r = run_json(i == 0 ? "mesh box.geo -o box.vtu --size 0.5 --json"
                                      : "mesh box.geo -o box.msh --size 0.2 --json");
        assert_near(json_number(&r, "volume"), 2, 1e-9);
        nodes[i] = json_number(&r, "nodes");
        done(&r);
        tdMeshReport report = examine(i == 0 ? "box.vtu" : "box.msh");
        assert_near(report.volume, 2, 1e-9);
        assert_true(report.edge_mean < (i == 0 ? 0.6 : 0.25));
    }
    assert_true(nodes[1] > 3 * nodes[0]); // the size is respected
    char path[256];
    tdMesh body = {0};
    path_of(path, "box.msh");
    assert_int_equal(td_mesh_read(path, &body, NULL), TD_OK);
    assert_true(td_mesh_find_group(&body, "left") >= 0); // the geometry's own group
    assert_true(td_mesh_find_group(&body, "body") >= 0);
    td_mesh_free(&body);
}

static void test_mesh_refuses(void **state)
{
    (void)state;
    expect("mesh open.stl -o x.msh --size 0.3", 3, "4 of its");
    expect("mesh cutting.stl -o x.msh --size 0.3", 3, "parts 1 and 2 cut each other");
    expect("mesh none.stl -o x.msh --size 0.3", 3, "none.stl");
    expect("mesh garbage.stl -o x.msh --size 0.3", 3, "garbage.stl");
    expect("mesh ball.stl -o no/folder/x.msh --size 0.3", 6, "x.msh");
    expect("mesh ball.stl -o x.msh --size 1e-6", 3, "use at least");
    expect("mesh ball.stl -o x.msh", 2, "--size");
    expect("mesh ball.stl --size 1", 2, "-o");
    expect("mesh ball.stl -o x.msh --size -1", 2, "positive");
    expect("mesh ball.stl -o x.msh --size nan", 2, "--size");
    expect("mesh ball.stl -o x.msh --size 1 --order 3", 2, "--order");
    expect("mesh ball.stl -o x.msh --sise 1", 2, "--size");
    expect("mesh ball.stl -o x.stl --size 1", 2, ".msh");
    expect("mesh ball.doc -o x.msh --size 1", 2, ".doc");
    expect("mesh box.geo -o x.msh --size 1 --keep-surface", 2, "--keep-surface");
    need_gmsh();
    expect("mesh bad.geo -o x.msh --size 0.3", 3, "bad.geo', line 1");
    expect("mesh box.geo -o x.msh --size 0.01 --timeout 0.3", 4, "--timeout");
    char path[256];
    path_of(path, "x.msh");
    assert_int_not_equal(access(path, F_OK), 0); // nothing half done is left
}

static void test_without_gmsh(void **state)
{
    (void)state;
    char *old = strdup(getenv("PATH") != NULL ? getenv("PATH") : "/usr/bin:/bin");
    setenv("PATH", folder, 1);
    expect("mesh box.geo -o x.msh --size 0.5", 3, "apt install gmsh");
    expect("mesh ball.stl -o x.msh --size 0.5", 3, "ball.stl: the program 'gmsh' was not found");
    expect("mesh ball.stl -o x.msh --size 0.5 --keep-surface", 3, "apt install gmsh");
    setenv("PATH", old, 1);
    free(old);
}

// Writes a gmsh of the test's own, which answers with `answer` instead of a new surface and fills none.
static void write_false_gmsh(const char *answer)
{
    char path[256];
    tdText script = {0};
    td_text_format(&script,
                   "#!/bin/sh\n"
                   "while [ \"$1\" != -o ]; do\n"
                   "    [ \"$1\" = -3 ] && exit 1\n"
                   "    shift\n"
                   "done\n"
                   "exec cp %s/%s \"$2\"\n",
                   folder, answer);
    write_file("gmsh", &script);
    free(script.data);
    path_of(path, "gmsh");
    assert_int_equal(chmod(path, 0700), 0);
}

// A new surface that has lost a part, or in which a part has left the one around it, is not taken for the body.
static void test_new_surface_of_other_parts(void **state)
{
    (void)state;
    tdMesh ball = sphere(0, 1, 3), inner = sphere(0.1, 0.5, 2), far = sphere(4, 0.7, 2), farther = sphere(8, 0.5, 2);
    write_stl("lost.stl", 2, (const tdMesh *[]){&ball, &inner}, 0);
    write_stl("outside.stl", 3, (const tdMesh *[]){&ball, &far, &farther}, 0);
    td_mesh_free(&ball);
    td_mesh_free(&inner);
    td_mesh_free(&far);
    td_mesh_free(&farther);
    expect("convert lost.stl lost.msh --format msh22 --quiet", 0, NULL);
    expect("convert outside.stl outside.msh --format msh22 --quiet", 0, NULL);
    char *old = strdup(getenv("PATH") != NULL ? getenv("PATH") : "/usr/bin:/bin"), search[512];
    snprintf(search, sizeof search, "%s:%s", folder, old);
    setenv("PATH", search, 1);
    write_false_gmsh("lost.msh");
    expect("mesh hollow.stl -o x.msh --size 0.3", 3, "has 2 parts, 1 of them cavities, instead of 3 and 1");
    write_false_gmsh("outside.msh");
    expect("mesh hollow.stl -o x.msh --size 0.3", 3, "has 3 parts, 0 of them cavities, instead of 3 and 1");
    setenv("PATH", old, 1);
    free(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_mesh_surfaces),
        cmocka_unit_test(test_mesh_ply_and_dae),
        cmocka_unit_test(test_mesh_tolerance),
        cmocka_unit_test(test_mesh_20000_triangles),
        cmocka_unit_test(test_mesh_with_cavity),
        cmocka_unit_test(test_mesh_geometry),
        cmocka_unit_test(test_mesh_refuses),
        cmocka_unit_test(test_without_gmsh),
        cmocka_unit_test(test_new_surface_of_other_parts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
