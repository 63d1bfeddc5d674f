// SPDX-License-Identifier: Apache-2.0
// Dents of a reduced body: what modes do not have where something touches it (residual.h).
//
// A node that is touched gets three more velocities in the constraint problem, those of its dent d. Dents have no mass,
// forces on them are their own response, and the modes do not feel them:
//
//     f = D^-1 (d + beta dd/dt),   D = R G_TT R'        R: how the surface is turned at each node
//
// so that the block of the body is that of its modes and A_dd = s (c + beta) D^-1 beside it, with
// v* = -(d - d_rest) / (c + beta). d_rest is what nodes leave that are touched no more: their forces fade. The state
// keeps the forces f of the last step by node; dents everywhere follow from them.
//
// Without enrichment the same is done with next to none of the flexibility: it moves nothing, but tells what forces
// act at which nodes, which is what the warning needs.
#include "base/lapack.h"
#include "base/log.h"
#include "base/vector.h"
#include "body/spring.h"
#include "reduce/reduced_body.h"

#include <math.h>
#include <string.h>

#define LITTLE  1e-4 // of the flexibility where there is to be none
#define FIRM    1e-7 // of the flexibility of full order: a node that the modes move as full order does
#define FADES   0.5  // of a force in a step, at least what is left where nothing touches any more
#define GONE    1e-7 // of the size of the scene: a dent that is not worth keeping
#define MOST    0.7  // of a dent: what elements add to it at a node, at most
#define UNKNOWN 1.0  // error of forces of which the series says nothing
#define COLLAPSE                                                                                                       \
    9.0 // how much larger the third term was, at most, where a St. Venant-Kirchhoff body gives way (long_touch)
#define SOFTEST  0.2 // bounds of what elements make of the stiffness of small dents
#define STIFFEST 10.0

static double *kept_force(const tdDents *dents, int k)
{
    return dents->force + 3 * k;
}

static int count_kept(const tdDents *dents)
{
    int n = 0;
    while (n < TD_DENT_KEPT && dents->node[n] >= 0)
        n++;
    return n;
}

// ---------------------------------------------------------------- life

bool td_reduced_dents_take(const tdModel *model, tdArena *arena, const tdReduced *reduced, tdReducedState *mine,
                           tdIsa isa)
{
    if (reduced->residual == NULL || !model->touches || !td_residual_prepare(reduced->residual))
        return true;
    int64_t rows = 3 * TD_DENT_NODES, all = td_reduced_unknowns(reduced) + rows;
    tdDents *dents = mine->dents = TD_TAKE(arena, tdDents, 1);
    if (dents == NULL)
        return false;
    dents->node = TD_TAKE(arena, int64_t, TD_DENT_KEPT);
    dents->force = TD_TAKE(arena, double, 3 * TD_DENT_KEPT);
    dents->A = TD_TAKE(arena, double, all *all);
    dents->D = TD_TAKE(arena, double, rows *rows);
    dents->T = TD_TAKE(arena, double, rows *rows);
    dents->modal = TD_TAKE(arena, double, reduced->n);
    for (int k = 0; dents->node != NULL && k < TD_DENT_KEPT; k++)
        dents->node[k] = -1;
    bool good = dents->node != NULL && dents->force != NULL && dents->A != NULL && dents->D != NULL &&
                dents->T != NULL && dents->modal != NULL && td_reduced_patch_take(arena, reduced, &dents->patch);
    if (good)
        td_reduced_patch_rest(reduced, isa, &dents->patch);
    return good;
}

// ---------------------------------------------------------------- who is touched

void td_reduced_part_none(const tdBody *body, tdState *state)
{
    tdDents *dents = td_reduced_mine(body, state)->dents;
    if (dents == NULL)
        return;
    dents->n = 0;
    dents->made = dents->left_out = false;
}

