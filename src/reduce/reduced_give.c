// SPDX-License-Identifier: Apache-2.0
// Where places of a reduced body are that give way: dents of the forces that the state knows of, and springs that pull
// them out.
#include "base/hash.h"
#include "base/vector.h"
#include "body/spring.h"
#include "reduce/reduced_body.h"

#include <math.h>
#include <string.h>

#define NEAR     0.05 // of the largest dent: where it matters how the surface is turned
#define TURNS    4    // of force and dent of a spring
#define SHORTEST 0.2  // bounds of what elements make of the dent of a spring
#define LONGEST  3.0

// ---------------------------------------------------------------- rotations

static void frame_of(const double *a, const double *b, const double *c, double Q[9])
{
    double u[3], v[3], n[3], t[3];
    for (int k = 0; k < 3; k++)
    {
        u[k] = b[k] - a[k];
        v[k] = c[k] - a[k];
    }
    td_cross3(u, v, n);
    double lu = sqrt(td_dot3(u, u)), ln = sqrt(td_dot3(n, n));
    for (int k = 0; k < 3; k++)
    {
        u[k] /= lu;
        n[k] /= ln;
    }
    td_cross3(n, u, t);
    for (int k = 0; k < 3; k++)
    {
        Q[3 * k] = u[k];
        Q[3 * k + 1] = t[k];
        Q[3 * k + 2] = n[k];
    }
}

// How the surface at a node has turned since rest, by a triangle there as modes move it.
void td_dents_turn(const tdBody *body, const tdState *state, int32_t node, double R[9], double local[9])
{
    const tdReduced *reduced = td_reduced_of(body);
    const double *q = state->q + body->first, *rest = reduced->soft->rest;
    const int32_t *corners = td_residual_triangle(reduced->residual, node);
    double x[3][3], Q0[9], Q1[9];
    for (int k = 0; k < 9; k++)
        local[k] = k % 4 == 0;
    if (corners != NULL)
    {
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < 3; c++)
                x[k][c] =
                    rest[3 * (int64_t)corners[k] + c] + td_modes_along(&reduced->modes, 3 * (int64_t)corners[k] + c, q);
        frame_of(rest + 3 * (int64_t)corners[0], rest + 3 * (int64_t)corners[1], rest + 3 * (int64_t)corners[2], Q0);
        frame_of(x[0], x[1], x[2], Q1);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                local[3 * i + j] =
                    Q1[3 * i] * Q0[3 * j] + Q1[3 * i + 1] * Q0[3 * j + 1] + Q1[3 * i + 2] * Q0[3 * j + 2];
    }
    memcpy(R, local, 9 * sizeof *R);
    if (reduced->floating == NULL)
        return;
    tdFramePose pose;
    td_frame_pose_at(td_reduced_mine(body, state)->floating->turn, q + reduced->r + 3, &pose);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            R[3 * i + j] =
                pose.R[3 * i] * local[j] + pose.R[3 * i + 1] * local[3 + j] + pose.R[3 * i + 2] * local[6 + j];
}

// ---------------------------------------------------------------- dents

bool td_dents_source(const tdBody *body, const tdState *state, int32_t node, const double f[3], tdDentSource *out)
{
    const tdReduced *reduced = td_reduced_of(body);
    out->G = td_residual_column(reduced->residual, node);
    if (out->G == NULL)
        return false;
    out->node = node;
    td_dents_turn(body, state, node, out->R, out->R_modes);
    td_mat3_back(out->R, f, out->g);
    for (int c = 0; c < 3; c++)
        out->g[c] /= td_reduced_mine(body, state)->factors[TD_FACTOR_YOUNG];
    return true;
}

// The dent that forces make at a node, along the axes of rest.
static void dent_at(int n, const tdDentSource *sources, int64_t node, double u[3])
{
    double part[3];
    u[0] = u[1] = u[2] = 0;
    for (int k = 0; k < n; k++)
    {
        td_mat3_apply(sources[k].G + 9 * node, sources[k].g, part);
        for (int c = 0; c < 3; c++)
            u[c] += part[c];
    }
}

