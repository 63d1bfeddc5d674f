// SPDX-License-Identifier: Apache-2.0
// After a first pass over a motion, the second allocates nothing: the executable's own malloc counts.
#include "collide_soft.h"

#include <stdatomic.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define COUNTING 0 // a sanitizer brings its own malloc
#else
#define COUNTING 1
#endif

static atomic_bool watching;
static atomic_int count;

#if COUNTING
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *data, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *data);

static void note(void)
{
    if (atomic_load_explicit(&watching, memory_order_relaxed))
        atomic_fetch_add(&count, 1);
}

void *malloc(size_t size)
{
    note();
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    note();
    return __libc_calloc(n, size);
}

void *realloc(void *data, size_t size)
{
    note();
    return __libc_realloc(data, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    note();
    return __libc_memalign(alignment, size);
}

void free(void *data)
{
    if (data != NULL)
        note();
    __libc_free(data);
}
#endif

static void second_pass_allocates_nothing(void **unused)
{
    (void)unused;
    if (!COUNTING)
        skip_because("allocations are not counted: a sanitizer brings its own malloc");
    const double min[3] = {-1, -1, -0.3}, max[3] = {1, 1, 0}, y[3] = {0, 1, 0};
    soft pad = soft_box(min, max, 12, 12, 2), ball = soft_sphere(0, 0, 0, 0.3, 3);
    tdShape shapes[] = {td_shape_box(0.5, 0.4, 0.3), td_shape_cylinder(0.2, 0.3), td_shape_capsule(0.1, 0.3)};
    tdColliderDef c[5] = {soft_collider(&pad, 0), soft_collider(&ball, 1), rigid_collider(&shapes[0], 0),
                          rigid_collider(&shapes[1], 1), rigid_collider(&shapes[2], 2)};
    c[0].self = true;
    tdCollideDef def = {.n_colliders = 5, .colliders = c, .margin = 0.02};
    for (int threads = 0; threads <= 2; threads++)
    {
        scene s = scene_of(&def, threads);
        tdError error = {0};
        tdStatus status = TD_OK;
        int64_t most = 0;
        for (int pass = 0; pass < 3; pass++)
        {
            // Both buffers of contacts have been the larger one after two passes.
            atomic_store(&count, 0);
            atomic_store(&watching, pass == 2);
            for (int step = 0; step < 40 && status == TD_OK; step++)
            {
                tdPose poses[3];
                for (int i = 0; i < 3; i++)
                    poses[i] = pose_about(y, 0.05 * step, 0.4 * i - 0.4, 0.4, 0.35 - 0.01 * step);
                for (int64_t i = 0; i < ball.n_nodes; i++)
                    ball.x[3 * i + 2] += step == 0 ? 0.4 : -0.01;
                const double *x[2] = {pad.x, ball.x};
                tdCollideInput input = {.x = x, .poses = poses};
                status = td_collide(s.world, s.state, &input, &error);
                int64_t n = 0;
                td_collide_contacts(s.state, &n);
                most = n > most ? n : most;
            }
            for (int64_t i = 0; i < ball.n_nodes; i++)
                ball.x[3 * i + 2] += 39 * 0.01 - 0.4;
            atomic_store(&watching, false);
            assert_ok(status, error);
        }
        assert_true(most > 100);
        assert_int_equal(atomic_load(&count), 0);
        scene_free(&s);
    }
    // The counter itself counts.
    if (COUNTING)
    {
        atomic_store(&watching, true);
        void *volatile memory = malloc(100);
        free(memory);
        atomic_store(&watching, false);
        assert_int_equal(atomic_load(&count), 2);
    }
    soft_free(&pad);
    soft_free(&ball);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(second_pass_allocates_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
