// SPDX-License-Identifier: Apache-2.0
// What is within all limits but hardly meant: a density of 1.07e12 kg/m^3 is that of rubber in a scene whose unit of
// length is the millimetre. Nothing is refused here; a warning names the line, the value, what is usual and the slip of
// a unit that would explain it.
#include "base/log.h"
#include "body/drawing.h"
#include "describe/unit.h"
#include "material/law.h"
#include "scene/compile.h"
#include "scene/include.h"

#include <math.h>
#include <stdio.h>

/// A slip of a unit: what was meant is `factor` times what it was taken for. Which unit was written is not known here:
/// it may stand in the file that the number comes from, or be the scene's.
typedef struct Slip
{
    double factor;
    const char *taken, *meant;
} Slip;

/// Of one quantity: its usual range, the narrower one that a guess must fall into, and guesses, the commonest first.
typedef struct Usual
{
    const char *unit;
    double least, most;
    double low, high;
    const char *example;
    Slip slips[7]; // ends with a factor of zero
} Usual;

static const Usual usual_density = {"kg/m^3",
                                    10,    // foams of the lightest kind
                                    23000, // osmium
                                    200,
                                    20000,
                                    "rubber has about 1100",
                                    {{1e-9, "kg/mm^3", "kg/m^3"},
                                     {1e-12, "t/mm^3", "kg/m^3"},
                                     {1e3, "kg/m^3", "g/cm^3"},
                                     {1e-3, "g/cm^3", "kg/m^3"},
                                     {1e-6, "g/mm^3", "kg/m^3"},
                                     {1e9, "kg/m^3", "kg/mm^3"}}};
static const Usual usual_young = {"Pa",
                                  10,   // the softest gels
                                  2e12, // above diamond
                                  1e3,
                                  3e11,
                                  "silicone rubber has 1e4 to 1e7",
                                  {{1e-3, "kPa", "Pa"},
                                   {1e6, "Pa", "MPa"},
                                   {1e3, "Pa", "kPa"},
                                   {1e9, "Pa", "GPa"},
                                   {1e-6, "MPa", "Pa"},
                                   {1e-9, "GPa", "Pa"}}};
static const Usual usual_gravity = {
    "m/s^2", 0.1, 300, 1, 30, "that of the earth is 9.81", {{1e3, "mm/s^2", "m/s^2"}, {1e-3, "m/s^2", "mm/s^2"}}};
static const Usual usual_mass = {
    "kg",
    1e-9,
    1e6,
    1e-5,
    1e3,
    "a hand has about 0.4",
    {{1e-3, "kg", "g"}, {1e3, "g", "kg"}, {1e-9, "kg/mm^3", "kg/m^3"}, {1e-6, "kg", "mg"}, {1e6, "mg", "kg"}}};
static const Usual usual_size = {"m",
                                 1e-6,
                                 50,
                                 1e-3,
                                 10,
                                 "a hand is about 0.2",
                                 {{1e-3, "m", "mm"}, {1e3, "mm", "m"}, {1e-2, "m", "cm"}, {1e6, "um", "m"}}};

/// Where a quantity stands.
typedef struct Place
{
    const tdSettings *settings;
    const char *file;
    int line;
    const char *body; // NULL: of the scene
} Place;

static void judge(const Place *at, const char *what, const Usual *usual, double value)
{
    if (!(value > 0) || (value >= usual->least && value <= usual->most))
        return;
    char guess[200] = "", of[96] = "";
    const Slip *slip = usual->slips;
    while (slip->factor > 0 && !(slip->factor * value >= usual->low && slip->factor * value <= usual->high))
        slip++;
    if (slip->factor > 0)
        snprintf(guess, sizeof guess, " Multiplied by %g it would be usual: was a number in %s read as one in %s?",
                 slip->factor, slip->meant, slip->taken);
    if (at->body != NULL)
        snprintf(of, sizeof of, " of body '%.60s'", at->body);
    td_log(at->settings, TD_LOG_WARNING,
           "%s:%d: %s%s is %.4g %s; usual values are %g to %g %s (%s).%s Write the unit with the number", at->file,
           td_include_line(at->line), what, of, value, usual->unit, usual->least, usual->most, usual->unit,
           usual->example, guess);
}

// ---------------------------------------------------------------- bodies

