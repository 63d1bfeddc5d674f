// SPDX-License-Identifier: Apache-2.0
// Contact in a step: who touches whom, and the convex problem that all bodies share.
//
//     A (v - v*) = J' gamma,   gamma = P(-(J v - v_hat) / R)            solve/sap.h
//
// Contacts are found once a step, where bodies are at its start. A contact has three rows, two tangents and its normal,
// over the coordinates of the two bodies: nodes that take part of a full-order body, all coordinates of a reduced one,
// joints on the way to a link. Coordinates whose motion is given have no column; what they move by is part of v_hat.
// Driven actuators and limits of joints that would be solved by themselves are rows of the same problem
// (solve/problem.h).
//
// Nothing here allocates in a step unless there are more contacts, or entries of rows, than ever before.
#pragma once
#include "collide/collide.h"
#include "core/model.h"
#include "solve/problem.h"
#include "tendril/tendril.h"

/// How a collider touches.
typedef struct tdContactCollider
{
    int body, link; ///< link -1: surface of a soft body
    int field;      ///< of which; -1: none
    double friction, stiffness, dissipation;
    double torsion, rolling; ///< largest torque over the force along the normal [m]; of surfaces of soft bodies 0
    double size;             ///< largest extent of its link or surface at rest [m]; of a plane infinite
    double thin;             ///< its own smallest extent [m]
    double give;             ///< near-rigid points on it give way by no more, whatever they bear [m]
} tdContactCollider;

/// How two colliders touch.
typedef struct tdContactPair
{
    double mu, stiffness, dissipation;
    double torsion, rolling; ///< as tdContactCollider
    double give;             ///< by which a near-rigid point gives way at most [m]
} tdContactPair;

/// What of a soft body can touch, for colliders of one field: nodes of its mesh, or points of a surface of its own that
/// are weighted means of nodes.
typedef struct tdContactField
{
    int body;
    int32_t n_nodes;
    const int32_t *nodes; ///< of the mesh that touch or carry a point, ascending
    int32_t n_points;     ///< 0: nodes touch themselves
    const int32_t *start; ///< n_points + 1: where the nodes of each point are listed
    const int32_t *node;
    const double *weight;
    uint64_t hash;   ///< of the surface whose points they are
    int64_t tris;    ///< triangles that meet others
    int64_t walls;   ///< of cavities, which do not
    int32_t corners; ///< nodes or points of these triangles
    double error;    ///< largest distance of a chosen surface from that of the mesh [m]; NAN: it is that of the mesh
} tdContactField;

typedef struct tdContactFrame
{
    int body, link;
} tdContactFrame;

typedef enum tdBondKind
{
    TD_BOND_WELD,    // 3 rows, along the axes of the world: x_0 - x_1
    TD_BOND_ROD,     // 1 row: |x_0 - x_1|
    TD_BOND_COUPLING // 1 row: sum of coordinates of both sides times their weights
} tdBondKind;

/// A bilateral constraint between two bodies. Its velocity is that of side 0 beside side 1, its effort acts on side 0.
typedef struct tdBond
{
    tdBondKind kind;
    int rows;
    int group;
    tdPointSet side[2]; ///< one point each; of a coupling coord and weights alone. body -1: fixed in space, or nothing
    double rest[3];     ///< what its rows are at rest
} tdBond;

/// Bonds [first, first + count) that are told of together.
typedef struct tdBondGroup
{
    const char *name;
    int line;
    int first, count;
    double stiffness, dissipation; ///< of each; infinite: rigid
} tdBondGroup;

/// What becomes of a body in a scene whose bodies may sleep.
enum
{
    TD_REST_NEVER, ///< it sleeps never: it deforms, or something but weight and contact acts on it
    TD_REST_SLEEPS,
    TD_REST_FIXED ///< it never moves
};

