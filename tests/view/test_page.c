// SPDX-License-Identifier: Apache-2.0
// Reports: what is put into a page comes out well-formed, whole and harmless.
#include "page.h"

#include "report/page.h"

#include <math.h>
#include <unistd.h>

static char *finish(tdPage *page, size_t *size)
{
    static const char path[] = "/tmp/tendril_page_test.html";
    tdError error = {0};
    char *data = NULL;
    assert_ok(td_page_write(page, path, &error), error);
    assert_ok(td_file_read(path, &data, size, &error), error);
    unlink(path);
    td_page_free(page);
    return data;
}

// Every part once, with text that would break a page that trusted it.
static void test_hostile_text(void **state)
{
    (void)state;
    static const char bad[] = "<script>alert(\"&\")</script> \x01\x1b[0m \xff\xc0\x80 \xed\xa0\x80 ]]> `tail";
    const char *cells[] = {bad, "number", "row", bad};
    const tdFact fact = {bad, bad};
    const double x[] = {0, 1}, y[] = {1, 2};
    const tdSeries series = {.name = bad, .n = 2, .x = x, .y = y};
    tdPlotSettings settings = td_default_page_plot();
    settings.title = settings.x_label = settings.y_label = bad;
    tdError error = {0};
    tdImage image = {0};
    tdPage page = {0};
    assert_ok(td_image_create(17, 16, &image, &error), error);
    td_page_begin(&page, bad, bad);
    td_page_section(&page, bad);
    td_page_text(&page, "%s and %s", bad, "**open");
    td_page_facts(&page, 1, &fact);
    td_page_code(&page, bad);
    td_page_table(&page, 2, 2, cells, "lr", 1, bad);
    td_page_columns(&page);
    assert_ok(td_page_picture(&page, &image, &image, bad, bad, &error), error);
    assert_ok(td_page_plot(&page, &settings, 1, &series, bad, &error), error);
    td_page_columns_end(&page);
    td_page_section(&page, "Second");
    td_page_note(&page, "%s", bad);
    td_image_free(&image);
    size_t size = 0;
    char *text = finish(&page, &size);
    page_check(text, size, 1, 1);
    assert_null(strstr(text, "<script"));
    assert_non_null(strstr(text, "&lt;script&gt;alert(&quot;&amp;&quot;)"));
    free(text);
}

// A text longer than any buffer comes out whole, with its marks.
static void test_long_text(void **state)
{
    (void)state;
    static char words[20001];
    memset(words, 'w', 20000);
    tdPage page = {0};
    td_page_begin(&page, "Long", "lead");
    td_page_text(&page, "**%s** and `code`", words);
    size_t size = 0;
    char *text = finish(&page, &size);
    page_check(text, size, 0, 0);
    char *from = strstr(text, "<strong>w");
    assert_non_null(from);
    assert_int_equal(strspn(from + 8, "w"), 20000);
    assert_non_null(strstr(text, "</strong> and <code>code</code>"));
    free(text);
}

// The three bytes of PNG's signature that base64 cuts evenly; and the tail of every length is padded.
static void test_picture_is_png(void **state)
{
    (void)state;
    tdError error = {0};
    for (int width = 16; width < 22; width++)
    {
        tdImage image = {0};
        tdPage page = {0};
        tdText png = {0};
        size_t size = 0;
        assert_ok(td_image_create(width, 16, &image, &error), error);
        assert_ok(td_image_encode_png(&image, &png, &error), error);
        td_page_begin(&page, "Picture", "lead");
        assert_ok(td_page_picture(&page, &image, NULL, "alt", "caption", &error), error);
        char *text = finish(&page, &size), *from = strstr(text, "base64,iVBORw0KGgo");
        assert_non_null(from);
        assert_int_equal(strcspn(from + 7, "\""), 4 * ((png.size + 2) / 3));
        free(text);
        free(png.data);
        td_image_free(&image);
    }
}

static int count_of(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)) != NULL; text += strlen(what))
        n++;
    return n;
}