static double extent(const tdMesh *mesh, int64_t first)
{
    double size = 0;
    for (int c = 0; c < 3; c++)
    {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = first; i < mesh->n_nodes; i++)
        {
            low = fmin(low, mesh->x[3 * i + c]);
            high = fmax(high, mesh->x[3 * i + c]);
        }
        size = mesh->n_nodes > first ? hypot(size, high - low) : 0;
    }
    return size;
}

// How many times a wave of sound crosses the body in a step. Implicit methods bear a million; more is a slip of a unit.
static void judge_waves(const Place *at, const tdModel *model, double young, double density, double size)
{
    double crossings = sqrt(young / density) * model->scene.settings.time_step / size;
    bool dynamic = model->scene.settings.method != TD_METHOD_STATIC;
    if (dynamic && density > 0 && size > 0 && !(crossings >= 1e-8 && crossings <= 1e6))
        td_log(
            at->settings, TD_LOG_WARNING,
            "%s:%d: a wave of sound crosses body '%s' %.3g times in a step (its speed is %.3g m/s, the body is %.3g m "
            "across, a step is %.3g s): %s. Check Young's modulus, the density and 'time_step'",
            at->file, td_include_line(at->line), at->body, crossings, sqrt(young / density), size,
            model->scene.settings.time_step,
            crossings < 1 ? "it takes more than 1e8 steps until anything happens"
                          : "the steps do not resolve its motion");
}

static void judge_soft(const tdModel *model, int b, const tdSettings *settings)
{
    const tdScene *scene = &model->scene;
    const tdSceneBody *given = &scene->bodies[b];
    const tdSoft *soft = model->bodies[b].soft;
    double size = extent(&soft->mesh, 0);
    Place at = {settings, td_include_file(scene, given->mesh_line), given->mesh_line, given->name};
    judge(&at, "the size", &usual_size, size);
    for (int k = -1; k < given->n_materials; k++)
    {
        const tdSceneMaterial *material = k < 0 ? &given->material : &given->materials[k];
        double young = 0, poisson = 0, parameters[TD_LAW_PARAMETERS];
        at.line = material->line;
        judge(&at, "the density", &usual_density, material->density);
        const tdLaw *law = td_law(material->law);
        if (law->parameters(material, scene->file, parameters, NULL) != TD_OK)
            continue;
        td_law_engineering(law, parameters, &young, &poisson);
        judge(&at, "Young's modulus", &usual_young, young);
        judge_waves(&at, model, young, material->density, size);
    }
    at.line = given->material.line;
    judge(&at, "the mass", &usual_mass, soft->total_mass);
}

// Shapes give a rigid body its mass; the masses of links are given.
static void judge_rigid(const tdModel *model, int b, const tdSettings *settings)
{
    const tdSceneBody *given = &model->scene.bodies[b];
    const tdTree *tree = given->tree;
    Place at = {settings, td_include_file(&model->scene, given->line), given->line, given->name};
    const tdBodyParts *parts = model->bodies[b].parts;
    judge(&at, "the size", &usual_size, extent(&model->bodies[b].soft->mesh, parts != NULL ? parts->frames : 0));
    if (given->type == TD_BODY_RIGID)
    {
        double volume = 0, center[3], inertia[6];
        td_shape_mass(&tree->shapes[0].shape, &volume, center, inertia);
        judge(&at, "the density", &usual_density, volume > 0 ? tree->links[0].mass / volume : 0);
        judge(&at, "the mass", &usual_mass, tree->links[0].mass);
        return;
    }
    at.file = tree->file;
    for (int l = 0; l < tree->n_links; l++)
    {
        char what[96];
        snprintf(what, sizeof what, "the mass of link '%.60s'", tree->links[l].name);
        at.line = tree->links[l].line;
        judge(&at, what, &usual_mass, tree->links[l].mass);
    }
}

void td_compile_plausible(const tdModel *model, const tdSettings *settings)
{
    const tdScene *scene = &model->scene;
    const double *g = scene->settings.gravity;
    Place at = {settings, td_include_file(scene, scene->settings.gravity_line), scene->settings.gravity_line, NULL};
    judge(&at, "gravity", &usual_gravity, sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]));
    for (int b = 0; b < scene->n_bodies; b++)
    {
        // Of bodies that one line repeats the first is enough.
        if (b > 0 && scene->bodies[b].line == scene->bodies[b - 1].line)
            continue;
        if (scene->bodies[b].type == TD_BODY_SOFT)
            judge_soft(model, b, settings);
        else
            judge_rigid(model, b, settings);
    }
}
