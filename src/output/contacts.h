// SPDX-License-Identifier: Apache-2.0
// Contact points for tables: a row for each point that bears a force, and one for each pair of links. Bodies and links
// have their names; a soft body has no link.
#pragma once
#include "core/state.h"
#include "output/csv.h"

void td_contact_titles(tdText *header);
/// The points of the last step.
tdStatus td_contact_table(tdCsv *table, const tdState *state, tdError *error);

/// Sums of pairs of links: a row for each pair that bears a force.
void td_contact_pair_titles(tdText *header);
tdStatus td_contact_pair_table(tdCsv *table, const tdState *state, tdError *error);
