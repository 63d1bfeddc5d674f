// SPDX-License-Identifier: Apache-2.0
// Before anything else: keep OpenBLAS from starting threads where memory is limited.
//
// When it is loaded, before main(), OpenBLAS starts a thread a core, and each maps 128 MiB to work in. Under a limit of
// the address space these threads try for ever, or end the program by a signal. We use none of them (src/base/task.h).
// That they are not wanted can only be said in the environment, and only before libraries are initialized: in
// .preinit_array, where the program is started once more with the variable set. Where memory is not limited they do no
// harm, and nothing is done.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // whose run time is not there yet
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define VARIABLE "OPENBLAS_NUM_THREADS="

// The C library is not initialized yet: only what is a call of the system, or touches nothing but its arguments.
static int has_limit(int resource)
{
    struct rlimit limit;
    return getrlimit((__rlimit_resource_t)resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// Whether the system keeps count of memory that was asked for but not touched (vm.overcommit_memory = 2).
static int is_counted(void)
{
    char mode = '0';
    int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    if (read(file, &mode, 1) != 1)
        mode = '0';
    close(file);
    return mode == '2';
}

static void start_alone(int argc, char **argv, char **environment)
{
    static char alone[] = VARIABLE "1";
    static char *changed[4096];
    static char path[PATH_MAX];
    const int room = (int)(sizeof changed / sizeof changed[0]) - 2;
    int n = 0;
    (void)argc;
    if (!has_limit(RLIMIT_AS) && !has_limit(RLIMIT_DATA) && !is_counted())
        return;
    for (char **at = environment; *at != NULL; at++)
    {
        if (strcmp(*at, alone) == 0 || n == room)
            return; // it is so already
        if (strncmp(*at, VARIABLE, strlen(VARIABLE)) != 0)
            changed[n++] = *at;
    }
    changed[n] = alone;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length > 0)
        execve(path, argv, changed); // comes back where it fails; then the program goes on as it is
}

__attribute__((section(".preinit_array"), used)) static void (*const before_all)(int, char **, char **) = start_alone;
#endif
