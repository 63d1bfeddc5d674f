// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

int cmd_run(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return cli_usage("'run' is not built yet");
}