typedef struct tdContactModel
{
    tdCollideWorld *world; ///< NULL: bodies do not touch, but bonds join them
    tdContactCollider *colliders;
    int n_fields, n_frames;
    tdContactField *fields;
    tdContactFrame *frames;
    bool guided; ///< a body that meets others has its motion given
    double margin;
    double sleep;        ///< bodies that are slower than this sleep [m/s]; 0: none do (contact_sleep.c)
    int64_t drowsy;      ///< for so many steps
    unsigned char *rest; ///< by body, where some do
    double slide;        ///< of tdCollideInput: convex friction slides on a gap of (h + tau) mu times the speed
    bool corrected;      ///< what slides does not ride on a gap (contact_solve.c)
    tdSapTuning tuning;
    int n_bonds, n_groups;
    tdBond *bonds;
    tdBondGroup *groups;                ///< attachments of the scene, then its couplings
    int64_t bond_columns, bond_entries; ///< of the rows of all bonds, at most
    int64_t bond_size;                  ///< entries of a row of one side, at most
    bool by_response; ///< bonds are part of the response of bodies: what is solved by columns goes together with them
} tdContactModel;

/// A collider in the step that ended.
typedef struct tdContactWay
{
    double box[6]; ///< at its start
    double way[3]; ///< of the middle
} tdContactWay;

/// A body in the problem.
typedef struct tdContactBody
{
    bool acted_on;      ///< velocities of it take part
    int64_t followed;   ///< contacts
    int company;        ///< bodies that are condensed and that bonds join with it, itself included
    bool condensed;     ///< not all of its unknowns take part, and the others follow
    bool was_condensed; ///< before points began to act
    int32_t block;      ///< -1: none
    tdBodyBlock part;   ///< the velocities that take part, where it is acted on
    /// Velocities of the block before those that take part (contact_block.c): the motion of driven actuators, of bodies
    /// that are condensed, and of efforts that move nodes.
    int32_t n_scalar, *scalar;
    int32_t n_moved, *moved; ///< unknowns of the condensed problem
    double *share;           ///< by scalar: of R of its row, which the block has already
} tdContactBody;

/// Column of a coordinate of a body; -1: none.
static inline int32_t td_contact_column(const tdContactBody *body, int64_t coord)
{
    int32_t column = body->block < 0 || !body->acted_on ? -1 : td_block_column(&body->part, coord);
    return column < 0 ? -1 : body->n_scalar + body->n_moved + column;
}

/// Owners of rows.
enum
{
    TD_OWNER_CONTACT,  ///< by contact
    TD_OWNER_TURNING,  ///< by contact: its torsional and rolling friction, right after it
    TD_OWNER_ACTUATOR, ///< by actuator, twice: what is asked of one that is driven, or its lower stop; its upper stop
    TD_OWNER_STOP,     ///< by actuator, twice: a limit of the motion of nodes that its effort moves
    TD_OWNER_BODY,     ///< by tdContactState.body_rows: a limit of a joint, a servo with a limited effort
    TD_OWNER_BOND      ///< by bond
};

/// What a driven actuator is asked: displacement + compliance effort = target, within limits of the effort.
typedef struct tdContactDrive
{
    double now; ///< effort before; of a stop: no less, or no more, than the one that is given
    double compliance, target;
    double limit[2];
    double share; ///< of R of its row, which the blocks have already
    int32_t row;  ///< its constraint; -1: none
} tdContactDrive;

