// SPDX-License-Identifier: Apache-2.0
// Contact of a robot with shapes that stand still: points of its surface that touch, and the convex problem of
// contact/contact.h with the laws of solve/sap_law.h, by Newton's method with exact line search as solve/sap.c has it.
//
//     min over v   1/2 (v - v*)' A (v - v*) + sum_i l_i(J_i v),   J_i = Q_i P_i
//
// P_i is the motion of a point in the axes of the body, (modes | R' | -[y]), whose first part all robots share; Q_i
// turns it into two tangents and the normal. Driven actuators are rows with bounds in the same problem. In double
// precision: what sticks is so stiff beside the body that single precision would not find the end.
#pragma once
#include "gpu/frame.h"
#include "gpu/tiles.h"

/// Numbers of a point that touches, each `plan->touches` from the next.
enum
{
    TD_TOUCH_PHI, // distance at the start [m]
    TD_TOUCH_Y,   // 3: place in the frame
    TD_TOUCH_Q = TD_TOUCH_Y + 3,
    TD_TOUCH_SHARE = TD_TOUCH_Q + 9, // 3: of the points of the surface that it is a mean of
    TD_TOUCH_MU = TD_TOUCH_SHARE + 3,
    TD_TOUCH_OWN, // w of the body
    TD_TOUCH_W,
    TD_TOUCH_RT,
    TD_TOUCH_RN,
    TD_TOUCH_DRAWN, // v_hat of the normal
    TD_TOUCH_RIDE,
    TD_TOUCH_V, // 3
    TD_TOUCH_GAMMA = TD_TOUCH_V + 3,
    TD_TOUCH_DV = TD_TOUCH_GAMMA + 3,
    TD_TOUCH_PUSH = TD_TOUCH_DV + 3,    // Q' gamma
    TD_TOUCH_STIFF = TD_TOUCH_PUSH + 3, // 6: Q'G Q, 00 10 11 20 21 22; zero where it is open
    TD_TOUCH_NUMBERS = TD_TOUCH_STIFF + 6
};

/// Numbers of a row with bounds, each TD_BOX_ROWS from the next.
enum
{
    TD_BOX_ACTUATOR,
    TD_BOX_NOW, // effort that the free motion has
    TD_BOX_R,
    TD_BOX_DRAWN,
    TD_BOX_LOW, // of impulses
    TD_BOX_HIGH,
    TD_BOX_V,
    TD_BOX_GAMMA,
    TD_BOX_DV,
    TD_BOX_NUMBERS
};
#define TD_BOX_ROWS (2 * TD_GPU_ACTUATORS)

#define TD_TOUCH_TOLERANCE  1e-6 // of solve/sap.c
#define TD_TOUCH_ABSOLUTE   1e-14
#define TD_TOUCH_ITERATIONS 60
#define TD_TOUCH_SEARCHES   40
#define TD_TOUCH_TIGHTER    3 // contact/contact_solve.c, contact/contact_load.c
#define TD_TOUCH_ROUNDS     12
#define TD_TOUCH_SIGMA      1e-3
#define TD_TOUCH_NEAR_RIGID 0.025330295910584444  // 1 / 4 pi^2
#define TD_BOX_NEAR_RIGID   2.5330295910584444e-8 // with beta = 1e-3

/// Of one robot: what is near is shared by its lanes and fast, what is far is not so fast.
typedef struct tdTouchWork
{
    const tdGpuPlan *plan;
    const tdRobotWork *robot;
    tdLanes lanes;
    int n, whole; ///< coordinates; filled up
    double R[9];  ///< of the frame; else 1
    // near
    double *H, *U, *V;                                                  ///< matrix; staged rows
    double *v, *star, *x, *p, *momentum, *force, *gradient, *dv, *best; ///< `whole` each
    double *scale;                                                      ///< 1 / sqrt(A_ii)
    // far
    double *A, *columns, *touch, *box;
    double *place;  ///< 3 a point of the surface: where it is in the world, for shapes that are no planes
    int32_t *point; ///< 3 a contact: points of the surface; -1: none
    int32_t *shape;
    int touches, boxes;
} tdTouchWork;

