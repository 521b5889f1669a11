# SPDX-License-Identifier: Apache-2.0
#
# ALIQUOT_PORTABLE: programs that need nothing but glibc 2.34 (Ubuntu 22.04, RHEL 9 and newer): every library is
# linked in, and what Debian 12's glibc 2.36 has and 2.34 has not comes from deploy/tarball. libcurl is loaded at run time,
# where it is there, in every build. Debian has no archive of simdjson: deploy/tarball/build gets its source package.
# To be included before any find_package().
option(ALIQUOT_PORTABLE "programs need nothing but glibc 2.34; see deploy/tarball/build" OFF)
set(ALIQUOT_SIMDJSON_SOURCE "" CACHE PATH "unpacked source of simdjson, for ALIQUOT_PORTABLE")
# aliquot_portable(TARGET): of every program and library that the tarball has. As an object: an archive's symbol
# would yield to that of Debian's libc.
function(aliquot_portable target)
  if(ALIQUOT_PORTABLE)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:aliquot_older_glibc>)
  endif()
endfunction()
if(NOT ALIQUOT_PORTABLE)
  return()
endif()
if(NOT EXISTS ${ALIQUOT_SIMDJSON_SOURCE}/singleheader/simdjson.cpp)
  message(FATAL_ERROR "ALIQUOT_PORTABLE: '${ALIQUOT_SIMDJSON_SOURCE}' has no singleheader/simdjson.cpp; deploy/tarball/build gets it and configures")
endif()
set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
find_package(Threads REQUIRED)

add_library(aliquot_simdjson STATIC ${ALIQUOT_SIMDJSON_SOURCE}/singleheader/simdjson.cpp)
target_include_directories(aliquot_simdjson SYSTEM PUBLIC ${ALIQUOT_SIMDJSON_SOURCE}/singleheader)
target_compile_options(aliquot_simdjson PRIVATE -O2 -w)
add_library(simdjson::simdjson ALIAS aliquot_simdjson)

find_library(ALIQUOT_ARCHIVE_yaml_cpp NAMES libyaml-cpp.a REQUIRED)
add_library(yaml-cpp INTERFACE)
target_link_libraries(yaml-cpp INTERFACE ${ALIQUOT_ARCHIVE_yaml_cpp})

# spdlog and fmt are headers, too.
add_library(aliquot_spdlog INTERFACE)
target_compile_definitions(aliquot_spdlog INTERFACE SPDLOG_HEADER_ONLY SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)
target_link_libraries(aliquot_spdlog INTERFACE Threads::Threads)
add_library(spdlog::spdlog ALIAS aliquot_spdlog)

add_library(aliquot_older_glibc OBJECT ${CMAKE_SOURCE_DIR}/deploy/tarball/older_glibc.cpp)
add_link_options(-static-libstdc++ -static-libgcc)
