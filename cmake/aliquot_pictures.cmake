# SPDX-License-Identifier: Apache-2.0
#
# Target aliquot_pictures: libjpeg-turbo, libpng and libwebp, from the distribution's archives where they exist, so
# that a program stays one file.
include_guard(GLOBAL)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_path(ALIQUOT_WEBP_HEADERS webp/decode.h REQUIRED)
add_library(aliquot_pictures INTERFACE)
target_include_directories(aliquot_pictures SYSTEM INTERFACE ${JPEG_INCLUDE_DIRS} ${PNG_INCLUDE_DIRS} ${ALIQUOT_WEBP_HEADERS})
foreach(name IN ITEMS jpeg png16 webp z)
  find_library(ALIQUOT_PICTURES_${name} NAMES lib${name}.a ${name} REQUIRED)
  target_link_libraries(aliquot_pictures INTERFACE ${ALIQUOT_PICTURES_${name}})
endforeach()
target_link_libraries(aliquot_pictures INTERFACE m)
