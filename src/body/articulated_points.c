// SPDX-License-Identifier: Apache-2.0
// Links as constraints, output and contact see them: where points are, and what a force at one does to the coordinates.
//
// The body's nodes 4 l to 4 l + 3 are an affine frame of link l, so that a weighted mean of nodes is any point of it,
//
//     x = (1 - a - b - c) o + a (o + ex) + b (o + ey) + c (o + ez)
//
// and code that deals in nodes needs to know nothing of links. A set of points is compiled to parts, one for each link
// that a point's nodes belong to: weight t + R local.
#include "base/vector.h"
#include "body/articulated.h"
#include "body/spring.h"
#include "collide/collide.h"

#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- links

static tdTreeWork *place_points(const tdBody *body, const tdState *state, const double *q)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    size_t bytes = (size_t)given->n * sizeof *q;
    if (mine->points_valid && memcmp(mine->points_q, q, bytes) == 0)
        return &mine->points;
    memcpy(mine->points_q, q, bytes);
    if (mine->at_valid && memcmp(mine->at_q, q, bytes) == 0)
        td_tree_copy(given, &mine->at, &mine->points);
    else
        td_tree_kinematics(given, q, mine->reference, &mine->points);
    mine->points_valid = true;
    mine->points_folded = mine->twists_known = false;
    return &mine->points;
}

// Rotations are folded into copies first, as the end of the step will do it: links are then where the next step finds
// them to the last bit, and need not be placed again.
void td_articulated_place_end(const tdBody *body, const tdState *state, const double *q)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    size_t bytes = (size_t)given->n * sizeof *q;
    if (given->n_balls == 0)
    {
        place_points(body, state, q);
        return;
    }
    memcpy(mine->points_q, q, bytes);
    memcpy(mine->folded_q, q, bytes);
    memcpy(mine->folded, mine->reference, 4 * (size_t)given->n_balls * sizeof *q);
    td_tree_fold(given, mine->folded_q, mine->folded);
    td_tree_kinematics(given, mine->folded_q, mine->folded, &mine->points);
    mine->points_valid = mine->points_folded = true;
    mine->twists_known = false;
}

void td_articulated_fold(const tdBody *body, const tdState *state, double *q)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    size_t bytes = (size_t)given->n * sizeof *q;
    if (given->n_balls == 0) // links are where they were
        return;
    bool kept = mine->points_valid && mine->points_folded && memcmp(mine->points_q, q, bytes) == 0;
    bool mass = kept && mine->mass_known && memcmp(mine->mass_q, q, bytes) == 0;
    td_tree_fold(given, q, mine->reference);
    memcpy(mine->points_q, q, bytes);
    memcpy(mine->mass_q, q, bytes);
    mine->points_valid = kept;
    mine->mass_known = mass;
    mine->at_valid = mine->points_folded = false;
    mine->twists_known = mine->twists_known && kept;
}

const tdPose *td_articulated_poses(const tdBody *body, const tdState *state, const double *q)
{
    return place_points(body, state, q)->pose;
}

void td_articulated_twist(const tdBody *body, const tdState *state, const double *q, const double *v, int link,
                          double twist[6])
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    tdTreeWork *work = place_points(body, state, q);
    double arm[3], across[3];
    if (!mine->twists_known || memcmp(mine->link_rates, v, (size_t)given->n * sizeof *v) != 0)
    {
        td_tree_velocities(given, v, work);
        memcpy(mine->link_v, work->v, 6 * (size_t)given->n_links * sizeof *work->v);
        memcpy(mine->link_rates, v, (size_t)given->n * sizeof *v);
        mine->twists_known = true;
    }
    const double *sum = mine->link_v + 6 * (int64_t)link;
    td_subtract3(work->pose[link].t, work->origin, arm);
    td_cross3(sum, arm, across);
    for (int k = 0; k < 3; k++)
    {
        twist[k] = sum[3 + k] + across[k];
        twist[3 + k] = sum[k];
    }
}

