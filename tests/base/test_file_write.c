// SPDX-License-Identifier: Apache-2.0
// Files that appear by rename: what they leave alone, what survives, what is cleared away.
#include "test.h"

#include "base/file.h"
#include "base/lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/tendril_write_XXXXXX";
static char told[64]; // what the file system was asked for: f a file to the disk, d a folder, r a rename

static void tell(char what)
{
    size_t n = strlen(told);
    if (n + 1 < sizeof told)
    {
        told[n] = what;
        told[n + 1] = '\0';
    }
}

// In the place of the C library's.
int fsync(int file)
{
    struct stat info;
    if (fstat(file, &info) == 0)
        tell(S_ISDIR(info.st_mode) ? 'd' : 'f');
    return (int)syscall(SYS_fsync, file);
}

int rename(const char *from, const char *to)
{
    tell('r');
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static const char *in_folder(const char *name)
{
    static char path[4][256];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

static void write_word(const char *name, const char *word)
{
    tdError error = {0};
    assert_ok(td_file_write(in_folder(name), word, strlen(word), &error), error);
}

static void assert_word(const char *name, const char *word)
{
    char *data = NULL;
    size_t size = 0;
    tdError error = {0};
    assert_ok(td_file_read(in_folder(name), &data, &size, &error), error);
    assert_string_equal(data, word);
    free(data);
}

static void assert_kind(const char *path, mode_t kind)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    assert_int_equal(info.st_mode & S_IFMT, kind);
}

static bool is_there(const char *name)
{
    struct stat info;
    return lstat(in_folder(name), &info) == 0;
}

static void test_links_are_followed(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("sub"), 0777), 0);
    assert_int_equal(symlink("sub/real", in_folder("first")), 0);
    assert_int_equal(symlink("first", in_folder("second")), 0);
    assert_int_equal(symlink(in_folder("second"), in_folder("sub/third")), 0);
    write_word("first", "new"); // to nothing yet
    assert_word("sub/real", "new");
    write_word("sub/third", "again");
    assert_word("sub/real", "again");
    assert_kind(in_folder("first"), S_IFLNK);
    assert_kind(in_folder("second"), S_IFLNK);
    assert_kind(in_folder("sub/third"), S_IFLNK);
    assert_kind(in_folder("sub/real"), S_IFREG);
    tdError error = {0};
    assert_int_equal(symlink("round", in_folder("round")), 0);
    assert_int_equal(td_file_write(in_folder("round"), "x", 1, &error), TD_ERROR_IO);
    assert_kind(in_folder("round"), S_IFLNK);
}

static void test_devices_stay(void **state)
{
    (void)state;
    tdError error = {0};
    assert_ok(td_file_write("/dev/null", "x", 1, &error), error);
    assert_kind("/dev/null", S_IFCHR);
    assert_int_equal(symlink("/dev/null", in_folder("away")), 0);
    assert_ok(td_file_write(in_folder("away"), "x", 1, &error), error);
    assert_kind(in_folder("away"), S_IFLNK);
    assert_kind("/dev/null", S_IFCHR);
    if (access("/dev/full", W_OK) == 0)
    {
        assert_int_equal(td_file_write("/dev/full", "x", 1, &error), TD_ERROR_IO);
        assert_non_null(strstr(error.message, "No space left"));
        assert_kind("/dev/full", S_IFCHR);
    }
    // A pipe gets the bytes.
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    int reader = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK);
    char got[8] = "";
    assert_ok(td_file_write(in_folder("pipe"), "word", 4, &error), error);
    assert_int_equal(read(reader, got, sizeof got), 4);
    assert_string_equal(got, "word");
    assert_kind(in_folder("pipe"), S_IFIFO);
    close(reader);
    assert_int_equal(td_file_write(folder, "x", 1, &error), TD_ERROR_IO);
    assert_non_null(strstr(error.message, "is a folder"));
}

