// SPDX-License-Identifier: Apache-2.0
// tendril view: a scene in the browser, or runs that have ended.
#include "view/view.h"

#include "scenes.h"
#include "simulate.h"
#include "view/recording.h"
#include "view_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: tendril view SCENE [--rom FILE] [--port P] [--host ADDRESS]\n"
    "       tendril view RUN [RUN] [-o FILE.html] [--port P] [--host ADDRESS]\n\n"
    "Simulates a scene in real time and shows it in a browser: prints an address to open, and serves it until\n"
    "Ctrl-C. Actuators, targets and the body itself can be moved there.\n\n"
    "RUN is the folder of a run ('tendril run --out', with VTU files): its frames are played back. Two runs are shown\n"
    "side by side, at the same time, from the same side and in the same colours, and their plots together.\n\n"
    "  --port P       port (default: 8321, or the next one that is free)\n"
    "  --host ADDR    address to listen on (default: 127.0.0.1, this machine only). With any other\n"
    "                 address, clients need the token at the end of the printed address\n"
    "  --token T      require this token always, 'auto' for a random one; for machines that others use too\n"
    "  --out DIR      let viewers record VTU series into new folders below it (default: they may not)\n"
    "  --clients N    largest number of browsers at a time (default: 128)\n"
    "  --speed X      simulated over real time (default: 1)\n"
    "  --paused       start paused, until somebody presses play\n"
    "  --keep         do not reload the scene when its file is saved\n"
    "  -o FILE.html   of runs: write the page instead of serving it; it opens in any browser, without a server\n"
    "  --scenes DIR   folder with scenes/ and robots/ to choose from (default: those shipped with the program)\n"
    "  --threads N    worker threads (default: all cores)\n" CLI_ROM_HELP(
        "   ") "  --json         print one JSON object with the address, then serve\n"
               "  --quiet        no messages\n\n"
               "From another machine: ssh -L 8321:localhost:8321 HOST, then open http://localhost:8321/ here.\n\n"
               "examples:\n"
               "  tendril view robots/parallel/coarse.yaml\n"
               "  tendril view out/full out/reduced\n";

static bool has_ended(void *user)
{
    (void)user;
    return sig_came();
}

static void print_address(const tdView *view, const char *scene)
{
    if (cli_json())
    {
        tdJson json = {0};
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "status", "serving");
        td_json_string(&json, "scene", scene);
        td_json_string(&json, "address", td_view_address(view));
        td_json_integer(&json, "port", td_view_port(view));
        td_json_string(&json, "token", td_view_token(view));
        td_json_close(&json, '}');
        cli_print_json(&json);
    }
    else
        printf("%s\n", td_view_address(view));
    fflush(stdout); // who started us may be waiting for it
    if (!cli_quiet())
        fputs("Ctrl-C ends it.\n", stderr);
}

static int serve(const tdViewSettings *settings, const char *scene)
{
    tdError error = {0};
    tdView *view = NULL;
    sigBefore before = sig_catch();
    tdStatus status = td_view_create(settings, &view, &error);
    if (status == TD_OK)
    {
        print_address(view, scene);
        status = td_view_run(view, &error);
        tdViewCounts counts = td_view_counts(view);
        if (status == TD_OK && !cli_quiet() && settings->page == NULL)
            fprintf(stderr, "%lld steps, %lld frames sent, %lld messages taken, %lld refused\n",
                    (long long)counts.steps, (long long)counts.frames, (long long)counts.messages,
                    (long long)counts.refused);
    }
    td_view_free(view);
    sig_release(&before);
    return status == TD_OK ? 0 : cli_fail(&error);
}

