// SPDX-License-Identifier: Apache-2.0
// The program's material command, run as a process: exit codes, streams, JSON, pictures.
#include "test.h"

#include "base/file.h"
#include "describe/scene.h"

#include <dirent.h>
#include <fcntl.h>
#include <png.h>
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

static char *read_text(const char *name, size_t *size)
{
    char path[256], *data = NULL;
    path_of(path, name);
    assert_int_equal(td_file_read(path, &data, size, NULL), TD_OK);
    return data;
}

static void write_text(const char *name, const char *text)
{
    char path[256];
    path_of(path, name);
    assert_int_equal(td_file_write(path, text, strlen(text), NULL), TD_OK);
}

// Runs "tendril material WORDS" in the test's folder; words are separated by single blanks.
static runResult run(const char *words)
{
    char copy[512], *args[32] = {TD_PROGRAM, "material"};
    snprintf(copy, sizeof copy, "%s", words);
    int n = 2;
    for (char *word = strtok(copy, " "); word != NULL && n < 31; word = strtok(NULL, " "))
        args[n++] = word;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
    {
        if (chdir(folder) != 0)
            _exit(125);
        dup2(open("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
        dup2(open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
        execv(TD_PROGRAM, args);
        _exit(126);
    }
    int status = 0;
    size_t size;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return (runResult){WEXITSTATUS(status), read_text("stdout.txt", &size), read_text("stderr.txt", &size)};
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
    if (strstr(r.err, in_stderr) == NULL)
        fail_msg("'%s' does not say \"%s\" but: %s", words, in_stderr, r.err);
    assert_string_equal(r.out, "");
    done(&r);
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, text);
}

static void assert_png(const char *name)
{
    size_t size = 0;
    char *data = read_text(name, &size);
    assert_true(size > 5000 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0);
    free(data);
}

// Number behind "key": in the JSON text, from `from` on.
static double number_after(const char *text, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(text, quoted);
    if (at == NULL)
        fail_msg("no %s in: %s", key, text);
    return strtod(at + strlen(quoted), NULL);
}

// ---------------------------------------------------------------- fit

// P = mu (x - 1/x^2) with mu = 200 kPa, and biaxial P = mu (x - x^-5).
static void write_data(void)
{
    tdText text = {0};
    td_text_format(&text, "# made by a law\nmode,stretch,stress [kPa]\n");
    for (int i = 1; i <= 15; i++)
    {
        double x = 1 + 0.1 * i;
        td_text_format(&text, "uniaxial,%.17g,%.17g\nbiaxial,%.17g,%.17g\n", x, 200 * (x - 1 / (x * x)), x,
                       200 * (x - pow(x, -5)));
    }
    write_text("data.csv", text.data);
    free(text.data);
}

static void test_fit(void **state)
{
    (void)state;
    write_data();
    runResult r = run("fit data.csv --plot fit.png");
    assert_int_equal(r.code, 0);
    assert_has(r.out, "30 points (15 uniaxial, 1.1 to 2.5; 15 biaxial, 1.1 to 2.5)");
    assert_has(r.out, "ogden, 3 terms");
    assert_has(r.out, "for a scene (neo_hookean");
    assert_has(r.out, "material: {law: neo_hookean, mu: 200 kPa, poisson: 0.4");
    assert_has(r.err, "fitting arruda_boyce");
    assert_png("fit.png");
    done(&r);
}

// Data that begin far from rest are drawn with the curve from rest on: it comes down into the lower left of the
// picture.
static void test_fit_is_drawn_from_rest(void **state)
{
    (void)state;
    tdText text = {0};
    td_text_format(&text, "stretch,stress [kPa]\n");
    for (int i = 0; i <= 10; i++)
    {
        double x = 2 + 0.1 * i;
        td_text_format(&text, "%.17g,%.17g\n", x, 200 * (x - 1 / (x * x)));
    }
    write_text("far.csv", text.data);
    free(text.data);
    runResult r = run("fit far.csv --mode uniaxial --law neo_hookean --plot far.png --quiet");
    assert_int_equal(r.code, 0);
    done(&r);
    char path[256];
    path_of(path, "far.png");
    png_image png = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&png, path));
    png.format = PNG_FORMAT_RGB;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(png));
    assert_true(png_image_finish_read(&png, NULL, pixels, 0, NULL));
    int coloured = 0; // all but the curve is black, white or grey
    for (size_t y = png.height * 6 / 10; y < png.height * 9 / 10; y++)
        for (size_t x = 0; x < png.width / 3; x++)
        {
            const uint8_t *p = pixels + 3 * (y * png.width + x);
            coloured += abs(p[2] - p[0]) > 60;
        }
    assert_true(coloured > 100);
    free(pixels);
}

