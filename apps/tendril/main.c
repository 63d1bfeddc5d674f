// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

#include "base/suggest.h"
#include "signals.h"

#include <hdf5.h>
#include <stdio.h>
#include <string.h>

static const struct
{
    const char *name;
    int (*run)(int argc, char **argv);
    const char *does;
} commands[] = {
    {"new", cmd_new, "write a starting point for a scene of your own"},
    {"run", cmd_run, "simulate a scene"},
    {"sweep", cmd_sweep, "run a scene many times with some of its keys varied"},
    {"reduce", cmd_reduce, "make a reduced model of a body, for real time"},
    {"compare", cmd_compare, "compare reduced models with full order: errors, speed"},
    {"control", cmd_control, "find the actuation with which effectors follow goals"},
    {"haptic", cmd_haptic, "feel a scene through a haptic device, at 1 kHz"},
    {"workspace", cmd_workspace, "find what a robot can reach"},
    {"estimate", cmd_estimate, "find unknown loads from measured points"},
    {"check", cmd_check, "validate a scene without running it"},
    {"info", cmd_info, "examine a mesh or another file"},
    {"convert", cmd_convert, "convert a mesh from one format to another"},
    {"mesh", cmd_mesh, "turn geometry (geo, step, stl, obj) into a tetrahedral mesh"},
    {"material", cmd_material, "fit material laws to measurements, draw those of a scene"},
    {"plot", cmd_plot, "draw columns of runs over time, compare two runs"},
    {"export", cmd_export, "turn a run into a file for NumPy or MATLAB"},
    {"render", cmd_render, "draw a scene or a VTU file as a PNG picture"},
    {"view", cmd_view, "show a running scene in the browser"},
    {"modes", cmd_modes, "find vibration modes of a body"},
    {"batch", cmd_batch, "step many robots of a scene at once, on the CPU or a GPU"},
    {"bench", cmd_bench, "measure the speed of this machine"},
    {"demo", cmd_demo, "see it work: a robot reduced, compared and controlled, with a report"},
};
enum
{
    N_COMMANDS = sizeof commands / sizeof commands[0]
};

static void print_help(FILE *out)
{
    fprintf(out, "tendril %s: real-time simulation of soft robots and deformable bodies\n\n", td_version());
    fputs("usage: tendril COMMAND ...\n\n", out);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-9s %s\n", commands[i].name, commands[i].does);
    fputs("\n'tendril help COMMAND' explains a command. All take --json (one JSON object on stdout)\n"
          "and --quiet. Exit codes: 0 done, 2 usage, 3 bad input, 4 numerical failure, 5 out of memory,\n"
          "6 a file could not be written, 130 interrupted.\n",
          out);
}

int main(int argc, char **argv)
{
    sig_ignore_writing();
    // All files are closed where they are written. A file on a full disk cannot be, and HDF5 crashes when it tries
    // again at exit.
    H5dont_atexit();
    cli_remember(argc, argv);
    if (argc < 2)
    {
        print_help(stderr);
        return TD_ERROR_USAGE;
    }
    const char *name = argv[1];
    bool help = strcmp(name, "help") == 0;
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (help && argc < 3))
    {
        print_help(stdout);
        return 0;
    }
    char *asked[] = {"--help"};
    if (help)
        name = argv[2];
    if (strcmp(name, "--version") == 0)
    {
        printf("tendril %s\n", td_version());
        return 0;
    }
    const char *names[N_COMMANDS];
    for (int i = 0; i < N_COMMANDS; i++)
    {
        if (strcmp(commands[i].name, name) == 0)
            return cli_end(help ? commands[i].run(1, asked) : commands[i].run(argc - 2, argv + 2));
        names[i] = commands[i].name;
    }
    const char *nearest = td_suggest(name, names, N_COMMANDS);
    if (nearest != NULL)
        return cli_usage("unknown command '%s'; did you mean '%s'?", name, nearest);
    return cli_usage("unknown command '%s'; 'tendril --help' lists them", name);
}
