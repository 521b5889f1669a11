# SPDX-License-Identifier: Apache-2.0
#
# re2::re2, which Debian 12's package has for pkg-config only.
include_guard(GLOBAL)
find_package(re2 QUIET GLOBAL)
if(NOT TARGET re2::re2)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(ALIQUOT_RE2 REQUIRED IMPORTED_TARGET GLOBAL re2)
  add_library(re2::re2 ALIAS PkgConfig::ALIQUOT_RE2)
endif()
