# SPDX-License-Identifier: Apache-2.0
#
# `cmake --install`, the Debian packages and the tarball. What is installed lies as it was built, because the programs
# look for each other beside themselves: PREFIX/lib/aliquot/{bin,lib,sim}, with links in PREFIX/bin. So
# the tree can be moved as a whole. Components: guard, agent, aliquot (which needs both).
#   cmake --build --preset release --target installed && cmake --install build/release --prefix /opt/aliquot
#   cmake --build --preset release --target deb       # build/release/packages/*.deb
#   deploy/tarball/build                              # the tarball, for other distributions
include(GNUInstallDirs)
if(NOT TARGET aliquot OR NOT TARGET aliquot-agent OR NOT TARGET aliquot-guard)
  return()
endif()
set(home ${CMAKE_INSTALL_LIBDIR}/aliquot)
if(CMAKE_INSTALL_LIBDIR MATCHES "/")  # lib/x86_64-linux-gnu: it has programs, too
  set(home lib/aliquot)
endif()

# A link in PREFIX/bin to a program of ours.
function(aliquot_linked component program name)
  install(CODE "
    file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
    file(CREATE_LINK ../${home}/bin/${program} \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/${name}\" SYMBOLIC)"
    COMPONENT ${component})
endfunction()

install(TARGETS aliquot-guard LIBRARY DESTINATION ${home}/lib COMPONENT guard)
install(TARGETS aliquot-agent RUNTIME DESTINATION ${home}/bin COMPONENT agent)
aliquot_linked(agent aliquot-agent aliquot-agent)
install(TARGETS aliquot aliquot-placement aliquot-fleet aliquot-controller aliquot-probe aliquot-vision aliquot-cuda-sample
  RUNTIME DESTINATION ${home}/bin COMPONENT aliquot)
install(TARGETS nvidia-smi nvidia-cuda-mps-control RUNTIME DESTINATION ${home}/sim COMPONENT aliquot)
install(TARGETS nvidia-ml cuda-driver LIBRARY DESTINATION ${home}/sim COMPONENT aliquot)
install(TARGETS onnxruntime-simulated LIBRARY DESTINATION ${home}/sim/onnxruntime COMPONENT aliquot)
foreach(name IN ITEMS aliquot kubectl-aliquot)
  aliquot_linked(aliquot aliquot ${name})
endforeach()
foreach(name IN ITEMS aliquot-vision aliquot-cuda-sample)
  aliquot_linked(aliquot ${name} ${name})
endforeach()

# Written by the programs themselves. The pages of commands that another program carries out come from that one.
set(manual ${CMAKE_BINARY_DIR}/manual)
set(scripts ${manual}/aliquot.bash ${manual}/_aliquot ${manual}/aliquot.fish)
add_custom_command(OUTPUT ${manual}/stamp ${scripts}
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}/man1 ${manual}/placement ${manual}/fleet
  COMMAND aliquot man ${manual}/man1
  COMMAND aliquot-placement man ${manual}/placement
  COMMAND aliquot-fleet man ${manual}/fleet
  COMMAND ${CMAKE_COMMAND} -E copy ${manual}/placement/aliquot-simulate-placement.1 ${manual}/placement/aliquot-explain-placement.1
          ${manual}/fleet/aliquot-sim-cluster.1 ${manual}/man1
  COMMAND aliquot completion bash > ${manual}/aliquot.bash
  COMMAND aliquot completion zsh > ${manual}/_aliquot
  COMMAND aliquot completion fish > ${manual}/aliquot.fish
  COMMAND ${CMAKE_COMMAND} -E touch ${manual}/stamp
  DEPENDS aliquot aliquot-placement aliquot-fleet VERBATIM)
