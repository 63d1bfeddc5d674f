// SPDX-License-Identifier: Apache-2.0
// What changes while a scene runs, grouped by the stage of the step that writes it. Vectors are over the
// coordinates of all bodies, [3 * node + axis] for a soft body.
#pragma once
#include "base/isa.h"
#include "base/memory.h"
#include "base/task.h"
#include "core/model.h"

#include <assert.h>

#define TD_SCRATCH_VECTORS 8

/// Vectors over the coordinates of all bodies, for what a function needs while it runs. They are taken and given back
/// as from a stack, so that no caller's vector can be written over.
typedef struct tdScratch
{
    double *room;
    int64_t length; ///< of a vector
    int taken;
} tdScratch;

struct tdState
{
    tdArena arena;
    bool lent;            ///< it lies in memory of somebody else, as its arena does
    const tdModel *model; ///< it was made for
    tdSettings settings;
    tdTasks *tasks;
    tdIsa isa;
    tdBodyState **bodies; ///< by body, of its kind

    // kept from step to step
    double *parameters; ///< what the robot is, see td_state_gravity() and the like; a reset leaves them
    double time;
    int64_t steps;
    double *q, *v, *a;      ///< positions [m], velocities [m/s], accelerations (Newmark), else mean velocities
    double *reaction;       ///< [N] on held coordinates, zero elsewhere
    double *override;       ///< by input: value set by the caller, NAN = scene's motion
    double *springs;        ///< TD_SPRING_NUMBERS each (body/spring.h)
    int64_t spring_changes; ///< of what the matrix depends on: point, stiffness
    double weight;          ///< share of gravity that acts in the end: 1; less while training brings it on
    double *load_last;      ///< static: inputs at the last equilibrium, and the share of gravity behind them
    double *load_next;      ///< static: the same at the equilibrium looked for

    // latch
    double *input;     ///< by input: for loads, at the time where forces are taken
    double *input_end; ///< by input: for prescribed motion, at the end of the step
    double gravity;    ///< share of gravity that acts (static load steps)
    double *asked;     ///< by coordinate: rate that an actuator of given displacement asks of its joint; NAN: none

    // kinematics
    double *q_e, *v_e, *inertia; ///< where forces are taken; v - v_hat
    double *q_c;                 ///< where constraints are taken: at the end of the step; may be q_e
    double *q_r;                 ///< where rows between bodies are taken: q_c, or q_together
    double *q_together;          ///< all bodies at one time, where q_c of the first pass is not; may be q_c

    // forces
    double *force; ///< internal [N], dE/dq
    double *load;  ///< external [N]
    double *m;     ///< residual of the momentum balance
    double *own;   ///< the part of m that is inertia and forces inside bodies
    double scale;  ///< size of the largest of its terms, for relative residuals
    int32_t bad_body;
    int64_t bad_element; ///< that the law could not evaluate, -1 = none

    // free, solve, integrate
    double *dv;                ///< correction of v
    double *v_new;             ///< iterate
    double *q_end;             ///< held coordinates: position at the end of the step
    double *held;              ///< first pass: how far q_e of held coordinates has still to move, zero elsewhere
    double rhs;                ///< |right-hand side| of the last linear solves
    double *v_before;          ///< v_new before a line search
    double *m_free;            ///< m on the coordinates that are unknowns, zero elsewhere (td_step_residual)
    double *start;             ///< q at the start of the step (static: before the first increment)
    double *v_start, *a_start; ///< v and a there
    double slope;              ///< dv . m at the start of the line search
    tdScratch *scratch;        ///< td_scratch_take

    // the step as a whole
    bool newton;               ///< iterate to the tolerance: the scene says so, or one linearization went wrong
    bool follow;               ///< lagged rotations follow each iterate
    double forcing;            ///< share of a right-hand side that iterative solvers may leave in this pass
    bool sparing;              ///< bodies that are solved whole leave their free motion to the problem
    bool calm;                 ///< even where actuators may make A indefinite
    struct tdMonitor *monitor; ///< of monitor.h

    // constrain, solve
    bool joined; ///< contacts or bonds act in this step: driven actuators are rows of their problem
    int columns; ///< vectors that apply_inverse will be asked for in each pass
    struct tdColumnsAhead
    {
        int n;           ///< 0: none
        const double *b; ///< over all coordinates
        double *x;       ///< A^-1 b
        bool *wanted;    ///< by body: it takes part in all of them
        bool *done;      ///< by body: made with its free motion, by the same factor at the same time
        bool *rough;     ///< by body: they and its free motion are approximate, and it has a `correct`
        bool *redo;      ///< by body: corrections brought too little
        bool exactly;    ///< no body may leave them approximate
        /// Completes b once the body has made its A; NULL: it is complete.
        void (*complete)(const tdModel *model, tdState *state, int body);
    } ahead;                     ///< of those columns, what is known before the free motion
    struct tdProblem *problem;   ///< of solve/problem.h: the rows of this linearization
    struct tdFriction *friction; ///< of constraint/friction.h; NULL: no cable has friction
    struct tdBonded *bonded;     ///< of constraint/bonded.h; NULL: bonds, if any, are rows of the contact problem
    struct tdConstraintState *constraint;
    struct tdToolsState *tools;     ///< of constraint/tool.h; NULL: none
    struct tdContactState *contact; ///< of contact/contact.h; NULL: bodies do not touch

