// SPDX-License-Identifier: Apache-2.0
// The same contacts, bit for bit, for any number of threads, for a chain of soft rings with rigid parts between them.
#include "collide_soft.h"

enum
{
    RINGS = 12,
    STEPS = 6
};

// Rings hung in each other, every second one turned by a quarter.
static void make_chain(soft rings[RINGS], double shift)
{
    for (int i = 0; i < RINGS; i++)
    {
        rings[i] = soft_torus(0.3, 0.08, 24, 12);
        const double x[3] = {1, 0, 0};
        tdPose pose = pose_about(x, i % 2 == 0 ? 0 : 1.5707963267948966, (0.44 - shift) * i, 0, 0);
        soft_place(&rings[i], &pose);
    }
}

static uint64_t hash_of(uint64_t hash, const void *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * 1099511628211U;
    return hash;
}

static uint64_t run(int threads, int64_t *count)
{
    soft rings[RINGS];
    tdShape shapes[] = {td_shape_box(0.2, 0.2, 0.2), td_shape_capsule(0.05, 0.3), td_shape_cylinder(0.1, 0.2)};
    tdColliderDef c[RINGS + 4];
    make_chain(rings, 0);
    for (int i = 0; i < RINGS; i++)
    {
        c[i] = soft_collider(&rings[i], i);
        c[i].self = i % 3 == 0;
    }
    for (int i = 0; i < 3; i++)
        c[RINGS + i] = rigid_collider(&shapes[i], i);
    tdShape plane = td_shape_plane();
    c[RINGS + 3] = rigid_collider(&plane, -1);
    tdCollideDef def = {.n_colliders = RINGS + 4, .colliders = c, .margin = 0.02};
    scene s = scene_of(&def, threads);
    uint64_t hash = 1469598103934665603U;
    *count = 0;
    for (int step = 0; step < STEPS; step++)
    {
        for (int i = 0; i < RINGS; i++)
            soft_free(&rings[i]);
        make_chain(rings, 0.004 * step);
        const double *x[RINGS];
        tdPose poses[3];
        const double y[3] = {0, 1, 0};
        for (int i = 0; i < RINGS; i++)
            x[i] = rings[i].x;
        for (int i = 0; i < 3; i++)
            poses[i] = pose_about(y, 0.3 * step, 0.5 * i, 0.35, 0.05);
        tdCollideInput input = {.x = x, .poses = poses};
        int64_t n = 0;
        const tdContact *contacts = scene_contacts(&s, &input, &n);
        check_contacts(contacts, n);
        for (int64_t i = 0; i < n; i++)
        {
            hash = hash_of(hash, &contacts[i].key, sizeof contacts[i].key);
            hash = hash_of(hash, &contacts[i].previous, sizeof contacts[i].previous);
            hash = hash_of(hash, &contacts[i].phi, sizeof contacts[i].phi);
            hash = hash_of(hash, contacts[i].normal, sizeof contacts[i].normal);
            hash = hash_of(hash, contacts[i].position, sizeof contacts[i].position);
        }
        *count += n;
    }
    scene_free(&s);
    for (int i = 0; i < RINGS; i++)
        soft_free(&rings[i]);
    return hash;
}

static void same_bits_for_any_number_of_threads(void **unused)
{
    (void)unused;
    int64_t first = 0;
    uint64_t hash = run(0, &first);
    assert_true(first > 500);
    for (int threads = 1; threads <= 4; threads++)
    {
        int64_t n = 0;
        assert_true(run(threads, &n) == hash);
        assert_int_equal(n, first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits_for_any_number_of_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
