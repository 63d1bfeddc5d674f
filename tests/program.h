// SPDX-License-Identifier: Apache-2.0
// The program as a user meets it: started in a folder of the test's own, its streams and files read back.
#pragma once
#include "json.h"

#include "base/file.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/tendril_program_XXXXXX";

static inline void write_text(const char *name, const char *text)
{
    char path[256];
    tdError error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(td_file_write_quickly(path, text, strlen(text), &error), error);
}

// Not inlined: GCC 12 would then warn of a dangling pointer that is none.
__attribute__((noinline, unused)) static char *read_text(const char *name)
{
    char path[256], *data = NULL;
    size_t size = 0;
    tdError error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(td_file_read(path, &data, &size, &error), error);
    return data;
}

static inline bool exists(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/// Waits until a file of a running program is there; who waits in vain is ended after ten minutes, however busy the
/// machine is.
static inline void await(const char *name)
{
    for (int i = 0; i < 120000 && !exists(name); i++)
        usleep(5000);
    assert_true(exists(name));
}

/// The number of rows of a table under its header.
static inline int rows_of(const char *name)
{
    char *text = read_text(name);
    int n = -1;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        n++;
    free(text);
    return n;
}

/// Starts the program in the test's folder; its streams go to files there.
/// Programs start with the signals of the test instead of those of a terminal.
static bool inherit_signals;

/// In the child, before the program: its signals, also where these tests run under nohup or in the background; and a
/// test that fails leaves nothing behind.
static inline void as_from_a_terminal(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < 3 && !inherit_signals; i++)
        signal(signals[i], SIG_DFL);
}

/// Starts a shell's command; what it starts ends with the test.
static inline pid_t start_shell(const char *command)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
    {
        as_from_a_terminal();
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static inline pid_t start_command(const char *name, const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof command, "cd %s && exec %s %s %s >stdout.txt 2>stderr.txt", folder, TD_PROGRAM, name,
             arguments);
    return start_shell(command);
}

/// Waits until a file of a running program is there, or the program has ended without it.
static inline void await_file(pid_t pid, const char *name)
{
    while (!exists(name))
    {
        siginfo_t ended = {0};
        assert_int_equal(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
        if (ended.si_pid == pid && !exists(name))
            fail_msg("the program has ended without making %s", name);
        usleep(5000);
    }
}

/// Its exit code, or less than zero the signal that ended it.
static inline int finish(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int run_command(const char *name, const char *arguments)
{
    return finish(start_command(name, arguments));
}

static inline void assert_says(const char *stream, const char *words)
{
    char *text = read_text(stream);
    if (strstr(text, words) == NULL)
        fail_msg("'%s' is not in:\n%s", words, text);
    free(text);
}

/// The command ends with a code and says some words on stderr.
static inline void assert_refuses(const char *name, const char *arguments, int code, const char *words)
{
    int ended = run_command(name, arguments);
    if (ended != code)
        fail_msg("'%s %s' ends with %d", name, arguments, ended);
    assert_says("stderr.txt", words);
}

/// The text of a JSON value, up to the comma or brace behind it; enough for numbers and lists of them.
static inline char *json_value(const char *key)
{
    char *text = read_text("stdout.txt"), quoted[64];
    assert_json(text);
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    if (strstr(text, quoted) == NULL)
        fail_msg("no key %s in %s", key, text);
    size_t from = (size_t)(strstr(text, quoted) - text) + strlen(quoted);
    char *value = strndup(text + from, strcspn(text + from, text[from] == '[' ? "]" : ",}"));
    free(text);
    return value;
}

static inline double json_number(const char *key)
{
    char *text = json_value(key);
    double value = strtod(text, NULL);
    free(text);
    return value;
}

static inline int make_folder(void)
{
    setenv("TENDRIL_STOP_LIMIT", "600", 1); // a busy machine is no reason to fail
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static inline int teardown(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}
