// SPDX-License-Identifier: Apache-2.0
// Rigid and articulated bodies, and actuators of joints. A URDF file is read here, because dimensions of a joint's
// quantities hang on whether it turns or slides.
#include "base/suggest.h"
#include "body/drawing.h"
#include "mesh/generate.h"
#include "mesh/topology.h"
#include "scene/mjcf.h"
#include "scene/parse.h"
#include "scene/urdf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool given(const tdRecord *record, const char *key)
{
    return td_record_get(record, key)->node != NULL;
}

// ---------------------------------------------------------------- keys by type

enum
{
    SOFT = 1 << TD_BODY_SOFT,
    RIGID = 1 << TD_BODY_RIGID,
    ARTICULATED = 1 << TD_BODY_ARTICULATED
};

tdStatus td_parse_body_keys(tdSceneParser *parser, const tdRecord *record, tdBodyType type)
{
    static const char *const names[] = {"soft", "rigid", "articulated"};
    static const struct
    {
        const char *key;
        int of, needed;
    } own[] = {
        {"mesh", SOFT, SOFT},
        {"material", SOFT, SOFT},
        {"materials", SOFT, 0},
        {"plane", SOFT, 0},
        {"thickness", SOFT, 0},
        {"formulation", SOFT, 0},
        {"mass", SOFT, 0},
        {"damping", SOFT, 0},
        {"prescribed", SOFT, 0},
        {"repeat", SOFT, 0},
        {"fixed", SOFT | RIGID, 0},
        {"guided", RIGID, 0},
        {"trocar", RIGID, 0},
        {"follows", RIGID, 0},
        {"close", RIGID, 0},
        {"urdf", ARTICULATED, 0},
        {"base", ARTICULATED, 0},
        {"joints", ARTICULATED, 0},
        {"shape", RIGID, RIGID},
        {"collision_mesh", ARTICULATED, 0},
        {"mjcf", ARTICULATED, 0},
        {"keyframe", ARTICULATED, 0},
        {"density", RIGID, 0},
        {"total_mass", RIGID, 0},
        {"angular_velocity", RIGID | ARTICULATED, 0},
        {"snap", SOFT, 0},
        {"rom", SOFT, 0},
        {"enrichment", SOFT, 0},
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
    {
        const tdValue *value = td_record_get(record, own[i].key);
        if (value->node == NULL && (own[i].needed & 1 << type) != 0)
            return td_reader_fail(&parser->reader, record->node->line, record->path, own[i].key,
                                  "the key '%s' is missing: %s", own[i].key, value->key->doc);
        if (value->node != NULL && (own[i].of & 1 << type) == 0)
            return td_record_fail(&parser->reader, record, own[i].key,
                                  "a body of type %s takes no '%s'; it is for type%s %s%s%s", names[type], own[i].key,
                                  own[i].of & (own[i].of - 1) ? "s" : "",
                                  names[own[i].of & SOFT    ? TD_BODY_SOFT
                                        : own[i].of & RIGID ? TD_BODY_RIGID
                                                            : TD_BODY_ARTICULATED],
                                  own[i].of & (own[i].of - 1) ? " and " : "",
                                  own[i].of == (SOFT | RIGID)          ? "rigid"
                                  : own[i].of == (RIGID | ARTICULATED) ? "articulated"
                                                                       : "");
    }
    return TD_OK;
}

// ---------------------------------------------------------------- shape of a rigid body

static tdStatus read_round(tdSceneParser *parser, const tdRecord *record, const char *key, bool caps, tdShape *shape)
{
    char path[256];
    tdRecord round;
    td_path_key(path, sizeof path, record->path, key);
    TD_TRY(td_schema_read(&parser->reader, td_record_get(record, key)->node, &td_schema_round, path, &round));
    double radius = td_record_get(&round, "radius")->number[0], length = td_record_get(&round, "length")->number[0];
    *shape = caps ? td_shape_capsule(radius, length) : td_shape_cylinder(radius, length);
    return TD_OK;
}

static tdStatus copy_surface(tdSceneParser *parser, const tdRecord *record, const tdMesh *mesh, double scale,
                             tdShape *shape)
{
    const tdCells *tris = &mesh->cells[TD_CELL_TRI], *quads = &mesh->cells[TD_CELL_QUAD];
    int64_t count = tris->count + 2 * quads->count;
    if (count < 4 || count > TD_TREE_TRIS)
        return td_record_fail(
            &parser->reader, record, "mesh",
            "the file has %lld triangles; a closed surface has at least 4, and at most %d are allowed",
            (long long)count, TD_TREE_TRIS);
    tdTriMesh *own = TD_TAKE(parser->arena, tdTriMesh, 1);
    if (own == NULL || (own->x = TD_TAKE(parser->arena, double, 3 * mesh->n_nodes)) == NULL ||
        (own->tris = TD_TAKE(parser->arena, int32_t, 3 * count)) == NULL)
        return td_fail_memory(parser->reader.error, "the shape of a rigid body");
    own->n_nodes = mesh->n_nodes;
    for (int64_t i = 0; i < 3 * mesh->n_nodes; i++)
        own->x[i] = scale * mesh->x[i];
    int32_t *to = own->tris;
    for (int64_t i = 0; i < 3 * tris->count; i++)
        *to++ = tris->nodes[i];
    for (int64_t q = 0; q < quads->count; q++)
    {
        const int32_t *n = quads->nodes + 4 * q;
        const int32_t halves[6] = {n[0], n[1], n[2], n[0], n[2], n[3]};
        memcpy(to, halves, sizeof halves);
        to += 6;
    }
    own->n_tris = count;
    *shape = (tdShape){.type = TD_SHAPE_MESH, .mesh = own};
    return TD_OK;
}

static tdStatus read_surface(tdSceneParser *parser, const tdRecord *record, double scale, tdShape *shape)
{
    const char *path = NULL;
    tdMesh mesh = {0};
    tdError inner = {0};
    int64_t merged = 0;
    TD_TRY(td_parse_path(parser, record, "mesh", td_record_get(record, "mesh")->text, &path));
    tdStatus status = td_mesh_read(path, &mesh, &inner);
    double size = 0;
    for (int64_t i = 0; i < 3 * mesh.n_nodes && status == TD_OK; i++)
        size = fmax(size, fabs(mesh.x[i]));
    if (status == TD_OK)
        status = td_mesh_merge(&mesh, 1e-9 * size, &merged, &inner);
    if (status != TD_OK)
    {
        char text[600];
        td_error_format(&inner, text, sizeof text);
        td_record_fail(&parser->reader, record, "mesh", "%s", text);
    }
    else
        status = copy_surface(parser, record, &mesh, scale, shape);
    td_mesh_free(&mesh);
    return status;
}

static tdStatus read_torus(tdSceneParser *parser, const tdRecord *record, tdShape *shape)
{
    tdSceneTorus torus;
    tdMesh mesh = {0};
    TD_TRY(td_parse_torus(parser, record, &torus));
    tdStatus status = torus.cells[2] == 1 ? td_mesh_torus_surface(torus.major, torus.minor, torus.cells[0],
                                                                  torus.cells[1], &mesh, parser->reader.error)
                                          : td_record_fail(&parser->reader, record, "torus",
                                                           "a rigid shape is a surface; remove 'circles'");
    if (status == TD_OK)
        status = copy_surface(parser, record, &mesh, 1, shape);
    td_mesh_free(&mesh);
    return status;
}

static tdStatus read_shape(tdSceneParser *parser, const tdRecord *body_record, double scale, tdShape *shape)
{
    char path[256];
    tdRecord record;
    td_path_key(path, sizeof path, body_record->path, "shape");
    TD_TRY(td_schema_read(&parser->reader, td_record_get(body_record, "shape")->node, &td_schema_shape, path, &record));
    const double *box = td_record_get(&record, "box")->number;
    if (scale != 1 && !given(&record, "mesh"))
        return td_record_fail(&parser->reader, body_record, "transform",
                              "a scale is for shapes from mesh files; write the size that the body has");
    if (given(&record, "mesh"))
        return read_surface(parser, &record, scale * parser->scene->length_unit, shape);
    if (given(&record, "torus"))
        return read_torus(parser, &record, shape);
    if (given(&record, "cylinder") || given(&record, "capsule"))
        return read_round(parser, &record, given(&record, "capsule") ? "capsule" : "cylinder",
                          given(&record, "capsule"), shape);
    if (given(&record, "plane") && td_record_get(&record, "plane")->integer[0] == 0)
        return td_record_fail(&parser->reader, &record, "plane", "write 'plane: true', or another shape");
    if (given(&record, "plane"))
        *shape = td_shape_plane();
    else if (given(&record, "sphere"))
        *shape = td_shape_sphere(td_record_get(&record, "sphere")->number[0]);
    else
        *shape = td_shape_box(box[0], box[1], box[2]);
    if (shape->type == TD_SHAPE_BOX && !(box[0] > 0 && box[1] > 0 && box[2] > 0))
        return td_record_fail(&parser->reader, &record, "box", "the sides of a box must be longer than zero");
    return TD_OK;
}

// ---------------------------------------------------------------- rigid body

static tdStatus set_mass(tdSceneParser *parser, const tdRecord *record, const tdShape *shape, tdTreeLink *link)
{
    double volume = 0, density = td_record_get(record, "density")->number[0];
    td_shape_mass(shape, &volume, link->center, link->inertia);
    if (!given(record, "density") && !given(record, "total_mass"))
    {
        if (link->kind == TD_JOINT_FREE)
            return td_reader_fail(&parser->reader, record->node->line, record->path, "density",
                                  "a rigid body that moves needs a mass: give 'density' or 'total_mass', or write "
                                  "'fixed: true' or 'guided: true'");
        memset(link->inertia, 0, sizeof link->inertia);
        return TD_OK;
    }
    if (!(volume > 0))
        return td_record_fail(&parser->reader, record, given(record, "density") ? "density" : "total_mass",
                              shape->type == TD_SHAPE_PLANE
                                  ? "a plane has no mass; remove it"
                                  : "the surface encloses a volume of %g m^3, so it is open or inside out; its "
                                    "triangles must have their normals outside",
                              volume);
    if (given(record, "total_mass"))
        density = td_record_get(record, "total_mass")->number[0] / volume;
    link->mass = density * volume;
    for (int e = 0; e < 6; e++)
        link->inertia[e] *= density;
    return TD_OK;
}

// A body whose motion is given: the inputs that it follows.
static tdStatus parse_guided(tdSceneParser *parser, const tdRecord *record, bool fixed, tdSceneBody *body)
{
    static const char *const parts[6] = {"x", "y", "z", "rx", "ry", "rz"}, *const massive[2] = {"density",
                                                                                                "total_mass"};
    if (fixed)
        return td_record_fail(&parser->reader, record, "guided", "a body is fixed or guided; remove one of the two");
    for (int k = 0; k < 2; k++)
        if (given(record, massive[k]))
            return td_record_fail(&parser->reader, record, massive[k],
                                  "the motion of a guided body is given, whatever its mass; remove '%s'", massive[k]);
    for (int k = 0; k < 6; k++)
    {
        char input[512];
        if (snprintf(input, sizeof input, "%s.%s", body->name, parts[k]) >= (int)sizeof input)
            return td_record_fail(&parser->reader, record, "name", "the name is too long");
        TD_TRY(td_parse_input_name(parser, record, input, k < 3 ? TD_DIM_LENGTH : TD_DIM_ANGLE, &body->guided[k]));
    }
    body->through = given(record, "trocar");
    memcpy(body->trocar, td_record_get(record, "trocar")->number, sizeof body->trocar);
    if (given(record, "follows"))
        TD_TRY(td_parse_copy(parser, td_record_get(record, "follows")->text, &body->follows));
    body->follows_line = body->follows != NULL ? td_record_get(record, "follows")->node->line : 0;
    memcpy(body->close, td_record_get(record, "close")->number, sizeof body->close);
    if (given(record, "close") && body->follows == NULL)
        return td_record_fail(&parser->reader, record, "close",
                              "a grip closes a jaw against the body that it follows; add 'follows: BODY'");
    if (body->through && body->follows != NULL)
        return td_record_fail(&parser->reader, record, "trocar",
                              "a body that follows another passes through its trocar; remove one of the two");
    return TD_OK;
}

static tdStatus parse_rigid(tdSceneParser *parser, const tdRecord *record, tdSceneBody *body)
{
    const tdValue *fixed = td_record_get(record, "fixed");
    if (fixed->node != NULL && fixed->node->kind == TD_YAML_LIST)
        return td_record_fail(&parser->reader, record, "fixed",
                              "a rigid body is held as a whole: write 'fixed: true', without a list");
    bool held = fixed->node != NULL && fixed->integer[0] != 0,
         guided = td_record_get(record, "guided")->integer[0] != 0;
    static const char *const of_guided[3] = {"trocar", "follows", "close"};
    for (int k = 0; k < 3 && !guided; k++)
        if (given(record, of_guided[k]))
            return td_record_fail(&parser->reader, record, of_guided[k],
                                  "is for bodies whose motion is given; add 'guided: true'");
    if (guided)
        TD_TRY(parse_guided(parser, record, held, body));
    held = held || guided;
    tdTree *tree = body->tree;
    tree->file = parser->scene->file;
    tree->links = TD_TAKE(parser->arena, tdTreeLink, 1);
    tree->shapes = TD_TAKE(parser->arena, tdTreeShape, 1);
    if (tree->links == NULL || tree->shapes == NULL)
        return td_fail_memory(parser->reader.error, "a rigid body");
    tdTreeLink *link = &tree->links[0];
    tdTreeShape *shape = &tree->shapes[0];
    *link = td_default_link();
    link->name = body->name;
    link->joint = "base";
    link->line = link->joint_line = body->line;
    link->kind = held ? TD_JOINT_FIXED : TD_JOINT_FREE;
    *shape = (tdTreeShape){.line = body->line, .pose = td_pose_identity(), .collides = true, .drawn = true};
    shape->colour[0] = -1;
    TD_TRY(read_shape(parser, record, body->scale, &shape->shape));
    if (shape->shape.type == TD_SHAPE_PLANE && (!held || guided))
        return td_record_fail(&parser->reader, record, "shape", "a plane cannot move; write 'fixed: true'");
    TD_TRY(set_mass(parser, record, &shape->shape, link));
    // A body that moves has its frame at its center of mass: about another point, a turn within a step changes the
    // momentum.
    for (int c = 0; c < 3 && !held; c++)
    {
        link->origin.t[c] = link->center[c];
        shape->pose.t[c] = -link->center[c];
        link->center[c] = 0;
    }
    tree->n_links = tree->n_shapes = 1;
    return td_tree_check(parser->arena, tree, parser->reader.error);
}

// ---------------------------------------------------------------- joints of an articulated body

static bool turns(const tdTreeLink *link)
{
    return link->kind != TD_JOINT_PRISMATIC;
}

// A quantity per angle may be written with or without the angle: N m/rad or N m. `per`: angles in the denominator.
static tdStatus read_per_angle(tdSceneParser *parser, const tdRecord *record, const char *key, tdDim dim, int per,
                               double *out)
{
    const tdYaml *node = td_record_get(record, key)->node;
    if (node == NULL)
        return TD_OK;
    char why[TD_UNIT_WHY], field[256];
    tdDim with = dim;
    with.angle -= per;
    if (node->kind != TD_YAML_SCALAR || td_yaml_empty(node) ||
        !td_quantity_parse(node->text, &parser->reader.units, with, out, why))
    {
        td_path_key(field, sizeof field, record->path, key);
        TD_TRY(td_read_quantity(&parser->reader, node, field, dim, out));
    }
    if (!(*out >= 0))
        return td_record_fail(&parser->reader, record, key, "found '%.60s', must not be negative", node->text);
    return TD_OK;
}

static tdDim damping_dim(const tdTreeLink *link)
{
    tdDim dim = turns(link) ? TD_DIM_TORQUE : TD_DIM_FORCE;
    dim.time++;
    dim.length -= turns(link) ? 0 : 1;
    return dim;
}

// The link whose joint has a name, with one coordinate of its own.
static tdStatus find_joint(tdSceneParser *parser, const tdRecord *record, const char *key, const tdSceneBody *body,
                           int *out)
{
    const char *name = td_record_get(record, key)->text;
    *out = name == NULL ? -1 : td_tree_joint(body->tree, name);
    if (*out < 0)
    {
        const char *names[256];
        int n = 0;
        for (int l = 1; l < body->tree->n_links && n < 256; l++)
            if (td_joint_coordinates(body->tree->links[l].kind) == 1)
                names[n++] = body->tree->links[l].joint;
        const char *nearest = td_suggest(name, names, n);
        return td_record_fail(&parser->reader, record, key, "body '%s' has no joint '%.60s'%s%s%s", body->name, name,
                              nearest != NULL ? "; did you mean '" : "", nearest != NULL ? nearest : "",
                              nearest != NULL ? "'?" : "");
    }
    const tdTreeLink *link = &body->tree->links[*out];
    if (td_joint_coordinates(link->kind) != 1)
        return td_record_fail(
            &parser->reader, record, key,
            "joint '%s' is %s; this is for joints with one coordinate: revolute, continuous, prismatic", link->joint,
            td_joint_name(link->kind));
    if (link->mimic >= 0)
        return td_record_fail(&parser->reader, record, key, "joint '%s' mimics joint '%s'; name that one", link->joint,
                              body->tree->links[link->mimic].joint);
    return TD_OK;
}

// A spring of the joint is a servo that is always at its rest, as springs of robots' files are.
static tdStatus parse_spring(tdSceneParser *parser, const tdRecord *record, tdSceneBody *body, int at)
{
    tdTree *tree = body->tree;
    const tdTreeLink *link = &tree->links[at];
    const tdYaml *rest = td_record_get(record, "spring_rest")->node;
    tdDim dim = turns(link) ? TD_DIM_TORQUE : TD_DIM_FORCE;
    dim.length -= turns(link) ? 0 : 1;
    tdTreeDrive drive = {.line = record->node->line,
                         .link = at,
                         .kind = TD_TREE_POSITION,
                         .effort = {-INFINITY, INFINITY},
                         .range = {-INFINITY, INFINITY},
                         .target = NAN};
    char name[320], field[300];
    TD_TRY(read_per_angle(parser, record, "spring", dim, turns(link), &drive.stiffness));
    if (rest != NULL && !given(record, "spring"))
        return td_record_fail(&parser->reader, record, "spring_rest", "needs 'spring', its stiffness");
    if (!(drive.stiffness > 0))
        return TD_OK;
    td_path_key(field, sizeof field, record->path, "spring_rest");
    if (rest != NULL)
        TD_TRY(
            td_read_quantity(&parser->reader, rest, field, turns(link) ? TD_DIM_ANGLE : TD_DIM_LENGTH, &drive.target));
    tdTreeDrive *all = TD_TAKE(parser->arena, tdTreeDrive, tree->n_drives + 1);
    if (all == NULL)
        return td_fail_memory(parser->reader.error, "the springs of joints");
    snprintf(name, sizeof name, "%.300s_spring", link->joint);
    TD_TRY(td_parse_copy(parser, name, &drive.name));
    int n = 0; // one that the file has is replaced
    for (int i = 0; i < tree->n_drives; i++)
        if (strcmp(tree->drives[i].name, name) != 0 || tree->drives[i].link != at)
            all[n++] = tree->drives[i];
    all[n++] = drive;
    tree->drives = all;
    tree->n_drives = n;
    return TD_OK;
}

static tdStatus parse_joint_rate(tdSceneParser *parser, const tdRecord *record, tdTreeLink *link)
{
    const tdYaml *rate = td_record_get(record, "velocity")->node;
    char field[300];
    if (rate == NULL)
        return TD_OK;
    if (parser->method == TD_CHOICE_STATIC)
        return td_record_fail(&parser->reader, record, "velocity", "a static scene has no velocities; remove it");
    td_path_key(field, sizeof field, record->path, "velocity");
    return td_read_quantity(&parser->reader, rate, field, turns(link) ? TD_DIM_TURNING : TD_DIM_VELOCITY,
                            &link->start_rate);
}

static tdStatus parse_joint(tdSceneParser *parser, const tdYaml *item, int index, const char *body_path,
                            tdSceneBody *body, bool *placed)
{
    char path[256], field[300];
    tdRecord record;
    int at = -1;
    td_path_item(path, sizeof path, body_path, "joints", index);
    TD_TRY(td_schema_read(&parser->reader, item, &td_schema_joint, path, &record));
    TD_TRY(find_joint(parser, &record, "name", body, &at));
    tdTreeLink *link = &body->tree->links[at];
    const tdYaml *position = td_record_get(&record, "position")->node;
    td_path_key(field, sizeof field, path, "position");
    placed[at] = placed[at] || position != NULL;
    if (position != NULL)
        TD_TRY(td_read_quantity(&parser->reader, position, field, turns(link) ? TD_DIM_ANGLE : TD_DIM_LENGTH,
                                &link->start));
    if (position != NULL && (link->start < link->lower || link->start > link->upper))
        return td_record_fail(&parser->reader, &record, "position",
                              "the range of joint '%s' is %g to %g (%s); %g is outside it", link->joint, link->lower,
                              link->upper, turns(link) ? "rad" : "m", link->start);
    TD_TRY(parse_joint_rate(parser, &record, link));
    TD_TRY(parse_spring(parser, &record, body, at));
    tdDim inertia = TD_DIM_MASS;
    inertia.length = turns(link) ? 2 : 0;
    TD_TRY(read_per_angle(parser, &record, "damping", damping_dim(link), turns(link), &link->damping));
    TD_TRY(read_per_angle(parser, &record, "friction", turns(link) ? TD_DIM_TORQUE : TD_DIM_FORCE, 0, &link->friction));
    return read_per_angle(parser, &record, "armature", inertia, 0, &link->armature);
}

// The key that names the robot's file.
static const char *robot_key(const tdRecord *record)
{
    return given(record, "mjcf") ? "mjcf" : "urdf";
}

// A joint that starts beyond its limits is thrown back by them: a robot would be launched by what nobody asked for.
static tdStatus check_start(tdSceneParser *parser, const tdRecord *record, const tdSceneBody *body)
{
    for (int l = 1; l < body->tree->n_links; l++)
    {
        const tdTreeLink *link = &body->tree->links[l];
        bool follows = link->mimic >= 0;
        double start = follows ? link->ratio * body->tree->links[link->mimic].start + link->offset : link->start;
        double slack = 1e-9 * fmax(1, fabs(start)); // a limit in degrees, rounded
        if (td_joint_coordinates(link->kind) != 1 || (start >= link->lower - slack && start <= link->upper + slack))
            continue;
        const char *key = given(record, "joints") ? "joints" : robot_key(record), *unit = turns(link) ? "rad" : "m";
        const char *moved = follows ? body->tree->links[link->mimic].joint : link->joint;
        return td_record_fail(&parser->reader, record, key,
                              "joint '%s' (line %d of '%.200s') starts at %g %s, but its limits are %g and %g %s; set "
                              "its start: 'joints: [{name: %s, position: ...}]', or change the limits",
                              link->joint, link->joint_line, body->tree->file, start, unit, link->lower, link->upper,
                              unit, moved);
    }
    return TD_OK;
}

static tdStatus check_robot_keys(tdSceneParser *parser, const tdRecord *record)
{
    static const char *const urdf_keys[] = {"base", "collision_mesh"};
    bool mjcf = given(record, "mjcf");
    if (given(record, "urdf") == mjcf)
        return mjcf ? td_record_fail(&parser->reader, record, "mjcf", "'urdf' and 'mjcf' exclude each other; give one")
                    : td_reader_fail(&parser->reader, record->node->line, record->path, "urdf",
                                     "the key 'urdf' is missing: the file of the robot, or 'mjcf'");
    for (int k = 0; k < 2 && mjcf; k++)
        if (given(record, urdf_keys[k]))
            return td_record_fail(&parser->reader, record, urdf_keys[k], "is for URDF files; an MJCF file says %s",
                                  k == 0 ? "itself what is free" : "that meshes touch by their convex hulls");
    if (!mjcf && given(record, "keyframe"))
        return td_record_fail(&parser->reader, record, "keyframe",
                              "is for MJCF files; 'joints' says where joints start");
    return TD_OK;
}

// Reads the robot's file. The scene's line leads to it; the reader's message says what is wrong with it.
static tdStatus read_robot(tdSceneParser *parser, const tdRecord *record, tdSceneBody *body)
{
    const char *path = NULL, *key = robot_key(record);
    tdError inner = {0};
    tdRobotFiles files = {.packages = parser->packages,
                          .hulls = td_record_get(record, "collision_mesh")->integer[0] == TD_COLLISION_HULL};
    TD_TRY(check_robot_keys(parser, record));
    TD_TRY(td_parse_path(parser, record, key, td_record_get(record, key)->text, &path));
    bool mjcf = given(record, "mjcf");
    tdStatus status = mjcf ? td_mjcf_read(parser->arena, path, &files,
                                          given(record, "keyframe") ? td_record_get(record, "keyframe")->text : NULL,
                                          body->tree, &inner)
                           : td_urdf_read(parser->arena, path, &files, body->tree, &inner);
    if (status != TD_OK)
    {
        char text[700];
        td_error_format(&inner, text, sizeof text);
        td_record_fail(&parser->reader, record, key, "%.600s%s", text,
                       access(path, F_OK) != 0 ? ". Paths are relative to the scene" : "");
        return status;
    }
    tdTreeLink *root = &body->tree->links[0];
    root->kind = !mjcf && td_record_get(record, "base")->integer[0] != 0 ? TD_JOINT_FREE : TD_JOINT_FIXED;
    root->joint = "base";
    root->joint_line = root->line;
    return TD_OK;
}

static tdStatus parse_articulated(tdSceneParser *parser, const tdRecord *record, tdSceneBody *body)
{
    tdError inner = {0};
    if (body->scale != 1)
        return td_record_fail(&parser->reader, record, "transform",
                              "a robot cannot be scaled, because its masses would have to change too; remove 'scale'");
    TD_TRY(read_robot(parser, record, body));
    const tdYaml *joints = td_record_get(record, "joints")->node;
    bool *placed = TD_TAKE(parser->arena, bool, body->tree->n_links);
    int index = 0;
    if (placed == NULL)
        return td_fail_memory(parser->reader.error, "the joints");
    for (const tdYaml *item = joints == NULL ? NULL : joints->first; item != NULL; item = item->next, index++)
        TD_TRY(parse_joint(parser, item, index, record->path, body, placed));
    tdStatus status = td_robot_masses(parser->arena, body->tree, &inner); // of a base that is free after all
    if (status == TD_OK)
        status = td_robot_starts(parser->arena, body->tree, placed, &inner);
    if (status == TD_OK)
        status = td_tree_check(parser->arena, body->tree, &inner);
    if (status != TD_OK)
    {
        char text[700];
        td_error_format(&inner, text, sizeof text);
        td_record_fail(&parser->reader, record, robot_key(record), "%.600s", text);
    }
    return status == TD_OK ? check_start(parser, record, body) : status;
}

tdStatus td_parse_rigid(tdSceneParser *parser, const tdRecord *record, tdSceneBody *body)
{
    body->tree = TD_TAKE(parser->arena, tdTree, 1);
    if (body->tree == NULL)
        return td_fail_memory(parser->reader.error, "a rigid body");
    TD_TRY(body->type == TD_BODY_RIGID ? parse_rigid(parser, record, body) : parse_articulated(parser, record, body));
    memcpy(body->angular_velocity, td_record_get(record, "angular_velocity")->number, sizeof body->angular_velocity);
    static const char *const keys[2] = {"velocity", "angular_velocity"};
    for (int k = 0; k < 2; k++)
    {
        if (!given(record, keys[k]))
            continue;
        if (body->tree->links[0].kind != TD_JOINT_FREE)
            return td_record_fail(&parser->reader, record, keys[k], "the body is %s; remove '%s', or let it move",
                                  body->guided[0] != NULL ? "guided" : "fixed", keys[k]);
        if (parser->method == TD_CHOICE_STATIC)
            return td_record_fail(&parser->reader, record, keys[k], "a static scene has no velocities; remove it");
    }
    return TD_OK;
}

// ---------------------------------------------------------------- links

tdStatus td_parse_link_name(tdSceneParser *parser, const tdRecord *record, const char *key, int body, const char **out)
{
    const tdSceneBody *of = &parser->scene->bodies[body];
    const char *name = td_record_get(record, key)->text;
    if (of->type == TD_BODY_SOFT)
        return td_record_fail(&parser->reader, record, key, "body '%s' is soft and has no links; remove '%s'", of->name,
                              key);
    if (td_tree_link(of->tree, name) < 0)
    {
        const char *names[256];
        int n = 0;
        for (; n < of->tree->n_links && n < 256; n++)
            names[n] = of->tree->links[n].name;
        const char *nearest = td_suggest(name, names, n);
        return td_record_fail(&parser->reader, record, key, "body '%s' has no link '%.60s'; %s '%s'%s", of->name, name,
                              nearest != NULL ? "did you mean" : "its first is", nearest != NULL ? nearest : names[0],
                              nearest != NULL ? "?" : "");
    }
    return td_parse_copy(parser, name, out);
}

tdStatus td_parse_link(tdSceneParser *parser, const tdRecord *record, int body, bool at_point, const char **out)
{
    *out = NULL;
    if (!given(record, "link"))
        return TD_OK;
    if (!at_point && parser->scene->bodies[body].type != TD_BODY_SOFT)
        return td_record_fail(&parser->reader, record, "link",
                              "'link' needs 'point'; 'group: %.60s' chooses the corners of a link",
                              td_record_get(record, "link")->text);
    return td_parse_link_name(parser, record, "link", body, out);
}

// ---------------------------------------------------------------- actuators of joints

tdStatus td_parse_joint_name(tdSceneParser *parser, const tdRecord *record, int body, int *out, bool *slides)
{
    const tdSceneBody *of = &parser->scene->bodies[body];
    if (of->type != TD_BODY_ARTICULATED)
        return td_record_fail(&parser->reader, record, "body", "body '%s' has no joints; it is not articulated",
                              of->name);
    TD_TRY(find_joint(parser, record, "joint", of, out));
    *slides = !turns(&of->tree->links[*out]);
    return TD_OK;
}

tdStatus td_parse_joint_kind(tdSceneParser *parser, const tdRecord *record, tdSceneActuator *actuator)
{
    bool slides = false;
    TD_TRY(td_parse_body_name(parser, record, "body", &actuator->body));
    if (!given(record, "joint") && parser->scene->bodies[actuator->body].type == TD_BODY_ARTICULATED)
        return td_record_fail(&parser->reader, record, "joint", "an actuator of type joint needs 'joint', its name");
    TD_TRY(td_parse_joint_name(parser, record, actuator->body, &actuator->joint, &slides));
    actuator->kind = slides ? TD_ACTUATOR_SLIDE : TD_ACTUATOR_JOINT;
    return TD_OK;
}

tdStatus td_parse_joint(tdSceneParser *parser, const tdRecord *record, tdSceneActuator *actuator)
{
    const tdTreeLink *link = &parser->scene->bodies[actuator->body].tree->links[actuator->joint];
    bool effort = actuator->drive == TD_DRIVE_EFFORT, stiff = given(record, "stiffness");
    tdDim stiffness = turns(link) ? TD_DIM_TORQUE : TD_DIM_FORCE;
    stiffness.length -= turns(link) ? 0 : 1;
    if (effort && (stiff || given(record, "damping")))
        return td_record_fail(&parser->reader, record, stiff ? "stiffness" : "damping",
                              "a joint driven by effort has no servo; remove it, or drive it by position or velocity");
    TD_TRY(read_per_angle(parser, record, "stiffness", stiffness, turns(link), &actuator->stiffness));
    TD_TRY(read_per_angle(parser, record, "damping", damping_dim(link), turns(link), &actuator->damping));
    if (actuator->rate && stiff)
        return td_record_fail(&parser->reader, record, "stiffness",
                              "a joint driven by velocity has 'damping' as its gain; remove 'stiffness'");
    if (actuator->rate && !(actuator->damping > 0))
        return td_record_fail(&parser->reader, record, "damping",
                              "a joint driven by velocity needs 'damping', the effort per error of its rate");
    if (!effort && !actuator->rate && !stiff && given(record, "damping"))
        return td_record_fail(&parser->reader, record, "damping",
                              "without 'stiffness' the position is met exactly and nothing is damped; add it");
    if (stiff && !(actuator->stiffness > 0))
        return td_record_fail(&parser->reader, record, "stiffness", "must be > 0");
    if (!effort && (actuator->rate || stiff))
        actuator->drive = TD_DRIVE_SERVO;
    actuator->weightless = td_record_get(record, "gravity_compensation")->integer[0] != 0;
    if (actuator->weightless && (actuator->drive != TD_DRIVE_SERVO || parser->method == TD_CHOICE_STATIC))
        return td_record_fail(&parser->reader, record, "gravity_compensation",
                              parser->method == TD_CHOICE_STATIC
                                  ? "a static scene has no earlier step to start from; remove it"
                                  : "is for servos: 'drive: position' with 'stiffness', or 'drive: velocity'");
    return TD_OK;
}

// What the robot's file says holds where the scene says nothing.
void td_parse_joint_limits(const tdSceneParser *parser, tdSceneActuator *actuator)
{
    const tdTreeLink *link = &parser->scene->bodies[actuator->body].tree->links[actuator->joint];
    actuator->effort[0] = -link->effort;
    actuator->effort[1] = link->effort;
    if (actuator->drive == TD_DRIVE_EFFORT || actuator->rate)
        return;
    actuator->displacement[0] = link->lower;
    actuator->displacement[1] = link->upper;
}
