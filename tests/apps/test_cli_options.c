// SPDX-License-Identifier: Apache-2.0
// What the help of a command promises it takes: every option, with a value where the help shows one.
#include "program.h"

#include <ctype.h>

// Adds the options that a line of a help begins with, as "  --width N --height N size in pixels" does.
static int add_options(const char *line, char *out, size_t size)
{
    int n = 0;
    for (const char *at = line + strspn(line, " "); *at == '-' && (at[1] == '-' || isalpha((unsigned char)at[1]));)
    {
        int length = (int)strcspn(at, " \n"), value = 0;
        const char *next = at + length;
        if (*next == ' ' && isupper((unsigned char)next[1]))
            value = (int)strcspn(next + 1, " \n");
        snprintf(out + strlen(out), size - strlen(out), " %.*s%s", length, at, value > 0 ? " 1=2" : "");
        at = next + (value > 0 ? 1 + value : 0);
        at += strspn(at, " ");
        n++;
    }
    return n;
}

// As run_command() does, with more room for words.
static int run_words(const char *command, const char *words)
{
    char line[8192];
    snprintf(line, sizeof line, "cd %s && exec %s %s %s >stdout.txt 2>stderr.txt", folder, TD_PROGRAM, command, words);
    return finish(start_shell(line));
}

// Gives a command all of them, then --help, which ends with 0 if it knew what stood before.
static int take_all(const char *command)
{
    char all[2000] = "";
    int n = 0;
    assert_int_equal(run_command(command, "--help"), 0);
    char *help = read_text("stdout.txt");
    for (const char *line = strchr(help, '\n'); line != NULL; line = strchr(line, '\n'))
    {
        line++;
        if (strncmp(line, "  -", 3) == 0)
            n += add_options(line, all, sizeof all);
    }
    snprintf(all + strlen(all), sizeof all - strlen(all), " --help");
    assert_true(strlen(all) < sizeof all - 1); // nothing was cut off
    if (run_words(command, all) != 0)
    {
        char *said = read_text("stderr.txt");
        fail_msg("'%s%s': %s", command, all, said);
    }
    char *again = read_text("stdout.txt");
    assert_string_equal(help, again);
    // Commands of its own, as of "'tendril material fit --help'".
    char quoted[64];
    int length = snprintf(quoted, sizeof quoted, "'tendril %s ", command);
    for (const char *at = help; (at = strstr(at, quoted)) != NULL; at++)
    {
        int word = (int)strcspn(at + length, " ");
        if (strncmp(at + length + word, " --help'", 8) == 0)
        {
            char longer[128];
            snprintf(longer, sizeof longer, "%s %.*s", command, word, at + length);
            n += take_all(longer);
        }
    }
    free(help);
    free(again);
    return n;
}

static void test_help_is_true(void **unused)
{
    (void)unused;
    int commands = 0, options = 0;
    assert_int_equal(run_command("--help", ""), 0);
    char *help = read_text("stdout.txt");
    for (const char *line = strchr(help, '\n'); line != NULL; line = strchr(line, '\n'))
    {
        line++;
        if (strncmp(line, "  ", 2) != 0 || !islower((unsigned char)line[2]))
            continue;
        char command[64];
        snprintf(command, sizeof command, "%.*s", (int)strcspn(line + 2, " \n"), line + 2);
        options += take_all(command);
        commands++;
    }
    free(help);
    assert_true(commands > 15 && options > 10 * commands);
    assert_refuses("run", "--no-such-option", 2, "unknown option --no-such-option");
}

static int setup(void **unused)
{
    (void)unused;
    return make_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_help_is_true)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
