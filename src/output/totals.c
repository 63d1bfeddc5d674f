// SPDX-License-Identifier: Apache-2.0
#include "output/totals.h"

#include <math.h>
#include <string.h>

#define COUNTS (TD_TOTALS_COLUMNS - TD_STAGES)

static const char *const names[COUNTS] = {
    "steps",
    "newton_iterations",
    "line_search_steps",
    "load_steps",
    "load_cuts",
    "cg_iterations",
    "factorizations",
    "projected_elements",
    "inverted_elements",
    "extended_elements",
    "residual",
    "constraint_error",
    "inverse_steps",
    "inverse_iterations",
    "inverse_limits",
    "out_of_reach",
    "inverse_residual",
    "bound_violation",
    "rom_warnings",
    "rom_indicator",
    "rom_distance",
    "rom_local",
    "rom_error",
    "contacts",
    "contacts_active",
    "asleep",
    "constraints",
    "contact_iterations",
    "contact_limits",
    "contact_residual",
    "penetration",
    "penetration_ratio",
    "tunnelled",
    "attachment_error",
    "energy_gain",
    "linearization_error",
    "retries",
    "doubtful_steps",
    "work",
    "dissipated",
    "elastic_energy",
    "kinetic_energy",
};

void td_totals_add(tdTotals *totals, const tdReport *report)
{
    totals->steps++;
    totals->newton_iterations += report->newton_iterations;
    totals->line_search_steps += report->line_search_steps;
    totals->load_steps += report->load_steps;
    totals->load_cuts += report->load_cuts;
    totals->cg_iterations += report->cg_iterations;
    totals->factorizations += report->factorizations;
    totals->projected_elements += report->projected_elements;
    totals->inverted_elements = report->inverted_elements;
    totals->extended_elements = report->extended_elements;
    totals->residual = fmax(totals->residual, report->residual);
    totals->constraint_error = fmax(totals->constraint_error, report->constraint_error);
    if (report->inverse)
    {
        totals->inverse_steps++;
        totals->inverse_iterations += report->inverse_iterations;
        totals->inverse_limits += report->inverse_limit;
        totals->out_of_reach += report->out_of_reach;
        totals->inverse_residual = fmax(totals->inverse_residual, report->inverse_residual);
        totals->bound_violation = fmax(totals->bound_violation, report->bound_violation);
    }
    totals->rom_warnings += report->rom_warning;
    totals->rom_indicator = fmax(totals->rom_indicator, report->rom_indicator);
    totals->rom_distance = fmax(totals->rom_distance, report->rom_distance);
    totals->rom_local = fmax(totals->rom_local, report->rom_local);
    totals->rom_error = fmax(totals->rom_error, report->rom_error);
    totals->contacts = report->contacts;
    totals->contacts_active = report->contacts_active;
    totals->asleep = report->asleep;
    totals->constraints = report->constraints;
    totals->contact_iterations += report->contact_iterations;
    totals->contact_limits += report->contact_limit;
    totals->penetration = fmax(totals->penetration, report->penetration);
    totals->penetration_ratio = fmax(totals->penetration_ratio, report->penetration_ratio);
    totals->tunnelled += report->tunnelled;
    totals->attachment_error = fmax(totals->attachment_error, report->attachment_error);
    totals->contact_residual = fmax(totals->contact_residual, report->contact_residual);
    totals->energy_gain = fmax(totals->energy_gain, report->energy_gain);
    totals->linearization_error = fmax(totals->linearization_error, report->linearization_error);
    totals->retries += report->retries;
    totals->doubtful_steps += report->doubts != 0;
    totals->doubts |= report->doubts;
    totals->work += report->work;
    totals->dissipated += report->dissipated;
    for (int i = 0; i < TD_STAGES; i++)
        totals->stage_seconds[i] += report->stage_seconds[i];
}

void td_totals_row(const tdTotals *totals, double row[TD_TOTALS_COLUMNS])
{
    const double counts[COUNTS] = {
        (double)totals->steps,
        (double)totals->newton_iterations,
        (double)totals->line_search_steps,
        (double)totals->load_steps,
        (double)totals->load_cuts,
        (double)totals->cg_iterations,
        (double)totals->factorizations,
        (double)totals->projected_elements,
        (double)totals->inverted_elements,
        (double)totals->extended_elements,
        totals->residual,
        totals->constraint_error,
        (double)totals->inverse_steps,
        (double)totals->inverse_iterations,
        (double)totals->inverse_limits,
        (double)totals->out_of_reach,
        totals->inverse_residual,
        totals->bound_violation,
        (double)totals->rom_warnings,
        totals->rom_indicator,
        totals->rom_distance,
        totals->rom_local,
        totals->rom_error,
        (double)totals->contacts,
        (double)totals->contacts_active,
        (double)totals->asleep,
        (double)totals->constraints,
        (double)totals->contact_iterations,
        (double)totals->contact_limits,
        totals->contact_residual,
        totals->penetration,
        totals->penetration_ratio,
        (double)totals->tunnelled,
        totals->attachment_error,
        totals->energy_gain,
        totals->linearization_error,
        (double)totals->retries,
        (double)totals->doubtful_steps,
        totals->work,
        totals->dissipated,
        totals->elastic_energy,
        totals->kinetic_energy,
    };
    for (int i = 0; i < COUNTS; i++)
        row[i] = counts[i];
    for (int i = 0; i < TD_STAGES; i++)
        row[COUNTS + i] = totals->stage_seconds[i];
}

const char *td_totals_name(int column)
{
    return column < COUNTS ? names[column] : td_stage_name((tdStage)(column - COUNTS));
}

const char *td_totals_unit(int column)
{
    if (column >= COUNTS)
        return "s";
    if (strcmp(names[column], "penetration") == 0)
        return "m";
    return column >= COUNTS - 4 ? "J" : "";
}

bool td_totals_timing(int column)
{
    return column >= COUNTS;
}
