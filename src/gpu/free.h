// SPDX-License-Identifier: Apache-2.0
// A step of a robot that moves as a whole, or touches something, from what was assembled of its modes: the same as
// td_robot_advance(), with the inertia of a frame (frame.h) and contact (touch.h), on matrices in double precision.
//
//     A v* = momentum + h forces      A = mass + h^2 stiffness over (alpha, x, theta)
//     A (v - v*) = J' gamma           contacts, and driven actuators as rows with bounds
#pragma once
#include "gpu/meet.h"
#include "gpu/touch_solve.h"

/// An entry of the tangent that was assembled, at Young's factor 1 and with damping: a device may have its own way.
#if !defined(TD_STIFFNESS)
#define TD_STIFFNESS(work, r, i, j) ((work)->S[td_row(r, i) + (j)])
#endif

/// Doubles that are near: those of td_touch_near(), the inertia at the start, momenta and loads.
TD_BOTH int64_t td_free_near(const tdGpuPlan *plan)
{
    int64_t own = plan->frame != 0 ? TD_FRAME_NUMBERS(plan->r) : 0;
    int64_t all = td_touch_near(plan) + own + 2 * TD_WHOLE(plan->coords) + plan->loads;
    return (all + 1) / 2 * 2;
}

/// Of one robot.
typedef struct tdFreeWork
{
    tdTouchWork touch;
    tdFrameInertia start, end;
    double *rhs, *load, *values; ///< coords, coords; inputs of dead loads
} tdFreeWork;

/// How its frame turns. Apart from the rest, so that places above are known to a compiler wherever numbers here are.
typedef struct tdFreeSpin
{
    double l0[3], gain[3]; ///< angular momentum at the start; what turning by itself adds to it
    double w[3];           ///< angular velocity of a frame that turns by itself
} tdFreeSpin;

TD_BOTH tdFreeWork td_free_room(const tdGpuPlan *plan, const tdRobotWork *robot, tdLanes lanes, double *near_,
                                double *far_)
{
    tdFreeWork work;
    int64_t own = plan->frame != 0 ? TD_FRAME_NUMBERS(plan->r) : 0;
    work.touch = td_touch_room(plan, robot, lanes, near_, far_);
    near_ += td_touch_near(plan);
    work.start = td_frame_room(plan->r, near_);
    work.end = td_frame_room(plan->r, work.touch.room); // before a matrix is factored there, and after
    work.rhs = near_ + own;
    work.load = work.rhs + TD_WHOLE(plan->coords);
    work.values = work.load + TD_WHOLE(plan->coords);
    return work;
}

// ---------------------------------------------------------------- inertia

/// Momenta at the start: rhs = mass v. Returns the kinetic energy.
TD_BOTH double td_free_momenta(const tdGpuPlan *plan, const double *row, tdFreeWork *work, tdFreeSpin *spin,
                               tdLanes lanes)
{
    const char *tables = work->touch.robot->tables;
    int r = plan->r;
    const double *q = row + plan->at.q, *v = row + plan->at.v;
    double part = 0;
    if (plan->frame != 0)
    {
        td_frame_matrix(row + plan->at.turn, work->touch.R);
        td_frame_inertia(plan, q, v, 0, lanes, work->start);
        td_frame_spin(&work->start, r, v, v + r + 3, lanes, spin->l0);
    }
    for (int i = lanes.lane; i < TD_WHOLE(plan->coords); i += lanes.n)
    {
        double sum = 0;
        if (i < r && plan->frame != 0)
            sum = td_frame_momentum(plan, tables, &work->start, i, v, v + r + 3);
        else if (i < r)
            for (int j = 0; j < r; j++)
                sum += row[plan->at.mass] * TD_GPU_TABLE(tables, plan, float, M)[i * TD_GPU_ROW(r) + j] * v[j];
        else if (i < r + 3 && plan->frame != 0)
            sum = plan->body_mass * v[i];
        else if (i < plan->coords)
            sum = i == r + 3 ? spin->l0[0] : i == r + 4 ? spin->l0[1] : spin->l0[2]; // no index: it is in registers
        work->rhs[i] = sum;
        part += i < plan->coords ? 0.5 * sum * v[i] : 0;
    }
    return td_lanes_sum(lanes, part);
}

