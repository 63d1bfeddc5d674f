# SPDX-License-Identifier: Apache-2.0
# Finds what Tendril links and gathers it in the target tendril::dependencies. The build uses this file, and
# it is installed for tendrilConfig.cmake, so that what was built with is what a consumer links.
include(FindPackageHandleStandardArgs)
find_package(Threads QUIET)
find_package(ZLIB QUIET)
find_package(PNG QUIET)
find_package(LibXml2 QUIET)
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(TENDRIL_YAML QUIET IMPORTED_TARGET yaml-0.1)
  pkg_check_modules(TENDRIL_HDF5 QUIET IMPORTED_TARGET hdf5)
  pkg_check_modules(TENDRIL_OPENBLAS QUIET IMPORTED_TARGET openblas)
  pkg_check_modules(TENDRIL_ARPACK QUIET IMPORTED_TARGET arpack)
endif()
# Debian's SuiteSparse 5 comes with neither pkg-config nor CMake files.
find_path(TENDRIL_CHOLMOD_INCLUDE cholmod.h PATH_SUFFIXES suitesparse)
find_library(TENDRIL_CHOLMOD_LIBRARY cholmod)
find_library(TENDRIL_SUITESPARSECONFIG_LIBRARY suitesparseconfig)
# The OpenMP run time that CHOLMOD was linked with: we keep it from starting threads.
find_library(TENDRIL_GOMP_LIBRARY NAMES libgomp.so.1 gomp)
mark_as_advanced(TENDRIL_GOMP_LIBRARY TENDRIL_CHOLMOD_INCLUDE TENDRIL_CHOLMOD_LIBRARY TENDRIL_SUITESPARSECONFIG_LIBRARY)

find_package_handle_standard_args(TendrilDependencies
  REQUIRED_VARS TENDRIL_CHOLMOD_LIBRARY TENDRIL_GOMP_LIBRARY TENDRIL_SUITESPARSECONFIG_LIBRARY TENDRIL_CHOLMOD_INCLUDE Threads_FOUND
    ZLIB_FOUND PNG_FOUND LibXml2_FOUND PKG_CONFIG_FOUND TENDRIL_YAML_FOUND TENDRIL_HDF5_FOUND TENDRIL_OPENBLAS_FOUND
    TENDRIL_ARPACK_FOUND
  REASON_FAILURE_MESSAGE "On Debian 12, 'scripts/setup build' in Tendril's source installs all of them.")

if(TendrilDependencies_FOUND AND NOT TARGET tendril::dependencies)
  add_library(tendril::dependencies INTERFACE IMPORTED)
  target_include_directories(tendril::dependencies INTERFACE ${TENDRIL_CHOLMOD_INCLUDE})
  target_link_libraries(tendril::dependencies INTERFACE ${TENDRIL_CHOLMOD_LIBRARY} ${TENDRIL_SUITESPARSECONFIG_LIBRARY}
    ${TENDRIL_GOMP_LIBRARY} PkgConfig::TENDRIL_ARPACK PkgConfig::TENDRIL_OPENBLAS PkgConfig::TENDRIL_HDF5 PkgConfig::TENDRIL_YAML
    LibXml2::LibXml2 PNG::PNG ZLIB::ZLIB Threads::Threads m)
endif()
