// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

#include "base/file.h"
#include "base/suggest.h"
#include "signals.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_SCENE (17 << 20) // bytes; more than the parser takes

// The program's own switches; the library has no globals.
static bool json_wanted;
static bool quiet_wanted;
static bool json_printed;
static const char *rom_wanted, *package_wanted, *set_wanted;
static bool rom_whole_wanted, rom_exact_wanted, full_order_wanted;
static tdText sets_wanted;     // of --set, by lines
static tdText standard_input;  // the scene, where "-" stands for it
static tdText packages_wanted; // of --package; then those of ROS_PACKAGE_PATH
static bool force_wanted;
static cliWords *repeated; // of the option that may stand several times; NULL: there is none
static int words;
static char **word;

bool cli_json(void)
{
    return json_wanted;
}

bool cli_quiet(void)
{
    return quiet_wanted;
}

const char **cli_set(void)
{
    return &set_wanted;
}

const char **cli_package(void)
{
    return &package_wanted;
}

const char **cli_rom(void)
{
    return &rom_wanted;
}

bool *cli_full_order(void)
{
    return &full_order_wanted;
}

bool *cli_rom_whole(void)
{
    return &rom_whole_wanted;
}

bool *cli_rom_exact(void)
{
    return &rom_exact_wanted;
}

void cli_repeats(cliWords *given)
{
    repeated = given;
}

bool *cli_force(void)
{
    return &force_wanted;
}

void cli_remember(int argc, char **argv)
{
    words = argc;
    word = argv;
}

static void append_word(tdText *text, const char *given)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./,:=+@%";
    if (text->size > 0)
        td_text_append(text, " ", 1);
    if (given[0] != '\0' && strspn(given, plain) == strlen(given))
    {
        td_text_append(text, given, strlen(given));
        return;
    }
    td_text_append(text, "'", 1);
    for (const char *c = given; *c != '\0'; c++)
        if (*c == '\'')
            td_text_append(text, "'\\''", 4);
        else
            td_text_append(text, c, 1);
    td_text_append(text, "'", 1);
}

bool cli_command_line(const char *more, char *out, size_t size)
{
    tdText text = {0};
    for (int i = 0; i < words; i++)
        append_word(&text, word[i]);
    append_word(&text, more);
    bool good = words > 0 && !text.failed && (size_t)text.size < size;
    if (good)
        memcpy(out, text.data, (size_t)text.size + 1);
    free(text.data);
    return good;
}

int cli_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("tendril: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n", stderr);
    va_end(args);
    return TD_ERROR_USAGE;
}

void cli_json_error(tdJson *json, const tdError *error)
{
    td_json_open(json, "error", '{');
    td_json_string(json, "kind", td_status_name(error->status));
    td_json_string(json, "file", error->file);
    td_json_integer(json, "line", error->line);
    td_json_string(json, "field", error->field);
    td_json_string(json, "message", error->message);
    td_json_close(json, '}');
}

// Who asked for JSON and reads stdout alone learns of the failure too.
static void print_json_error(const tdError *error)
{
    tdJson json = {0};
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "status", "failed");
    cli_json_error(&json, error);
    td_json_close(&json, '}');
    cli_print_json(&json);
}

int cli_fail(const tdError *error)
{
    char text[1200];
    td_error_format(error, text, sizeof text);
    fprintf(stderr, "tendril: %s\n", text);
    if (json_wanted && !json_printed)
        print_json_error(error);
    return error->status != TD_OK ? (int)error->status : TD_ERROR_INPUT;
}

static int unknown_option(const char *given, const cliOption *options, int n)
{
    const char *names[64] = {"--help", "--json", "--quiet"};
    int count = 3;
    for (int i = 0; i < n && count < 64; i++)
        names[count++] = options[i].name;
    const char *nearest = td_suggest(given, names, count);
    if (nearest != NULL)
        return cli_usage("unknown option %s; did you mean %s?", given, nearest);
    return cli_usage("unknown option %s; --help lists the options", given);
}

static bool keep_package(const char *given)
{
    const char *equals = strchr(given, '=');
    if (equals == NULL || equals == given || equals[1] == '\0' || strchr(given, ':') != NULL)
        return false;
    td_text_format(&packages_wanted, "%s:", given);
    return true;
}

// "-" is a scene for commands that take one.
static bool names_standard_input(const char *given, const cliOption *options, int n)
{
    for (int i = 0; i < n; i++)
        if (options[i].value == &set_wanted)
            return strcmp(given, "-") == 0;
    return false;
}

