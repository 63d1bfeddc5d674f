// SPDX-License-Identifier: Apache-2.0
// One call finds all contacts: places, broad phase, boxes, narrow phase, names. Work is cut into pieces by the data
// alone; each piece has its own lists, which are joined in their order.
#include "collide/collide.h"

#include "base/timer.h"
#include "collide/internal.h"

#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- state

static bool take_skin(tdArena *arena, const tdCollider *c, tdPlaced *p)
{
    const tdSkin *skin = c->skin;
    size_t n = (size_t)skin->n_verts + (size_t)skin->n_points;
    p->x = TD_TAKE(arena, double, 3 * n);
    p->sweep = TD_TAKE(arena, double, 3 * n);
    p->boxes = TD_TAKE(arena, tdBox, skin->bvh.n_nodes);
    if (c->self)
    {
        p->normal = TD_TAKE(arena, double, 3 * n);
        p->facing = TD_TAKE(arena, tdBox, skin->bvh.n_nodes);
    }
    return p->x != NULL && p->sweep != NULL && p->boxes != NULL &&
           (!c->self || (p->normal != NULL && p->facing != NULL));
}

tdStatus td_collide_state(const tdCollideWorld *world, tdTasks *tasks, tdCollideState **out, tdError *error)
{
    *out = NULL;
    tdCollideState *s = calloc(1, sizeof *s);
    if (s == NULL)
        return td_fail_memory(error, "the state of contact");
    s->world = world;
    s->tasks = tasks;
    s->placed = TD_TAKE(&s->arena, tdPlaced, world->n);
    s->order = TD_TAKE(&s->arena, int32_t, world->n);
    s->active = TD_TAKE(&s->arena, int32_t, world->n);
    s->bad = TD_TAKE(&s->arena, int32_t, world->n);
    s->pieces = TD_TAKE(&s->arena, tdPiece, TD_PIECES);
    s->piece_first = TD_TAKE(&s->arena, int64_t, TD_PIECES + 1);
    bool good = s->placed != NULL && s->order != NULL && s->active != NULL && s->bad != NULL && s->pieces != NULL &&
                s->piece_first != NULL;
    for (int i = 0; i < world->n && good; i++)
    {
        s->order[i] = i;
        if (world->colliders[i].skin != NULL)
            good = take_skin(&s->arena, &world->colliders[i], &s->placed[i]);
    }
    s->report.deepest = -1;
    if (!good)
    {
        td_collide_state_free(s);
        return td_fail_memory(error, "the state of contact");
    }
    *out = s;
    return TD_OK;
}

void td_collide_state_free(tdCollideState *state)
{
    if (state == NULL)
        return;
    for (int i = 0; i < TD_PIECES && state->pieces != NULL; i++)
    {
        free(state->pieces[i].contacts);
        free(state->pieces[i].candidates);
        free(state->pieces[i].keys);
    }
    free(state->pairs);
    free(state->contacts);
    free(state->last);
    td_arena_free(&state->arena);
    free(state);
}

const tdContact *td_collide_contacts(const tdCollideState *state, int64_t *n)
{
    *n = state->n_contacts;
    return state->contacts;
}

const tdCollideReport *td_collide_report(const tdCollideState *state)
{
    return &state->report;
}

// ---------------------------------------------------------------- places

