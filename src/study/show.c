// SPDX-License-Identifier: Apache-2.0
#include "study/show.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Look
{
    const char *name;
    double colour[3];
} Look;

static const Look cable_look = {"cables", {0.84, 0.30, 0.14}}, taut_look = {"cables, taut", {0.84, 0.30, 0.14}},
                  slack_look = {"cables, slack", {0.55, 0.47, 0.43}}, cavity_look = {"cavities", {0.93, 0.66, 0.36}},
                  effector_look = {"effectors", {0.97, 0.76, 0.12}}, target_look = {"targets", {0.10, 0.60, 0.30}},
                  path_look = {"path", {0.12, 0.62, 0.62}}, probe_look = {"probes", {0.55, 0.25, 0.72}},
                  support_look = {"held nodes", {0.35, 0.37, 0.42}},
                  contact_look = {"contact forces", {0.88, 0.11, 0.45}},
                  domain_look = {"chosen elements", {0.90, 0.42, 0.16}};

// Colours of superposed files; the first is that of a file alone.
static const double file_colours[TD_SHOW_FILES][3] = {
    {0.36, 0.56, 0.78}, {0.93, 0.49, 0.19}, {0.34, 0.67, 0.38}, {0.62, 0.42, 0.74},
    {0.80, 0.34, 0.42}, {0.45, 0.62, 0.66}, {0.72, 0.62, 0.26}, {0.50, 0.50, 0.52},
};

void td_show_free(tdShow *stage)
{
    for (int i = 0; i < stage->n_files; i++)
        td_subject_free(&stage->subjects[i]);
    free(stage->meshes);
}

static void add_key(tdShow *stage, const char *name, const double colour[3], double opacity)
{
    for (int i = 0; i < stage->n_keys; i++)
    {
        const double *other = stage->keys[i].colour;
        bool alike = other[0] == colour[0] && other[1] == colour[1] && other[2] == colour[2];
        if (strcmp(stage->keys[i].name, name) == 0 && alike)
            return;
    }
    tdKeyLine *key = &stage->keys[stage->n_keys++];
    *key = (tdKeyLine){.name = name, .opacity = opacity};
    memcpy(key->colour, colour, sizeof key->colour);
}

static tdDrawMesh *add_mesh(tdShow *stage)
{
    assert(stage->n < stage->capacity);
    tdDrawMesh *mesh = &stage->meshes[stage->n++];
    *mesh = td_default_draw();
    return mesh;
}

static void add_marks(tdShow *stage, const tdMarkMesh *marks, const Look *look, bool by_value)
{
    if (marks->n_tris == 0)
        return;
    tdDrawMesh *mesh = add_mesh(stage);
    mesh->x = marks->x;
    mesh->n_nodes = marks->n_nodes;
    mesh->tris = marks->tris;
    mesh->n_tris = marks->n_tris;
    mesh->field = by_value ? marks->value : NULL;
    memcpy(mesh->colour, look->colour, sizeof mesh->colour);
    if (!by_value)
        add_key(stage, look->name, look->colour, 1);
}

static void add_body(tdShow *stage, const tdPicture *p, const tdShowLook *look, int file, double opacity)
{
    tdDrawMesh *body = add_mesh(stage);
    body->x = p->mesh.x;
    body->n_nodes = p->mesh.n_nodes;
    body->tris = p->tris;
    body->n_tris = p->n_tris;
    body->field = p->by_tri ? NULL : p->values;
    body->tri_field = p->by_tri ? p->values : NULL;
    body->edge_mask = p->edge_mask;
    body->edges = look->edges;
    body->features = look->features || opacity < 1; // or its edges would vanish
    body->opacity = opacity;
    memcpy(body->colour, file_colours[file], sizeof body->colour);
    if (!look->ghost || p->rest == NULL)
        return;
    tdDrawMesh *ghost = add_mesh(stage);
    *ghost = *body;
    ghost->x = p->rest;
    ghost->field = ghost->tri_field = NULL;
    ghost->edges = false;
    ghost->features = true;
    ghost->opacity = 0.13;
    memcpy(ghost->colour, (double[]){0.45, 0.50, 0.58}, sizeof ghost->colour);
}