static bool read_standard_input(void)
{
    char piece[4096];
    size_t n;
    while (standard_input.size <= MOST_SCENE && (n = fread(piece, 1, sizeof piece, stdin)) > 0)
        td_text_append(&standard_input, piece, n);
    td_text_append(&standard_input, "", 1);
    return !ferror(stdin) && !standard_input.failed && strlen(standard_input.data) + 1 == (size_t)standard_input.size;
}

// Where the text of an option's line begins: behind two blanks or more. 0: it is not such a line.
static int option_text(const char *line, size_t length)
{
    if (length < 5 || strncmp(line, "  -", 3) != 0)
        return 0;
    for (size_t i = 4; i + 2 < length; i++)
        if (line[i] == ' ' && line[i + 1] == ' ')
        {
            size_t end = i + strspn(line + i, " ");
            return end < length ? (int)end : 0;
        }
    return 0;
}

// Options that several commands share are written with other widths than a command's own: all texts of a help begin in
// one column, that of the longest option that is not too long.
static void print_aligned(const char *text)
{
    int widest = 0, shift = 0;
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
    {
        int column = option_text(line, strcspn(line, "\n")), end = column;
        while (end > 0 && line[end - 1] == ' ')
            end--;
        if (end + 2 <= 28 && column > 0 && end + 2 > widest)
            widest = end + 2;
        if (line[strcspn(line, "\n")] == '\0')
            break;
    }
    for (const char *line = text; *line != '\0';)
    {
        size_t length = strcspn(line, "\n");
        int column = option_text(line, length), end = column, blanks = (int)strspn(line, " ");
        while (end > 0 && line[end - 1] == ' ')
            end--;
        if (column > 0)
        {
            int at = end + 2 > widest ? end + 2 : widest;
            shift = at - column;
            printf("%.*s%*s%.*s\n", end, line, at - end, "", (int)length - column, line + column);
        }
        else if (blanks >= 10 && shift != 0 && blanks + shift > 0) // goes on with the text of an option
            printf("%*s%.*s\n", blanks + shift, "", (int)length - blanks, line + blanks);
        else
        {
            shift = 0;
            printf("%.*s\n", (int)length, line);
        }
        line += length + (line[length] == '\n');
    }
}

int cli_parse(int argc, char **argv, const char *help, const cliOption *options, int n_options, const char **positional,
              int min, int max)
{
    int found = 0;
    for (int i = 0; i < argc; i++)
    {
        const char *a = argv[i];
        if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0)
        {
            print_aligned(help);
            return 0;
        }
        if (strcmp(a, "--json") == 0)
            json_wanted = true;
        else if (strcmp(a, "--quiet") == 0 || strcmp(a, "-q") == 0)
            quiet_wanted = true;
        else if (a[0] == '-' && a[1] != '\0')
        {
            int k = 0;
            while (k < n_options && strcmp(options[k].name, a) != 0)
                k++;
            if (k == n_options)
                return unknown_option(a, options, n_options);
            if (options[k].value == NULL)
                *options[k].flag = true;
            else if (i + 1 >= argc)
                return cli_usage("%s needs a value; --help shows how", a);
            else
                *options[k].value = argv[++i];
            if (repeated != NULL && options[k].value == &repeated->last)
            {
                if (repeated->n == CLI_WORDS)
                    return cli_usage("%s is given more than %d times", a, CLI_WORDS);
                repeated->word[repeated->n++] = repeated->last;
            }
            if (options[k].value == &set_wanted)
                td_text_format(&sets_wanted, "%s\n", set_wanted);
            if (options[k].value == &package_wanted && !keep_package(package_wanted))
                return cli_usage("--package takes NAME=DIR, not '%s'", package_wanted);
        }
        else if (found == max)
            return cli_usage("unexpected argument '%s'; --help shows the form", a);
        else
            positional[found++] = a;
        if (found > 0 && positional[found - 1] == a && names_standard_input(a, options, n_options))
        {
            if (standard_input.data != NULL || !read_standard_input())
                return cli_usage("standard input is not the text of a scene: it cannot be read, contains a zero byte, "
                                 "or is named twice");
            positional[found - 1] = "stdin"; // its name in messages
        }
    }
    if (found < min)
        return cli_usage("an argument is missing; --help shows the form");
    if ((rom_whole_wanted || rom_exact_wanted) && rom_wanted == NULL)
        return cli_usage("%s says how --rom is used; give --rom FILE too",
                         rom_whole_wanted ? "--rom-whole" : "--rom-exact");
    return -1;
}

