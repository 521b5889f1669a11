# SPDX-License-Identifier: Apache-2.0
#
# aliquot_module(NAME [SMALL] SOURCES ... TESTS ... USES ... LINKS ... TEST_LINKS ...)
#   One folder of src/ = one static library aliquot_NAME + one test program aliquot_NAME_test.
#   USES lists our modules and must respect src/LAYERS; LINKS lists foreign libraries, always private.
#   TEST_LINKS is for its test program only, which may use sim/ and the test support of other modules.
#   SMALL: it runs once, for a person who waits for an answer, so it is compiled for size, which takes a third off it.
# aliquot_sim(NAME SOURCES ... TESTS ... LINKS ... TEST_LINKS ...)
#   One folder of sim/ = static library aliquot_sim_NAME + test program. It may use all of src/.
# aliquot_program(NAME SOURCES ... LINKS ...)
#   A program of cmd/, placed in bin/.
# aliquot_bench(NAME SOURCES ... LINKS ...)
#   A Google Benchmark program, placed in tests/; never run by ctest.
file(STRINGS ${CMAKE_SOURCE_DIR}/src/LAYERS ALIQUOT_LAYER_LINES REGEX "^[^#]")
include(CheckLinkerFlag)
check_linker_flag(CXX LINKER:--dependency-file=/dev/null ALIQUOT_LINKER_TELLS_INPUTS)

# Parsing the standard library (and, in tests, GoogleTest) is most of what a small file costs a compiler, so
# it is parsed once: precompiled headers of nothing but foreign ones. They hide a missing #include of the
# standard library; clang, which does without them (presets fuzz and clang-tidy), finds those.
option(ALIQUOT_PRECOMPILE "precompile the standard library's headers" ON)
if(ALIQUOT_PRECOMPILE AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(ALIQUOT_PRECOMPILE OFF)
endif()
# What no user runs is not worth the optimiser's time, which is a third of a test's: tests, tools of the build.
# Benchmarks and what they measure are optimised.
set(ALIQUOT_NOT_OPTIMISED $<$<CONFIG:RelWithDebInfo>:-O0>)
# What a module with SMALL is compiled with.
set(ALIQUOT_FOR_SIZE $<$<CONFIG:RelWithDebInfo>:-Os>)
function(aliquot_precompiled target)
  cmake_parse_arguments(PARSE_ARGV 1 P "" "" "HEADERS;LINKS;OPTIONS")
  if(NOT ALIQUOT_PRECOMPILE)
    return()
  endif()
  if(P_LINKS)  # for programs, which GCC compiles with -fPIE where libraries have -fPIC: so a program too
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${target}.cpp CONTENT "int main() {}\n")
    add_executable(${target} ${CMAKE_BINARY_DIR}/${target}.cpp)
  else()
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${target}.cpp CONTENT "")
    add_library(${target} OBJECT ${CMAKE_BINARY_DIR}/${target}.cpp)
  endif()
  target_link_libraries(${target} PRIVATE aliquot_options ${P_LINKS})
  target_compile_options(${target} PRIVATE ${P_OPTIONS})
  target_precompile_headers(${target} PRIVATE ${P_HEADERS})
endfunction()
set(ALIQUOT_STANDARD_HEADERS <algorithm> <array> <charconv> <chrono> <cstdint> <filesystem> <fstream> <functional>
  <map> <memory> <mutex> <optional> <set> <span> <sstream> <string> <string_view> <thread> <vector>)
aliquot_precompiled(aliquot_precompiled HEADERS ${ALIQUOT_STANDARD_HEADERS})
aliquot_precompiled(aliquot_precompiled_small HEADERS ${ALIQUOT_STANDARD_HEADERS} OPTIONS ${ALIQUOT_FOR_SIZE})
if(BUILD_TESTING)
  aliquot_precompiled(aliquot_precompiled_test HEADERS ${ALIQUOT_STANDARD_HEADERS} <gtest/gtest.h> <gmock/gmock.h>
    LINKS GTest::gmock OPTIONS ${ALIQUOT_NOT_OPTIMISED})
