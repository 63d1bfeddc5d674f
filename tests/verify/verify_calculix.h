// SPDX-License-Identifier: Apache-2.0
// CalculiX as an independent solver: a compiled model is written as its input, with the same mesh and law, the
// program is run, and its displacements and nodal forces are read back. They come with seven digits. C3D4 has one
// point, as is exact for constant strain, C3D10 four, as ours.
#pragma once
#include "verify.h"

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

// CalculiX takes any residual force below 1e-6 for zero, whatever the unit, so it is given millinewtons, but not if
// D1 becomes small then: it takes 2e-11 for none and puts its own.
static inline double ccx_unit(const tdSoft *soft)
{
    const tdMaterial *material = &soft->blocks[0].material;
    return material->law->split ? fmin(1e3, 2e9 / material->parameters[TD_PARAMETER_KAPPA]) : 1e3;
}

/// Plane strain, of which CalculiX makes wedges one element thick. (It has plane stress too, but there the thickness
/// is a field over the nodes, not a number an element.)
static inline bool ccx_plane(const tdSoft *soft)
{
    assert_true(soft->blocks[0].material.through != TD_THROUGH_FREE);
    return soft->blocks[0].material.through == TD_THROUGH_HELD;
}

typedef struct ccxResult
{
    double *u;     ///< 3 a node, by moment
    double *force; ///< 3 a node, by moment: reactions where held
} ccxResult;

static inline void ccx_free(ccxResult *r)
{
    free(r->u);
    free(r->force);
}

// *ELASTIC with mu, lambda, or *HYPERELASTIC. CalculiX has 1/D1 (J - 1)^2 as volumetric energy, but for
// Arruda-Boyce 1/D1 ((J^2 - 1)/2 - ln J); an Ogden law of two terms has D1 and D2, of which the second belongs to
// (J - 1)^4 and may be any large number that CalculiX does not take for none.
static inline void ccx_material(FILE *f, const tdSoft *soft)
{
    assert_int_equal(soft->n_blocks, 1);
    const tdLaw *law = soft->blocks[0].material.law;
    const double *p = soft->blocks[0].material.parameters, *own = p + TD_PARAMETER_OWN;
    double c = ccx_unit(soft), D = 2 / p[TD_PARAMETER_KAPPA] / c;
    fprintf(f, "*MATERIAL, NAME=M\n");
    if (law == td_law(TD_LAW_NEO_HOOKEAN))
        fprintf(f, "*HYPERELASTIC, NEO HOOKE\n%.12g, %.12g\n", c * own[0] / 2, D);
    else if (law == td_law(TD_LAW_MOONEY_RIVLIN))
        fprintf(f, "*HYPERELASTIC, MOONEY-RIVLIN\n%.12g, %.12g, %.12g\n", c * own[0], c * own[1], D);
    else if (law == td_law(TD_LAW_ARRUDA_BOYCE))
        fprintf(f, "*HYPERELASTIC, ARRUDA-BOYCE\n%.12g, %.12g, %.12g\n", c * own[0], own[1], D);
    else if (law == td_law(TD_LAW_OGDEN) && own[0] == 1)
        fprintf(f, "*HYPERELASTIC, OGDEN, N=1\n%.12g, %.12g, %.12g\n", c * own[1], own[2], D);
    else if (law == td_law(TD_LAW_OGDEN) && own[0] == 2)
        fprintf(f, "*HYPERELASTIC, OGDEN, N=2\n%.12g, %.12g, %.12g, %.12g, %.12g, 1e30\n", c * own[1], own[2],
                c * own[3], own[4], D);
    else
    {
        assert_true(law == td_law(TD_LAW_LINEAR) || law == td_law(TD_LAW_STVK)); // or it has no counterpart
        fprintf(f, "*ELASTIC\n%.12g, %.12g\n", c * p[0] * (3 * p[1] + 2 * p[0]) / (p[1] + p[0]),
                p[1] / (2 * (p[1] + p[0])));
    }
    if (law != td_law(TD_LAW_LINEAR) && law != td_law(TD_LAW_STVK))
        assert_true(p[TD_PARAMETER_VOLUMETRIC] ==
                    (law == td_law(TD_LAW_ARRUDA_BOYCE) ? TD_VOLUMETRIC_MIXED : TD_VOLUMETRIC_SQUARE));
    fprintf(f, "*SOLID SECTION, ELSET=EALL, MATERIAL=M\n");
    if (ccx_plane(soft))
        fprintf(f, "%.12g\n", soft->blocks[0].material.thickness);
}