#define TD_TOUCH_VECTORS 10

/// Doubles that are near and far.
TD_BOTH int64_t td_touch_near(const tdGpuPlan *plan)
{
    int whole = TD_WHOLE(plan->coords);
    return TD_SQUARE(plan->coords) + (2 * TD_STAGED + TD_TOUCH_VECTORS) * whole;
}

TD_BOTH int64_t td_touch_far(const tdGpuPlan *plan)
{
    int64_t touches = plan->touches;
    return TD_SQUARE(plan->coords) + TD_SIDE_BY_SIDE * TD_WHOLE(plan->coords) + (TD_TOUCH_NUMBERS + 2) * touches +
           TD_BOX_NUMBERS * TD_BOX_ROWS + (plan->triangles > 0 ? 3 * (int64_t)plan->touch_points : 0) + 2;
}

TD_BOTH tdTouchWork td_touch_room(const tdGpuPlan *plan, const tdRobotWork *robot, tdLanes lanes, double *near_,
                                  double *far_)
{
    tdTouchWork work;
    int whole = TD_WHOLE(plan->coords);
    work.plan = plan;
    work.robot = robot;
    work.lanes = lanes;
    work.n = plan->coords;
    work.whole = whole;
    work.H = near_;
    work.U = work.H + TD_SQUARE(plan->coords);
    work.V = work.U + TD_STAGED * whole;
    work.v = work.V + TD_STAGED * whole;
    work.star = work.v + whole;
    work.x = work.star + whole;
    work.p = work.x + whole;
    work.momentum = work.p + whole;
    work.force = work.momentum + whole;
    work.gradient = work.force + whole;
    work.dv = work.gradient + whole;
    work.best = work.dv + whole;
    work.scale = work.best + whole;
    work.A = far_;
    work.columns = work.A + TD_SQUARE(plan->coords);
    work.touch = work.columns + TD_SIDE_BY_SIDE * whole;
    work.box = work.touch + TD_TOUCH_NUMBERS * (int64_t)plan->touches;
    work.place = work.box + TD_BOX_NUMBERS * TD_BOX_ROWS;
    work.point = (int32_t *)(work.place + (plan->triangles > 0 ? 3 * (int64_t)plan->touch_points : 0));
    work.shape = work.point + 3 * plan->touches;
    work.touches = work.boxes = 0;
    for (int k = 0; k < 9; k++)
        work.R[k] = k % 4 == 0;
    return work;
}

TD_BOTH double *td_touch_at(const tdTouchWork *work, int number, int k)
{
    return work->touch + (int64_t)number * work->plan->touches + k;
}

TD_BOTH double *td_box_at(const tdTouchWork *work, int number, int k)
{
    return work->box + number * TD_BOX_ROWS + k;
}

// ---------------------------------------------------------------- points that touch

/// Place of a point in the frame, or its velocity there (rest NULL): sum of modes, without the frame's own motion.
TD_BOTH void td_touch_modes(const tdGpuPlan *plan, const double *rest, int point, const double *q, double *out)
{
    const double *X = TD_GPU_ARRAY(plan, double, touch) + point;
    int64_t points = plan->touch_points;
    for (int c = 0; c < 3; c++)
    {
        double sum = rest != NULL ? rest[c * points + point] : 0;
        for (int j = 0; j < plan->r; j++, X += points)
            sum += *X * q[j];
        out[c] = sum;
    }
}

/// The same of a mean of points; -1: no more.
TD_BOTH void td_touch_mean(const tdGpuPlan *plan, const double *rest, const int32_t *points, const double *shares,
                           const double *q, double *out)
{
    td_touch_modes(plan, rest, points[0], q, out);
    if (points[1] < 0)
        return;
    for (int c = 0; c < 3; c++)
        out[c] *= shares[0];
    for (int k = 1; k < 3 && points[k] >= 0; k++)
    {
        double own[3];
        td_touch_modes(plan, rest, points[k], q, own);
        for (int c = 0; c < 3; c++)
            out[c] += shares[k] * own[c];
    }
}

