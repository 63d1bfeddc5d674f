// SPDX-License-Identifier: Apache-2.0
// The public header must stand alone, as C17 and as C++17.
#include <tendril/study.h>
#include <tendril/tendril.h>

int main(void)
{
    return TD_OK;
}
