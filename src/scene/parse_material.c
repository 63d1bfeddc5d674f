// SPDX-License-Identifier: Apache-2.0
// Materials: which keys a law takes, and which of them together make a set of constants. Whether the
// numbers are those of a stable material is for the law to say, when the scene is compiled.
#include "scene/parse.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// ---------------------------------------------------------------- laws and their keys

#define ONLY(law) (1U << TD_LAW_##law)
#define QUADRATIC (ONLY(LINEAR) | ONLY(COROTATIONAL) | ONLY(COROTATIONAL_LAGGED) | ONLY(STVK))
#define ALL       ((1U << TD_LAWS) - 1)
#define SPLIT     (ALL & ~QUADRATIC) // the change of volume has an energy of its own

typedef struct lawKey
{
    const char *name;
    unsigned laws; // that take it
    unsigned own;  // of which it is a parameter, in the place `index` of value
    int index;
} lawKey;

static const lawKey law_keys[] = {
    {"young", ALL & ~ONLY(COSTA), 0, 0},
    {"poisson", ALL & ~ONLY(COSTA), 0, 0},
    {"lambda", QUADRATIC | ONLY(NEO_HOOKEAN), 0, 0},
    {"mu", QUADRATIC | ONLY(NEO_HOOKEAN) | ONLY(ARRUDA_BOYCE), ONLY(NEO_HOOKEAN) | ONLY(ARRUDA_BOYCE), 0},
    {"bulk", SPLIT, 0, 0},
    {"volumetric", SPLIT, 0, 0},
    {"viscoelastic", SPLIT | ONLY(STVK), 0, 0},
    {"c10", ONLY(MOONEY_RIVLIN), ONLY(MOONEY_RIVLIN), 0},
    {"c01", ONLY(MOONEY_RIVLIN), ONLY(MOONEY_RIVLIN), 1},
    {"terms", ONLY(OGDEN), ONLY(OGDEN), 0},
    {"lambda_m", ONLY(ARRUDA_BOYCE), ONLY(ARRUDA_BOYCE), 1},
    {"c1", ONLY(VERONDA_WESTMANN), ONLY(VERONDA_WESTMANN), 0},
    {"c2", ONLY(VERONDA_WESTMANN), ONLY(VERONDA_WESTMANN), 1},
    {"c", ONLY(COSTA), ONLY(COSTA), 0},
    {"b_ff", ONLY(COSTA), ONLY(COSTA), 1},
    {"b_ss", ONLY(COSTA), ONLY(COSTA), 2},
    {"b_nn", ONLY(COSTA), ONLY(COSTA), 3},
    {"b_fs", ONLY(COSTA), ONLY(COSTA), 4},
    {"b_fn", ONLY(COSTA), ONLY(COSTA), 5},
    {"b_sn", ONLY(COSTA), ONLY(COSTA), 6},
    {"fibre", ONLY(COSTA), 0, 0},
    {"sheet", ONLY(COSTA), 0, 0},
};
#define LAW_KEYS ((int)(sizeof law_keys / sizeof law_keys[0]))

// The sets of constants that a law takes, for messages.
static const char *const law_takes[TD_LAWS] = {
    [TD_LAW_LINEAR] = "'young' and 'poisson', or 'lambda' and 'mu'",
    [TD_LAW_COROTATIONAL] = "'young' and 'poisson', or 'lambda' and 'mu'",
    [TD_LAW_COROTATIONAL_LAGGED] = "'young' and 'poisson', or 'lambda' and 'mu'",
    [TD_LAW_STVK] = "'young' and 'poisson', or 'lambda' and 'mu'",
    [TD_LAW_NEO_HOOKEAN] = "'young' and 'poisson', or 'lambda' and 'mu', or 'mu' with one of 'bulk' and 'poisson'",
    [TD_LAW_MOONEY_RIVLIN] = "'young' and 'poisson', or 'c10' and 'c01' with one of 'bulk' and 'poisson'",
    [TD_LAW_OGDEN] = "'young' and 'poisson', or 'terms' with one of 'bulk' and 'poisson'",
    [TD_LAW_ARRUDA_BOYCE] = "'young' and 'poisson', or 'mu' and 'lambda_m' with one of 'bulk' and 'poisson'",
    [TD_LAW_VERONDA_WESTMANN] = "'young' and 'poisson', or 'c1' and 'c2' with one of 'bulk' and 'poisson'",
    [TD_LAW_COSTA] = "'c', 'b_ff' to 'b_sn', 'bulk', 'fibre' and 'sheet'",
};

