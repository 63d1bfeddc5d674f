// SPDX-License-Identifier: Apache-2.0
// A step allocates nothing after the second: the executable's own malloc counts calls from our code and from
// the C library on our behalf. What CHOLMOD and the OpenMP and BLAS libraries under it take inside a
// factorization is counted apart and printed; it is not ours to prevent.
#include "actuators.h"
#include "arm.h"
#include "frames.h"
#include "reduced.h"
#include "rigid.h"

#include "body/articulated.h"
#include "solve/inverse.h"

#include <SuiteSparse_config.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdatomic.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define COUNTING 0 // a sanitizer brings its own malloc
#else
#define COUNTING 1
#endif

static atomic_bool watching;
static atomic_int ours, cholmods, others;

#if COUNTING
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *data, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *data);

extern char __executable_start, etext;

// By the code that the call returns to: of the test, of the library, or of the C library on behalf of them.
static void count(const char *caller)
{
    if (!atomic_load_explicit(&watching, memory_order_relaxed))
        return;
    Dl_info library;
    bool mine = (caller >= &__executable_start && caller < &etext) || dladdr(caller, &library) == 0 ||
                strstr(library.dli_fname, "/libtendril") != NULL || strstr(library.dli_fname, "/libc.so") != NULL;
    atomic_fetch_add(mine ? &ours : &others, 1);
}

// Inlined, a function would return to its caller's caller.
#define COUNT() count(__builtin_return_address(0))
#define COUNTED __attribute__((noinline))

static void count_cholmod(void)
{
    if (atomic_load_explicit(&watching, memory_order_relaxed))
        atomic_fetch_add(&cholmods, 1);
}

COUNTED void *malloc(size_t size)
{
    COUNT();
    return __libc_malloc(size);
}

COUNTED void *calloc(size_t n, size_t size)
{
    COUNT();
    return __libc_calloc(n, size);
}

COUNTED void *realloc(void *data, size_t size)
{
    COUNT();
    return __libc_realloc(data, size);
}

COUNTED void *aligned_alloc(size_t alignment, size_t size)
{
    COUNT();
    return __libc_memalign(alignment, size);
}

COUNTED void *memalign(size_t alignment, size_t size)
{
    COUNT();
    return __libc_memalign(alignment, size);
}

COUNTED int posix_memalign(void **out, size_t alignment, size_t size)
{
    COUNT();
    *out = __libc_memalign(alignment, size);
    return *out == NULL ? 12 : 0; // ENOMEM
}

COUNTED void free(void *data)
{
    if (data != NULL)
        COUNT();
    __libc_free(data);
}

static void *cholmod_malloc_counted(size_t size)
{
    count_cholmod();
    return __libc_malloc(size);
}

static void *cholmod_calloc_counted(size_t n, size_t size)
{
    count_cholmod();
    return __libc_calloc(n, size);
}

static void *cholmod_realloc_counted(void *data, size_t size)
{
    count_cholmod();
    return __libc_realloc(data, size);
}

static void cholmod_free_counted(void *data)
{
    __libc_free(data);
}

static void route_cholmod(void)
{
    SuiteSparse_config.malloc_func = cholmod_malloc_counted;
    SuiteSparse_config.calloc_func = cholmod_calloc_counted;
    SuiteSparse_config.realloc_func = cholmod_realloc_counted;
    SuiteSparse_config.free_func = cholmod_free_counted;
}
#else
static void route_cholmod(void)
{
}
#endif

// The counter itself counts: what a test of nothing must show first.
static void counter_counts(void **unused)
{
    (void)unused;
    if (!COUNTING)
        skip_because("allocations are not counted: a sanitizer brings its own malloc");
    atomic_store(&ours, 0);
    atomic_store(&watching, true);
    void *volatile memory = malloc(100);
    free(memory);
    void *volatile aligned = aligned_alloc(64, 128);
    free(aligned);
    void *volatile taken = td_take(1, 100); // by the library
    free(taken);
    atomic_store(&watching, false);
    assert_int_equal(atomic_load(&ours), 6);
}

