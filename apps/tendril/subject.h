// SPDX-License-Identifier: Apache-2.0
// One thing to draw, from a scene, the folder of a run or a mesh file: bodies, and the marks of what acts on them.
#pragma once
#include "marks.h"
#include "study/picture.h"

/// Links of one colour.
typedef struct Part
{
    Marks marks;
    double colour[3], opacity;
    int body, link;
    bool touched; ///< it bears a contact force
} Part;

/// A piece of a plane without end, in squares of a round size.
typedef struct Floor
{
    Marks marks;
    uint8_t *edge_mask;
} Floor;

typedef struct Subject
{
    const char *path;
    int n_pictures;
    tdPicture *pictures; ///< one for all bodies of a scene, or one for each file
    double radius;       ///< of a cable; other marks follow it [m]
    bool tension_known;  ///< a step has been taken: taut cables can be told from slack ones
    Marks cables;        ///< those that pull, all where that is not known; values: tension [N]
    Marks slack;         ///< those that do not, dashed
    Marks cavities;      ///< walls
    Marks effectors;     ///< of positions, as balls
    Marks targets;       ///< of positions, as crosses
    Marks course;        ///< that an effector is to follow
    Marks probes;        ///< as small balls
    Marks supports;      ///< fixed nodes
    Marks domain;        ///< elements that stand for all, of a reduced body
    Marks contacts;      ///< forces of contact as arrows
    int n_parts, n_floors;
    Part *parts;        ///< links in their own colours; none where they are part of the pictures
    Floor *floors;      ///< planes
    double force;       ///< [N] of the longest arrow
    char force_key[64]; ///< what the arrows are
    int64_t n_segments; ///< of cables,
    int64_t n_slack;    ///< those among them that are slack
    int64_t n_effectors, n_targets, n_probes, n_supports, n_chosen, n_contacts;
    int64_t step; ///< that is shown; -1: of a mesh, which has none
    double time;  ///< [s] of it; NAN: not known
} Subject;

typedef struct SubjectSettings
{
    long step;   ///< shape after this step: of a scene simulated, of a folder read; -1: at rest, the last frame
    double time; ///< [s] likewise, the nearest step or frame; NAN: not given
    bool marks;  ///< cables, cavities, effectors, targets
    bool supports, probes, domain;
    bool coloured; ///< links in their own colours, of scenes: for pictures in which no field colours them
} SubjectSettings;

/// Loads a file by its kind.
tdStatus subject_load(Subject *subject, const char *path, const SubjectSettings *settings, tdError *error);
/// The present shape of a state. `path` stands for it in messages.
tdStatus subject_take(Subject *subject, const char *path, const tdModel *model, const tdState *state,
                      const SubjectSettings *settings, tdError *error);
/// A curve through n points, for an effector to follow.
tdStatus subject_add_path(Subject *subject, int64_t n, const double *x, tdError *error);
void subject_free(Subject *subject);

/// subject_rigid.c. Links and planes of a scene; false: no memory.
bool subject_links(Subject *subject, const tdModel *model, const tdState *state, bool parts);
/// A piece of the plane through `at` with this normal, as large as the bodies.
bool subject_floor(Subject *subject, const double at[3], const double normal[3]);
/// Contact forces of a state, or of n points: place (3) and force (3) each.
bool subject_contacts(Subject *subject, const tdModel *model, const tdState *state);
bool subject_forces(Subject *subject, int64_t n, const double *points);
/// Box of all that is drawn of bodies, planes left out: least, most; false: there is nothing.
bool subject_box(const Subject *subject, double box[6]);
/// Of a folder of a run: planes among its pictures become floors; the forces of contacts.csv.
bool subject_draw_planes(Subject *subject);
tdStatus subject_read_contacts(Subject *subject, int64_t step, tdError *error);
/// A number of a table that ends at a comma or at the end of the line; NAN where the field is empty.
double subject_field(const char *line, int column);
