# SPDX-License-Identifier: Apache-2.0
# Finds what the viewer links beside the library, and gathers it in the target tendril::web.
include(FindPackageHandleStandardArgs)
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(TENDRIL_WEBSOCKETS QUIET IMPORTED_TARGET libwebsockets)
endif()
find_package_handle_standard_args(TendrilWeb REQUIRED_VARS PKG_CONFIG_FOUND TENDRIL_WEBSOCKETS_FOUND
  REASON_FAILURE_MESSAGE "On Debian 12, 'scripts/setup build' in Tendril's source installs libwebsockets-dev.")
if(TendrilWeb_FOUND AND NOT TARGET tendril::web)
  add_library(tendril::web INTERFACE IMPORTED)
  target_link_libraries(tendril::web INTERFACE PkgConfig::TENDRIL_WEBSOCKETS)
endif()