typedef struct tdContactState
{
    tdCollideState *collide;
    tdCollideState *again; ///< static scenes: where an increment has come to
    double *depth;         ///< by collider: how deep it was met in the last step that was accepted; -1: not known yet
    double *depth_now;
    double *overlap; ///< by collider: how deep it was when it was first looked at, less what it has come out since [m]
    // what td_collide reads
    const double **x, **v;
    double **field_x, **field_v; ///< by field of reduced bodies: 3 a node
    double **point_x, **point_v; ///< by field with points: 3 each
    tdPose *poses;
    double (*twists)[6];
    const double **x_last; ///< the same at the end of the step, for contact_fast.c
    tdPose *poses_last;
    tdContactWay *ways; ///< by collider
    // the set of this step
    int64_t n;
    const tdContact *contacts;
    bool *acts; ///< by contact: it has rows; the others are followed only (contact_follow.c)
    int64_t act_room, n_left_out;
    int growths;     ///< rounds of this step in which points began to act
    bool recovered;  ///< dv has the solution already
    bool regrown;    ///< more points act than in the solution that is known: v_end
    double *v_end;   ///< over all coordinates
    int32_t *island; ///< by block: another of its island, or itself
    bool *gives_way; ///< by block that is the first of its island
    int64_t n_body_rows;
    tdBodyRow *body_rows; ///< bodies one after the other
    int32_t *row_body;
    int64_t body_row_room;
    tdContactBody *bodies;
    // the problem
    tdProblem *problem; ///< the state's
    int32_t n_weighed;  ///< constraints whose w is known in this step
    double **ahead;     ///< by block: how far it moves in the step if its last velocity is zero
    double *gap;        ///< by contact: signed distance at the end of the step, then [m]
    double *ride;       ///< by contact: speed off the other side that sliding brings, and that is taken away [m/s]
    double *hold;       ///< 2 a contact: what its tangents bear before the point moves at all, in equilibria
    double *bears;      ///< by contact: the impulse along the normal that limits what resists turning [N s]
    int64_t ride_room, hold_room, bear_room;
    int rounds;    ///< in which that was found
    int holds;     ///< the same of `hold`
    int turns;     ///< the same of `bears`
    double *w_own; ///< by contact: w of its own bodies; its w is no more than goes with what it bears
    int64_t gap_room, own_room;
    tdContactDrive *drives; ///< by actuator, twice, as owners
    bool *held;             ///< by coordinate: its motion is given
    double *softness; ///< by body, then by actuator: how much softer bodies whose blocks are sparse are than their
                      ///< diagonals say; 0: not known yet
    int phase;        ///< of the search for loads (contact_solve.c)
    struct tdContactLoads
    {
        const tdModel *model;
        tdState *state;
    } loads;                         ///< what it is about
    bool weighed;                    ///< w of this pass is that of the bodies, before loads were looked at
    struct tdTouchReading *readings; ///< by effector, for inverse control
    double *direction;               ///< 6 by actuator, scratch of that
    double *impulse;                 ///< 3 a contact: on side B, in the world
    double *turn;                    ///< the same of torque, where something resists turning
    double (*frame)[3][3];           ///< by contact that acts: two tangents and the normal
    int64_t frame_room;
    int64_t impulse_room, turn_room;
    tdContactPoint *points;
    int64_t point_room, n_points;
    tdContactSum *sums; ///< of these points, where somebody has asked (contact_sums.c)
    int64_t sum_room, n_sums;
    bool sums_known;
    double *bond_effort; ///< 3 a bond: impulse on side 0
    double *bond_told;   ///< the same of the last step that was accepted
    double *bond_base;   ///< what of it the free motion has already; the problem finds the rest
    double *bond_row;    ///< a row of one side, for the moment only
    double *bond_w;      ///< by bond, where they are part of the response: size of J A^-1 J' in the first pass
    bool *bond_dead;     ///< 3 a bond: rows that nothing can move
    double scale;        ///< size of the momentum of the blocks, for relative residuals
    double pushed;       ///< work of near-rigid points that were found deep in this step [J], friction included
    struct tdContactSleep *sleep; ///< contact_sleep.c; NULL: nobody sleeps
    bool limit;                   ///< the solver reached its bound in this pass
    bool whole;                   ///< Newton went the whole way to what the problem said
} tdContactState;

/// compile_contact.c: model->contact, when the scene asks for it.
tdStatus td_compile_contact(tdModel *model, const tdSettings *settings, tdError *error);
/// suit_contact.c: what it does not go together with; the second once colliders are known.
tdStatus td_contact_suits(const tdModel *model, tdError *error);
tdStatus td_contact_turning_suits(const tdModel *model, int n_colliders, tdError *error);
/// compile_attach.c, compile_coupling.c: bonds of model->contact.
tdStatus td_compile_bonds(tdModel *model, tdError *error);
tdStatus td_compile_couplings(tdModel *model, int64_t *room, tdError *error);
/// compile_sleep.c: who may sleep, when the scene lets bodies sleep.
tdStatus td_compile_sleep(tdModel *model, tdError *error);
/// A point of a body for one side of a bond; and after both sides: whether something can move, columns and entries.
struct tdMaterialPoint;
tdStatus td_bond_point(tdModel *model, tdPointSet *set, int body, const struct tdMaterialPoint *point,
                       const double rest[3], tdError *error);
