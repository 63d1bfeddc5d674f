// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

int cmd_check(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return cli_usage("'check' is not built yet");
}
