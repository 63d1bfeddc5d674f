// SPDX-License-Identifier: Apache-2.0
// What a soft body is made of: each element gets the material of its group or else that of the body, and the
// elements of one kind and one material become a list, later a block.
#include "base/log.h"
#include "base/suggest.h"
#include "scene/compile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY (-1) // no material yet, or not an element

// By cell of each type: the material, an index into given->materials, or n_materials for the body's own.
typedef struct owners
{
    int32_t *of[TD_CELL_TYPES];
} owners;

static bool has_volume(const tdMesh *mesh)
{
    return mesh->cells[TD_CELL_TET].count + mesh->cells[TD_CELL_HEX].count + mesh->cells[TD_CELL_TET10].count > 0;
}

bool td_body_is_flat(const tdBodyWork *w)
{
    return !has_volume(&w->soft->mesh);
}

static bool is_membrane(const tdSceneBody *body, const tdSceneMaterial *material)
{
    return body->plane == TD_PLANE_NONE && material->thickness > 0;
}

static const tdSceneMaterial *material_at(const tdSceneBody *body, int k)
{
    return k == body->n_materials ? &body->material : &body->materials[k];
}

static tdStatus fail(const tdBodyWork *w, int line, const char *field, const char *message, tdError *error)
{
    return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, line, field, "body '%s': %s", w->given->name,
                      message);
}

static tdStatus check_cells(const tdBodyWork *w, tdError *error)
{
    const tdMesh *mesh = &w->soft->mesh;
    int line = w->given->mesh_line;
    int64_t tris = mesh->cells[TD_CELL_TRI].count, quads = mesh->cells[TD_CELL_QUAD].count;
    bool membranes = false;
    for (int k = 0; k <= w->given->n_materials; k++)
        membranes = membranes || is_membrane(w->given, material_at(w->given, k));
    if (w->given->plane == TD_PLANE_NONE)
    {
        if (has_volume(mesh) || (membranes && tris > 0))
            return TD_OK;
        if (tris + quads > 0)
            return fail(w, line, "mesh",
                        "the mesh is a surface; fill it with tetrahedra first: tendril mesh IN -o OUT.msh --size H, or "
                        "make it of triangles and give them a membrane's material in 'materials'",
                        error);
        return fail(w, line, "mesh", "the mesh has no tetrahedra or hexahedra", error);
    }
    if (has_volume(mesh))
        return fail(w, line, "mesh",
                    "a plane body is made of triangles, but the mesh has volume elements; remove 'plane'", error);
    if (quads > 0)
        return fail(w, line, "mesh", "a plane body is made of triangles, but the mesh has quadrilaterals; mesh it anew",
                    error);
    if (tris == 0)
        return fail(w, line, "mesh", "the mesh has no triangles", error);
    double low = INFINITY, high = -INFINITY, size = 0;
    for (int64_t i = 0; i < mesh->n_nodes; i++)
    {
        low = fmin(low, mesh->x[3 * i + 2]);
        high = fmax(high, mesh->x[3 * i + 2]);
        size = fmax(size, hypot(mesh->x[3 * i] - mesh->x[0], mesh->x[3 * i + 1] - mesh->x[1]));
    }
    if (!(high - low <= 1e-9 * size))
        return fail(w, line, "mesh",
                    "a plane body lies in a plane z = constant, but its nodes do not; use 'transform' to turn it",
                    error);
    return TD_OK;
}

// ---------------------------------------------------------------- groups

static tdStatus nothing_chosen(const tdBodyWork *w, int k, const char *what, tdError *error)
{
    char field[64];
    snprintf(field, sizeof field, "bodies[%d].materials[%d]", w->index, k);
    return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, w->given->materials[k].line, field,
                      "selects no %s of body '%s'; 'tendril info' shows where the mesh is, and the scene's units and "
                      "transform apply to it",
                      what, w->given->name);
}