// Bodies let what is in them shine through, unless their own colours are to be read. Of superposed ones, which often
// nearly coincide, the first keeps its colour under the others.
static double body_opacity(const tdShow *stage, const tdShowLook *look, int file)
{
    const tdSubject *subject = &stage->subjects[file];
    if (!isnan(look->opacity))
        return look->opacity;
    if (file > 0)
        return 0.32;
    if (subject->domain.n_tris > 0)
        return 0.3;
    bool inside = subject->cables.n_tris + subject->slack.n_tris + subject->cavities.n_tris +
                      subject->effectors.n_tris + subject->contacts.n_tris >
                  0;
    if (!inside || (subject->n_pictures > 0 && subject->pictures[0].values != NULL))
        return 1;
    return stage->n_files > 1 ? 0.8 : subject->contacts.n_tris > 0 ? 0.42 : 0.58;
}

tdShowLook td_show_default(void)
{
    return (tdShowLook){.opacity = NAN};
}

// Links in their own colours.
static void add_part(tdShow *stage, const tdSubjectPart *part, const tdShowLook *look, double opacity)
{
    tdDrawMesh *mesh = add_mesh(stage);
    mesh->x = part->marks.x;
    mesh->n_nodes = part->marks.n_nodes;
    mesh->tris = part->marks.tris;
    mesh->n_tris = part->marks.n_tris;
    mesh->edges = look->edges;
    mesh->opacity = opacity * part->opacity;
    mesh->features = look->features || mesh->opacity < 1;
    memcpy(mesh->colour, part->colour, sizeof mesh->colour);
}

static void add_floor(tdShow *stage, const tdSubjectFloor *piece)
{
    tdDrawMesh *mesh = add_mesh(stage);
    mesh->x = piece->marks.x;
    mesh->n_nodes = piece->marks.n_nodes;
    mesh->tris = piece->marks.tris;
    mesh->n_tris = piece->marks.n_tris;
    mesh->edge_mask = piece->edge_mask;
    mesh->edges = mesh->floor = true;
    mesh->opacity = 0.22;
    memcpy(mesh->colour, (double[]){0.55, 0.62, 0.70}, sizeof mesh->colour);
}

#define MARKS_OF_A_FILE 10

static void add_all_marks(tdShow *stage, const tdSubject *subject)
{
    const Look *taut = subject->tension_known ? &taut_look : &cable_look;
    add_marks(stage, &subject->domain, &domain_look, false);
    add_marks(stage, &subject->cables, taut, stage->by_tension);
    add_marks(stage, &subject->slack, &slack_look, stage->by_tension);
    add_marks(stage, &subject->cavities, &cavity_look, false);
    add_marks(stage, &subject->course, &path_look, false);
    add_marks(stage, &subject->effectors, &effector_look, false);
    add_marks(stage, &subject->targets, &target_look, false);
    add_marks(stage, &subject->probes, &probe_look, false);
    add_marks(stage, &subject->supports, &support_look, false);
    const Look arrows = {subject->force_key, {contact_look.colour[0], contact_look.colour[1], contact_look.colour[2]}};
    add_marks(stage, &subject->contacts, &arrows, false);
}

tdStatus td_show_set(tdShow *stage, const tdShowLook *look, tdError *error)
{
    for (int i = 0; i < stage->n_files; i++)
        stage->capacity += 2 * stage->subjects[i].n_pictures + stage->subjects[i].n_parts +
                           stage->subjects[i].n_floors + MARKS_OF_A_FILE;
    stage->meshes = calloc((size_t)stage->capacity + 1, sizeof *stage->meshes);
    if (stage->meshes == NULL)
        return td_fail_memory(error, "the picture");
    // Translucent layers are laid one over the other in this order.
    for (int i = 0; i < stage->n_files; i++)
        for (int p = 0; p < stage->subjects[i].n_floors; p++)
            add_floor(stage, &stage->subjects[i].floors[p]);
    for (int i = 0; i < stage->n_files; i++)
    {
        const tdSubject *subject = &stage->subjects[i];
        double opacity = body_opacity(stage, look, i);
        for (int p = 0; p < subject->n_pictures; p++)
            add_body(stage, &subject->pictures[p], look, i, opacity);
        for (int p = 0; p < subject->n_parts; p++)
        {
            // Where it is for the arrows alone, only what they are in lets them shine through.
            bool clear = !isnan(look->opacity) || subject->contacts.n_tris == 0 || subject->parts[p].touched;
            add_part(stage, &subject->parts[p], look, clear ? opacity : 1);
        }
        if (stage->n_files > 1)
            add_key(stage, stage->names[i], file_colours[i], opacity);
    }
    for (int i = 0; i < stage->n_files; i++)
        add_all_marks(stage, &stage->subjects[i]);
    return TD_OK;
}
