// SPDX-License-Identifier: Apache-2.0
// The viewer's server, over its sockets: what clients see and do, and what they cannot do to it.
#include "reduced.h"
#include "view_server.h"

#include "view/describe.h"

// ---------------------------------------------------------------- what clients see

static void describes_and_shows(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    uint32_t n, width, vertices, tris;
    server_start(&s);
    client_open(&c, s.port);
    client_await(&c, "hello", "\"protocol\": 1");
    assert_non_null(strstr(c.message, "\"scenes\": [\"arm\",\"robots/other\"]"));
    assert_non_null(strstr(c.message, "\"kind\": \"full\""));
    assert_non_null(strstr(c.message, "\"rest\": [0.40"));
    // Displacements of probes count from where they are at rest, not from what a client happens to see first.
    double rest[3] = {0};
    const char *probe = strstr(c.message, "\"probes\": [{ \"name\": \"corner\"");
    assert_non_null(probe);
    probe = strstr(probe, "\"rest\": [");
    assert_non_null(probe);
    assert_int_equal(sscanf(probe, "\"rest\": [%lf, %lf, %lf]", &rest[0], &rest[1], &rest[2]), 3);
    for (int k = 0; k < 3; k++)
        assert_near(rest[k], k == 0 ? 0.4 : 0.1, 1e-12); // sums of a few rounded weights times nodes
    client_await_binary(&c, TD_VIEW_TOPOLOGY);
    const uint32_t *corner = client_section(&c, TD_VIEW_TRIANGLES, 0, &tris, &width);
    assert_non_null(corner);
    assert_int_equal(width, 3);
    uint32_t most = 0;
    for (uint32_t i = 0; i < 3 * tris; i++)
        most = corner[i] > most ? corner[i] : most;
    assert_non_null(client_section(&c, TD_VIEW_REST, 0, &vertices, &width));
    assert_int_equal(vertices, most + 1);
    assert_int_equal(vertices, 5 * 4); // all nodes of a box of 4 x 1 x 1 cells
    assert_non_null(client_section(&c, TD_VIEW_FIXED, 0, &n, &width));
    assert_int_equal(n, 4);
    assert_null(client_section(&c, TD_VIEW_MODES, 0, &n, &width));
    uint64_t last = 0;
    for (int i = 0; i < 20; i++)
    {
        uint64_t step;
        client_await_binary(&c, TD_VIEW_FRAME);
        assert_int_equal(client_word(&c, 4), 1);
        memcpy(&step, c.message + 8, sizeof step);
        assert_true(step >= last && (i == 0 || step > last));
        last = step;
        const float *x = client_section(&c, TD_VIEW_POSITIONS, 0, &n, &width);
        assert_int_equal(n, vertices);
        for (uint32_t k = 0; k < 3 * n; k++)
            assert_true(isfinite(x[k]) && fabsf(x[k]) < 0.5f);
        assert_non_null(client_section(&c, TD_VIEW_CABLE, 0, &n, &width));
        assert_int_equal(n, 3);
        assert_non_null(client_section(&c, TD_VIEW_ACTUATORS, 0, &n, &width));
        assert_int_equal(n, 2);
    }
    client_await(&c, "status", "\"playing\": true");
    assert_near(client_number(&c, "clients"), 1, 0);
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

static void plays_pauses_steps_resets(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    server_start(&s);
    client_open(&c, s.port);
    client_await_binary(&c, TD_VIEW_FRAME);
    client_say(&c, "{\"type\": \"pause\"}");
    client_await(&c, "status", "\"playing\": false");
    double step = client_number(&c, "step");
    client_say(&c, "{\"type\": \"step\", \"count\": 3}");
    char want[64];
    snprintf(want, sizeof want, "\"step\": %.0f,", step + 3);
    client_await(&c, "status", want);
    assert_non_null(strstr(c.message, "\"playing\": false"));
    // Quick clicks add up.
    for (int i = 0; i < 12; i++)
        client_say(&c, "{\"type\": \"step\"}");
    snprintf(want, sizeof want, "\"step\": %.0f,", step + 15);
    client_await(&c, "status", want);
    client_say(&c, "{\"type\": \"reset\"}");
    client_await(&c, "status", "\"resets\": 1");
    assert_near(client_number(&c, "step"), 0, 0);
    assert_near(client_number(&c, "time"), 0, 0);
    client_say(&c, "{\"type\": \"speed\", \"value\": 4}");
    client_say(&c, "{\"type\": \"play\"}");
    client_await(&c, "status", "\"speed\": 4");
    client_await(&c, "status", "\"playing\": true");
    client_say(&c, "{\"type\": \"ping\", \"id\": 17}");
    client_await(&c, "pong", "\"id\": 17");
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

// A step is not taken before it is due: at this speed the next one in an hour.
static void speed_keeps_its_pace(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    server_files(&s);
    tdViewSettings settings = server_settings(&s);
    settings.sim.speed = 0.01 / 3600; // the time step over an hour
    server_begin(&s, &settings);
    client_open(&c, s.port);
    client_await(&c, "hello", "\"messages_a_second\": 200");
    for (int i = 0; i < 20; i++)
        client_await(&c, "status", "\"playing\": true");
    assert_true(client_number(&c, "step") <= 1);
    client_say(&c, "{\"type\": \"speed\", \"value\": 1}");
    UNTIL (client_number(&c, "step") > 10)
        client_await(&c, "status", "\"step\"");
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

// The z of the probe that a frame shows.
static double probe_z(viewClient *c)
{
    uint32_t n, width;
    client_await_binary(c, TD_VIEW_FRAME);
    const float *x = client_section(c, TD_VIEW_PROBES, 0, &n, &width);
    assert_int_equal(n * width, 3);
    return x[2];
}

static void actuators_and_targets(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    server_files(&s);
    tdViewSettings settings = server_settings(&s);
    settings.sim.speed = 10;
    server_begin(&s, &settings);
    client_open(&c, s.port);
    double rest = probe_z(&c), highest = rest;
    client_say(&c, "{\"type\": \"actuator\", \"name\": \"pull\", \"value\": 20}");
    client_await(&c, "status", "\"mode\": \"manual\"");
    UNTIL (highest > rest + 0.005) // the cable along the top lifts the tip
        highest = fmax(highest, probe_z(&c));
    client_say(&c, "{\"type\": \"target\", \"name\": \"tip\", \"value\": [0.39, 0.05, 0.07]}");
    client_await(&c, "status", "\"mode\": \"inverse\"");
    assert_null(strstr(c.message, "\"mode\": \"manual\""));
    double error = 1;
    UNTIL (error <= 1e-5)
    {
        uint32_t n, width;
        client_await_binary(&c, TD_VIEW_FRAME);
        const float *e = client_section(&c, TD_VIEW_EFFECTORS, 0, &n, &width);
        assert_int_equal(n, 1);
        assert_int_equal(width, 7);
        error = fabs(e[2] - 0.07); // only z counts
    }
    // Without a target the actuators hold what they have.
    client_say(&c, "{\"type\": \"target\", \"name\": \"tip\", \"value\": null}");
    client_await(&c, "status", "\"mode\": \"manual\"");
    assert_non_null(strstr(c.message, "\"target\": null"));
    client_say(&c, "{\"type\": \"target\", \"name\": \"tip\", \"value\": [1, 2]}");
    client_await(&c, "refused", "3 numbers");
    client_say(&c, "{\"type\": \"target\", \"name\": \"nose\", \"value\": [1, 2, 3]}");
    client_await(&c, "refused", "no effector");
    client_say(&c, "{\"type\": \"actuator\", \"name\": \"nose\", \"value\": 1}");
    client_await(&c, "refused", "no actuator");
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

static void springs_pull(void **unused)
{
    (void)unused;
    server s;
    viewClient c, other;
    uint32_t n, width;
    server_start(&s);
    client_open(&c, s.port);
    client_say(&c, "{\"type\": \"spring\", \"anchor\": [0, 0, 0]}");
    client_await(&c, "refused", "no spring");
    client_say(
        &c, "{\"type\": \"spring\", \"mesh\": 0, \"triangle\": 99999, \"weights\": [1, 0, 0], \"anchor\": [0, 0, 0]}");
    client_await(&c, "refused", "no such triangle");
    client_say(
        &c, "{\"type\": \"spring\", \"mesh\": 0, \"triangle\": 5, \"weights\": [0.2, 0.3, 0.5], \"anchor\": [0.5, 0, "
            "0.3], \"stiffness\": 50}");
    client_await(&c, "status", "\"stiffness\": 50");
    client_say(&c, "{\"type\": \"spring\", \"anchor\": [0.5, 0.1, 0.3]}");
    const float *pull = NULL;
    UNTIL (pull != NULL && pull[5] >= 0.05f)
    {
        client_await_binary(&c, TD_VIEW_FRAME);
        pull = client_section(&c, TD_VIEW_SPRINGS, 0, &n, &width);
    }
    assert_int_equal(n, 1);
    assert_int_equal(width, 11);
    for (int k = 0; k < 3; k++)
        assert_near(pull[7 + k], 50 * (pull[4 + k] - pull[1 + k]), 1e-4); // of floats of up to 25 N
    assert_near(pull[5], 0.1, 1e-7);
    // Who goes lets go.
    client_open(&other, s.port);
    client_end(&c);
    UNTIL (pull == NULL)
    {
        client_await_binary(&other, TD_VIEW_FRAME);
        pull = client_section(&other, TD_VIEW_SPRINGS, 0, &n, &width);
    }
    client_end(&other);
    server_stop(&s);
    server_clean(&s);
}

// Displacements of a paused body, worked out by another thread, are those of the frame.
static void fields_are_of_the_shape(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    uint32_t n, width, vertices;
    server_start(&s);
    client_open(&c, s.port);
    client_await_binary(&c, TD_VIEW_TOPOLOGY);
    const void *section = client_section(&c, TD_VIEW_REST, 0, &vertices, &width);
    float *rest = malloc(12 * (size_t)vertices), *x = malloc(12 * (size_t)vertices);
    memcpy(rest, section, 12 * (size_t)vertices);
    client_say(&c, "{\"type\": \"pause\"}");
    client_await(&c, "status", "\"playing\": false");
    int64_t step = 0, last = (int64_t)client_number(&c, "step") + 30;
    client_say(&c, "{\"type\": \"step\", \"count\": 30}");
    while (step < last)
    {
        client_await_binary(&c, TD_VIEW_FRAME);
        memcpy(&step, c.message + 8, sizeof step);
        memcpy(x, client_section(&c, TD_VIEW_POSITIONS, 0, &n, &width), 12 * (size_t)vertices);
    }
    static const char *const names[] = {"displacement", "von_mises", "strain", "energy"};
    for (int f = 0; f < 4; f++)
    {
        client_say(&c, "{\"type\": \"field\", \"name\": \"%s\"}", names[f]);
        do
            client_await_binary(&c, TD_VIEW_FIELDS);
        while (client_word(&c, 28) != (uint32_t)f + 1);
        const float *value = client_section(&c, TD_VIEW_VALUES, 0, &n, &width);
        assert_int_equal(n, vertices);
        double largest = 0;
        for (uint32_t i = 0; i < n; i++)
        {
            const float *a = x + 3 * i, *b = rest + 3 * i;
            double way = sqrt((double)(a[0] - b[0]) * (a[0] - b[0]) + (double)(a[1] - b[1]) * (a[1] - b[1]) +
                              (double)(a[2] - b[2]) * (a[2] - b[2]));
            if (f == 0)
                assert_near(value[i], way, 1e-7); // positions are floats of up to 0.4
            assert_true(value[i] >= 0);
            largest = fmax(largest, value[i]);
        }
        assert_true(largest > 0);
    }
    client_say(&c, "{\"type\": \"field\", \"name\": \"beauty\"}");
    client_await(&c, "refused", "no field");
    free(rest);
    free(x);
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

// A reduced model for an entry: some random modes, or with r = 0 all there are; every so many elements.
static void add_rom(server *s, int entry, int r, int every)
{
    tdError error = {0};
    tdModel *full = scene_parse(server_scene);
    tdRom rom = rom_of(full, r, every);
    rom_check(full, &rom, 3, 1);
    rom.spread = rom_take(&rom, rom.r, sizeof(double));
    rom.sigma = rom_take(&rom, rom.r, sizeof(double));
    rom.n_sigma = rom.r;
    rom.n_snapshots = rom.r;
    for (int i = 0; i < rom.r; i++)
        rom.spread[i] = rom.sigma[i] = 1;
    char path[128];
    memcpy(path, s->entries[entry].path, sizeof path - 4);
    memcpy(path + strlen(path), ".h5", 4);
    memcpy(s->entries[entry].rom, path, sizeof path);
    assert_ok(td_rom_write(&rom, s->entries[entry].rom, &error), error);
    td_arena_free(&rom.arena);
    td_model_free(full);
}

// A client expands a reduced body by itself; the probe, which the server works out, tells whether it is right.
static void reduced_bodies_are_expanded_by_the_client(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    uint32_t n, width, vertices, modes;
    server_files(&s);
    add_rom(&s, 0, 8, 3);
    tdViewSettings settings = server_settings(&s);
    server_begin(&s, &settings);
    client_open(&c, s.port);
    client_await(&c, "hello", "\"kind\": \"reduced\"");
    assert_near(client_number(&c, "modes"), 8, 0);
    assert_non_null(strstr(c.message, "\"kind\": \"domain\""));
    client_await_binary(&c, TD_VIEW_TOPOLOGY);
    const float *section = client_section(&c, TD_VIEW_REST, 0, &vertices, &width);
    float *rest = malloc(12 * (size_t)vertices);
    memcpy(rest, section, 12 * (size_t)vertices);
    section = client_section(&c, TD_VIEW_MODES, 0, &modes, &width);
    assert_int_equal(modes, 8);
    assert_int_equal(width, 3 * vertices);
    float *columns = malloc(4 * (size_t)modes * width);
    memcpy(columns, section, 4 * (size_t)modes * width);
    uint32_t corner = 0;
    while (corner < vertices &&
           fabsf(rest[3 * corner] - 0.4f) + fabsf(rest[3 * corner + 1] - 0.1f) + fabsf(rest[3 * corner + 2] - 0.1f) >
               1e-6f)
        corner++;
    assert_true(corner < vertices);
    double way = 0;
    client_say(&c, "{\"type\": \"actuator\", \"name\": \"push\", \"value\": 100}");
    client_await(&c, "status", "manual");
    UNTIL (way > 1e-5)
    {
        client_await_binary(&c, TD_VIEW_FRAME);
        assert_null(client_section(&c, TD_VIEW_POSITIONS, 0, &n, &width));
        const float *q = client_section(&c, TD_VIEW_COORDINATES, 0, &n, &width);
        assert_int_equal(n, 8);
        const float *probe = client_section(&c, TD_VIEW_PROBES, 0, &n, &width);
        for (int k = 0; k < 3; k++)
        {
            double x = rest[3 * corner + (uint32_t)k];
            for (uint32_t j = 0; j < modes; j++)
                x += (double)columns[3 * (size_t)vertices * j + 3 * corner + (uint32_t)k] * q[j];
            assert_near(x, probe[k], 1e-6); // of floats of 0.4
            way = fmax(way, fabs(probe[k] - rest[3 * corner + (uint32_t)k]));
        }
    }
    // And a field of it is of the shape that these amplitudes make.
    client_say(&c, "{\"type\": \"pause\"}");
    client_await(&c, "status", "\"playing\": false");
    int64_t step = 0, last = (int64_t)client_number(&c, "step") + 1;
    double q[8] = {0}, largest = 0;
    client_say(&c, "{\"type\": \"step\"}");
    while (step < last)
    {
        client_await_binary(&c, TD_VIEW_FRAME);
        memcpy(&step, c.message + 8, sizeof step);
        const float *amplitudes = client_section(&c, TD_VIEW_COORDINATES, 0, &n, &width);
        for (int m = 0; m < 8; m++)
            q[m] = amplitudes[m];
    }
    client_say(&c, "{\"type\": \"field\", \"name\": \"displacement\"}");
    int64_t of = -1;
    while (of < last)
    {
        client_await_binary(&c, TD_VIEW_FIELDS);
        memcpy(&of, c.message + 8, sizeof of);
    }
    const float *shown = client_section(&c, TD_VIEW_VALUES, 0, &n, &width);
    assert_int_equal(n, vertices);
    for (uint32_t i = 0; i < vertices; i++)
    {
        double away[3] = {0};
        for (uint32_t m = 0; m < 8; m++)
            for (uint32_t k = 0; k < 3; k++)
                away[k] += q[m] * (double)columns[3 * (size_t)vertices * m + 3 * i + k];
        double far = sqrt(away[0] * away[0] + away[1] * away[1] + away[2] * away[2]);
        assert_near(shown[i], far, 1e-6); // of floats
        largest = fmax(largest, fabs(q[0] * (double)columns[3 * i]));
    }
    assert_true(largest > 1e-5); // without the first mode it would be told
    free(rest);
    free(columns);
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

// The largest error that a field shows.
static double largest_error(viewClient *c, uint32_t generation)
{
    uint32_t n, width;
    do
        client_await_binary(c, TD_VIEW_FIELDS);
    while (client_word(c, 28) != TD_VIEW_FIELD_ERROR || client_word(c, 4) != generation);
    const float *value = client_section(c, TD_VIEW_VALUES, 0, &n, &width);
    double largest = 0;
    for (uint32_t i = 0; i < n; i++)
        largest = fmax(largest, value[i]);
    return largest;
}

// With all modes and elements there is no error, whatever is done to the body; with few there is.
static void error_is_that_of_full_order(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    server_files(&s);
    add_rom(&s, 0, 0, 1);
    add_rom(&s, 1, 8, 3);
    tdViewSettings settings = server_settings(&s);
    server_begin(&s, &settings);
    client_open(&c, s.port);
    client_await(&c, "hello", "error of the reduced model");
    client_say(&c, "{\"type\": \"field\", \"name\": \"error\"}");
    client_say(&c, "{\"type\": \"reset\"}");
    client_say(&c, "{\"type\": \"actuator\", \"name\": \"pull\", \"value\": 20}");
    client_say(&c, "{\"type\": \"spring\", \"mesh\": 0, \"triangle\": 5, \"weights\": [0.2, 0.3, 0.5], \"anchor\": "
                   "[0.5, 0, 0.3], \"stiffness\": 50}");
    client_await(&c, "status", "\"stiffness\": 50");
    for (int i = 0; i < 5; i++)
        assert_true(largest_error(&c, 1) <
                    1e-7); // the same steps in other coordinates, of a body that moves by centimetres
    client_say(&c, "{\"type\": \"scene\", \"name\": \"robots/other\"}");
    client_await(&c, "hello", "\"generation\": 2");
    client_say(&c, "{\"type\": \"actuator\", \"name\": \"push\", \"value\": 20}");
    double error = 0;
    UNTIL (error >= 1e-3)
        error = largest_error(&c, 2);
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

// What a scene must have for targets to be set, and what is said where it has not.
static void targets_need_effectors_and_actuators(void **unused)
{
    (void)unused;
    for (int k = 0; k < 3; k++)
    {
        server s;
        viewClient c;
        char text[sizeof server_scene];
        server_files(&s);
        snprintf(text, sizeof text, "%s", server_scene);
        char *from = strstr(text, k == 1 ? "actuators:" : "effectors:"),
             *to = strstr(text, k == 1 ? "effectors:" : "probes:");
        if (k < 2)
            memmove(from, to, strlen(to) + 1);
        server_file(s.entries[0].path, text);
        tdViewSettings settings = server_settings(&s);
        settings.sim.paused = true;
        server_begin(&s, &settings);
        client_open(&c, s.port);
        client_await(&c, "hello", "\"inverse\": { \"possible\": ");
        assert_non_null(
            strstr(c.message, k < 2 ? "\"inverse\": { \"possible\": false" : "\"inverse\": { \"possible\": true"));
        if (k < 2)
        {
            const char *why = k == 0 ? "the scene has no effectors" : "the scene has no actuators";
            assert_non_null(strstr(c.message, why));
            client_say(&c, "{\"type\": \"target\", \"name\": \"tip\", \"value\": [0.39, 0.05, 0.07]}");
            client_await(&c, "refused", "");
        }
        client_end(&c);
        server_stop(&s);
        server_clean(&s);
    }
}

static void scenes_are_picked_from_the_list(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    server_start(&s);
    client_open(&c, s.port);
    client_await_binary(&c, TD_VIEW_TOPOLOGY);
    client_say(&c, "{\"type\": \"scene\", \"name\": \"../../../etc/passwd\"}");
    client_await(&c, "refused", "in the list");
    client_say(&c, "{\"type\": \"scene\", \"name\": \"%s\"}", s.entries[1].path);
    client_await(&c, "refused", "in the list");
    client_say(&c, "{\"type\": \"scene\", \"name\": \"robots/other\"}");
    client_await(&c, "hello", "\"generation\": 2");
    assert_non_null(strstr(c.message, "\"scene\": \"robots/other\""));
    client_await_binary(&c, TD_VIEW_FRAME);
    assert_int_equal(client_word(&c, 4), 2);
    // A paused one is announced too.
    client_say(&c, "{\"type\": \"pause\"}");
    client_say(&c, "{\"type\": \"scene\", \"name\": \"arm\"}");
    client_await(&c, "hello", "\"generation\": 3");
    client_say(&c, "{\"type\": \"scene\", \"name\": \"robots/other\"}");
    client_await(&c, "hello", "\"generation\": 4");
    // One that has become unreadable leaves the old one on show.
    server_file(s.entries[0].path, "tendril: 1\nbodies: maybe\n");
    client_say(&c, "{\"type\": \"scene\", \"name\": \"arm\"}");
    client_await(&c, "notice", "cannot be loaded");
    client_say(&c, "{\"type\": \"play\"}");
    client_await_binary(&c, TD_VIEW_FRAME);
    assert_int_equal(client_word(&c, 4), 4);
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

// The scene of this generation, which has a word or has it not, and the notice of it: whichever comes first.
static void await_loaded(viewClient *c, const char *generation, const char *word, bool has)
{
    bool shown = false, said = false;
    while (!shown || !said)
    {
        assert_true(client_receive(c));
        if (c->opcode != 1)
            continue;
        said =
            said || (strstr(c->message, "\"type\": \"notice\"") != NULL && strstr(c->message, "loaded again") != NULL);
        if (strstr(c->message, "\"type\": \"hello\"") == NULL || strstr(c->message, generation) == NULL)
            continue;
        assert_int_equal(strstr(c->message, word) != NULL, has);
        shown = true;
    }
}

// Also while time stands still. A file that cannot be read leaves the old scene on show until it is mended.
static void a_saved_scene_is_loaded_again(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    server_start(&s);
    client_open(&c, s.port);
    client_await_binary(&c, TD_VIEW_TOPOLOGY);
    client_say(&c, "{\"type\": \"pause\"}");
    client_await(&c, "status", "\"playing\": false");
    char *edited = strdup(server_scene), *name = strstr(edited, "corner");
    assert_non_null(name);
    memcpy(name, "reborn", 6);
    server_file(s.entries[0].path, edited);
    await_loaded(&c, "\"generation\": 2", "reborn", true);
    server_file(s.entries[0].path, "tendril: 1\nbodies: maybe\n");
    client_await(&c, "notice", "cannot be loaded");
    client_say(&c, "{\"type\": \"step\"}");
    client_await_binary(&c, TD_VIEW_FRAME);
    assert_int_equal(client_word(&c, 4), 2);
    server_file(s.entries[0].path, server_scene);
    await_loaded(&c, "\"generation\": 3", "reborn", false);
    free(edited);
    // A file that it includes counts too, and nothing is loaded again that was not saved.
    char part[300], text[4000];
    snprintf(part, sizeof part, "%s/part.yaml", s.folder);
    server_file(part, "probes: [{name: early, body: arm, point: [0.4, 0.05, 0.05]}]\n");
    snprintf(text, sizeof text, "%sinclude: part.yaml\n", server_scene);
    server_file(s.entries[0].path, text);
    await_loaded(&c, "\"generation\": 4", "\"early\"", true);
    server_file(part, "probes: [{name: later_on, body: arm, point: [0.4, 0.05, 0.05]}]\n");
    await_loaded(&c, "\"generation\": 5", "\"later_on\"", true);
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

static void failure_is_shown_and_reset(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    server_start(&s);
    client_open(&c, s.port);
    client_say(&c, "{\"type\": \"actuator\", \"name\": \"push\", \"value\": 1e12}");
    client_await(&c, "status", "\"error\": { \"kind\"");
    assert_non_null(strstr(c.message, "\"playing\": false"));
    assert_non_null(strstr(c.message, "step"));
    client_await(&c, "status", "\"error\": { \"kind\""); // it goes on telling
    client_say(&c, "{\"type\": \"reset\"}");
    client_await(&c, "status", "\"error\": null");
    client_say(&c, "{\"type\": \"play\"}");
    client_await(&c, "status", "\"playing\": true");
    double before = client_number(&c, "step");
    UNTIL (client_number(&c, "step") > before)
        client_await(&c, "status", "\"error\": null");
    client_end(&c);
    server_stop(&s);
    server_clean(&s);
}

static void recordings_go_where_they_may(void **unused)
{
    (void)unused;
    server s;
    viewClient c;
    char out[128], path[300];
    server_start(&s);
    client_open(&c, s.port);
    client_say(&c, "{\"type\": \"record\", \"action\": \"start\"}");
    client_await(&c, "refused", "--out");
    client_end(&c);
    server_stop(&s);
    snprintf(out, sizeof out, "%s/out", s.folder);
    tdViewSettings settings = server_settings(&s);
    settings.sim.out = out;
    server_begin(&s, &settings);
    for (int i = 1; i <= 2; i++)
    {
        client_open(&c, s.port);
        client_say(&c, "{\"type\": \"record\", \"action\": \"start\", \"every\": 2}");
        client_await(&c, "status", "\"active\": true, \"folder\"");
        client_await(&c, "status", "\"frames\": 3");
        client_say(&c, "{\"type\": \"record\", \"action\": \"stop\"}");
        client_await(&c, "notice", "recorded");
        snprintf(path, sizeof path, "%s/0-%03d/run.pvd", out, i);
        assert_int_equal(access(path, R_OK), 0);
        client_end(&c);
    }
    server_stop(&s);
    server_clean(&s);
}

// Where the scene gives limits they are those of the slider; else what its motion spans; else a guess that leaves room.
static void ranges_of_sliders(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *given, *motion;
        double low, high; // NAN: by guess
    } cases[] = {{"type: force, direction: [0, 0, 1], range: [-3, 8]", "1", -3, 8},
                 {"type: force, direction: [0, 0, 1]", "-2", -2, 7},
                 {"type: force, direction: [0, 0, 1], effort_range: [none, 9]", "-2", -2, 9},
                 {"type: force, direction: [0, 0, 1], effort_range: [-4, none]", "-2", -4, 7},
                 {"type: force, direction: [0, 0, 1]", NULL, NAN, NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        char motion[128] = "";
        if (cases[i].motion != NULL)
            snprintf(motion, sizeof motion, "motion: {keyframes: [{t: 0, push: %s}, {t: 1, push: 7}]}\n",
                     cases[i].motion);
        tdModel *model =
            scene_model("tendril: 1\ntime_step: 0.01\nsteps: 9\nbodies:\n  - name: arm\n"
                        "    mesh: {box: [[0, 0, 0], [0.4, 0.1, 0.1]], cells: [4, 1, 1]}\n    fixed: [{group: xmin}]\n"
                        "    material: {law: linear, young: 2e5, poisson: 0.3, density: 1000}\n"
                        "actuators: [{name: push, body: arm, group: xmax, drive: force, %s}]\n%s",
                        cases[i].given, motion);
        tdViewStage *stage = NULL;
        tdError error = {0};
        assert_ok(td_view_stage_make(model, "scene.yaml", "scene", 1, &stage, &error), error);
        double low = stage->actuators[0].low, high = stage->actuators[0].high;
        if (isnan(cases[i].low)) // the force that lifts it twice, both ways
        {
            assert_near(high, 2 * 9.81 * 4, 1);
            assert_near(low, -high, 0);
        }
        else
        {
            assert_near(low, cases[i].low, 0);
            assert_near(high, cases[i].high, 0);
        }
        td_view_stage_release(stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_of_sliders),
        cmocka_unit_test(describes_and_shows),
        cmocka_unit_test(plays_pauses_steps_resets),
        cmocka_unit_test(speed_keeps_its_pace),
        cmocka_unit_test(actuators_and_targets),
        cmocka_unit_test(springs_pull),
        cmocka_unit_test(fields_are_of_the_shape),
        cmocka_unit_test(reduced_bodies_are_expanded_by_the_client),
        cmocka_unit_test(error_is_that_of_full_order),
        cmocka_unit_test(targets_need_effectors_and_actuators),
        cmocka_unit_test(scenes_are_picked_from_the_list),
        cmocka_unit_test(a_saved_scene_is_loaded_again),
        cmocka_unit_test(failure_is_shown_and_reset),
        cmocka_unit_test(recordings_go_where_they_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