// The nearest ones, in their order.
static void take_node(tdDents *dents, int32_t node, double gap)
{
    int at = 0;
    while (at < dents->n && dents->touched[at] != node)
        at++;
    if (at < dents->n)
    {
        if (dents->gap[at] <= gap)
            return;
        dents->n--; // to be put in again, further up
        memmove(dents->touched + at, dents->touched + at + 1, (size_t)(dents->n - at) * sizeof *dents->touched);
        memmove(dents->gap + at, dents->gap + at + 1, (size_t)(dents->n - at) * sizeof *dents->gap);
    }
    at = dents->n;
    while (at > 0 && dents->gap[at - 1] > gap)
        at--;
    dents->left_out = dents->left_out || (dents->n == TD_DENT_NODES && fmax(gap, dents->gap[TD_DENT_NODES - 1]) <= 0);
    if (at == TD_DENT_NODES)
        return;
    int moved = (dents->n < TD_DENT_NODES ? dents->n : TD_DENT_NODES - 1) - at;
    memmove(dents->touched + at + 1, dents->touched + at, (size_t)moved * sizeof *dents->touched);
    memmove(dents->gap + at + 1, dents->gap + at, (size_t)moved * sizeof *dents->gap);
    dents->touched[at] = node;
    dents->gap[at] = gap;
    dents->n = at + 1 + moved;
}

bool td_reduced_part_point(const tdBody *body, tdState *state, const tdTouchPoint *point)
{
    tdDents *dents = td_reduced_mine(body, state)->dents;
    const bool *held = td_reduced_of(body)->soft->held;
    for (int k = 0; dents != NULL && k < point->n; k++)
    {
        int64_t i = 3 * (int64_t)point->node[k];
        if (!(held[i] && held[i + 1] && held[i + 2]) && point->weight[k] > 0)
            take_node(dents, point->node[k], point->gap);
    }
    return body->unknowns > 0;
}

// ---------------------------------------------------------------- the block

// Columns of the touched nodes; those without one are left out.
static void find_columns(const tdBody *body, const tdState *state, tdDents *dents)
{
    const tdReduced *reduced = td_reduced_of(body);
    int n = 0;
    for (int k = 0; k < dents->n; k++)
    {
        dents->G[n] = td_residual_column(reduced->residual, dents->touched[k]);
        dents->left_out = dents->left_out || dents->G[n] == NULL;
        if (dents->G[n] == NULL)
            continue;
        dents->touched[n] = dents->touched[k];
        double local[9];
        td_dents_turn(body, state, dents->touched[n], dents->R[n], local);
        n++;
    }
    dents->n = n;
}

// What is left of a force at the end of a step in which nothing touches its node.
static double fade(const tdModel *model, double beta)
{
    if (model->scheme.method == TD_METHOD_STATIC)
        return 0;
    return fmax(FADES, beta / (model->scheme.c + beta));
}

static double beta_of(const tdReduced *reduced, const tdReducedState *mine)
{
    return reduced->soft->beta * mine->factors[TD_FACTOR_DAMPING];
}

// d at the start of the step less what those leave that are touched no more. Returns all forces that make dents.
static int start_dents(const tdModel *model, const tdBody *body, const tdState *state, tdDents *dents,
                       tdDentSource *sources)
{
    const tdReduced *reduced = td_reduced_of(body);
    double left = fade(model, beta_of(reduced, td_reduced_mine(body, state)));
    int n = 0;
    memset(dents->d, 0, sizeof dents->d);
    for (int k = 0; k < TD_DENT_KEPT && dents->node[k] >= 0; k++)
    {
        int at = 0;
        while (at < dents->n && dents->touched[at] != dents->node[k])
            at++;
        dents->stays[k] = at < dents->n;
        if (!td_dents_source(body, state, (int32_t)dents->node[k], kept_force(dents, k), &sources[n]))
            continue;
        for (int i = 0; i < dents->n; i++)
            td_dents_add(1, &sources[n], dents->touched[i], dents->R[i],
                         (dents->stays[k] ? 1 : 1 - left) * dents->share, dents->d + 3 * i);
        n++;
    }
    return n;
}

