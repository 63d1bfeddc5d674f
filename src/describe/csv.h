// SPDX-License-Identifier: Apache-2.0
// Tables of values over time as text: the part that motions (gaps allowed) and strict paths share. The form of the
// text is described in describe/path.h.
#pragma once
#include "describe/path.h"

#define TD_CSV_MOST_NAMES  1000
#define TD_CSV_MOST_VALUES ((int64_t)8 << 20) // times x names
#define TD_CSV_MOST_BYTES  ((size_t)64 << 20)

#define TD_CSV_NAME 101 // bytes of a name, with the zero behind it

/// What becomes of a column of a table that a command has written.
typedef enum tdCsvOwn
{
    TD_CSV_SKIP,  ///< nothing
    TD_CSV_TAKE,  ///< it is read, under the name in `out`
    TD_CSV_REFUSE ///< an error, for the reason in `why`
} tdCsvOwn;

typedef struct tdCsvFormat
{
    const tdUnits *units; ///< of bare numbers behind the time
    tdPathColumn *column; ///< NULL: any name, plain numbers
    void *context;        ///< of `column`
    const char *what;     ///< what a column stands for, in messages: "effector"
    bool gaps;            ///< an empty cell is NAN, but no column may be empty as a whole
    bool timeless;        ///< no column t: rows stand for themselves, and the line of each is in `times`
    /// Tables that commands write begin with 'step,time [s]' and have more columns than are wanted here: which to take.
    /// Those that `column` does not know are then skipped. NULL: such a table is an error.
    tdCsvOwn (*own)(void *context, const char *name, char out[TD_CSV_NAME], char why[TD_UNIT_WHY]);
} tdCsvFormat;

/// Text -> times [s] and values in SI units. text[length] must be a zero byte.
tdStatus td_csv_parse(const char *text, size_t length, const char *name, const tdCsvFormat *format, tdArena *arena,
                      tdSceneMotion *out, tdError *error);

/// Room for `rows` times and their values.
tdStatus td_csv_take(tdArena *arena, tdSceneMotion *motion, int64_t rows, tdError *error);

/// Reads a file that may be named by anyone: only a plain one of bounded size is opened, no device, no pipe. Where it
/// is not one, returns TD_ERROR_INPUT with the reason in `why`. *text is released by free().
tdStatus td_csv_read_file(const char *path, char **text, size_t *size, char *why, size_t why_size, tdError *error);
