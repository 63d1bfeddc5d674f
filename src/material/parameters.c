// SPDX-License-Identifier: Apache-2.0
#include "material/parameters.h"

#include <math.h>
#include <stddef.h>

#define LOCKING_STRETCH 5.0 // of Arruda-Boyce, where only engineering constants are given
#define ALPHA_MAX       50.0

// Names of a law's own parameters, in the order of tdSceneMaterial.value.
typedef struct ownNames
{
    const char *law;
    int count;
    const char *list; // for messages
    const char *name[2 * TD_OGDEN_TERMS];
} ownNames;

static const ownNames none = {"", 0, "", {NULL}};
static const ownNames neo_hookean = {"neo_hookean", 1, "mu", {"mu"}};
static const ownNames mooney_rivlin = {"mooney_rivlin", 2, "c10, c01", {"c10", "c01"}};
static const ownNames ogden = {
    "ogden",
    2 * TD_OGDEN_TERMS,
    "the terms mu, alpha",
    {"mu_1", "alpha_1", "mu_2", "alpha_2", "mu_3", "alpha_3", "mu_4", "alpha_4", "mu_5", "alpha_5", "mu_6", "alpha_6"}};
static const ownNames arruda_boyce = {"arruda_boyce", 2, "mu, lambda_m", {"mu", "lambda_m"}};
static const ownNames veronda_westmann = {"veronda_westmann", 2, "c1, c2", {"c1", "c2"}};
static const ownNames costa = {
    "costa", 7, "c, b_ff, b_ss, b_nn, b_fs, b_fn, b_sn", {"c", "b_ff", "b_ss", "b_nn", "b_fs", "b_fn", "b_sn"}};

const char *const *td_law_names(tdLawKind kind, int *count)
{
    static const ownNames *const all[TD_LAWS] = {
        [TD_LAW_LINEAR] = &none, [TD_LAW_COROTATIONAL] = &none,         [TD_LAW_COROTATIONAL_LAGGED] = &none,
        [TD_LAW_STVK] = &none,   [TD_LAW_NEO_HOOKEAN] = &neo_hookean,   [TD_LAW_MOONEY_RIVLIN] = &mooney_rivlin,
        [TD_LAW_OGDEN] = &ogden, [TD_LAW_ARRUDA_BOYCE] = &arruda_boyce, [TD_LAW_VERONDA_WESTMANN] = &veronda_westmann,
        [TD_LAW_COSTA] = &costa,
    };
    *count = all[kind]->count;
    return all[kind]->name;
}

#define REFUSE(...) td_fail_at(error, TD_ERROR_INPUT, file, material->line, "material", __VA_ARGS__)

// A modulus of 0 is never a material, so a structure of zeros reads like one where nothing was given.
static bool given(double x)
{
    return !isnan(x) && x != 0;
}

static tdStatus check_engineering(const tdSceneMaterial *material, const char *file, tdError *error)
{
    double young = material->young, poisson = material->poisson;
    if (!(young > 0) || !isfinite(young))
        return REFUSE("young is %g Pa, must be a positive number", young);
    if (isnan(poisson))
        return REFUSE("young needs poisson; give a number between -1 and 0.5, e.g. 0.45 for rubber");
    if (!(poisson > -1 && poisson < 0.5))
        return REFUSE("poisson is %g, must be > -1 and < 0.5; for a nearly incompressible material use 0.49 to 0.4999",
                      poisson);
    if (given(material->bulk))
        return REFUSE("bulk is given in addition to young and poisson, which already determine it; leave one out");
    return TD_OK;
}

// bulk, or poisson (for isotropic laws), beside a law's own parameters.
static tdStatus check_volume(const tdSceneMaterial *material, const char *file, const ownNames *names, tdError *error)
{
    bool bulk = given(material->bulk), poisson = !isnan(material->poisson);
    if (names == &costa && poisson)
        return REFUSE("law 'costa' is not isotropic, so poisson has no meaning for it; give bulk instead");
    if (bulk && poisson)
        return REFUSE("bulk and poisson are both given in addition to %s; leave one out", names->list);
    if (!bulk && !poisson)
        return REFUSE("law '%s' needs the bulk modulus in addition to %s; give bulk%s", names->law, names->list,
                      names == &costa ? "" : " or poisson");
    if (bulk && (!(material->bulk > 0) || !isfinite(material->bulk)))
        return REFUSE("bulk is %g Pa, must be a positive number", material->bulk);
    if (poisson && !(material->poisson > -1 && material->poisson < 0.5))
        return REFUSE("poisson is %g, must be > -1 and < 0.5; for a nearly incompressible material use 0.49 to 0.4999",
                      material->poisson);
    return TD_OK;
}