// D, then its inverse; false: it is not definite.
static bool invert(const tdBody *body, const tdState *state, tdDents *dents)
{
    const tdReduced *reduced = td_reduced_of(body);
    double young = td_reduced_mine(body, state)->factors[TD_FACTOR_YOUNG], size = 0;
    int n = 3 * dents->n, info = 0;
    for (int i = 0; i < dents->n; i++)
        size = fmax(size, td_residual_size(reduced->residual, dents->touched[i]));
    for (int j = 0; j < dents->n; j++)
        for (int i = j; i < dents->n; i++)
        {
            double block[9];
            td_dents_turned(dents->R[i], dents->G[j] + 9 * (int64_t)dents->touched[i], dents->R[j],
                            dents->share / young, block);
            for (int k = 0; k < 9; k++)
                dents->D[3 * i + k / 3 + (int64_t)(3 * j + k % 3) * n] = block[k];
        }
    for (int i = 0; i < n; i++)
        dents->D[i + (int64_t)i * n] += FIRM * size / young;
    dpotrf_("L", &n, dents->D, &n, &info, 1);
    if (info == 0)
        dpotri_("L", &n, dents->D, &n, &info, 1);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < j; i++)
            dents->D[i + (int64_t)j * n] = dents->D[j + (int64_t)i * n];
    return info == 0;
}

// y += D^-1 x
static void stiffness_times(const tdDents *dents, const double *x, double *y)
{
    int n = 3 * dents->n;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            y[i] += dents->D[i + (int64_t)j * n] * x[j];
}

static double work(const tdDents *dents, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < 3 * dents->n; i++)
        sum += x[i] * y[i];
    return sum;
}

// rho at the touched nodes, in the world: what elements add to the dents. It is the second term of a series. Where it
// is nearly as large as the first it says nothing, and there it is left out, by and by.
static void find_second(const tdBody *body, const tdState *state, tdDents *dents, int n, const tdDentSource *sources,
                        const double *a, double *rho)
{
    memset(rho, 0, 3 * (size_t)dents->n * sizeof *rho);
    if (dents->share < 1 || n == 0 || td_reduced_patch(body, state, &dents->patch, n, sources) == 0)
        return;
    for (int i = 0; i < dents->n; i++)
    {
        double back[3], bound = MOST * sqrt(td_dot3(dents->d + 3 * i, dents->d + 3 * i));
        td_reduced_patch_along(&dents->patch, dents->G[i], back);
        td_mat3_apply(dents->R[i], back, rho + 3 * i);
        dents->second += td_dot3(a + 3 * i, rho + 3 * i);
        double size = sqrt(td_dot3(rho + 3 * i, rho + 3 * i));
        for (int c = 0; c < 3 && size > bound; c++)
            rho[3 * i + c] *= bound / size;
    }
    double ratio = dents->first > 0 ? fabs(dents->second) / dents->first : INFINITY;
    double share = fmin(fmax((TD_DENT_LARGE - ratio) / (TD_DENT_LARGE - TD_DENT_GOOD), 0), 1);
    for (int i = 0; i < 3 * dents->n; i++)
        rho[i] *= share;
}

// Forces f on the dents at the start, and by which factor each node is stiffer against more of them (its square root):
// what elements add grows with the square of a dent, its slope twice as fast.
static void find_stiffness(const tdBody *body, const tdState *state, tdDents *dents, int n, const tdDentSource *sources,
                           double *f, double *factor)
{
    double a[3 * TD_DENT_NODES] = {0}, rho[3 * TD_DENT_NODES];
    stiffness_times(dents, dents->d, a);
    dents->first = work(dents, a, dents->d);
    dents->second = 0;
    find_second(body, state, dents, n, sources, a, rho);
    for (int i = 0; i < dents->n; i++)
    {
        const double *d = dents->d + 3 * i;
        double slope = td_dot3(d, d) > 0 ? 1 + 2 * td_dot3(rho + 3 * i, d) / td_dot3(d, d) : 1;
        factor[i] = sqrt(fmin(fmax(slope, SOFTEST), STIFFEST));
    }
    memcpy(f, a, 3 * (size_t)dents->n * sizeof *f);
    stiffness_times(dents, rho, f);
}

