// SPDX-License-Identifier: Apache-2.0
// A reduced model as it is kept in a file: for one body of a scene, positions of nodes
//
//     q = q0 + Phi alpha + Psi u
//
// with modes Phi from snapshots and, for each translation that an actuator or a prescribed motion gives, the static
// response Psi of the nodes (the given displacement itself on the nodes that are held); and for each force field the
// elements that stand for all (ECSW, S1 eq. 20-21): internal forces are sum_e weight_e Phi_e' f_e over them. Or, for
// St. Venant-Kirchhoff bodies, the polynomials of (alpha, u) that internal forces are (reduce/stvk.h).
#pragma once
#include "base/memory.h"
#include "base/status.h"

#define TD_ROM_SINGLE_ERROR 1e-5 // up to which single precision is taken when nothing is said
#define TD_ROM_VERSION      3

/// Elements of one force field (volume, membrane) and their weights: factors on their own volume.
typedef struct tdRomDomain
{
    const char *name;
    int64_t n;
    int32_t *element; ///< by number in the body, ascending
    double *weight;   ///< > 0
    // A second, independent choice, for the indicator of errors
    int64_t n_check;
    int32_t *check;
    double *check_weight;
    double tolerance, error; ///< asked for; true relative residual on all training rows
} tdRomDomain;

typedef enum tdFrameKind
{
    TD_FRAME_FIXED,       // held somewhere: the modes do it all
    TD_FRAME_TRANSLATION, // free, and only translates: three rigid modes stand before the others (S1 eq. 22)
    TD_FRAME_FREE         // free: a rigid frame carries the modes, q = x + R (q0 + Phi alpha)
} tdFrameKind;

typedef enum tdRomKind
{
    TD_ROM_DOMAINS, // few elements stand for all
    TD_ROM_STVK     // polynomials stand for all elements
} tdRomKind;

typedef struct tdRom
{
    tdArena arena;
    const char *file;    ///< for messages
    const char *body;    ///< name in the scene
    const char *made_by; ///< version of the library
    uint64_t physics;    ///< hash of mesh, materials, supports and moved nodes (td_soft_physics)
    int64_t n_nodes;
    int r;       ///< modes
    double *phi; ///< 3 n_nodes x r row-major, orthonormal columns, zero on held coordinates
    int n_u;
    const char **inputs; ///< names of the inputs that move held coordinates
    double *psi;         ///< 3 n_nodes x n_u
    tdFrameKind frame;
    tdRomKind kind;
    int n_domains;
    tdRomDomain *domains;
    double *P, *Q, *S; ///< kind stvk: coefficients of r + n_u columns, by pair, triple and quadruple; else NULL
    // training
    int64_t n_snapshots;
    int n_sigma;
    double *sigma; ///< singular values, all that were kept
    int n_lambda;
    double *lambda;                  ///< of vibration modes, omega^2 [1/s^2], ascending; none: modes of snapshots
    double pod_tolerance, pod_error; ///< relative: the root of S1 eq. 15
    double held_out_error;           ///< relative, on motions that training did not see; NAN: not measured
    double *low, *high;              ///< r: range of each amplitude in training
    double *spread;                  ///< r: its standard deviation
    // Dead loads in training by td_soft_dead_loads(), and the ranges of their inputs; actuators by
    // td_soft_drive_text(). load_low NULL: not known
    int n_loads;
    const char **loads;
    double *load_low, *load_high;
    // Error <= offset + slope * indicator, warned above `threshold` and above a distance from training; NAN: not
    // calibrated (offset: 0).
    double indicator_slope, indicator_offset, indicator_threshold, distance_threshold;
    double contact;      ///< 1: training had contact, 0: none, NAN: not known
    double motion_error; ///< as held_out_error, but while it moves; NAN: not measured
    // A tangent in single precision moves the body by this much on the held-out motion, relative; 0: not measured.
    double single_error;
    // How long the phases of training took: no part of the content, in a group of its own in the file.
    int n_phases;
    const char **phases;
    double *seconds;
} tdRom;

/// Reads and checks a file: shapes, ranges, names, numbers that are not finite. td_rom_free() also after failure.
tdStatus td_rom_read(const char *path, tdRom *rom, tdError *error);
/// Appears by atomic rename; the same content and timings give the same bytes.
tdStatus td_rom_write(const tdRom *rom, const char *path, tdError *error);
/// Of all that is content: equal for equal reduced models, however long they took and whichever version made them.
uint64_t td_rom_hash(const tdRom *rom);
const char *td_frame_name(tdFrameKind frame); ///< "fixed", "translation", "free"
const char *td_rom_kind_name(tdRomKind kind); ///< "domains", "stvk"
void td_rom_free(tdRom *rom);