// Positions of vertices now and at the end of the step, and their box. Returns the first that is not finite, or -1.
static int32_t place_vertices(const tdCollider *c, const tdCollideInput *in, tdPlaced *p)
{
    const tdSkin *skin = c->skin;
    bool soft = c->kind == TD_COLLIDER_SOFT;
    const double *x = soft ? in->x[c->field] : NULL, *v = soft && in->v != NULL ? in->v[c->field] : NULL;
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    p->x_end = in->v != NULL ? p->sweep : NULL;
    p->fastest = 0;
    for (int32_t i = 0; i < skin->n_verts; i++)
    {
        double *at = p->x + 3 * i, sum = 0;
        if (soft)
            memcpy(at, x + 3 * (int64_t)skin->node[i], 3 * sizeof *at);
        else
            td_place(&p->pose, skin->rest + 3 * i, at);
        for (int k = 0; k < 3; k++)
        {
            low[k] = at[k] < low[k] ? at[k] : low[k];
            high[k] = at[k] > high[k] ? at[k] : high[k];
            sum += at[k];
        }
        if (p->x_end != NULL)
        {
            double arm[3], turn[3], *end = p->x_end + 3 * i;
            td_subtract3(at, p->frame.t, arm);
            td_cross3(p->twist + 3, arm, turn);
            for (int k = 0; k < 3; k++)
            {
                end[k] = at[k] + in->h * (soft ? v[3 * (int64_t)skin->node[i] + k] : p->twist[k] + turn[k]);
                low[k] = end[k] < low[k] ? end[k] : low[k];
                high[k] = end[k] > high[k] ? end[k] : high[k];
                sum += end[k];
            }
            p->fastest = fmax(p->fastest, td_square_between(at, end));
        }
        if (!(fabs(sum) < 1e15))
            return i;
    }
    td_skin_place_points(skin, p->x);
    if (p->x_end != NULL)
        td_skin_place_points(skin, p->x_end);
    for (int k = 0; k < 3; k++)
    {
        p->bare[k] = low[k];
        p->bare[3 + k] = high[k];
    }
    p->fastest = sqrt(p->fastest);
    return -1;
}

// Box of a convex shape, swept: its centre moves by the velocity there, and every other point by the turn at most.
static void sweep_box(tdPlaced *p, double h, double box[6])
{
    double arm[3], turn[3], far = 0, square = 0;
    for (int k = 0; k < 3; k++)
    {
        arm[k] = 0.5 * (box[k] + box[3 + k]) - p->frame.t[k];
        far += 0.25 * (box[3 + k] - box[k]) * (box[3 + k] - box[k]);
    }
    td_cross3(p->twist + 3, arm, turn);
    far = h * td_length3(p->twist + 3) * sqrt(far);
    for (int k = 0; k < 3; k++)
    {
        double way = h * (p->twist[k] + turn[k]);
        box[k] += (way < 0 ? way : 0) - far;
        box[3 + k] += (way > 0 ? way : 0) + far;
        square += way * way;
    }
    p->fastest = sqrt(square) + far;
}

static bool same_pose(const tdPose *a, const tdPose *b)
{
    bool same = true;
    for (int k = 0; k < 9; k++)
        same = same && a->R[k] == b->R[k];
    for (int k = 0; k < 3; k++)
        same = same && a->t[k] == b->t[k];
    return same;
}

static bool same_twist(const double a[6], const double b[6])
{
    bool same = true;
    for (int k = 0; k < 6; k++)
        same = same && a[k] == b[k];
    return same;
}

static void place_collider(void *context, int i)
{
    tdCollideState *s = context;
    const tdCollideInput *in = s->input;
    const tdCollider *c = &s->world->colliders[i];
    tdPlaced *p = &s->placed[i];
    double twist_before[6];
    s->bad[i] = -1;
    p->fitted = p->same = false;
    memcpy(twist_before, p->twist, sizeof twist_before);
    if (c->kind == TD_COLLIDER_RIGID)
    {
        tdPose frame = c->frame >= 0 ? in->poses[c->frame] : td_pose_identity();
        p->still = s->known && in->v == NULL && p->x_end == NULL && same_pose(&frame, &p->frame);
        p->same = s->listed && same_pose(&frame, &p->frame);
        p->frame = frame;
        p->pose = td_pose_multiply(&p->frame, &c->pose);
        double sum = 0;
        for (int k = 0; k < 9; k++)
            sum += fabs(p->frame.R[k]);
        for (int k = 0; k < 3; k++)
            sum += fabs(p->frame.t[k]);
        memset(p->twist, 0, sizeof p->twist);
        if (in->v != NULL && c->frame >= 0)
            memcpy(p->twist, in->twists[c->frame], sizeof p->twist);
        for (int k = 0; k < 6; k++)
            sum += fabs(p->twist[k]);
        p->same = p->same && same_twist(p->twist, twist_before);
        if (!(sum < 1e15))
        {
            s->bad[i] = 0;
            return;
        }
    }
    p->reach = s->world->margin;
    if (c->skin != NULL)
    {
        if (!p->still) // a mesh that has not moved is where it was
        {
            s->bad[i] = place_vertices(c, in, p);
            p->grown = 0;
        }
        // What was so deep in the last step can be deeper by the margin now; at first all depths are looked at.
        p->reach = s->known ? fmin(c->depth, s->world->margin + p->deepest) : c->depth;
        p->reach = fmax(p->reach, s->world->margin);
        memcpy(p->box, p->bare, sizeof p->box);
    }
    else
    {
        td_shape_bounds(&c->shape, &p->pose, p->box);
        p->fastest = 0;
        if (in->v != NULL && c->shape.type != TD_SHAPE_PLANE)
            sweep_box(p, in->h, p->box);
    }
    p->same = p->same && p->reach == p->same_reach;
    p->same_reach = p->reach;
    double slide = in->v != NULL ? in->slide * p->fastest : 0;
    for (int k = 0; k < 3; k++)
    {
        p->box[k] -= 0.5 * p->reach + slide;
        p->box[3 + k] += 0.5 * p->reach + slide;
    }
}

