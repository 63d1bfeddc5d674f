// SPDX-License-Identifier: Apache-2.0
// See sap_law.h.
#include "solve/sap_law.h"

#include <assert.h>
#include <string.h>

tdSapTuning td_sap_tuning(double c, double s)
{
    return (tdSapTuning){.c = c, .s = s, .beta = 1, .beta_b = TD_SAP_BETA_BOX, .sigma = 1e-3};
}

// Compliance of a spring k with dissipation in a step, but no less than what beta times the time scale of the step
// resolves: a period of 2 pi sqrt(R h² ...) = beta h, which keeps the problem solvable whatever k is.
static double regularization(const tdSapTuning *t, double beta, double k, double tau, double w)
{
    double least = TD_SAP_NEAR_RIGID(beta) * w;
    return fmax(least, 1 / (t->s * k * (t->c + tau)));
}

tdSapLaw td_sap_contact(const tdSapTuning *t, double mu, double phi, double k, double tau, double w)
{
    double R_t = t->sigma * w;
    return (tdSapLaw){.kind = TD_SAP_CONTACT,
                      .rows = 3,
                      .mu = mu,
                      .R = {R_t, R_t, regularization(t, t->beta, k, tau, w)},
                      .v_hat = {0, 0, -phi / (t->c + tau)}};
}

tdSapLaw td_sap_bilateral(const tdSapTuning *t, int rows, const double *g, double k, double tau, double w)
{
    assert(rows >= 1 && rows <= TD_SAP_ROWS);
    tdSapLaw law = {.kind = TD_SAP_BILATERAL, .rows = rows};
    for (int r = 0; r < rows; r++)
    {
        law.R[r] = regularization(t, t->beta_b, k, tau, w);
        law.v_hat[r] = -g[r] / (t->c + tau);
    }
    return law;
}

tdSapLaw td_sap_box(const tdSapTuning *t, double g, double k, double tau, double w, double lo, double hi)
{
    tdSapLaw law = td_sap_bilateral(t, 1, &g, k, tau, w);
    law.kind = TD_SAP_BOX;
    law.lo[0] = lo;
    law.hi[0] = hi;
    return law;
}

tdSapLaw td_sap_friction(const tdSapTuning *t, double limit, double w)
{
    return (tdSapLaw){.kind = TD_SAP_BOX, .rows = 1, .R = {t->sigma * w}, .lo = {-limit}, .hi = {limit}};
}

tdSapLaw td_sap_turning(const tdSapTuning *t, double rolling, double torsion, double w)
{
    double R = t->sigma * w;
    return (tdSapLaw){.kind = TD_SAP_TURNING,
                      .rows = 3,
                      .R = {R, R, R},
                      .lo = {-rolling, -rolling, -torsion},
                      .hi = {rolling, rolling, torsion}};
}

double td_sap_weight(int rows, const double *W)
{
    double square = 0;
    for (int i = 0; i < rows * rows; i++)
        square += W[i] * W[i];
    return sqrt(square) / rows;
}

// ---------------------------------------------------------------- projection

static void project_contact(const tdSapLaw *law, const double y[3], double gamma[3], double *G)
{
    double mu = law->mu, R_t = law->R[0], R_n = law->R[2], hat = mu * R_t / R_n;
    double y_n = y[2], y_r = sqrt(y[0] * y[0] + y[1] * y[1]);
    if (G != NULL)
        memset(G, 0, 9 * sizeof *G);
    if (mu > 0 && y_r <= mu * y_n) // stick
    {
        for (int k = 0; k < 3; k++)
        {
            gamma[k] = y[k];
            if (G != NULL)
                G[4 * k] = 1 / law->R[k];
        }
        return;
    }
    if (y_n <= -hat * y_r) // no contact
    {
        memset(gamma, 0, 3 * sizeof *gamma);
        return;
    }
    double share = 1 / (1 + mu * hat), g_n = (y_n + hat * y_r) * share;
    gamma[0] = gamma[1] = 0;
    gamma[2] = g_n;
    if (G != NULL)
        G[8] = share / R_n;
    if (mu == 0)
        return;
    // Slip: mu > 0 and y_r > 0 here, since y_r = 0 sticks or separates.
    double t[2] = {y[0] / y_r, y[1] / y_r}, turning = mu * g_n / y_r;
    gamma[0] = mu * g_n * t[0];
    gamma[1] = mu * g_n * t[1];
    if (G == NULL)
        return;
    for (int i = 0; i < 2; i++)
    {
        for (int j = 0; j < 2; j++)
            G[3 * i + j] = (t[i] * t[j] * (mu * hat * share - turning) + (i == j ? turning : 0)) / R_t;
        G[3 * i + 2] = G[6 + i] = mu * t[i] * share / R_n;
    }
}