// u += factor R times the dent that forces make at a node, R: how the surface is turned there.
void td_dents_add(int n, const tdDentSource *sources, int64_t node, const double *R, double factor, double u[3])
{
    double dent[3], turned[3];
    dent_at(n, sources, node, dent);
    td_mat3_apply(R, dent, turned);
    for (int c = 0; c < 3; c++)
        u[c] += factor * turned[c];
}

// out = factor R_i G_ij R_j'
void td_dents_turned(const double *Ri, const double *G, const double *Rj, double factor, double out[9])
{
    double half[9];
    for (int a = 0; a < 3; a++) // rows of G R_j'
        td_mat3_apply(Rj, G + 3 * a, half + 3 * a);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            out[3 * a + b] = factor * (Ri[3 * a] * half[b] + Ri[3 * a + 1] * half[3 + b] + Ri[3 * a + 2] * half[6 + b]);
}

// Forces of the last step's contacts.
static int list_contacts(const tdBody *body, const tdState *state, tdDentSource *out)
{
    const tdDents *dents = td_reduced_mine(body, state)->dents;
    int n = 0;
    for (int k = 0; dents != NULL && td_reduced_of(body)->enriched && k < TD_DENT_KEPT && dents->node[k] >= 0; k++)
        n += td_dents_source(body, state, (int32_t)dents->node[k], dents->force + 3 * k, &out[n]);
    return n;
}

// With those of springs, as they are now.
static int list_sources(const tdBody *body, const tdState *state, tdDentSource *out)
{
    int n = list_contacts(body, state, out);
    tdSpring spring;
    for (int k = 0; k < TD_SPRINGS && td_reduced_of(body)->enriched; k++)
    {
        double force[3], x[3], H[9], way[3];
        if (!td_spring_get(state->springs, k, &spring) || spring.body != body->index ||
            !td_reduced_dents_spring(body, state, &spring, H))
            continue;
        td_reduced_spring_point(body, state, &spring, state->q + body->first, x);
        for (int c = 0; c < 3; c++)
            way[c] = spring.anchor[c] - x[c];
        td_mat3_apply(H, way, force);
        for (int a = 0; a < 3; a++)
        {
            double part = spring.weights[a] * td_reduced_dents_share(body, state, &spring).share;
            const double share[3] = {part * force[0], part * force[1], part * force[2]};
            n += spring.weights[a] > 0 && td_dents_source(body, state, spring.nodes[a], share, &out[n]);
        }
    }
    return n;
}

// Far from forces dents are small, and are turned as where the largest is.
void td_reduced_dents_nodes(const tdBody *body, const tdState *state, int32_t n, const int32_t *nodes, double *x)
{
    tdDentSource sources[TD_DENT_SOURCES];
    int count = list_sources(body, state, sources), main = 0;
    double most = 0;
    for (int k = 0; k < count; k++)
    {
        double dent[3];
        dent_at(1, &sources[k], sources[k].node, dent);
        main = td_dot3(dent, dent) > most ? k : main;
        most = fmax(most, td_dot3(dent, dent));
    }
    for (int32_t i = 0; i < n && count > 0; i++)
    {
        int32_t node = nodes == NULL ? i : nodes[i];
        double R[9], local[9], dent[3], turned[3];
        dent_at(count, sources, node, dent);
        bool near = td_dot3(dent, dent) > NEAR * NEAR * most;
        if (near)
            td_dents_turn(body, state, node, R, local);
        td_mat3_apply(near ? R : sources[main].R, dent, turned);
        for (int c = 0; c < 3; c++)
            x[3 * (int64_t)node + c] += turned[c];
    }
}