// A soft spring to where the first corner of a triangle of the surface was at rest.
static void tie_spring(const tdModel *model, tdState *state, int64_t triangle)
{
    if (td_body_is_articulated(&model->bodies[0]))
        return; // springs hold soft bodies
    const tdSoft *soft = model->bodies[0].soft;
    tdSpring spring = {.weights = {0.5, 0.25, 0.25}, .stiffness = 1e-3};
    memcpy(spring.nodes, soft->surface + 3 * (triangle % soft->surface_tris), sizeof spring.nodes);
    memcpy(spring.anchor, soft->rest + 3 * (int64_t)spring.nodes[0], sizeof spring.anchor);
    // A reduced body makes what it lacks at a place when it is first tied there; steps do not.
    atomic_store(&watching, model->bodies[0].modes == NULL);
    assert_int_equal(td_state_set_spring(model, state, 0, &spring), TD_OK);
    atomic_store(&watching, true);
}

// 40 steps after the first two, and what a caller reads and changes between them.
static void watch_steps(const tdModel *model, tdState *state, const char *label, int threads)
{
    scene_steps(model, state, 2);
    tdStatus status = TD_OK;
    double position[3], force[3], kinetic, elastic;
    int factorizations = 0;
    atomic_store(&ours, 0);
    atomic_store(&cholmods, 0);
    atomic_store(&others, 0);
    atomic_store(&watching, true);
    for (int s = 0; s < 40 && status == TD_OK; s++)
    {
        status = td_step(model, state);
        factorizations += td_state_report(state)->factorizations;
        for (int p = 0; p < td_model_probes(model); p++)
            td_state_probe(model, state, p, position);
        for (int a = 0; a < td_model_actuators(model); a++)
            td_state_actuation(model, state, a);
        td_state_reaction(model, state, 0, force);
        if (s % 8 == 0 && model->bodies[0].soft->pattern.row != NULL)
            tie_spring(model, state, 7 * s);
        td_state_spring(model, state, 0, position, force);
        td_state_energy(model, state, &kinetic, &elastic);
    }
    atomic_store(&watching, false);
    assert_ok(status, td_state_report(state)->error);
    print_message("%-71s %d threads: %d by us, %d by CHOLMOD, %d by its OpenMP and BLAS, %d factorizations\n", label,
                  threads, atomic_load(&ours), atomic_load(&cholmods), atomic_load(&others), factorizations);
    assert_int_equal(atomic_load(&ours), 0);
}

