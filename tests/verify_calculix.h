// SPDX-License-Identifier: Apache-2.0
// CalculiX as an independent solver: a compiled model is written as its input, with the same mesh of linear
// tetrahedra (C3D4, which CalculiX integrates with one point, as is exact for constant strain), the program
// is run, and its displacements and nodal forces are read back. They come with seven digits.
#pragma once
#include "verify.h"

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

// CalculiX takes any residual force below 1e-6 for zero, whatever the unit, so it is given millinewtons. Not
// micronewtons: it takes a D1 as small as 2e-11 for none and puts its own.
#define CCX_FORCE 1e3

typedef struct ccxResult
{
    double *u;     ///< 3 a node
    double *force; ///< 3 a node: reactions where held
} ccxResult;

static inline void ccx_free(ccxResult *r)
{
    free(r->u);
    free(r->force);
}

// *ELASTIC, or *HYPERELASTIC in the form psi = C10 (J^(-2/3) I1 - 3) + 1/D1 (J - 1)^2.
static inline void ccx_material(FILE *f, const tdSoft *soft)
{
    const tdMaterial *material = &soft->blocks[0].material;
    const double *p = material->parameters;
    fprintf(f, "*MATERIAL, NAME=M\n");
    if (material->law == td_law(TD_LAW_NEO_HOOKEAN)) // kappa, form, mu
        fprintf(f, "*HYPERELASTIC, NEO HOOKE\n%.12g, %.12g\n", CCX_FORCE * p[TD_PARAMETER_OWN] / 2,
                2 / p[TD_PARAMETER_KAPPA] / CCX_FORCE);
    else // mu, lambda
        fprintf(f, "*ELASTIC\n%.12g, %.12g\n", CCX_FORCE * p[0] * (3 * p[1] + 2 * p[0]) / (p[1] + p[0]),
                p[1] / (2 * (p[1] + p[0])));
    fprintf(f, "*SOLID SECTION, ELSET=EALL, MATERIAL=M\n");
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
            fprintf(f, "%lld, P%d, %.12e\n", (long long)e + 1, side_without[missing], CCX_FORCE * load->pressure);
            found++;
        }
        assert_int_equal(found, 1);
    }
}

static inline void ccx_write(const char *path, const tdSoft *soft, bool large)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "*NODE, NSET=NALL\n");
    for (int32_t i = 0; i < soft->n_nodes; i++)
    {
        const double *x = soft->rest + 3 * (int64_t)i;
        fprintf(f, "%d, %.12e, %.12e, %.12e\n", i + 1, x[0], x[1], x[2]);
    }
    fprintf(f, "*ELEMENT, TYPE=C3D4, ELSET=EALL\n");
    const tdCells *tets = &soft->mesh.cells[TD_CELL_TET];
    for (int64_t e = 0; e < tets->count; e++)
    {
        const int32_t *t = tets->nodes + 4 * e;
        fprintf(f, "%lld, %d, %d, %d, %d\n", (long long)e + 1, t[0] + 1, t[1] + 1, t[2] + 1, t[3] + 1);
    }
    ccx_material(f, soft);
    // CalculiX is content with 0.5 % of the mean force as residual; we compare closer than that.
    fprintf(f, "*STEP, INC=1000%s\n*STATIC\n", large ? ", NLGEOM" : "");
    if (large)
        fprintf(f, "0.1, 1.0, 1e-5, 0.2\n*CONTROLS, PARAMETERS=FIELD\n1e-8, 1e-8\n");
    fprintf(f, "*BOUNDARY\n");
    for (int32_t k = 0; k < soft->n_held; k++)
    {
        int32_t i = soft->held_list[k];
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
                        CCX_FORCE * soft->loads[k].force[3 * i + c]);
    }
    fprintf(f, "*NODE PRINT, NSET=NALL, FREQUENCY=1000\nU, RF\n*END STEP\n");
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

// The last table of each kind in job.dat is that of the end of the step.
static inline ccxResult ccx_read(const char *path, int32_t n_nodes)
{
    ccxResult r = {calloc(3 * (size_t)n_nodes, sizeof(double)), calloc(3 * (size_t)n_nodes, sizeof(double))};
    FILE *f = fopen(path, "r");
    assert_true(f != NULL && r.u != NULL && r.force != NULL);
    char line[512];
    double *to = NULL, time = 0;
    int32_t found[2] = {0, 0};
    while (fgets(line, sizeof line, f) != NULL)
    {
        const char *at = strstr(line, " time ");
        int node;
        double v[3];
        if (at != NULL)
        {
            time = atof(at + 6);
            to = strstr(line, "displacements") != NULL ? r.u : r.force;
            found[to == r.force] = 0;
        }
        else if (to != NULL && sscanf(line, "%d %lf %lf %lf", &node, &v[0], &v[1], &v[2]) == 4)
        {
            assert_in_range(node, 1, n_nodes);
            for (int c = 0; c < 3; c++)
                to[3 * (node - 1) + c] = to == r.force ? v[c] / CCX_FORCE : v[c];
            found[to == r.force]++;
        }
    }
    fclose(f);
    if (found[0] != n_nodes || found[1] != n_nodes || fabs(time - 1) > 1e-6)
        fail_msg("%s: %d displacements and %d forces of %d nodes, last at time %g: ccx did not finish", path, found[0],
                 found[1], n_nodes, time);
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

/// What CalculiX makes of the model's only body.
static inline ccxResult ccx_solve(tdModel *model, const char *folder, bool large)
{
    const tdSoft *soft = verify_soft(model);
    char path[300];
    snprintf(path, sizeof path, "%s/job.inp", folder);
    ccx_write(path, soft, large);
    ccx_run(folder);
    snprintf(path, sizeof path, "%s/job.dat", folder);
    return ccx_read(path, soft->n_nodes);
}