// Which of the two ways the scene went; all that goes with it is there, finite, and nothing else.
static tdStatus read_way(const tdSceneMaterial *material, const char *file, const ownNames *names, int count, bool *own,
                         tdError *error)
{
    bool any = false;
    for (int i = 0; i < TD_LAW_VALUES; i++)
    {
        if (i >= count && given(material->value[i]))
            return REFUSE("law '%s' has %s%s%s; a further parameter, %g, belongs to another law or term", names->law,
                          count == 0 ? "no parameters of its own" : "only ", names->list,
                          count == 0 ? ", only young and poisson" : "", material->value[i]);
        any = any || (i < count && given(material->value[i]));
    }
    if (material->has_fibre && names != &costa)
        return REFUSE("law '%s' is isotropic; fibres are only for law 'costa'", names->law);
    if (material->n_terms != 0 && names != &ogden)
        return REFUSE("law '%s' has no terms; they belong to law 'ogden'", names->law);
    bool engineering = given(material->young);
    if (engineering && any)
        return REFUSE("young and %s are both given for law '%s'; they say the same thing, so leave one out",
                      names->list, names->law);
    if (engineering && names == &costa)
        return REFUSE("law 'costa' is not isotropic, so young has no meaning for it; give %s and bulk", names->list);
    if (!engineering && !any && count == 0)
        return REFUSE("law '%s' needs young and poisson", names->law);
    if (!engineering && !any)
        return REFUSE("law '%s' needs %s%s and bulk", names->law, names == &costa ? "" : "young and poisson, or ",
                      names->list);
    *own = any;
    if (engineering)
        return check_engineering(material, file, error);
    for (int i = 0; i < count; i++)
        if (!isfinite(material->value[i]))
            return REFUSE("law '%s': %s is %s; it needs %s", names->law, names->name[i],
                          isnan(material->value[i]) ? "missing" : "not finite", names->list);
    return check_volume(material, file, names, error);
}

static double shear(const tdSceneMaterial *material)
{
    return material->young / (2 * (1 + material->poisson));
}

// The common parameters. mu0 is the shear modulus at small strain that the own parameters make.
static tdStatus finish(const tdSceneMaterial *material, const char *file, const ownNames *names, double mu0,
                       double *parameters, tdError *error)
{
    if (!(mu0 > 0) || !isfinite(mu0))
        return REFUSE("law '%s': the shear modulus at small strain would be %g Pa, must be positive", names->law, mu0);
    double nu = material->poisson;
    double kappa = given(material->bulk) ? material->bulk : 2 * mu0 * (1 + nu) / (3 * (1 - 2 * nu));
    if (!isfinite(kappa))
        return REFUSE("poisson is %g, so near 0.5 that the bulk modulus is not finite; lower it", nu);
    if ((int)material->volumetric < TD_VOLUMETRIC_SQUARE || (int)material->volumetric > TD_VOLUMETRIC_MIXED)
        return REFUSE("the volumetric energy is none of square, log and mixed");
    parameters[TD_PARAMETER_KAPPA] = kappa;
    parameters[TD_PARAMETER_VOLUMETRIC] = material->volumetric;
    return TD_OK;
}

// mu and lambda, the Lame constants, of the quadratic laws.
tdStatus td_parameters_lame(const tdSceneMaterial *material, const char *file, double *parameters, tdError *error)
{
    ownNames names = none;
    names.law = td_law(material->law)->name;
    bool own = false;
    TD_TRY(read_way(material, file, &names, 0, &own, error));
    if (material->volumetric != TD_VOLUMETRIC_SQUARE)
        return REFUSE("law '%s' does not split off the change of volume; leave 'volumetric' out", names.law);
    double young = material->young, poisson = material->poisson;
    parameters[0] = young / (2 * (1 + poisson));
    parameters[1] = young * poisson / ((1 + poisson) * (1 - 2 * poisson));
    return TD_OK;
}

tdStatus td_parameters_neo_hookean(const tdSceneMaterial *material, const char *file, double *parameters,
                                   tdError *error)
{
    bool own = false;
    TD_TRY(read_way(material, file, &neo_hookean, 1, &own, error));
    double mu = own ? material->value[0] : shear(material);
    if (!(mu > 0))
        return REFUSE("law 'neo_hookean': mu is %g Pa, must be positive", mu);
    parameters[TD_PARAMETER_OWN] = mu;
    return finish(material, file, &neo_hookean, mu, parameters, error);
}

// From engineering constants in equal halves, as S3 Fig. 3. One of the two may be negative, as fits to data
// sometimes are; td_law_stable_range() tells what that costs.
tdStatus td_parameters_mooney_rivlin(const tdSceneMaterial *material, const char *file, double *parameters,
                                     tdError *error)
{
    bool own = false;
    TD_TRY(read_way(material, file, &mooney_rivlin, 2, &own, error));
    double c10 = own ? material->value[0] : shear(material) / 4, c01 = own ? material->value[1] : shear(material) / 4;
    if (!(c10 + c01 > 0))
        return REFUSE("law 'mooney_rivlin': c10 + c01 is %g Pa, must be positive: twice it is the shear modulus at "
                      "small strain",
                      c10 + c01);
    parameters[TD_PARAMETER_OWN] = c10;
    parameters[TD_PARAMETER_OWN + 1] = c01;
    return finish(material, file, &mooney_rivlin, 2 * (c10 + c01), parameters, error);
}