bool td_bond_count(const tdModel *model, const tdBond *bond);
/// compile_attach.c: whether its sides are points of one piece.
bool td_bond_is_one_piece(const tdModel *model, const tdBond *bond);
/// Whether colliders of a body or link (-1: soft) pass through those of another because they are attached.
bool td_bonds_part(const tdModel *model, int body, int link, int other, int other_link);
void td_contact_model_free(tdContactModel *contact);
/// Whether bodies can touch.
static inline bool td_contact_is_possible(const tdModel *model)
{
    return model->contact != NULL && model->contact->world != NULL;
}

/// Before the bodies' states, which read it; after them.
tdStatus td_contact_create(const tdModel *model, tdState *state, tdError *error);
void td_contact_free(tdState *state);

/// Start of a step: the contacts and the nodes that take part. reads  q, v      writes  joined
tdStatus td_contact_find(const tdModel *model, tdState *state);
/// Of what overlapped at the start: how much of it is left between the two colliders [m]; 0: none.
static inline double td_contact_overlap(const tdContactState *cs, const tdContact *contact)
{
    double a = cs->overlap[contact->a.collider], b = cs->overlap[contact->b.collider];
    return a < b ? a : b;
}
/// The gap of a contact as its law has it: one that began deep, in the part of its depth that it has not come out of,
/// is closed.
double td_contact_held(const tdModel *model, const tdContactState *cs, const tdContact *contact, double gap);
/// Static scenes: whether the bodies, where they are now, overlap at points that were not in the set.
tdStatus td_contact_overlooks(const tdModel *model, tdState *state, bool *overlooks);
/// Coordinates of a body take part.
void td_contact_take_part(const tdModel *model, tdState *state, int body, int64_t n, const int32_t *coord);

/// contact_sleep.c. Who sleeps in this step, once its contacts are known.
tdStatus td_contact_sleep_create(const tdModel *model, tdState *state, tdError *error);
void td_contact_sleep_free(tdContactState *cs);
void td_contact_doze(const tdModel *model, tdState *state);
/// Whether a body sleeps and nothing of it is solved; and whether both bodies of a contact do, or one and the other is
/// fixed.
bool td_contact_sleeps(const tdContactState *cs, int body);
bool td_contact_is_settled(const tdModel *model, const tdContactState *cs, const tdContact *contact);
/// dv of those that sleep: they come to rest. Before the solution that of those that are not solved at all; after it,
/// who would not stay wakes.
void td_contact_lull(const tdModel *model, tdState *state, bool solved);
/// Impulses of contacts that are settled.
void td_contact_bear(const tdModel *model, tdContactState *cs);
/// After a step was accepted; after a checkpoint was read; something has changed that bodies do not feel by contact.
void td_contact_sleep_commit(const tdModel *model, tdState *state);
void td_contact_sleep_restore(tdContactState *cs);
void td_contact_wake(const tdModel *model, tdState *state);
/// By body: for how many steps it has been slow; NULL: nobody sleeps.
int64_t *td_contact_calm(const tdContactState *cs);

/// contact_follow.c: which of the contacts have rows; all that were left out begin to act; those do that would bear a
/// force with the solution, and it is to be solved again (grown), else dv has it. False: no memory.
/// reads v_new; the solution      writes acts, who takes part; dv
bool td_contact_choose(const tdModel *model, tdState *state);
void td_contact_act_all(const tdModel *model, tdState *state);
tdStatus td_contact_grow(const tdModel *model, tdState *state, bool *grown, bool *outgrown);
/// Whether the problem may find the free motion of bodies that are solved whole on its way: nobody else asks for it.
bool td_contact_spares(const tdModel *model, const tdState *state);
/// Whether actuators change so little in this step that A stays definite if it was.
bool td_contact_is_calm(const tdModel *model, const tdState *state);
/// Whether it did, of some body.
bool td_contact_spared(const tdModel *model, const tdState *state);
/// The bodies of a contact take part.
void td_contact_touch(const tdModel *model, tdState *state, const tdContact *contact);

