// SPDX-License-Identifier: Apache-2.0
// tendril view: a scene in the browser.
#include "view/view.h"

#include "scenes.h"
#include "simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: tendril view SCENE [--rom FILE] [--port P] [--host ADDRESS]\n\n"
    "Simulates a scene in real time and shows it in a browser: prints an address to open, and serves it until\n"
    "Ctrl-C. Actuators, targets and the body itself can be moved there.\n\n"
    "  --port P       port (default: 8321, or the next one that is free)\n"
    "  --host ADDR    address to listen on (default: 127.0.0.1, this machine alone). Whoever can reach another\n"
    "                 one needs the token that the printed address ends with\n"
    "  --token T      ask for this token everywhere, 'auto' for a random one; for machines that others use too\n"
    "  --out DIR      let viewers record VTU series into new folders below it (default: they may not)\n"
    "  --clients N    most browsers at a time (default: 128)\n"
    "  --speed X      simulated over real time (default: 1)\n"
    "  --paused       wait for somebody to press play\n"
    "  --keep         keep the scene as it is; without it a scene whose file is saved is loaded again\n"
    "  --scenes DIR   folder with scenes/ and robots/ to choose from (default: those that came with the program)\n"
    "  --threads N    worker threads (default: all cores)\n" CLI_ROM_HELP(
        "   ") "  --json         print one JSON object with the address, then serve\n"
               "  --quiet        no messages\n\n"
               "From another machine: ssh -L 8321:localhost:8321 HOST, then open http://localhost:8321/ here.\n\n"
               "example: tendril view robots/parallel/coarse.yaml\n";

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
        if (status == TD_OK && !cli_quiet())
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

int cmd_view(int argc, char **argv)
{
    const char *scene = NULL, *port = NULL, *clients = NULL, *speed = NULL, *scenes = NULL, *threads = NULL;
    tdViewSettings settings = td_default_view();
    const cliOption options[] = {{"--port", &port, NULL},
                                 {"--host", &settings.host, NULL},
                                 {"--token", &settings.token, NULL},
                                 {"--out", &settings.sim.out, NULL},
                                 {"--clients", &clients, NULL},
                                 {"--speed", &speed, NULL},
                                 {"--paused", NULL, &settings.sim.paused},
                                 {"--keep", NULL, &settings.sim.keep_scene},
                                 {"--scenes", &scenes, NULL},
                                 {"--threads", &threads, NULL},
                                 CLI_ROM_OPTIONS};
    int code = cli_parse(argc, argv, help, options, sizeof options / sizeof options[0], &scene, 1, 1);
    if (code < 0)
        code = check_options(&settings, port, clients, speed);
    settings.sim.model = cli_settings();
    if (code < 0)
        code = sim_check_common(threads, settings.sim.out, &settings.sim.model);
    if (code >= 0)
        return code;
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