endif()
function(aliquot_reuse target precompiled)
  if(ALIQUOT_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
    if(precompiled STREQUAL aliquot_precompiled_test)  # also where GoogleTest itself is not linked
      target_compile_options(${target} PRIVATE $<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>)
    endif()
  endif()
endfunction()

# What the compiler reads and makes again for each file (templates, debug information, our own headers) is most
# of the rest: a full build takes batches of one module's files as one. The same batches in dev and
# release: what does not compile together is found at once.
option(ALIQUOT_UNITY "compile the files of a module in batches" OFF)
# aliquot_small(TARGET): of a library that is no module, as SMALL.
function(aliquot_small target)
  target_compile_options(${target} PRIVATE ${ALIQUOT_FOR_SIZE})
  aliquot_reuse(${target} aliquot_precompiled_small)
endfunction()

function(aliquot_batches target)
  if(ALIQUOT_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # A class of an included .cpp looks to GCC as if a header had it.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

function(aliquot_layer_of name out)
  set(index 0)
  foreach(line IN LISTS ALIQUOT_LAYER_LINES)
    math(EXPR index "${index} + 1")
    separate_arguments(names UNIX_COMMAND "${line}")
    if(name IN_LIST names)
      set(${out} ${index} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "module '${name}' is not in src/LAYERS")
endfunction()

function(aliquot_test_program target)
  cmake_parse_arguments(PARSE_ARGV 1 T "" "LABEL" "SOURCES;LINKS")
  if(NOT BUILD_TESTING)
    return()
  endif()
  if(NOT T_LABEL)
    set(T_LABEL unit)
  endif()
  add_executable(${target} ${T_SOURCES})
  target_link_libraries(${target} PRIVATE aliquot_options ${T_LINKS} GTest::gmock_main)
  target_compile_options(${target} PRIVATE ${ALIQUOT_NOT_OPTIMISED})
  target_compile_definitions(${target} PRIVATE ALIQUOT_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    ALIQUOT_BIN_DIR="${ALIQUOT_BIN_DIR}" ALIQUOT_SIM_DIR="${ALIQUOT_SIM_DIR}" ALIQUOT_LIB_DIR="${ALIQUOT_LIB_DIR}")
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${ALIQUOT_TEST_DIR})
  aliquot_reuse(${target} aliquot_precompiled_test)
  gtest_discover_tests(${target} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${T_LABEL})
endfunction()

function(aliquot_module name)
  cmake_parse_arguments(PARSE_ARGV 1 M "SMALL" "" "SOURCES;TESTS;USES;LINKS;TEST_LINKS")
  aliquot_layer_of(${name} mine)
  foreach(used IN LISTS M_USES)
    aliquot_layer_of(${used} theirs)
    if(NOT theirs LESS mine)
      message(FATAL_ERROR "${name} may not use ${used}: see src/LAYERS")
    endif()
  endforeach()

  # CMake cannot see an #include that bypasses USES, so look for it: the first path part of every
  # quoted include must be the module itself, one of USES, or abi. Sources may lie one folder deeper. Tests
  # may see what TEST_LINKS names of sim/, and headers of tests/.
  set(here ${CMAKE_CURRENT_SOURCE_DIR})
  file(GLOB files CONFIGURE_DEPENDS ${here}/*.h ${here}/*.cpp ${here}/*/*.h ${here}/*/*.cpp)
  foreach(file IN LISTS files)
    file(STRINGS ${file} includes REGEX "^#include \"")
    foreach(include IN LISTS includes)
      string(REGEX REPLACE "^#include \"([a-z0-9_]+)/.*" "\\1" target "${include}")
      if(NOT target IN_LIST M_USES AND NOT target STREQUAL name AND NOT target STREQUAL "abi"
         AND NOT target STREQUAL "api"
         AND NOT (target STREQUAL "tests" AND file MATCHES "_test\\.cpp$")
         AND NOT (target STREQUAL "sim" AND file MATCHES "_(test|bench)\\.cpp$" AND M_TEST_LINKS MATCHES "aliquot_sim"))
        message(FATAL_ERROR "${file}: ${include} is not covered by USES of ${name}")
      endif()
    endforeach()
  endforeach()

  list(TRANSFORM M_USES PREPEND aliquot_)
  if(M_SOURCES)
    add_library(aliquot_${name} STATIC ${M_SOURCES})
    target_link_libraries(aliquot_${name} PUBLIC aliquot_options ${M_USES} PRIVATE ${M_LINKS})
    if(M_SMALL)
      aliquot_small(aliquot_${name})
    else()
      aliquot_reuse(aliquot_${name} aliquot_precompiled)
    endif()
    aliquot_batches(aliquot_${name})
  else()
    add_library(aliquot_${name} INTERFACE)
    target_link_libraries(aliquot_${name} INTERFACE aliquot_options ${M_USES})
  endif()
  if(M_TESTS)
    aliquot_test_program(aliquot_${name}_test SOURCES ${M_TESTS} LINKS aliquot_${name} ${M_LINKS} ${M_TEST_LINKS})
  endif()
endfunction()

function(aliquot_sim name)
  cmake_parse_arguments(PARSE_ARGV 1 M "" "" "SOURCES;TESTS;LINKS;TEST_LINKS")
  add_library(aliquot_sim_${name} STATIC ${M_SOURCES})
  target_link_libraries(aliquot_sim_${name} PUBLIC aliquot_options ${M_LINKS})
  aliquot_reuse(aliquot_sim_${name} aliquot_precompiled)
  aliquot_batches(aliquot_sim_${name})
  if(M_TESTS)
    aliquot_test_program(aliquot_sim_${name}_test SOURCES ${M_TESTS} LINKS aliquot_sim_${name} ${M_TEST_LINKS})
  endif()
endfunction()

function(aliquot_program name)
  cmake_parse_arguments(PARSE_ARGV 1 M "" "" "SOURCES;LINKS")
  add_executable(${name} ${M_SOURCES})
  target_link_libraries(${name} PRIVATE aliquot_options ${M_LINKS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${ALIQUOT_BIN_DIR})
  aliquot_portable(${name})
  if(ALIQUOT_LLD AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_link_options(${name} PRIVATE LINKER:--icf=all)  # functions of equal code are there once; nothing compares their addresses
  endif()
  if(ALIQUOT_LINKER_TELLS_INPUTS)  # the image's bill of materials says what is inside
    target_link_options(${name} PRIVATE LINKER:--dependency-file=${CMAKE_CURRENT_BINARY_DIR}/${name}.link.d)
    set_target_properties(${name} PROPERTIES ALIQUOT_LINK_INPUTS ${CMAKE_CURRENT_BINARY_DIR}/${name}.link.d)
  endif()
endfunction()

function(aliquot_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 M "" "" "SOURCES;LINKS")
  if(NOT BUILD_TESTING)
    return()
  endif()
  find_package(benchmark REQUIRED)
  add_executable(${name} ${M_SOURCES})
  target_link_libraries(${name} PRIVATE aliquot_options ${M_LINKS} benchmark::benchmark_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${ALIQUOT_TEST_DIR})
endfunction()