void td_articulated_carried(const tdBody *body, const tdState *state, const double *q, const double *v, int link,
                            tdCarried *out)
{
    td_tree_carried(td_articulated_of(body), v, link, place_points(body, state, q), out);
}

// row += J' of a wrench (moment about the root's origin, force) on a link; slot NULL: by coordinate
static void push_wrench(const tdArticulated *given, const tdTreeWork *work, int link, const double wrench[6],
                        const int32_t *slot, double *row)
{
    for (int l = link; l >= 0; l = given->links[l].parent)
        for (int c = 0; c < given->links[l].columns; c++)
        {
            const double *S = work->S + 6 * (int64_t)(given->links[l].column + c);
            int32_t coord = given->links[l].coord + c;
            double sum = 0;
            for (int k = 0; k < 6; k++)
                sum += S[k] * wrench[k];
            row[slot == NULL ? coord : slot[coord]] += sum;
        }
}

// The wrench of a force at weight t + R local of a link.
static void wrench_of(const tdTreeWork *work, int link, double weight, const double local[3], const double f[3],
                      double wrench[6])
{
    double arm[3];
    td_turn(&work->pose[link], local, arm);
    for (int k = 0; k < 3; k++)
    {
        arm[k] += weight * (work->pose[link].t[k] - work->origin[k]);
        wrench[3 + k] = weight * f[k];
    }
    td_cross3(arm, f, wrench);
}

static void push_on(const tdArticulated *given, tdTreeWork *work, int link, const double wrench[6], double *row)
{
    if (given->alone)
    {
        double turn[3];
        td_turn_back(&work->pose[0], wrench, turn);
        for (int k = 0; k < 3; k++)
        {
            row[k] += wrench[3 + k];
            row[3 + k] += turn[k];
        }
        return;
    }
    if (!given->plain)
    {
        push_wrench(given, work, link, wrench, NULL, row);
        return;
    }
    int tip = given->links[link].tip;
    const double *all = td_tree_along(given, work, tip + 1, wrench);
    for (int p = tip; p >= 0; p = given->above[p])
        row[p] += all[p];
}

void td_articulated_push(const tdBody *body, const tdState *state, const double *q, int link, const double local[3],
                         const double f[3], double *row)
{
    tdTreeWork *work = place_points(body, state, q);
    double wrench[6];
    wrench_of(work, link, 1, local, f, wrench);
    push_on(td_articulated_of(body), work, link, wrench, row);
}

void td_articulated_jacobian(const tdBody *body, const tdState *state, const double *q, int link, const double local[3],
                             double *J)
{
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    memset(J, 0, 3 * (size_t)body->count * sizeof *J);
    for (int c = 0; c < 3; c++)
        td_articulated_push(body, state, q, link, local, axes[c], J + c * body->count);
}

