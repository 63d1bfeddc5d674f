// SPDX-License-Identifier: Apache-2.0
// Whatever piece of memory is not to be had, a model, a state, a step or a reduction says that memory ran out, and goes
// back to where it was (what it forgets to free is found in the build with AddressSanitizer). The functions of the
// library that take memory are replaced by ones that refuse: one call of each place in the code that asks.
#include "test.h"

#include "base/file.h"
#include "base/memory.h"
#include "core/model.h"
#include "core/state.h"
#include "reduce/offline/job.h"
#include "reduce/rom.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#define OWN     TD_SOURCE_DIR "/tests/golden/scenes/"
#define CONTACT TD_SOURCE_DIR "/scenes/contact/"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define OWN_MALLOC 0 // a sanitizer brings its own malloc: only what asks our functions is refused
#else
#define OWN_MALLOC 1
#endif

// ---------------------------------------------------------------- who asks

enum
{
    MOST = 1 << 20
};

static struct
{
    bool watching;
    long asked;               ///< so many calls up to now
    long refuse;              ///< the call that gets nothing; less than zero: none
    char *from, *to, *base;   ///< the code of the library, and where it was loaded
    const char *caller[MOST]; ///< of each call
    size_t n_done;
    const char *done[20000]; ///< places that were refused already
} memory;

static bool refused(const char *caller)
{
    if (!memory.watching || caller < memory.from || caller >= memory.to)
        return false;
    if (memory.refuse < 0 && memory.asked < MOST)
        memory.caller[memory.asked] = caller;
    return memory.asked++ == memory.refuse;
}

#define REFUSED() refused(__builtin_return_address(0))
#define ASKED     __attribute__((noinline))

static struct
{
    void *(*arena_take)(tdArena *, size_t, size_t);
    void *(*take)(size_t, size_t);
    bool (*grow)(void **, int64_t *, int64_t, size_t);
} real;

ASKED void *td_arena_take(tdArena *arena, size_t count, size_t size)
{
    return REFUSED() ? NULL : real.arena_take(arena, count, size);
}

ASKED char *td_arena_copy(tdArena *arena, const char *text)
{
    if (REFUSED())
        return NULL;
    size_t n = strlen(text) + 1;
    char *copy = real.arena_take(arena, n, 1);
    if (copy != NULL)
        memcpy(copy, text, n);
    return copy;
}

ASKED void *td_take(size_t count, size_t size)
{
    return REFUSED() ? NULL : real.take(count, size);
}

ASKED bool td_grow(void **data, int64_t *capacity, int64_t need, size_t size)
{
    if (need > *capacity && REFUSED())
        return false;
    return real.grow(data, capacity, need, size);
}

#if OWN_MALLOC
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *data, size_t size);

ASKED void *malloc(size_t size)
{
    return REFUSED() ? NULL : __libc_malloc(size);
}

ASKED void *calloc(size_t n, size_t size)
{
    return REFUSED() ? NULL : __libc_calloc(n, size);
}

ASKED void *realloc(void *data, size_t size)
{
    return REFUSED() ? NULL : __libc_realloc(data, size);
}
#endif

static int find_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (strstr(info->dlpi_name, "tendril_inside") == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) != 0)
        {
            memory.from = (char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
            memory.to = memory.from + info->dlpi_phdr[i].p_memsz;
            memory.base = (char *)info->dlpi_addr;
        }
    return 1;
}

static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL)
        abort(); // of a test: nobody can go on
    return found;
}

static void find_real(void)
{
    *(void **)&real.arena_take = next("td_arena_take");
    *(void **)&real.take = next("td_take");
    *(void **)&real.grow = next("td_grow");
    if (dl_iterate_phdr(find_library, NULL) == 0)
        abort();
}

// ---------------------------------------------------------------- what is asked for

typedef tdStatus (*deed)(const void *what, tdError *error);

static tdStatus do_watched(deed act, const void *what, long refuse, tdError *error)
{
    *error = (tdError){0};
    memory.asked = 0;
    memory.refuse = refuse;
    memory.watching = true;
    tdStatus status = act(what, error);
    memory.watching = false;
    return status;
}

static int wrong; // places that do not tell

// Refuses the first call of every place that has not been refused before. The number of places.
static int refuse_each(deed act, const void *what, const char *name)
{
    tdError error;
    for (int k = 0; k < 2; k++) // what is made once in a program is there the second time
        assert_ok(do_watched(act, what, -1, &error), error);
    assert_true(memory.asked > 10 && memory.asked < MOST);
    long n = memory.asked, list[2000];
    int n_list = 0;
    for (long i = 0; i < n; i++)
    {
        size_t k = 0;
        while (k < memory.n_done && memory.done[k] != memory.caller[i])
            k++;
        if (k < memory.n_done)
            continue;
        assert_true(memory.n_done < sizeof memory.done / sizeof memory.done[0] && n_list < 2000);
        memory.done[memory.n_done++] = memory.caller[i];
        list[n_list++] = i;
    }
    for (int i = 0; i < n_list; i++)
    {
        const char *caller = memory.caller[list[i]];
        tdStatus status = do_watched(act, what, list[i], &error);
        assert_true(memory.asked > list[i]);
        bool told = status == TD_ERROR_MEMORY || status == TD_ERROR_IO; // of HDF5, which does not say why
        if (!told || error.message[0] == '\0')
        {
            print_error("%s: without the memory for call %ld, at 0x%lx of the library, the status is %d: %s\n", name,
                        list[i], (unsigned long)(caller - memory.base), status, error.message);
            wrong++;
        }
    }
    print_message("%s: %d places of %ld calls\n", name, n_list, n);
    return n_list;
}

