// SPDX-License-Identifier: Apache-2.0
// The convex problem of contact by Newton's method with exact line search as solve/sap.c has it, and what is around it:
// loads of points that give way too far, and what slides.
#pragma once
#if defined(TD_WARP)
#include "gpu/touch_warp.h"
#else
#include "gpu/touch_tiles.h"
#endif

// ---------------------------------------------------------------- Newton's method

typedef struct tdTouchCost
{
    double cost, gradient, size;
    int bearing; ///< contacts that are not open, work->list
} tdTouchCost;

/// At v, with p = A (v - v*) and the velocities of constraints there: gamma, slopes, force, gradient.
TD_BOTH tdTouchCost td_touch_evaluate(const tdTouchWork *work)
{
    tdLanes lanes = work->lanes;
    tdTouchCost out;
    double cost = 0, squares[3] = {0, 0, 0};
    TD_SYNC(lanes);
    out.bearing = 0;
    for (int first = 0; first < work->touches; first += lanes.n)
    {
        int k = first + lanes.lane, all, place;
        bool bears = false;
        if (k < work->touches)
        {
            double v[3];
            for (int c = 0; c < 3; c++)
            {
                v[c] = *td_touch_at(work, TD_TOUCH_V + c, k);
                *td_touch_at(work, TD_TOUCH_GAMMA + c, k) = 0;
            }
            bears = !td_touch_open(work, k, v);
        }
        place = out.bearing + td_lanes_before(lanes, bears, &all);
        if (bears)
            work->list[place] = k;
        out.bearing += all;
    }
    TD_SYNC(lanes);
    for (int m = lanes.lane; m < out.bearing; m += lanes.n)
    {
        int k = work->list[m];
        double v[3];
        for (int c = 0; c < 3; c++)
            v[c] = *td_touch_at(work, TD_TOUCH_V + c, k);
        tdTouchLaw law = td_touch_law(work, k, v);
        td_touch_acts(work, k, &law);
        cost += *td_touch_at(work, TD_TOUCH_RT, k) *
                    (law.gamma[0] * (law.y[0] - 0.5 * law.gamma[0]) + law.gamma[1] * (law.y[1] - 0.5 * law.gamma[1])) +
                *td_touch_at(work, TD_TOUCH_RN, k) * law.gamma[2] * (law.y[2] - 0.5 * law.gamma[2]);
    }
    for (int k = lanes.lane; k < work->boxes; k += lanes.n)
    {
        double gamma, slope;
        cost += td_box_law(work, k, *td_box_at(work, TD_BOX_V, k), &gamma, &slope);
        *td_box_at(work, TD_BOX_GAMMA, k) = gamma;
        *td_box_at(work, TD_BOX_SLOPE, k) = sqrt(slope);
    }
    td_touch_transposed(work, out.bearing);
    for (int i = lanes.lane; i < work->whole; i += lanes.n)
    {
        double scale = work->scale[i], p = work->p[i], force = work->force[i], a = scale * (p - force),
               b = scale * (p + work->momentum[i]), c = scale * force;
        work->gradient[i] = p - force;
        cost += 0.5 * (work->v[i] - work->star[i]) * p;
        squares[0] += a * a;
        squares[1] += b * b;
        squares[2] += c * c;
    }
    out.cost = td_lanes_sum(lanes, cost);
    out.gradient = sqrt(td_lanes_sum(lanes, squares[0]));
    out.size = sqrt(fmax(td_lanes_sum(lanes, squares[1]), td_lanes_sum(lanes, squares[2])));
    TD_SYNC(lanes);
    return out;
}

