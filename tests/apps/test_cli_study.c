// SPDX-License-Identifier: Apache-2.0
// 'tendril new', 'sweep', 'plot' and 'export' as a user meets them.
#include "program.h"

#include <math.h>
#include <zlib.h>

#define ARM                                                                                                            \
    "tendril: 1\nunits: {length: mm, mass: kg, time: s}\ngravity: [0, 0, -9.81 m/s^2]\ntime_step: 10 ms\nsteps: 10\n"  \
    "bodies:\n  - name: arm\n    mesh: {box: [[0, 0, 0], [40, 10, 10]], cells: [4, 1, 1]}\n"                           \
    "    material: {law: corotational, young: 100 kPa, poisson: 0.4, density: 1 g/cm^3}\n"                             \
    "    fixed: [{group: xmin}]\n"                                                                                     \
    "actuators: [{name: up, type: cable, body: arm, path: [[40, 5, 10], [0, 5, 10]], drive: force, range: [0, 5 "      \
    "N]}]\n"                                                                                                           \
    "probes: [{name: tip, body: arm, point: [40, 5, 5]}]\n"                                                            \
    "motion: {keyframes: [{t: 0, up: 0}, {t: 0.1, up: 0.2 N}]}\noutput: {every: 2, formats: [csv]}\n"

static int setup(void **state)
{
    (void)state;
    if (make_folder() != 0)
        return -1;
    write_text("arm.yaml", ARM);
    return 0;
}

static bool same_text(const char *a, const char *b)
{
    char *x = read_text(a), *y = read_text(b);
    bool same = strcmp(x, y) == 0;
    free(x);
    free(y);
    return same;
}

// ---------------------------------------------------------------- new

// That each of them runs is seen by following its README (tests/docs/follow).
static void test_new(void **state)
{
    (void)state;
    static const char *const kinds[] = {"finger", "arm", "gripper", "organ", "crawler"};
    for (int i = 0; i < 5; i++)
    {
        char words[64];
        snprintf(words, sizeof words, "%s new/%s --json", kinds[i], kinds[i]);
        assert_int_equal(run_command("new", words), 0);
        assert_says("stdout.txt", "\"scene.yaml\"");
        assert_says("stdout.txt", "\"README.md\"");
        snprintf(words, sizeof words, "new/%s/scene.yaml --quiet", kinds[i]);
        assert_int_equal(run_command("check", words), 0);
    }
    assert_refuses("new", "finger new/finger", 3, "already exists and is not empty");
    assert_refuses("new", "finger arm.yaml", 3, "already exists");
    assert_refuses("new", "fingr x", 2, "did you mean 'finger'?");
    assert_refuses("new", "hand x", 2, "there are finger, arm, gripper, organ, crawler");
    assert_refuses("new", "arm", 2, "an argument is missing");
    assert_false(exists("x"));
}

// ---------------------------------------------------------------- sweep

static void test_sweep(void **state)
{
    (void)state;
    assert_int_equal(run_command("sweep", "arm.yaml --vary 'bodies[arm].material.young=50..200 kPa:3' --vary "
                                          "'bodies[arm].material.law=corotational,neo_hookean' --out grid --json"),
                     0);
    assert_near(json_number("runs"), 6, 0);
    assert_near(json_number("failed"), 0, 0);
    assert_true(exists("grid/table.png") && !exists("grid/work"));
    assert_int_equal(rows_of("grid/table.csv"), 6);
    assert_says("grid/table.csv",
                "run,bodies[arm].material.young [kPa],bodies[arm].material.law,status,steps,tip_x "
                "[m],tip_y [m],tip_z [m],up.effort [N],up.displacement [m]\n1,50,corotational,done,10,");
    assert_says("grid/table.csv", "\n4,125,neo_hookean,done,10,");
    // A run of the table is a run of the scene.
    assert_int_equal(run_command("run", "arm.yaml --set 'bodies[arm].material.young=125 kPa' --out one --quiet"), 0);
    char *run = read_text("one/probes.csv"), *row = strstr(run, "\n10,0.1"), *table = read_text("grid/table.csv");
    assert_non_null(row);
    char *values = row + strlen("\n10,0.1"); // ",x,y,z\n"
    values[strcspn(values, "\n")] = '\0';
    assert_non_null(strstr(strstr(table, "\n3,125,corotational"), values));
    free(run);
    free(table);
    assert_refuses("sweep", "arm.yaml --vary time_step=5ms,10ms --out grid", 3, "already holds an earlier run");
    // The most, over steps.
    assert_int_equal(run_command("sweep", "arm.yaml --vary steps=1,10 --take most --outputs effort:up --out most -q"),
                     0);
    assert_says("most/table.csv", "\n1,1,done,1,0.02\n2,10,done,10,0.19999999999999998\n");
}

