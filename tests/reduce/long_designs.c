// SPDX-License-Identifier: Apache-2.0
// Designs as users make them, at random: fingers with cables on one side or on two, hanging arms with three or four,
// bellows under pressure. Each is reduced with the defaults, and ends within 5 % of full order where training was not,
// and follows a fast motion; or with an explanation that names ranges, and with those it does.
//
//     long_designs [N [FIRST]]    N designs, from number FIRST on; 0: leaves the scene of number FIRST, to look at it
#include "test.h"

#include "base/file.h"
#include "base/hash.h"
#include "reduce/offline/job.h"

#include <unistd.h>

#define SCENE   "long_designs.yaml"
#define MESH    "long_designs.msh"
#define OUT     "long_designs.h5"
#define DESIGNS 30
#define ALLOWED 0.05

static int n_designs = DESIGNS, first_design = 0;

typedef struct Design
{
    uint64_t seed;
    double share; // of the ranges
    char text[6000];
    size_t used;
} Design;

static double pick(Design *design, double low, double high)
{
    design->seed = td_hash_mix(design->seed + 1);
    return low + (high - low) * (double)(design->seed >> 11) * 0x1p-53;
}

static void added(Design *design, int n)
{
    assert_true(n >= 0 && design->used + (size_t)n < sizeof design->text);
    design->used += (size_t)n;
}

#define add(design, ...)                                                                                               \
    added(design, snprintf((design)->text + (design)->used, sizeof(design)->text - (design)->used, __VA_ARGS__))

static void add_head(Design *design)
{
    add(design, "tendril: 1\nunits: {length: mm, mass: kg, time: s}\ngravity: [0, 0, -9.81 m/s^2]\ntime_step: 10 ms\n"
                "duration: 2 s\nbodies:\n  - name: robot\n");
}

static void add_material(Design *design)
{
    static const char *const laws[] = {"corotational", "neo_hookean"};
    add(design,
        "    material: {law: %s, young: %.0f kPa, poisson: %.2f, density: %.2f g/cm^3}\n"
        "    damping: {mass: %.1f 1/s, stiffness: %.1f ms}\n",
        laws[pick(design, 0, 2) < 1 ? 0 : 1], pick(design, 150, 900), pick(design, 0.3, 0.46), pick(design, 0.9, 1.2),
        pick(design, 0.5, 3), pick(design, 1, 6));
}

static void add_cable(Design *design, const char *name, double y, double z, double from, double to, double range)
{
    add(design, "  - {name: %s, type: cable, body: robot, drive: displacement, range: [0, %.4g], path: [", name,
        range * design->share);
    for (int k = 0; k <= 4; k++)
        add(design, "%s[%.4g, %.4g, %.4g]", k > 0 ? ", " : "", from + (to - from) * k / 4, y, z);
    add(design, "]}\n");
}

// Held at x = 0, with one cable below, another one above, and perhaps a layer that does not stretch.
static void make_finger(Design *design)
{
    double length = pick(design, 50, 120), width = pick(design, 10, 20), height = pick(design, 10, 18);
    add_head(design);
    add(design, "    mesh: {box: [[0, 0, 0], [%.4g, %.4g, %.4g]], cells: [10, 2, 2]}\n", length, width, height);
    add_material(design);
    if (pick(design, 0, 1) < 0.3)
        add(design,
            "    materials: [{group: zmax, element: membrane, thickness: 0.2 mm, law: corotational, young: 20 MPa,"
            " poisson: 0.3, density: 1 g/cm^3}]\n");
    add(design, "    fixed: [{group: xmin}]\nactuators:\n");
    add_cable(design, "below", 0.5 * width, 0.15 * height, 0.95 * length, 0, pick(design, 0.05, 0.6) * length);
    if (pick(design, 0, 1) < 0.5)
        add_cable(design, "above", 0.5 * width, 0.85 * height, pick(design, 0.6, 0.95) * length, 0,
                  pick(design, 0.05, 0.5) * length);
}