/// Contacts that bear are taken to stick, with the impulses that go with it, where friction can stop them within the
/// step (solve/sap.c). Returns how many that changes.
TD_BOTH double td_touch_hold(const tdTouchWork *work, int bearing)
{
    double changed = 0;
    for (int m = work->lanes.lane; m < bearing; m += work->lanes.n)
    {
        int k = work->list[m];
        double v[3], mu = *td_touch_at(work, TD_TOUCH_MU, k), normal = *td_touch_at(work, TD_TOUCH_GAMMA + 2, k);
        for (int c = 0; c < 3; c++)
            v[c] = *td_touch_at(work, TD_TOUCH_V + c, k);
        tdTouchLaw law = td_touch_law(work, k, v);
        double across = sqrt(law.y[0] * law.y[0] + law.y[1] * law.y[1]);
        if (!(normal > 0) || across <= mu * law.y[2] || across > mu * fmax(law.y[2], normal) / TD_TOUCH_SIGMA)
            continue;
        changed += 1;
        law.sticks = true;
        for (int c = 0; c < 3; c++)
            law.gamma[c] = law.y[c];
        td_touch_acts(work, k, &law);
    }
    return td_lanes_sum(work->lanes, changed);
}

/// First and second derivative of the cost along dv, `a` of it; start: the first at 0, quadratic: dv'A dv.
TD_BOTH void td_touch_slope(const tdTouchWork *work, double a, double start, double quadratic, double *first,
                            double *second)
{
    tdLanes lanes = work->lanes;
    double d = 0, dd = 0;
    for (int k = lanes.lane; k < work->touches; k += lanes.n)
    {
        double v[3], dv[3];
        for (int c = 0; c < 3; c++)
        {
            dv[c] = *td_touch_at(work, TD_TOUCH_DV + c, k);
            v[c] = *td_touch_at(work, TD_TOUCH_V + c, k) + a * dv[c];
        }
        for (int c = 0; c < 3; c++)
            d += *td_touch_at(work, TD_TOUCH_GAMMA + c, k) * dv[c];
        if (td_touch_open(work, k, v))
            continue;
        tdTouchLaw law = td_touch_law(work, k, v);
        double k_t = *td_touch_at(work, TD_TOUCH_KT, k), k_n = *td_touch_at(work, TD_TOUCH_KN, k),
               along = law.across[0] * dv[0] + law.across[1] * dv[1],
               beside = law.across[0] * dv[1] - law.across[1] * dv[0], both = law.mu * along + dv[2];
        d -= law.gamma[0] * dv[0] + law.gamma[1] * dv[1] + law.gamma[2] * dv[2];
        dd += law.sticks
                  ? k_t * (dv[0] * dv[0] + dv[1] * dv[1]) + k_n * (dv[2] * dv[2])
                  : *td_touch_at(work, TD_TOUCH_PART, k) * k_n * (both * both) + law.turning * k_t * (beside * beside);
    }
    for (int k = lanes.lane; k < work->boxes; k += lanes.n)
    {
        double gamma, slope, dv = *td_box_at(work, TD_BOX_DV, k);
        td_box_law(work, k, *td_box_at(work, TD_BOX_V, k) + a * dv, &gamma, &slope);
        d += (*td_box_at(work, TD_BOX_GAMMA, k) - gamma) * dv;
        dd += slope * dv * dv;
    }
    *first = start + (a * quadratic + td_lanes_sum(lanes, d));
    *second = quadratic + td_lanes_sum(lanes, dd);
}

/// The step of least cost on [0, 1.5], as solve/sap.c finds it.
TD_BOTH double td_touch_search(const tdTouchWork *work, double start, double quadratic)
{
    double low = 0, high = INFINITY, a = 1, d, dd, before = INFINITY;
    for (int k = 0; k < TD_TOUCH_SEARCHES; k++)
    {
        td_touch_slope(work, a, start, quadratic, &d, &dd);
        if (fabs(d) <= 1e-8 * -start || (a == 1.5 && d < 0))
            return a;
        if (d < 0)
            low = a;
        else
            high = a;
        if (high - low <= 1e-15 * high)
            return a;
        double next = a - d / dd;
        bool slow = fabs(d) > 0.5 * before;
        before = fabs(d);
        if (high == INFINITY)
            next = next < 1.5 && !slow ? next : 1.5;
        else if (!(next > low && next < high) || slow)
            next = 0.5 * (low + high);
        a = next;
    }
    return a;
}