/// rhs = what inertia leaves of the balance at velocity zero, its sign turned (reduce/reduced_frame.c, first_inertia):
/// momenta of the start, and the difference between inertia where the frame turns on by itself and the mass at the
/// start.
TD_BOTH void td_free_turn(const tdGpuPlan *plan, const double *row, tdFreeWork *work, tdFreeSpin *spin, tdLanes lanes)
{
    const char *tables = work->touch.robot->tables;
    int r = plan->r;
    const double *q = row + plan->at.q, *v = row + plan->at.v;
    double h = plan->h, damping = h * plan->alpha * row[plan->at.damping], l[3], theta[3], E[9], turned[3], own[3];
    td_frame_inertia(plan, q, v, h, lanes, work->end);
    for (int c = 0; c < 3; c++)
        spin->w[c] = v[r + 3 + c];
    td_frame_predict(&work->end, r, h, v, spin->l0, lanes, spin->w);
    td_frame_spin(&work->end, r, v, spin->w, lanes, l);
    td_frame_spin(&work->start, r, v, spin->w, lanes, own);
    for (int c = 0; c < 3; c++)
        theta[c] = h * spin->w[c];
    td_frame_turn(theta, E);
    td_turn3(E, l, turned);
    TD_SYNC(lanes);
    for (int i = lanes.lane; i < plan->coords; i += lanes.n)
    {
        double m;
        if (i < r) // p1 - p0 - h dT/dalpha + damping p1 - (1 + damping) mass v
            m = (1 + damping) * td_frame_momentum(plan, tables, &work->end, i, v, spin->w) - work->rhs[i] -
                h * td_frame_slope(plan, &work->end, i, v, spin->w) -
                (1 + damping) * td_frame_momentum(plan, tables, &work->start, i, v, spin->w);
        else if (i < r + 3) // the velocity that is predicted is that of the start
            m = -plan->body_mass * v[i];
        else
        {
            int c = i - r - 3;
            double end = c == 0   ? turned[0]
                         : c == 1 ? turned[1]
                                  : turned[2],
                   begin = c == 0   ? spin->l0[0]
                           : c == 1 ? spin->l0[1]
                                    : spin->l0[2],
                   mass = c == 0   ? own[0]
                          : c == 1 ? own[1]
                                   : own[2];
            m = end - begin + damping * end - (1 + damping) * mass;
        }
        work->rhs[i] = -m;
    }
    for (int c = 0; c < 3; c++)
        spin->gain[c] = turned[c] - spin->l0[c];
    TD_SYNC(lanes);
}

/// After a step to (q, v): the angular velocity that has the momentum which the step ends with.
TD_BOTH void td_free_keep(const tdGpuPlan *plan, const double *q, const double *before, double *v, tdFreeWork *work,
                          const tdFreeSpin *spin, tdLanes lanes)
{
    int r = plan->r;
    double part[3] = {0, 0, 0}, wanted[3], back[3], l[3], E[9], theta[3], step[3];
    for (int i = lanes.lane; i < r; i += lanes.n) // row of theta of the mass at the start
        for (int c = 0; c < 3; c++)
            part[c] += work->start.C[c * r + i] * (v[i] - before[i]);
    for (int c = 0; c < 3; c++)
    {
        wanted[c] = spin->l0[c] + spin->gain[c] + td_lanes_sum(lanes, part[c]);
        for (int d = 0; d < 3; d++)
            wanted[c] += work->start.J[3 * c + d] * (v[r + 3 + d] - spin->w[d]);
        theta[c] = plan->h * v[r + 3 + c];
    }
    td_frame_inertia(plan, q, v, 0, lanes, work->end);
    td_frame_spin(&work->end, r, v, v + r + 3, lanes, l);
    td_frame_turn(theta, E);
    td_turn3_back(E, wanted, back);
    for (int c = 0; c < 3; c++)
        back[c] -= l[c];
    td_frame_solve(work->end.J, back, step);
    TD_SYNC(lanes);
    if (lanes.lane == 0)
        for (int c = 0; c < 3; c++)
            v[r + 3 + c] += step[c];
    TD_SYNC(lanes);
}

