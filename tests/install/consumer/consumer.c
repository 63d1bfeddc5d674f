// SPDX-License-Identifier: Apache-2.0
// A stranger's program that uses an installed Tendril.
#include <tendril/tendril.h>

#include <stdio.h>

// Old-fashioned on purpose, as the array below: it would not compile if Tendril's own warnings reached its users.
int half_declared()
{
    return 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    double lengths[argc];
    lengths[0] = td_default_settings().threads;
    printf("%s %s\n", td_version(), td_status_name(TD_OK));
    return lengths[0] < 0 ? 1 : half_declared();
}