// Normals of vertices and their boxes up the tree, for surfaces that meet themselves.
static void fit_normals(const tdSkin *skin, tdPlaced *p)
{
    memset(p->normal, 0, (size_t)skin->n_verts * 3 * sizeof *p->normal);
    for (int32_t t = 0; t < skin->n_tris; t++)
    {
        double area[3];
        td_skin_area(skin, p->x, t, area);
        for (int c = 0; c < 3; c++)
            for (int k = 0; k < 3; k++)
                p->normal[3 * skin->tris[3 * t + c] + k] += area[k];
    }
    for (int32_t i = skin->n_verts; i < skin->n_verts + skin->n_points; i++)
        td_skin_facing(skin, p->x, i, p->normal + 3 * i);
    for (int32_t i = skin->bvh.n_nodes - 1; i >= 0; i--)
    {
        const tdBvhNode *node = &skin->bvh.nodes[i];
        if (node->right != 0)
        {
            p->facing[i] = td_box_union(&p->facing[i + 1], &p->facing[node->right]);
            continue;
        }
        tdBox box = {{2, 2, 2}, {-2, -2, -2}};
        for (int32_t j = 0; j < node->n_verts + node->n_tris; j++)
        {
            double n[3];
            if (j < node->n_verts)
                memcpy(n, p->normal + 3 * (node->vert + j), sizeof n);
            else
                td_skin_area(skin, p->x, node->tri + j - node->n_verts, n);
            td_unit3(n, 1e-300);
            for (int k = 0; k < 3; k++)
            {
                box.min[k] = fminf(box.min[k], (float)n[k] - 1e-6F);
                box.max[k] = fmaxf(box.max[k], (float)n[k] + 1e-6F);
            }
        }
        p->facing[i] = box;
    }
}

static void fit_collider(void *context, int i)
{
    tdCollideState *s = context;
    tdPlaced *p = &s->placed[i];
    if (!p->fitted)
        return;
    const tdCollider *c = &s->world->colliders[i];
    if (p->still && p->grown == p->reach)
        return;
    td_skin_refit(c->skin, p->x, p->x_end, 0.5 * p->reach, p->boxes);
    p->grown = p->reach;
    if (c->self)
        fit_normals(c->skin, p);
}

static tdStatus place_all(tdCollideState *s, tdError *error)
{
    td_parallel(s->tasks, s->world->n, place_collider, s);
    for (int i = 0; i < s->world->n; i++)
        if (s->bad[i] >= 0)
        {
            const tdCollider *c = &s->world->colliders[i];
            if (c->kind == TD_COLLIDER_SOFT)
                return td_fail_at(error, TD_ERROR_NUMERIC, NULL, 0, c->name,
                                  "node %d is not at a finite place, or moves at no finite speed",
                                  c->skin->node[s->bad[i]]);
            return td_fail_at(error, TD_ERROR_NUMERIC, NULL, 0, c->name,
                              "the pose or the twist of its frame %d is not "
                              "finite",
                              c->frame);
        }
    return TD_OK;
}

// ---------------------------------------------------------------- narrow phase