// Elements whose middle is in a box or a sphere, so that those on its surface are not all left out; or all of whose
// nodes are listed or in a connected part.
static tdStatus choose_elements(tdBodyWork *w, int k, int group, tdError *error)
{
    tdMesh *mesh = &w->soft->mesh;
    const tdSelect *select = &w->given->materials[k].select;
    bool by_nodes = select->kind == TD_SELECT_NODES || select->kind == TD_SELECT_PART,
         flat = w->given->plane != TD_PLANE_NONE;
    char field[64];
    snprintf(field, sizeof field, "bodies[%d].materials[%d]", w->index, k);
    double size = td_select_size(mesh);
    if (select->kind == TD_SELECT_SIDE)
        return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, select->line, field,
                          "a side has faces and no elements, so it is for membranes ('element: membrane'); choose "
                          "elements by box, sphere, part or group");
    if (by_nodes)
        TD_TRY(td_select_nodes(w->model, mesh, select, field, w->chosen, error));
    for (int type = 0; type < TD_CELL_TYPES; type++)
    {
        int n = td_cell_nodes((tdCellType)type);
        if (flat ? type != TD_CELL_TRI : td_cell_dim((tdCellType)type) < 3)
            continue;
        for (int64_t c = 0; c < mesh->cells[type].count; c++)
        {
            const int32_t *nodes = mesh->cells[type].nodes + n * c;
            double middle[3] = {0, 0, 0};
            bool all = true;
            for (int a = 0; a < n; a++)
                for (int i = 0; i < 3; i++)
                {
                    middle[i] += mesh->x[3 * (int64_t)nodes[a] + i] / n;
                    all = all && (!by_nodes || w->chosen[nodes[a]]);
                }
            if ((by_nodes ? all : td_select_holds(select, middle, size)) &&
                !td_mesh_group_add(mesh, group, (tdCellType)type, c))
                return td_fail_memory(error, "the materials");
        }
    }
    for (int type = 0; type < TD_CELL_TYPES; type++)
        if (mesh->groups[group].count[type] > 0)
            return TD_OK;
    return nothing_chosen(w, k, "element", error);
}

// Faces of the boundary all of whose nodes are chosen, as loads have them. A mesh need not have triangles of its own
// there: they are added.
static tdStatus choose_faces(tdBodyWork *w, int k, int group, tdError *error)
{
    tdMesh *mesh = &w->soft->mesh;
    tdSurface surface = {0};
    char field[64];
    snprintf(field, sizeof field, "bodies[%d].materials[%d]", w->index, k);
    const tdSelect *select = &w->given->materials[k].select;
    bool *side = NULL;
    tdStatus status = td_select_nodes(w->model, mesh, select, field, w->chosen, error);
    if (status == TD_OK)
        status = td_mesh_boundary_faces(mesh, &surface, error);
    if (status == TD_OK && select->kind == TD_SELECT_SIDE)
    {
        side = td_take((size_t)surface.n_tris, sizeof *side);
        status = side == NULL ? td_fail_memory(error, "the materials")
                              : td_select_triangles(w->model, mesh, &surface, select, field, side, error);
    }
    for (int64_t t = 0; t < surface.n_tris && status == TD_OK; t++)
    {
        const int32_t *nodes = surface.tris + 3 * t;
        if (w->chosen[nodes[0]] && w->chosen[nodes[1]] && w->chosen[nodes[2]] && (side == NULL || side[t]) &&
            (!td_mesh_add_cell(mesh, TD_CELL_TRI, nodes) ||
             !td_mesh_group_add(mesh, group, TD_CELL_TRI, mesh->cells[TD_CELL_TRI].count - 1)))
            status = td_fail_memory(error, "the materials");
    }
    free(side);
    td_surface_free(&surface);
    if (status == TD_OK && mesh->groups[group].count[TD_CELL_TRI] == 0)
        return nothing_chosen(w, k, "face of the boundary", error);
    return status;
}

// Materials that are not for a group of the mesh get one.
static tdStatus make_groups(tdBodyWork *w, tdError *error)
{
    for (int k = 0; k < w->given->n_materials; k++)
    {
        const tdSceneMaterial *material = &w->given->materials[k];
        if (material->select.kind == TD_SELECT_GROUP)
            continue;
        int group = td_mesh_new_group(&w->soft->mesh, material->group, -1, 0);
        if (group < 0)
            return td_fail_memory(error, "the materials");
        TD_TRY(is_membrane(w->given, material) ? choose_faces(w, k, group, error)
                                               : choose_elements(w, k, group, error));
    }
    return TD_OK;
}

