# SPDX-License-Identifier: Apache-2.0
# Stands in for the real file when cross-compiling: headers only, from the folder that scripts/cross-arm64 made.
# There are no libraries to link, so programs are compiled and not linked.
add_library(tendril::dependencies INTERFACE IMPORTED)
target_include_directories(tendril::dependencies INTERFACE ${TD_ARM64_INCLUDE})
set(CMAKE_C_LINK_EXECUTABLE "<CMAKE_COMMAND> -E touch <TARGET>")
set(TendrilDependencies_FOUND TRUE)