// ---------------------------------------------------------------- the linear problem

/// A, from the tangent and what actuators add to it.
TD_BOTH void td_free_matrix(const tdGpuPlan *plan, const double *row, const double *q, tdFreeWork *work, tdLanes lanes)
{
    tdTouchWork *touch = &work->touch;
    const tdRobotWork *robot = touch->robot;
    int r = plan->r, n = plan->coords;
    double of_mass = row[plan->at.mass] * (1 + plan->h * plan->alpha * row[plan->at.damping]),
           of_K = plan->h * plan->h * row[plan->at.young];
    for (int t = lanes.lane; t < TD_MATRIX(n); t += lanes.n)
    {
        int i, j, high, low;
        td_matrix_place(t, &i, &j);
        high = i > j ? i : j;
        low = i > j ? j : i;
        double x = i == j;
        if (high < n)
        {
            x = of_mass * td_frame_mass(plan, robot->tables, &work->start, high, low);
            x += high < r ? of_K * TD_STIFFNESS(robot, r, high, low) : 0;
        }
        touch->A[t] = x;
    }
    TD_SYNC(lanes);
    for (int k = lanes.lane; k < td_row(r, r); k += lanes.n)
        robot->S[k] = 0;
    TD_SYNC(lanes);
    td_robot_press(plan, q, lanes, robot);
    int left = td_robot_rows(plan, lanes, robot);
    td_robot_across(r, left, robot, lanes);
    for (int t = lanes.lane; t < TD_MATRIX(n) && plan->actuators > 0; t += lanes.n)
    {
        int i, j;
        td_matrix_place(t, &i, &j);
        if (i < r && j < r)
            touch->A[t] += robot->S[td_row(r, i > j ? i : j) + (i > j ? j : i)];
    }
    TD_SYNC(lanes);
    for (int i = lanes.lane; i < touch->whole; i += lanes.n)
        touch->scale[i] = 1 / sqrt(td_matrix_diagonal(touch->A, i));
    TD_SYNC(lanes);
}

/// Loads on all coordinates, without actuators.
TD_BOTH void td_free_loads(const tdGpuPlan *plan, const double *row, const double *motion, tdFreeWork *work,
                           tdLanes lanes)
{
    int r = plan->r;
    const char *tables = work->touch.robot->tables;
    const double *loads = TD_GPU_TABLE(tables, plan, double, load),
                 *weight = TD_GPU_TABLE(tables, plan, double, weight);
    for (int k = lanes.lane; k < plan->loads; k += lanes.n)
    {
        int input = (int)loads[(int64_t)k * (1 + r)];
        work->values[k] = input < 0 ? 1 : td_robot_input(plan, row, motion, input);
    }
    TD_SYNC(lanes);
    for (int i = lanes.lane; i < plan->coords; i += lanes.n)
    {
        double sum = 0;
        if (plan->frame != 0)
            sum = td_frame_load(plan, row + plan->at.gravity, work->values, row + plan->at.q, work->touch.R, i);
        for (int c = 0; c < 3 && plan->frame == 0; c++)
            sum += row[plan->at.mass] * row[plan->at.gravity + c] * weight[c * r + i];
        for (int k = 0; k < plan->loads && plan->frame == 0; k++)
            sum += work->values[k] * loads[(int64_t)k * (1 + r) + 1 + i];
        work->load[i] = sum;
    }
    TD_SYNC(lanes);
}