static tdStatus find_group(const tdBodyWork *w, int k, const char *field, const tdGroup **out, tdError *error)
{
    const tdMesh *mesh = &w->soft->mesh;
    const tdSceneMaterial *material = &w->given->materials[k];
    int g = td_mesh_find_group(mesh, material->group);
    if (g < 0)
    {
        const char *names[64];
        int n = mesh->n_groups < 64 ? mesh->n_groups : 64;
        for (int i = 0; i < n; i++)
            names[i] = mesh->groups[i].name;
        const char *nearest = td_suggest(material->group, names, n);
        return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, material->line, field,
                          "group '%s' is not in the mesh of body '%s'%s%s%s", material->group, w->given->name,
                          nearest != NULL ? "; did you mean '"
                          : n > 0         ? "; 'tendril info' lists its groups"
                                          : ", which has no groups",
                          nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
    }
    *out = &mesh->groups[g];
    return TD_OK;
}

static tdStatus claim_group(const tdBodyWork *w, int k, owners *owner, tdError *error)
{
    const tdSceneMaterial *material = &w->given->materials[k];
    bool flat = w->given->plane != TD_PLANE_NONE || is_membrane(w->given, material);
    const tdGroup *group = NULL;
    char field[64];
    snprintf(field, sizeof field, "bodies[%d].materials[%d]", w->index, k);
    TD_TRY(find_group(w, k, field, &group, error));
    int64_t claimed = 0;
    for (int type = 0; type < TD_CELL_TYPES; type++)
    {
        if (flat ? type != TD_CELL_TRI : td_cell_dim((tdCellType)type) < 3)
            continue;
        for (int64_t i = 0; i < group->count[type]; i++)
        {
            int32_t *to = &owner->of[type][group->cells[type][i]];
            if (*to != NOBODY)
                return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, material->line, field,
                                  "element %d (%s) of body '%s' is in both '%s' and '%s', which have different "
                                  "materials; give each element one",
                                  group->cells[type][i], td_cell_name((tdCellType)type), w->given->name,
                                  w->given->materials[*to].group, material->group);
            *to = k;
        }
        claimed += group->count[type];
    }
    if (claimed == 0)
        return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, material->line, field,
                          "group '%s' of body '%s' has no %s; %s", material->group, w->given->name,
                          flat ? "triangles" : "volume elements",
                          flat ? "membranes and plane bodies are made of triangles with three nodes"
                               : "name a group of tetrahedra or hexahedra, or add 'element: membrane'");
    return TD_OK;
}

// ---------------------------------------------------------------- one material

static tdStatus fail_formulation(const tdBodyWork *w, tdElementKind kind, tdError *error)
{
    if (kind == TD_ELEMENT_TRI3)
        return fail(w, w->given->line, "formulation",
                    "a linear triangle has one point, so that mean_dilatation changes nothing in it and it locks near "
                    "incompressibility all the same; remove 'formulation', or use hexahedra one cell thick",
                    error);
    if (kind == TD_ELEMENT_TET4)
        return fail(w, w->given->line, "formulation",
                    "a linear tetrahedron has one point, so that mean_dilatation changes nothing in it; use hexahedra "
                    "(mesh: {box: ..., elements: hexahedra}) or quadratic tetrahedra (gmsh: order 2), or remove "
                    "'formulation'",
                    error);
    return fail(w, w->given->line, "formulation",
                "mean_dilatation needs a law with an energy of the change of volume, such as neo_hookean", error);
}