void td_reduced_dents_move(const tdBody *body, const tdState *state, const tdPointSet *set, double *x)
{
    tdDentSource sources[TD_DENT_SOURCES];
    int count = list_sources(body, state, sources);
    for (int32_t p = 0; p < set->n && count > 0; p++)
        for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
        {
            double R[9], local[9];
            td_dents_turn(body, state, set->nodes[k], R, local);
            td_dents_add(count, sources, set->nodes[k], R, set->weights[k], x + 3 * (int64_t)p);
        }
}

// ---------------------------------------------------------------- springs

void td_reduced_dents_at(const tdBody *body, const tdState *state, const tdSpring *spring, double x[3])
{
    tdDentSource sources[TD_DENT_KEPT];
    int count = list_contacts(body, state, sources);
    for (int a = 0; a < 3 && count > 0; a++)
    {
        double R[9], local[9];
        td_dents_turn(body, state, spring->nodes[a], R, local);
        td_dents_add(count, sources, spring->nodes[a], R, spring->weights[a], x);
    }
}

static bool invert3(const double A[9], double out[9])
{
    double cofactor[9];
    td_cross3(A + 3, A + 6, cofactor);
    td_cross3(A + 6, A, cofactor + 3);
    td_cross3(A, A + 3, cofactor + 6);
    double det = td_dot3(A, cofactor);
    for (int k = 0; k < 9 && det > 0; k++)
        out[k] = cofactor[3 * (k % 3) + k / 3] / det;
    return det > 0;
}

void td_reduced_dents_tie(const tdBody *body, const tdSpring *spring)
{
    const tdReduced *reduced = td_reduced_of(body);
    for (int a = 0; reduced->enriched && td_residual_prepare(reduced->residual) && a < 3; a++)
        td_residual_column(reduced->residual, spring->nodes[a]);
}

// C = sum w_a w_b R_a G_ab R_b' at the point of a spring; false: columns are missing.
static bool spring_flexibility(const tdBody *body, const tdState *state, const tdSpring *spring, double C[9])
{
    const tdReduced *reduced = td_reduced_of(body);
    double young = td_reduced_mine(body, state)->factors[TD_FACTOR_YOUNG], R[3][9], local[9];
    memset(C, 0, 9 * sizeof *C);
    for (int a = 0; a < 3; a++)
        td_dents_turn(body, state, spring->nodes[a], R[a], local);
    for (int a = 0; a < 3; a++)
    {
        const double *G = spring->weights[a] > 0 ? td_residual_column(reduced->residual, spring->nodes[a]) : NULL;
        if (spring->weights[a] > 0 && G == NULL)
            return false;
        for (int b = 0; b < 3 && G != NULL; b++)
        {
            double block[9];
            td_dents_turned(R[b], G + 9 * (int64_t)spring->nodes[b], R[a],
                            spring->weights[a] * spring->weights[b] / young, block);
            for (int k = 0; k < 9; k++) // both ways, as rounding has it
                C[k] += 0.5 * (block[k] + block[3 * (k % 3) + k / 3]);
        }
    }
    return true;
}

// H = (1/k + share C)^-1
static bool in_series(const tdSpring *spring, const double C[9], double share, double H[9])
{
    double sum[9];
    for (int k = 0; k < 9; k++)
        sum[k] = share * C[k] + (k % 4 == 0 ? 1 / spring->stiffness : 0);
    return invert3(sum, H);
}

// What elements add to the dent of a force f, along f: f rho.
static double second_along(const tdBody *body, const tdState *state, const tdSpring *spring, const double f[3])
{
    tdDents *dents = td_reduced_mine(body, state)->dents;
    tdDentSource sources[3];
    double sum = 0;
    int n = 0;
    for (int a = 0; a < 3; a++)
    {
        const double part[3] = {spring->weights[a] * f[0], spring->weights[a] * f[1], spring->weights[a] * f[2]};
        n += spring->weights[a] > 0 && td_dents_source(body, state, spring->nodes[a], part, &sources[n]);
    }
    if (n == 0 || td_reduced_patch(body, state, &dents->patch, n, sources) == 0)
        return 0;
    for (int k = 0; k < n; k++)
    {
        double rho[3];
        td_reduced_patch_along(&dents->patch, sources[k].G, rho);
        sum += td_dot3(rho, sources[k].g) * td_reduced_mine(body, state)->factors[TD_FACTOR_YOUNG];
    }
    return sum;
}

