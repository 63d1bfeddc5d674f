// SPDX-License-Identifier: Apache-2.0
// The local model: all that a hand can feel of a scene until its next step, as a small problem.
//
//     gap(lambda, x) = b + rate t + C lambda + E' (x - x_ref)            3 rows a contact: two tangents, normal
//
// C [m/N] is the compliance of what the tool touches, c s J A^-1 J' (S3 eq. 10) with everything else that acts (other
// contacts, attachments, drives) at its present slope, and of the coupling between tool and device. E has the
// directions in which rows push the tool. At the tool's pose x_ref in the step the solution is the step's own:
// forces go on without a jump where nothing moves. Contacts within reach are in it before they touch. So are those that
// a free rigid body which the tool touches has with others, where there is room: it may stick to a table as the hand
// turns round, which no slope says of one that slides.
//
// What the tool is attached to holds it by many points, but all that a hand can do to them is move the tool: six rows
// are left of them (local_bond.h).
//
// The simulation fills one after each step (td_local_publish) and hands it over by three slots (base/exchange.h):
// neither side waits, and what the haptic thread reads is never written.
#pragma once
#include "base/exchange.h"
#include "collide/shape.h"
#include "core/state.h"
#include "solve/dual.h"

#define TD_LOCAL_CONTACTS 48 // most of a local model; where more bear a force, neighbours become patches
#define TD_LOCAL_ROWS     (3 * TD_LOCAL_CONTACTS)

/// A contact of the tool. Directions point so that a positive effort pushes the tool along them.
typedef struct tdLocalContact
{
    double direction[3][3]; ///< two tangents, normal
    double arm[3];          ///< from the tool's origin to the point, at x_ref [m]
    bool bond;              ///< three of six rows of what the tool is attached to: see local_bond.h
    double couple[3][3];    ///< of a bond: torque of a unit of its rows, about the tool's origin [m]
    bool inner;             ///< of a free body that the tool touches, with something else: the tool does not move it
    double mu;
    double force[3]; ///< of the step [N]
    double rate[3];  ///< of what bears no force: how the gap changes by motion of the surface that no force makes [m/s]
    double b[3];     ///< gap without forces at x_ref [m]
} tdLocalContact;

typedef struct tdLocal
{
    int64_t step;
    double time;                ///< of the simulation, at the end of the step [s]
    double clock;               ///< of the caller, when it was made [s]
    double h;                   ///< time step [s]
    double lead;                ///< before `clock`, when the tool was where it is in the step [s]
    tdPose tool;                ///< x_ref
    int n;                      ///< contacts
    int left_out;               ///< contacts within reach that are not in it
    int others;                 ///< rows of other things whose slopes are part of C
    double force[3], torque[3]; ///< on the tool in the step, about its origin [N, N m]
    tdLocalContact contact[TD_LOCAL_CONTACTS];
    double C[TD_LOCAL_ROWS * TD_LOCAL_ROWS]; ///< 3 n x 3 n, stride 3 n, symmetric
} tdLocal;

/// What joins tool and device: a spring that gives way by 1/stiffness; infinite: none.
typedef struct tdCoupling
{
    double stiffness;         ///< [N/m]
    double angular_stiffness; ///< [N m/rad]
    bool through;             ///< the tool's shaft passes through `trocar` and turns about it: a hand moves the tip
    double trocar[3];
} tdCoupling;

/// Force at the tip of a tool that does as much work as a force and torque about it, and the torque that is left: of a
/// shaft at the length L in a trocar, f - (torque x d) / L, d towards the trocar; the torque about the shaft is left.
/// Without a trocar they stay as they are.
void td_coupling_tip(const tdCoupling *coupling, const tdPose *tool, double force[3], double torque[3]);

/// A contact of the step, as part of a patch.
typedef struct tdLocalMember
{
    tdLocalContact rows;
    double force[3]; ///< in the world [N]
    double gap;      ///< at the end of the step [m]
    double R;        ///< of its law, along the normal
    double gain[3];  ///< by which the motion of rows grew in the step, of bodies that keep all of theirs [m/s]
    double keeps;    ///< share of its velocity that the body which is touched keeps
    bool free;       ///< that is all of it
    int patch;
    double share; ///< of the patch's force
    double part[3][3];
    double away; ///< squared, from the middle of the patch
} tdLocalMember;

/// The simulation's side.
typedef struct tdLocalMaker
{
    int body; ///< the tool, a guided one; what follows it belongs to it
    tdCoupling coupling;
    tdLocal *last; ///< of the step before
    bool has_last;
    // scratch, which grows with the largest problem met
    tdDual dual;
    bool *touched;
    int n_members;
    int32_t *list; ///< constraints of the problem
    tdLocalMember *members;
    int64_t member_room;
    bool attached; ///< attachments hold the tool
    int n_bond_rows;
    struct tdLocalBondRow *bond_rows; ///< local_bond.h
    double bond_wrench[6];            ///< of the step, on the tool [N, N m]
    double *bond_work;
    int64_t bond_room, bond_work_room;
    double lever; ///< mean distance of what the tool is attached to from its origin [m]
    double *root, *work;
    int64_t touched_room, root_room, work_room;
} tdLocalMaker;

tdStatus td_local_create(const tdModel *model, int body, const tdCoupling *coupling, tdLocalMaker **out,
                         tdError *error);
void td_local_free(tdLocalMaker *maker);
/// After a step, from its problem. clock: that of the haptic loop [s]. reads  problem, contacts, q      writes  out
tdStatus td_local_make(tdLocalMaker *maker, const tdModel *model, tdState *state, double clock, tdLocal *out,
                       tdError *error);

/// Three of them between a simulation and a haptic loop.
typedef struct tdLocalSlots
{
    tdExchange exchange;
    tdLocal slot[3];
} tdLocalSlots;
