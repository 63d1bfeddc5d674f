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
#include "gpu/matrix.h"

/// Numbers of a point that touches, each TD_TOUCH_LANES from the next; points in groups of as many.
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
    TD_TOUCH_KT, // 1 / R, and what else follows from R and mu: see td_touch_resist()
    TD_TOUCH_KN,
    TD_TOUCH_HAT,
    TD_TOUCH_PART,
    TD_TOUCH_ROOT, // 3: roots of KT, KN, PART KN
    TD_TOUCH_V = TD_TOUCH_ROOT + 3,
    TD_TOUCH_GAMMA = TD_TOUCH_V + 3,
    TD_TOUCH_DV = TD_TOUCH_GAMMA + 3,
    TD_TOUCH_PUSH = TD_TOUCH_DV + 3,    // Q' gamma
    TD_TOUCH_SLOPE = TD_TOUCH_PUSH + 3, // 9: N Q with N'N = G
    TD_TOUCH_NUMBERS = TD_TOUCH_SLOPE + 9
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
    TD_BOX_SLOPE, // root of 1 / R within the bounds, else 0
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
    int n, whole; ///< coordinates; filled up with zeros
    // near
    double *A, *room;                                                   ///< matrix; TD_MATRIX_ROOM
    double *v, *star, *x, *p, *momentum, *force, *gradient, *dv, *best; ///< `whole` each
    double *scale;                                                      ///< 1 / sqrt(A_ii)
    double *R;                                                          ///< of the frame; else 1
    // far
    double *columns, *touch, *box; ///< columns: see matrix.h
    double *means;                 ///< rows of contacts that are means of points
    double *place;  ///< 3 a point of the surface: where it is in the world, for shapes that are no planes
    int32_t *point; ///< 3 a contact: points of the surface; -1: none
    int32_t *row;   ///< of a contact: the point whose rows it has; -1 - number: among means
    int32_t *shape;
    int32_t *list; ///< of contacts that bear
    int touches, boxes;
} tdTouchWork;

#define TD_TOUCH_VECTORS 10
#define TD_TOUCH_LANES   32
#define TD_TOUCH_R       10 // doubles

/// Doubles of rows of contacts that are means.
TD_BOTH int64_t td_touch_means(const tdGpuPlan *plan)
{
    return plan->triangles > 0 ? 3 * (int64_t)plan->r * plan->touches : 0;
}

/// Doubles that are near and far.
TD_BOTH int64_t td_touch_near(const tdGpuPlan *plan)
{
    return TD_MATRIX(plan->coords) + TD_MATRIX_ROOM(plan->coords) + TD_TOUCH_VECTORS * TD_WHOLE(plan->coords) +
           TD_TOUCH_R;
}

TD_BOTH int64_t td_touch_far(const tdGpuPlan *plan)
{
    int64_t touches = plan->touches, groups = (touches + TD_TOUCH_LANES - 1) / TD_TOUCH_LANES;
    return TD_MATRIX_COLUMNS(plan) + TD_TOUCH_NUMBERS * TD_TOUCH_LANES * groups + 3 * touches +
           TD_BOX_NUMBERS * TD_BOX_ROWS + td_touch_means(plan) +
           (plan->triangles > 0 ? 3 * (int64_t)plan->touch_points : 0) + 2;
}

TD_BOTH tdTouchWork td_touch_room(const tdGpuPlan *plan, const tdRobotWork *robot, tdLanes lanes, double *near_,
                                  double *far_)
{
    tdTouchWork work;
    int whole = td_matrix_whole(plan->coords, lanes);
    int64_t groups = (plan->touches + TD_TOUCH_LANES - 1) / TD_TOUCH_LANES;
    work.plan = plan;
    work.robot = robot;
    work.lanes = lanes;
    work.n = plan->coords;
    work.whole = whole;
    work.A = near_;
    work.room = work.A + td_matrix_size(plan->coords, lanes);
    work.R = work.room + td_matrix_room(plan->coords, lanes);
    work.v = work.R + TD_TOUCH_R;
    work.star = work.v + whole;
    work.x = work.star + whole;
    work.p = work.x + whole;
    work.momentum = work.p + whole;
    work.force = work.momentum + whole;
    work.gradient = work.force + whole;
    work.dv = work.gradient + whole;
    work.best = work.dv + whole;
    work.scale = work.best + whole;
    work.columns = far_;
    work.touch = work.columns + TD_MATRIX_COLUMNS(plan);
    work.box = work.touch + TD_TOUCH_NUMBERS * TD_TOUCH_LANES * groups;
    work.means = work.box + TD_BOX_NUMBERS * TD_BOX_ROWS;
    work.place = work.means + td_touch_means(plan);
    work.point = (int32_t *)(work.place + (plan->triangles > 0 ? 3 * (int64_t)plan->touch_points : 0));
    work.row = work.point + 3 * plan->touches;
    work.shape = work.row + plan->touches;
    work.list = work.shape + plan->touches;
    work.touches = work.boxes = 0;
    for (int k = lanes.lane; k < 9; k += lanes.n)
        work.R[k] = k % 4 == 0;
    TD_SYNC(lanes);
    return work;
}

