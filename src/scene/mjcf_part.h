// SPDX-License-Identifier: Apache-2.0
// Inside the MJCF reader: mjcf.c (document, includes, settings), mjcf_xml.c (attributes and classes), mjcf_body.c
// (bodies and joints), mjcf_geom.c (geoms and inertias), mjcf_act.c (actuators, equality, contact, keyframes).
#pragma once
#include "base/xml.h"
#include "scene/mjcf.h"

#define TD_MJCF_ITEMS  65536 // most bodies, joints, geoms, ... each
#define TD_MJCF_UNUSED 256   // names of what is not used

typedef struct tdMjClass
{
    const char *name;
    const xmlNode *node;
    int parent; ///< -1: none
} tdMjClass;

/// A mesh of the assets.
typedef struct tdMjMesh
{
    const char *name;
    const xmlNode *node;
    int drawn_n, solid_n; ///< -1: not read yet
    tdRobotMesh *drawn, *solid;
} tdMjMesh;

typedef struct tdMjBody
{
    const char *name; ///< "": none
    int link;
    tdPose pose; ///< of the file's body in the link's frame
    bool named;  ///< by the file
} tdMjBody;

typedef struct tdMjSite
{
    const char *name;
    int link;
    double at[3]; ///< in the link's frame
} tdMjSite;

/// A joint in the order of qpos.
typedef struct tdMjJoint
{
    const char *name;
    int link;
    double ref;
    bool named;
} tdMjJoint;

/// What a class of elements and attributes is called, and how many there were.
typedef struct tdMjUnused
{
    char name[96];
    int count;
} tdMjUnused;

typedef struct tdMjcf
{
    const char *file;
    tdArena *arena, scratch;
    tdTree *tree;
    tdError *error;
    tdRobotReader reader;
    const xmlNode *root;
    const char *keyframe;
    // <compiler>
    bool radians, autolimits, strip;
    int from_geoms; ///< -1: where there is no <inertial>; 0: never; 1: always
    int groups[2];  ///< geoms that count
    char eulerseq[4];
    char meshdir[1024];
    double boundmass, boundinertia;
    // tables, grown by td_grow
    int n_classes, n_meshes, n_bodies, n_sites, n_joints, n_unused, n_links, n_shapes, n_drives, n_bonds, n_excluded,
        n_pairs;
    int64_t room[12];
    tdMjClass *classes;
    tdMjMesh *meshes;
    tdMjBody *bodies;
    tdMjSite *sites;
    tdMjJoint *joints;
    tdTreeLink *links;
    tdTreeShape *shapes;
    tdTreeDrive *drives;
    tdTreeBond *bonds;
    int (*excluded)[2], (*pairs)[2];
    tdMjUnused unused[TD_MJCF_UNUSED];
    char suffix[96]; ///< of names within <replicate>
    int copies;      ///< that it has made
} tdMjcf;

/// An element with the class that its defaults come from.
typedef struct tdMjElement
{
    const xmlNode *node;
    int class_of;       ///< -1: none
    const char *others; ///< names of elements whose defaults hold too, "a b"; NULL: none
} tdMjElement;

// ---------------------------------------------------------------- mjcf_xml.c

tdStatus td_mjcf_fail(const tdMjcf *m, const xmlNode *node, const char *format, ...) TD_PRINTF(3, 4);
tdStatus td_mjcf_warn(tdMjcf *m, const xmlNode *node, const char *format, ...) TD_PRINTF(3, 4);
/// Counts what is not used: an element, or an attribute of one (NULL: the element itself).
void td_mjcf_unused(tdMjcf *m, const char *element, const char *attribute);
/// Counts attributes of a node that the reader does not use.
void td_mjcf_attributes(tdMjcf *m, const xmlNode *node);
/// The actuators that are read, which have their defaults in common.
#define TD_MJCF_ACTUATORS "general motor position velocity"
/// The element with its class: its own, or that of the body around it.
tdStatus td_mjcf_element(const tdMjcf *m, const xmlNode *node, int childclass, tdMjElement *out);
int td_mjcf_class(const tdMjcf *m, const char *name); ///< -1: none
/// Text of an attribute, of the element or of its defaults; NULL: missing.
const char *td_mjcf_text(const tdMjcf *m, const tdMjElement *e, const char *name);
/// Up to n numbers; *count (may be NULL) says how many, 0 where it is missing. Without `count` all n have to be there
/// when any is.
tdStatus td_mjcf_numbers(const tdMjcf *m, const tdMjElement *e, const char *name, int n, double *out, int *count);
tdStatus td_mjcf_integer(const tdMjcf *m, const tdMjElement *e, const char *name, int *out);
/// true, false, or left alone (auto, missing).
tdStatus td_mjcf_flag(const tdMjcf *m, const tdMjElement *e, const char *name, bool *out);
/// A name of the tree's arena, with characters that tables cannot have replaced; "" where it is missing.
tdStatus td_mjcf_name(tdMjcf *m, const tdMjElement *e, const char *attribute, const char **out);
/// pos and one of quat, axisangle, xyaxes, zaxis, euler.
tdStatus td_mjcf_pose(const tdMjcf *m, const tdMjElement *e, tdPose *out);
void td_mjcf_quaternion(const double q[4], double R[9]);
/// The rotation of `times` times the angles of an attribute `euler`.
tdStatus td_mjcf_euler(const tdMjcf *m, const tdMjElement *e, double times, double R[9]);
/// Room for one more of a table; NULL when memory runs out or there are too many.
void *td_mjcf_add(tdMjcf *m, void *table, int *n, int which, size_t size);

// ---------------------------------------------------------------- parts

tdStatus td_mjcf_assets(tdMjcf *m, const xmlNode *section);
/// <worldbody>, into links and shapes.
tdStatus td_mjcf_world(tdMjcf *m, const xmlNode *section);
/// A <geom> of a body whose frame is `pose` in the link's; its mass is added to sum[10]: mass, mass times center,
/// inertia about the link's origin.
tdStatus td_mjcf_geom(tdMjcf *m, const xmlNode *node, int childclass, int link, const tdPose *pose, double sum[10]);
tdStatus td_mjcf_actuators(tdMjcf *m, const xmlNode *section);
tdStatus td_mjcf_equality(tdMjcf *m, const xmlNode *section);
tdStatus td_mjcf_contact(tdMjcf *m, const xmlNode *section);
tdStatus td_mjcf_keyframes(tdMjcf *m, const xmlNode *section);
