// SPDX-License-Identifier: Apache-2.0
// From a body of full order and a reduced model of it to the tables of a reduced body.
#include "base/hash.h"
#include "reduce/reduced_body.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- what a reduced model depends on

// Sixteen bits each, so that a file tells which part of a scene has changed.
typedef enum physicsPart
{
    PART_MESH,
    PART_MATERIALS,
    PART_MASS,
    PART_SUPPORTS,
    PARTS
} physicsPart;

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t n)
{
    return td_hash_mix(hash ^ td_hash_bytes(bytes, n));
}

static uint64_t mix_number(uint64_t hash, double value)
{
    value = value == 0 ? 0 : value; // -0 is 0
    return mix_bytes(hash, &value, sizeof value);
}

static uint64_t hash_mesh(const tdSoft *soft)
{
    uint64_t hash = mix_bytes(1, soft->rest, 3 * (size_t)soft->n_nodes * sizeof *soft->rest);
    for (int k = 0; k < TD_ELEMENT_KINDS; k++)
    {
        const tdElementShape *shape = &td_element_shape[k];
        for (int64_t e = soft->element_start[shape->cell]; e < soft->element_start[shape->cell + 1]; e++)
            hash = mix_bytes(hash, soft->mesh.cells[shape->cell].nodes + shape->nodes * (int64_t)soft->element_cell[e],
                             (size_t)shape->nodes * sizeof(int32_t));
    }
    return hash;
}

static uint64_t hash_materials(const tdSoft *soft)
{
    uint64_t hash = 2;
    for (int k = 0; k < soft->n_blocks; k++)
    {
        const tdElements *block = &soft->blocks[k];
        const tdMaterial *m = &block->material;
        hash = mix_bytes(hash, m->law->name, strlen(m->law->name));
        for (int i = 0; i < TD_LAW_PARAMETERS; i++)
            hash = mix_number(hash, m->parameters[i]);
        hash = mix_number(hash, block->kind == TD_ELEMENT_TRI3 ? m->thickness : 0);
        hash = mix_number(hash, m->mean_dilatation);
        hash = mix_number(hash, m->through);
        for (int i = 0; i < m->n_prony; i++)
            hash = mix_number(mix_number(hash, m->g[i]), m->tau[i]);
        for (int i = 0; i < 36 && m->fibre != NULL; i++)
            hash = mix_number(hash, m->fibre[i]);
        hash = mix_bytes(hash, block->element, 4 * (size_t)block->batches * sizeof *block->element);
    }
    return hash;
}

// Not its form: the mass matrix is projected when the model is made.
static uint64_t hash_mass(const tdSoft *soft)
{
    uint64_t hash = 3;
    for (int k = 0; k < soft->n_blocks; k++)
        hash = mix_number(hash, soft->blocks[k].material.density);
    return hash;
}

static uint64_t hash_supports(const tdModel *model, const tdSoft *soft)
{
    uint64_t hash = mix_bytes(4, soft->held_list, (size_t)soft->n_held * sizeof *soft->held_list);
    for (int32_t k = 0; k < soft->n_driven; k++)
    {
        const tdDriven *d = &soft->driven[k];
        const char *name = d->input < 0 ? "" : model->inputs[d->input].name;
        hash = mix_number(mix_number(mix_bytes(hash, name, strlen(name)), d->coord), d->displacement);
    }
    for (int32_t k = 0; k < soft->n_turned; k++)
    {
        const tdTurned *t = &soft->turned[k];
        hash = mix_number(hash, t->node);
        for (int c = 0; c < 3; c++)
            hash = mix_number(mix_number(hash, t->center[c]), t->axis[c]);
    }
    return hash;
}

uint64_t td_soft_physics(const tdModel *model, int body)
{
    const tdSoft *soft = model->bodies[body].soft;
    const uint64_t part[PARTS] = {[PART_MESH] = hash_mesh(soft),
                                  [PART_MATERIALS] = hash_materials(soft),
                                  [PART_MASS] = hash_mass(soft),
                                  [PART_SUPPORTS] = hash_supports(model, soft)};
    uint64_t all = 0;
    for (int k = 0; k < PARTS; k++)
        all |= (td_hash_mix(part[k]) & 0xffff) << (16 * k);
    return all;
}

