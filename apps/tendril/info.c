// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

int cmd_info(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return cli_usage("'info' is not built yet");
}