/// v += a dv, and the velocities of constraints and p with it; x: A dv.
TD_BOTH void td_touch_move(const tdTouchWork *work, double a)
{
    tdLanes lanes = work->lanes;
    for (int i = lanes.lane; i < work->whole; i += lanes.n)
    {
        work->v[i] += a * work->dv[i];
        work->p[i] += a * work->x[i];
    }
    for (int k = lanes.lane; k < work->touches; k += lanes.n)
        for (int c = 0; c < 3; c++)
            *td_touch_at(work, TD_TOUCH_V + c, k) += a * *td_touch_at(work, TD_TOUCH_DV + c, k);
    for (int k = lanes.lane; k < work->boxes; k += lanes.n)
        *td_box_at(work, TD_BOX_V, k) += a * *td_box_at(work, TD_BOX_DV, k);
    TD_SYNC(lanes);
}

/// From v to the minimum. False: numbers that are not finite, or no definite matrix. *missed: the bound was reached.
///
/// Where little of a direction is gained all that bear are taken to stick for once, and what comes of it is kept where
/// the cost is less.
TD_BOTH bool td_touch_newton(const tdTouchWork *work, bool *missed)
{
    tdLanes lanes = work->lanes;
    double least = INFINITY, before = 0;
    bool tried = false, stick = false, stuck = false, last = false, fresh = true;
    *missed = false;
    for (int pass = 0;; pass++)
    {
        if (fresh) // v is not where a move has brought it
        {
            TD_SYNC(lanes);
            for (int i = lanes.lane; i < work->whole; i += lanes.n)
                work->x[i] = work->v[i] - work->star[i];
            td_matrix_times(work->n, work->A, work->x, lanes, work->p);
        }
        if (fresh)
            td_touch_times(work, work->v, TD_TOUCH_V, TD_BOX_V);
        fresh = false;
        tdTouchCost at = td_touch_evaluate(work);
        if (last)
            return true;
        if (!isfinite(at.cost) || !isfinite(at.gradient))
            return false;
        if (stuck)
        {
            stuck = false;
            if (!(at.cost < before))
            {
                td_touch_move(work, -1);
                continue;
            }
        }
        if (at.gradient <= TD_TOUCH_ABSOLUTE + TD_TOUCH_TOLERANCE * at.size)
            return true;
        if (at.gradient < least)
        {
            least = at.gradient;
            for (int i = lanes.lane; i < work->whole; i += lanes.n)
                work->best[i] = work->v[i];
        }
        bool bound = pass >= TD_TOUCH_ITERATIONS;
        double start = -1, quadratic = 0;
        if (!bound)
        {
            TD_SYNC(lanes);
            stick = stick && td_touch_hold(work, at.bearing) > 0;
            if (stick) // with gamma as it is inside the cone
            {
                td_touch_transposed(work, at.bearing);
                for (int i = lanes.lane; i < work->whole; i += lanes.n)
                    work->gradient[i] = work->p[i] - work->force[i];
            }
            if (!td_touch_direction(work, at.bearing))
                return false;
            td_matrix_times(work->n, work->A, work->dv, lanes, work->x);
            td_touch_times(work, work->dv, TD_TOUCH_DV, TD_BOX_DV);
            start = 0;
            for (int i = lanes.lane; i < work->n; i += lanes.n)
            {
                start += work->dv[i] * work->gradient[i];
                quadratic += work->dv[i] * work->x[i];
            }
            start = td_lanes_sum(lanes, start);
            quadratic = td_lanes_sum(lanes, quadratic);
        }
        if (!bound && (stick || start < 0))
        {
            double step = stick ? 1 : td_touch_search(work, start, quadratic);
            td_touch_move(work, step);
            before = at.cost;
            stuck = stick;
            stick = !stick && step < 0.05 && !tried;
            tried = tried || stick;
            continue;
        }
        for (int i = lanes.lane; i < work->whole; i += lanes.n)
            work->v[i] = work->best[i];
        *missed = bound;
        last = fresh = true;
    }
}

// ---------------------------------------------------------------- loads, sliding

/// By how much contact k gives way, relative to what it may; 0: it is not near-rigid.
TD_BOTH double td_touch_give(const tdTouchWork *work, int k)
{
    const tdGpuPlan *plan = work->plan;
    const tdGpuShape *shape = TD_GPU_ARRAY(plan, tdGpuShape, shape) + work->shape[k];
    double time = plan->h + shape->dissipation;
    if (!(TD_TOUCH_NEAR_RIGID * *td_touch_at(work, TD_TOUCH_OWN, k) > 1 / (plan->h * shape->stiffness * time)))
        return 0;
    return time * *td_touch_at(work, TD_TOUCH_RN, k) * *td_touch_at(work, TD_TOUCH_GAMMA + 2, k) / shape->give;
}

