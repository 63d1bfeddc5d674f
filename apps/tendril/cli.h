// SPDX-License-Identifier: Apache-2.0
// What the subcommands share: options, output streams, progress.
//
// Results go to stdout, everything else to stderr; --json prints exactly one JSON object on stdout.
// A subcommand returns the exit code: 0 done, else the value of a tdStatus.
#pragma once
#include "output/json.h"
#include "tendril/tendril.h"

#define CLI_WORDS 64

/// What was given of an option that may stand several times: its `value` is &words.last, and cli_repeats() says so
/// before cli_parse().
typedef struct cliWords
{
    const char *last;
    int n;
    const char *word[CLI_WORDS];
} cliWords;

void cli_repeats(cliWords *words);

/// One option of a subcommand. `value` NULL marks a switch (sets *flag); else *value gets the next argument.
typedef struct cliOption
{
    const char *name;   ///< "--steps" or "-o"
    const char **value; ///< where the argument goes, or NULL
    bool *flag;         ///< where a switch goes, or NULL
} cliOption;

/// Sorts argv (without the program's and the command's name) into options and up to `max` positional
/// arguments. --help prints `help` and --json, --quiet are known to all. Returns -1 to go on, else the
/// exit code to end with. Unknown options suggest the nearest known one.
int cli_parse(int argc, char **argv, const char *help, const cliOption *options, int n_options, const char **positional,
              int min, int max);

/// --set PATH=VALUE and --package NAME=DIR, for commands that load a scene; "-" is the scene on standard input.
#define CLI_SCENE_OPTIONS                                                                                              \
    {"--set", cli_set(), NULL},                                                                                        \
    {                                                                                                                  \
        "--package", cli_package(), NULL                                                                               \
    }
#define CLI_SCENE_HELP                                                                                                 \
    "  --set PATH=VALUE    change the scene, e.g. --set 'bodies[0].material.young=500 kPa' (may be repeated)\n"        \
    "  --package NAME=DIR  folder that package://NAME/... stands for in robot files (may be repeated; see also "       \
    "ROS_PACKAGE_PATH)\n"

/// --rom FILE and how it is used, --set and --package, for commands that load a scene: to be listed among the options;
/// cli_settings() has what was given. Their lines of the help:
#define CLI_ROM_OPTIONS                                                                                                \
    {"--rom", cli_rom(), NULL}, {"--rom-exact", NULL, cli_rom_exact()}, {"--rom-whole", NULL, cli_rom_whole()},        \
        {"--full-order", NULL, cli_full_order()}, CLI_SCENE_OPTIONS
#define CLI_ROM_HELP(space)                                                                                            \
    "  --rom FILE " space "use the reduced model of a body, made by 'tendril reduce'\n"                                \
    "  --rom-whole" space "with it: integrate over all elements, not over the reduced domain\n"                        \
    "  --rom-exact" space "and: double precision, even where single precision was found to be good enough\n"           \
    "  --full-order  "                                                                                                 \
    "ignore the reduced models that the scene names (bodies[].rom)\n" CLI_SCENE_HELP
const char **cli_rom(void);
const char **cli_package(void); ///< NAME=DIR; cli_parse() keeps all that are given
const char **cli_set(void);     ///< PATH=VALUE; the same
/// --force (folder.h)
bool *cli_force(void);
/// What the user typed, to be shown in messages, with `more` behind it; quoted so that a shell takes it. False: it
/// does not fit.
void cli_remember(int argc, char **argv);
bool cli_command_line(const char *more, char *out, size_t size);
bool *cli_rom_whole(void);
bool *cli_rom_exact(void);
bool *cli_full_order(void);

/// Text of a positive whole number or a number; on failure prints why and returns false.
bool cli_integer(const char *option, const char *text, long least, long *out);
bool cli_number(const char *option, const char *text, double *out);

/// Whether --report names a page; says so where it does not. NULL is fine.
bool cli_check_report(const char *path);

/// Prints "tendril: file:line: field: message" on stderr and returns the exit code for the error. With --json
/// the error is the one object on stdout, unless one was printed before.
int cli_fail(const tdError *error);
/// A usage error of a subcommand.
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool cli_json(void);  ///< --json was given
bool cli_quiet(void); ///< --quiet was given
/// Prints the object on stdout and frees it.
void cli_print_json(tdJson *json);

/// Adds "error": {kind, file, line, field, message} to an object.
void cli_json_error(tdJson *json, const tdError *error);
/// Exit code of the program: `code`, or that of a failed write when stdout did not take the result (a full disk).
int cli_end(int code);

/// Writes a text as folder/name.
tdStatus cli_write(const char *folder, const char *name, const tdText *text, tdError *error);

/// Settings whose log goes to stderr, with the reduced model that was asked for.
tdSettings cli_settings(void);

/// Progress: a bar on a terminal, a line each tenth otherwise; nothing with --quiet.
void cli_progress(const char *what, int64_t done, int64_t total);
/// The same as the `progress` of a study; false after an interruption.
bool cli_study(void *unused, const char *phase, int64_t done, int64_t total);

/// Path of something that came with the program, e.g. "robots/parallel/coarse.yaml": beside the build folder in the
/// source tree, or where the installation puts it. False: it is not there.
bool cli_shipped(const char *name, char *out, size_t size);

int cmd_run(int argc, char **argv);
int cmd_reduce(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_control(int argc, char **argv);
int cmd_haptic(int argc, char **argv);
int cmd_workspace(int argc, char **argv);
int cmd_estimate(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_info_rom(const char *path, const char *picture); ///< of a reduced model; picture may be NULL
int cmd_convert(int argc, char **argv);
int cmd_mesh(int argc, char **argv);
int cmd_material(int argc, char **argv);
int cmd_render(int argc, char **argv);
int cmd_modes(int argc, char **argv);
int cmd_batch(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_demo(int argc, char **argv);
int cmd_new(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_export(int argc, char **argv);