static int compare(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

int td_articulated_path(const tdBody *body, int link, int32_t *coord)
{
    const tdArticulated *given = td_articulated_of(body);
    int n = 0;
    int32_t low = INT32_MAX;
    // A chain may pass through a joint and others that mimic it, but lists each coordinate once.
    for (int l = link; l >= 0; l = given->links[l].parent)
        for (int c = given->links[l].columns - 1; c >= 0; c--)
        {
            int32_t i = given->links[l].coord + c;
            bool listed = false;
            for (int k = 0; k < n && i >= low && !listed; k++) // mostly it is below all
                listed = coord[k] == i;
            low = i < low ? i : low;
            if (!listed)
                coord[n++] = i;
        }
    bool descends = true; // as it does without joints that follow others
    for (int k = 1; k < n; k++)
        descends = descends && coord[k - 1] > coord[k];
    for (int k = 0; k < n / 2 && descends; k++)
    {
        int32_t kept = coord[k];
        coord[k] = coord[n - 1 - k];
        coord[n - 1 - k] = kept;
    }
    if (!descends)
        qsort(coord, (size_t)n, sizeof *coord, compare);
    return n;
}

// ---------------------------------------------------------------- contact

tdStatus td_articulated_condense(const tdBody *body, tdState *state, tdBodyBlock *out)
{
    int32_t n = (int32_t)body->count;
    const tdArticulatedState *mine = td_articulated_mine(body, state);
    *out = (tdBodyBlock){.n = n, .stride = n, .A = mine->A, .reverse = mine->L, .touched = n};
    return TD_OK;
}

void td_articulated_part_pose(const tdBody *body, const tdState *state, const double *q, const double *v, int link,
                              tdPose *pose, double twist[6])
{
    *pose = place_points(body, state, q)->pose[link];
    if (twist != NULL)
        td_articulated_twist(body, state, q, v, link, twist);
}

void td_articulated_part_rate(const tdBody *body, const tdState *state, const double *q, int link,
                              const double point[3], int32_t coord, double twist[6])
{
    const tdArticulated *given = td_articulated_of(body);
    const tdTreeWork *work = place_points(body, state, q);
    double arm[3], across[3];
    td_subtract3(point, work->origin, arm);
    for (int l = link; l >= 0; l = given->links[l].parent)
    {
        int c = coord - given->links[l].coord;
        if (c < 0 || c >= given->links[l].columns)
            continue;
        const double *S = work->S + 6 * (int64_t)(given->links[l].column + c);
        td_cross3(S, arm, across);
        for (int k = 0; k < 3; k++)
        {
            twist[k] += S[3 + k] + across[k];
            twist[3 + k] += S[k];
        }
    }
}

// What a unit rate of a column does to the point, along the three directions of a frame; arm NULL: to the part's
// angular velocity.
static void rate_along(const double *S, const double *arm, double sign, double frame[3][3], double rate[3])
{
    double across[3];
    if (arm != NULL)
        td_cross3(S, arm, across);
    for (int k = 0; k < 3; k++)
        across[k] = sign * (arm != NULL ? S[3 + k] + across[k] : S[k]);
    for (int r = 0; r < 3; r++)
        rate[r] = td_dot3(frame[r], across);
}

// Of a body that is alone: along the axes of the world, and about those of the link.
static int32_t touch_alone(const tdPose *pose, const tdTouchPoint *point, double sign, double frame[3][3], double *J,
                           int32_t *columns)
{
    for (int k = 0; k < 6; k++)
        columns[k] = k;
    for (int r = 0; r < 3; r++, J += 6)
    {
        double turn[3];
        td_turn_back(pose, frame[r], turn);
        for (int k = 0; k < 3; k++)
        {
            int a = (k + 1) % 3, b = (k + 2) % 3;
            J[k] = point->turns ? 0 : sign * frame[r][k];
            J[3 + k] = sign * (point->turns ? turn[k] : point->local[a] * turn[b] - point->local[b] * turn[a]);
        }
    }
    return 6;
}

int32_t td_articulated_touch(const tdBody *body, tdState *state, const tdTouchPoint *point, int link,
                             const tdBodyBlock *block, double sign, double frame[3][3], double *J, int32_t *columns,
                             double *drift)
{
    const tdArticulated *given = td_articulated_of(body);
    (void)drift; // no motion of joints is given
    if (block == NULL)
        return 0;
    tdTreeWork *work = place_points(body, state, state->q + body->first);
    const tdPose *pose = &work->pose[link];
    if (given->alone)
        return touch_alone(pose, point, sign, frame, J, columns);
    double arm[3], rate[3];
    td_turn(pose, point->local, arm);
    for (int k = 0; k < 3; k++)
        arm[k] += pose->t[k] - work->origin[k];
    if (given->plain)
    {
        int count = given->links[link].path, tip = given->links[link].tip, at = count;
        for (int p = tip; p >= 0; p = given->above[p])
            columns[--at] = p;
        double wrench[3][6] = {{0}};
        for (int r = 0; r < 3; r++)
        {
            double *along = point->turns ? wrench[r] : wrench[r] + 3;
            for (int k = 0; k < 3; k++)
                along[k] = sign * frame[r][k];
            if (!point->turns)
                td_cross3(arm, along, wrench[r]);
        }
        td_tree_rows(given, work, tip, count, wrench, J);
        return count;
    }
    int n = td_articulated_path(body, link, columns), last = n;
    memset(J, 0, 3 * (size_t)n * sizeof *J);
    // Coordinates ascend along a path, but for those of joints that follow others.
    for (int l = link; l >= 0; l = given->links[l].parent)
        for (int c = given->links[l].columns - 1; c >= 0; c--)
        {
            int32_t coord = given->links[l].coord + c;
            int j = last > 0 && columns[last - 1] == coord ? --last : 0;
            while (columns[j] != coord)
                j++;
            rate_along(work->S + 6 * (int64_t)(given->links[l].column + c), point->turns ? NULL : arm, sign, frame,
                       rate);
            for (int r = 0; r < 3; r++)
                J[r * n + j] += rate[r];
        }
    return n;
}

void td_articulated_push_side(const tdBody *body, const tdState *state, const tdTouchPoint *point, int link,
                              const double f[3], double *m)
{
    if (!point->turns)
    {
        td_articulated_push(body, state, state->q + body->first, link, point->local, f, m);
        return;
    }
    const double wrench[6] = {f[0], f[1], f[2]};
    push_on(td_articulated_of(body), place_points(body, state, state->q + body->first), link, wrench, m);
}

// ---------------------------------------------------------------- sets of points

static const tdRigidSet *set_of(const tdPointSet *set)
{
    return set->data;
}

static tdStatus take_set(tdModel *model, const tdPointSet *set, int n, tdRigidSet **out, tdError *error)
{
    tdArena *arena = &model->arena;
    int64_t most = set->n > 0 ? set->start[set->n] : 0;
    tdRigidSet *own = *out = TD_TAKE(arena, tdRigidSet, 1);
    if (own == NULL)
        return td_fail_memory(error, "the points of an articulated body");
    own->start = TD_TAKE(arena, int32_t, set->n + 1);
    own->link = TD_TAKE(arena, int32_t, most);
    own->weight = TD_TAKE(arena, double, most);
    own->local = TD_TAKE(arena, double, 3 * most);
    own->slot = TD_TAKE(arena, int32_t, n);
    bool good =
        own->start != NULL && own->link != NULL && own->weight != NULL && own->local != NULL && own->slot != NULL;
    return good ? TD_OK : td_fail_memory(error, "the points of an articulated body");
}

// Nodes of a point, gathered by link.
static void gather_parts(const tdArticulated *given, const tdPointSet *set, tdRigidSet *own)
{
    int32_t parts = 0;
    for (int32_t p = 0; p < set->n; p++)
    {
        own->start[p] = parts;
        for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
        {
            int32_t node = set->nodes[k], at = own->start[p];
            while (at < parts && own->link[at] != given->node_link[node])
                at++;
            if (at == parts)
                own->link[parts++] = given->node_link[node];
            own->weight[at] += set->weights[k];
            for (int c = 0; c < 3; c++)
                own->local[3 * (int64_t)at + c] += set->weights[k] * given->node_local[3 * (int64_t)node + c];
        }
    }
    own->start[set->n] = parts;
}

tdStatus td_articulated_point_set(tdModel *model, const tdBody *body, tdPointSet *set, tdError *error)
{
    const tdArticulated *given = td_articulated_of(body);
    tdRigidSet *own = NULL;
    TD_TRY(take_set(model, set, given->n, &own, error));
    gather_parts(given, set, own);
    for (int i = 0; i < given->n; i++)
        own->slot[i] = -1;
    // Only joints between the links and the root move them.
    for (int32_t k = 0; k < own->start[set->n]; k++)
        for (int l = own->link[k]; l >= 0; l = given->links[l].parent)
            for (int c = 0; c < given->links[l].columns; c++)
                own->slot[given->links[l].coord + c] = 0;
    set->size = 0;
    for (int i = 0; i < given->n; i++)
        if (own->slot[i] == 0)
            own->slot[i] = (int32_t)set->size++;
    set->coord = TD_TAKE(&model->arena, int32_t, set->size);
    if (set->coord == NULL)
        return td_fail_memory(error, "the points of an articulated body");
    for (int i = 0; i < given->n; i++)
        if (own->slot[i] >= 0)
            set->coord[own->slot[i]] = i;
    set->data = own;
    return TD_OK;
}

// Of a set that is not compiled: the weighted means of its nodes.
static void place_nodes(const tdArticulated *given, const tdPose *pose, const tdPointSet *set, double *x)
{
    memset(x, 0, 3 * (size_t)set->n * sizeof *x);
    for (int32_t p = 0; p < set->n; p++)
        for (int32_t k = set->start[p]; k < set->start[p + 1]; k++)
        {
            int64_t node = set->nodes[k];
            double at[3];
            td_place(&pose[given->node_link[node]], given->node_local + 3 * node, at);
            for (int c = 0; c < 3; c++)
                x[3 * (int64_t)p + c] += set->weights[k] * at[c];
        }
}

void td_articulated_positions(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q,
                              double *x)
{
    const tdRigidSet *own = set_of(set);
    const tdPose *pose = place_points(body, state, q)->pose;
    if (own == NULL)
    {
        place_nodes(td_articulated_of(body), pose, set, x);
        return;
    }
    for (int32_t p = 0; p < set->n; p++)
    {
        double sum[3] = {0, 0, 0}, turned[3];
        for (int32_t k = own->start[p]; k < own->start[p + 1]; k++)
        {
            td_turn(&pose[own->link[k]], own->local + 3 * (int64_t)k, turned);
            for (int c = 0; c < 3; c++)
                sum[c] += turned[c] + own->weight[k] * pose[own->link[k]].t[c];
        }
        memcpy(x + 3 * (int64_t)p, sum, sizeof sum);
    }
}

void td_articulated_pull(const tdBody *body, const tdState *state, const tdPointSet *set, const double *q,
                         const double *f, double *row)
{
    const tdArticulated *given = td_articulated_of(body);
    const tdRigidSet *own = set_of(set);
    const tdTreeWork *work = place_points(body, state, q);
    memset(row, 0, (size_t)set->size * sizeof *row);
    for (int32_t p = 0; p < set->n; p++)
        for (int32_t k = own->start[p]; k < own->start[p + 1]; k++)
        {
            double wrench[6];
            wrench_of(work, own->link[k], own->weight[k], own->local + 3 * (int64_t)k, f + 3 * (int64_t)p, wrench);
            push_wrench(given, work, own->link[k], wrench, own->slot, row);
        }
}

// J[3 x n] of a point of a set
static void jacobian_of(const tdArticulated *given, const tdTreeWork *work, const tdRigidSet *own, int32_t p, double *J)
{
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    memset(J, 0, 3 * (size_t)given->n * sizeof *J);
    for (int32_t k = own->start[p]; k < own->start[p + 1]; k++)
        for (int c = 0; c < 3; c++)
        {
            double wrench[6];
            wrench_of(work, own->link[k], own->weight[k], own->local + 3 * (int64_t)k, axes[c], wrench);
            push_wrench(given, work, own->link[k], wrench, NULL, J + c * (int64_t)given->n);
        }
}

// Stiffness of the constraint itself. That of its force on a link that turns is left out: it has no sign.
void td_articulated_stiffen(const tdModel *model, const tdBody *body, tdState *state, const tdPointSet *set, int32_t i,
                            int32_t j, const double H[9], bool definite)
{
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    int64_t n = given->n;
    const tdTreeWork *work = place_points(body, state, state->q_c + body->first);
    double *Ji = mine->jacobian, *Jj = i == j ? Ji : Ji + 3 * n, *to = mine->coupling + (definite ? 0 : n * n);
    (void)model;
    jacobian_of(given, work, set_of(set), i, Ji);
    if (i != j)
        jacobian_of(given, work, set_of(set), j, Jj);
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b < n; b++)
        {
            double sum = 0;
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++)
                    sum += Ji[r * n + a] * H[3 * r + c] * Jj[c * n + b];
            to[a * n + b] += sum;
            if (i != j)
                to[b * n + a] += sum;
        }
    mine->stiffened = true;
}