/// contact_solve.c: blocks, rows and laws of all that acts, into the state's problem. first: held coordinates have not
/// arrived yet. fresh: A is new since the last time.
/// reads A, dv (the free motion), rows of actuators      writes the problem
tdStatus td_contact_problem(const tdModel *model, tdState *state, bool first, bool fresh);
/// contact_steer.c: inverse control beside contact, where an effort is free. After the problem was made; before it is
/// solved anew; after its solution, before td_contact_take.
tdStatus td_contact_steer(const tdModel *model, tdState *state);
void td_contact_restart(void *context);
void td_contact_steer_take(const tdModel *model, tdState *state);
/// contact_reading.c: what effectors say of contact, with slopes, into `readings`; and of the points of the step that
/// ended.
void td_contact_read(const tdModel *model, tdState *state, const tdSteer *steer);
void td_contact_effectors(const tdModel *model, tdState *state);
/// contact_block.c: the row of an actuator times a vector over all coordinates, where it is of a body and unknown.
double td_contact_dot_row(const tdModel *model, const tdState *state, int actuator, const tdBody *body,
                          const double *x);
/// Says where and when, of an error that the report has.
tdStatus td_contact_fail(const tdModel *model, tdState *state, tdStatus status);
/// reads the solution      writes dv, m (with impulses), efforts
tdStatus td_contact_take(const tdModel *model, tdState *state, const tdSolveResult *result);
/// Before the free motion: m -= J' of the impulses that bonds had in the last step, so that it is near to what comes.
void td_contact_expect(const tdModel *model, tdState *state, double *m);
/// m -= J' gamma, of the last solution.
void td_contact_push(const tdModel *model, tdState *state, double *m);
/// End of a step: points with their forces, depths, report.
void td_contact_commit(const tdModel *model, tdState *state);

/// contact_fast.c: pairs that may have passed through each other in the step that ended, without a point between them.
int td_contact_tunnels(const tdModel *model, tdState *state);

/// Arrays that a checkpoint keeps, and after they were read.
int td_contact_arrays(const tdModel *model, tdState *state, tdStateArray *out, int most);
void td_contact_restore(tdState *state);
/// Bodies were placed by the caller: how deep they were inside each other is no longer known.
void td_contact_forget(const tdModel *model, tdState *state);

/// How far driven displacements at the iterate are from what is asked for, relative to their sizes; infinite where
/// Newton did not go the whole way.
double td_contact_miss(const tdModel *model, const tdState *state);

/// A point of a body that a side is, with room for its nodes.
typedef struct tdSidePoint
{
    tdTouchPoint point;
    int32_t node[TD_TOUCH_NODES];
    double weight[TD_TOUCH_NODES];
} tdSidePoint;

/// contact_side.c: what the bodies' own calls take. The side must stay where it is.
const tdTouchPoint *td_contact_side_point(const tdModel *model, const tdContactSide *side, tdSidePoint *out);
/// Positions and velocities of field f into x and v of the state.
void td_contact_place(const tdModel *model, tdState *state, int f);
/// What a side adds to the last constraint of the problem (sign * frame * dx/dt, and what given motion does to drift);
/// false: no memory. m += (dx/dq)' f. Where it turns, dx/dt is the angular velocity and f a torque.
bool td_contact_side(const tdModel *model, tdState *state, const tdContactSide *side, bool turns, double sign,
                     double frame[3][3], double *drift);
void td_contact_push_side(const tdModel *model, const tdState *state, const tdContactSide *side, bool turns,
                          const double f[3], double *m);

