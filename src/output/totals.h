// SPDX-License-Identifier: Apache-2.0
// What steps did, added up: over a whole run for its summary, between two frames for the columns of
// report.csv and of run.h5.
#pragma once
#include "base/status.h"

typedef struct tdTotals
{
    int64_t steps;
    int64_t newton_iterations, line_search_steps, load_steps, load_cuts;
    int64_t cg_iterations, factorizations;
    int64_t projected_elements;
    int inverted_elements;                 ///< in the last step
    int extended_elements;                 ///< in the last step
    double residual;                       ///< largest
    double constraint_error;               ///< largest miss of a driven displacement, relative
    int64_t inverse_steps;                 ///< with inverse control
    int64_t inverse_iterations;            ///< of its solver
    int64_t inverse_limits;                ///< steps in which it reached its bound on iterations
    int64_t out_of_reach;                  ///< steps in which targets could not be reached
    double inverse_residual;               ///< largest weighted distance from the targets
    double bound_violation;                ///< largest, relative, of limits that contradict each other
    int64_t rom_warnings;                  ///< steps in which a reduced model was not to be trusted
    double rom_indicator, rom_distance;    ///< largest
    double rom_local;                      ///< likewise
    double rom_error;                      ///< largest, as the indicator tells it
    int contacts, contacts_active;         ///< in the last step: points followed, points that bear a force
    int asleep;                            ///< bodies, in the last step
    int constraints;                       ///< in the last step: of the problem that contact makes of all bodies
    int64_t contact_iterations;            ///< of its solver
    int64_t contact_limits;                ///< steps in which it reached its bound on iterations
    double contact_residual;               ///< largest that it left
    double penetration, penetration_ratio; ///< deepest [m], and relative to the smaller body
    int64_t tunnelled;                     ///< pairs that may have passed through each other, counted in each step
    double attachment_error;               ///< largest, relative to the scene's size
    double work, dissipated;               ///< [J] done on all bodies; what of it was lost
    double energy_gain;                    ///< largest share of a body's energy that came from nothing
    double linearization_error;            ///< largest
    int64_t retries;                       ///< attempts at a step that were taken back
    int64_t doubtful_steps;                ///< that were accepted with a doubt
    unsigned doubts;                       ///< tdDoubt, of all steps
    double elastic_energy, kinetic_energy; ///< [J] at the end; filled by who wants them (td_state_energy)
    double stage_seconds[TD_STAGES];
} tdTotals;

void td_totals_add(tdTotals *totals, const tdReport *report);

#define TD_TOTALS_COLUMNS (42 + TD_STAGES)

/// The same as a row of numbers.
void td_totals_row(const tdTotals *totals, double row[TD_TOTALS_COLUMNS]);
/// Name and unit ("" if none) of a column.
const char *td_totals_name(int column);
const char *td_totals_unit(int column);
/// The column comes from the clock: it differs from run to run.
bool td_totals_timing(int column);
