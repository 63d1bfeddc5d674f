// SPDX-License-Identifier: Apache-2.0
// What the folder of a run holds: frames, bodies, cables and stress in its VTU files, all else in its tables.
#pragma once
#include "study/picture.h"
#include "table.h"

#include <limits.h>

typedef struct Shown
{
    char *name;
    bool soft, plane;
    int64_t nodes, elements; // of the file
    int32_t n_vertices, n_triangles;
    int32_t *node, *triangles; // by vertex: the node of the file
    float *rest;
} Shown;

typedef struct Acting
{
    char *name;
    const char *effort_unit, *displacement_unit;
    int points; // of a cable
    const double *effort, *displacement;
} Acting;

// A point of a table: x, y, z by row.
typedef struct Point
{
    char *name;
    const double *x[3], *target[3], *error;
} Point;

typedef struct Player
{
    const char *folder;
    char list_path[PATH_MAX], *list;
    runTables tables;
    tdArena arena;
    int n_frames, stride;
    int64_t *step;
    double *time;
    int n_bodies, n_actuators, n_probes, n_effectors;
    Shown *bodies;
    Acting *actuators;
    Point *probes, *effectors;
    char *contacts[2]; // text of contacts.csv and contact_pairs.csv; NULL: there is none
    const char *contact_row[2];
    int64_t row[3]; // of actuators, effectors and probes: where the last frame was
    double bounds[6];
    tdText *out;
} Player;

/// Reads what does not change. run_close() releases it, also where this fails.
tdStatus run_open(Player *p, const char *folder, tdError *error);
void run_close(Player *p);

/// A file of the folder.
tdStatus run_part(const Player *p, const char *file, tdPicture *picture, tdError *error);
/// Body by its name; the first if there is none.
int run_body(const Player *p, const char *name, size_t length);
const Table *run_table(const Player *p, const char *file);
/// Row of a step, -1: none. Rows ascend by step; *from is where the search begins, and where it ended.
int64_t run_row(const Table *table, int64_t step, int64_t *from);

/// Appends the cables of a step to a frame.
tdStatus run_add_cables(const Player *p, int64_t step, int64_t message, tdText *frame, tdError *error);
/// The same of points (0) or pairs of bodies (1) that carry a force. Frames are taken in their order.
void run_add_contacts(Player *p, int64_t step, int which, int64_t message, tdText *frame);