// Hangs from x = 0, three or four cables around it.
static void make_arm(Design *design)
{
    static const char *const names[] = {"one", "two", "three", "four"};
    double length = pick(design, 100, 200), width = pick(design, 18, 30);
    int cables = pick(design, 0, 1) < 0.6 ? 3 : 4;
    add_head(design);
    add(design, "    mesh: {box: [[0, %.4g, %.4g], [%.4g, %.4g, %.4g]], cells: [12, 2, 2]}\n", -width / 2, -width / 2,
        length, width / 2, width / 2);
    add(design, "    transform: {rotate: [0, 90 deg, 0]}\n");
    add_material(design);
    add(design, "    fixed: [{box: [[%.4g, %.4g, -0.01], [%.4g, %.4g, 0.01]]}]\nactuators:\n", -width, -width, width,
        width);
    double range = pick(design, 0.05, 0.45) * length, off = 0.4 * width;
    for (int k = 0; k < cables; k++)
    {
        double angle = 2 * 3.14159265358979 * k / cables + 0.3, x = off * cos(angle), y = off * sin(angle);
        add(design, "  - {name: %s, type: cable, body: robot, drive: displacement, range: [0, %.4g], path: [", names[k],
            range * design->share);
        for (int i = 0; i <= 4; i++)
            add(design, "%s[%.4g, %.4g, %.4g]", i > 0 ? ", " : "", x, y, -0.95 * length * (4 - i) / 4);
        add(design, "]}\n");
    }
}

// Cells of a bellows by layer: 0 plate that is closed, 1 narrow wall, 2 plate with a hole, 3 wide wall.
static bool solid(int kind, int x, int y)
{
    int ring = abs(x - 2) > abs(y - 2) ? abs(x - 2) : abs(y - 2);
    return kind == 0 || (kind == 1 && ring == 1) || (kind == 2 && ring > 0) || (kind == 3 && ring == 2);
}

// Where neither body nor outside is.
static bool hollow(int kind, int x, int y)
{
    int ring = abs(x - 2) > abs(y - 2) ? abs(x - 2) : abs(y - 2);
    return kind == 3 ? ring < 2 : kind > 0 && ring == 0;
}

static int kind_of(int layer, int layers)
{
    static const int folds[4] = {1, 2, 3, 2};
    return layer < 0 ? -1 : layer == 0 || layer == layers - 1 ? 0 : layer < layers ? folds[(layer - 1) % 4] : -1;
}

static int node(int x, int y, int z)
{
    return 1 + x + 6 * (y + 6 * z);
}

// The faces of a cell, outwards seen from it, by corners (bits x, y, z); and where the neighbour is.
static const int faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
static const int beside[6][3] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};

static int corner(int x, int y, int z, int bits)
{
    return node(x + (bits & 1), y + (bits >> 1 & 1), z + (bits >> 2));
}

// Six tetrahedra to a cell about the diagonal from corner 0 to corner 7, so that cells fit together: faces are cut
// along the diagonal from their least to their greatest corner.
static void write_bellows(int layers, double size, double height)
{
    static const int tets[6][4] = {{0, 1, 3, 7}, {0, 3, 2, 7}, {0, 2, 6, 7}, {0, 6, 4, 7}, {0, 4, 5, 7}, {0, 5, 1, 7}};
    FILE *file = fopen(MESH, "w");
    assert_non_null(file);
    fprintf(file,
            "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n2 1 \"chamber\"\n3 2 \"body\"\n"
            "$EndPhysicalNames\n$Nodes\n%d\n",
            36 * (layers + 1));
    for (int z = 0; z <= layers; z++)
        for (int y = 0; y < 6; y++)
            for (int x = 0; x < 6; x++)
                fprintf(file, "%d %.9g %.9g %.9g\n", node(x, y, z), (x - 2.5) * size, (y - 2.5) * size, z * height);
    int count = 0;
    for (int pass = 0; pass < 2; pass++)
    {
        if (pass == 1)
            fprintf(file, "$EndNodes\n$Elements\n%d\n", count);
        int number = 0;
        for (int z = 0; z < layers; z++)
            for (int c = 0; c < 25; c++)
            {
                int x = c % 5, y = c / 5;
                if (!solid(kind_of(z, layers), x, y))
                    continue;
                for (int t = 0; t < 6; t++, number++)
                    if (pass == 1)
                        fprintf(file, "%d 4 2 2 2 %d %d %d %d\n", number + 1, corner(x, y, z, tets[t][0]),
                                corner(x, y, z, tets[t][1]), corner(x, y, z, tets[t][2]), corner(x, y, z, tets[t][3]));
                for (int f = 0; f < 6; f++)
                {
                    int nx = x + beside[f][0], ny = y + beside[f][1], kind = kind_of(z + beside[f][2], layers);
                    if (nx < 0 || nx > 4 || ny < 0 || ny > 4 || !hollow(kind, nx, ny))
                        continue;
                    const int *k = faces[f];
                    int a = k[0] < k[1] && k[0] < k[2] && k[0] < k[3] ? 0
                            : k[1] < k[2] && k[1] < k[3]              ? 1
                            : k[2] < k[3]                             ? 2
                                                                      : 3;
                    // Seen from the chamber outwards is into the cell.
                    for (int t = 0; t < 2; t++, number++)
                        if (pass == 1)
                            fprintf(file, "%d 2 2 1 1 %d %d %d\n", number + 1, corner(x, y, z, k[a]),
                                    corner(x, y, z, k[(a + 2 + (t == 0 ? 0 : 1)) % 4]),
                                    corner(x, y, z, k[(a + 1 + (t == 0 ? 0 : 1)) % 4]));
                }
            }
        count = number;
    }
    fprintf(file, "$EndElements\n");
    fclose(file);
}