// Of this step: once, where it begins. With T the slope of forces by dents,
//
//     f = f_start + T c v + beta D^-1 v
static void make_dents(const tdModel *model, const tdBody *body, tdState *state, tdDents *dents)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdDentSource sources[TD_DENT_KEPT];
    double factor[TD_DENT_NODES], beta = beta_of(reduced, td_reduced_mine(body, state)), c = model->scheme.c;
    dents->made = true;
    dents->share = reduced->enriched ? 1 : LITTLE;
    find_columns(body, state, dents);
    memset(dents->v, 0, sizeof dents->v);
    int count = start_dents(model, body, state, dents, sources);
    if (dents->n == 0 || !invert(body, state, dents))
    {
        dents->n = 0;
        return;
    }
    int n = 3 * dents->n, one = 1, info = 0;
    find_stiffness(body, state, dents, count, sources, dents->v_star, factor);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            dents->T[i + (int64_t)j * n] = (c * factor[i / 3] * factor[j / 3] + beta) * dents->D[i + (int64_t)j * n];
    memcpy(dents->A, dents->T, (size_t)n * (size_t)n * sizeof *dents->A);
    dpotrf_("L", &n, dents->A, &n, &info, 1);
    if (info == 0)
        dpotrs_("L", &n, &one, dents->A, &n, dents->v_star, &n, &info, 1);
    for (int i = 0; i < n; i++)
        dents->v_star[i] = -dents->v_star[i];
    dents->n = info == 0 ? dents->n : 0;
}

void td_reduced_dents_block(const tdBody *body, tdState *state, tdBodyBlock *out)
{
    const tdReduced *reduced = td_reduced_of(body);
    const tdReducedState *mine = td_reduced_mine(body, state);
    const tdModel *model = state->model;
    tdDents *dents = mine->dents;
    if (dents == NULL || dents->n == 0)
        return;
    if (!dents->made)
        make_dents(model, body, state, dents);
    if (dents->n == 0)
        return;
    int u = td_reduced_unknowns(reduced), n = 3 * dents->n, all = u + n;
    double factor = model->scheme.s;
    for (int j = 0; j < all; j++)
    {
        double *to = dents->A + (int64_t)j * all;
        memset(to, 0, (size_t)all * sizeof *to);
        for (int i = j; i < u; i++)
            to[i] = mine->A[j * (int64_t)reduced->wide + i];
        for (int i = j < u ? 0 : j - u; i < n && j >= u; i++)
            to[u + i] = factor * dents->T[i + (int64_t)(j - u) * n];
    }
    *out = (tdBodyBlock){.n = all,
                         .stride = all,
                         .A = dents->A,
                         .touched = u + 3 * (dents->n < TD_TOUCH_NODES ? dents->n : TD_TOUCH_NODES),
                         .n_own = n,
                         .own_star = dents->v_star,
                         .own_v = dents->v};
}

int32_t td_reduced_dents_touch(const tdBody *body, const tdState *state, const tdTouchPoint *point,
                               const tdBodyBlock *block, int32_t columns[3 * TD_TOUCH_NODES],
                               double weights[TD_TOUCH_NODES])
{
    const tdDents *dents = td_reduced_mine(body, state)->dents;
    int32_t n = 0;
    for (int k = 0; block->n_own > 0 && k < point->n; k++)
        for (int i = 0; i < dents->n; i++)
            if (dents->touched[i] == point->node[k])
            {
                for (int c = 0; c < 3; c++)
                    columns[3 * n + c] = block->n - block->n_own + 3 * i + c;
                weights[n++] = point->weight[k];
            }
    return n;
}