static void test_sweep_draws(void **state)
{
    (void)state;
    const char *draws = "--vary 'bodies[arm].material.young=lognormal(100 kPa, 0.2)' --vary "
                        "'bodies[arm].material.poisson=uniform(0.2, 0.4)' --seeds 40 --steps 1 --quiet --outputs "
                        "effort:up";
    char words[512];
    snprintf(words, sizeof words, "arm.yaml %s --out a --threads 1", draws);
    assert_int_equal(run_command("sweep", words), 0);
    snprintf(words, sizeof words, "arm.yaml %s --out b --threads 3", draws);
    assert_int_equal(run_command("sweep", words), 0);
    assert_true(same_text("a/table.csv", "b/table.csv"));
    char *text = read_text("a/table.csv");
    double logs = 0, squares = 0, least = 1, most = 0;
    int n = 0;
    for (char *line = strchr(text, '\n') + 1; *line != '\0'; line = strchr(line, '\n') + 1, n++)
    {
        double run, young, poisson;
        assert_int_equal(sscanf(line, "%lf,%lf,%lf", &run, &young, &poisson), 3);
        logs += log(young / 100);
        squares += log(young / 100) * log(young / 100);
        least = fmin(least, poisson);
        most = fmax(most, poisson);
    }
    free(text);
    assert_int_equal(n, 40);
    // Of 40 draws: the mean within four of its deviations, the deviation within a half, the range nearly filled.
    assert_true(fabs(logs / n) < 4 * 0.2 / sqrt(n));
    assert_near(sqrt(squares / n), 0.2, 0.1);
    assert_true(least > 0.2 && least < 0.24 && most < 0.4 && most > 0.36);
}

// Killed in the midst of it, the same command makes the same table.
static void test_sweep_killed(void **state)
{
    (void)state;
    const char *words =
        "arm.yaml --vary contact.friction=0.1..0.9:60 --set contact.margin=1 --threads 1 --quiet --out ";
    char command[256];
    snprintf(command, sizeof command, "%s whole", words);
    assert_int_equal(run_command("sweep", command), 0);
    snprintf(command, sizeof command, "%s killed", words);
    pid_t pid = start_command("sweep", command);
    await_file(pid, "killed/work/run-5.part");
    kill(pid, SIGKILL);
    int ended = finish(pid);
    if (ended == -SIGKILL) // else it was faster than we are
    {
        assert_false(exists("killed/table.csv"));
        assert_refuses("sweep", "arm.yaml --vary steps=1,2 --out killed --quiet", 3, "--force of other commands");
        snprintf(command, sizeof command, "%s killed --json", words);
        assert_int_equal(run_command("sweep", command), 0);
        assert_true(json_number("resumed") >= 5 && json_number("resumed") < 60);
    }
    assert_true(same_text("whole/table.csv", "killed/table.csv"));
    assert_false(exists("killed/work"));
}

static void test_sweep_refuses(void **state)
{
    (void)state;
    assert_refuses("sweep", "arm.yaml --out x", 2, "give --vary PATH=VALUES");
    assert_refuses("sweep", "arm.yaml --vary steps=1,2", 2, "give --out DIR");
    assert_refuses("sweep", "arm.yaml --vary steps --out x", 2, "expected PATH=VALUES");
    assert_refuses("sweep", "arm.yaml --vary time_step=1..2 --out x", 2, "a range ends with the number of its values");
    assert_refuses("sweep", "arm.yaml --vary 'time_step=1 ms..2 s:3' --out x", 2,
                   "write both numbers in the same unit");
    assert_refuses("sweep", "arm.yaml --vary 'time_step=1 ms,2 s' --out x", 2, "write all values in the same unit");
    assert_refuses("sweep", "arm.yaml --vary 'time_step=log 0..2:3' --out x", 2, "needs numbers above zero");
    assert_refuses("sweep", "arm.yaml --vary 'time_step=normal(1)' --out x", 2, "a distribution has two numbers");
    assert_refuses("sweep", "arm.yaml --vary 'time_step=normal(1, -1)' --seeds 2 --out x", 2, "not negative");
    assert_refuses("sweep", "arm.yaml --vary 'time_step=uniform(1, 2)' --out x", 2, "give --seeds N");
    assert_refuses("sweep", "arm.yaml --vary steps=1,2 --seeds 3 --out x", 2, "--seeds is for distributions");
    assert_refuses("sweep", "arm.yaml --vary steps=1,2 --vary steps=3 --out x", 2, "is given twice");
    assert_refuses("sweep", "arm.yaml --vary steps=1,2 --take all --out x", 2, "--take takes");
    assert_refuses("sweep", "arm.yaml --vary steps=1,2 --outputs probe:tap --out x", 3, "probes of this scene: tip");
    assert_refuses("sweep", "arm.yaml --vary 'bodies[arm].material.poisson=0.3,0.7' --out x -q", 3,
                   "run 2 (bodies[arm].material.poisson=0.7)");
    assert_false(exists("x")); // nothing is left that would be in the way of the right command
    assert_refuses("sweep", "arm.yaml --vary 'bodies[leg].mass=lumped' --out y -q", 3, "leg");
    assert_false(exists("y"));
}