// ---------------------------------------------------------------- refusals

static tdStatus refuse(const tdRom *rom, tdError *error, const char *why, const char *name)
{
    return td_fail_at(error, TD_ERROR_INPUT, rom->file, 0, NULL, "body '%s': %s%s", rom->body, why,
                      name == NULL ? "" : name);
}

static tdStatus check_physics(const tdModel *model, int body, const tdRom *rom, tdError *error)
{
    static const char *const parts[PARTS] = {"the mesh", "the materials", "the mass", "the supports or moved nodes"};
    uint64_t now = td_soft_physics(model, body);
    char changed[120] = "";
    size_t length = 0;
    for (int k = 0; k < PARTS; k++)
        if ((now >> (16 * k) & 0xffff) != (rom->physics >> (16 * k) & 0xffff))
            length += (size_t)snprintf(changed + length, sizeof changed - length, "%s%s", length > 0 ? ", " : "",
                                       parts[k]); // all of them fit
    if (changed[0] == '\0')
        return TD_OK;
    return td_fail_at(error, TD_ERROR_INPUT, rom->file, 0, NULL,
                      "the reduced model was made for another scene than '%s': not the same, of body '%s', is %s; make "
                      "it again with 'tendril reduce'",
                      model->scene.file, rom->body, changed);
}

static bool finite_all(const double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(a[i]))
            return false;
    return true;
}

// Sizes of what a file says, before anything is taken or read by them.
static tdStatus check_sizes(const tdSoft *soft, const tdRom *rom, tdError *error)
{
    if (rom->n_nodes != soft->n_nodes)
        return td_fail_at(error, TD_ERROR_INPUT, rom->file, 0, NULL,
                          "the reduced model has %lld nodes, body '%s' of the scene %d; make it again with 'tendril "
                          "reduce'",
                          (long long)rom->n_nodes, rom->body, soft->n_nodes);
    int64_t coords = 3 * rom->n_nodes;
    if (rom->r < 1 || rom->n_u < 0 || rom->r > coords || rom->n_u > coords || rom->r + rom->n_u > TD_REDUCED_MODES)
        return td_fail_at(error, TD_ERROR_INPUT, rom->file, 0, NULL,
                          "%d modes and %d moved coordinates cannot be used; 1 to %d modes can", rom->r, rom->n_u,
                          TD_REDUCED_MODES);
    if (!finite_all(rom->phi, coords * rom->r) || !finite_all(rom->psi, coords * rom->n_u))
        return refuse(rom, error, "the modes hold numbers that are not finite; make the file again", NULL);
    return TD_OK;
}

static tdStatus check_body(const tdSoft *soft, const tdRom *rom, tdError *error)
{
    if (rom->frame != TD_FRAME_FIXED && (rom->n_u > 0 || soft->supported))
        return refuse(rom, error,
                      "the file has a frame that is free, but the scene holds the body; make the file again with the "
                      "frame 'fixed'",
                      NULL);
    if (rom->frame == TD_FRAME_FREE && !(soft->total_mass > 0))
        return refuse(rom, error, "a body on a free frame needs mass; give its materials a density", NULL);
    if (soft->n_turned > 0)
        return refuse(
            rom, error,
            "a rotation actuator moves nodes along arcs, which no sum of modes does; use the full order, or a "
            "translation",
            NULL);
    for (int k = 0; k < soft->n_loads; k++)
        if (soft->loads[k].kind == TD_LOAD_SURFACE_PRESSURE)
            return refuse(
                rom, error,
                "a pressure load on a surface follows it, which a reduced body does not; use a cavity actuator, "
                "or the full order",
                NULL);
    return TD_OK;
}

// ---------------------------------------------------------------- the domain