static void test_fit_json(void **state)
{
    (void)state;
    write_data();
    runResult r = run("fit data.csv --law neo_hookean --json --quiet");
    assert_int_equal(r.code, 0);
    assert_string_equal(r.err, "");
    assert_true(r.out[0] == '{');
    assert_near(number_after(r.out, "value"), 200e3, 1e-4);
    assert_near(number_after(r.out, "points"), 30, 0);
    assert_near(number_after(r.out, "young"), 600e3, 1e-3);
    assert_near(number_after(r.out, "r2"), 1, 1e-12);
    done(&r);
    r = run("fit data.csv --law mooney_rivlin --poisson 0.45 --relative --json --quiet");
    assert_int_equal(r.code, 0);
    assert_has(r.out, "\"relative\": true");
    assert_near(number_after(r.out, "poisson"), 0.45, 1e-9);
    done(&r);
    r = run("fit data.csv --law ogden --terms 1 --json --quiet");
    assert_near(number_after(r.out, "terms"), 1, 0);
    assert_has(r.out, "\"name\": \"alpha\"");
    done(&r);
}

static void test_fit_remarks(void **state)
{
    (void)state;
    write_text("shear.csv", "gamma,stress\n0.1,1e3\n0.2,2.01e3\n0.3,3e3\n0.4,3.98e3\n");
    runResult r = run("fit shear.csv --mode shear --law mooney_rivlin");
    assert_int_equal(r.code, 0);
    assert_has(r.out, "cannot be determined");
    done(&r);
    // Too few points for the rich laws: said, not hidden.
    r = run("fit shear.csv --mode shear");
    assert_int_equal(r.code, 0);
    assert_has(r.out, "not fitted: 4 points for the 4 parameters of ogden");
    done(&r);
    write_text("pushed.csv", "stretch,stress\n1.1,-1e3\n1.2,-2e3\n1.3,-3e3\n");
    r = run("fit pushed.csv --mode uniaxial --law neo_hookean");
    assert_int_equal(r.code, 0);
    assert_has(r.out, "explains nothing");
    assert_has(r.out, "there is no material for a scene");
    assert_null(strstr(r.out, "material: {"));
    done(&r);
}

static void test_fit_errors(void **state)
{
    (void)state;
    write_data();
    expect("fit", 2, "argument is missing");
    expect("fit nothing.csv", 3, "nothing.csv: cannot be opened");
    expect("fit data.csv --law neohookean", 2, "did you mean 'neo_hookean'");
    expect("fit data.csv --law costa", 2, "fibres");
    expect("fit data.csv --law stvk", 3, "no incompressible form");
    expect("fit data.csv --law neo_hookean --terms 2", 2, "terms belong");
    expect("fit data.csv --law ogden --terms 7", 2, "1 to 6");
    expect("fit data.csv --poisson 0.5", 2, "Poisson's ratio");
    expect("fit data.csv --poisson 0.4 --incompressible", 2, "exclude");
    expect("fit data.csv --mode uniaxial", 3, "data.csv:2: mode");
    expect("fit data.csv --mode tension", 2, "the mode is uniaxial");
    expect("fit data.csv --law neo_hookean --plot none/fit.png --quiet", 6, "fit.png");
    write_text("few.csv", "mode,stretch,stress\nuniaxial,1.2,5\n");
    expect("fit few.csv --quiet", 3, "few.csv: 1 points for the 1 parameters of neo_hookean");
    write_text("bad.csv", "mode,stretch,stress\nuniaxial,1.2,5\nuniaxial,-1,5\n");
    expect("fit bad.csv", 3, "bad.csv:3: stretch: the stretch is -1");
    expect("fot data.csv", 2, "did you mean 'fit'");
    expect("something", 2, "neither fit nor plot");
    expect("", 2, "is missing");
}