static int64_t cost_of(const tdCollideState *s, tdPair pair)
{
    const tdSkin *a = s->world->colliders[pair.a].skin, *b = s->world->colliders[pair.b].skin;
    return 50 + (a != NULL ? a->n_tris : 0) + (b != NULL ? b->n_tris : 0);
}

// Runs of pairs of about the same cost. The cut depends on the pairs only.
static void cut_pairs(tdCollideState *s)
{
    int64_t total = 0, sum = 0;
    for (int64_t i = 0; i < s->n_pairs; i++)
        total += cost_of(s, s->pairs[i]);
    s->n_pieces = 0;
    s->piece_first[0] = 0;
    for (int64_t i = 0; i < s->n_pairs; i++)
    {
        sum += cost_of(s, s->pairs[i]);
        if (sum * TD_PIECES >= total * (s->n_pieces + 1) && s->n_pieces + 1 < TD_PIECES)
            s->piece_first[++s->n_pieces] = i + 1;
    }
    if (s->n_pieces == 0 || s->piece_first[s->n_pieces] < s->n_pairs)
        s->piece_first[++s->n_pieces] = s->n_pairs;
}

// Most way of a plane within the step, as far as the box of the other reaches.
static double plane_sweep(const tdPlaced *plane, const tdPlaced *other, double h)
{
    double far[3];
    for (int k = 0; k < 3; k++)
        far[k] = fmax(fabs(other->box[k] - plane->frame.t[k]), fabs(other->box[3 + k] - plane->frame.t[k]));
    return h * (td_length3(plane->twist) + td_length3(plane->twist + 3) * td_length3(far));
}

// How far two colliders may come nearer to each other within the step, and what sliding adds to the margin.
static double sweep_of(const tdCollideState *s, tdPair pair)
{
    double sum = 0;
    if (s->input->v == NULL)
        return 0;
    for (int side = 0; side < 2; side++)
    {
        int32_t me = side == 0 ? pair.a : pair.b, other = side == 0 ? pair.b : pair.a;
        const tdCollider *c = &s->world->colliders[me];
        sum += c->skin == NULL && c->shape.type == TD_SHAPE_PLANE
                   ? plane_sweep(&s->placed[me], &s->placed[other], s->input->h)
                   : s->placed[me].fastest;
    }
    return (1 + s->input->slide) * sum;
}

static bool key_before(const tdKey *a, const tdKey *b)
{
    return a->key < b->key || (a->key == b->key && a->at < b->at);
}

static void sift_keys(tdKey *keys, int64_t i, int64_t n)
{
    tdKey me = keys[i];
    for (int64_t child = 2 * i + 1; child < n; child = 2 * i + 1)
    {
        child += child + 1 < n && key_before(&keys[child], &keys[child + 1]);
        if (!key_before(&me, &keys[child]))
            break;
        keys[i] = keys[child];
        i = child;
    }
    keys[i] = me;
}

// Sorts the contacts of one pair by their names; the order in which they were found decides between equal ones.
static void sort_contacts(tdPiece *piece, int64_t first)
{
    int64_t n = piece->n - first;
    tdContact *c = piece->contacts + first;
    bool sorted = true;
    for (int64_t i = 1; i < n && sorted; i++)
        sorted = c[i - 1].key <= c[i].key;
    if (sorted)
        return;
    if (!td_grow((void **)&piece->keys, &piece->key_room, n, sizeof *piece->keys))
    {
        piece->failed = true;
        return;
    }
    for (int64_t i = 0; i < n; i++)
        piece->keys[i] = (tdKey){c[i].key, i};
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sift_keys(piece->keys, i, n);
    for (int64_t end = n - 1; end > 0; end--)
    {
        tdKey top = piece->keys[0];
        piece->keys[0] = piece->keys[end];
        piece->keys[end] = top;
        sift_keys(piece->keys, 0, end);
    }
    // Along the cycles of the permutation each contact is moved once.
    for (int64_t i = 0; i < n; i++)
    {
        if (piece->keys[i].at == i)
            continue;
        tdContact held = c[i];
        int64_t to = i;
        for (int64_t from = piece->keys[to].at; from != i; from = piece->keys[to].at)
        {
            c[to] = c[from];
            piece->keys[to].at = to;
            to = from;
        }
        c[to] = held;
        piece->keys[to].at = to;
    }
}