static tdStatus pick_elements(const tdSoft *soft, const tdRom *rom, bool whole, bool second, double *weight,
                              tdError *error)
{
    for (int64_t e = 0; e < soft->elements && whole; e++)
        weight[e] = 1;
    for (int d = 0; d < rom->n_domains && !whole; d++)
    {
        const tdRomDomain *domain = &rom->domains[d];
        const int32_t *element = second ? domain->check : domain->element;
        const double *factor = second ? domain->check_weight : domain->weight;
        for (int64_t k = 0; k < (second ? domain->n_check : domain->n); k++)
        {
            int32_t e = element[k];
            if (e < 0 || e >= soft->elements || weight[e] != 0 || !(factor[k] > 0) || !isfinite(factor[k]))
                return td_fail_at(error, TD_ERROR_INPUT, rom->file, 0, domain->name,
                                  "entry %lld of the domain (element %d, weight %g) is not one of the %lld elements of "
                                  "body '%s', appears twice or has no positive weight; make the file again",
                                  (long long)k, e, factor[k], (long long)soft->elements, rom->body);
            weight[e] = factor[k];
        }
    }
    return TD_OK;
}

static tdStatus domain_block(tdArena *arena, const tdElements *from, const double *weight, int32_t *lane,
                             tdElements *to, tdError *error)
{
    int points = td_element_shape[from->kind].points;
    int64_t n = 0;
    for (int64_t k = 0; k < 4 * (int64_t)from->batches; k++)
        if (from->element[k] >= 0 && weight[from->element[k]] > 0)
            lane[n++] = (int32_t)k;
    *to = (tdElements){.kind = from->kind, .material = from->material, .count = n, .chunks = 1};
    to->batches = (int32_t)((n + 3) / 4);
    to->element = TD_TAKE(arena, int32_t, 4 * (int64_t)to->batches);
    to->weight = TD_TAKE(arena, double, 4 * (int64_t)to->batches * points);
    to->normal = TD_TAKE(arena, double, from->normal == NULL ? 0 : 12 * (int64_t)to->batches);
    to->chunk = TD_TAKE(arena, int32_t, 2);
    if (to->element == NULL || to->weight == NULL || to->normal == NULL || to->chunk == NULL)
        return td_fail_memory(error, "the domain of a reduced body");
    to->chunk[1] = to->batches;
    for (int64_t k = 0; k < 4 * (int64_t)to->batches; k++)
    {
        int64_t batch = k / 4, l = k % 4;
        lane[k] = lane[k < n ? k : n - 1];
        int32_t source = lane[k], e = from->element[source];
        to->element[k] = k < n ? e : -1;
        for (int p = 0; p < points && k < n; p++)
            to->weight[4 * (points * batch + p) + l] =
                weight[e] * from->weight[4 * (points * (int64_t)(source / 4) + p) + source % 4];
        for (int c = 0; c < 3 && from->normal != NULL; c++)
            to->normal[4 * (3 * batch + c) + l] = from->normal[4 * (3 * (int64_t)(source / 4) + c) + source % 4];
    }
    return TD_OK;
}

tdStatus td_reduced_domain(tdArena *arena, const tdSoft *soft, const double *weight, tdSoft *domain, int32_t *lane,
                           tdError *error)
{
    domain->blocks = TD_TAKE(arena, tdElements, soft->n_blocks);
    if (domain->blocks == NULL)
        return td_fail_memory(error, "the domain of a reduced body");
    domain->constant = domain->semidefinite = true;
    for (int k = 0; k < soft->n_blocks; k++)
    {
        tdElements *block = &domain->blocks[domain->n_blocks++];
        TD_TRY(domain_block(arena, &soft->blocks[k], weight, lane, block, error));
        lane += 4 * (int64_t)block->batches;
        int64_t points = (int64_t)block->batches * td_element_shape[block->kind].points;
        const tdLaw *law = block->material.law;
        block->first = domain->point_batches;
        block->first_chunk = k;
        domain->point_batches += points;
        domain->chunks++;
        domain->constant = domain->constant && law->constant && block->material.n_prony == 0;
        domain->semidefinite = domain->semidefinite && law->semidefinite && block->material.n_prony == 0;
        domain->lagged = domain->lagged || law->rotation == TD_ROTATION_LAGGED;
        domain->turning =
            domain->turning || law->rotation == TD_ROTATION_LAGGED || law->rotation == TD_ROTATION_CURRENT;
        if (block->material.n_prony == 0)
            continue;
        block->history = domain->history;
        block->H = domain->H;
        domain->history += 24 * points * (1 + block->material.n_prony);
        domain->H += 24 * points;
    }
    return TD_OK;
}