/// Velocity of a mean of points at y in the axes of the body, from those of all coordinates.
TD_BOTH void td_touch_speed(const tdTouchWork *work, const int32_t *points, const double *shares, const double *y,
                            const double *v, double *u)
{
    const tdGpuPlan *plan = work->plan;
    td_touch_mean(plan, NULL, points, shares, v, u);
    if (plan->frame == 0)
        return;
    double back[3], turned[3];
    td_turn3_back(work->R, v + plan->r, back);
    td_gpu_cross3(v + plan->r + 3, y, turned);
    for (int c = 0; c < 3; c++)
        u[c] += back[c] + turned[c];
}

/// Column j of P of contact k: three numbers.
TD_BOTH void td_touch_rows(const tdTouchWork *work, int k, int j, double *out)
{
    const tdGpuPlan *plan = work->plan;
    int r = plan->r;
    if (j < r)
    {
        const double *X = TD_GPU_ARRAY(plan, double, touch_rows) + j, *own;
        const int32_t *points = work->point + 3 * k;
        own = X + 3 * (int64_t)points[0] * r;
        double share = points[1] < 0 ? 1 : *td_touch_at(work, TD_TOUCH_SHARE, k);
        out[0] = share * own[0];
        out[1] = share * own[r];
        out[2] = share * own[2 * r];
        for (int m = 1; m < 3 && points[1] >= 0 && points[m] >= 0; m++)
        {
            own = X + 3 * (int64_t)points[m] * r;
            share = *td_touch_at(work, TD_TOUCH_SHARE + m, k);
            out[0] += share * own[0];
            out[1] += share * own[r];
            out[2] += share * own[2 * r];
        }
        return;
    }
    for (int c = 0; c < 3; c++) // R', and (w x y)_c
    {
        int d = j - r - 3;
        double turned = d == (c + 1) % 3   ? *td_touch_at(work, TD_TOUCH_Y + (c + 2) % 3, k)
                        : d == (c + 2) % 3 ? -*td_touch_at(work, TD_TOUCH_Y + (c + 1) % 3, k)
                                           : 0;
        out[c] = j >= work->n ? 0 : j < r + 3 ? work->R[3 * (j - r) + c] : turned;
    }
}

/// J_i v of all constraints, to the numbers from `contact` on and to `box`.
TD_APART void td_touch_times(const tdTouchWork *work, const double *v, int contact, int box)
{
    const tdGpuPlan *plan = work->plan;
    tdLanes lanes = work->lanes;
    TD_SYNC(lanes);
    for (int k = lanes.lane; k < work->touches; k += lanes.n)
    {
        double y[3], shares[3], u[3];
        for (int c = 0; c < 3; c++)
        {
            y[c] = *td_touch_at(work, TD_TOUCH_Y + c, k);
            shares[c] = *td_touch_at(work, TD_TOUCH_SHARE + c, k);
        }
        td_touch_speed(work, work->point + 3 * k, shares, y, v, u);
        for (int c = 0; c < 3; c++)
            *td_touch_at(work, contact + c, k) = *td_touch_at(work, TD_TOUCH_Q + 3 * c, k) * u[0] +
                                                 *td_touch_at(work, TD_TOUCH_Q + 3 * c + 1, k) * u[1] +
                                                 *td_touch_at(work, TD_TOUCH_Q + 3 * c + 2, k) * u[2];
    }
    for (int k = lanes.lane; k < work->boxes; k += lanes.n)
    {
        const float *J = work->robot->S + td_row(plan->r, plan->r + 1 + (int)*td_box_at(work, TD_BOX_ACTUATOR, k));
        double sum = 0;
        for (int j = 0; j < plan->r; j++)
            sum += J[j] * v[j];
        *td_box_at(work, box, k) = sum;
    }
    TD_SYNC(lanes);
}