static void steps_allocate_nothing(void **unused)
{
    (void)unused;
    if (!COUNTING)
        skip_because("allocations are not counted: a sanitizer brings its own malloc");
    const struct
    {
        const char *law, *solver, *integrator;
    } cases[] = {{"linear", "auto", "method: backward_euler"},
                 {"corotational", "auto", "method: backward_euler"},
                 {"corotational_lagged", "cg", "method: backward_euler"},
                 {"corotational", "cholesky", "method: backward_euler"},
                 {"neo_hookean", "cholesky", "method: midpoint"},
                 {"stvk", "auto", "method: newmark"},
                 {"neo_hookean", "auto", "method: backward_euler, newton: true"},
                 {"corotational", "auto", "method: static"},
                 {"stvk", "cholesky", "method: static"},
                 {"corotational", "auto", "method: symplectic"}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        for (int threads = 1; threads <= 2; threads++)
        {
            tdModel *model = scene_model(
                "tendril: 1\ngravity: [0, 0, -1]\ntime_step: 1 ms\nsteps: 1\nsolver: {type: %s}\nintegrator: {%s}\n"
                "bodies:\n  - name: beam\n    mesh: {box: [[0, 0, 0], [3, 1, 1]], cells: [9, 3, 3]}\n"
                "    material: {law: %s, young: 1e5, poisson: 0.3, density: 1000}\n"
                "    damping: {mass: 0.1, stiffness: 0.1 ms}\n    fixed: [{group: xmin}]\n"
                "    prescribed: [{name: turn, group: xmax, axes: y, displacement: [0, 0.5, 0]}]\n"
                "loads: [{type: surface, body: beam, group: zmin, pressure: 100}]\n"
                "probes: [{name: tip, body: beam, point: [2.9, 0.5, 0.5]}, {name: end, body: beam, group: xmax}]\n"
                "motion: {keyframes: [{t: 0, turn: 0}, {t: 200 ms, turn: 1}]}\n",
                cases[k].solver, cases[k].integrator, cases[k].law);
            tdState *state = scene_state_with(model, threads, false);
            char label[100];
            snprintf(label, sizeof label, "%-20s %-9s %-40s", cases[k].law, cases[k].solver, cases[k].integrator);
            watch_steps(model, state, label, threads);
            scene_free(model, state);
        }
}

// Inverse control is inside a step: every mode and solver, feasible or not.
static void inverse_allocates_nothing(void **unused)
{
    (void)unused;
    if (!COUNTING)
        skip_because("allocations are not counted: a sanitizer brings its own malloc");
    tdArena arena = {0};
    tdInverseWork *work = td_inverse_work(&arena, 4, 3, 4);
    double E[12] = {1, 0.2, -0.7, 0.1, 0, 1, 0.3, -1, 0.2, 0.1, 0.5, 0.6}, W[16] = {0}, x[4];
    double e0[3] = {-1, 0.5, 2}, xl[4] = {0}, xu[4] = {1, 1, 1, 1}, cl[4] = {0}, cu[4] = {0.5, 0.5, 0.5, 0.5};
    signed char active[8];
    for (int j = 0; j < 4; j++)
        W[5 * j] = 1 + j;
    tdInverse problem = {.n_a = 4,
                         .n_e = 3,
                         .n_c = 4,
                         .E = E,
                         .e0 = e0,
                         .W = W,
                         .xl = xl,
                         .xu = xu,
                         .C = W,
                         .cl = cl,
                         .cu = cu,
                         .energy = TD_ENERGY_NULL_SPACE,
                         .solver = TD_INVERSE_QP,
                         .epsilon = 1e-3,
                         .tolerance = 1e-6};
    tdInverseResult result = {.x = x, .active = active};
    assert_non_null(work);
    atomic_store(&ours, 0);
    atomic_store(&watching, true);
    for (int k = 0; k < 8; k++)
    {
        problem.energy = k % 2 == 0 ? TD_ENERGY_NULL_SPACE : TD_ENERGY_S4;
        problem.solver = k / 2 % 2 == 0 ? TD_INVERSE_QP : TD_INVERSE_GAUSS_SEIDEL;
        cl[0] = k < 4 ? 0 : 9; // cannot be met
        cu[0] = k < 4 ? 0.5 : 10;
        td_inverse_solve(&problem, work, false, &result);
        td_inverse_solve(&problem, work, true, &result);
    }
    atomic_store(&watching, false);
    assert_int_equal(result.status, TD_QP_INFEASIBLE);
    assert_int_equal(atomic_load(&ours), 0);
    td_arena_free(&arena);
}

// The closed loop around a step: goals and measurements from files, in reach and out of it.
static void control_allocates_nothing(void **unused)
{
    (void)unused;
    if (!COUNTING)
        skip_because("allocations are not counted: a sanitizer brings its own malloc");
    static const char *const integrators[] = {"static", "backward_euler"};
    const char *path = TD_BUILD_DIR "/allocation.csv", *text = "t,tip.x,tip.y,tip.z\n0,0.1,0,0\n1,0.05,0.1,0\n";
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = scene_model("%sintegrator: {method: %s}\n", ARM_BODY("250 kPa") ARM_CABLES("[0, 1]") ARM_TIP,
                                     integrators[k]);
        tdState *state = scene_state(model);
        tdControlSettings settings = td_default_control(model);
        settings.delay = 3 * td_model_time_step(model);
        tdControl *control = NULL;
        tdError error = {0};
        tdStatus status = td_file_write(path, text, strlen(text), &error);
        if (status == TD_OK)
            status = td_control_create(model, &settings, &control, &error);
        if (status == TD_OK)
            status = td_control_load_goals(control, model, path, &error);
        if (status == TD_OK)
            status = td_control_load_measurements(control, model, path, &error);
        assert_ok(status, error);
        for (int s = 0; s < 2 && status == TD_OK; s++)
            status = td_control_step(control, model, state);
        atomic_store(&ours, 0);
        atomic_store(&watching, true);
        for (int s = 0; s < 60 && status == TD_OK; s++)
            status = td_control_step(control, model, state);
        atomic_store(&watching, false);
        assert_ok(status, td_state_report(state)->error);
        assert_int_equal(atomic_load(&ours), 0);
        assert_true(td_state_report(state)->out_of_reach);
        td_control_free(control);
        scene_free(model, state);
    }
    remove(path);
}