// ---------------------------------------------------------------- rows

// Gradient of node a of an element at one of its points. Of a linear tetrahedron the first follows from the others.
static void node_gradient(const tdElements *block, int32_t lane, int point, int a, double g[3])
{
    const tdElementShape *shape = &td_element_shape[block->kind];
    int skip = block->kind == TD_ELEMENT_TET4, n = shape->nodes - skip, l = lane % 4;
    const double *from = block->gradient + 12 * (n * (shape->points * (int64_t)(lane / 4) + point));
    for (int c = 0; c < 3; c++)
        g[c] = a >= skip ? from[4 * (3 * (a - skip) + c) + l]
                         : -(from[4 * c + l] + from[4 * (3 + c) + l] + from[4 * (6 + c) + l]);
}

void td_reduced_rows(const tdSoft *soft, const double *basis, int stride, const tdElements *block,
                     const int32_t lane[4], int point, double *B, double *F0)
{
    int nodes = td_element_shape[block->kind].nodes;
    memset(B, 0, 36 * (size_t)stride * sizeof *B);
    memset(F0, 0, 36 * sizeof *F0);
    for (int l = 0; l < 4; l++)
    {
        const double *n = block->normal == NULL ? NULL : block->normal + 12 * (int64_t)(lane[l] / 4) + lane[l] % 4;
        for (int c = 0; c < 9 && n != NULL && block->material.through == TD_THROUGH_HELD; c++)
            F0[4 * c + l] = n[4 * (c / 3)] * n[4 * (c % 3)];
        for (int a = 0; a < nodes; a++)
        {
            int64_t node = block->nodes[4 * (nodes * (int64_t)(lane[l] / 4) + a) + lane[l] % 4];
            double g[3];
            node_gradient(block, lane[l], point, a, g);
            for (int c = 0; c < 9; c++)
            {
                const double *from = basis + (3 * node + c / 3) * stride;
                double *to = B + (4 * c + l) * (int64_t)stride;
                F0[4 * c + l] += soft->rest[3 * node + c / 3] * g[c % 3];
                for (int j = 0; j < stride; j++)
                    to[j] += g[c % 3] * from[j];
            }
        }
    }
}

static tdStatus build_rows(tdArena *arena, tdReduced *reduced, const int32_t *lane, tdError *error)
{
    tdSoft *domain = &reduced->domain;
    int64_t step = 36 * (int64_t)reduced->stride;
    reduced->F0 = TD_TAKE(arena, double, 36 * domain->point_batches);
    reduced->B = domain->point_batches > INT64_MAX / step ? NULL : TD_TAKE(arena, double, step * domain->point_batches);
    if (reduced->F0 == NULL || reduced->B == NULL)
        return td_fail_memory(error, "the domain of a reduced body");
    for (int k = 0; k < domain->n_blocks; k++)
    {
        const tdElements *block = &domain->blocks[k];
        int points = td_element_shape[block->kind].points;
        for (int32_t b = 0; b < block->batches; b++, lane += 4)
            for (int p = 0; p < points; p++)
            {
                int64_t point = block->first + points * (int64_t)b + p;
                td_reduced_rows(reduced->soft, reduced->basis, reduced->stride, &reduced->soft->blocks[k], lane, p,
                                reduced->B + step * point, reduced->F0 + 36 * point);
            }
    }
    return TD_OK;
}