bool cli_integer(const char *option, const char *text, long least, long *out)
{
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > 1000000000L)
    {
        cli_usage("%s takes a whole number from %ld to 1000000000, not '%s'", option, least, text);
        return false;
    }
    *out = value;
    return true;
}

bool cli_check_report(const char *path)
{
    char extension[16] = "";
    if (path != NULL)
        td_path_extension(extension, sizeof extension, path);
    if (path == NULL || strcmp(extension, ".html") == 0)
        return true;
    cli_usage("--report %s: a report is an HTML page; give a name that ends in .html", path);
    return false;
}

bool cli_number(const char *option, const char *text, double *out)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value - value == 0))
    {
        cli_usage("%s takes a number, not '%s'", option, text);
        return false;
    }
    *out = value;
    return true;
}

void cli_print_json(tdJson *json)
{
    if (json->text.data != NULL)
        puts(json->text.data);
    json_printed = true;
    free(json->text.data);
    *json = (tdJson){0};
}

int cli_end(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "tendril: the result cannot be written to stdout: %s\n", strerror(errno));
    return code == 0 ? TD_ERROR_IO : code;
}

tdStatus cli_write(const char *folder, const char *name, const tdText *text, tdError *error)
{
    char path[PATH_MAX];
    if (text->failed)
        return td_fail_memory(error, "a file");
    if (!td_path_join(path, sizeof path, folder, name))
        return td_fail_at(error, TD_ERROR_IO, folder, 0, NULL, "the path is too long");
    return td_file_write(path, text->data, (size_t)text->size, error);
}

static void log_to_stderr(void *user, tdLogLevel level, const char *message)
{
    (void)user;
    if (quiet_wanted && level < TD_LOG_WARNING)
        return;
    fprintf(stderr, "%s%s\n", level == TD_LOG_WARNING ? "warning: " : "", message);
}

// --package, then the environment, which is asked for once.
static const char *packages(void)
{
    static bool asked;
    const char *folders = asked ? NULL : getenv("ROS_PACKAGE_PATH");
    asked = true;
    if (folders != NULL)
        td_text_format(&packages_wanted, "%s", folders);
    return packages_wanted.data;
}

tdSettings cli_settings(void)
{
    tdSettings settings = td_default_settings();
    settings.log = log_to_stderr;
    settings.cancel = sig_cancel;
    settings.rom = rom_wanted;
    settings.packages = packages();
    settings.set = sets_wanted.data;
    settings.text = standard_input.data;
    settings.rom_whole = rom_whole_wanted;
    settings.full_order = full_order_wanted;
    settings.rom_precision = rom_exact_wanted ? TD_ROM_DOUBLE : TD_ROM_AUTO;
    return settings;
}

void cli_progress(const char *what, int64_t done, int64_t total)
{
    if (quiet_wanted || total <= 0)
        return;
    if (!isatty(STDERR_FILENO))
    {
        // A line at each tenth, so that a log file stays readable.
        if (done > 0 && done * 10 / total != (done - 1) * 10 / total)
            fprintf(stderr, "%s: %lld of %lld\n", what, (long long)done, (long long)total);
        return;
    }
    const int width = 40;
    int filled = (int)(done * width / total);
    fprintf(stderr, "\r%s [%.*s%*s] %3d%%", what, filled, "########################################", width - filled,
            "", (int)(done * 100 / total));
    if (done >= total)
        fputs("\n", stderr);
    fflush(stderr);
}

bool cli_study(void *unused, const char *phase, int64_t done, int64_t total)
{
    (void)unused;
    if (done > 0 && strcmp(phase, "timing") != 0) // which is short, and begins anew for each model
        cli_progress(phase, done, total);
    return !sig_came();
}

bool cli_shipped(const char *name, char *out, size_t size)
{
    static const char *const places[] = {"..", "../share/tendril", "../.."};
    char program[PATH_MAX], folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return false;
    program[length] = '\0';
    td_path_folder(folder, sizeof folder, program);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
    {
        int n = snprintf(out, size, "%s/%s/%s", folder, places[i], name);
        if (n > 0 && (size_t)n < size && access(out, R_OK) == 0)
            return true;
    }
    return false;
}
