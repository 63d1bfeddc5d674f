// SPDX-License-Identifier: Apache-2.0
// A stranger's program that uses an installed Tendril.
#include <tendril/tendril.h>

#include <stdio.h>

// Only what the compiler was told: flags of Tendril's own build would break this on purpose.
int unused_prototype_free_function()
{
    return 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    double lengths[argc]; // -Wvla is one of Tendril's own errors, not of its users
    lengths[0] = td_default_settings().threads;
    printf("%s %s\n", td_version(), td_status_name(TD_OK));
    return lengths[0] < 0;
}
