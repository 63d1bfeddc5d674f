// SPDX-License-Identifier: Apache-2.0
#include "material/specimen.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define STEPS      400 // of the search for the end of stability, equal in the logarithm
#define WIDEST     14  // the free stretch is looked for within a factor e^14
#define ITERATIONS 200

const char *td_test_name(tdTest test)
{
    static const char *const names[TD_TESTS] = {"uniaxial", "biaxial", "planar", "shear"};
    return names[test];
}

// ---------------------------------------------------------------- one point

typedef struct Point
{
    double P[9], D[TD_TANGENT];
} Point;

// Four points at once, as kernels have it; D may be NULL.
static void run(const tdSpecimen *s, const double *F, double *P, double *D)
{
    double R[36], psi[4];
    for (int i = 0; i < 36; i++)
        R[i] = i / 4 % 4 == 0;
    // The lagged rotation is that of the state itself once a motion has come to rest.
    if (s->law->rotation == TD_ROTATION_CURRENT || s->law->rotation == TD_ROTATION_LAGGED)
        td_polar(TD_ISA_PORTABLE)(F, R);
    // The portable kernel: a fit gives the same digits on every machine.
    s->law->kernel[TD_ISA_PORTABLE](s->parameters, F, s->law->rotation != TD_ROTATION_NONE ? R : NULL, psi, P, D);
}

// Stress, and the tangent when `tangent`.
static void evaluate(const tdSpecimen *s, const double F[9], bool tangent, Point *out)
{
    double F4[36], P4[36], D4[4 * TD_TANGENT];
    for (int i = 0; i < 36; i++)
        F4[i] = F[i / 4];
    run(s, F4, P4, tangent ? D4 : NULL);
    for (int i = 0; i < 9; i++)
        out->P[i] = P4[4 * i];
    for (int i = 0; tangent && i < TD_TANGENT; i++)
        out->D[i] = D4[4 * i];
}

static void diagonal(double F[9], double a, double b, double c)
{
    const double made[9] = {a, 0, 0, 0, b, 0, 0, 0, c};
    memcpy(F, made, sizeof made);
}

void td_response_moduli(const tdSpecimen *specimen, double *shear, double *bulk)
{
    double F[9];
    Point at;
    diagonal(F, 1, 1, 1);
    evaluate(specimen, F, true, &at);
    *shear = at.D[TD_PACKED(1, 1)];
    *bulk = (at.D[TD_PACKED(0, 0)] + 2 * at.D[TD_PACKED(4, 0)]) / 3;
}

// ---------------------------------------------------------------- free sides

typedef struct Free
{
    const tdSpecimen *specimen;
    tdTest test;
    double x;
    double side; // the stretch s2 while s3 is sought
    double F[9];
} Free;

// Stress that must vanish at the logarithm y of the free stretch, and its slope (NAN: not known).
typedef double (*FreeStress)(Free *f, double y, double *slope);

// One root where the stress grows through zero: walk from y until the sign changes, then Newton in the bracket.
static bool solve(Free *f, FreeStress stress, double y, double *root)
{
    double start = y, slope, g = stress(f, y, &slope), lo = y, hi = y, g_lo = g, g_hi = g;
    double step = g > 0 ? -0.05 : 0.05;
    while (isfinite(g) && g != 0 && (g > 0) == (step < 0))
    {
        double before = y, g_before = g;
        y += step;
        step *= 1.25;
        g = stress(f, y, &slope);
        if (!isfinite(g) || fabs(y - start) > WIDEST)
            return false;
        bool down = y < before;
        lo = down ? y : before;
        hi = down ? before : y;
        g_lo = down ? g : g_before;
        g_hi = down ? g_before : g;
    }
    if (!isfinite(g))
        return false;
    double worst = HUGE_VAL;
    for (int i = 0; i < ITERATIONS && g != 0 && hi - lo > 4e-16 * (1 + fabs(y)); i++)
    {
        double next = isnan(slope) ? lo - g_lo * (hi - lo) / (g_hi - g_lo) : y - g / slope;
        // Halve where Newton leaves the bracket, or where it did not bring the stress down by half.
        bool slow = fabs(g) > 0.5 * worst;
        worst = fabs(g);
        if (!(next > lo && next < hi) || slow)
            next = 0.5 * (lo + hi);
        double moved = fabs(next - y);
        y = next;
        g = stress(f, y, &slope);
        if (!isfinite(g))
            return false;
        if (g < 0)
            lo = y, g_lo = g;
        else
            hi = y, g_hi = g;
        if (moved < 1e-15 * (1 + fabs(y)))
            break;
    }
    *root = y;
    return true;
}