// Dents at the start of the step where a point is that is touched.
void td_reduced_dents_arm(const tdBody *body, const tdState *state, int n, const int32_t *nodes, const double *weights,
                          double x[3])
{
    const tdDents *dents = td_reduced_mine(body, state)->dents;
    for (int k = 0; dents != NULL && dents->made && dents->share == 1 && k < n; k++)
        for (int i = 0; i < dents->n; i++)
            for (int c = 0; c < 3 && dents->touched[i] == nodes[k]; c++)
                x[c] += weights[k] * dents->d[3 * i + c];
}

// ---------------------------------------------------------------- after a step

// a = D^-1 (d - d_rest) at the end of the step, at the touched nodes.
static void find_forces(const tdModel *model, const tdDents *dents, double *a)
{
    double d[3 * TD_DENT_NODES];
    for (int i = 0; i < 3 * dents->n; i++)
        d[i] = dents->d[i] + model->scheme.c * dents->v[i];
    memset(a, 0, 3 * (size_t)dents->n * sizeof *a);
    stiffness_times(dents, d, a);
}

// Forces where contacts and springs act, along the axes of rest.
typedef struct Forces
{
    int n;
    int32_t node[TD_DENT_SOURCES];
    double g[3 * TD_DENT_SOURCES];
    const double *G[TD_DENT_SOURCES];
    double soft; // twice the energy of springs
} Forces;

static void add_force(const tdBody *body, const tdState *state, int32_t node, const double f[3], Forces *out)
{
    tdDentSource source;
    if (out->n == TD_DENT_SOURCES || !td_dents_source(body, state, node, f, &source))
        return;
    out->node[out->n] = node;
    out->G[out->n] = source.G;
    memcpy(out->g + 3 * out->n++, source.g, sizeof source.g);
}

static void add_springs(const tdBody *body, const tdState *state, Forces *out)
{
    double young = td_reduced_mine(body, state)->factors[TD_FACTOR_YOUNG];
    tdSpring spring;
    for (int k = 0; k < TD_SPRINGS; k++)
    {
        double H[9], x[3], way[3], f[3];
        if (!td_spring_get(state->springs, k, &spring) || spring.body != body->index ||
            td_reduced_of(body)->residual == NULL || !td_residual_prepare(td_reduced_of(body)->residual))
            continue;
        td_reduced_dents_spring(body, state, &spring, H);
        td_reduced_spring_point(body, state, &spring, state->q + body->first, x);
        for (int c = 0; c < 3; c++)
            way[c] = spring.anchor[c] - x[c];
        td_mat3_apply(H, way, f);
        out->soft += td_dot3(f, f) / (spring.stiffness * young);
        for (int a = 0; a < 3; a++)
        {
            const double share[3] = {spring.weights[a] * f[0], spring.weights[a] * f[1], spring.weights[a] * f[2]};
            if (spring.weights[a] > 0)
                add_force(body, state, spring.nodes[a], share, out);
        }
    }
}

// What dents have of the whole response of full order to these forces, beside what modes and springs have.
static double missed(const tdReduced *reduced, tdReducedState *mine, const Forces *forces)
{
    double local = 0, *scratch = mine->rows;
    for (int i = 0; i < forces->n; i++)
        for (int j = 0; j < forces->n; j++)
        {
            double moved[3];
            td_mat3_apply(forces->G[j] + 9 * (int64_t)forces->node[i], forces->g + 3 * j, moved);
            local += td_dot3(forces->g + 3 * i, moved);
        }
    double modal = td_residual_modal(reduced->residual, forces->n, forces->node, forces->g, scratch) + forces->soft;
    return modal > 0 ? fmax(local, 0) / modal : 0;
}

// St. Venant-Kirchhoff bodies lose their stiffness where they are compressed, and the shape of a dent with it.
static bool collapses(const tdSoft *soft)
{
    for (int b = 0; b < soft->n_blocks; b++)
        if (strcmp(soft->blocks[b].material.law->name, "stvk") == 0)
            return true;
    return false;
}