// ---------------------------------------------------------------- springs

// The point of a spring in the frame of its link, and the link.
static int spring_point(const tdArticulated *given, const tdSpring *spring, double local[3])
{
    local[0] = local[1] = local[2] = 0;
    for (int a = 0; a < 3; a++)
        for (int c = 0; c < 3; c++)
            local[c] += spring->weights[a] * given->node_local[3 * (int64_t)spring->nodes[a] + c];
    return given->node_link[spring->nodes[0]];
}

void td_articulated_spring_loads(const tdBody *body, const tdState *state, double *load)
{
    const tdArticulated *given = td_articulated_of(body);
    const tdTreeWork *work = &td_articulated_mine(body, state)->at;
    tdSpring spring;
    for (int k = 0; k < TD_SPRINGS; k++)
    {
        double local[3], x[3], f[3], wrench[6];
        if (!td_spring_get(state->springs, k, &spring) || spring.body != body->index)
            continue;
        int link = spring_point(given, &spring, local);
        td_place(&work->pose[link], local, x);
        for (int c = 0; c < 3; c++)
            f[c] = spring.stiffness * (spring.anchor[c] - x[c]);
        wrench_of(work, link, 1, local, f, wrench);
        push_wrench(given, work, link, wrench, NULL, load);
    }
}

