// SPDX-License-Identifier: Apache-2.0
// Parameters of a law from measurements, by nonlinear least squares:
//
//     min over p of  sum_i ((s(p, x_i) - s_i) / w_i)^2        s: nominal stress of td_response()
//
// with w = 1 or, for relative errors, |s_i|. Levenberg-Marquardt on coordinates in which positive parameters are
// logarithms, from several starts; the best is kept. No randomness: the same data give the same digits.
//
// 95 % intervals are t sqrt(diag(sigma^2 (J'J)^-1)), J the derivatives by the parameters, sigma^2 = RSS/(n - k), t
// Student's quantile at n - k: right for errors of equal size and a model that is near linear in their range.
// AIC = n ln(RSS/n) + 2 (k + 1) + 2 (k + 1)(k + 2)/(n - k - 2), the last term correcting for few points; the law
// with the least explains the data best for the parameters it takes. It compares fits to the same data only.
#pragma once
#include "base/memory.h"
#include "material/specimen.h"

#define TD_FIT_PARAMETERS (2 * TD_OGDEN_TERMS)
#define TD_FIT_POINTS     100000 // most that a file may hold
#define TD_FIT_POISSON    0.49   // least of a scene's material when the fit was incompressible

/// Measured points of one or several tests.
typedef struct tdFitData
{
    int n;
    tdTest *test;
    double *x;      ///< stretch; in shear the amount of shear
    double *stress; ///< nominal [Pa]
    int count[TD_TESTS];
    double low[TD_TESTS], high[TD_TESTS]; ///< least and largest x of each test
} tdFitData;

/// From CSV text; text[length] must be a zero byte. The header names the columns: mode, stress, and stretch, strain
/// or gamma; a unit may follow in brackets. `test` is that of files without a column `mode`, or TD_TESTS: none given.
tdStatus td_fit_read_csv(const char *text, size_t length, const char *name, tdTest test, tdArena *arena,
                         tdFitData *data, tdError *error);

/// "uniaxial" ... -> the test, or TD_TESTS.
tdTest td_test_find(const char *name);

typedef struct tdFitSettings
{
    tdLawKind law;
    int terms;           ///< Ogden
    bool incompressible; ///< else `poisson` fixes the bulk modulus
    double poisson;
    bool relative; ///< errors relative to the stress, at least 1 % of the largest of the test
} tdFitSettings;

typedef struct tdFit
{
    tdFitSettings settings;
    int n;                    ///< parameters, in the order of tdSceneMaterial's `value`
    const char *const *names; ///< of the parameters of one term
    double value[TD_FIT_PARAMETERS];
    double half[TD_FIT_PARAMETERS];   ///< half of the 95 % interval; NAN: at a bound, or the data do not tell
    bool at_bound[TD_FIT_PARAMETERS]; ///< no longer free: the fit would go beyond what the law allows
    double correlation;               ///< the strongest between two parameters, with its sign
    int correlated[2];                ///< which two
    double r2, rms, aic;              ///< of stresses; rms [Pa]
    double worst;                     ///< largest error [Pa]
    int dof;                          ///< points - free parameters
    int iterations;                   ///< of the best start
    bool converged;
    tdSceneMaterial material; ///< as a scene would give it; an incompressible fit chooses a Poisson's ratio near 1/2
    double volume_error;      ///< incompressible: how far `material` is from the fit at the points, relative RMS
    double parameters[TD_LAW_PARAMETERS];
    double young, poisson;      ///< at small strain; incompressible: 0.5
    double stable[TD_TESTS][2]; ///< see td_response_stable()
} tdFit;

/// Parameters that a law has; 0 when it cannot be fitted (anisotropic) or this build does not have it.
int td_fit_parameters(tdLawKind law, int terms);
/// Name of parameter i, e.g. "alpha_2". True when it is a modulus [Pa].
bool td_fit_name(const tdFit *fit, int i, char *out, size_t size);

/// Fails with TD_ERROR_INPUT when there are too few points, TD_ERROR_NUMERIC when no start leads anywhere.
tdStatus td_fit(const tdFitData *data, const tdFitSettings *settings, tdFit *fit, tdError *error);

/// The fitted law as a specimen that td_response() takes.
tdSpecimen td_fit_specimen(const tdFit *fit);
/// "law: ogden, terms: [...], poisson: 0.49", for a scene.
void td_fit_snippet(const tdFit *fit, tdText *out);
