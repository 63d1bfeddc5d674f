// SPDX-License-Identifier: Apache-2.0
// The files of a run. Into a folder go, as asked for,
//
//   BODY_000123.vtu   a body after step 123: Points are deformed positions [m]; by point displacement [m],
//                     velocity [m/s], reaction [N] (of the support, zero elsewhere); by cell von_mises [Pa],
//                     strain_energy_density [J/m^3] (a cell that is no element has those of the element at it)
//   run.pvd           the series of all VTU files with their times, for ParaView
//   probes.csv        positions of the probes, a row a frame
//   reactions.csv     total force of the supports on each body, and of each named prescribed motion (BODY.NAME)
//   report.csv        iterations, residual and time by stage since the frame before, energies
//   actuators.csv, effectors.csv, cables.pvd, cavities.pvd   what acts and what is controlled (output/actuation.h)
//   run.h5            all of it in one file (output/trajectory.h)
//
// Whatever happens to a run, the files hold all frames up to the last that was finished: VTU and PVD
// appear by atomic rename, tables are flushed by row.
#pragma once
#include "output/totals.h"

typedef struct tdOutput tdOutput;

/// Start from td_default_output().
typedef struct tdOutputSettings
{
    bool vtu, csv, hdf5;
    bool compressed; ///< zlib in VTU and HDF5
    int64_t keep;    ///< -1: a new run; else go on in a folder, keeping its frames up to this step
} tdOutputSettings;

/// What the scene asks for.
tdOutputSettings td_default_output(const tdModel *model);

/// Makes the folder if need be.
tdStatus td_output_open(const tdModel *model, const char *folder, const tdOutputSettings *settings, tdOutput **out,
                        tdError *error);
/// To be called after every step, so that a frame can report on all steps since the one before.
void td_output_count(tdOutput *output, const tdReport *report);
/// Writes a frame. A step that was just written, or that the folder has from the run that goes on there, is not
/// written again.
tdStatus td_output_frame(tdOutput *output, tdState *state, tdError *error);
/// All that was written is in the files from here on: before a checkpoint, which promises the frames up to it. A NULL
/// is fine.
tdStatus td_output_flush(tdOutput *output, tdError *error);
int64_t td_output_frames(const tdOutput *output); ///< written by this run
int64_t td_output_last(const tdOutput *output);   ///< step of the last frame, of an earlier run too; -1: none
/// Finishes and releases. A NULL is fine.
tdStatus td_output_close(tdOutput *output, tdError *error);