static bool is_split(tdLawKind law)
{
    return SPLIT >> law & 1U;
}

static bool given(const tdRecord *record, const char *key)
{
    return td_record_get(record, key)->node != NULL;
}

static void list_laws(unsigned laws, char *out, size_t size)
{
    size_t used = 0;
    for (int law = 0; law < TD_LAWS; law++)
    {
        if (!(laws >> law & 1U) || used >= size)
            continue;
        const char *join = used == 0 ? "" : laws >> (law + 1) == 0 ? " and " : ", ";
        used += (size_t)snprintf(out + used, size - used, "%s%s", join, td_scene_law((tdLawKind)law));
    }
}

static tdStatus check_law_keys(const tdReader *reader, const tdRecord *record, tdLawKind law)
{
    for (int i = 0; i < LAW_KEYS; i++)
    {
        if (law_keys[i].laws >> law & 1U || !given(record, law_keys[i].name))
            continue;
        char laws[200];
        list_laws(law_keys[i].laws, laws, sizeof laws);
        return td_record_fail(reader, record, law_keys[i].name, "%s belongs to %s; the law here is %s, which takes %s",
                              law_keys[i].name, laws, td_scene_law(law), law_takes[law]);
    }
    return TD_OK;
}

// ---------------------------------------------------------------- constants

static tdStatus lame_constants(const tdReader *reader, const tdRecord *record, tdSceneMaterial *material)
{
    const tdValue *lambda = td_record_get(record, "lambda");
    double l = lambda->number[0], m = td_record_get(record, "mu")->number[0];
    if (!(3 * l + 2 * m > 0))
        return td_record_fail(reader, record, "lambda",
                              "found '%.60s', must be > -2/3 of mu (%g Pa), or the material "
                              "would swell under pressure",
                              lambda->node->text, m);
    material->young = m * ((3 * l + 2 * m) / (l + m));
    material->poisson = 0.5 * (l / (l + m));
    if (!(material->poisson < 0.5) || !isfinite(material->young))
        return td_record_fail(
            reader, record, "lambda",
            "found '%.60s', so far above mu that the material is practically incompressible; lower it",
            lambda->node->text);
    return TD_OK;
}

// Young's modulus and Poisson's ratio, given or from Lamé's constants.
static tdStatus engineering_constants(const tdReader *reader, const tdRecord *record, tdSceneMaterial *material)
{
    bool first = given(record, "young") || given(record, "poisson");
    bool second = given(record, "lambda") || given(record, "mu");
    if (first && second)
        return td_record_fail(reader, record, given(record, "lambda") ? "lambda" : "mu",
                              "'young' and 'poisson' exclude 'lambda' and 'mu'; give one pair");
    const char *pair[2] = {first ? "young" : "lambda", first ? "poisson" : "mu"};
    for (int i = 0; i < 2; i++)
        if (!given(record, pair[i]))
            return td_record_fail(reader, record, pair[i], "the key '%s' is missing; '%s' needs it", pair[i],
                                  pair[1 - i]);
    if (given(record, "bulk"))
        return td_record_fail(reader, record, "bulk", "'%s' and '%s' define the bulk modulus; remove 'bulk'", pair[0],
                              pair[1]);
    if (second)
        return lame_constants(reader, record, material);
    material->young = td_record_get(record, "young")->number[0];
    material->poisson = td_record_get(record, "poisson")->number[0];
    return TD_OK;
}

static tdStatus ogden_terms(const tdReader *reader, const tdRecord *record, tdSceneMaterial *material)
{
    for (const tdYaml *item = td_record_get(record, "terms")->node->first; item != NULL; item = item->next)
    {
        char path[256];
        tdRecord term;
        td_path_item(path, sizeof path, record->path, "terms", material->n_terms);
        TD_TRY(td_schema_read(reader, item, &td_schema_term, path, &term));
        double *value = &material->value[2 * (ptrdiff_t)material->n_terms++];
        value[0] = td_record_get(&term, "mu")->number[0];
        value[1] = td_record_get(&term, "alpha")->number[0];
    }
    return TD_OK;
}

