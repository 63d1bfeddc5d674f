// SPDX-License-Identifier: Apache-2.0
// Tables that commands have written, read back: of runs, of control, of sweeps.
//
// The first line has the titles, "tip_x [m]" being the column tip_x in metres; titles may be quoted. A cell that is
// empty or no finite number is NAN.
#pragma once
#include "base/memory.h"
#include "base/status.h"

typedef struct tableColumn
{
    const char *name;  ///< without its unit
    const char *title; ///< with it
    const char *unit;  ///< "" where it has none
    double *values;    ///< one a row
    bool words;        ///< no cell is a number and one is not empty
    int64_t odd;       ///< cells that are neither empty nor numbers, in a column of numbers
    int64_t odd_row;   ///< the first of them, counted from 1 below the titles
} tableColumn;

typedef struct Table
{
    const char *file;
    int n;
    int64_t rows;
    tableColumn *columns;
} Table;

#define RUN_TABLES 32

/// The tables of a run: of its folder, or one file.
typedef struct runTables
{
    const char *path;
    tdArena arena;
    int n;
    Table table[RUN_TABLES];
} runTables;

tdStatus tables_read(const char *path, runTables *out, tdError *error);
void tables_free(runTables *tables);

/// Warns of cells that are left out because they hold words among numbers.
void table_warn(const Table *table, const tableColumn *column);
/// Column by its name in a table; NULL if none.
const tableColumn *table_find(const Table *table, const char *name);
/// Column of time: `t`, `time`; NULL if none.
const tableColumn *table_time(const Table *table);
