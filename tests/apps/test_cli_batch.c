// SPDX-License-Identifier: Apache-2.0
// tendril batch as a user meets it: on the CPU, and on what stands for a GPU, beside the CPU.
#include "program.h"

#define ARM     TD_SOURCE_DIR "/tests/golden/scenes/arm.yaml --rom " TD_SOURCE_DIR "/tests/golden/scenes/arm.h5 "
#define BACK    "--device gpu --gpu " TD_BUILD_DIR "/libtendril_gpu_host.so "
#define BEAM    TD_SOURCE_DIR "/scenes/beam.yaml "
#define NO_FILE "--device gpu --gpu nowhere.so "

static int setup(void **state)
{
    (void)state;
    return make_folder();
}

static void test_devices(void **state)
{
    (void)state;
    assert_int_equal(run_command("batch", ARM "--robots 1,3 --steps 10 --json --quiet"), 0);
    char *list = json_value("batches");
    assert_non_null(strstr(list, "\"robots\": 3"));
    free(list);
    assert_int_equal(run_command("batch", ARM BACK "--robots 2 --steps 40 --hold 2 --check 3 --json --quiet"), 0);
    assert_true(json_number("coords") < 1e-4 && json_number("coords") > 0);
    assert_true(json_number("displacements") < 1e-4);
    assert_int_equal(run_command("batch", ARM BACK "--robots 2 --steps 10 --check 1"), 0);
    assert_says("stdout.txt", "compared with the CPU, 1 robots over 10");
}

static void test_refused(void **state)
{
    (void)state;
    assert_refuses("batch", ARM NO_FILE "--robots 2", 3, "the GPU is not used");
    assert_refuses("batch", BEAM BACK "--robots 2", 3, "reduced bodies only");
    assert_refuses("batch", ARM "--device tpu", 2, "--device takes cpu or gpu");
    assert_refuses("batch", ARM "--robots 2,x", 2, "--robots takes");
    assert_refuses("batch", ARM "--steps 10 --hold 3", 2, "divides");
    assert_refuses("batch", ARM "--half", 2, "--half is for --device gpu");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_devices), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