/// force = J' gamma, from the impulses in the axes of the body.
TD_APART void td_touch_transposed(const tdTouchWork *work)
{
    const tdGpuPlan *plan = work->plan;
    tdLanes lanes = work->lanes;
    int r = plan->r;
    TD_SYNC(lanes);
    for (int j = lanes.lane; j < work->whole; j += lanes.n)
    {
        double sum = 0;
        for (int k = 0; k < work->touches; k++)
        {
            double x = *td_touch_at(work, TD_TOUCH_PUSH, k), y = *td_touch_at(work, TD_TOUCH_PUSH + 1, k),
                   z = *td_touch_at(work, TD_TOUCH_PUSH + 2, k), row[3];
            if (x == 0 && y == 0 && z == 0)
                continue;
            td_touch_rows(work, k, j, row);
            sum += row[0] * x + row[1] * y + row[2] * z;
        }
        for (int k = 0; k < work->boxes && j < r; k++)
            sum += work->robot->S[td_row(r, r + 1 + (int)*td_box_at(work, TD_BOX_ACTUATOR, k)) + j] *
                   *td_box_at(work, TD_BOX_GAMMA, k);
        work->force[j] = sum;
    }
    TD_SYNC(lanes);
}

// ---------------------------------------------------------------- laws

/// gamma = P(y) of a contact from its velocity; the cost. G (6: 00 10 11 20 21 22) may be NULL.
TD_BOTH double td_touch_project(double mu, double R_t, double R_n, double drawn, const double *v, double *gamma,
                                double *G)
{
    double k_t = 1 / R_t, k_n = 1 / R_n, hat = mu * R_t * k_n;
    double y[3] = {-v[0] * k_t, -v[1] * k_t, (drawn - v[2]) * k_n}, across = sqrt(y[0] * y[0] + y[1] * y[1]);
    bool sticks = mu > 0 && across <= mu * y[2], open = !sticks && y[2] <= -hat * across;
    double share = 1 / (1 + mu * hat), normal = sticks ? y[2] : open ? 0 : (y[2] + hat * across) * share;
    double turn = mu > 0 && across > 0 ? 1 / across : 0, t0 = y[0] * turn, t1 = y[1] * turn,
           turning = mu * normal * turn;
    gamma[0] = sticks ? y[0] : mu * normal * t0;
    gamma[1] = sticks ? y[1] : mu * normal * t1;
    gamma[2] = normal;
    if (G != NULL)
    {
        double along = (mu * hat * share - turning) * k_t, off = mu * share * k_n;
        bool slides = !sticks && !open;
        G[0] = sticks ? k_t : slides ? t0 * t0 * along + turning * k_t : 0;
        G[1] = slides ? t0 * t1 * along : 0;
        G[2] = sticks ? k_t : slides ? t1 * t1 * along + turning * k_t : 0;
        G[3] = slides ? t0 * off : 0;
        G[4] = slides ? t1 * off : 0;
        G[5] = sticks ? k_n : slides ? share * k_n : 0;
    }
    return R_t * (gamma[0] * (y[0] - 0.5 * gamma[0]) + gamma[1] * (y[1] - 0.5 * gamma[1])) +
           R_n * gamma[2] * (y[2] - 0.5 * gamma[2]);
}

/// What contact k does with impulse gamma and slope G, in the axes of the body; for td_touch_transposed() and
/// td_touch_hessian(). By one lane.
TD_BOTH void td_touch_turned(const tdTouchWork *work, int k, const double *gamma, const double *G)
{
    double Q[9], T[9];
    for (int e = 0; e < 9; e++)
        Q[e] = *td_touch_at(work, TD_TOUCH_Q + e, k);
    for (int c = 0; c < 3; c++)
    {
        *td_touch_at(work, TD_TOUCH_PUSH + c, k) = Q[c] * gamma[0] + Q[3 + c] * gamma[1] + Q[6 + c] * gamma[2];
        T[c] = G[0] * Q[c] + G[1] * Q[3 + c] + G[3] * Q[6 + c];
        T[3 + c] = G[1] * Q[c] + G[2] * Q[3 + c] + G[4] * Q[6 + c];
        T[6 + c] = G[3] * Q[c] + G[4] * Q[3 + c] + G[5] * Q[6 + c];
    }
    for (int i = 0, e = 0; i < 3; i++)
        for (int j = 0; j <= i; j++, e++)
            *td_touch_at(work, TD_TOUCH_STIFF + e, k) = Q[i] * T[j] + Q[3 + i] * T[3 + j] + Q[6 + i] * T[6 + j];
}

