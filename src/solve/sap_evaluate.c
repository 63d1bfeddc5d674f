// SPDX-License-Identifier: Apache-2.0
// The cost of the convex problem of contact and its gradient, block by block as they stand: for tests and reports.
// Products of vectors.
#include "solve/sap_plan.h"

#include <assert.h>

double td_sap_evaluate(const tdSapProblem *problem, double *gradient)
{
    double cost = 0;
    int64_t first = 0;
    for (int32_t b = 0; b < problem->n_blocks; first += problem->blocks[b++].n)
    {
        const tdSapBlock *block = &problem->blocks[b];
        assert(block->sparse == NULL);
        for (int32_t i = 0; i < block->n; i++)
        {
            double sum = 0;
            for (int32_t j = 0; j < block->n; j++)
            {
                double a = i >= j ? block->A[i + (int64_t)j * block->stride] : block->A[j + (int64_t)i * block->stride];
                sum += a * (block->v[j] - block->v_star[j]);
            }
            cost += 0.5 * sum * (block->v[i] - block->v_star[i]);
            if (gradient != NULL)
                gradient[first + i] = sum;
        }
    }
    for (int32_t c = 0; c < problem->n_constraints; c++)
    {
        const tdSapConstraint *constraint = &problem->constraints[c];
        double v_c[TD_SAP_ROWS] = {0}, gamma[TD_SAP_ROWS];
        for (int pass = 0; pass < 2; pass++)
        {
            if (pass == 1)
                cost += td_sap_project(&constraint->law, v_c, gamma, NULL);
            for (int s = 0; s < constraint->sides; s++)
            {
                const tdSapSide *side = &constraint->side[s];
                int64_t begin = 0;
                for (int32_t b = 0; b < side->block; b++)
                    begin += problem->blocks[b].n;
                for (int r = 0; r < constraint->law.rows; r++)
                    for (int32_t j = 0; j < side->count; j++)
                    {
                        int32_t column = side->columns == NULL ? j : side->columns[j];
                        double J = side->J[r * (int64_t)side->count + j];
                        if (pass == 0)
                            v_c[r] += J * problem->blocks[side->block].v[column];
                        else if (gradient != NULL)
                            gradient[begin + column] -= J * gamma[r];
                    }
            }
        }
    }
    return cost;
}

double td_sap_product(int32_t n, const double *a, const double *b)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}
