# SPDX-License-Identifier: Apache-2.0
#
# Target aliquot_tls: OpenSSL and crypt from the distribution's archives where they exist, so that a
# program stays one file. Their symbols stay inside it: a shared library that brings its own OpenSSL
# along (libcurl does) must not get half of ours.
find_package(OpenSSL REQUIRED)
add_library(aliquot_tls INTERFACE)
foreach(name IN ITEMS ssl crypto crypt)
  find_library(ALIQUOT_ARCHIVE_${name} NAMES lib${name}.a)
  if(ALIQUOT_ARCHIVE_${name})
    target_link_libraries(aliquot_tls INTERFACE ${ALIQUOT_ARCHIVE_${name}})
    target_link_options(aliquot_tls INTERFACE -Wl,--exclude-libs=lib${name}.a)
  elseif(name STREQUAL "crypt")
    target_link_libraries(aliquot_tls INTERFACE crypt)
  else()
    string(TOUPPER ${name} upper)
    target_link_libraries(aliquot_tls INTERFACE ${OPENSSL_${upper}_LIBRARY})
  endif()
endforeach()
target_link_libraries(aliquot_tls INTERFACE ${CMAKE_DL_LIBS})