static tdStatus compile_prony(const tdBodyWork *w, const tdSceneMaterial *given, tdMaterial *out, tdError *error)
{
    out->n_prony = given->n_prony;
    memcpy(out->g, given->prony_g, sizeof out->g);
    memcpy(out->tau, given->prony_tau, sizeof out->tau);
    if (given->n_prony > 0 && (out->law->constant || out->law->rotation == TD_ROTATION_LAGGED))
        return td_fail_at(error, TD_ERROR_INPUT, w->model->scene.file, given->line, "material",
                          "body '%s': the law %s cannot be viscoelastic, its stress has no symmetric form in the rest "
                          "shape; use 'corotational', 'stvk' or 'neo_hookean'",
                          w->given->name, out->law->name);
    return TD_OK;
}

// Volume elements of low order that see one condition of volume a point lock.
static void warn_about_locking(const tdBodyWork *w, tdElementKind kind, const tdMaterial *material)
{
    double young = 0, poisson = 0;
    td_law_engineering(material->law, material->parameters, &young, &poisson);
    bool locks = kind == TD_ELEMENT_TET4 || kind == TD_ELEMENT_HEX8 ||
                 (kind == TD_ELEMENT_TRI3 && material->through == TD_THROUGH_HELD);
    if (!(poisson > 0.49) || !locks || material->mean_dilatation)
        return;
    td_log(w->settings, TD_LOG_WARNING,
           "body '%s': Poisson's ratio %.4g with %s: they lock (too stiff) near "
           "incompressibility; results are trustworthy up to about 0.45%s",
           w->given->name, poisson,
           kind == TD_ELEMENT_TET4   ? "linear tetrahedra"
           : kind == TD_ELEMENT_HEX8 ? "hexahedra in the standard formulation"
                                     : "linear triangles in plane strain",
           kind == TD_ELEMENT_HEX8 ? ", or use 'formulation: mean_dilatation'"
                                   : ", or use hexahedra with 'formulation: mean_dilatation'");
}

// Membranes have three nodes: between the corners of a quadratic face nothing holds them together.
static void warn_about_quadratic(const tdBodyWork *w, const tdSceneMaterial *given)
{
    if (is_membrane(w->given, given) && w->soft->mesh.cells[td_element_shape[TD_ELEMENT_TET10].cell].count > 0)
        td_log(w->settings, TD_LOG_WARNING,
               "body '%s': a membrane on quadratic tetrahedra is joined to their corners only, so that the middles of "
               "their edges do not feel it; use linear tetrahedra, or a finer mesh",
               w->given->name);
}

// A fit may be unstable where there were no data. The quadratic laws are known to be for small strains.
static void warn_about_range(const tdBodyWork *w, const tdMaterial *material)
{
    double range[2];
    if (material->law->split && td_law_stable_range(material->law, material->parameters, range) != 0)
        td_log(w->settings, TD_LOG_WARNING,
               "body '%s': law %s with these parameters is stable for stretches from %.3g to %.3g only: beyond, its "
               "stress "
               "falls as the stretch grows; 'tendril material plot' draws it",
               w->given->name, material->law->name, range[0], range[1]);
}

// The law's parameters; a law knows its material, and the place of that in the scene is known here.
static tdStatus compile_parameters(const tdBodyWork *w, const tdSceneMaterial *given, tdMaterial *out, tdError *error)
{
    tdStatus status = out->law->parameters(given, w->model->scene.file, out->parameters, error);
    if (status == TD_OK || error == NULL)
        return status;
    if (given == &w->given->material)
        snprintf(error->field, sizeof error->field, "bodies[%d].material", w->index);
    else
        snprintf(error->field, sizeof error->field, "bodies[%d].materials[%d]", w->index,
                 (int)(given - w->given->materials));
    return status;
}