// The constant part of corotational tangents (material/corotational.h). A thickness that follows takes the general way.
static tdStatus build_constant(tdArena *arena, tdReduced *reduced, tdError *error)
{
    const tdSoft *domain = &reduced->domain;
    int64_t stride = reduced->stride;
    reduced->constant = TD_TAKE(arena, double *, domain->n_blocks);
    double *Y = td_take(36 * (size_t)stride, sizeof *Y);
    bool good = reduced->constant != NULL && Y != NULL;
    for (int k = 0; k < domain->n_blocks && good; k++)
    {
        const tdElements *block = &domain->blocks[k];
        const tdMaterial *m = &block->material;
        if ((m->law != td_law(TD_LAW_COROTATIONAL) && m->law != td_law(TD_LAW_COROTATIONAL_LAGGED)) ||
            m->through == TD_THROUGH_FREE)
            continue;
        double *K = reduced->constant[k] = TD_TAKE(arena, double, stride *stride);
        int64_t points = (int64_t)block->batches * td_element_shape[block->kind].points;
        for (int64_t p = 0; p < points && (good = K != NULL); p++)
        {
            const double *B = reduced->B + 36 * stride * (block->first + p);
            for (int64_t i = 0; i < 36 * stride; i++)
                Y[i] = 2 * m->parameters[0] * block->weight[4 * p + i / stride % 4] * B[i];
            td_reduced_kernels(TD_ISA_PORTABLE)->gram(36, reduced->stride, B, Y, K);
        }
    }
    free(Y);
    return good ? TD_OK : td_fail_memory(error, "the domain of a reduced body");
}

tdStatus td_reduced_build_domain(tdArena *arena, tdReduced *reduced, const tdRom *rom, bool whole, bool second,
                                 tdError *error)
{
    const tdSoft *soft = reduced->soft;
    double *weight = td_take((size_t)soft->elements, sizeof *weight);
    int32_t *lane = td_take((size_t)soft->elements + 4 * (size_t)soft->n_blocks, sizeof *lane);
    tdStatus status = weight == NULL || lane == NULL ? td_fail_memory(error, "the domain of a reduced body") : TD_OK;
    if (status == TD_OK)
        status = pick_elements(soft, rom, whole, second, weight, error);
    if (status == TD_OK)
        status = td_reduced_domain(arena, soft, weight, &reduced->domain, lane, error);
    if (status == TD_OK && reduced->domain.point_batches == 0)
        status = refuse(rom, error, "the file has no elements to integrate over; make it again", NULL);
    if (status == TD_OK)
        status = build_rows(arena, reduced, lane, error);
    if (status == TD_OK)
        status = build_constant(arena, reduced, error);
    if (status == TD_OK)
        status = td_reduced_build_lanes(arena, reduced, error);
    free(weight);
    free(lane);
    return status;
}

// ---------------------------------------------------------------- basis, mass, loads

static int find_input(const tdModel *model, const tdSoft *soft, const char *name)
{
    if (name != NULL && name[0] != '\0')
        return td_model_find_input(model, name);
    for (int32_t k = 0; k < soft->n_driven; k++)
        if (soft->driven[k].input < 0)
            return -1;
    return -2;
}

// Names of inputs, and that the file moves the held coordinates as the scene does.
static tdStatus match_inputs(tdModel *model, tdReduced *reduced, const tdRom *rom, tdError *error)
{
    const tdSoft *soft = reduced->soft;
    for (int k = 0; k < rom->n_u; k++)
    {
        const char *name = rom->inputs[k];
        bool unnamed = name == NULL || name[0] == '\0';
        reduced->input[k] = find_input(model, soft, name);
        if (reduced->input[k] < (unnamed ? -1 : 0))
            return refuse(rom, error, "the scene has no input that moves nodes named ", unnamed ? "''" : name);
        reduced->held[k] = reduced->r + k;
    }
    for (int32_t d = 0; d < soft->n_driven; d++)
    {
        const tdDriven *driven = &soft->driven[d];
        double moved = 0;
        for (int k = 0; k < rom->n_u; k++)
            moved += reduced->input[k] == driven->input ? rom->psi[driven->coord * (int64_t)rom->n_u + k] : 0;
        if (!(fabs(moved - driven->displacement) <= 1e-9 * (1 + fabs(driven->displacement))))
            return refuse(rom, error, "the file does not move its nodes as the scene does by the input ",
                          driven->input < 0 ? "''" : model->inputs[driven->input].name);
    }
    // What rounding left of a decomposition on held coordinates is taken away.
    for (int32_t k = 0; k < soft->n_held; k++)
        for (int j = 0; j < rom->r; j++)
        {
            double *moved = reduced->basis + soft->held_list[k] * (int64_t)reduced->stride + j;
            if (fabs(*moved) > 1e-9)
                return refuse(rom, error, "a mode moves nodes that the scene holds; make the file again", NULL);
            *moved = 0;
        }
    return TD_OK;
}

