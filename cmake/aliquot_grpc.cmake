# SPDX-License-Identifier: Apache-2.0
#
# Target aliquot_grpc: gRPC without TLS (every socket it serves is a local one) and protobuf-lite,
# from the distribution's archives so that the agent is one file. Target aliquot_proto_kubelet: the
# generated code of api/kubelet.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_program(ALIQUOT_PROTOC protoc REQUIRED)
find_program(ALIQUOT_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)

pkg_check_modules(GRPCPP REQUIRED grpc++_unsecure)
add_library(aliquot_grpc INTERFACE)
target_compile_definitions(aliquot_grpc INTERFACE GRPC_USE_PROTO_LITE)
# Every archive that pkg-config names; a library that exists only as .so stays dynamic.
set(archives "")
# The last five are what Debian's .pc file of gRPC leaves out.
foreach(name IN LISTS GRPCPP_STATIC_LIBRARIES ITEMS protobuf-lite upb address_sorting cares re2 z)
  find_library(ALIQUOT_ARCHIVE_${name} NAMES lib${name}.a)
  if(ALIQUOT_ARCHIVE_${name} AND NOT name MATCHES "^(rt|atomic|dl|m|pthread|c)$")
    list(APPEND archives ${ALIQUOT_ARCHIVE_${name}})
  endif()
endforeach()
list(REMOVE_DUPLICATES archives)
target_link_libraries(aliquot_grpc INTERFACE -Wl,--start-group ${archives} -Wl,--end-group Threads::Threads
  ${CMAKE_DL_LIBS})
# 2 % of a program: Debian builds the archives without a section per function.
target_link_options(aliquot_grpc INTERFACE -Wl,--gc-sections)

set(generated ${CMAKE_BINARY_DIR}/generated)
set(proto_sources "")
foreach(name IN ITEMS deviceplugin podresources pluginregistration)
  set(proto ${CMAKE_SOURCE_DIR}/api/kubelet/${name}.proto)
  set(out ${generated}/api/kubelet/${name})
  add_custom_command(OUTPUT ${out}.pb.cc ${out}.pb.h ${out}.grpc.pb.cc ${out}.grpc.pb.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
    COMMAND ${ALIQUOT_PROTOC} -I ${CMAKE_SOURCE_DIR} --cpp_out=${generated} --grpc_out=${generated}
            --plugin=protoc-gen-grpc=${ALIQUOT_GRPC_PLUGIN} ${proto}
    DEPENDS ${proto} VERBATIM)
  list(APPEND proto_sources ${out}.pb.cc ${out}.grpc.pb.cc)
endforeach()
add_library(aliquot_proto_kubelet STATIC ${proto_sources})
target_include_directories(aliquot_proto_kubelet SYSTEM PUBLIC ${generated})
target_link_libraries(aliquot_proto_kubelet PUBLIC aliquot_grpc)
if(ALIQUOT_SANITIZE)
  target_compile_options(aliquot_proto_kubelet PRIVATE -fsanitize=${ALIQUOT_SANITIZE})
endif()