// ---------------------------------------------------------------- plot

static const char scene_text[] =
    "tendril: 1\ntime_step: 10 ms\nduration: 1 s\nbodies:\n"
    "  - name: soft\n    mesh: {box: [[0, 0, 0], [1, 1, 1]], cells: [1, 1, 1]}\n"
    "    material: {law: neo_hookean, young: 450 kPa, poisson: 0.45, density: 1000}\n    fixed: [{group: xmin}]\n"
    "  - name: hard\n    mesh: nothing.msh\n"
    "    material: {law: stvk, young: 3 MPa, poisson: 0.3, density: 1000}\n    fixed: [{group: xmin}]\n";

static void test_plot(void **state)
{
    (void)state;
    write_text("scene.yaml", scene_text);
    runResult r = run("plot scene.yaml -o curves.png");
    assert_int_equal(r.code, 0);
    assert_has(r.out, "soft      neo_hookean             450 kPa    0.45");
    assert_has(r.out, "hard      stvk                      3 MPa     0.3  0.5");
    assert_has(r.err, "curves.png");
    assert_png("curves.png");
    done(&r);
    r = run("plot scene.yaml --json --quiet --low 0.8 --high 1.5");
    assert_int_equal(r.code, 0);
    assert_true(r.out[0] == '{');
    assert_near(number_after(r.out, "young"), 450e3, 1e-3);
    assert_near(number_after(r.out, "poisson"), 0.45, 1e-9);
    assert_has(r.out, "\"stretch\": [0.8");
    assert_png("material.png");
    done(&r);
    expect("plot none.yaml", 3, "none.yaml: cannot be opened");
    expect("plot scene.yaml --low 2", 2, "--low");
    write_text("wrong.yaml", "tendril: 1\nbodies: 3\n");
    expect("plot wrong.yaml", 3, "wrong.yaml:2");
}

// What a fit prints for a scene is what a scene takes.
static void test_snippet_in_scene(void **state)
{
    (void)state;
    write_data();
    const char *const laws[] = {"neo_hookean", "mooney_rivlin", "arruda_boyce", "veronda_westmann", "ogden"};
    for (int k = 0; k < 5; k++)
    {
        char words[100], material[512], scene[1024];
        snprintf(words, sizeof words, "fit data.csv --quiet --json --law %s", laws[k]);
        runResult r = run(words);
        assert_int_equal(r.code, 0);
        double young = number_after(r.out, "young");
        const char *at = strstr(r.out, "\"material\": \"");
        assert_non_null(at);
        snprintf(material, sizeof material, "%s", at + strlen("\"material\": \""));
        material[strcspn(material, "\"")] = '\0';
        snprintf(scene, sizeof scene,
                 "tendril: 1\ntime_step: 1\nduration: 1\nbodies:\n  - name: one\n    mesh: x.msh\n"
                 "    material: {%s, density: 1000}\n    fixed: [{group: a}]\n",
                 material);
        done(&r);
        write_text("snippet.yaml", scene);
        r = run("plot snippet.yaml --json --quiet");
        if (r.code != 0)
            fail_msg("%s: %s", material, r.err);
        assert_near(number_after(r.out, "young") / young, 1, 0.02);
        done(&r);
    }
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/tendril_material_XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    DIR *dir = opendir(folder);
    for (struct dirent *entry = dir != NULL ? readdir(dir) : NULL; entry != NULL; entry = readdir(dir))
    {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.')
            remove(path);
    }
    if (dir != NULL)
        closedir(dir);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_fit_is_drawn_from_rest),
        cmocka_unit_test(test_fit_json),
        cmocka_unit_test(test_fit_remarks),
        cmocka_unit_test(test_fit_errors),
        cmocka_unit_test(test_plot),
        cmocka_unit_test(test_snippet_in_scene),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