// ---------------------------------------------------------------- plot

static void test_plot(void **state)
{
    (void)state;
    assert_int_equal(run_command("run", "arm.yaml --out full --quiet"), 0);
    assert_int_equal(run_command("run", "arm.yaml --set 'bodies[arm].material.young=200 kPa' --out stiff --every 1 -q"),
                     0);
    assert_int_equal(run_command("plot", "full"), 0);
    assert_says("stdout.txt", "full/probes.csv, 6 rows\n  tip_x [m]\n");
    assert_int_equal(run_command("plot", "full --column tip --column up.effort -o tip.png"), 0);
    char *picture = read_text("tip.png");
    assert_memory_equal(picture, "\x89PNG", 4);
    free(picture);
    // Two panels: lengths of the tip, which has a legend, and the force.
    assert_int_equal(run_command("plot", "full --column tip --column up.effort -o tip.svg"), 0);
    assert_says("tip.svg", ">tip_z</text>");
    assert_says("tip.svg", ">up.effort [N]</text>");
    assert_says("tip.svg", ">time [s]</text>");
    char *svg = read_text("tip.svg");
    int curves = 0;
    for (const char *at = svg; (at = strstr(at, "<path class=\"curve c")) != NULL; at++)
        curves++;
    free(svg);
    assert_int_equal(curves, 4 + 3); // and those of the legend
    // Over what was varied.
    assert_int_equal(run_command("sweep", "arm.yaml --vary 'bodies[arm].material.young=1..2 MPa:3' --out s -q"), 0);
    assert_int_equal(run_command("plot", "s --column tip_z -o s.svg --points"), 0);
    assert_says("s.svg", ">bodies[arm].material.young [MPa]</text>");
}

static void test_plot_compares(void **state)
{
    (void)state;
    // Rows of one are at other times than those of the other.
    write_text("a.csv", "t,x [mm],\"odd, name\"\n0,0,1\n1,2,1\n2,,1\n");
    write_text("b.csv", "t,x [mm],\"odd, name\"\n# later\n0.5,1.5,1\n1.5,3.5,1\n");
    assert_int_equal(run_command("plot", "b.csv a.csv --column x --json"), 0);
    assert_near(json_number("largest"), 0.5, 1e-15); // at 0.5; there is no value of a at 1.5
    assert_near(json_number("rms"), 0.5, 1e-15);
    assert_near(json_number("scale"), 2, 1e-15);
    assert_int_equal(run_command("plot", "a.csv a.csv --column 'odd, name' --names one,two"), 0);
    assert_says("stdout.txt", "two");
    assert_refuses("plot", "a.csv --column y -o y.png", 3, "there is no column");
    assert_refuses("plot", "a.csv --column x", 2, "-o FILE.png");
    assert_refuses("plot", "a.csv --column x -o x.jpg", 2, "ends in .png or .svg");
    assert_refuses("plot", "a.csv --column x --x z -o x.png", 3, "has no column 'z'");
    assert_refuses("plot", "a.csv b.csv", 2, "no column is given");
    assert_refuses("plot", "a.csv b.csv --column x --names one", 2, "1 names, and there are 2 runs");
    assert_refuses("plot", "none --column x -o x.png", 3, "cannot be opened");
    write_text("ragged.csv", "t,x\n0,1\n1\n");
    assert_refuses("plot", "ragged.csv", 3, "row 2 below the titles has 1 cells, there are 2 titles");
    write_text("comma.csv", "t,x\n0,1\n1,2,5\n");
    assert_refuses("plot", "comma.csv", 3, "row 2 below the titles has more cells than there are titles, 2");
    write_text("semi.csv", "t;x\n0;1,5\n");
    assert_refuses("plot", "semi.csv", 3, "separated by semicolons");
    write_text("gaps.csv", "t,x,y\n0,nan,1\n1,inf,2\n");
    assert_refuses("plot", "gaps.csv --column x -o x.png", 3, "the column 'x' holds no number");
    write_text("marked.csv", "\xEF\xBB\xBFt,x,\r\n0,1,\r\n1,2,\r\n"); // as a spreadsheet writes it
    assert_int_equal(run_command("plot", "marked.csv --column x -o x.svg"), 0);
    char *said = read_text("stderr.txt");
    assert_string_equal(said, "");
    free(said);
    write_text("words.csv", "t,x\n0,1\n1,oops\n2,3\n");
    assert_int_equal(run_command("plot", "words.csv --column x -o x.svg"), 0);
    assert_says("stderr.txt", "column 'x': 1 of 3 cells are not numbers and were left out; the first is in row 2");
    assert_int_equal(mkdir(strcat(strcpy((char[256]){0}, folder), "/bare"), 0777), 0);
    assert_refuses("plot", "bare", 3, "holds no tables");
}

