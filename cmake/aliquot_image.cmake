# SPDX-License-Identifier: Apache-2.0
#
# Target image: aliquot-image.tar in the build folder, an OCI image archive with every program that a
# cluster runs, made without docker (deploy/image/assemble.py; docs/guide/image.md).
find_package(Python3 COMPONENTS Interpreter)
set(ALIQUOT_IMAGE_REFERENCE ghcr.io/aliquot/aliquot:${PROJECT_VERSION} CACHE STRING "name of the image in its archive")
set(image_files "")
set(image_needs "")
set(image_inputs "")
foreach(program IN ITEMS aliquot aliquot-agent aliquot-controller aliquot-probe)
  if(TARGET ${program})
    list(APPEND image_needs ${program})
    list(APPEND image_files --file usr/bin/${program}=$<TARGET_FILE:${program}>)
    get_target_property(inputs ${program} ALIQUOT_LINK_INPUTS)
    if(inputs)
      list(APPEND image_inputs --link-inputs ${inputs})
    endif()
  endif()
endforeach()
if(NOT Python3_FOUND OR NOT image_needs)
  add_custom_target(image
    COMMAND ${CMAKE_COMMAND} -E echo "target image: needs Python 3 and the programs of cmd/"
    COMMAND ${CMAKE_COMMAND} -E false)
  return()
endif()
if(TARGET aliquot-guard)  # beside bin/, where the agent looks for it
  list(APPEND image_needs aliquot-guard)
  list(APPEND image_files --file usr/lib/libaliquot-guard.so=$<TARGET_FILE:aliquot-guard>)
endif()
if(CMAKE_STRIP)
  list(APPEND image_files --strip ${CMAKE_STRIP})
endif()
# Their headers are in the programs without an archive that would tell.
foreach(package IN ITEMS nlohmann-json3-dev libcli11-dev)
  list(APPEND image_inputs --source-package ${package})
endforeach()
add_custom_target(image
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/deploy/image/assemble.py
          ${image_files} ${image_inputs}
          --version ${PROJECT_VERSION} --reference ${ALIQUOT_IMAGE_REFERENCE}
          --licence ${CMAKE_SOURCE_DIR}/LICENSE
          --folder ${CMAKE_BINARY_DIR}/image --output ${CMAKE_BINARY_DIR}/aliquot-image.tar
  VERBATIM)
add_dependencies(image ${image_needs})