/// contact_block.c: what acts on bodies by columns; blocks; and from their solution the motion of all coordinates.
tdStatus td_contact_blocks_create(const tdModel *model, tdState *state, tdError *error);
bool td_contact_acts_on(const tdActuator *actuator, int body);
void td_contact_touch_scalars(const tdModel *model, tdState *state);
/// Whether inverse control, and not an effort, moves them.
bool td_contact_is_led(const tdState *state, const tdContactBody *body, int32_t moved);
/// How all coordinates move with a unit of what moves nodes of the body, by n_moved.
const double *td_contact_motion(const tdModel *model, const tdState *state, const tdContactBody *body, int32_t moved);
/// Vectors that apply_inverse will be asked for.
int td_contact_columns(const tdModel *model, const tdState *state);
tdStatus td_contact_blocks(const tdModel *model, tdState *state, bool first, bool fresh);
tdStatus td_contact_recover(const tdModel *model, tdState *state);
/// After rows are known: how soft bodies are whose blocks are sparse.
tdStatus td_contact_soften(const tdModel *model, tdState *state);
/// contact_rows.c: rows of the problem; laws without R.
tdStatus td_contact_rows(const tdModel *model, tdState *state, bool first);
/// Rows that bodies bring themselves. False: no memory.
bool td_contact_body_rows(const tdModel *model, tdState *state);
tdContactPair td_contact_pair(const tdModel *model, const tdContact *contact);
/// contact_load.c: whether c is a contact whose R_n is that of w, not of a stiffness that was given.
bool td_contact_is_near_rigid(const tdModel *model, const tdContactState *cs, int32_t c, tdContactPair *pair);
/// Whether a near-rigid point gives way too far; then what rests on such points is found by solving
/// with their islands made tight, until they are tight enough, and w is made to go with it.
bool td_contact_gives_way(const tdModel *model, tdState *state);
void td_contact_tighten(const tdModel *model, tdState *state);
bool td_contact_is_tight(const tdModel *model, const tdState *state);
void td_contact_weigh_load(const tdModel *model, tdState *state);
/// Rows of a contact: two tangents, normal.
void td_contact_frame(const double normal[3], double frame[3][3]);
/// Whether the effort of an actuator is an unknown row.
bool td_contact_drives(const tdModel *model, const tdState *state, int actuator);

/// contact_bond.c: bodies that bonds act on; rows, taken at q_c; the law of constraint c; its solution.
void td_bond_touch(const tdModel *model, tdState *state);
bool td_bond_rows(const tdModel *model, tdState *state, bool first);
tdSapLaw td_bond_law(const tdModel *model, const tdState *state, int bond, const double *error, const bool *dead,
                     double w);
void td_bond_take(const tdModel *model, tdState *state, int32_t c);
/// m -= J' of impulses (3 a bond), at q_r.
void td_bond_push(const tdModel *model, tdState *state, const double *impulse, double *m);
/// The force [N] of an attachment's point or a rod on one of its sides in the last step, and where that is now; false:
/// the side is in space, or the bond is of joints.
bool td_bond_side_force(const tdModel *model, const tdState *state, int bond, int side, double x[3], double force[3]);
/// End of a step: what is told of bonds.
void td_bond_commit(const tdModel *model, tdState *state);
/// How far a bond at the iterate is from what its law says [m].
double td_bond_miss(const tdModel *model, const tdState *state, int bond, const double *R, const double *effort,
                    const bool *dead);
/// Its rows' errors at the coordinates q of all bodies; row r of side s, which must be of a body, into bond_row; the
/// square of how far its points move by a unit of each coordinate.
void td_bond_error(const tdModel *model, const tdState *state, const tdBond *bond, const double *q, double g[3]);
/// The same at q_c, by rows that are taken at q_r.
void td_bond_errors(const tdModel *model, const tdState *state, const tdBond *bond, double g[3]);
void td_bond_row(const tdModel *model, const tdState *state, const tdBond *bond, int s, int r);
double td_bond_reach(const tdModel *model, tdState *state, const tdBond *bond);

/// contact_response.c: bonds as part of the response of bodies (constraint/bonded.h), where the model says so. Before
/// columns are made; after efforts are known; how far they are from what their laws say, relative to the model's size.
tdStatus td_bonds_create(const tdModel *model, tdState *state, tdError *error);
tdStatus td_bonds_respond(const tdModel *model, tdState *state, bool first, bool fresh);
void td_bonds_take(const tdModel *model, tdState *state);
double td_bonds_miss(const tdModel *model, const tdState *state);