// The law's own parameters, all of them, and what says how it resists a change of volume.
static tdStatus own_constants(const tdReader *reader, const tdRecord *record, const char *first,
                              tdSceneMaterial *material)
{
    if (given(record, "young"))
        return td_record_fail(reader, record, first, "'young' and '%s' exclude each other; %s takes %s", first,
                              td_scene_law(material->law), law_takes[material->law]);
    for (int i = 0; i < LAW_KEYS; i++)
    {
        const lawKey *key = &law_keys[i];
        if (!(key->own >> material->law & 1U))
            continue;
        if (!given(record, key->name))
            return td_record_fail(reader, record, key->name, "the key '%s' is missing; '%s' needs it", key->name,
                                  first);
        if (material->law != TD_LAW_OGDEN)
            material->value[key->index] = td_record_get(record, key->name)->number[0];
    }
    if (material->law == TD_LAW_OGDEN)
        TD_TRY(ogden_terms(reader, record, material));
    const tdValue *bulk = td_record_get(record, "bulk"), *poisson = td_record_get(record, "poisson");
    if (bulk->has && poisson->has)
        return td_record_fail(reader, record, "bulk", "'bulk' and 'poisson' exclude each other; give one");
    if (!bulk->has && !poisson->has)
        return td_reader_fail(reader, record->node->line, record->path, NULL,
                              "the compressibility is missing; give 'bulk'%s beside '%s'",
                              material->law == TD_LAW_COSTA ? "" : " or 'poisson'", first);
    material->bulk = bulk->has ? bulk->number[0] : NAN;
    material->poisson = poisson->has ? poisson->number[0] : NAN;
    return TD_OK;
}

static tdStatus parse_constants(const tdReader *reader, const tdRecord *record, tdSceneMaterial *material)
{
    material->young = material->poisson = material->bulk = NAN;
    for (int i = 0; i < TD_LAW_VALUES; i++)
        material->value[i] = NAN;
    TD_TRY(check_law_keys(reader, record, material->law));
    // With 'lambda' beside it, 'mu' is Lamé's.
    const char *own = NULL;
    for (int i = 0; i < LAW_KEYS && own == NULL; i++)
        if (law_keys[i].own >> material->law & 1U && given(record, law_keys[i].name) && !given(record, "lambda"))
            own = law_keys[i].name;
    if (own != NULL)
        return own_constants(reader, record, own, material);
    if (material->law == TD_LAW_COSTA ||
        !(given(record, "young") || given(record, "poisson") || given(record, "lambda") || given(record, "mu")))
        return td_reader_fail(reader, record->node->line, record->path, NULL, "the stiffness is missing; give %s",
                              law_takes[material->law]);
    return engineering_constants(reader, record, material);
}

// ---------------------------------------------------------------- fibres, relaxation

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static tdStatus read_direction(const tdReader *reader, const tdRecord *record, const char *key, double out[3])
{
    if (!given(record, key))
        return td_record_fail(reader, record, key, "the law %s needs '%s', a direction in the placed body",
                              td_scene_law(TD_LAW_COSTA), key);
    const double *v = td_record_get(record, key)->number;
    // Scaled by the largest component first, so that no square overflows or vanishes.
    double largest = fmax(fabs(v[0]), fmax(fabs(v[1]), fabs(v[2])));
    if (largest == 0)
        return td_record_fail(reader, record, key, "the direction is zero; give one, e.g. [1, 0, 0]");
    for (int i = 0; i < 3; i++)
        out[i] = v[i] / largest;
    double length = sqrt(dot(out, out));
    for (int i = 0; i < 3; i++)
        out[i] /= length;
    return TD_OK;
}

// Gram-Schmidt: the fibre keeps its direction, the sheet the part of its own across the fibre.
static tdStatus parse_fibre(const tdReader *reader, const tdRecord *record, tdSceneMaterial *material)
{
    double *f = material->fibre, *s = f + 3, *n = f + 6;
    TD_TRY(read_direction(reader, record, "fibre", f));
    TD_TRY(read_direction(reader, record, "sheet", s));
    for (int pass = 0; pass < 2; pass++) // the second removes what the first left by rounding
    {
        double along = dot(f, s);
        for (int i = 0; i < 3; i++)
            s[i] -= along * f[i];
        double length = sqrt(dot(s, s));
        if (!(length > 1e-6))
            return td_record_fail(reader, record, "sheet",
                                  "'sheet' is parallel to 'fibre'; give a direction across the fibre");
        for (int i = 0; i < 3; i++)
            s[i] /= length;
    }
    for (int i = 0; i < 3; i++)
        n[i] = f[(i + 1) % 3] * s[(i + 2) % 3] - f[(i + 2) % 3] * s[(i + 1) % 3];
    material->has_fibre = true;
    return TD_OK;
}