/// Driven actuators as rows with bounds: what is asked of one, or its lower stop and its upper one
/// (contact/contact_rows.c).
TD_BOTH void td_free_boxes(const tdGpuPlan *plan, tdTouchWork *work, tdLanes lanes)
{
    const tdRobotWork *robot = work->robot;
    const tdGpuActuator *list = TD_GPU_TABLE(robot->tables, plan, tdGpuActuator, actuator);
    int n = 0;
    for (int a = 0; a < plan->actuators; a++)
    {
        const double *c = robot->cable + TD_CABLE_NUMBERS * a;
        if (!td_robot_unknown(list, robot, a))
            continue;
        for (int upper = 0; upper < (list[a].drive == TD_GPU_EFFORT ? 2 : 1); upper++)
        {
            double given = c[TD_CABLE_GIVEN], now = c[TD_CABLE_EFFORT], target = given, low = c[TD_CABLE_EFFORT_LOW],
                   high = c[TD_CABLE_EFFORT_HIGH];
            if (list[a].drive == TD_GPU_EFFORT)
            {
                target = c[upper ? TD_CABLE_TRAVEL_HIGH : TD_CABLE_TRAVEL_LOW];
                now = upper ? fmin(now, given) : fmax(now, given);
                low = upper ? fmin(low, given) : given;
                high = upper ? given : fmax(c[TD_CABLE_EFFORT_HIGH], given);
            }
            if (!isfinite(target))
                continue;
            if (lanes.lane == 0)
            {
                double error = c[TD_CABLE_TRAVEL] + list[a].compliance * now - target;
                *td_box_at(work, TD_BOX_ACTUATOR, n) = a;
                *td_box_at(work, TD_BOX_NOW, n) = now;
                *td_box_at(work, TD_BOX_R, n) = list[a].compliance / (plan->h * plan->h);
                *td_box_at(work, TD_BOX_DRAWN, n) = -error / plan->h;
                *td_box_at(work, TD_BOX_LOW, n) = plan->h * (low - now);
                *td_box_at(work, TD_BOX_HIGH, n) = plan->h * (high - now);
            }
            n++;
        }
    }
    work->boxes = n;
    TD_SYNC(lanes);
}

// ---------------------------------------------------------------- what contact does

/// Forces by the bodies that are touched, points that bear and how deep into the row; work on the robot. True: some
/// point is deeper than it may be where a robot starts.
TD_BOTH double td_free_sum(const tdGpuPlan *plan, double *row, const tdTouchWork *work, tdLanes lanes)
{
    const tdGpuShape *shapes = TD_GPU_ARRAY(plan, tdGpuShape, shape);
    double done = 0, bearing = 0, deepest = 0;
    for (int o = 0; o < plan->others; o++)
    {
        double sum[3] = {0, 0, 0};
        for (int k = lanes.lane; k < work->touches; k += lanes.n)
        {
            double g[3] = {0, 0, 0}, world[3];
            if (shapes[work->shape[k]].other != o)
                continue;
            for (int c = 0; c < 3; c++)
                for (int e = 0; e < 3; e++)
                    g[c] += *td_touch_at(work, TD_TOUCH_Q + 3 * e + c, k) * *td_touch_at(work, TD_TOUCH_GAMMA + e, k);
            td_turn3(work->R, g, world);
            for (int c = 0; c < 3; c++)
            {
                sum[c] += world[c] / plan->h;
                done += *td_touch_at(work, TD_TOUCH_GAMMA + c, k) * *td_touch_at(work, TD_TOUCH_V + c, k);
            }
            if (!(*td_touch_at(work, TD_TOUCH_GAMMA + 2, k) > 0))
                continue;
            bearing += 1;
            deepest =
                fmax(deepest, -(*td_touch_at(work, TD_TOUCH_PHI, k) + plan->h * *td_touch_at(work, TD_TOUCH_V + 2, k)));
        }
        for (int c = 0; c < 3; c++)
        {
            double force = td_lanes_sum(lanes, sum[c]);
            if (lanes.lane == 0)
                row[plan->at.touch + 3 * o + c] = force;
        }
    }
    bearing = td_lanes_sum(lanes, bearing);
    deepest = td_lanes_most(lanes, deepest);
    if (lanes.lane == 0 && plan->others > 0)
    {
        row[plan->at.touch + 3 * plan->others] = bearing;
        row[plan->at.touch + 3 * plan->others + 1] = deepest;
    }
    return td_lanes_sum(lanes, done);
}