static int compare_pair(const tdContact *contact, tdPair pair)
{
    if (contact->a.collider != pair.a)
        return contact->a.collider < pair.a ? -1 : 1;
    return contact->b.collider < pair.b ? -1 : contact->b.collider > pair.b;
}

// Two colliders that stand as they stood meet as they met.
static void repeat_pair(const tdCollideState *s, tdPiece *piece, tdPair pair)
{
    int64_t low = 0, high = s->n_contacts;
    while (low < high)
    {
        int64_t middle = low + (high - low) / 2;
        if (compare_pair(&s->contacts[middle], pair) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->n_contacts && compare_pair(&s->contacts[low], pair) == 0; low++)
    {
        if (!td_grow((void **)&piece->contacts, &piece->room, piece->n + 1, sizeof *piece->contacts))
        {
            piece->failed = true;
            return;
        }
        piece->contacts[piece->n] = s->contacts[low];
        piece->contacts[piece->n++].previous = -1;
    }
}

static void run_piece(void *context, int i)
{
    tdCollideState *s = context;
    tdPiece *piece = &s->pieces[i];
    piece->n = piece->looked_at = 0;
    piece->failed = false;
    tdNarrow narrow = {.world = s->world, .state = s, .piece = piece};
    for (int64_t k = s->piece_first[i]; k < s->piece_first[i + 1]; k++)
    {
        tdPair pair = s->pairs[k];
        const tdCollider *a = &s->world->colliders[pair.a], *b = &s->world->colliders[pair.b];
        int64_t first = piece->n;
        if (s->placed[pair.a].same && s->placed[pair.b].same)
        {
            repeat_pair(s, piece, pair);
            continue;
        }
        narrow.sweep = sweep_of(s, pair);
        if (a->skin != NULL && b->skin != NULL)
            td_meet_skins(&narrow, pair.a, pair.b);
        else if (a->skin != NULL)
            td_meet_skin_convex(&narrow, pair.a, pair.b);
        else if (b->skin != NULL)
            td_meet_skin_convex(&narrow, pair.b, pair.a);
        else
            td_meet_convex(&narrow, pair.a, pair.b);
        sort_contacts(piece, first);
    }
}

// ---------------------------------------------------------------- names

static int compare_contacts(const tdContact *a, const tdContact *b)
{
    if (a->a.collider != b->a.collider)
        return a->a.collider < b->a.collider ? -1 : 1;
    if (a->b.collider != b->b.collider)
        return a->b.collider < b->b.collider ? -1 : 1;
    return a->key < b->key ? -1 : a->key > b->key;
}

static void deepen(tdCollideState *s, const tdContact *c)
{
    tdPlaced *a = &s->placed[c->a.collider], *b = &s->placed[c->b.collider];
    a->deepest = fmax(a->deepest, -c->phi);
    b->deepest = fmax(b->deepest, -c->phi);
}

// Joins the pieces and looks each contact up in the last list: both are sorted.
static bool join(tdCollideState *s)
{
    int64_t total = 0;
    for (int i = 0; i < s->n_pieces; i++)
    {
        if (s->pieces[i].failed)
            return false;
        total += s->pieces[i].n;
    }
    if (!td_grow((void **)&s->last, &s->last_room, total, sizeof *s->last))
        return false;
    tdContact *now = s->last, *before = s->contacts;
    int64_t n = 0, at = 0, room = s->last_room;
    s->report.candidates = 0;
    s->report.deepest = -1;
    for (int i = 0; i < s->world->n; i++)
        s->placed[i].deepest = 0;
    for (int i = 0; i < s->n_pieces; i++)
    {
        s->report.candidates += s->pieces[i].looked_at;
        for (int64_t k = 0; k < s->pieces[i].n; k++, n++)
        {
            now[n] = s->pieces[i].contacts[k];
            int order = -1;
            while (at < s->n_contacts && (order = compare_contacts(&before[at], &now[n])) < 0)
                at++;
            if (at < s->n_contacts && order == 0)
                now[n].previous = (int32_t)at++;
            deepen(s, &now[n]);
            if (s->report.deepest < 0 || now[n].phi < now[s->report.deepest].phi)
                s->report.deepest = n;
        }
    }
    s->last = before;
    s->last_room = s->contact_room;
    s->n_last = s->n_contacts;
    s->contacts = now;
    s->contact_room = room;
    s->n_contacts = n;
    s->known = true;
    return true;
}

tdStatus td_collide(const tdCollideWorld *world, tdCollideState *state, const tdCollideInput *input, tdError *error)
{
    tdCollideState *s = state;
    double start = td_seconds();
    s->input = input;
    s->world = world;
    double slide = input->v != NULL ? input->slide : -1;
    s->listed = s->listed && s->h == input->h && s->slide == slide;
    TD_TRY(place_all(s, error));
    s->listed = false; // until all is known
    if (!td_broad_phase(s))
        return td_fail_memory(error, "pairs of colliders");
    for (int64_t i = 0; i < s->n_pairs; i++)
    {
        s->placed[s->pairs[i].a].fitted = world->colliders[s->pairs[i].a].skin != NULL;
        s->placed[s->pairs[i].b].fitted = world->colliders[s->pairs[i].b].skin != NULL;
    }
    td_parallel(s->tasks, world->n, fit_collider, s);
    double fitted = td_seconds();
    cut_pairs(s);
    td_parallel(s->tasks, s->n_pieces, run_piece, s);
    double found = td_seconds();
    if (!join(s))
        return td_fail_memory(error, "contacts");
    s->listed = true;
    s->h = input->h;
    s->slide = slide;
    s->report.pairs = s->n_pairs;
    s->report.contacts = s->n_contacts;
    s->report.bounds = fitted - start;
    s->report.near_phase = found - fitted;
    s->report.sort = td_seconds() - found;
    s->input = NULL;
    return TD_OK;
}

static void box_of(int32_t n, const double *x, const int32_t *node, double box[6])
{
    for (int k = 0; k < 3; k++)
    {
        box[k] = INFINITY;
        box[3 + k] = -INFINITY;
    }
    for (int32_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
        {
            double at = x[3 * (int64_t)(node != NULL ? node[i] : i) + k];
            box[k] = fmin(box[k], at);
            box[3 + k] = fmax(box[3 + k], at);
        }
}

void td_collide_boxes(const tdCollideState *state, int collider, const double *const *x, const tdPose *poses,
                      double start[6], double end[6])
{
    const tdCollider *c = &state->world->colliders[collider];
    const tdPlaced *p = &state->placed[collider];
    if (c->kind == TD_COLLIDER_RIGID)
    {
        tdPose frame = c->frame >= 0 ? poses[c->frame] : td_pose_identity();
        tdPose pose = td_pose_multiply(&frame, &c->pose);
        td_shape_bounds(&c->shape, &p->pose, start);
        td_shape_bounds(&c->shape, &pose, end);
        return;
    }
    const double *last = x[c->field];
    box_of(c->skin->n_verts, p->x, NULL, start);
    if (last != NULL)
        box_of(c->skin->n_verts, last, c->skin->node, end);
    else
        box_of(c->skin->n_verts, p->x_end != NULL ? p->x_end : p->x, NULL, end);
}

bool td_collide_may_meet(const tdCollideWorld *world, int a, int b)
{
    return a == b ? world->colliders[a].self : td_may_meet(world, a, b);
}

bool td_collide_rigid(const tdCollideWorld *world, int collider, tdShape *shape, tdPose *pose)
{
    const tdCollider *c = &world->colliders[collider];
    *shape = c->shape;
    *pose = c->pose;
    return c->kind == TD_COLLIDER_RIGID;
}

const tdSkin *td_collide_skin(const tdCollideWorld *world, int collider, double *depth)
{
    *depth = world->colliders[collider].depth;
    return world->colliders[collider].skin;
}

void td_collide_depths(const tdCollideState *state, double *depths)
{
    for (int i = 0; i < state->world->n; i++)
        depths[i] = state->known ? state->placed[i].deepest + 0.0 : -1; // which of the zeros the largest is, is chance
}

void td_collide_set_depths(tdCollideState *state, const double *depths)
{
    state->known = state->world->n > 0 && depths[0] >= 0;
    for (int i = 0; i < state->world->n; i++)
        state->placed[i].deepest = fmax(depths[i], 0);
}
