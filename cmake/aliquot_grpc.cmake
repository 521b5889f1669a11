# SPDX-License-Identifier: Apache-2.0
#
# Target aliquot_grpc_kubelet: Google's gRPC (without TLS: every socket is a local one) and the stubs of api/kubelet,
# for tests and benchmarks: a peer that is not our own code. No program of ours has it.
find_package(PkgConfig REQUIRED)
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
target_link_options(aliquot_grpc INTERFACE -Wl,--gc-sections)

set(stub_sources "")
foreach(name IN ITEMS deviceplugin dra dra_health dra_v1beta1 podresources pluginregistration)
  set(proto ${CMAKE_SOURCE_DIR}/api/kubelet/${name}.proto)
  set(out ${ALIQUOT_GENERATED}/api/kubelet/${name})
  add_custom_command(OUTPUT ${out}.grpc.pb.cc ${out}.grpc.pb.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${ALIQUOT_GENERATED}
    COMMAND ${ALIQUOT_PROTOC} -I ${CMAKE_SOURCE_DIR} --grpc_out=${ALIQUOT_GENERATED}
            --plugin=protoc-gen-grpc=${ALIQUOT_GRPC_PLUGIN} ${proto}
    DEPENDS ${proto} VERBATIM)
  list(APPEND stub_sources ${out}.grpc.pb.cc)
endforeach()
add_library(aliquot_grpc_kubelet STATIC ${stub_sources})
target_link_libraries(aliquot_grpc_kubelet PUBLIC aliquot_grpc aliquot_proto_kubelet)
target_compile_options(aliquot_grpc_kubelet PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
if(ALIQUOT_SANITIZE)
  target_compile_options(aliquot_grpc_kubelet PRIVATE -fsanitize=${ALIQUOT_SANITIZE})
endif()