TD_BOTH double *td_touch_at(const tdTouchWork *work, int number, int k)
{
    return work->touch + (int64_t)(k / TD_TOUCH_LANES) * (TD_TOUCH_NUMBERS * TD_TOUCH_LANES) + number * TD_TOUCH_LANES +
           k % TD_TOUCH_LANES;
}

TD_BOTH double *td_box_at(const tdTouchWork *work, int number, int k)
{
    return work->box + number * TD_BOX_ROWS + k;
}

// ---------------------------------------------------------------- points that touch

/// How many lanes before this one have something, and how many have in all.
TD_BOTH int td_lanes_before(tdLanes lanes, bool has, int *all)
{
#if defined(__CUDA_ARCH__) || defined(TD_LANES)
    unsigned votes = __ballot_sync(lanes.mask, has);
    *all = __popc(votes);
    return __popc(votes & ((1u << lanes.lane) - 1));
#else
    (void)lanes;
    *all = has;
    return 0;
#endif
}

/// Place of a point in the frame, or its velocity there (rest NULL): sum of modes, without the frame's own motion.
TD_BOTH void td_touch_modes(const tdGpuPlan *plan, const double *rest, int point, const double *q, double *out)
{
    const double *X = TD_GPU_ARRAY(plan, double, touch) + point;
    int64_t points = plan->touch_points, apart = plan->r * points;
    double x = 0, y = 0, z = 0;
    if (rest != NULL)
    {
        x = rest[point];
        y = rest[points + point];
        z = rest[2 * points + point];
    }
    for (int j = 0; j < plan->r; j++, X += points)
    {
        double at = q[j];
        x += X[0] * at;
        y += X[apart] * at;
        z += X[2 * apart] * at;
    }
    out[0] = x;
    out[1] = y;
    out[2] = z;
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

/// Rows of contacts that are means of points.
TD_BOTH void td_touch_mix(const tdTouchWork *work)
{
    const tdGpuPlan *plan = work->plan;
    int r = plan->r;
    TD_SYNC(work->lanes);
    for (int k = 0; k < work->touches && plan->triangles > 0; k++)
    {
        const int32_t *points = work->point + 3 * k;
        if (work->row[k] >= 0)
            continue;
        for (int at = work->lanes.lane; at < 3 * r; at += work->lanes.n)
        {
            const double *X = TD_GPU_ARRAY(plan, double, touch_rows) + at;
            double sum = 0;
            for (int m = 0; m < 3 && points[m] >= 0; m++)
                sum += *td_touch_at(work, TD_TOUCH_SHARE + m, k) * X[3 * (int64_t)points[m] * r];
            work->means[3 * (int64_t)k * r + at] = sum;
        }
    }
    TD_SYNC(work->lanes);
}

/// Rows P of contact k over the modes.
TD_BOTH const double *td_touch_rows(const tdTouchWork *work, int k)
{
    int row = work->row[k];
    const double *from = row < 0 ? work->means : TD_GPU_ARRAY(work->plan, double, touch_rows);
    return from + 3 * (int64_t)work->plan->r * (row < 0 ? -1 - row : row);
}

/// Number c of them over coordinate j of the frame, from 0 on: R', and (e_j x y)_c.
TD_BOTH double td_touch_frame(const tdTouchWork *work, int k, int c, int j)
{
    int d = j - 3;
    if (j < 3)
        return work->R[3 * j + c];
    return d == c                 ? 0
           : (c - d + 3) % 3 == 2 ? *td_touch_at(work, TD_TOUCH_Y + (d + 1) % 3, k)
                                  : -*td_touch_at(work, TD_TOUCH_Y + (d + 2) % 3, k);
}

/// J_i v of all constraints, to the numbers from `contact` on and to `box`.
TD_BOTH void td_touch_times(const tdTouchWork *work, const double *v, int contact, int box)
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

// ---------------------------------------------------------------- laws

/// R of contact k, and what follows from it and mu.
TD_BOTH void td_touch_resist(const tdTouchWork *work, int k, double R_t, double R_n)
{
    double mu = *td_touch_at(work, TD_TOUCH_MU, k), k_t = 1 / R_t, k_n = 1 / R_n, hat = mu * R_t * k_n,
           part = 1 / (1 + mu * hat);
    *td_touch_at(work, TD_TOUCH_RT, k) = R_t;
    *td_touch_at(work, TD_TOUCH_RN, k) = R_n;
    *td_touch_at(work, TD_TOUCH_KT, k) = k_t;
    *td_touch_at(work, TD_TOUCH_KN, k) = k_n;
    *td_touch_at(work, TD_TOUCH_HAT, k) = hat;
    *td_touch_at(work, TD_TOUCH_PART, k) = part;
    *td_touch_at(work, TD_TOUCH_ROOT, k) = sqrt(k_t);
    *td_touch_at(work, TD_TOUCH_ROOT + 1, k) = sqrt(k_n);
    *td_touch_at(work, TD_TOUCH_ROOT + 2, k) = sqrt(part * k_n);
}

/// What a contact does at a velocity.
typedef struct tdTouchLaw
{
    double y[3], gamma[3]; ///< gamma = P(y)
    double mu, across[2];  ///< across: direction of y along the surface
    double turning;        ///< mu times the normal impulse, by |y| along the surface
    bool sticks;           ///< else it slides
} tdTouchLaw;

/// Whether contact k is open at a velocity. Resistance makes no difference to that.
TD_BOTH bool td_touch_open(const tdTouchWork *work, int k, const double *v)
{
    double mu = *td_touch_at(work, TD_TOUCH_MU, k), away = v[2] - *td_touch_at(work, TD_TOUCH_DRAWN, k);
    return away >= 0 && away * away >= mu * mu * (v[0] * v[0] + v[1] * v[1]) &&
           (away > 0 || mu == 0 || v[0] != 0 || v[1] != 0);
}

/// Of one that is not.
TD_BOTH tdTouchLaw td_touch_law(const tdTouchWork *work, int k, const double *v)
{
    tdTouchLaw out;
    double mu = *td_touch_at(work, TD_TOUCH_MU, k), k_t = *td_touch_at(work, TD_TOUCH_KT, k),
           hat = *td_touch_at(work, TD_TOUCH_HAT, k), y0 = -v[0] * k_t, y1 = -v[1] * k_t,
           y2 = (*td_touch_at(work, TD_TOUCH_DRAWN, k) - v[2]) * *td_touch_at(work, TD_TOUCH_KN, k),
           along = sqrt(y0 * y0 + y1 * y1);
    out.sticks = mu > 0 && along <= mu * y2;
    double normal = out.sticks ? y2 : fmax((y2 + hat * along) * *td_touch_at(work, TD_TOUCH_PART, k), 0.0),
           turn = mu > 0 && along > 0 ? 1 / along : 0;
    out.mu = mu;
    out.across[0] = y0 * turn;
    out.across[1] = y1 * turn;
    out.turning = mu * normal * turn;
    out.y[0] = y0;
    out.y[1] = y1;
    out.y[2] = y2;
    out.gamma[0] = out.sticks ? y0 : mu * normal * out.across[0];
    out.gamma[1] = out.sticks ? y1 : mu * normal * out.across[1];
    out.gamma[2] = normal;
    return out;
}

/// What contact k does to the body by a law: the impulse, kept in its own axes and those of the body, and a root of its
/// slope G = k_t over both tangents and k_n over the normal where it sticks; where it slides
///
///     PART k_n (mu t, 1)'(mu t, 1) + turning k_t (-t1, t0, 0)'(-t1, t0, 0)
TD_BOTH void td_touch_acts(const tdTouchWork *work, int k, const tdTouchLaw *law)
{
    double Q[9], root = *td_touch_at(work, TD_TOUCH_ROOT, k), t0 = law->across[0], t1 = law->across[1];
    double normal = *td_touch_at(work, TD_TOUCH_ROOT + (law->sticks ? 1 : 2), k), turning = root * sqrt(law->turning),
           slides = normal * law->mu;
    for (int e = 0; e < 9; e++)
        Q[e] = *td_touch_at(work, TD_TOUCH_Q + e, k);
    for (int c = 0; c < 3; c++)
    {
        *td_touch_at(work, TD_TOUCH_GAMMA + c, k) = law->gamma[c];
        *td_touch_at(work, TD_TOUCH_PUSH + c, k) =
            Q[c] * law->gamma[0] + Q[3 + c] * law->gamma[1] + Q[6 + c] * law->gamma[2];
        *td_touch_at(work, TD_TOUCH_SLOPE + c, k) =
            law->sticks ? root * Q[c] : slides * (t0 * Q[c] + t1 * Q[3 + c]) + normal * Q[6 + c];
        *td_touch_at(work, TD_TOUCH_SLOPE + 3 + c, k) =
            law->sticks ? root * Q[3 + c] : turning * (t0 * Q[3 + c] - t1 * Q[c]);
        *td_touch_at(work, TD_TOUCH_SLOPE + 6 + c, k) = law->sticks ? normal * Q[6 + c] : 0;
    }
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
        td_touch_resist(work, k, TD_TOUCH_SIGMA * w,
                        fmax(TD_TOUCH_NEAR_RIGID * w, 1 / (plan->h * shape->stiffness * time)));
        *td_touch_at(work, TD_TOUCH_DRAWN, k) =
            -*td_touch_at(work, TD_TOUCH_PHI, k) / time - *td_touch_at(work, TD_TOUCH_RIDE, k);
    }
    TD_SYNC(work->lanes);
}