tdStatus td_parameters_ogden(const tdSceneMaterial *material, const char *file, double *parameters, tdError *error)
{
    bool own = false;
    int n = material->n_terms;
    if (n < 0 || n > TD_OGDEN_TERMS)
        return REFUSE("law 'ogden' has %d terms, must be 1 to %d", n, TD_OGDEN_TERMS);
    TD_TRY(read_way(material, file, &ogden, 2 * n, &own, error));
    double engineering[2] = {own ? 0 : shear(material), 2}, sum = 0;
    const double *value = own ? material->value : engineering;
    n = own ? n : 1;
    parameters[TD_PARAMETER_OWN] = n;
    for (int i = 0; i < n; i++)
    {
        double mu = value[2 * i], alpha = value[2 * i + 1];
        if (!(fabs(alpha) >= 1e-3 && fabs(alpha) <= ALPHA_MAX))
            return REFUSE("law 'ogden': alpha_%d is %g, must be between 0.001 and %g in size", i + 1, alpha, ALPHA_MAX);
        parameters[TD_PARAMETER_OWN + 1 + 2 * i] = mu;
        parameters[TD_PARAMETER_OWN + 2 + 2 * i] = alpha;
        sum += mu;
    }
    if (!(sum > 0))
        return REFUSE("law 'ogden': the sum of mu is %g Pa, must be positive: it is the shear modulus at small strain",
                      sum);
    return finish(material, file, &ogden, sum, parameters, error);
}

tdStatus td_parameters_arruda_boyce(const tdSceneMaterial *material, const char *file, double *parameters,
                                    tdError *error)
{
    bool own = false;
    TD_TRY(read_way(material, file, &arruda_boyce, 2, &own, error));
    double lambda_m = own ? material->value[1] : LOCKING_STRETCH;
    if (own && !(material->value[0] > 0))
        return REFUSE("law 'arruda_boyce': mu is %g Pa, must be positive", material->value[0]);
    if (!(lambda_m > 1))
        return REFUSE("law 'arruda_boyce': lambda_m is %g, must be > 1: it is the stretch at which chains lock",
                      lambda_m);
    double l = 1 / (lambda_m * lambda_m);
    double series = 1 + l * (3.0 / 5 + l * (99.0 / 175 + l * (513.0 / 875 + l * 42039.0 / 67375)));
    double mu = own ? material->value[0] : shear(material) / series;
    parameters[TD_PARAMETER_OWN] = mu;
    parameters[TD_PARAMETER_OWN + 1] = lambda_m;
    return finish(material, file, &arruda_boyce, mu * series, parameters, error);
}

tdStatus td_parameters_veronda_westmann(const tdSceneMaterial *material, const char *file, double *parameters,
                                        tdError *error)
{
    bool own = false;
    TD_TRY(read_way(material, file, &veronda_westmann, 2, &own, error));
    double c1 = own ? material->value[0] : shear(material), c2 = own ? material->value[1] : 1;
    for (int i = 0; i < 2; i++)
        if (!((i == 0 ? c1 : c2) > 0))
            return REFUSE("law 'veronda_westmann': %s is %g, must be positive", veronda_westmann.name[i],
                          i == 0 ? c1 : c2);
    parameters[TD_PARAMETER_OWN] = c1;
    parameters[TD_PARAMETER_OWN + 1] = c2;
    return finish(material, file, &veronda_westmann, c1 * c2, parameters, error);
}

tdStatus td_parameters_costa(const tdSceneMaterial *material, const char *file, double *parameters, tdError *error)
{
    bool own = false;
    TD_TRY(read_way(material, file, &costa, 7, &own, error));
    const double *value = material->value;
    if (!(value[0] > 0))
        return REFUSE("law 'costa': c is %g Pa, must be positive", value[0]);
    double largest = 0;
    for (int i = 1; i < 7; i++)
    {
        if (!(value[i] >= 0))
            return REFUSE("law 'costa': %s is %g, must not be negative", costa.name[i], value[i]);
        largest = fmax(largest, value[i]);
    }
    if (!material->has_fibre)
        return REFUSE("law 'costa' needs the directions of the fibres; give 'fibre'");
    for (int i = 0; i < 7; i++)
        parameters[TD_PARAMETER_OWN + i] = value[i];
    return finish(material, file, &costa, 0.5 * value[0] * largest, parameters, error);
}