// Of a dent d = s C f that a spring pulls out, C f = d + rho(d): the share s of the small response, found from the
// force and in turn, and what the second term is beside the first. Both are of the shape of modes and of the spring
// alone, so that asking again gives the same.
static void share_of_spring(const tdBody *body, const tdState *state, const tdSpring *spring, const double C[9],
                            tdSpringDent *out)
{
    double x[3], way[3];
    *out = (tdSpringDent){.share = 1};
    td_reduced_spring_point(body, state, spring, state->q + body->first, x);
    for (int c = 0; c < 3; c++)
        way[c] = spring->anchor[c] - x[c];
    for (int k = 0; k < TURNS; k++)
    {
        double H[9], f[3], a[3], moved[3];
        if (!in_series(spring, C, out->share, H))
            return;
        td_mat3_apply(H, way, f);
        td_mat3_apply(C, f, moved);
        double first = td_dot3(f, moved);
        if (!(first > 0))
            return;
        for (int c = 0; c < 3; c++)
            a[c] = out->share * f[c];
        double second = second_along(body, state, spring, a) / out->share; // of f, not of a
        out->ratio = second / (out->share * first);
        // Where the second term is nearly as large as the first it says nothing, as of contact.
        double good = fmin(fmax((TD_DENT_LARGE - fabs(out->ratio)) / (TD_DENT_LARGE - TD_DENT_GOOD), 0), 1);
        out->share = fmin(fmax(1 / (1 + good * out->ratio), SHORTEST), LONGEST);
    }
}

static uint64_t key_of_spring(const tdBody *body, const tdState *state, const tdSpring *spring)
{
    uint64_t key = td_hash_bytes(state->q + body->first, (size_t)body->count * sizeof(double));
    key = td_hash_mix(key ^ td_hash_bytes(spring->nodes, sizeof spring->nodes));
    key = td_hash_mix(key ^ td_hash_bytes(spring->weights, sizeof spring->weights));
    key = td_hash_mix(key ^ td_hash_bytes(spring->anchor, sizeof spring->anchor));
    key = td_hash_mix(key ^ td_hash_bytes(&spring->stiffness, sizeof spring->stiffness));
    return td_hash_mix(key ^ td_hash_bytes(td_reduced_mine(body, state)->factors, TD_FACTORS * sizeof(double)));
}

// It is asked for several times in a step.
tdSpringDent td_reduced_dents_share(const tdBody *body, const tdState *state, const tdSpring *spring)
{
    tdDents *dents = td_reduced_mine(body, state)->dents;
    double C[9];
    tdSpringDent none = {.share = 1};
    if (dents == NULL || !td_reduced_of(body)->enriched || !spring_flexibility(body, state, spring, C))
        return none;
    uint64_t key = key_of_spring(body, state, spring);
    for (int k = 0; k < TD_SPRINGS; k++)
        if (dents->spring_key[k] == key)
            return dents->spring[k];
    int at = dents->next_spring++ % TD_SPRINGS;
    share_of_spring(body, state, spring, C, &dents->spring[at]);
    dents->spring_key[at] = key;
    return dents->spring[at];
}

// A spring pulls out a dent as far as it goes: both give way one after the other.
//
//     H = (1/k + s C)^-1
bool td_reduced_dents_spring(const tdBody *body, const tdState *state, const tdSpring *spring, double H[9])
{
    const tdReduced *reduced = td_reduced_of(body);
    double C[9];
    for (int k = 0; k < 9; k++)
        H[k] = k % 4 == 0 ? spring->stiffness : 0;
    if (!reduced->enriched || !td_residual_prepare(reduced->residual) || !spring_flexibility(body, state, spring, C))
        return false;
    return in_series(spring, C, td_reduced_dents_share(body, state, spring).share, H);
}