// A beam that a cable with friction presses on a post.
static const char touching_cable[] =
    "tendril: 1\ntime_step: 2 ms\nsteps: 2\ncontact: {friction: 0.2}\nbodies:\n  - name: beam\n"
    "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [4, 1, 1]}\n    fixed: [{group: xmin}]\n"
    "    material: {law: corotational, young: 0.5 MPa, poisson: 0.3, density: 1000}\n"
    "  - {name: post, type: rigid, shape: {box: [0.01, 0.1, 0.02]}, fixed: true, transform: {translate: [0.1, 0, "
    "-0.01]}}\n"
    "actuators: [{name: c, type: cable, body: beam, path: [[0.1, 0.01, 0.002], [0.05, 0.01, 0.004], [0, 0.01, 0.002]], "
    "drive: force, "
    "friction: "
    "0.5}]\nmotion: {keyframes: [{t: 0, c: 1}]}\n";

typedef struct run
{
    const char *scene, *rom; ///< files; a scene may also be text
    int steps;
} run;

static tdStatus simulate(const void *what, tdError *error)
{
    const run *r = what;
    tdSettings settings = td_default_settings();
    settings.rom = r->rom;
    settings.threads = 1;
    tdModel *model = NULL;
    tdState *state = NULL;
    bool text = strncmp(r->scene, "tendril:", 8) == 0;
    tdStatus status = text ? td_model_parse(r->scene, strlen(r->scene), "scene", NULL, &settings, &model, error)
                           : td_model_load(r->scene, &settings, &model, error);
    if (status == TD_OK)
        status = td_state_create(model, &settings, &state, error);
    for (int i = 0; i < r->steps && status == TD_OK; i++)
    {
        status = td_step(model, state);
        *error = td_state_report(state)->error;
    }
    td_state_free(state);
    td_model_free(model);
    return status;
}

static void simulations_tell(void **unused)
{
    (void)unused;
    static const run runs[] = {{OWN "plane.yaml", NULL, 2},
                               {OWN "quadratic.yaml", NULL, 2},
                               {OWN "cavity_gas.yaml", NULL, 2},
                               {OWN "cavity_volume.yaml", NULL, 2},
                               {OWN "held.yaml", NULL, 2},
                               {OWN "tendons.yaml", NULL, 2},
                               {OWN "linkage.yaml", NULL, 3},
                               {OWN "worm.yaml", NULL, 20},
                               {OWN "worm.yaml", OWN "worm.h5", 20},
                               {OWN "arm.yaml", OWN "arm.h5", 2},
                               {OWN "modes.yaml", OWN "modes.h5", 2},
                               {CONTACT "incline.yaml", NULL, 20},
                               {CONTACT "gear.yaml", NULL, 20},
                               {CONTACT "lean.yaml", NULL, 20},
                               {CONTACT "grasp.yaml", NULL, 10},
                               {CONTACT "arm_hand.yaml", NULL, 5},
                               {touching_cable, NULL, 2}};
    int places = 0;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
    {
        const char *slash = strrchr(runs[i].scene, '/');
        places += refuse_each(simulate, &runs[i], slash == NULL ? "a text" : slash + 1);
    }
    assert_int_equal(wrong, 0);
    assert_true(places > 300);
}

// ---------------------------------------------------------------- the offline stage

#define SCENE "test_memory.yaml"
#define ROM   "test_memory.h5"

static tdStatus reduce(const void *what, tdError *error)
{
    (void)what;
    tdReduceReport report;
    tdReduceTask task = {
        .scene = SCENE, .out = ROM, .restart = true, .accept = true, .settings = td_default_settings()};
    task.settings.threads = 1;
    return td_reduce(&task, &report, error);
}

static void reductions_tell(void **unused)
{
    (void)unused;
    static const struct
    {
        const char *name, *law, *reduction;
    } cases[] = {{"grid", "corotational", "samples: grid, levels: 2, steps_between: 2, pod_tolerance: 1e-4"},
                 {"greedy", "neo_hookean", "samples: greedy, count: 3, pod_tolerance: 1e-3"},
                 {"modes", "stvk", "kind: stvk, modes: 3, columns: 6"}};
    int places = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    {
        char text[2000];
        tdError error = {0};
        snprintf(
            text, sizeof text,
            "tendril: 1\ngravity: [0, 0, -9.81]\ntime_step: 20 ms\nsteps: 6\nbodies:\n  - name: arm\n"
            "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [5, 1, 1]}\n"
            "    material: {law: %s, young: 100 kPa, poisson: 0.4, density: 1000}\n    fixed: [{group: xmin}]\n"
            "actuators:\n  - {name: top, type: cable, body: arm, path: [[0.09, 0.01, 0.02], [0, 0.01, 0.02]], drive: "
            "displacement, range: [0, 5 mm]}\n"
            "motion: {keyframes: [{t: 0, top: 0}, {t: 0.1, top: 4 mm}]}\nreduction: {%s}\n"
            "validation: {random: {steps: 2, moves: 2, seed: 2}}\n",
            cases[i].law, cases[i].reduction);
        assert_ok(td_file_write_quickly(SCENE, text, strlen(text), &error), error);
        places += refuse_each(reduce, NULL, cases[i].name);
    }
    assert_int_equal(wrong, 0);
    assert_true(places > 100);
    unlink(SCENE);
    unlink(ROM);
    assert_int_equal(system("rm -rf " ROM ".work"), 0);
}

int main(void)
{
    find_real();
    const struct CMUnitTest tests[] = {cmocka_unit_test(simulations_tell), cmocka_unit_test(reductions_tell)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