// A file that a process has open is written into, not replaced: who redirected it would lose it.
static void test_open_files_stay(void **state)
{
    (void)state;
    write_word("open", "before");
    int file = open(in_folder("open"), O_RDWR);
    struct stat before, after;
    char path[64];
    tdError error = {0};
    assert_int_equal(fstat(file, &before), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    assert_ok(td_file_write(path, "behind", 6, &error), error);
    assert_word("open", "behind");
    assert_int_equal(stat(in_folder("open"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    close(file);
}

static void test_mode_is_kept(void **state)
{
    (void)state;
    struct stat info;
    write_word("mine", "one");
    assert_int_equal(chmod(in_folder("mine"), 0640), 0);
    write_word("mine", "two");
    assert_int_equal(stat(in_folder("mine"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    assert_word("mine", "two");
    if (geteuid() == 0)
        return; // to whom everything is writable
    tdError error = {0};
    assert_int_equal(chmod(in_folder("mine"), 0440), 0);
    assert_int_equal(td_file_write(in_folder("mine"), "three", 5, &error), TD_ERROR_IO);
    assert_word("mine", "two");
}

static void test_on_the_disk_before_and_after(void **state)
{
    (void)state;
    tdError error = {0};
    told[0] = '\0';
    write_word("lasting", "x");
    assert_string_equal(told, "frd");
    told[0] = '\0';
    assert_ok(td_file_write_quickly(in_folder("frame"), "x", 1, &error), error);
    assert_string_equal(told, "r");
    assert_ok(td_folder_sync(folder, &error), error);
}

// The number of a process that is no more.
static long gone(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return (long)pid;
}

static void leave(const char *name, long pid)
{
    char full[128];
    snprintf(full, sizeof full, "%s.tmp%ld", name, pid);
    int file = open(in_folder(full), O_WRONLY | O_CREAT, 0666);
    assert_true(file >= 0);
    close(file);
}

static bool is_left(const char *name, long pid)
{
    char full[128];
    snprintf(full, sizeof full, "%s.tmp%ld", name, pid);
    return is_there(full);
}

static void test_stale_files_are_removed(void **state)
{
    (void)state;
    long dead = gone(), alive = (long)getppid();
    leave("state.h5", dead);
    leave("state.h5", alive);
    leave("other.h5", dead);
    leave("notes.doc", dead);
    int user = open(in_folder("state.h5.tmpfile"), O_WRONLY | O_CREAT, 0666);
    close(user);
    write_word("state.h5", "x");
    assert_false(is_left("state.h5", dead));
    assert_true(is_left("state.h5", alive));
    assert_true(is_left("other.h5", dead)); // of another file
    assert_true(is_there("state.h5.tmpfile"));
    // One that somebody has locked is being written, in another container perhaps.
    leave("state.h5", dead);
    char full[64];
    snprintf(full, sizeof full, "state.h5.tmp%ld", dead);
    int locked = open(in_folder(full), O_RDWR);
    assert_int_equal(syscall(SYS_flock, locked, 2 /* LOCK_EX */), 0);
    write_word("state.h5", "y");
    assert_true(is_left("state.h5", dead));
    td_file_sweep(folder);
    assert_true(is_left("state.h5", dead));
    assert_false(is_left("other.h5", dead));
    close(locked);
    td_file_sweep(folder);
    assert_false(is_left("state.h5", dead));
    assert_true(is_left("state.h5", alive));
    assert_true(is_left("notes.doc", dead)); // not of this program
}

// A write that fails in the middle leaves the old file and nothing else.
static void test_failure_leaves_the_old(void **state)
{
    (void)state;
    write_word("kept", "old");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
    {
        static char large[100000];
        const struct rlimit limit = {4096, 4096};
        tdError error = {0};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        tdStatus status = td_file_write(in_folder("kept"), large, sizeof large, &error);
        _exit(status == TD_ERROR_IO && strstr(error.message, "too large") != NULL ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_word("kept", "old");
    assert_false(is_left("kept", (long)pid));
}

static void test_lock_names_its_holder(void **state)
{
    (void)state;
    tdLock one, two;
    tdError error = {0};
    char who[64];
    snprintf(who, sizeof who, "process %ld", (long)getpid());
    assert_ok(td_lock_take(&one, in_folder(".lock"), folder, "wait", &error), error);
    assert_int_equal(td_lock_take(&two, in_folder(".lock"), folder, "wait", &error), TD_ERROR_INPUT);
    assert_non_null(strstr(error.message, who));
    assert_string_equal(error.file, folder);
    td_lock_release(&one);
    assert_false(is_there(".lock"));
    assert_ok(td_lock_take(&two, in_folder(".lock"), folder, "wait", &error), error);
    td_lock_release(&two);
    // A process that is killed holds nothing any more.
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0)
    {
        td_lock_take(&one, in_folder(".lock"), folder, "wait", NULL);
        if (write(pipes[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    char byte = 0;
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    assert_int_equal(td_lock_take(&two, in_folder(".lock"), folder, "wait", &error), TD_ERROR_INPUT);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_ok(td_lock_take(&two, in_folder(".lock"), folder, "wait", &error), error);
    td_lock_release(&two);
    close(pipes[0]);
    close(pipes[1]);
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links_are_followed),
        cmocka_unit_test(test_devices_stay),
        cmocka_unit_test(test_open_files_stay),
        cmocka_unit_test(test_mode_is_kept),
        cmocka_unit_test(test_on_the_disk_before_and_after),
        cmocka_unit_test(test_stale_files_are_removed),
        cmocka_unit_test(test_failure_leaves_the_old),
        cmocka_unit_test(test_lock_names_its_holder),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
