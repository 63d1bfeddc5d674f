// SPDX-License-Identifier: Apache-2.0
#include "signals.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static atomic_llong when; // the first came, in milliseconds; 0: none has
static atomic_uint limit; // [s]

static long long milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1000 * (long long)now.tv_sec + now.tv_nsec / 1000000 + 1;
}

static void on_limit(int number)
{
    (void)number;
    static const char words[] =
        "\ntendril: the computation could not be stopped cleanly and was terminated. Finished files are complete.\n";
    if (write(STDERR_FILENO, words, sizeof words - 1) < 0)
        _exit(130); // as well without words
    _exit(130);
}

static void on_signal(int number)
{
    if (atomic_load(&when) != 0)
    {
        // The second, of whatever kind: its handler is gone (SA_RESETHAND), so that it ends the program behind this.
        raise(number);
        return;
    }
    atomic_store(&when, milliseconds());
    alarm(atomic_load(&limit));
}

sigBefore sig_catch(void)
{
    sigBefore before;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    struct sigaction last = {.sa_handler = on_limit};
    const char *asked = getenv("TENDRIL_STOP_LIMIT");
    int seconds = asked == NULL ? 0 : atoi(asked);
    sigemptyset(&action.sa_mask);
    sigemptyset(&last.sa_mask);
    atomic_store(&when, 0);
    atomic_store(&limit, seconds > 0 ? (unsigned)seconds : SIG_LIMIT);
    sigaction(SIGALRM, &last, &before.alarm);
    sigaction(SIGINT, &action, &before.interrupt);
    sigaction(SIGTERM, &action, &before.terminate);
    sigaction(SIGHUP, NULL, &before.hang_up);
    if (before.hang_up.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    return before;
}

void sig_release(const sigBefore *before)
{
    alarm(0);
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGTERM, &before->terminate, NULL);
    sigaction(SIGHUP, &before->hang_up, NULL);
    sigaction(SIGALRM, &before->alarm, NULL);
}

bool sig_came(void)
{
    return atomic_load(&when) != 0;
}

void sig_writing(void)
{
    alarm(0);
}

bool sig_cancel(void *unused)
{
    (void)unused;
    long long since = atomic_load(&when);
    return since != 0 && milliseconds() - since > 1000 * SIG_GRACE;
}

void sig_ignore_writing(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}