// ---------------------------------------------------------------- export

static uint32_t u32(const char *at)
{
    uint32_t value;
    memcpy(&value, at, 4);
    return value;
}

static char *read_bytes(const char *name, size_t *size)
{
    char path[256], *data = NULL;
    tdError error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(td_file_read(path, &data, size, &error), error);
    return data;
}

static char *find_bytes(char *data, size_t size, const char *words)
{
    return memmem(data, size, words, strlen(words));
}

static void test_export(void **state)
{
    (void)state;
    write_text("e.csv", "step,time [s],tip.x [m],law\n0,0,1.5,stvk\n10,0.1,,stvk\n20,0.2,-2,stvk\n");
    assert_int_equal(run_command("export", "e.csv -o e.npz --json"), 0);
    assert_says("stdout.txt", "\"arrays\": [\"step\",\"time\",\"tip.x\"]");
    size_t size = 0;
    char *data = read_bytes("e.npz", &size), *entry = find_bytes(data, size, "tip.x.npy");
    assert_memory_equal(data, "PK\3\4", 4);
    assert_non_null(entry);
    // The entry: its checksum and size stand before its name, NumPy's header of 128 bytes and three numbers behind it.
    const char *content = entry + strlen("tip.x.npy");
    uint32_t length = u32(entry - 8);
    assert_int_equal(length, 128 + 3 * 8);
    assert_int_equal(u32(entry - 16), (uint32_t)crc32(0, (const Bytef *)content, length));
    assert_memory_equal(content, "\x93NUMPY\1\0", 8);
    assert_non_null(find_bytes(entry, 200, "'shape': (3,)"));
    double values[3];
    memcpy(values, content + 128, sizeof values);
    assert_near(values[0], 1.5, 0);
    assert_true(isnan(values[1]));
    assert_near(values[2], -2, 0);
    free(data);

    assert_int_equal(run_command("export", "e.csv -o e.mat"), 0);
    data = read_bytes("e.mat", &size);
    assert_int_equal(size % 8, 0);
    assert_memory_equal(data + 124, "\0\1IM", 4);
    entry = find_bytes(data, size, "tip_x");
    assert_non_null(entry);
    assert_int_equal(u32(entry + 8), 9);      // miDOUBLE, behind the name and its padding
    assert_int_equal(u32(entry + 12), 3 * 8); // bytes
    memcpy(values, entry + 16, sizeof values);
    assert_near(values[2], -2, 0);
    // Elements end where the file does.
    size_t at = 128;
    while (at < size)
    {
        assert_int_equal(u32(data + at), 14);
        at += 8 + u32(data + at + 4);
    }
    assert_int_equal(at, size);
    free(data);
    assert_refuses("export", "e.csv -o e.xls", 2, "ends in .npz or .mat");

    // Names that are alike for longer than MATLAB takes, and than a word of `names` usually is.
    char same[101] = "", table[512];
    memset(same, 'a', 100);
    snprintf(table, sizeof table, "t,%s1,%s2,%s3\n0,1,2,3\n", same, same, same);
    write_text("long.csv", table);
    assert_int_equal(run_command("export", "long.csv -o long.mat --json"), 0);
    snprintf(table, sizeof table, "[\"t\",\"%.63s\",\"long_%.58s\",\"long_%.56s_2\"]", same, same, same);
    assert_says("stdout.txt", table);
    assert_int_equal(run_command("export", "long.csv -o long.npz"), 0);
    data = read_bytes("long.npz", &size);
    assert_non_null(find_bytes(find_bytes(data, size, "names.npy"), 300, "'|S102'"));
    free(data);
    assert_refuses("export", "e.csv", 2, "the output is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new),           cmocka_unit_test(test_sweep),         cmocka_unit_test(test_sweep_draws),
        cmocka_unit_test(test_sweep_killed),  cmocka_unit_test(test_sweep_refuses), cmocka_unit_test(test_plot),
        cmocka_unit_test(test_plot_compares), cmocka_unit_test(test_export),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