// J'k J. What is left out, the stiffness of the force on a link that turns, has no sign.
void td_articulated_spring_stiffness(const tdBody *body, const tdState *state, double factor, double *A)
{
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const tdArticulated *given = td_articulated_of(body);
    tdArticulatedState *mine = td_articulated_mine(body, state);
    int64_t n = given->n;
    tdSpring spring;
    for (int k = 0; k < TD_SPRINGS; k++)
    {
        double local[3], wrench[6], *J = mine->jacobian;
        if (!td_spring_get(state->springs, k, &spring) || spring.body != body->index)
            continue;
        int link = spring_point(given, &spring, local);
        memset(J, 0, 3 * (size_t)n * sizeof *J);
        for (int c = 0; c < 3; c++)
        {
            wrench_of(&mine->at, link, 1, local, axes[c], wrench);
            push_wrench(given, &mine->at, link, wrench, NULL, J + c * n);
        }
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                for (int c = 0; c < 3; c++)
                    A[i * n + j] += factor * spring.stiffness * J[c * n + i] * J[c * n + j];
    }
}

// ---------------------------------------------------------------- nodes

const double *td_articulated_nodes(const tdModel *model, const tdBody *body, const tdState *state)
{
    const tdArticulated *given = td_articulated_of(body);
    const tdPose *pose = td_articulated_poses(body, state, state->q + body->first);
    double *x = td_articulated_mine(body, state)->node_x;
    (void)model;
    for (int64_t i = 0; i < body->nodes; i++)
        td_place(&pose[given->node_link[i]], given->node_local + 3 * i, x + 3 * i);
    return x;
}

const double *td_articulated_node_velocities(const tdModel *model, const tdBody *body, const tdState *state)
{
    const tdArticulated *given = td_articulated_of(body);
    double *v = td_articulated_mine(body, state)->node_v, twist[6] = {0};
    const double *q = state->q + body->first;
    const tdPose *pose = td_articulated_poses(body, state, q);
    int last = -1;
    (void)model;
    for (int64_t i = 0; i < body->nodes; i++)
    {
        double arm[3], across[3];
        if (given->node_link[i] != last) // nodes of a link follow each other
            td_articulated_twist(body, state, q, state->v + body->first, last = given->node_link[i], twist);
        td_turn(&pose[last], given->node_local + 3 * i, arm);
        td_cross3(twist + 3, arm, across);
        for (int c = 0; c < 3; c++)
            v[3 * i + c] = twist[c] + across[c];
    }
    return v;
}