static tdStatus build_basis(tdModel *model, tdReduced *reduced, const tdRom *rom, tdError *error)
{
    tdArena *arena = &model->arena;
    int64_t coords = 3 * rom->n_nodes;
    reduced->basis = TD_TAKE(arena, double, coords * reduced->stride);
    reduced->input = TD_TAKE(arena, int32_t, rom->n_u);
    reduced->held = TD_TAKE(arena, int32_t, rom->n_u);
    if (reduced->basis == NULL || reduced->input == NULL || reduced->held == NULL)
        return td_fail_memory(error, "the modes of a reduced body");
    for (int64_t i = 0; i < coords; i++)
    {
        double *to = reduced->basis + i * reduced->stride;
        memcpy(to, rom->phi + i * rom->r, (size_t)rom->r * sizeof *to);
        for (int k = 0; k < rom->n_u; k++)
            to[rom->r + k] = rom->psi[i * rom->n_u + k];
    }
    return match_inputs(model, reduced, rom, error);
}

// out = basis' f over the coordinates of the nodes
static void project(const tdReduced *reduced, const double *f, double *out)
{
    for (int64_t i = 0; i < 3 * (int64_t)reduced->soft->n_nodes; i++)
        for (int j = 0; j < reduced->n; j++)
            out[j] += f[i] * reduced->basis[i * reduced->stride + j];
}

// M = basis' (mass) basis, and the velocity of the start: momentum of the nodes on the modes, M v = Phi' mass v.
static tdStatus build_mass(tdModel *model, const tdSceneBody *given, tdReduced *reduced, tdError *error)
{
    const tdSoft *soft = reduced->soft;
    int64_t stride = reduced->stride, coords = 3 * (int64_t)soft->n_nodes;
    const tdReducedKernels *kernels = td_reduced_kernels(TD_ISA_PORTABLE); // the same model on every machine
    double *Y = td_take((size_t)coords, (size_t)stride * sizeof *Y), *x = td_take((size_t)coords, sizeof *x);
    double *y = td_take((size_t)coords, sizeof *y), *L = td_take((size_t)(stride * stride), sizeof *L);
    bool good = Y != NULL && x != NULL && y != NULL && L != NULL;
    for (int j = 0; j <= reduced->n && good; j++)
    {
        bool velocity = j == reduced->n;
        for (int64_t i = 0; i < coords; i++)
            x[i] = !velocity ? reduced->basis[i * stride + j] : soft->held[i] ? 0 : given->velocity[i % 3];
        td_block_multiply_scalar(NULL, &soft->pattern, soft->mass, x, y, false);
        for (int64_t i = 0; i < coords && !velocity; i++)
            Y[i * stride + j] = y[i];
        if (velocity)
            project(reduced, y, reduced->start);
    }
    if (good)
    {
        kernels->gram(coords, (int)stride, reduced->basis, Y, reduced->M);
        for (int i = 0; i < reduced->n; i++)
            for (int j = 0; j < i; j++)
                reduced->M[j * stride + i] = reduced->M[i * stride + j];
        memset(reduced->start + reduced->r, 0, (size_t)reduced->n_u * sizeof(double));
        if (reduced->floating != NULL) // no mode moves the centre
        {
            memset(reduced->start, 0, (size_t)reduced->r * sizeof(double));
            memcpy(reduced->start + reduced->r, given->velocity, 3 * sizeof(double));
        }
        else if (kernels->cholesky(reduced->r, (int)stride, reduced->M, L))
            kernels->solve(reduced->r, (int)stride, L, 1, 0, reduced->start);
        else
            memset(reduced->start, 0, (size_t)reduced->r * sizeof(double)); // no mass: a static scene
    }
    free(Y);
    free(x);
    free(y);
    free(L);
    (void)model;
    return good ? TD_OK : td_fail_memory(error, "the mass of a reduced body");
}