TD_BOTH double td_touch_law(const tdTouchWork *work, int k, const double *v, double *gamma, double *G)
{
    return td_touch_project(*td_touch_at(work, TD_TOUCH_MU, k), *td_touch_at(work, TD_TOUCH_RT, k),
                            *td_touch_at(work, TD_TOUCH_RN, k), *td_touch_at(work, TD_TOUCH_DRAWN, k), v, gamma, G);
}

/// The same of a row with bounds; *slope: 1 / R within them, else 0.
TD_BOTH double td_box_law(const tdTouchWork *work, int k, double v, double *gamma, double *slope)
{
    double R = *td_box_at(work, TD_BOX_R, k), y = (*td_box_at(work, TD_BOX_DRAWN, k) - v) / R;
    double low = *td_box_at(work, TD_BOX_LOW, k), high = *td_box_at(work, TD_BOX_HIGH, k);
    *gamma = fmin(fmax(y, low), high);
    *slope = *gamma == y ? 1 / R : 0;
    return *gamma * R * (y - 0.5 * *gamma);
}

/// R and v_hat of all contacts, from w.
TD_BOTH void td_touch_laws(const tdTouchWork *work)
{
    const tdGpuPlan *plan = work->plan;
    const tdGpuShape *shapes = TD_GPU_ARRAY(plan, tdGpuShape, shape);
    TD_SYNC(work->lanes);
    for (int k = work->lanes.lane; k < work->touches; k += work->lanes.n)
    {
        const tdGpuShape *shape = shapes + work->shape[k];
        double w = *td_touch_at(work, TD_TOUCH_W, k), time = plan->h + shape->dissipation;
        *td_touch_at(work, TD_TOUCH_RT, k) = TD_TOUCH_SIGMA * w;
        *td_touch_at(work, TD_TOUCH_RN, k) = fmax(TD_TOUCH_NEAR_RIGID * w, 1 / (plan->h * shape->stiffness * time));
        *td_touch_at(work, TD_TOUCH_DRAWN, k) =
            -*td_touch_at(work, TD_TOUCH_PHI, k) / time - *td_touch_at(work, TD_TOUCH_RIDE, k);
    }
    TD_SYNC(work->lanes);
}

/// w = |P A^-1 P'| / 3 of each contact, J A^-1 J' of each row with bounds, with the factor of A in H.
TD_APART void td_touch_weigh(const tdTouchWork *work)
{
    const tdGpuPlan *plan = work->plan;
    tdLanes lanes = work->lanes;
    int each = TD_SIDE_BY_SIDE / 3, r = plan->r;
    double *X = work->columns;
    for (int first = 0; first < work->touches; first += each)
    {
        int count = work->touches - first < each ? work->touches - first : each;
        TD_SYNC(lanes);
        for (int k = lanes.lane; k < count * work->whole; k += lanes.n)
        {
            double row[3];
            int c = k / work->whole, j = k % work->whole;
            td_touch_rows(work, first + c, j, row);
            for (int e = 0; e < 3; e++)
                X[j * TD_SIDE_BY_SIDE + 3 * c + e] = row[e];
        }
        td_tiles_solve_many(work->n, work->H, 3 * count, lanes, X);
        for (int k = lanes.lane; k < count; k += lanes.n)
        {
            double W[6] = {0, 0, 0, 0, 0, 0};
            for (int j = 0; j < work->whole; j++)
            {
                const double *x = X + j * TD_SIDE_BY_SIDE + 3 * k;
                W[0] += x[0] * x[0];
                W[1] += x[1] * x[1];
                W[2] += x[2] * x[2];
                W[3] += x[0] * x[1];
                W[4] += x[1] * x[2];
                W[5] += x[2] * x[0];
            }
            double square = W[0] * W[0] + W[1] * W[1] + W[2] * W[2] + 2 * (W[3] * W[3] + W[4] * W[4] + W[5] * W[5]);
            *td_touch_at(work, TD_TOUCH_OWN, first + k) = *td_touch_at(work, TD_TOUCH_W, first + k) =
                fmax(sqrt(square) / 3, 1e-30);
        }
    }
    for (int first = 0; first < work->boxes; first += TD_SIDE_BY_SIDE)
    {
        int count = work->boxes - first < TD_SIDE_BY_SIDE ? work->boxes - first : TD_SIDE_BY_SIDE;
        TD_SYNC(lanes);
        for (int c = lanes.lane; c < count; c += lanes.n)
            for (int j = 0; j < work->whole; j++)
                X[j * TD_SIDE_BY_SIDE + c] =
                    j < r ? work->robot->S[td_row(r, r + 1 + (int)*td_box_at(work, TD_BOX_ACTUATOR, first + c)) + j]
                          : 0;
        td_tiles_solve_many(work->n, work->H, count, lanes, X);
        for (int c = lanes.lane; c < count; c += lanes.n)
        {
            double w = 0;
            for (int j = 0; j < work->whole; j++)
                w += X[j * TD_SIDE_BY_SIDE + c] * X[j * TD_SIDE_BY_SIDE + c];
            // What was there is the compliance of an elastic cable, as a share of a step.
            *td_box_at(work, TD_BOX_R, first + c) = fmax(TD_BOX_NEAR_RIGID * w, *td_box_at(work, TD_BOX_R, first + c));
        }
    }
    TD_SYNC(lanes);
}

