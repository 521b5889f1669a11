# SPDX-License-Identifier: Apache-2.0
#
# Target aliquot_proto_externalgrpc: the messages of api/externalgrpc, with protobuf-lite.
set(node_group_sources "")
foreach(name IN ITEMS externalgrpc node)
  set(proto ${CMAKE_SOURCE_DIR}/api/externalgrpc/${name}.proto)
  set(out ${ALIQUOT_GENERATED}/api/externalgrpc/${name})
  add_custom_command(OUTPUT ${out}.pb.cc ${out}.pb.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${ALIQUOT_GENERATED}
    COMMAND ${ALIQUOT_PROTOC} -I ${CMAKE_SOURCE_DIR} --cpp_out=${ALIQUOT_GENERATED} ${proto}
    DEPENDS ${proto} VERBATIM)
  list(APPEND node_group_sources ${out}.pb.cc)
endforeach()
add_library(aliquot_proto_externalgrpc STATIC ${node_group_sources})
target_include_directories(aliquot_proto_externalgrpc SYSTEM PUBLIC ${ALIQUOT_GENERATED})
target_link_libraries(aliquot_proto_externalgrpc PUBLIC ${ALIQUOT_PROTOBUF} Threads::Threads)
if(ALIQUOT_SANITIZE)
  target_compile_options(aliquot_proto_externalgrpc PRIVATE -fsanitize=${ALIQUOT_SANITIZE})
endif()
