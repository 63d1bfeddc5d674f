// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

int cmd_convert(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return cli_usage("'convert' is not built yet");
}
