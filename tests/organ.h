// SPDX-License-Identifier: Apache-2.0
// An organ, held from below, that is poked, squeezed or pulled somewhere, at full order and reduced.
#pragma once
#include "scenes.h"

#include "reduce/offline/job.h"

enum
{
    ORGAN_POKE,
    ORGAN_SQUEEZE,
    ORGAN_PULL,
    ORGAN_ACTIONS
};

static const char *const organ_actions[] = {"poke", "squeeze", "pull"};

#define ORGAN_SIZE                                                                                                     \
    {                                                                                                                  \
        0.04, 0.025, 0.03                                                                                              \
    } // half of it along x and y, all along z

/// Where and how something acts.
typedef struct organPlace
{
    int action;
    double at[3], along[3]; // point of the surface, and the way into the body
    double way;             // [m]
} organPlace;

static const char *const organ_laws[] = {"law: stvk, young: 10 kPa, poisson: 0.4",
                                         "law: mooney_rivlin, c10: 1.5 kPa, c01: 0.3 kPa, poisson: 0.4"};
static const char *const organ_kinds[] = {"kind: stvk", "basis: modes"};

/// Probes of the radius r, which wait a tenth of it off the surface; of a squeeze also from the other side.
static inline void organ_text(int law, const char *cells, const organPlace *place, const char *more, char *text,
                              size_t size)
{
    double r = 0.006, a[3], b[3];
    for (int c = 0; c < 3; c++)
    {
        a[c] = place->at[c] - 1.1 * r * place->along[c];
        b[c] = c == 1 && place->action == ORGAN_SQUEEZE ? -a[c] : place->action == ORGAN_SQUEEZE ? a[c] : 1;
    }
    if (place->action == ORGAN_PULL)
        a[2] = 1;
    snprintf(text, size,
             "tendril: 1\ntime_step: 4 ms\nsteps: 9\nintegrator: {method: backward_euler, newton: true}\n"
             "contact: {friction: 0.2, margin: 1 mm, stiffness: 2000 N/m}\nbodies:\n  - name: organ\n"
             "    mesh: {box: [[-0.04, -0.025, 0], [0.04, 0.025, 0.03]], cells: [%s]}\n"
             "    material: {%s, density: 1000}\n    damping: {stiffness: 5 ms}\n    fixed: [{group: zmin}]\n%s"
             "  - {name: one, type: rigid, shape: {sphere: %g}, guided: true, transform: {translate: [%.17g, %.17g, "
             "%.17g]}}\n"
             "  - {name: two, type: rigid, shape: {sphere: %g}, guided: true, transform: {translate: [%.17g, %.17g, "
             "%.17g]}}\n"
             "reduction: {body: organ, %s, modes: 8, columns: 20}\n",
             cells, organ_laws[law], more, r, a[0], a[1], a[2], r, b[0], b[1], b[2], organ_kinds[law]);
}

/// Pokes come from above or from a side, squeezes along y; random but no nearer to an edge than the radius of a probe.
static inline organPlace organ_place(int action, double way, uint64_t *seed)
{
    const double size[3] = ORGAN_SIZE;
    organPlace place = {.action = action, .way = way};
    double x = next_random(seed), y = next_random(seed), side = next_random(seed);
    bool above = action != ORGAN_SQUEEZE && side < 0.4;
    place.at[0] = 0.8 * size[0] * x;
    place.at[1] = above ? 0.7 * size[1] * y : size[1];
    place.at[2] = above ? size[2] : size[2] * (0.6 + 0.2 * y);
    place.along[above ? 2 : 1] = -1;
    return place;
}

static inline int organ_nearest(const tdModel *model, const double at[3])
{
    const tdSoft *soft = model->bodies[0].soft;
    int best = 0;
    double least = INFINITY;
    for (int i = 0; i < soft->n_nodes; i++)
    {
        const double *x = soft->rest + 3 * (int64_t)i;
        double d = hypot(hypot(x[0] - at[0], x[1] - at[1]), x[2] - at[2]);
        best = d < least ? i : best;
        least = fmin(least, d);
    }
    return best;
}

/// What came of it.
typedef struct organResult
{
    double force;    // [N]: along the way, of the first probe or of the spring
    double local;    // largest rom_local at the end
    bool warned;     // in any step
    double moved[3]; // displacement of the node nearest to the place
} organResult;

#define ORGAN_STEPS 100 // 60 there, then at rest

static inline organResult organ_run(const tdModel *model, const organPlace *place)
{
    static const char axes[] = "xyz";
    tdState *state = scene_state(model);
    const tdBody *body = &model->bodies[0];
    int node = organ_nearest(model, place->at);
    const double *rest = body->soft->rest + 3 * (int64_t)node;
    organResult out = {0};
    tdSpring spring = {.body = 0, .nodes = {node, node, node}, .weights = {1, 0, 0}, .stiffness = 100};
    for (int s = 0; s < ORGAN_STEPS; s++)
    {
        double share = fmin((s + 1) / 60.0, 1);
        for (int k = 0; k < 2 && place->action != ORGAN_PULL; k++)
            for (int c = 0; c < 3; c++)
            {
                char name[8];
                double way = share * (place->way + 0.0006) * place->along[c];
                snprintf(name, sizeof name, "%s.%c", k == 0 ? "one" : "two", axes[c]);
                assert_int_equal(
                    td_state_set_input(model, state, td_model_find_input(model, name), k == 0 ? way : -way), TD_OK);
            }
        for (int c = 0; c < 3; c++)
            spring.anchor[c] = rest[c] - share * place->way * place->along[c];
        if (place->action == ORGAN_PULL)
            assert_int_equal(td_state_set_spring(model, state, 0, &spring), TD_OK);
        scene_steps(model, state, 1);
        out.warned = out.warned || td_state_report(state)->rom_warning;
    }
    double f[3] = {0}, x[3];
    if (place->action == ORGAN_PULL)
        td_state_spring(model, state, 0, x, f);
    else
    {
        const tdContactPoint *points = NULL;
        int64_t n = td_state_contacts(state, &points);
        for (int64_t i = 0; i < 3 * n; i++)
            f[i % 3] += points[i / 3].body[0] == 1 || points[i / 3].body[1] == 1 ? points[i / 3].force[i % 3] : 0;
    }
    out.force = fabs(f[0] * place->along[0] + f[1] * place->along[1] + f[2] * place->along[2]);
    out.local = td_state_report(state)->rom_local;
    const double *now = body->ops->nodes(model, body, state) + 3 * (int64_t)node;
    for (int c = 0; c < 3; c++)
        out.moved[c] = now[c] - rest[c];
    td_state_free(state);
    return out;
}

/// The reduced model of the organ, which does not depend on what acts.
static inline void organ_reduce(int law, const char *cells, const char *path)
{
    char text[4000], scene[200];
    const organPlace place = {.action = ORGAN_PULL};
    tdError error = {0};
    organ_text(law, cells, &place, "", text, sizeof text);
    snprintf(scene, sizeof scene, "%s.yaml", path);
    FILE *file = fopen(scene, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    const tdReduceTask task = {
        .scene = scene, .out = path, .body = "organ", .accept = true, .settings = td_default_settings()};
    tdReduceReport report;
    assert_ok(td_reduce(&task, &report, &error), error);
    unlink(scene);
}

static inline tdModel *organ_model(const char *text, const char *rom)
{
    tdSettings settings = td_default_settings();
    tdError error = {0};
    tdModel *model = NULL;
    settings.rom = rom;
    settings.log = NULL;
    assert_ok(td_model_parse(text, strlen(text), "organ.yaml", NULL, &settings, &model, &error), error);
    return model;
}
