// SPDX-License-Identifier: Apache-2.0
// Numbers as text that reads back as the same bits (base/number.h), with no more digits than that takes.
#pragma once
#include "base/file.h"

void td_print_number(tdText *text, double value);
void td_print_integer(tdText *text, int64_t value);
