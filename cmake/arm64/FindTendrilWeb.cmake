# SPDX-License-Identifier: Apache-2.0
# Stands in for the real file when cross-compiling: the headers are with those of the other dependencies.
add_library(tendril::web INTERFACE IMPORTED)
set(TendrilWeb_FOUND TRUE)
