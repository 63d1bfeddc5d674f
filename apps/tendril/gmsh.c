// SPDX-License-Identifier: Apache-2.0
#include "gmsh.h"

#include "base/memory.h"
#include "base/timer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// More than this says nothing new: the first errors are the ones that matter.
#define MOST_OUTPUT ((int64_t)4 << 20)

// Set by an interruption, so that gmsh is stopped and the folder removed before the program ends.
static volatile sig_atomic_t interrupted;

static void note_interruption(int number)
{
    interrupted = number;
}

static void catch_signals(bool on)
{
    struct sigaction action = {0};
    action.sa_handler = on ? note_interruption : SIG_DFL;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

// ---------------------------------------------------------------- the folder

tdStatus gmsh_open(gmshWork *work, double seconds, tdError *error)
{
    *work = (gmshWork){.seconds = seconds};
    const char *base = getenv("TMPDIR");
    if (base == NULL || base[0] == '\0')
        base = "/tmp";
    int n = snprintf(work->folder, sizeof work->folder, "%s/tendril-mesh-XXXXXX", base);
    if (n < 0 || (size_t)n >= sizeof work->folder || mkdtemp(work->folder) == NULL)
    {
        work->folder[0] = '\0';
        return td_fail_at(error, TD_ERROR_IO, base, 0, NULL,
                          "a temporary folder cannot be made: %s; set TMPDIR to a folder that can be written",
                          strerror(errno));
    }
    catch_signals(true);
    return TD_OK;
}

void gmsh_close(gmshWork *work)
{
    free(work->output.data);
    work->output = (tdText){0};
    if (work->folder[0] == '\0')
        return;
    DIR *folder = opendir(work->folder);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder != NULL)
        closedir(folder);
    rmdir(work->folder);
    work->folder[0] = '\0';
    catch_signals(false);
    if (interrupted != 0)
        raise(interrupted);
}

tdStatus gmsh_path(const gmshWork *work, const char *name, char path[PATH_MAX], tdError *error)
{
    if (!td_path_join(path, PATH_MAX, work->folder, name))
        return td_fail_at(error, TD_ERROR_IO, work->folder, 0, NULL,
                          "the path is too long; set TMPDIR to a shorter one");
    return TD_OK;
}

tdStatus gmsh_write(const gmshWork *work, const char *name, const tdText *text, tdError *error)
{
    char path[PATH_MAX];
    TD_TRY(gmsh_path(work, name, path, error));
    if (text->failed)
        return td_fail_memory(error, "gmsh's input");
    return td_file_write(path, text->data, (size_t)text->size, error);
}

// ---------------------------------------------------------------- the process

// The environment with GMSH_HOME in our folder: the user's own gmsh settings must not change the mesh.
static char **make_environment(const gmshWork *work, char *home, size_t size)
{
    size_t n = 0, kept = 0;
    while (environ[n] != NULL)
        n++;
    char **made = td_take(n + 2, sizeof *made);
    if (made == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "GMSH_HOME=", 10) != 0)
            made[kept++] = environ[i];
    snprintf(home, size, "GMSH_HOME=%s/", work->folder);
    made[kept] = home;
    return made;
}