static tdStatus compile_material(tdBodyWork *w, const tdSceneMaterial *given, tdElementKind kind, tdMaterial *out,
                                 tdError *error)
{
    const tdSceneBody *body = w->given;
    *out = (tdMaterial){.law = td_law(given->law), .density = given->density};
    TD_TRY(compile_parameters(w, given, out, error));
    if (kind == TD_ELEMENT_TRI3)
    {
        out->thickness = given->thickness > 0 ? given->thickness : 1;
        out->through = body->plane == TD_PLANE_STRAIN ? TD_THROUGH_HELD : TD_THROUGH_FREE;
    }
    if (body->formulation == TD_FORMULATION_MEAN_DILATATION && !is_membrane(body, given))
    {
        out->mean_dilatation = (kind == TD_ELEMENT_HEX8 || kind == TD_ELEMENT_TET10) && out->law->split;
        if (!out->mean_dilatation)
            return fail_formulation(w, kind, error);
        memcpy(out->isochoric, out->parameters, sizeof out->isochoric);
        out->isochoric[TD_PARAMETER_KAPPA] = 0;
    }
    TD_TRY(compile_prony(w, given, out, error));
    if (out->law->rotation == TD_ROTATION_FIBRE)
    {
        if (!given->has_fibre)
            return fail(w, given->line, "material", "the law needs the directions 'fibre' and 'sheet'", error);
        out->fibre = TD_TAKE(&w->model->arena, double, 36);
        if (out->fibre == NULL)
            return td_fail_memory(error, "the materials");
        for (int i = 0; i < 36; i++)
            out->fibre[i] = given->fibre[i / 4];
    }
    warn_about_locking(w, kind, out);
    warn_about_range(w, out);
    warn_about_quadratic(w, given);
    return TD_OK;
}

// ---------------------------------------------------------------- lists

static tdStatus list_elements(tdBodyWork *w, const owners *owner, tdElementKind kind, int k, tdError *error)
{
    tdCellType type = td_element_shape[kind].cell;
    int64_t count = 0, cells = w->soft->mesh.cells[type].count;
    for (int64_t c = 0; c < cells; c++)
        count += owner->of[type][c] == k;
    if (count == 0)
        return TD_OK;
    tdElementList *list = &w->lists[w->n_lists++];
    *list = (tdElementList){.kind = kind, .given = material_at(w->given, k)};
    list->cells = TD_TAKE(&w->scratch, int32_t, count);
    if (list->cells == NULL)
        return td_fail_memory(error, "the materials");
    for (int64_t c = 0; c < cells; c++)
        if (owner->of[type][c] == k)
            list->cells[list->count++] = (int32_t)c;
    return compile_material(w, list->given, kind, &list->material, error);
}

tdStatus td_compile_materials(tdBodyWork *w, tdError *error)
{
    const tdSceneBody *body = w->given;
    const tdMesh *mesh = &w->soft->mesh;
    owners owner = {{0}};
    TD_TRY(make_groups(w, error));
    TD_TRY(check_cells(w, error));
    w->lists = TD_TAKE(&w->scratch, tdElementList, (int64_t)TD_ELEMENT_KINDS * (body->n_materials + 1));
    if (w->lists == NULL)
        return td_fail_memory(error, "the materials");
    for (int type = 0; type < TD_CELL_TYPES; type++)
    {
        owner.of[type] = TD_TAKE(&w->scratch, int32_t, mesh->cells[type].count);
        if (owner.of[type] == NULL)
            return td_fail_memory(error, "the materials");
        for (int64_t c = 0; c < mesh->cells[type].count; c++)
            owner.of[type][c] = NOBODY;
    }
    for (int k = 0; k < body->n_materials; k++)
        TD_TRY(claim_group(w, k, &owner, error));
    for (int type = 0; type < TD_CELL_TYPES; type++)
        for (int64_t c = 0; c < mesh->cells[type].count; c++)
            if (owner.of[type][c] == NOBODY &&
                (td_cell_dim((tdCellType)type) == 3 || (type == TD_CELL_TRI && body->plane != TD_PLANE_NONE)))
                owner.of[type][c] = body->n_materials;
    for (int kind = 0; kind < TD_ELEMENT_KINDS; kind++)
        for (int k = body->n_materials; k >= 0; k--) // the body's own first
            TD_TRY(list_elements(w, &owner, (tdElementKind)kind, k, error));
    bool used = body->formulation != TD_FORMULATION_MEAN_DILATATION;
    for (int i = 0; i < w->n_lists; i++)
        used = used || w->lists[i].material.mean_dilatation;
    return used ? TD_OK
                : fail(w, body->line, "formulation",
                       "a body of membranes alone has no volume elements to use mean_dilatation; remove 'formulation'",
                       error);
}
