// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

int cmd_bench(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return cli_usage("'bench' is not built yet");
}
