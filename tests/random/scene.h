// SPDX-License-Identifier: Apache-2.0
// A random scene as a list of pieces that can be left out one by one, so that a scene that fails can be made smaller:
// bodies, loads, actuators, single keys. A piece goes together with what it belongs to.
#pragma once
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum piecePlace
{
    PIECE_TOP, ///< a line of the scene itself
    PIECE_BODY,
    PIECE_LOAD,
    PIECE_PROBE,
    PIECE_ACTUATOR,
    PIECE_EFFECTOR,
    PIECE_TOOL,
    PIECE_ATTACHMENT,
    PIECE_COUPLING,
    PIECE_KEY,   ///< a key of the piece that it belongs to
    PIECE_MOTION ///< a name and its values at the keyframes of the scene
} piecePlace;

#define PIECE_VALUES 4 // keyframes of the motion

typedef struct scenePiece
{
    piecePlace place;
    int owner, other; ///< pieces without which it makes no sense; -1: none
    bool alive;
    const char *tag; ///< what it is, for the count of what was covered
    char *text;      ///< keys and values as YAML writes them in braces
    double values[PIECE_VALUES];
    char *file, *content; ///< a file beside the scene that it needs; NULL: none
} scenePiece;

typedef struct randomScene
{
    uint64_t seed, number; ///< that it was made from
    int steps;
    double time_step;
    double key_times[PIECE_VALUES];
    int n, room;
    scenePiece *pieces;
} randomScene;

// ---------------------------------------------------------------- random numbers

/// The next of a sequence (splitmix64): the same on every machine.
uint64_t random_next(uint64_t *seed);
double random_between(uint64_t *seed, double low, double high);
/// Evenly by orders of magnitude.
double random_log(uint64_t *seed, double low, double high);
int random_below(uint64_t *seed, int n);
bool random_chance(uint64_t *seed, double probability);

// ---------------------------------------------------------------- pieces

/// Adds a piece; returns its index.
int scene_piece(randomScene *scene, piecePlace place, int owner, const char *tag, const char *format, ...)
    TD_PRINTF(5, 6);
/// Gives it a file. Takes `content`, which was made by malloc.
void scene_file_of(randomScene *scene, int piece, const char *name, char *content);
/// Whether a piece is in the scene: it and all that it belongs to are alive.
bool scene_has(const randomScene *scene, int piece);
/// Whether a piece with this tag is.
bool scene_has_tag(const randomScene *scene, const char *tag);
/// The scene as YAML; to be freed by the caller.
char *scene_write(const randomScene *scene);
/// Writes the files beside the scene into a folder; false: it could not.
bool scene_write_files(const randomScene *scene, const char *folder);
void scene_drop(randomScene *scene);

/// Formats into memory of its own.
char *format_text(const char *format, ...) TD_PRINTF(1, 2);

// ---------------------------------------------------------------- generate.c

/// Scene `number` of a seed.
void scene_generate(uint64_t seed, uint64_t number, int steps, randomScene *scene);