/// Whether points are deeper in shapes than near-rigid ones may be, where a robot has not taken a step yet.
TD_BOTH bool td_free_overlaps(const tdGpuPlan *plan, const tdTouchWork *work, tdLanes lanes)
{
    const tdGpuShape *shapes = TD_GPU_ARRAY(plan, tdGpuShape, shape);
    double deep = 0;
    for (int k = lanes.lane; k < work->touches; k += lanes.n)
        deep += isinf(shapes[work->shape[k]].stiffness) &&
                -*td_touch_at(work, TD_TOUCH_PHI, k) > shapes[work->shape[k]].give;
    return td_lanes_sum(lanes, deep) > 0;
}

// ---------------------------------------------------------------- the step

/// v from the right-hand side in star; 0, or why not.
TD_BOTH int td_free_solve(const tdGpuPlan *plan, double *row, tdFreeWork *work, tdLanes lanes)
{
    tdTouchWork *touch = &work->touch;
    const double *q = row + plan->at.q, *v = row + plan->at.v;
    bool missed = false, crowded = false;
    if (plan->shapes > 0)
    {
        int found = td_touch_find(touch, q, v, row[plan->at.friction]);
        crowded = found > plan->touches;
        touch->touches = crowded ? 0 : found;
        td_touch_mix(touch);
    }
    td_free_boxes(plan, touch, lanes);
    if (!td_touch_start(touch))
        return TD_GPU_INDEFINITE;
    if (crowded)
        return TD_GPU_CROWDED;
    if (row[plan->at.steps] == 0 && td_free_overlaps(plan, touch, lanes))
        return TD_GPU_OVERLAPS;
    for (int i = lanes.lane; i < touch->whole; i += lanes.n)
        touch->v[i] = touch->touches == 0 ? touch->star[i] : i < plan->coords ? v[i] : 0;
    TD_SYNC(lanes);
    if (touch->touches + touch->boxes == 0)
        return 0;
    td_matrix_times(plan->coords, touch->A, touch->star, lanes, touch->momentum);
    if (!td_touch_solve(touch, &missed))
        return TD_GPU_NO_CONTACT;
    if (lanes.lane == 0)
        row[plan->at.doubts] += missed;
    return 0;
}