static void actuators_allocate_nothing(void **unused)
{
    (void)unused;
    if (!COUNTING)
        skip_because("allocations are not counted: a sanitizer brings its own malloc");
    static const char *const integrators[] = {"method: backward_euler", "method: backward_euler, newton: true",
                                              "method: newmark", "method: static"};
    for (int k = 0; k < 4; k++)
        for (int threads = 1; threads <= 2; threads++)
        {
            tdModel *model = act_robot(integrators[k], k % 2 == 0 ? "auto" : "cholesky", k != 2);
            tdState *state = scene_state_with(model, threads, false);
            watch_steps(model, state, integrators[k], threads);
            scene_free(model, state);
        }
}

// A reduced body calls no library that could allocate for it either.
static void reduced_allocates_nothing(void **unused)
{
    (void)unused;
    if (!COUNTING)
        skip_because("allocations are not counted: a sanitizer brings its own malloc");
    static const char *const integrators[] = {"method: backward_euler", "method: backward_euler, newton: true",
                                              "method: newmark", "method: static"};
    for (int k = 0; k < 4; k++)
    {
        char text[4000];
        snprintf(text, sizeof text,
                 "%s    damping: {mass: 0.1, stiffness: 1 ms}\n"
                 "    prescribed: [{name: end, group: xmax, axes: y, displacement: [0, 1e-4, 0]}]\n%s"
                 "loads: [{type: point, body: arm, group: zmax, force: [0, 0, 0.01]}]\nintegrator: {%s}\n",
                 ARM_BODY("250 kPa"), ARM_CABLES("[0, 1]"), integrators[k]);
        tdModel *full = scene_parse(text);
        tdRom rom = rom_of(full, 20, 5);
        rom_check(full, &rom, 5, 1e-3);
        tdModel *model = rom_model(text, &rom, false);
        td_arena_free(&rom.arena);
        td_model_free(full);
        for (int threads = 1; threads <= 2; threads++)
        {
            tdState *state = scene_state_with(model, threads, false);
            act_set(model, state, "north", 0.1);
            watch_steps(model, state, integrators[k], threads);
            assert_int_equal(atomic_load(&cholmods) + atomic_load(&others), 0);
            td_state_free(state);
        }
        td_model_free(model);
    }
}

// Nor one on a frame that rests and slides on a floor.
static void touching_allocates_nothing(void **unused)
{
    (void)unused;
    if (!COUNTING)
        skip_because("allocations are not counted: a sanitizer brings its own malloc");
    static const char text[] =
        "tendril: 1\ntime_step: 2 ms\nsteps: 9\ngravity: [0.5, 0, -9.81]\ncontact: {friction: 0.02}\nbodies:\n"
        "  - {name: block, mesh: {box: [[0, 0, 0], [0.1, 0.06, 0.04]], cells: [3, 2, 2]}, material: {law: "
        "corotational_lagged, young: 0.2 MPa, poisson: 0.3, density: 1000}}\n"
        "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n";
    tdModel *full = scene_parse(text);
    tdRom rom = frame_rom(full, 9, 1);
    tdModel *model = rom_model(text, &rom, true);
    td_rom_free(&rom);
    td_model_free(full);
    tdState *state = scene_state_with(model, 1, false);
    watch_steps(model, state, "a frame on the floor", 1);
    assert_true(td_state_report(state)->contacts_active > 0);
    assert_int_equal(atomic_load(&cholmods) + atomic_load(&others), 0);
    scene_free(model, state);
}