add_custom_target(manual DEPENDS ${manual}/stamp)
install(DIRECTORY ${manual}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT aliquot)
install(FILES ${manual}/aliquot.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME aliquot COMPONENT aliquot)
install(FILES ${manual}/_aliquot DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT aliquot)
install(FILES ${manual}/aliquot.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT aliquot)
# What the tutorials name, under the names of the source tree.
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DATADIR}/aliquot COMPONENT aliquot)
install(DIRECTORY deploy/helm deploy/gate deploy/monitoring DESTINATION ${CMAKE_INSTALL_DATADIR}/aliquot/deploy COMPONENT aliquot
  PATTERN "*.py" EXCLUDE PATTERN "rules_test.yaml" EXCLUDE)
install(DIRECTORY clients/python/aliquot DESTINATION ${CMAKE_INSTALL_DATADIR}/aliquot/clients/python COMPONENT aliquot
  PATTERN "__pycache__" EXCLUDE)
install(FILES CHANGELOG.md README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT aliquot)

# A unit names its program by the full path, so it is written when the prefix is known. Not started and not
# enabled by anybody but the administrator.
function(aliquot_unit component unit)
  install(CODE "
    file(READ ${CMAKE_SOURCE_DIR}/deploy/systemd/${unit} text)
    string(REPLACE /usr/local/bin/ \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/ text \"\${text}\")
    file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/systemd/system/${unit}\" \"\${text}\")"
    COMPONENT ${component})
endfunction()
aliquot_unit(aliquot aliquot-jobs.service)
aliquot_unit(aliquot aliquot-jobs.socket)
aliquot_unit(agent aliquot-agent.service)
foreach(pair IN ITEMS aliquot:aliquot aliquot-agent:agent libaliquot-guard:guard)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 package)
  list(GET pair 1 component)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME copyright COMPONENT ${component})
endforeach()

set(CPACK_PACKAGE_NAME aliquot)
set(CPACK_PACKAGE_VENDOR "The Aliquot authors")
set(CPACK_PACKAGE_CONTACT "The Aliquot authors <aliquot@users.noreply.github.com>")
set(CPACK_PACKAGE_HOMEPAGE_URL https://github.com/aliquot/aliquot)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL aliquot agent guard)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ALIQUOT_PACKAGE_NAME aliquot)
set(CPACK_DEBIAN_AGENT_PACKAGE_NAME aliquot-agent)
set(CPACK_DEBIAN_GUARD_PACKAGE_NAME libaliquot-guard)
set(CPACK_COMPONENT_ALIQUOT_DESCRIPTION "GPU shares for Kubernetes, and on one machine without it
 The command line: checks, plans and explains GPU sharing, runs pods and GPU
 jobs on one machine with real or simulated GPUs.")
set(CPACK_COMPONENT_AGENT_DESCRIPTION "GPU shares for Kubernetes: the agent of a node
 Offers the NVIDIA GPUs of a node to kubelet, whole or in shares.")
set(CPACK_COMPONENT_GUARD_DESCRIPTION "GPU shares for Kubernetes: limits for CUDA programs
 The library that keeps a program within its share of a GPU.")
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/cmake/package_version.cmake)
foreach(component IN ITEMS ALIQUOT AGENT)
  string(TOLOWER ${component} folder)
  set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/deploy/debian/${folder}/prerm ${CMAKE_SOURCE_DIR}/deploy/debian/${folder}/postrm)
endforeach()
set(CPACK_ALIQUOT_SOURCE ${CMAKE_SOURCE_DIR})
include(CPack)

# All that is installed, for a build that wants no tests.
add_custom_target(installed DEPENDS manual aliquot aliquot-agent aliquot-controller aliquot-cuda-sample aliquot-fleet aliquot-guard
  aliquot-placement aliquot-probe aliquot-vision cuda-driver nvidia-cuda-mps-control nvidia-ml nvidia-smi onnxruntime-simulated)
add_custom_target(deb
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_BINARY_DIR}/packages
  COMMAND ${CMAKE_CPACK_COMMAND} -G DEB --config ${CMAKE_BINARY_DIR}/CPackConfig.cmake
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)
add_dependencies(deb installed)
