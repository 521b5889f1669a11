# SPDX-License-Identifier: Apache-2.0
#
# What the product needs to speak gRPC over local sockets, from the distribution's archives so that the agent is one
# file. ALIQUOT_NGHTTP2: HTTP/2. Target aliquot_proto_kubelet: protobuf-lite and the messages of api/kubelet.
find_package(Threads REQUIRED)
find_program(ALIQUOT_PROTOC protoc REQUIRED)
find_path(ALIQUOT_NGHTTP2_INCLUDE nghttp2/nghttp2.h REQUIRED)
find_library(ALIQUOT_NGHTTP2 NAMES libnghttp2.a nghttp2 REQUIRED)
find_library(ALIQUOT_PROTOBUF NAMES libprotobuf-lite.a protobuf-lite REQUIRED)

set(ALIQUOT_GENERATED ${CMAKE_BINARY_DIR}/generated)
set(proto_sources "")
foreach(name IN ITEMS deviceplugin dra dra_health dra_v1beta1 podresources pluginregistration)
  set(proto ${CMAKE_SOURCE_DIR}/api/kubelet/${name}.proto)
  set(out ${ALIQUOT_GENERATED}/api/kubelet/${name})
  add_custom_command(OUTPUT ${out}.pb.cc ${out}.pb.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${ALIQUOT_GENERATED}
    COMMAND ${ALIQUOT_PROTOC} -I ${CMAKE_SOURCE_DIR} --cpp_out=${ALIQUOT_GENERATED} ${proto}
    DEPENDS ${proto} VERBATIM)
  list(APPEND proto_sources ${out}.pb.cc)
endforeach()
add_library(aliquot_proto_kubelet STATIC ${proto_sources})
target_include_directories(aliquot_proto_kubelet SYSTEM PUBLIC ${ALIQUOT_GENERATED})
target_link_libraries(aliquot_proto_kubelet PUBLIC ${ALIQUOT_PROTOBUF} Threads::Threads)
# 2 % of a program: Debian builds the archives without a section per function.
target_link_options(aliquot_proto_kubelet INTERFACE -Wl,--gc-sections)
if(ALIQUOT_SANITIZE)
  target_compile_options(aliquot_proto_kubelet PRIVATE -fsanitize=${ALIQUOT_SANITIZE})
endif()
