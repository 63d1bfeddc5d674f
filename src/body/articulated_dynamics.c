// SPDX-License-Identifier: Apache-2.0
// Algorithms of trees and their small dense matrices, by the kernels that this processor runs (articulated_kernel.c,
// small_kernel.c).
#include "base/vector.h"
#include "body/articulated.h"
#include "core/rotation.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__)
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

static const tdTreeKernel *kernel(void)
{
#if defined(__x86_64__)
    if (has_avx2())
        return &td_tree_kernel_avx2;
#endif
    return &td_tree_kernel_portable;
}

static const tdSmallKernel *small(void)
{
#if defined(__x86_64__)
    if (has_avx2())
        return &td_small_kernel_avx2;
#endif
    return &td_small_kernel_portable;
}

// ---------------------------------------------------------------- trees

bool td_tree_work_take(tdArena *arena, const tdArticulated *body, tdTreeWork *work)
{
    int64_t links = body->n_links;
    work->pose = TD_TAKE(arena, tdPose, links);
    work->S = TD_TAKE(arena, double, 6 * (int64_t)body->n_columns);
    work->rate = TD_TAKE(arena, double, 6 * (int64_t)body->n_columns);
    work->I = TD_TAKE(arena, double, 10 * links);
    work->C = TD_TAKE(arena, double, 10 * links);
    work->hang = TD_TAKE(arena, double, 9 * links);
    work->by_component = TD_TAKE(arena, double, 12 * (int64_t)body->n_columns + 4); // read four at a time
    work->row = TD_TAKE(arena, double, 2 * (int64_t)body->n_columns + 8);
    work->v = TD_TAKE(arena, double, 6 * links);
    work->a = TD_TAKE(arena, double, 6 * links);
    work->f = TD_TAKE(arena, double, 6 * links);
    return work->pose != NULL && work->S != NULL && work->rate != NULL && work->hang != NULL && work->I != NULL &&
           work->C != NULL && work->by_component != NULL && work->row != NULL && work->v != NULL && work->a != NULL &&
           work->f != NULL;
}

void td_tree_kinematics(const tdArticulated *body, const double *q, const double *reference, tdTreeWork *work)
{
    kernel()->kinematics(body, q, reference, work);
}

void td_tree_copy(const tdArticulated *body, const tdTreeWork *from, tdTreeWork *to)
{
    memcpy(to->pose, from->pose, (size_t)body->n_links * sizeof *to->pose);
    memcpy(to->S, from->S, 6 * (size_t)body->n_columns * sizeof *to->S);
    memcpy(to->I, from->I, 10 * (size_t)body->n_links * sizeof *to->I);
    memcpy(to->origin, from->origin, sizeof to->origin);
    to->summed = from->summed;
    if (!from->summed)
        return;
    memcpy(to->C, from->C, 10 * (size_t)body->n_links * sizeof *to->C);
    if (body->plain)
        memcpy(to->by_component, from->by_component, 6 * (size_t)body->n * sizeof *to->by_component);
}

void td_tree_fold(const tdArticulated *body, double *q, double *reference)
{
    for (int l = 0; l < body->n_links; l++)
    {
        const tdLink *link = &body->links[l];
        if (link->ball < 0)
            continue;
        double *phi = q + link->coord + (link->kind == TD_JOINT_FREE ? 3 : 0), turn[4], all[4];
        double *kept = reference + 4 * (int64_t)link->ball;
        td_rotation_from_vector(phi, turn);
        td_rotation_multiply(kept, turn, all);
        double size = sqrt(all[0] * all[0] + td_dot3(all + 1, all + 1));
        for (int k = 0; k < 4; k++)
            kept[k] = all[k] / size;
        memset(phi, 0, 3 * sizeof *phi);
    }
}

void td_tree_velocities(const tdArticulated *body, const double *v, tdTreeWork *work)
{
    kernel()->velocities(body, v, work);
}

void td_tree_inverse(const tdArticulated *body, const double *v, const double *dv, const double gravity[3],
                     tdTreeWork *work, double *tau)
{
    kernel()->inverse(body, v, dv, gravity, work, tau);
}

void td_tree_weights(const tdArticulated *body, const double gravity[3], tdTreeWork *work, double *load)
{
    kernel()->weights(body, gravity, work, load);
}

void td_tree_mass(const tdArticulated *body, tdTreeWork *work, double *M)
{
    kernel()->mass(body, work, M);
}

void td_tree_gyration(const tdArticulated *body, const double *v, tdTreeWork *work, double *G)
{
    kernel()->gyration(body, v, work, G);
}

void td_tree_gravity_stiffness(const tdArticulated *body, const double gravity[3], tdTreeWork *work, double *K)
{
    kernel()->gravity_stiffness(body, gravity, work, K);
}

void td_tree_hanging_stiffness(const tdArticulated *body, const double gravity[3], tdTreeWork *work, double *K)
{
    kernel()->hanging_stiffness(body, gravity, work, K);
}

void td_tree_momentum(const tdArticulated *body, const double *v, tdTreeWork *work, double *energy, double linear[3],
                      double angular[3], double center[3])
{
    kernel()->momentum(body, v, work, energy, linear, angular, center);
}

void td_tree_carried(const tdArticulated *body, const double *v, int link, tdTreeWork *work, tdCarried *out)
{
    kernel()->carried(body, v, link, work, out);
}

const double *td_tree_along(const tdArticulated *body, tdTreeWork *work, int64_t count, const double wrench[6])
{
    return kernel()->along(body, work, count, wrench);
}

void td_tree_rows(const tdArticulated *body, tdTreeWork *work, int tip, int count, double wrench[3][6], double *J)
{
    kernel()->rows(body, work, tip, count, wrench, J);
}

double td_tree_potential(const tdArticulated *body, const double gravity[3], const tdTreeWork *work)
{
    return kernel()->potential(body, gravity, work);
}

// ---------------------------------------------------------------- small matrices

double td_small_dot(int64_t n, const double *a, const double *b)
{
    return small()->dot(n, a, b);
}

void td_small_multiply(int64_t n, double factor, const double *A, const double *x, double *y)
{
    small()->multiply(n, factor, A, x, y);
}

double td_small_product(int64_t n, const double *M, const double *x)
{
    return small()->product(n, M, x);
}

bool td_small_cholesky(int n, const double *A, double *L)
{
    return small()->cholesky(n, A, L);
}

void td_small_solve(int n, const double *L, double *x)
{
    small()->solve(n, L, x);
}

void td_small_mix(int64_t n, double time, double late, const double *M0, const double *M1, const double *v, double *B,
                  double *w)
{
    small()->mix(n, time, late, M0, M1, v, B, w);
}

bool td_small_unravel(int n, double *B, double *x)
{
    return small()->unravel(n, B, x);
}

bool td_small_eliminate(int n, double *B, double *x)
{
    return small()->eliminate(n, B, x);
}