static double entry(const Point *at, int i, int j)
{
    return at->D[i >= j ? TD_PACKED(i, j) : TD_PACKED(j, i)];
}

// Both sides of a uniaxial test alike: P22(s, s) = 0.
static double sides_stress(Free *f, double y, double *slope)
{
    Point at;
    double s = exp(y);
    diagonal(f->F, f->x, s, s);
    evaluate(f->specimen, f->F, true, &at);
    *slope = s * (entry(&at, 4, 4) + entry(&at, 4, 8));
    return at.P[4];
}

// The thickness alone: P33(s) = 0.
static double thickness_stress(Free *f, double y, double *slope)
{
    Point at;
    double s = exp(y);
    diagonal(f->F, f->x, f->side, s);
    evaluate(f->specimen, f->F, true, &at);
    *slope = s * entry(&at, 8, 8);
    return at.P[8];
}

// Anisotropic, uniaxial: P22 at the s3 that makes P33 vanish.
static double sheet_stress(Free *f, double y, double *slope)
{
    Point at;
    double root;
    *slope = NAN;
    f->side = exp(y);
    if (!solve(f, thickness_stress, -log(f->x) - y, &root))
        return NAN;
    diagonal(f->F, f->x, f->side, exp(root));
    evaluate(f->specimen, f->F, false, &at);
    return at.P[4];
}

// Anisotropic, uniaxial, incompressible: the same Kirchhoff stress on both sides.
static double volume_stress(Free *f, double y, double *slope)
{
    Point at;
    *slope = NAN;
    diagonal(f->F, f->x, exp(y), 1 / (f->x * exp(y)));
    evaluate(f->specimen, f->F, false, &at);
    return at.P[4] * f->F[4] - at.P[8] * f->F[8];
}

static bool find_free(Free *f)
{
    bool fibre = f->specimen->law->rotation == TD_ROTATION_FIBRE, held = f->specimen->incompressible;
    double y = -log(f->x), root;
    switch (f->test)
    {
    case TD_TEST_UNIAXIAL:
        if (!fibre && held)
            diagonal(f->F, f->x, 1 / sqrt(f->x), 1 / sqrt(f->x));
        else if (fibre)
            return solve(f, held ? volume_stress : sheet_stress, 0.5 * y, &root);
        else
            return solve(f, sides_stress, 0.5 * y, &root);
        return true;
    case TD_TEST_BIAXIAL:
    case TD_TEST_PLANAR:
        f->side = f->test == TD_TEST_BIAXIAL ? f->x : 1;
        diagonal(f->F, f->x, f->side, 1 / (f->x * f->side));
        return held || solve(f, thickness_stress, y - log(f->side), &root);
    default:
        diagonal(f->F, 1, 1, 1);
        f->F[1] = f->x;
        return true;
    }
}

// What the machine reads, from the stress P (entries of `stride`) at F.
static double reading(const tdSpecimen *specimen, tdTest test, const double *F, const double *P, int stride)
{
    if (test == TD_TEST_SHEAR)
        return P[stride]; // F^-T has no 12 component: the pressure does not enter
    return P[0] - (specimen->incompressible ? P[8 * stride] * F[8] / F[0] : 0);
}

static bool is_valid(tdTest test, double x)
{
    return isfinite(x) && (test == TD_TEST_SHEAR || x > 0);
}