// Both number the nodes of all kinds alike.
static inline void ccx_elements(FILE *f, const tdSoft *soft)
{
    static const struct
    {
        tdCellType type;
        const char *name;
    } kinds[] = {{TD_CELL_TET, "C3D4"}, {TD_CELL_HEX, "C3D8"}, {TD_CELL_TET10, "C3D10"}, {TD_CELL_TRI, "CPE3"}};
    int64_t number = 0;
    int first = ccx_plane(soft) ? 3 : 0;
    for (int k = first; k < (first == 3 ? 4 : 3); k++)
    {
        const tdCells *cells = &soft->mesh.cells[kinds[k].type];
        int n = td_cell_nodes(kinds[k].type);
        if (cells->count > 0)
            fprintf(f, "*ELEMENT, TYPE=%s, ELSET=EALL\n", kinds[k].name);
        for (int64_t e = 0; e < cells->count; e++)
        {
            fprintf(f, "%lld", (long long)++number);
            for (int a = 0; a < n; a++)
                fprintf(f, ", %d", cells->nodes[n * e + a] + 1);
            fprintf(f, "\n");
        }
    }
    assert_true(number > 0);
}

// *DLOAD wants the element and its side: sides of C3D4 are 123, 142, 243, 341, so side k lacks node 4, 3, 1, 2.
static inline void ccx_pressure(FILE *f, const tdSoft *soft, const tdSoftLoad *load)
{
    static const int side_without[4] = {3, 4, 2, 1};
    const tdCells *tets = &soft->mesh.cells[TD_CELL_TET];
    fprintf(f, "*DLOAD\n");
    for (int32_t face = 0; face < load->n; face++)
    {
        const int32_t *n = load->nodes + 3 * (int64_t)face;
        int found = 0;
        for (int64_t e = 0; e < tets->count; e++)
        {
            int missing = -1, shared = 0;
            for (int a = 0; a < 4; a++)
            {
                int32_t t = tets->nodes[4 * e + a];
                bool on = t == n[0] || t == n[1] || t == n[2];
                shared += on;
                missing = on ? missing : a;
            }
            if (shared != 3)
                continue;
            fprintf(f, "%lld, P%d, %.12e\n", (long long)e + 1, side_without[missing], ccx_unit(soft) * load->pressure);
            found++;
        }
        assert_int_equal(found, 1);
    }
}

#define CCX_FAR   10.0 // [m] from which springs of the floor hold
#define CCX_STIFF 1e4  // [N/m] of each

// A frictionless floor at a height: each node that could come down to it, those above `most` left out, on a spring that
// bears from there on. Springs are so long that they stay upright.
static inline void ccx_floor(FILE *f, const tdSoft *soft, double height, double most)
{
    fprintf(f, "*NODE, NSET=GROUND\n");
    for (int32_t i = 0; i < soft->n_nodes; i++)
    {
        const double *x = soft->rest + 3 * (int64_t)i;
        if (x[2] < most)
            fprintf(f, "%d, %.12e, %.12e, %.12e\n", soft->n_nodes + i + 1, x[0], x[1], x[2] - CCX_FAR);
    }
    fprintf(f, "*BOUNDARY\nGROUND, 1, 3\n");
    for (int32_t i = 0; i < soft->n_nodes; i++)
    {
        double gap = soft->rest[3 * (int64_t)i + 2] - height;
        if (gap + height < most)
            fprintf(f,
                    "*ELEMENT, TYPE=SPRINGA, ELSET=FLOOR%d\n%d, %d, %d\n*SPRING, NONLINEAR, ELSET=FLOOR%d\n%.12e, "
                    "%.12e\n0., %.12e\n0., 5.\n",
                    i, 10000000 + i, soft->n_nodes + i + 1, i + 1, i, -CCX_STIFF * ccx_unit(soft), -gap - 1, -gap);
    }
}