// What was given, before anything is read. -1 to go on, else the exit code.
static int check_options(tdViewSettings *settings, const char *port, const char *clients, const char *speed)
{
    long number = 0;
    if (port != NULL)
    {
        if (!cli_integer("--port", port, 0, &number))
            return TD_ERROR_USAGE;
        if (number > 65535)
            return cli_usage("--port takes a number up to 65535, not '%s'", port);
        settings->port = (int)number;
    }
    settings->tries = port == NULL ? 20 : 1;
    if (clients != NULL)
    {
        if (!cli_integer("--clients", clients, 1, &number))
            return TD_ERROR_USAGE;
        if (number > 10000)
            return cli_usage("--clients takes a number up to 10000, not '%s'", clients);
        settings->clients = (int)number;
    }
    if (speed != NULL && !cli_number("--speed", speed, &settings->sim.speed))
        return TD_ERROR_USAGE;
    if (!(settings->sim.speed >= 0.01 && settings->sim.speed <= 100))
        return cli_usage("--speed takes a number from 0.01 to 100, not '%s'", speed);
    if (settings->token != NULL && strcmp(settings->token, "auto") == 0)
        settings->token = "";
    else if (settings->token != NULL && settings->token[0] == '\0')
        return cli_usage("--token takes a text or 'auto'");
    return -1;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// What applies to a scene alone, and is not about where a page is served.
static const char *given_for_scene(const tdViewSettings *settings, const char *speed, const char *scenes)
{
    const char *rom = settings->sim.model.rom;
    return rom != NULL                ? "--rom"
           : *cli_set() != NULL       ? "--set"
           : settings->sim.out        ? "--out"
           : settings->sim.paused     ? "--paused"
           : settings->sim.keep_scene ? "--keep"
           : speed != NULL            ? "--speed"
           : scenes != NULL           ? "--scenes"
                                      : NULL;
}

static tdStatus make_page(const char *const runs[2], tdText *page, tdError *error)
{
    tdText recordings[2] = {0};
    const tdText *const given[2] = {&recordings[0], &recordings[1]};
    int n = runs[1] == NULL ? 1 : 2;
    tdStatus status = TD_OK;
    for (int i = 0; i < n && status == TD_OK; i++)
        status = runs_read(runs[i], &recordings[i], error);
    if (status == TD_OK)
        status = td_view_record_page(n, given, runs, page, error);
    free(recordings[0].data);
    free(recordings[1].data);
    return status;
}

// One run, or two side by side.
static int show_runs(tdViewSettings *settings, const char *const runs[2], const char *out)
{
    tdError error = {0};
    tdText page = {0};
    if (out != NULL)
    {
        size_t n = strlen(out);
        if (n < 6 || strcmp(out + n - 5, ".html") != 0)
            return cli_usage("-o %s: give a name that ends in .html", out);
    }
    int code = 0;
    if (make_page(runs, &page, &error) != TD_OK)
        code = cli_fail(&error);
    else if (out == NULL)
    {
        settings->page = &page;
        code = serve(settings, runs[0]);
    }
    else if (td_file_write(out, page.data, (size_t)page.size, &error) != TD_OK)
        code = cli_fail(&error);
    else if (!cli_quiet())
        fprintf(stderr, "%s: %.1f MiB; open it in a browser\n", out, (double)page.size / 1048576);
    free(page.data);
    return code;
}

int cmd_view(int argc, char **argv)
{
    const char *given[2] = {NULL, NULL}, *page = NULL, *port = NULL, *clients = NULL, *speed = NULL, *scenes = NULL,
               *threads = NULL;
    tdViewSettings settings = td_default_view();
    const cliOption options[] = {{"--port", &port, NULL},
                                 {"--host", &settings.host, NULL},
                                 {"--token", &settings.token, NULL},
                                 {"--out", &settings.sim.out, NULL},
                                 {"--clients", &clients, NULL},
                                 {"--speed", &speed, NULL},
                                 {"--paused", NULL, &settings.sim.paused},
                                 {"--keep", NULL, &settings.sim.keep_scene},
                                 {"-o", &page, NULL},
                                 {"--scenes", &scenes, NULL},
                                 {"--threads", &threads, NULL},
                                 CLI_ROM_OPTIONS};
    int code = cli_parse(argc, argv, help, options, sizeof options / sizeof options[0], given, 1, 2);
    const char *scene = given[0];
    if (code < 0)
        code = check_options(&settings, port, clients, speed);
    settings.sim.model = cli_settings();
    if (code < 0)
        code = sim_check_common(threads, settings.sim.out, &settings.sim.model);
    if (code >= 0)
        return code;
    if (is_folder(scene) || given[1] != NULL)
    {
        const char *wrong = given_for_scene(&settings, speed, scenes);
        for (int i = 0; i < 2 && given[i] != NULL; i++)
            if (!is_folder(given[i]))
                return cli_usage("%s is not the folder of a run; two runs are shown side by side, or one scene alone",
                                 given[i]);
        if (wrong != NULL)
            return cli_usage("%s is for a scene, and %s is the folder of a run", wrong, scene);
        settings.ended = has_ended;
        return show_runs(&settings, given, page);
    }
    if (page != NULL)
        return cli_usage("-o is for the folders of runs; a scene is shown live");
    tdViewEntry first = {0}, *entries = NULL;
    tdError error = {0};
    const char *slash = strrchr(scene, '/'), *rom = settings.sim.model.rom;
    int n = snprintf(first.path, sizeof first.path, "%s", scene);
    int m = snprintf(first.rom, sizeof first.rom, "%s", rom == NULL ? "" : rom);
    if ((size_t)n >= sizeof first.path || (size_t)m >= sizeof first.rom)
        return cli_usage("the path of the scene or of its reduced model is too long");
    snprintf(first.name, sizeof first.name, "%.100s%s", slash == NULL ? scene : slash + 1,
             rom == NULL ? "" : " (reduced)");
    settings.ended = has_ended;
    if (scenes_list(scenes, &first, &entries, &settings.sim.n_entries, &error) != TD_OK)
        return cli_fail(&error);
    settings.sim.entries = entries;
    code = serve(&settings, scene);
    free(entries);
    return code;
}