// With the signals that this program ignores (signals.h) as any other program expects them.
static int spawn_usual(pid_t *pid, const posix_spawn_file_actions_t *actions, char *const *argv, char **environment)
{
    posix_spawnattr_t attributes;
    int code = posix_spawnattr_init(&attributes);
    if (code != 0)
        return code;
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    code = posix_spawnp(pid, "gmsh", actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    return code;
}

static int spawn(const gmshWork *work, char *const *argv, int output, pid_t *pid)
{
    char home[PATH_MAX + 16];
    char **environment = make_environment(work, home, sizeof home);
    posix_spawn_file_actions_t actions;
    if (environment == NULL || posix_spawn_file_actions_init(&actions) != 0)
    {
        free(environment);
        return ENOMEM;
    }
    int code = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    code = code != 0 ? code : posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    code = code != 0 ? code : posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    code = code != 0 ? code : spawn_usual(pid, &actions, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    return code;
}

// Collects the output until its end, the deadline or an interruption; true when it ended by itself.
static bool collect(tdText *text, int pipe_end, double deadline)
{
    char buffer[65536];
    for (;;)
    {
        double left = deadline - td_seconds();
        if (interrupted != 0 || left <= 0)
            return false;
        struct pollfd wait = {.fd = pipe_end, .events = POLLIN};
        int ready = poll(&wait, 1, left > 1 ? 1000 : (int)(left * 1000) + 1);
        if (ready <= 0)
            continue;
        ssize_t got = read(pipe_end, buffer, sizeof buffer);
        if (got == 0 || (got < 0 && errno != EINTR))
            return true;
        if (got < 0)
            continue;
        if (text->size < MOST_OUTPUT)
            td_text_append(text, buffer, (size_t)got);
    }
}

// Lines of the frame that gmsh puts around the number of its errors say nothing about their cause.
static bool is_summary(const char *text)
{
    static const char *const starts[] = {"-----", "Mesh generation error summary", "Check the full log", "    "};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncmp(text, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

// gmsh's own error lines, joined.
static void find_errors(const char *output, char *out, size_t size)
{
    static const char mark[] = "Error   : ";
    size_t used = 0;
    out[0] = '\0';
    for (const char *line = output; line != NULL && used + 1 < size;)
    {
        const char *end = strchr(line, '\n'), *text = line + sizeof mark - 1;
        if (strncmp(line, mark, sizeof mark - 1) == 0 && !is_summary(text))
        {
            int length = end == NULL ? (int)strlen(text) : (int)(end - text);
            int n = snprintf(out + used, size - used, "%s%.*s", used > 0 ? "; " : "", length, text);
            used = n < 0 || used + (size_t)n >= size ? size - 1 : used + (size_t)n;
        }
        line = end == NULL ? NULL : end + 1;
    }
}

static tdStatus judge(const gmshWork *work, int status, bool ended, tdError *error)
{
    char errors[420];
    find_errors(work->output.data == NULL ? "" : work->output.data, errors, sizeof errors);
    if (interrupted != 0)
        return td_fail(error, TD_ERROR_NUMERIC, "interrupted");
    if (!ended)
        return td_fail(error, TD_ERROR_NUMERIC,
                       "gmsh did not end within its time; use a larger --size or a larger --timeout");
    if (WIFSIGNALED(status))
        return td_fail(error, TD_ERROR_NUMERIC,
                       "gmsh died of signal %d (%s)%s%s; use a larger --size or --keep-surface", WTERMSIG(status),
                       strsignal(WTERMSIG(status)), errors[0] != '\0' ? " after: " : "", errors);
    if (errors[0] != '\0')
        return td_fail(error, TD_ERROR_INPUT, "gmsh says: %s", errors);
    if (WEXITSTATUS(status) != 0)
        return td_fail(error, TD_ERROR_INPUT, "gmsh ended with code %d and no message; run 'gmsh -3 FILE' to see more",
                       WEXITSTATUS(status));
    return TD_OK;
}

static tdStatus run_process(gmshWork *work, char *const *argv, tdError *error)
{
    int ends[2];
    pid_t pid = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return td_fail(error, TD_ERROR_IO, "a pipe to gmsh cannot be made: %s", strerror(errno));
    int code = spawn(work, argv, ends[1], &pid);
    close(ends[1]);
    if (code != 0)
    {
        close(ends[0]);
        work->hopeless = true;
        if (code == ENOENT)
            return td_fail(error, TD_ERROR_INPUT,
                           "the program 'gmsh' was not found; install it (Debian and Ubuntu: apt install gmsh)");
        return td_fail(error, TD_ERROR_IO, "gmsh cannot be started: %s", strerror(code));
    }
    double start = td_seconds();
    bool ended = collect(&work->output, ends[0], start + work->seconds);
    if (!ended)
        kill(pid, SIGKILL);
    close(ends[0]);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    work->seconds -= td_seconds() - start;
    work->hopeless = interrupted != 0;
    return judge(work, status, ended, error);
}

tdStatus gmsh_run(gmshWork *work, const char *const *args, tdError *error)
{
    size_t n = 0;
    while (args[n] != NULL)
        n++;
    char **argv = td_take(n + 4, sizeof *argv);
    if (argv == NULL)
        return td_fail_memory(error, "gmsh's arguments");
    char name[] = "gmsh", verbosity[] = "-v", errors_and_warnings[] = "2";
    argv[0] = name;
    argv[1] = verbosity;
    argv[2] = errors_and_warnings;
    memcpy(argv + 3, args, n * sizeof *argv);
    work->output.size = 0;
    work->runs++;
    tdStatus status = run_process(work, argv, error);
    free(argv);
    return status;
}
