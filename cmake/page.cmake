# SPDX-License-Identifier: Apache-2.0
# cmake -DPAGE=... -DPLACEHOLDER=... -DOUT=... -P page.cmake: the page of the viewer that goes into the program: the one
# that scripts/web has built, or where there is none one that says so. Runs in every build, so that a page that was built
# in the meantime gets in.
set(from ${PLACEHOLDER})
if(EXISTS ${PAGE})
  set(from ${PAGE})
endif()
configure_file(${from} ${OUT} COPYONLY)