/// A step from S, f and energy of assemble, as td_robot_advance().
TD_BOTH void td_free_advance(const tdGpuPlan *plan, double *row, const double *motion, tdLanes lanes,
                             const tdRobotWork *robot, tdFreeWork *work, float energy, bool odd)
{
    const tdGpuRow *at = &plan->at;
    tdTouchWork *touch = &work->touch;
    int r = plan->r, n = plan->coords;
    double *q = row + at->q, *v = row + at->v, h = plan->h, young = row[at->young];
    tdFreeSpin spin = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    double kinetic = td_free_momenta(plan, row, work, &spin, lanes), elastic = young * energy, part = 0;
    for (int i = lanes.lane; i < r; i += lanes.n)
        part += robot->f[i] * (h * v[i]);
    double force_work = young * td_lanes_sum(lanes, part);
    td_robot_places(plan, robot->tables, q, lanes, robot->place);
    // The rows of actuators are behind the tangent, which is read below.
    td_robot_volumes(plan, q, lanes, robot);
    bool good = td_robot_latch(plan, row, motion, lanes, robot);
    TD_SYNC(lanes);
    if (lanes.lane == 0)
    {
        int why = td_robot_judge(plan, row, kinetic, elastic, force_work);
        row[at->status] = good ? why : TD_GPU_BAD_INPUT;
        row[at->doubts] += odd;
    }
    TD_SYNC(lanes);
    if (row[at->status] != TD_GPU_GOES)
        return;
    if (plan->frame != 0)
        td_free_turn(plan, row, work, &spin, lanes);
    td_free_loads(plan, row, motion, work, lanes);
    td_free_matrix(plan, row, q, work, lanes);
    for (int i = lanes.lane; i < touch->whole; i += lanes.n)
    {
        double sum = i < n ? work->rhs[i] + h * work->load[i] : 0;
        for (int a = 0; a < plan->actuators && i < r; a++)
            sum += h * robot->cable[TD_CABLE_NUMBERS * a + TD_CABLE_EFFORT] * robot->S[td_row(r, r + 1 + a) + i];
        touch->star[i] = sum - (i < r ? h * young * robot->f[i] : 0);
    }
    TD_SYNC(lanes);
    int why = td_free_solve(plan, row, work, lanes);
    double bad = 0;
    for (int i = lanes.lane; i < n && why == 0; i += lanes.n)
        bad += !isfinite(touch->v[i]);
    bad = td_lanes_sum(lanes, bad);
    TD_SYNC(lanes);
    if (why != 0 || bad > 0)
    {
        if (lanes.lane == 0)
            row[at->status] = why != 0 ? why : TD_GPU_NOT_FINITE;
        TD_SYNC(lanes);
        return;
    }
    // Efforts: of both stops together.
    for (int a = lanes.lane; a < plan->actuators; a += lanes.n)
    {
        double effort = robot->cable[TD_CABLE_NUMBERS * a + TD_CABLE_EFFORT];
        for (int k = 0; k < touch->boxes; k++)
            if ((int)*td_box_at(touch, TD_BOX_ACTUATOR, k) == a)
                effort += *td_box_at(touch, TD_BOX_GAMMA, k) / h;
        robot->cable[TD_CABLE_NUMBERS * a + TD_CABLE_NEXT] = effort;
    }
    double outside = td_free_sum(plan, row, touch, lanes), inside = 0;
    TD_SYNC(lanes);
    for (int i = lanes.lane; i < n; i += lanes.n)
    {
        double way = h * touch->v[i];
        part = work->load[i] * way;
        for (int a = 0; a < plan->actuators && i < r; a++)
            part += robot->cable[TD_CABLE_NUMBERS * a + TD_CABLE_NEXT] * robot->S[td_row(r, r + 1 + a) + i] * way;
        work->rhs[i] = part;
        inside += i < r ? robot->f[i] * way : 0;
        touch->x[i] = v[i];
        v[i] = touch->v[i];
        q[i] += way;
    }
    part = 0;
    for (int i = lanes.lane; i < n; i += lanes.n)
        part += work->rhs[i];
    outside += td_lanes_sum(lanes, part);
    inside = young * td_lanes_sum(lanes, inside);
    TD_SYNC(lanes);
    if (plan->frame != 0)
    {
        td_free_keep(plan, q, touch->x, v, work, &spin, lanes);
        if (lanes.lane == 0)
        {
            td_frame_commit(row + at->turn, q + r + 3);
            for (int c = 0; c < 3; c++)
                q[r + 3 + c] = 0;
        }
    }
    TD_SYNC(lanes);
    for (int a = lanes.lane; a < plan->actuators; a += lanes.n)
        row[at->effort + a] = robot->cable[TD_CABLE_NUMBERS * a + TD_CABLE_NEXT];
    if (lanes.lane == 0)
    {
        row[at->kinetic] = kinetic;
        row[at->elastic] = elastic;
        row[at->work] = outside;
        row[at->force_work] = inside;
        row[at->known] = 2;
        row[at->steps] += 1;
    }
    TD_SYNC(lanes);
}