// A row of folds on its base, held below.
static void make_bellows(Design *design)
{
    int folds = 1 + (int)pick(design, 0, 3), layers = 4 * folds + 3;
    double size = pick(design, 3, 6), height = pick(design, 2, 4);
    write_bellows(layers, size, height);
    add_head(design);
    add(design, "    mesh: " MESH "\n");
    add_material(design);
    add(design, "    fixed: [{box: [[-100, -100, -0.01], [100, 100, 0.01]]}]\nactuators:\n");
    add(design, "  - {name: air, type: cavity, body: robot, group: chamber, drive: pressure, range: [0, %.4g kPa]}\n",
        pick(design, 2, 80) * design->share);
}

static void make(int number, double share, Design *design)
{
    static void (*const kinds[3])(Design *) = {make_finger, make_arm, make_bellows};
    *design = (Design){.seed = 1000 * ((uint64_t)number + 1), .share = share};
    kinds[number % 3](design);
    tdError error = {0};
    assert_ok(td_file_write(SCENE, design->text, design->used, &error), error);
}

static tdStatus reduce(tdReduceReport *report, tdError *error)
{
    tdReduceTask task = {.scene = SCENE, .out = OUT, .restart = true, .settings = td_default_settings()};
    task.settings.log = NULL;
    *error = (tdError){0};
    return td_reduce(&task, report, error);
}

// A motion may be faster than equilibria tell of, and is allowed to be as far off as a model that is written at all.
static bool is_good(tdStatus status, const tdReduceReport *report)
{
    return status == TD_OK && report->held_out_error <= ALLOWED && !(report->motion_error > TD_REDUCE_ACCEPTED);
}

// The ranges that an explanation names, as a share; 0: it names none.
static double share_named(const tdReduceReport *report, const tdError *error)
{
    const char *found = strstr(error->message, "within ");
    if (found == NULL)
        found = strstr(report->advice, "within ");
    return found != NULL ? atof(found + strlen("within ")) / 100 : 0;
}

static void each_ends_well(void **unused)
{
    (void)unused;
    static const char *const kinds[3] = {"finger", "arm", "bellows"};
    int good = 0, explained = 0, bad = 0;
    for (int i = first_design; i < first_design + n_designs; i++)
    {
        Design design;
        tdReduceReport report;
        tdError error;
        make(i, 1, &design);
        tdStatus status = reduce(&report, &error);
        print_message(
            "%2d %-7s %d rounds, %3lld snapshots, %lld failures, %d modes, %lld of %lld elements, held out %.3g, "
            "moving %.3g %s\n",
            i, kinds[i % 3], report.rounds, (long long)report.snapshots, (long long)report.failures, report.modes,
            (long long)report.rid_elements, (long long)report.elements, report.held_out_error, report.motion_error,
            status == TD_OK ? "" : error.message);
        if (is_good(status, &report))
        {
            good++;
            continue;
        }
        if (status == TD_OK)
            print_message("   %s; %s\n", report.cause, report.advice);
        double share = share_named(&report, &error);
        if (share > 0)
        {
            make(i, share, &design);
            status = reduce(&report, &error);
            print_message("   within %.0f %%: %lld failures, held out %.3g, moving %.3g %s\n", 100 * share,
                          (long long)report.failures, report.held_out_error, report.motion_error,
                          status == TD_OK ? "" : error.message);
        }
        bool works = share > 0 && is_good(status, &report);
        explained += works;
        bad += !works;
    }
    print_message("%d designs: %d within %g %%, %d explained with ranges that work, %d neither\n", n_designs, good,
                  100 * ALLOWED, explained, bad);
    unlink(SCENE);
    unlink(MESH);
    unlink(OUT);
    assert_int_equal(bad, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_ends_well)};
    n_designs = argc > 1 ? atoi(argv[1]) : DESIGNS;
    first_design = argc > 2 ? atoi(argv[2]) : 0;
    Design design;
    if (n_designs == 0)
    {
        make(first_design, 1, &design);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