// Nor does one whose forces are polynomials, also where its tangent is projected.
static void polynomials_allocate_nothing(void **unused)
{
    (void)unused;
    if (!COUNTING)
        skip_because("allocations are not counted: a sanitizer brings its own malloc");
    static const char *const integrators[] = {"method: backward_euler", "method: newmark, newton: true",
                                              "method: newmark", "method: static"};
    for (int k = 0; k < 4; k++)
    {
        char text[4000];
        snprintf(text, sizeof text,
                 "tendril: 1\ntime_step: 2 ms\nsteps: 9\nintegrator: {%s}\nbodies:\n  - name: arm\n"
                 "    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [6, 1, 1]}\n    fixed: [{group: xmin}]\n"
                 "    prescribed: [{name: end, group: xmax, axes: x, displacement: [-0.02, 0, 0]}]\n"
                 "    damping: {mass: 0.1, stiffness: 1 ms}\n"
                 "    material: {law: stvk, young: 250 kPa, poisson: 0.3, density: 1000}\n"
                 "motion: {keyframes: [{t: 0, end: 0}, {t: 0.05, end: 1}]}\n",
                 integrators[k]);
        tdModel *full = scene_parse(text);
        tdRom rom = rom_of(full, 14, 1);
        rom_polynomials(full, &rom);
        tdModel *model = rom_model(text, &rom, false);
        td_arena_free(&rom.arena);
        td_model_free(full);
        tdState *state = scene_state_with(model, 1, false);
        watch_steps(model, state, integrators[k], 1);
        assert_int_equal(atomic_load(&cholmods) + atomic_load(&others), 0);
        scene_free(model, state);
    }
}

static void joints_allocate_nothing(void **unused)
{
    (void)unused;
    static const char robot[] = ROBOT(
        LINK("body", "3", "0.1 0 0", "0.1", "0.2", "0.25") LINK("arm", "1", "0 0 0.3", "0.05", "0.04", "0.02")
            LINK("wrist", "0.5", "0.1 0 0.1", "0.01", "0.02", "0.015")
                JOINT("j1", "revolute", "body", "arm", "0.2 0 0.1", "1 2 0.5",
                      "<limit lower=\"-0.1\" upper=\"0.1\" effort=\"5\"/><dynamics friction=\"0.1\" damping=\"0.1\"/>")
                    JOINT("j2", "ball", "arm", "wrist", "0 0 0.6", "1 0 0", ""));
    for (int k = 0; k < 3; k++)
    {
        char rest[600];
        snprintf(rest, sizeof rest,
                 "actuators: [{name: m, type: joint, body: r, joint: j1, drive: position, stiffness: 5, damping: 0.1}, "
                 "{name: c, type: cable, body: r, path: [[0, 0, 0.05]], pull_point: [0, 0, 1], drive: force}]\n"
                 "%smotion: {keyframes: [{t: 0, %s, c: 0.01}]}",
                 k == 2 ? "tools: [{name: t, body: r, link: arm}]\n" : "",
                 k == 2 ? "t.x: 0.1, t.ry: 0.1 rad" : "m: 1 rad");
        tdModel *model = robot_model(robot,
                                     k == 1 ? "time_step: 1 ms\nsteps: 1\nintegrator: {method: midpoint, newton: true}"
                                            : "time_step: 1 ms\nsteps: 1",
                                     "base: free, angular_velocity: [1 rad/s, 0, 2 rad/s]", rest);
        tdState *state = robot_state(model);
        watch_steps(model, state, k == 2 ? "articulated, tool" : k == 1 ? "articulated, Newton" : "articulated", 1);
        td_state_free(state);
        td_model_free(model);
    }
}

// Nor does one on a free frame, with cables inside and from outside.
static void frames_allocate_nothing(void **unused)
{
    (void)unused;
    if (!COUNTING)
        skip_because("allocations are not counted: a sanitizer brings its own malloc");
    static const char *const integrators[] = {"method: backward_euler", "method: midpoint, newton: true",
                                              "method: newmark, newton: true"};
    for (int k = 0; k < 3; k++)
    {
        char text[4000];
        snprintf(text, sizeof text,
                 "tendril: 1\ntime_step: 2 ms\nsteps: 9\nintegrator: {%s}\ngravity: [0, 0, -9.81]\nbodies:\n"
                 "  - name: bar\n    mesh: {box: [[0, 0, 0], [0.1, 0.02, 0.02]], cells: [6, 1, 1]}\n"
                 "    damping: {mass: 0.1, stiffness: 1 ms}\n    velocity: [0, 1, 0]\n"
                 "    material: {law: neo_hookean, young: 250 kPa, poisson: 0.3, density: 1000}\n"
                 "loads: [{name: push, type: point, body: bar, group: xmax, force: [0, 0, 0.1]}]\nactuators:\n"
                 "  - {name: in, type: cable, body: bar, path: [[0.01, 0.01, 0.02], [0.09, 0.01, 0.02]], drive: "
                 "displacement}\n"
                 "  - {name: out, type: cable, body: bar, path: [[0.01, 0.01, 0.01]], pull_point: [-0.1, 0, 0], drive: "
                 "force}\n",
                 integrators[k]);
        tdModel *full = scene_parse(text);
        tdRom rom = frame_rom(full, 14, 2);
        tdModel *model = rom_model(text, &rom, false);
        td_arena_free(&rom.arena);
        td_model_free(full);
        tdState *state = scene_state_with(model, 1, false);
        act_set(model, state, "in", 0.002);
        act_set(model, state, "out", 0.1);
        watch_steps(model, state, integrators[k], 1);
        assert_int_equal(atomic_load(&cholmods) + atomic_load(&others), 0);
        scene_free(model, state);
    }
}