// What is left of a series of which the second term is `ratio` of the first, as far as it goes on like that.
static double rest_of_series(const tdBody *body, double ratio)
{
    double size = fabs(ratio), factor = ratio < 0 && collapses(td_reduced_of(body)->soft) ? COLLAPSE : 1;
    return size < 1 ? fmin(factor * size * size / (1 - size), UNKNOWN) : UNKNOWN;
}

// The same as of contacts, below.
static double next_of_springs(const tdBody *body, const tdState *state)
{
    double most = 0;
    tdSpring spring;
    for (int k = 0; k < TD_SPRINGS && td_reduced_of(body)->enriched; k++)
        if (td_spring_get(state->springs, k, &spring) && spring.body == body->index)
        {
            most = fmax(most, rest_of_series(body, td_reduced_dents_share(body, state, &spring).ratio));
        }
    return most;
}

// Without enrichment places are too stiff by what dents would have. With it the forces of dents are right to second
// order, and what comes after that is an estimate of the error.
double td_reduced_dents_judge(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    const tdDents *dents = mine->dents;
    Forces forces = {.n = 0};
    bool touched = dents != NULL && dents->made && dents->n > 0;
    double a[3 * TD_DENT_NODES], next = 0;
    if (touched)
        find_forces(model, dents, a);
    for (int i = 0; touched && i < dents->n; i++)
        add_force(body, state, dents->touched[i], a + 3 * i, &forces);
    if (touched && dents->first > 0)
        next = rest_of_series(body, dents->second / dents->first);
    next = fmax(next, next_of_springs(body, state));
    if (reduced->enriched && !(touched && dents->left_out))
        return next;
    add_springs(body, state, &forces);
    return forces.n > 0 ? fmax(next, missed(reduced, mine, &forces)) : next;
}

static void keep(tdDents *dents, int *n, int64_t node, const double *f)
{
    if (*n == TD_DENT_KEPT)
        return;
    dents->node[*n] = node;
    memcpy(kept_force(dents, *n), f, 3 * sizeof *f);
    (*n)++;
}

static bool is_worth(const tdModel *model, const tdBody *body, const tdState *state, int64_t node, const double f[3])
{
    double young = td_reduced_mine(body, state)->factors[TD_FACTOR_YOUNG];
    return td_residual_size(td_reduced_of(body)->residual, (int32_t)node) / young * sqrt(td_dot3(f, f)) >
           GONE * model->size;
}

// Forces of touched nodes first, then what is left of others.
void td_reduced_dents_commit(const tdModel *model, const tdBody *body, tdState *state)
{
    const tdReduced *reduced = td_reduced_of(body);
    tdReducedState *mine = td_reduced_mine(body, state);
    tdDents *dents = mine->dents;
    if (dents == NULL)
        return;
    double left = fade(model, beta_of(reduced, mine)), f[3 * TD_DENT_NODES], old[3 * TD_DENT_KEPT];
    int64_t nodes[TD_DENT_KEPT];
    int before = count_kept(dents), touched = dents->made ? dents->n : 0, n = 0;
    memcpy(nodes, dents->node, sizeof nodes);
    memcpy(old, dents->force, sizeof old);
    if (touched > 0)
        find_forces(model, dents, f);
    for (int k = 0; k < TD_DENT_KEPT; k++)
        dents->node[k] = -1;
    memset(dents->force, 0, sizeof old);
    for (int i = 0; i < touched; i++)
        if (is_worth(model, body, state, dents->touched[i], f + 3 * i))
            keep(dents, &n, dents->touched[i], f + 3 * i);
    for (int k = 0; k < before; k++)
    {
        if (touched > 0 && dents->stays[k])
            continue;
        for (int c = 0; c < 3; c++)
            old[3 * k + c] *= left;
        if (is_worth(model, body, state, nodes[k], old + 3 * k))
            keep(dents, &n, nodes[k], old + 3 * k);
    }
}