static tdStatus build_loads(tdModel *model, tdReduced *reduced, tdError *error)
{
    const tdSoft *soft = reduced->soft;
    int64_t coords = 3 * (int64_t)soft->n_nodes;
    double *f = td_take((size_t)coords, sizeof *f);
    reduced->loads = TD_TAKE(&model->arena, tdReducedLoad, soft->n_loads);
    bool good = f != NULL && reduced->loads != NULL;
    for (int64_t i = 0; i < coords && good; i++)
        f[i] = soft->node_weight[i / 3] * model->scene.settings.gravity[i % 3];
    if (good && reduced->floating != NULL)
        td_floating_add_load(soft, reduced->stride, reduced->basis, f, reduced->floating);
    else if (good)
        project(reduced, f, reduced->gravity);
    for (int c = 0; c < 3 && good && reduced->floating == NULL; c++)
    {
        for (int64_t i = 0; i < coords; i++)
            f[i] = i % 3 == c ? soft->node_weight[i / 3] : 0;
        project(reduced, f, reduced->weight + (int64_t)c * reduced->n);
    }
    for (int k = 0; k < soft->n_loads && good; k++)
    {
        const tdSoftLoad *load = &soft->loads[k];
        tdReducedLoad *to = &reduced->loads[reduced->n_loads++];
        to->input = load->input;
        good = (to->force = TD_TAKE(&model->arena, double, reduced->n)) != NULL;
        memset(f, 0, (size_t)coords * sizeof *f);
        for (int32_t i = 0; i < load->n && good; i++)
            for (int c = 0; c < 3; c++)
                f[3 * (int64_t)load->nodes[i] + c] += load->force[3 * i + c];
        if (good && reduced->floating != NULL)
            td_floating_add_load(soft, reduced->stride, reduced->basis, f, reduced->floating);
        else if (good)
            project(reduced, f, to->force);
    }
    free(f);
    return good ? TD_OK : td_fail_memory(error, "the loads of a reduced body");
}

// A checkpoint belongs to the reduced model too.
static void hash_reduced(tdModel *model, const tdReduced *reduced, const tdRom *rom)
{
    uint64_t hash = td_hash_mix(model->scene.hash ^ (uint64_t)rom->frame);
    hash = mix_bytes(hash, rom->phi, 3 * (size_t)rom->n_nodes * (size_t)rom->r * sizeof(double));
    if (rom->n_u > 0)
        hash = mix_bytes(hash, rom->psi, 3 * (size_t)rom->n_nodes * (size_t)rom->n_u * sizeof(double));
    for (int k = 0; k < reduced->domain.n_blocks; k++)
    {
        const tdElements *block = &reduced->domain.blocks[k];
        int64_t lanes = 4 * (int64_t)block->batches;
        hash = mix_bytes(hash, block->element, (size_t)lanes * sizeof *block->element);
        hash = mix_bytes(hash, block->weight,
                         (size_t)(lanes * td_element_shape[block->kind].points) * sizeof *block->weight);
    }
    if (td_reduced_polynomial(reduced))
        hash = mix_bytes(hash, reduced->stvk.S, (size_t)td_stvk_quadruples(reduced->n) * sizeof(double));
    model->scene.hash = hash;
}

// A tangent in single precision is good enough when steps with it end where they would in double precision.
static bool wants_single(const tdRom *rom, const tdSettings *settings)
{
    return settings->rom_precision == TD_ROM_SINGLE ||
           (settings->rom_precision == TD_ROM_AUTO && rom->single_error > 0 &&
            rom->single_error <= TD_ROM_SINGLE_ERROR);
}

// Rows of B in single precision, whole registers of them.
static tdStatus build_single(tdArena *arena, tdReduced *reduced, tdError *error)
{
    int64_t stride = reduced->stride, n = (stride + 7) / 8 * 8, rows = 36 * reduced->domain.point_batches;
    reduced->B_single = TD_TAKE(arena, float, rows *n);
    if (reduced->B_single == NULL)
        return td_fail_memory(error, "the domain of a reduced body");
    reduced->stride_single = (int)n;
    for (int64_t k = 0; k < rows; k++)
        for (int64_t j = 0; j < stride; j++)
            reduced->B_single[k * n + j] = (float)reduced->B[k * stride + j];
    return td_reduced_build_lanes_single(arena, reduced, error);
}