static tdStatus parse_viscoelastic(const tdReader *reader, const tdRecord *record, tdSceneMaterial *material)
{
    const tdYaml *list = td_record_get(record, "viscoelastic")->node;
    if (list == NULL)
        return TD_OK;
    double sum = 0;
    for (const tdYaml *item = list->first; item != NULL; item = item->next)
    {
        char path[256];
        tdRecord term;
        td_path_item(path, sizeof path, record->path, "viscoelastic", material->n_prony);
        TD_TRY(td_schema_read(reader, item, &td_schema_viscoelastic, path, &term));
        material->prony_g[material->n_prony] = td_record_get(&term, "modulus")->number[0];
        material->prony_tau[material->n_prony] = td_record_get(&term, "time")->number[0];
        sum += material->prony_g[material->n_prony++];
    }
    if (!(sum < 1))
        return td_record_fail(reader, record, "viscoelastic",
                              "the moduli sum to %g, must be < 1: the rest of 1 does not relax", sum);
    return TD_OK;
}

// ---------------------------------------------------------------- one material

static tdStatus parse_mass(tdSceneParser *parser, const tdRecord *record, tdSceneMaterial *material)
{
    const tdValue *density = td_record_get(record, "density"), *total = td_record_get(record, "total_mass");
    if (material->group != NULL && total->has)
        return td_record_fail(
            &parser->reader, record, "total_mass",
            "a part of a body has a 'density'; 'total_mass' is that of the whole body, in its 'material'");
    material->density = density->has ? density->number[0] : 0;
    material->total_mass = total->has ? total->number[0] : 0;
    const double *gravity = parser->scene->settings.gravity;
    bool weight = gravity[0] != 0 || gravity[1] != 0 || gravity[2] != 0;
    bool inertia = parser->method != TD_CHOICE_STATIC;
    if (!density->has && !total->has && (weight || inertia))
        return td_reader_fail(&parser->reader, record->node->line, record->path, NULL,
                              "the mass is missing; give 'density'%s (only a static scene without gravity "
                              "needs none)",
                              material->group != NULL ? "" : " or 'total_mass'");
    return TD_OK;
}

// The keys that `material` and the entries of `materials` share.
static tdStatus parse_material(tdSceneParser *parser, const tdRecord *record, tdSceneMaterial *material)
{
    const tdReader *reader = &parser->reader;
    material->law = (tdLawKind)td_record_get(record, "law")->integer[0];
    TD_TRY(parse_constants(reader, record, material));
    material->volumetric = (tdVolumetric)td_record_get(record, "volumetric")->integer[0];
    if (material->law == TD_LAW_COSTA)
        TD_TRY(parse_fibre(reader, record, material));
    TD_TRY(parse_viscoelastic(reader, record, material));
    return parse_mass(parser, record, material);
}

static tdStatus parse_membrane(const tdReader *reader, const tdRecord *record, const tdSceneBody *body,
                               tdSceneMaterial *part)
{
    const tdValue *thickness = td_record_get(record, "thickness");
    bool membrane = td_record_get(record, "element")->integer[0] == TD_PART_MEMBRANE;
    bool plane = body->plane != TD_PLANE_NONE;
    if (membrane && plane)
        return td_record_fail(reader, record, "element", "a plane body has no membranes; remove 'element'");
    if (membrane && !thickness->has)
        return td_record_fail(reader, record, "thickness", "a membrane needs 'thickness', e.g. 'thickness: 0.5 mm'");
    if (!membrane && thickness->has)
        return td_record_fail(reader, record, "thickness",
                              plane ? "a plane body has one 'thickness'; give it next to 'plane'"
                                    : "'thickness' is that of a membrane; add 'element: membrane' or remove it");
    part->thickness = membrane ? thickness->number[0] : body->material.thickness;
    return TD_OK;
}

// ---------------------------------------------------------------- those of a body

