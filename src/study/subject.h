// SPDX-License-Identifier: Apache-2.0
// One thing to draw, from a scene, the folder of a run or a mesh file: bodies, and the marks of what acts on them.
#pragma once
#include "study/mark.h"
#include "study/picture.h"

/// Links of one colour.
typedef struct tdSubjectPart
{
    tdMarkMesh marks;
    double colour[3], opacity;
    int body, link;
    bool touched; ///< it bears a contact force
} tdSubjectPart;

/// A piece of a plane without end, in squares of a round size.
typedef struct tdSubjectFloor
{
    tdMarkMesh marks;
    uint8_t *edge_mask;
} tdSubjectFloor;

typedef struct tdSubject
{
    const char *path;
    int n_pictures;
    tdPicture *pictures;  ///< one for all bodies of a scene, or one for each file
    double radius;        ///< of a cable; other marks follow it [m]
    bool tension_known;   ///< a step has been taken: taut cables can be told from slack ones
    tdMarkMesh cables;    ///< those that pull, all where that is not known; values: tension [N]
    tdMarkMesh slack;     ///< those that do not, dashed
    tdMarkMesh cavities;  ///< walls
    tdMarkMesh effectors; ///< of positions, as balls
    tdMarkMesh targets;   ///< of positions, as crosses
    tdMarkMesh course;    ///< that an effector is to follow
    tdMarkMesh probes;    ///< as small balls
    tdMarkMesh supports;  ///< fixed nodes
    tdMarkMesh domain;    ///< elements that stand for all, of a reduced body
    tdMarkMesh contacts;  ///< forces of contact as arrows
    int n_parts, n_floors;
    tdSubjectPart *parts;   ///< links in their own colours; none where they are part of the pictures
    tdSubjectFloor *floors; ///< planes
    double force;           ///< [N] of the longest arrow
    char force_key[64];     ///< what the arrows are
    int64_t n_segments;     ///< of cables,
    int64_t n_slack;        ///< those among them that are slack
    int64_t n_effectors, n_targets, n_probes, n_supports, n_chosen, n_contacts;
    int64_t step; ///< that is shown; -1: of a mesh, which has none
    double time;  ///< [s] of it; NAN: not known
} tdSubject;

typedef struct tdSubjectSettings
{
    long step;   ///< shape after this step: of a scene simulated, of a folder read; -1: at rest, the last frame
    double time; ///< [s] likewise, the nearest step or frame; NAN: not given
    bool marks;  ///< cables, cavities, effectors, targets
    bool supports, probes, domain;
    bool coloured; ///< links in their own colours, of scenes: for pictures in which no field colours them
} tdSubjectSettings;

/// The present shape of a state. `path` stands for it in messages.
tdStatus td_subject_take(tdSubject *subject, const char *path, const tdModel *model, const tdState *state,
                         const tdSubjectSettings *settings, tdError *error);
/// A curve through n points, for an effector to follow.
tdStatus td_subject_add_path(tdSubject *subject, int64_t n, const double *x, tdError *error);
void td_subject_free(tdSubject *subject);

/// subject_rigid.c. Links and planes of a scene; false: no memory.
bool td_subject_links(tdSubject *subject, const tdModel *model, const tdState *state, bool parts);
/// A piece of the plane through `at` with this normal, as large as the bodies.
bool td_subject_floor(tdSubject *subject, const double at[3], const double normal[3]);
/// Contact forces of a state, or of n points: place (3) and force (3) each.
bool td_subject_contacts(tdSubject *subject, const tdModel *model, const tdState *state);
bool td_subject_forces(tdSubject *subject, int64_t n, const double *points);
/// Box of all that is drawn of bodies, planes left out: least, most; false: there is nothing.
bool td_subject_box(const tdSubject *subject, double box[6]);
/// What it is made of, for who reads it from files. false, NULL: no memory.
tdPicture *td_subject_add_picture(tdSubject *subject);
void td_subject_set_radius(tdSubject *subject); ///< marks follow the size of the bodies
bool td_subject_add_segment(tdSubject *subject, const double a[3], const double b[3], double tension);
bool td_subject_add_effector(tdSubject *subject, const double x[3]);
bool td_subject_add_target(tdSubject *subject, const double x[3]);
bool td_subject_add_probe(tdSubject *subject, const double x[3]);