bool td_response(const tdSpecimen *specimen, tdTest test, double x, double *stress, double F[9])
{
    Free f = {.specimen = specimen, .test = test, .x = x};
    *stress = NAN;
    if (!is_valid(test, x) || !find_free(&f))
        return false;
    Point at;
    evaluate(specimen, f.F, false, &at);
    *stress = reading(specimen, test, f.F, at.P, 1);
    if (F != NULL)
        memcpy(F, f.F, sizeof f.F);
    return isfinite(*stress);
}

// Newton for the free stretches of four points at once, from those at constant volume. Bit l of the result: point l
// has come to rest on a stable branch, with its F and its P of the lane.
static int newton4(const tdSpecimen *specimen, Free f[4], double *P)
{
    double F[36], D[4 * TD_TANGENT], step;
    int moving = 0, lost = 0;
    for (int l = 0; l < 4; l++)
        moving |= f[l].test != TD_TEST_SHEAR && !specimen->incompressible ? 1 << l : 0;
    for (int i = 0; i < 20; i++)
    {
        for (int k = 0; k < 36; k++)
            F[k] = f[k % 4].F[k / 4];
        run(specimen, F, P, moving != 0 ? D : NULL);
        for (int l = 0; l < 4; l++)
        {
            if (!(moving >> l & 1))
                continue;
            bool sides = f[l].test == TD_TEST_UNIAXIAL;
            double *s = &f[l].F[8], slope = D[4 * TD_PACKED(8, 8) + l];
            slope = *s * (slope + (sides ? D[4 * TD_PACKED(8, 4) + l] : 0));
            step = -P[32 + l] / slope;
            if (!(slope > 0) || !isfinite(step))
                lost |= 1 << l;
            if (lost >> l & 1)
            {
                moving &= ~(1 << l);
                continue;
            }
            *s *= exp(fmin(fmax(step, -0.3), 0.3));
            if (sides)
                f[l].F[4] = *s;
            if (fabs(step) < 1e-14)
                moving &= ~(1 << l);
        }
        if (moving == 0)
            break;
    }
    return ~(moving | lost) & 15;
}

bool td_responses(const tdSpecimen *specimen, int n, const tdTest *test, const double *x, double *stress)
{
    bool good = true, fibre = specimen->law->rotation == TD_ROTATION_FIBRE;
    tdSpecimen held = *specimen;
    held.incompressible = true;
    for (int i = 0; i < n; i += 4)
    {
        Free f[4];
        double P[36];
        int found = 0;
        for (int l = 0; l < 4; l++)
        {
            int k = i + l < n ? i + l : n - 1;
            f[l] = (Free){.specimen = &held, .test = test[k], .x = is_valid(test[k], x[k]) ? x[k] : 1};
            if (!fibre)
                find_free(&f[l]); // the start: no change of volume
        }
        if (!fibre)
            found = newton4(specimen, f, P);
        for (int l = 0; l < 4 && i + l < n; l++)
        {
            int k = i + l;
            stress[k] = found >> l & 1 ? reading(specimen, test[k], f[l].F, P + l, 4) : NAN;
            if (!is_valid(test[k], x[k]) || !isfinite(stress[k]))
                good = td_response(specimen, test[k], x[k], &stress[k], NULL) && good;
        }
    }
    return good;
}

// ---------------------------------------------------------------- stability

// Walks from rest to `end`; returns the last place where the stress still grew in size.
static double walk(const tdSpecimen *specimen, tdTest test, double end)
{
    bool shear = test == TD_TEST_SHEAR;
    double last = shear ? 0 : 1, before = 0, sign = end < last ? -1 : 1;
    for (int i = 1; i <= STEPS; i++)
    {
        double x = shear ? end * i / STEPS : exp(log(end) * i / STEPS), stress;
        if (!td_response(specimen, test, x, &stress, NULL) || !(sign * (stress - before) > 0))
            return last;
        before = stress;
        last = x;
    }
    return end;
}

void td_response_stable(const tdSpecimen *specimen, tdTest test, double range[2])
{
    range[0] = test == TD_TEST_SHEAR ? 0 : walk(specimen, test, TD_RESPONSE_LOW);
    range[1] = walk(specimen, test, test == TD_TEST_SHEAR ? TD_RESPONSE_SHEAR : TD_RESPONSE_HIGH);
}
