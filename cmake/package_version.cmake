# SPDX-License-Identifier: Apache-2.0
#
# Read by cpack, and run by deploy/tarball/build, which it tells the version: the version of the packages. That of the project for the commit with its tag (v0.1.0), something
# lower with date and commit for any other: 0.1.0~git20261123.3b51ebab0c1d.
set(version ${CPACK_PACKAGE_VERSION})
find_program(git git)
if(git)
  execute_process(COMMAND ${git} describe --tags --exact-match --match v${version}
    WORKING_DIRECTORY ${CPACK_ALIQUOT_SOURCE} RESULT_VARIABLE tagged OUTPUT_QUIET ERROR_QUIET)
  execute_process(COMMAND ${git} show -s --format=%cd.%h --date=format:%Y%m%d --abbrev=12 HEAD
    WORKING_DIRECTORY ${CPACK_ALIQUOT_SOURCE} OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT tagged EQUAL 0 AND commit)
    set(version ${version}~git${commit})
  endif()
endif()
set(CPACK_PACKAGE_VERSION ${version})
set(CPACK_DEBIAN_PACKAGE_VERSION ${version})
# libcurl is loaded at run time, so nobody sees that it is needed.
set(CPACK_DEBIAN_AGENT_PACKAGE_DEPENDS "libaliquot-guard (= ${version}), libcurl4")
set(CPACK_DEBIAN_ALIQUOT_PACKAGE_RECOMMENDS "libpq5")  # for costs in PostgreSQL
set(CPACK_DEBIAN_ALIQUOT_PACKAGE_DEPENDS "aliquot-agent (= ${version}), libaliquot-guard (= ${version}), libcurl4, tzdata")
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  message(NOTICE ${version})
endif()