static void test_plots(void **state)
{
    (void)state;
    // A gap makes two strokes; markers stand at every number that is there.
    const double x[] = {0, 1, 2, 3, 4}, y[] = {1, 2, NAN, 4, 5}, low[] = {0, 1, NAN, 3, 4}, high[] = {2, 3, NAN, 5, 6};
    const tdSeries curve = {
        .name = "gap", .n = 5, .x = x, .y = y, .low = low, .high = high, .marker = TD_MARKER_CIRCLE, .colour = 3};
    const tdSeries all[] = {curve,
                            {.n = 5, .x = x, .y = y, .marker = TD_MARKER_SQUARE, .line = TD_LINE_NONE},
                            {.n = 5, .x = x, .y = y, .marker = TD_MARKER_DIAMOND, .line = TD_LINE_DASHED},
                            {.n = 5, .x = x, .y = y, .marker = TD_MARKER_TRIANGLE, .colour = -1}};
    tdPlotSettings settings = td_default_page_plot();
    tdError error = {0};
    tdPage page = {0};
    size_t size = 0;
    td_page_begin(&page, "Plots", "lead");
    assert_ok(td_page_plot(&page, &settings, 4, all, "curves", &error), error);
    char *text = finish(&page, &size);
    page_check(text, size, 0, 1);
    assert_int_equal(count_of(text, "<circle class=\"mark c3\""), 4 + 1); // and one in the legend
    char *stroke = strstr(text, "</ul>");
    assert_non_null(stroke);
    stroke = strstr(stroke, "<path class=\"curve c3\" d=\"");
    assert_non_null(stroke);
    stroke += strlen("<path class=\"curve c3\" d=\"");
    char *end = strchr(stroke, '"');
    *end = '\0';
    assert_int_equal(count_of(stroke, "M"), 2);
    assert_int_equal(count_of(stroke, "L"), 2);
    free(text);

    // Bars on a logarithmic axis, with the numbers above them.
    const double rates[] = {12.5, 4321, 98765};
    const char *const names[] = {"one", "two & more", "three"};
    const tdSeries bars = {.n = 3, .y = rates};
    settings.n_categories = 3;
    settings.categories = names;
    settings.bar_values = settings.y_log = true;
    td_page_begin(&page, "Bars", "lead");
    assert_ok(td_page_plot(&page, &settings, 1, &bars, "bars", &error), error);
    text = finish(&page, &size);
    page_check(text, size, 0, 1);
    assert_int_equal(count_of(text, "<rect class=\"bar"), 3);
    assert_non_null(strstr(text, ">12.5<"));
    assert_non_null(strstr(text, ">4,321<"));
    assert_non_null(strstr(text, ">98,765<"));
    assert_non_null(strstr(text, "two &amp; more"));
    assert_non_null(strstr(text, "10<tspan"));
    free(text);
}

// Where a bar of a page begins and ends, downwards.
static const char *next_bar(const char *at, double *top, double *bottom)
{
    double x, width, height;
    at = strstr(at, "<rect class=\"bar");
    assert_non_null(at);
    assert_int_equal(
        sscanf(strstr(at, " x="), " x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", &x, top, &width, &height), 4);
    *bottom = *top + height;
    return at + 1;
}

// Bars stand on zero or hang from it, and are as long as their values; where zero is not shown, they stand on the axis.
static void test_bars_from_zero(void **state)
{
    (void)state;
    const double y[] = {2, -1, 3};
    const char *const names[] = {"one", "two", "three"};
    const tdSeries bars = {.n = 3, .y = y};
    for (int above = 0; above < 2; above++)
    {
        tdPlotSettings settings = td_default_page_plot();
        tdError error = {0};
        tdPage page = {0};
        size_t size = 0;
        settings.n_categories = 3;
        settings.categories = names;
        if (above)
            settings.y_range[0] = 1, settings.y_range[1] = 4;
        td_page_begin(&page, "Bars", "lead");
        assert_ok(td_page_plot(&page, &settings, 1, &bars, "bars", &error), error);
        char *text = finish(&page, &size);
        double top[3], bottom[3];
        const char *at = text;
        for (int k = 0; k < 3; k++)
            at = next_bar(at, &top[k], &bottom[k]);
        assert_near(bottom[2], bottom[0], 0.15); // a digit is written
        if (!above)
        {
            double unit = (bottom[0] - top[0]) / 2;
            assert_true(unit > 10);
            assert_near(bottom[2] - top[2], 3 * unit, 0.5);
            assert_near(top[1], bottom[0], 0.15);
            assert_near(bottom[1] - top[1], unit, 0.5);
        }
        else
            assert_near(bottom[2] - top[2], 2 * (bottom[0] - top[0]), 0.5);
        free(text);
    }
}

static void test_plots_refused(void **state)
{
    (void)state;
    const double x[] = {0, 1}, y[] = {0, -1}, inf[] = {1, INFINITY};
    tdSeries series = {.n = 2, .x = x, .y = y};
    tdPlotSettings settings = td_default_page_plot();
    tdError error = {0};
    tdPage page = {0};
    assert_int_equal(td_page_plot(&page, &settings, 0, &series, "none", &error), TD_ERROR_USAGE);
    settings.y_log = true;
    assert_int_equal(td_page_plot(&page, &settings, 1, &series, "negative", &error), TD_ERROR_INPUT);
    settings.y_log = false;
    series.y = inf;
    assert_int_equal(td_page_plot(&page, &settings, 1, &series, "infinite", &error), TD_ERROR_INPUT);
    settings.width = 20;
    assert_int_equal(td_page_plot(&page, &settings, 1, &series, "small", &error), TD_ERROR_USAGE);
    td_page_free(&page);
    // A page that could not be written says so.
    td_page_begin(&page, "Nowhere", "lead");
    assert_int_equal(td_page_write(&page, "/nonexistent/folder/page.html", &error), TD_ERROR_IO);
    assert_non_null(strstr(error.file, "nonexistent"));
    td_page_free(&page);
}

static void test_count(void **state)
{
    (void)state;
    char out[32];
    assert_string_equal(td_page_count(0, out), "0");
    assert_string_equal(td_page_count(999, out), "999");
    assert_string_equal(td_page_count(1000, out), "1,000");
    assert_string_equal(td_page_count(-123456, out), "-123,456");
    assert_string_equal(td_page_count(1234567, out), "1,234,567");
    assert_string_equal(td_page_count(INT64_MIN, out), "-9,223,372,036,854,775,808");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_text),   cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_picture_is_png), cmocka_unit_test(test_plots),
        cmocka_unit_test(test_bars_from_zero), cmocka_unit_test(test_plots_refused),
        cmocka_unit_test(test_count),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    xmlCleanupParser();
    return failed;
}