/// points: moments of the step, evenly spaced, whose results are wanted. floor: its height, for nodes below `most`;
/// infinite: none.
static inline void ccx_write(const char *path, const tdSoft *soft, bool large, int points, double floor, double most)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "*NODE, NSET=NALL\n");
    for (int32_t i = 0; i < soft->n_nodes; i++)
    {
        const double *x = soft->rest + 3 * (int64_t)i;
        fprintf(f, "%d, %.12e, %.12e, %.12e\n", i + 1, x[0], x[1], x[2]);
    }
    ccx_elements(f, soft);
    ccx_material(f, soft);
    if (isfinite(floor))
        ccx_floor(f, soft, floor, most);
    if (points > 1)
        fprintf(f, "*TIME POINTS, NAME=T, GENERATE\n%.12g, 1., %.12g\n", 1.0 / points, 1.0 / points);
    // CalculiX is content with 0.5 % of the mean force as residual; we compare closer than that.
    fprintf(f, "*STEP, INC=1000%s\n*STATIC\n", large ? ", NLGEOM" : "");
    if (large)
        fprintf(f, "0.1, 1.0, 1e-5, 0.2\n*CONTROLS, PARAMETERS=FIELD\n1e-8, 1e-8\n");
    fprintf(f, "*BOUNDARY\n");
    for (int32_t k = 0; k < soft->n_held; k++)
    {
        int32_t i = soft->held_list[k];
        if (ccx_plane(soft) && i % 3 == 2)
            continue;
        double value = 0;
        for (int32_t d = 0; d < soft->n_driven; d++)
            if (soft->driven[d].coord == i)
                value = soft->driven[d].displacement;
        fprintf(f, "%d, %d, %d, %.12e\n", i / 3 + 1, i % 3 + 1, i % 3 + 1, value);
    }
    for (int k = 0; k < soft->n_loads; k++)
    {
        if (soft->loads[k].kind == TD_LOAD_SURFACE_PRESSURE)
        {
            ccx_pressure(f, soft, &soft->loads[k]);
            continue;
        }
        fprintf(f, "*CLOAD\n");
        for (int32_t i = 0; i < soft->loads[k].n; i++)
            for (int c = 0; c < 3; c++)
                fprintf(f, "%d, %d, %.12e\n", soft->loads[k].nodes[i] + 1, c + 1,
                        ccx_unit(soft) * soft->loads[k].force[3 * i + c]);
    }
    fprintf(f, "*NODE PRINT, NSET=NALL, %s\nU, RF\n*END STEP\n", points > 1 ? "TIME POINTS=T" : "FREQUENCY=1000");
    assert_int_equal(fclose(f), 0);
}

// Runs "ccx -i job" in the folder. Missing is a failure: setting the tests up installs it.
static inline void ccx_run(const char *folder)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
    {
        int log = chdir(folder) == 0 ? open("log", O_CREAT | O_WRONLY, 0644) : -1;
        if (log < 0)
            _exit(126);
        dup2(log, 1);
        dup2(log, 2);
        setenv("OMP_NUM_THREADS", "1", 1);
        execlp("ccx", "ccx", "-i", "job", (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        fail_msg("CalculiX (ccx) is not installed; scripts/setup test installs it (Debian: calculix-ccx)");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("ccx failed with status %d; see %s/log", status, folder);
}

// Tables of the times k/points, k = 1 ..., in job.dat.
static inline ccxResult ccx_read(const char *path, int32_t n_nodes, int points, double unit)
{
    size_t block = 3 * (size_t)n_nodes;
    ccxResult r = {calloc(points * block, sizeof(double)), calloc(points * block, sizeof(double))};
    FILE *f = fopen(path, "r");
    assert_true(f != NULL && r.u != NULL && r.force != NULL);
    char line[512];
    double *to = NULL;
    bool force = false;
    int64_t found = 0;
    while (fgets(line, sizeof line, f) != NULL)
    {
        const char *at = strstr(line, " time ");
        int node;
        double v[3];
        if (at != NULL)
        {
            double time = atof(at + 6) * points;
            force = strstr(line, "displacements") == NULL;
            to = fabs(time - round(time)) < 1e-5 ? (force ? r.force : r.u) + (lround(time) - 1) * (long)block : NULL;
            assert_true(to == NULL || (time > 0.5 && time < points + 0.5));
        }
        else if (to != NULL && sscanf(line, "%d %lf %lf %lf", &node, &v[0], &v[1], &v[2]) == 4)
        {
            assert_in_range(node, 1, n_nodes);
            for (int c = 0; c < 3; c++)
                to[3 * (node - 1) + c] = force ? v[c] / unit : v[c];
            found++;
        }
    }
    fclose(f);
    if (found != 2 * (int64_t)points * n_nodes)
        fail_msg("%s: %lld rows of the %d nodes at %d times: ccx did not finish", path, (long long)found, n_nodes,
                 points);
    return r;
}

static inline void remove_folder(const char *folder)
{
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    rmdir(folder);
}

static inline void make_folder(char folder[256])
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, 256, "%s/tendril-verify-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
}

/// What CalculiX makes of the model's only body, its loads and displacements growing from nothing in proportion:
/// at the shares 1/points, 2/points ... 1.
static inline ccxResult ccx_curve(tdModel *model, const char *folder, bool large, int points)
{
    const tdSoft *soft = verify_soft(model);
    char path[300];
    snprintf(path, sizeof path, "%s/job.inp", folder);
    ccx_write(path, soft, large, points, INFINITY, 0);
    ccx_run(folder);
    snprintf(path, sizeof path, "%s/job.dat", folder);
    return ccx_read(path, soft->n_nodes, points, ccx_unit(soft));
}

static inline ccxResult ccx_solve(tdModel *model, const char *folder, bool large)
{
    return ccx_curve(model, folder, large, 1);
}