/// The largest of it.
TD_BOTH double td_touch_gives(const tdTouchWork *work, bool tightened)
{
    double any = 0;
    double limit = tightened ? 0.002 : 1;
    for (int k = work->lanes.lane; k < work->touches; k += work->lanes.n)
        any += td_touch_give(work, k) > limit;
    return td_lanes_sum(work->lanes, any);
}

/// The whole problem, from work->v on: loads first where points give way too far (contact/contact_load.c), then what
/// slides, if the scene says so (contact/contact_solve.c). False: it has failed.
TD_BOTH bool td_touch_solve(const tdTouchWork *work, bool *missed)
{
    const tdGpuPlan *plan = work->plan;
    const tdGpuShape *shapes = TD_GPU_ARRAY(plan, tdGpuShape, shape);
    tdLanes lanes = work->lanes;
    int phase = 0, rounds = 0; // phase: how often points were made tighter; -1: loads are known
    bool limit = false;
    td_touch_laws(work);
    for (;;)
    {
        if (!td_touch_newton(work, &limit))
            return false;
        *missed = limit;
        TD_SYNC(lanes);
        if (phase >= 0 && !(phase == 0 && (limit || td_touch_gives(work, false) == 0)))
        {
            bool tight = phase > 0 && td_touch_gives(work, true) == 0;
            bool more = phase < TD_TOUCH_TIGHTER && !tight && !limit;
            for (int k = lanes.lane; k < work->touches; k += lanes.n)
            {
                double time = plan->h + shapes[work->shape[k]].dissipation, give = td_touch_give(work, k),
                       gamma = *td_touch_at(work, TD_TOUCH_GAMMA + 2, k);
                bool rigid = TD_TOUCH_NEAR_RIGID * *td_touch_at(work, TD_TOUCH_OWN, k) >
                             1 / (plan->h * shapes[work->shape[k]].stiffness * time);
                if (more && rigid)
                {
                    td_touch_resist(work, k, 1e-4 * *td_touch_at(work, TD_TOUCH_RT, k),
                                    1e-4 * *td_touch_at(work, TD_TOUCH_RN, k));
                    *td_touch_at(work, TD_TOUCH_DRAWN, k) = fmin(*td_touch_at(work, TD_TOUCH_DRAWN, k), 0.0);
                }
                else if (!more && !limit && rigid && gamma > 0 && give <= 1)
                    *td_touch_at(work, TD_TOUCH_W, k) =
                        fmin(*td_touch_at(work, TD_TOUCH_OWN, k),
                             shapes[work->shape[k]].give / (time * TD_TOUCH_NEAR_RIGID * gamma));
            }
            phase = more ? phase + 1 : -1;
            if (!more)
                td_touch_laws(work);
            TD_SYNC(lanes);
            continue;
        }
        if (plan->corrected == 0 || limit || rounds++ >= TD_TOUCH_ROUNDS)
            return true;
        double changed = 0;
        for (int k = lanes.lane; k < work->touches; k += lanes.n)
        {
            double v0 = *td_touch_at(work, TD_TOUCH_V, k), v1 = *td_touch_at(work, TD_TOUCH_V + 1, k);
            double ride = *td_touch_at(work, TD_TOUCH_GAMMA + 2, k) > 0
                              ? *td_touch_at(work, TD_TOUCH_MU, k) * sqrt(v0 * v0 + v1 * v1)
                              : 0,
                   more = ride - *td_touch_at(work, TD_TOUCH_RIDE, k);
            if (fabs(more) <= 1e-3 * ride)
                continue;
            changed += 1;
            *td_touch_at(work, TD_TOUCH_DRAWN, k) -= more;
            *td_touch_at(work, TD_TOUCH_RIDE, k) = ride;
        }
        if (td_lanes_sum(lanes, changed) == 0)
            return true;
    }
}