// ---------------------------------------------------------------- Newton's method

typedef struct tdTouchCost
{
    double cost, gradient, size;
} tdTouchCost;

/// At v, with the velocities of constraints there: gamma, slopes, force, gradient.
TD_APART tdTouchCost td_touch_evaluate(const tdTouchWork *work)
{
    tdLanes lanes = work->lanes;
    tdTouchCost out;
    double cost = 0, squares[3] = {0, 0, 0};
    TD_SYNC(lanes);
    for (int i = lanes.lane; i < work->whole; i += lanes.n)
        work->x[i] = work->v[i] - work->star[i];
    td_tiles_times(work->n, work->A, work->x, lanes, work->p);
    for (int k = lanes.lane; k < work->touches; k += lanes.n)
    {
        double v[3], gamma[3], G[6];
        for (int c = 0; c < 3; c++)
            v[c] = *td_touch_at(work, TD_TOUCH_V + c, k);
        cost += td_touch_law(work, k, v, gamma, G);
        for (int c = 0; c < 3; c++)
            *td_touch_at(work, TD_TOUCH_GAMMA + c, k) = gamma[c];
        td_touch_turned(work, k, gamma, G);
    }
    for (int k = lanes.lane; k < work->boxes; k += lanes.n)
    {
        double gamma, slope;
        cost += td_box_law(work, k, *td_box_at(work, TD_BOX_V, k), &gamma, &slope);
        *td_box_at(work, TD_BOX_GAMMA, k) = gamma;
    }
    td_touch_transposed(work);
    for (int i = lanes.lane; i < work->n; i += lanes.n)
    {
        double scale = work->scale[i], a = scale * (work->p[i] - work->force[i]),
               b = scale * (work->p[i] + work->momentum[i]), c = scale * work->force[i];
        work->gradient[i] = work->p[i] - work->force[i];
        cost += 0.5 * work->x[i] * work->p[i];
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
TD_BOTH double td_touch_hold(const tdTouchWork *work)
{
    double changed = 0;
    for (int k = work->lanes.lane; k < work->touches; k += work->lanes.n)
    {
        double mu = *td_touch_at(work, TD_TOUCH_MU, k), R_t = *td_touch_at(work, TD_TOUCH_RT, k),
               R_n = *td_touch_at(work, TD_TOUCH_RN, k), normal = *td_touch_at(work, TD_TOUCH_GAMMA + 2, k);
        double y[3] = {-*td_touch_at(work, TD_TOUCH_V, k) / R_t, -*td_touch_at(work, TD_TOUCH_V + 1, k) / R_t,
                       (*td_touch_at(work, TD_TOUCH_DRAWN, k) - *td_touch_at(work, TD_TOUCH_V + 2, k)) / R_n};
        double across = sqrt(y[0] * y[0] + y[1] * y[1]), G[6] = {1 / R_t, 0, 1 / R_t, 0, 0, 1 / R_n};
        if (!(normal > 0) || across <= mu * y[2] || across > mu * fmax(y[2], normal) / TD_TOUCH_SIGMA)
            continue;
        changed += 1;
        for (int c = 0; c < 3; c++)
            *td_touch_at(work, TD_TOUCH_GAMMA + c, k) = y[c];
        td_touch_turned(work, k, y, G);
    }
    return td_lanes_sum(work->lanes, changed);
}

/// H = A + J'G J, factored. False: not definite.
TD_APART bool td_touch_hessian(const tdTouchWork *work)
{
    tdLanes lanes = work->lanes;
    int staged = 0, r = work->plan->r;
    TD_SYNC(lanes);
    for (int k = lanes.lane; k < TD_SQUARE(work->n); k += lanes.n)
        work->H[k] = work->A[k];
    for (int k = 0; k < work->touches + work->boxes; k++)
    {
        if (staged + 3 > TD_STAGED)
        {
            td_tiles_add(work->n, staged, work->U, work->V, lanes, work->H);
            staged = 0;
        }
        if (k >= work->touches)
        {
            int box = k - work->touches;
            double gamma, slope;
            td_box_law(work, box, *td_box_at(work, TD_BOX_V, box), &gamma, &slope);
            if (slope == 0)
                continue;
            const float *J = work->robot->S + td_row(r, r + 1 + (int)*td_box_at(work, TD_BOX_ACTUATOR, box));
            for (int j = lanes.lane; j < work->whole; j += lanes.n)
            {
                double x = j < r ? J[j] : 0;
                work->U[staged * work->whole + j] = x;
                work->V[staged * work->whole + j] = slope * x;
            }
            staged++;
            continue;
        }
        double S[6];
        for (int e = 0; e < 6; e++)
            S[e] = *td_touch_at(work, TD_TOUCH_STIFF + e, k);
        if (S[0] == 0 && S[2] == 0 && S[5] == 0)
            continue;
        for (int j = lanes.lane; j < work->whole; j += lanes.n)
        {
            double x[3], *u = work->U + staged * work->whole + j, *v = work->V + staged * work->whole + j;
            td_touch_rows(work, k, j, x);
            u[0] = x[0];
            u[work->whole] = x[1];
            u[2 * work->whole] = x[2];
            v[0] = S[0] * x[0] + S[1] * x[1] + S[3] * x[2];
            v[work->whole] = S[1] * x[0] + S[2] * x[1] + S[4] * x[2];
            v[2 * work->whole] = S[3] * x[0] + S[4] * x[1] + S[5] * x[2];
        }
        staged += 3;
    }
    td_tiles_add(work->n, staged, work->U, work->V, lanes, work->H);
    return td_tiles_factor(work->n, lanes, work->H);
}

/// First and second derivative of the cost along dv, `a` of it; start: the first at 0, quadratic: dv'A dv.
TD_APART void td_touch_slope(const tdTouchWork *work, double a, double start, double quadratic, double *first,
                             double *second)
{
    tdLanes lanes = work->lanes;
    double d = 0, dd = 0;
    for (int k = lanes.lane; k < work->touches; k += lanes.n)
    {
        double v[3], dv[3], gamma[3], G[6];
        for (int c = 0; c < 3; c++)
        {
            dv[c] = *td_touch_at(work, TD_TOUCH_DV + c, k);
            v[c] = *td_touch_at(work, TD_TOUCH_V + c, k) + a * dv[c];
        }
        td_touch_law(work, k, v, gamma, G);
        for (int c = 0; c < 3; c++)
            d += (*td_touch_at(work, TD_TOUCH_GAMMA + c, k) - gamma[c]) * dv[c];
        dd += G[0] * dv[0] * dv[0] + G[2] * dv[1] * dv[1] + G[5] * dv[2] * dv[2] +
              2 * (G[1] * dv[0] * dv[1] + G[3] * dv[0] * dv[2] + G[4] * dv[1] * dv[2]);
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

/// v += a dv, and the velocities of constraints with it.
TD_BOTH void td_touch_move(const tdTouchWork *work, double a)
{
    tdLanes lanes = work->lanes;
    for (int i = lanes.lane; i < work->whole; i += lanes.n)
        work->v[i] += a * work->dv[i];
    for (int k = lanes.lane; k < work->touches; k += lanes.n)
        for (int c = 0; c < 3; c++)
            *td_touch_at(work, TD_TOUCH_V + c, k) += a * *td_touch_at(work, TD_TOUCH_DV + c, k);
    for (int k = lanes.lane; k < work->boxes; k += lanes.n)
        *td_box_at(work, TD_BOX_V, k) += a * *td_box_at(work, TD_BOX_DV, k);
    TD_SYNC(lanes);
}

/// All that bear are taken to stick; kept where the cost is less.
TD_BOTH void td_touch_stick(const tdTouchWork *work, double cost)
{
    tdLanes lanes = work->lanes;
    TD_SYNC(lanes);
    if (td_touch_hold(work) == 0 || !td_touch_hessian(work))
        return;
    td_touch_transposed(work); // with gamma as it is inside the cone
    for (int i = lanes.lane; i < work->whole; i += lanes.n)
        work->dv[i] = i < work->n ? work->force[i] - work->p[i] : 0;
    td_tiles_solve(work->n, work->H, lanes, work->dv);
    td_touch_times(work, work->dv, TD_TOUCH_DV, TD_BOX_DV);
    td_touch_move(work, 1);
    if (!(td_touch_evaluate(work).cost < cost))
        td_touch_move(work, -1);
}

/// From v to the minimum. False: numbers that are not finite, or no definite matrix. *missed: the bound was reached.
TD_APART bool td_touch_newton(const tdTouchWork *work, bool *missed)
{
    tdLanes lanes = work->lanes;
    double least = INFINITY;
    bool tried = false;
    td_touch_times(work, work->v, TD_TOUCH_V, TD_BOX_V);
    *missed = false;
    for (int pass = 0;; pass++)
    {
        tdTouchCost at = td_touch_evaluate(work);
        if (!isfinite(at.cost) || !isfinite(at.gradient))
            return false;
        if (at.gradient <= TD_TOUCH_ABSOLUTE + TD_TOUCH_TOLERANCE * at.size)
            return true;
        if (at.gradient < least)
        {
            least = at.gradient;
            for (int i = lanes.lane; i < work->whole; i += lanes.n)
                work->best[i] = work->v[i];
        }
        bool bound = pass >= TD_TOUCH_ITERATIONS;
        if (!bound)
        {
            if (!td_touch_hessian(work))
                return false;
            double start = 0, quadratic = 0;
            for (int i = lanes.lane; i < work->whole; i += lanes.n)
                work->dv[i] = i < work->n ? -work->gradient[i] : 0;
            td_tiles_solve(work->n, work->H, lanes, work->dv);
            td_tiles_times(work->n, work->A, work->dv, lanes, work->x);
            for (int i = lanes.lane; i < work->n; i += lanes.n)
            {
                start += work->dv[i] * work->gradient[i];
                quadratic += work->dv[i] * work->x[i];
            }
            start = td_lanes_sum(lanes, start);
            quadratic = td_lanes_sum(lanes, quadratic);
            if (start < 0)
            {
                td_touch_times(work, work->dv, TD_TOUCH_DV, TD_BOX_DV);
                double step = td_touch_search(work, start, quadratic);
                td_touch_move(work, step);
                if (step < 0.05 && !tried)
                    td_touch_stick(work, td_touch_evaluate(work).cost);
                tried = tried || step < 0.05;
                continue;
            }
        }
        for (int i = lanes.lane; i < work->whole; i += lanes.n)
            work->v[i] = work->best[i];
        td_touch_times(work, work->v, TD_TOUCH_V, TD_BOX_V);
        td_touch_evaluate(work);
        *missed = bound;
        return true;
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
TD_APART bool td_touch_solve(const tdTouchWork *work, bool *missed)
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
                    *td_touch_at(work, TD_TOUCH_RT, k) *= 1e-4;
                    *td_touch_at(work, TD_TOUCH_RN, k) *= 1e-4;
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
