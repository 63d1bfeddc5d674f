// SPDX-License-Identifier: Apache-2.0
// What is read of anybody's HDF5: the shape, the kind and the width of numbers must be those expected, each by itself.
#include "test.h"

#include "store/h5.h"

#include <unistd.h>

#define FILE_NAME "test_h5_read.h5"

static hid_t file;

static int setup(void **unused)
{
    (void)unused;
    file = H5Fcreate(FILE_NAME, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    return file >= 0 ? 0 : -1;
}

static int teardown(void **unused)
{
    (void)unused;
    return H5Fclose(file) < 0 ? -1 : unlink(FILE_NAME);
}

static void put(const char *name, hid_t type, hsize_t rows, hsize_t columns, bool written)
{
    static const char zero[1000];
    const hsize_t dims[2] = {rows, columns};
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t data = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(data >= 0);
    if (written)
        assert_true(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, zero) >= 0);
    H5Dclose(data);
    H5Sclose(space);
}

static void expect(const char *name, bool integers, const char *says)
{
    tdError error = {0};
    tdArena arena = {0};
    void *data = NULL;
    const int64_t dims[2] = {2, 3};
    tdH5Quiet quiet = td_h5_begin();
    tdStatus status = td_h5_read_array(file, name, FILE_NAME, integers, 2, dims, &arena, &data, &error);
    td_h5_end(quiet);
    if (says == NULL)
    {
        assert_ok(status, error);
        assert_non_null(data);
    }
    else if (status != TD_ERROR_INPUT || strstr(error.message, says) == NULL)
        fail_msg("'%s' is not in '%s'", says, error.message);
    td_arena_free(&arena);
}

static void test_arrays(void **unused)
{
    (void)unused;
    static const char whole[] = "does not hold whole numbers of 32 bits", real[] = "does not hold numbers of 64 bits";
    put("double", H5T_IEEE_F64LE, 2, 3, true);
    put("float", H5T_IEEE_F32LE, 2, 3, true);
    put("int32", H5T_STD_I32LE, 2, 3, true);
    put("int64", H5T_STD_I64LE, 2, 3, true);
    put("int16", H5T_STD_I16LE, 2, 3, true);
    expect("double", false, NULL);
    expect("float", false, real); // the kind alone is right
    expect("int64", false, real); // the width alone
    expect("int16", false, real);
    expect("int32", true, NULL);
    expect("int64", true, whole);
    expect("float", true, whole);
    expect("double", true, whole);
    put("more", H5T_IEEE_F64LE, 2, 4, true);
    put("less", H5T_IEEE_F64LE, 1, 3, true);
    put("hollow", H5T_IEEE_F64LE, 2, 3, false);
    expect("more", false, "does not have the size");
    expect("less", false, "does not have the size");
    expect("hollow", false, "is incomplete");
    expect("nothing", false, "is missing");
}

static void test_attributes(void **unused)
{
    (void)unused;
    tdError error = {0};
    tdArena arena = {0};
    int64_t whole = 0;
    double real = 0;
    const char *text = NULL;
    assert_true(td_h5_integer(file, "whole", 7) >= 0 && td_h5_number(file, "real", 0.5) >= 0);
    assert_true(td_h5_text(file, "text", "words") >= 0);
    assert_ok(td_h5_read_integer(file, ".", "whole", FILE_NAME, 7, 7, &whole, &error), error);
    assert_ok(td_h5_read_number(file, ".", "real", FILE_NAME, &real, &error), error);
    assert_ok(td_h5_read_text(file, ".", "text", &arena, FILE_NAME, &text, &error), error);
    assert_true(whole == 7 && real == 0.5);
    assert_string_equal(text, "words");
    assert_int_equal(td_h5_read_integer(file, ".", "whole", FILE_NAME, 8, 9, &whole, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "is 7, expected 8 to 9"));
    assert_int_equal(td_h5_read_integer(file, ".", "whole", FILE_NAME, 0, 6, &whole, &error), TD_ERROR_INPUT);
    assert_int_equal(td_h5_read_integer(file, ".", "real", FILE_NAME, 0, 6, &whole, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "is not a whole number"));
    assert_int_equal(td_h5_read_number(file, ".", "whole", FILE_NAME, &real, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "is not a number"));
    assert_int_equal(td_h5_read_text(file, ".", "real", &arena, FILE_NAME, &text, &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, "is not a list of strings"));
    td_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_arrays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_attributes, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
