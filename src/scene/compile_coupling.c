// SPDX-License-Identifier: Apache-2.0
// Couplings of the scene: joints whose weighted sum of positions stays, and rods between two points.
#include "scene/compile.h"

#include "contact/contact.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SLACK 0.01 // of the size of a rigid body: how far from its links the end of a rod may be

static tdStatus compile_rod(tdModel *model, const tdSceneCoupling *given, const char *field, tdBond *bond,
                            tdError *error)
{
    double square = 0;
    bond->kind = TD_BOND_ROD;
    for (int s = 0; s < 2; s++)
    {
        tdMaterialPoint point = {.n = 0};
        int b = given->body[s];
        if (b >= 0)
        {
            tdSnapped snapped = {0};
            const tdGivenPoint place = {given->point[s], NAN, given->line, field};
            TD_TRY(td_compile_body_point(model, b, given->link[s], SLACK, &place, &point, &snapped, error));
            td_compile_tell_snapped(model, b, &snapped, given->line, field);
        }
        TD_TRY(td_bond_point(model, &bond->side[s], b, &point, given->point[s], error));
    }
    for (int c = 0; c < 3; c++)
        square += (given->point[0][c] - given->point[1][c]) * (given->point[0][c] - given->point[1][c]);
    bond->rest[0] = sqrt(square);
    if (td_bond_is_one_piece(model, bond))
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, field,
                          "the ends of the rod are points of one piece, whose distance never changes; remove it");
    return TD_OK;
}

// Terms of one body into a side of the bond. position = ratio q + offset, so that the sum is over coordinates.
static tdStatus compile_side(tdModel *model, const tdSceneCoupling *given, tdPointSet *set, int body, double *start,
                             double *offset, tdError *error)
{
    *set = (tdPointSet){.body = body};
    set->coord = TD_TAKE(&model->arena, int32_t, given->n_terms);
    set->weights = TD_TAKE(&model->arena, double, given->n_terms);
    if (set->coord == NULL || set->weights == NULL)
        return td_fail_memory(error, "the couplings");
    for (int k = 0; k < given->n_terms; k++)
    {
        const tdSceneTerm *term = &given->terms[k];
        if (term->body != body)
            continue;
        const tdBodyJoint *joint = td_parts_joint(model->bodies[body].parts, term->joint);
        set->coord[set->size] = joint->coord;
        set->weights[set->size++] = term->factor * joint->ratio;
        *offset += term->factor * joint->offset;
        *start += term->factor * joint->start;
    }
    return TD_OK;
}

static tdStatus compile_terms(tdModel *model, const tdSceneCoupling *given, const char *field, tdBond *bond,
                              tdError *error)
{
    double start = 0, offset = 0, size = 1;
    int n = 0, body[2] = {-1, -1};
    bond->kind = TD_BOND_COUPLING;
    bond->side[0].body = bond->side[1].body = -1;
    for (int k = 0; k < given->n_terms; k++)
    {
        int b = given->terms[k].body;
        if (b == body[0] || b == body[1])
            continue;
        if (n == 2)
            return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, field,
                              "joints of more than two bodies cannot be terms of one coupling; couple them in pairs");
        body[n++] = b;
    }
    for (int s = 0; s < n; s++)
        TD_TRY(compile_side(model, given, &bond->side[s], body[s], &start, &offset, error));
    double asked = isnan(given->offset) ? start : given->offset;
    size = fmax(size, fabs(asked));
    if (fabs(asked - start) > 1e-6 * size)
        return td_fail_at(error, TD_ERROR_INPUT, model->scene.file, given->line, field,
                          "the terms sum up to %.9g at the start, but the offset is %.9g (rad, m); place the joints "
                          "('joints' of the body), or leave the offset out",
                          start, asked);
    bond->rest[0] = asked - offset;
    return TD_OK;
}

tdStatus td_compile_couplings(tdModel *model, int64_t *room, tdError *error)
{
    const tdScene *scene = &model->scene;
    tdContactModel *contact = model->contact;
    for (int i = 0; i < scene->n_couplings; i++)
    {
        const tdSceneCoupling *given = &scene->couplings[i];
        char field[64];
        snprintf(field, sizeof field, "couplings[%d]", i);
        if (!td_grow((void **)&contact->bonds, room, contact->n_bonds + 1, sizeof *contact->bonds))
            return td_fail_memory(error, "the couplings");
        tdBond *bond = &contact->bonds[contact->n_bonds];
        *bond = (tdBond){.rows = 1, .group = contact->n_groups};
        contact->groups[contact->n_groups++] = (tdBondGroup){.name = given->name,
                                                             .line = given->line,
                                                             .first = contact->n_bonds++,
                                                             .count = 1,
                                                             .stiffness = given->stiffness,
                                                             .dissipation = given->dissipation};
        TD_TRY(given->n_terms > 0 ? compile_terms(model, given, field, bond, error)
                                  : compile_rod(model, given, field, bond, error));
        if (!td_bond_count(model, bond))
            return td_fail_at(error, TD_ERROR_INPUT, scene->file, given->line, field,
                              "nothing that it joins can move; remove it");
    }
    return TD_OK;
}
