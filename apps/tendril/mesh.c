// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

int cmd_mesh(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return cli_usage("'mesh' is not built yet");
}