    // publish
    tdReport report;
    struct tdSensorState *sensors; ///< of step/sensor.h; by sensor

    struct tdStateArray *listed; ///< room for td_state_listed()

    // value.c
    const double *initial; ///< all arrays as they were when the state was made; perhaps of another one
    uint64_t layout;       ///< hash of the list of arrays
    void *before;          ///< what the arrays were before they were read
    int64_t before_capacity;
};

// Parameters that may differ from state to state of one model (td_state_set_parameter): gravity [m/s^2], the factor on
// friction, three factors a body, and what is added to each input.
enum
{
    TD_FACTOR_YOUNG,
    TD_FACTOR_MASS,
    TD_FACTOR_DAMPING,
    TD_FACTORS
};
#define TD_STATE_PARAMETERS(model) (4 + TD_FACTORS * (int64_t)(model)->n_bodies + (model)->n_inputs)

static inline const double *td_state_gravity(const tdState *state)
{
    return state->parameters;
}

static inline double td_state_friction(const tdState *state)
{
    return state->parameters[3];
}

/// TD_FACTORS of a body.
static inline const double *td_state_factors(const tdState *state, int body)
{
    return state->parameters + 4 + TD_FACTORS * (int64_t)body;
}

/// By input.
static inline const double *td_state_offsets(const tdModel *model, const tdState *state)
{
    return state->parameters + 4 + TD_FACTORS * (int64_t)model->n_bodies;
}

/// Whether gravity is another one than the scene's.
static inline bool td_state_gravity_differs(const tdModel *model, const tdState *state)
{
    const double *g = td_state_gravity(state), *given = model->settings.gravity;
    return g[0] != given[0] || g[1] != given[1] || g[2] != given[2];
}

/// A vector that holds anything.
static inline double *td_scratch_take(const tdState *state)
{
    tdScratch *scratch = state->scratch;
    assert(scratch->taken < TD_SCRATCH_VECTORS);
    return scratch->room + scratch->length * scratch->taken++;
}

/// Gives back a vector and all that were taken after it.
static inline void td_scratch_give(const tdState *state, const double *vector)
{
    tdScratch *scratch = state->scratch;
    scratch->taken = (int)((vector - scratch->room) / scratch->length);
}

/// An array that a checkpoint keeps.
struct tdStateArray
{
    const char *name;
    int body; ///< -1: of the state
    bool integer;
    int64_t count;
    void *data; ///< double or int64_t
};

/// Lists them; returns how many (at most `most`).
int td_state_arrays(const tdModel *model, tdState *state, tdStateArray *out, int most);
/// More than there are.
int td_state_most_arrays(const tdModel *model);
/// The list in the state's own room, until the next call; returns how many. Only the room and what the arrays mirror
/// is written.
int td_state_listed(const tdModel *model, const tdState *state, const tdStateArray **list);
/// The last of td_state_create(): what td_state_reset() goes back to, which is that of `like` where it is given.
tdStatus td_state_begin_with(const tdModel *model, tdState *state, const tdState *like, tdError *error);
/// td_state_create() of a state without threads of its own, which shares what it goes back to with another one that
/// outlives it (NULL: it has its own).
tdStatus td_state_create_like(const tdModel *model, const tdSettings *settings, const tdState *like, tdState **out,
                              tdError *error);
/// To be called after they were filled from a checkpoint.
tdStatus td_state_restore(const tdModel *model, tdState *state, tdError *error);

/// After arrays of one body were filled.
static inline tdStatus td_body_restore(const tdModel *model, const tdBody *body, tdState *state, tdError *error)
{
    return body->ops->restore != NULL ? body->ops->restore(model, body, state, error) : TD_OK;
}

/// All that a checkpoint holds, in memory.
typedef struct tdKeptState tdKeptState;
/// Copies the state into *kept, which is made when it is NULL.
tdStatus td_state_keep(const tdModel *model, tdState *state, tdKeptState **kept, tdError *error);
/// Puts the state back, so that it goes on bit for bit as if the steps since had not been tried.
tdStatus td_state_go_back(const tdModel *model, tdState *state, const tdKeptState *kept, tdError *error);
void td_kept_state_free(tdKeptState *kept);
