// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

int cmd_demo(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return cli_usage("'demo' is not built yet");
}
