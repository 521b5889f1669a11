# SPDX-License-Identifier: Apache-2.0
#
# Target aliquot_tls: OpenSSL and crypt from the distribution's archives where they exist: a command starts 2 ms sooner
# than with the shared libraries. Their symbols stay inside it: a shared library that brings its own OpenSSL
# along (libcurl does) must not get half of ours.
# A program with the property ALIQUOT_SHARED_TLS has the shared OpenSSL instead, 4.7 MB less and the distribution's security
# updates: what serves for weeks starts once.
find_package(OpenSSL REQUIRED)
add_library(aliquot_tls INTERFACE)
foreach(name IN ITEMS ssl crypto crypt)
  find_library(ALIQUOT_ARCHIVE_${name} NAMES lib${name}.a)
  find_library(ALIQUOT_SHARED_${name} NAMES lib${name}.so)
  if(ALIQUOT_ARCHIVE_${name} AND ALIQUOT_SHARED_${name} AND NOT ALIQUOT_PORTABLE AND NOT name STREQUAL "crypt")
    set(shared $<BOOL:$<TARGET_PROPERTY:ALIQUOT_SHARED_TLS>>)
    target_link_libraries(aliquot_tls INTERFACE $<IF:${shared},${ALIQUOT_SHARED_${name}},${ALIQUOT_ARCHIVE_${name}}>)
    target_link_options(aliquot_tls INTERFACE $<$<NOT:${shared}>:-Wl,--exclude-libs=lib${name}.a>)
  elseif(ALIQUOT_ARCHIVE_${name})
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
