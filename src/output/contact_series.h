// SPDX-License-Identifier: Apache-2.0
// Contact points in the HDF5 file of a run: /contacts, one row a point that bears a force, frame after frame.
//
//   count              frame: how many rows it has
//   body, link         row x 2: numbers of bodies (attribute names: theirs) and links (-1: soft; /bodies/NAME/links has
//                      their names) on sides a and b
//   position, normal, force, slip      row x 3
//   torque             row x 3, where something resists turning
//   distance           row
#pragma once
#include "core/state.h"
#include "store/h5.h"

#define TD_CONTACT_SERIES 9

typedef struct tdContactSeries
{
    int n;                            ///< datasets
    hid_t dataset[TD_CONTACT_SERIES]; ///< the first is by frame
    double *rows;                     ///< of one column, for the moment only
    int64_t room;
} tdContactSeries;

/// Makes or finds the datasets. False: HDF5 failed.
bool td_contact_series_open(tdContactSeries *series, hid_t file, const tdModel *model, bool create);
/// Frames that are complete.
hssize_t td_contact_series_frames(const tdContactSeries *series);
/// Keeps the first frames. False: HDF5 failed.
bool td_contact_series_keep(tdContactSeries *series, hsize_t frames);
/// Points of the last step.
bool td_contact_series_append(tdContactSeries *series, const tdState *state);
void td_contact_series_close(tdContactSeries *series);