// As long as there are no more contacts than before and the same nodes touch: other nodes ask for another order of the
// condensed body, which is made when it pays.
static void contact_allocates_nothing(void **unused)
{
    (void)unused;
    if (!COUNTING)
        skip_because("allocations are not counted: a sanitizer brings its own malloc");
    tdModel *model =
        scene_model("tendril: 1\ntime_step: 2 ms\nsteps: 1\ngravity: [0, 0, -9.81]\ncontact: {friction: 0.3}\nbodies:\n"
                    "  - {name: a, mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.05]], cells: [2, 2, 1]}, material: {law: "
                    "corotational_lagged, young: 0.5 MPa, poisson: 0.3, density: 1000}}\n"
                    "  - {name: floor, type: rigid, shape: {plane: true}, fixed: true}\n"
                    "  - {name: b, type: rigid, shape: {box: [0.05, 0.05, 0.02]}, total_mass: 0.1, transform: "
                    "{translate: [0.3, 0.05, 0.01]}}\n");
    tdState *state = scene_state_with(model, 1, false);
    scene_steps(model, state, 1000);
    watch_steps(model, state, "contact", 1);
    assert_true(td_state_report(state)->contacts_active > 8);
    scene_free(model, state);
}

static void attachments_allocate_nothing(void **unused)
{
    (void)unused;
    if (!COUNTING)
        skip_because("allocations are not counted: a sanitizer brings its own malloc");
    static const char *const newton[] = {"false", "true"};
    for (int k = 0; k < 2; k++)
    {
        tdModel *model = scene_model(
            "tendril: 1\ntime_step: 2 ms\nsteps: 1\ngravity: [0, 0, -9.81]\nintegrator: {newton: %s}\nbodies:\n"
            "  - {name: a, mesh: {box: [[0, 0, 0], [0.1, 0.1, 0.05]], cells: [2, 2, 1]}, material: {law: "
            "corotational_lagged, young: 0.5 MPa, poisson: 0.3, density: 1000}}\n"
            "  - {name: b, type: rigid, shape: {box: [0.1, 0.1, 0.02]}, total_mass: 0.1, transform: {translate: [0.05, "
            "0.05, 0.06]}}\n"
            "attachments: [{name: glue, a: a, group: zmax, b: b}]\n"
            "couplings: [{name: thread, rod: {a: b, point_a: [0.05, 0.05, 0.07], point_b: [0.1, 0, 0.5]}}]\n",
            newton[k]);
        tdState *state = scene_state_with(model, 1, false);
        scene_steps(model, state, 50);
        watch_steps(model, state, "attachments", 1);
        scene_free(model, state);
    }
}

int main(void)
{
    route_cholmod();
    const struct CMUnitTest tests[] = {cmocka_unit_test(counter_counts),
                                       cmocka_unit_test(steps_allocate_nothing),
                                       cmocka_unit_test(inverse_allocates_nothing),
                                       cmocka_unit_test(control_allocates_nothing),
                                       cmocka_unit_test(actuators_allocate_nothing),
                                       cmocka_unit_test(reduced_allocates_nothing),
                                       cmocka_unit_test(touching_allocates_nothing),
                                       cmocka_unit_test(polynomials_allocate_nothing),
                                       cmocka_unit_test(joints_allocate_nothing),
                                       cmocka_unit_test(frames_allocate_nothing),
                                       cmocka_unit_test(contact_allocates_nothing),
                                       cmocka_unit_test(attachments_allocate_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
