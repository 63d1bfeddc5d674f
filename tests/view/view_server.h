// SPDX-License-Identifier: Apache-2.0
// A viewer in a thread of the test, with a small arm that has all there is to see.
#pragma once
#include "view_client.h"

#include "view/view.h"

#include <pthread.h>

static const char server_scene[] =
    "tendril: 1\n"
    "gravity: [0, 0, -1]\n"
    "time_step: 0.01\n"
    "duration: 1\n"
    "bodies:\n"
    "  - name: arm\n"
    "    mesh: {box: [[0, 0, 0], [0.4, 0.1, 0.1]], cells: [4, 1, 1]}\n"
    "    material: {law: neo_hookean, young: 2e5, poisson: 0.3, density: 1000}\n"
    "    damping: {mass: 5, stiffness: 0.01}\n"
    "    fixed: [{group: xmin}]\n"
    "actuators:\n"
    "  - {name: pull, type: cable, body: arm, path: [[0.4, 0.05, 0.1], [0.2, 0.05, 0.1]], pull_point: [-0.1, 0.05, "
    "0.1],\n"
    "     drive: force, range: [0, 100]}\n"
    "  - {name: push, type: force, body: arm, point: [0.4, 0.05, 0.05], direction: [0, 0, 1], drive: force,\n"
    "     range: [-1e12, 1e12]}\n"
    "effectors: [{name: tip, body: arm, point: [0.4, 0.05, 0.05], axes: z}]\n"
    "probes: [{name: corner, body: arm, point: [0.4, 0.1, 0.1]}]\n";

typedef struct server
{
    char folder[64];
    tdViewEntry entries[2];
    tdView *view;
    pthread_t thread;
    int port;
} server;

static inline void server_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline void *server_run(void *context)
{
    tdError error = {0};
    assert_ok(td_view_run(((server *)context)->view, &error), error);
    return NULL;
}

static inline tdViewSettings server_settings(const server *s)
{
    tdViewSettings settings = td_default_view();
    settings.sim.model.threads = 1;
    settings.sim.entries = s->entries;
    settings.sim.n_entries = 2;
    settings.port = 0;
    // Nothing here ends because the machine is slow, unless a test is about that.
    settings.request_seconds = settings.silent_seconds = 3600;
    settings.sim.hold = 3600;
    return settings;
}

static inline void server_files(server *s)
{
    char folder[] = "/tmp/tendril_view_XXXXXX";
    assert_non_null(mkdtemp(folder));
    *s = (server){0};
    memcpy(s->folder, folder, sizeof folder);
    for (int i = 0; i < 2; i++)
    {
        snprintf(s->entries[i].name, sizeof s->entries[i].name, i == 0 ? "arm" : "robots/other");
        snprintf(s->entries[i].path, sizeof s->entries[i].path, "%s/%d.yaml", folder, i);
        server_file(s->entries[i].path, server_scene);
    }
}

static inline void server_begin(server *s, const tdViewSettings *settings)
{
    tdError error = {0};
    assert_ok(td_view_create(settings, &s->view, &error), error);
    s->port = td_view_port(s->view);
    assert_int_equal(pthread_create(&s->thread, NULL, server_run, s), 0);
}

static inline void server_start(server *s)
{
    server_files(s);
    tdViewSettings settings = server_settings(s);
    server_begin(s, &settings);
}

static inline void server_stop(server *s)
{
    td_view_stop(s->view);
    pthread_join(s->thread, NULL);
    td_view_free(s->view);
    s->view = NULL;
}

static inline void server_clean(server *s)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", s->folder);
    assert_int_equal(system(command), 0);
}