void td_sap_contact_slope(const tdSapLaw *law, const double v_c[3], const double dv_c[3], const double before[3],
                          double *first, double *second)
{
    double mu = law->mu, k_t = 1 / law->R[0], k_n = 1 / law->R[2], hat = mu * law->R[0] * k_n;
    double y_0 = (law->v_hat[0] - v_c[0]) * k_t, y_1 = (law->v_hat[1] - v_c[1]) * k_t;
    double y_n = (law->v_hat[2] - v_c[2]) * k_n, y_r = sqrt(y_0 * y_0 + y_1 * y_1);
    double was = before[0] * dv_c[0] + before[1] * dv_c[1] + before[2] * dv_c[2];
    double across = dv_c[0] * dv_c[0] + dv_c[1] * dv_c[1];
    if (mu > 0 && y_r <= mu * y_n)
    {
        *first += was - (y_0 * dv_c[0] + y_1 * dv_c[1] + y_n * dv_c[2]);
        *second += across * k_t + dv_c[2] * dv_c[2] * k_n;
        return;
    }
    *first += was;
    if (y_n <= -hat * y_r)
        return;
    double share = 1 / (1 + mu * hat), g_n = (y_n + hat * y_r) * share;
    double along = mu > 0 ? (y_0 * dv_c[0] + y_1 * dv_c[1]) / y_r : 0, turning = mu > 0 ? mu * g_n / y_r : 0;
    *first -= g_n * (mu * along + dv_c[2]);
    *second += (mu * hat * share * along * along + turning * (across - along * along)) * k_t +
               share * k_n * dv_c[2] * (2 * mu * along + dv_c[2]);
}

// What resists rolling is limited as a vector, whatever the tangents are; about the normal it is a box.
static void project_turning(const tdSapLaw *law, const double y[3], double gamma[3], double *G)
{
    double length = hypot(y[0], y[1]), share = length > law->hi[0] ? law->hi[0] / length : 1;
    gamma[0] = share * y[0];
    gamma[1] = share * y[1];
    gamma[2] = fmin(fmax(y[2], law->lo[2]), law->hi[2]);
    if (G == NULL)
        return;
    memset(G, 0, 9 * sizeof *G);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            G[3 * i + j] = share * ((i == j) - (share < 1 ? y[i] * y[j] / (length * length) : 0)) / law->R[0];
    G[8] = gamma[2] == y[2] ? 1 / law->R[2] : 0;
}

double td_sap_project(const tdSapLaw *law, const double *v_c, double *gamma, double *G)
{
    double y[TD_SAP_ROWS], cost = 0;
    int n = law->rows;
    for (int r = 0; r < n; r++)
        y[r] = (law->v_hat[r] - v_c[r]) / law->R[r];
    if (law->kind == TD_SAP_CONTACT)
        project_contact(law, y, gamma, G);
    else if (law->kind == TD_SAP_TURNING)
        project_turning(law, y, gamma, G);
    else
    {
        bool box = law->kind == TD_SAP_BOX;
        if (G != NULL)
            memset(G, 0, (size_t)(n * n) * sizeof *G);
        for (int r = 0; r < n; r++)
        {
            gamma[r] = box ? fmin(fmax(y[r], law->lo[r]), law->hi[r]) : y[r];
            if (G != NULL && gamma[r] == y[r])
                G[r * n + r] = 1 / law->R[r];
        }
    }
    for (int r = 0; r < n; r++)
        cost += gamma[r] * law->R[r] * (y[r] - 0.5 * gamma[r]);
    return cost;
}

bool td_sap_law_valid(const tdSapLaw *law, const char **reason)
{
    bool contact = law->kind == TD_SAP_CONTACT, turning = law->kind == TD_SAP_TURNING;
    bool box = law->kind == TD_SAP_BOX || turning;
    *reason = NULL;
    if (!contact && !box && law->kind != TD_SAP_BILATERAL)
        *reason = "its kind is unknown";
    else if (law->rows < 1 || law->rows > TD_SAP_ROWS || ((contact || turning) && law->rows != 3))
        *reason = "it has the wrong number of rows: a contact and its turning have 3, others 1 to 3";
    else if (contact && !(law->mu >= 0 && law->mu < INFINITY))
        *reason = "its friction is not a number >= 0";
    else if ((contact || turning) && law->R[0] != law->R[1])
        *reason = "its two tangents have different regularizations";
    for (int r = 0; r < law->rows && *reason == NULL; r++)
        if (!(law->R[r] > 0 && law->R[r] < INFINITY))
            *reason =
                "its regularization R is not a number > 0; give it a stiffness > 0 and a row that moves something";
        else if (!isfinite(law->v_hat[r]))
            *reason = "its target velocity (v_hat) is not finite";
        else if (box && !(law->lo[r] <= law->hi[r] && law->lo[r] < INFINITY && law->hi[r] > -INFINITY))
            *reason = "its bounds do not satisfy lo <= hi";
    return *reason == NULL;
}