static tdStatus parse_parts(tdSceneParser *parser, const tdRecord *body_record, tdSceneBody *body)
{
    const tdReader *reader = &parser->reader;
    const tdYaml *list = td_record_get(body_record, "materials")->node;
    if (list == NULL)
        return TD_OK;
    body->materials = TD_TAKE(parser->arena, tdSceneMaterial, list->n);
    if (body->materials == NULL)
        return td_fail_memory(reader->error, "the materials");
    for (const tdYaml *item = list->first; item != NULL; item = item->next)
    {
        char path[256];
        tdRecord record;
        td_path_item(path, sizeof path, body_record->path, "materials", body->n_materials);
        TD_TRY(td_schema_read(reader, item, &td_schema_part, path, &record));
        tdSceneMaterial *part = &body->materials[body->n_materials];
        part->line = item->line;
        TD_TRY(td_parse_select(parser, &record, &part->select));
        char name[64];
        snprintf(name, sizeof name, "materials[%d], by its %s", body->n_materials, td_parse_selector(&record));
        TD_TRY(td_parse_copy(parser, part->select.kind == TD_SELECT_GROUP ? part->select.group : name, &part->group));
        for (int i = 0; i < body->n_materials; i++)
            if (strcmp(body->materials[i].group, part->group) == 0)
                return td_record_fail(reader, &record, "group", "the group '%.60s' has a material already, on line %d",
                                      part->group, body->materials[i].line);
        TD_TRY(parse_membrane(reader, &record, body, part));
        TD_TRY(parse_material(parser, &record, part));
        body->n_materials++;
    }
    return TD_OK;
}

static tdStatus parse_plane(const tdReader *reader, const tdRecord *record, tdSceneBody *body)
{
    const tdValue *plane = td_record_get(record, "plane"), *thickness = td_record_get(record, "thickness");
    body->plane = plane->has ? (tdPlane)plane->integer[0] : TD_PLANE_NONE;
    if (body->plane == TD_PLANE_NONE && thickness->has)
        return td_record_fail(reader, record, "thickness",
                              "'thickness' is that of a plane body; add 'plane: strain' or 'plane: stress', or remove "
                              "it (a membrane's is in 'materials')");
    if (body->plane == TD_PLANE_NONE)
        return TD_OK;
    if (body->mesh == NULL && (body->box.cells[2] > 0 || body->torus.cells[0] > 0))
        return td_record_fail(reader, record, "mesh",
                              "a plane body is made of triangles; give a 'rectangle' instead of the '%s'",
                              body->box.cells[2] > 0 ? "box" : "torus");
    body->material.thickness = thickness->has ? thickness->number[0] : 1;
    return TD_OK;
}

static tdStatus parse_formulation(const tdReader *reader, const tdRecord *record, tdSceneBody *body)
{
    body->formulation = (tdFormulation)td_record_get(record, "formulation")->integer[0];
    if (body->formulation != TD_FORMULATION_MEAN_DILATATION)
        return TD_OK;
    if (body->plane == TD_PLANE_STRESS)
        return td_record_fail(reader, record, "formulation",
                              "in plane stress the thickness gives way, so that nothing locks; remove 'formulation'");
    for (int i = -1; i < body->n_materials; i++)
    {
        const tdSceneMaterial *m = i < 0 ? &body->material : &body->materials[i];
        bool membrane = body->plane == TD_PLANE_NONE && m->thickness > 0;
        if (!membrane && !is_split(m->law))
            return td_record_fail(reader, record, "formulation",
                                  "mean_dilatation needs a law with an energy of the change of volume, neo_hookean or "
                                  "one after it; the law on line %d is %s",
                                  m->line, td_scene_law(m->law));
    }
    return TD_OK;
}

tdStatus td_parse_materials(tdSceneParser *parser, const tdRecord *body_record, tdSceneBody *body)
{
    const tdReader *reader = &parser->reader;
    const tdYaml *node = td_record_get(body_record, "material")->node;
    char path[256];
    tdRecord record;
    TD_TRY(parse_plane(reader, body_record, body));
    td_path_key(path, sizeof path, body_record->path, "material");
    TD_TRY(td_schema_read(reader, node, &td_schema_material, path, &record));
    body->material.line = node->key_line;
    TD_TRY(parse_material(parser, &record, &body->material));
    TD_TRY(parse_parts(parser, body_record, body));
    return parse_formulation(reader, body_record, body);
}
