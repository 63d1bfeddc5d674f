// SPDX-License-Identifier: Apache-2.0
// The two commands of `tendril material`.
#pragma once
#include "cli.h"
#include "study/material.h"

int material_fit(int argc, char **argv);
int material_plot(int argc, char **argv);