// Modes of training with contact have in them what contact does, together with all else that acted. Older files do not
// say; bodies that nothing holds were mostly trained on a floor.
static bool met_others(const tdRom *rom)
{
    return isnan(rom->contact) ? rom->n_lambda == 0 && rom->frame != TD_FRAME_FIXED : rom->contact > 0;
}

tdStatus td_compile_reduced(tdModel *model, int index, const tdRom *rom, const tdSettings *settings, tdError *error)
{
    bool whole = settings->rom_whole;
    tdBody *body = &model->bodies[index];
    tdSoft *soft = body->data;
    TD_TRY(check_sizes(soft, rom, error));
    TD_TRY(check_physics(model, index, rom, error));
    TD_TRY(check_body(soft, rom, error));
    tdReduced *reduced = TD_TAKE(&model->arena, tdReduced, 1);
    if (reduced == NULL)
        return td_fail_memory(error, "the reduced body");
    reduced->soft = soft;
    reduced->r = rom->r;
    reduced->n_u = rom->n_u;
    reduced->n = rom->r + rom->n_u;
    reduced->stride = reduced->wide = (reduced->n + 3) / 4 * 4;
    reduced->coords = reduced->n;
    reduced->M = TD_TAKE(&model->arena, double, (int64_t)reduced->stride * reduced->stride);
    reduced->start = TD_TAKE(&model->arena, double, reduced->n + TD_FLOATING);
    reduced->gravity = TD_TAKE(&model->arena, double, reduced->n);
    reduced->weight = TD_TAKE(&model->arena, double, 3 * reduced->n);
    if (reduced->M == NULL || reduced->start == NULL || reduced->gravity == NULL || reduced->weight == NULL)
        return td_fail_memory(error, "the reduced body");
    TD_TRY(build_basis(model, reduced, rom, error));
    TD_TRY(td_reduced_frame_compile(model, reduced, rom, error));
    bool polynomial = rom->kind == TD_ROM_STVK && !whole;
    if (!polynomial)
        TD_TRY(td_reduced_build_domain(&model->arena, reduced, rom, whole, false, error));
    if (!polynomial && !whole && wants_single(rom, settings))
        TD_TRY(build_single(&model->arena, reduced, error));
    TD_TRY(td_reduced_check_compile(model, index, reduced, rom, whole, error));
    TD_TRY(build_mass(model, &model->scene.bodies[index], reduced, error));
    TD_TRY(build_loads(model, reduced, error));
    tdEnrichment enrichment = model->scene.bodies[index].enrichment;
    // Inverse control reaches effectors by the modes: it would not see that a dent is what holds them.
    bool wanted = enrichment == TD_ENRICHMENT_AUTO && !met_others(rom);
    reduced->enriched = enrichment == TD_ENRICHMENT_ON || (wanted && model->scene.n_effectors == 0);
    if (reduced->enriched || wanted || enrichment == TD_ENRICHMENT_OFF)
        TD_TRY(td_residual_create(soft, reduced->r, rom->frame == TD_FRAME_TRANSLATION ? 3 : 0, reduced->stride,
                                  reduced->basis, rom->frame != TD_FRAME_FIXED, &reduced->residual, error));
    // The last that may fail: both have memory of their own.
    tdStatus status = polynomial ? td_reduced_stvk_compile(reduced, rom, error) : TD_OK;
    if (status != TD_OK)
    {
        td_residual_free(reduced->residual);
        return status;
    }
    hash_reduced(model, reduced, rom);
    td_linear_model_free(&soft->linear); // the sparse matrix is never factored
    td_reduced_list_modes(reduced);
    body->modes = &reduced->modes;
    body->n_turns = reduced->floating != NULL ? 4 : 0;
    body->ops = &td_reduced_ops;
    body->data = reduced;
    body->count = reduced->coords;
    body->unknowns = td_reduced_unknowns(reduced);
    body->n_held = reduced->n_u;
    body->held = reduced->held;
    return TD_OK;
}
