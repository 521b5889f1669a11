# SPDX-License-Identifier: Apache-2.0
#
# Target aliquot_archive: libarchive and zlib. From the distribution's archive where it exists: of it a program
# takes tar and nothing more (100 KiB), while the shared library brings ten others, libxml2 and ICU among them.
find_package(ZLIB REQUIRED)
find_path(ALIQUOT_ARCHIVE_INCLUDE archive_entry.h REQUIRED)
find_library(ALIQUOT_ARCHIVE_LIBRARY NAMES libarchive.a archive REQUIRED)
add_library(aliquot_archive INTERFACE)
target_include_directories(aliquot_archive SYSTEM INTERFACE ${ALIQUOT_ARCHIVE_INCLUDE})
target_link_libraries(aliquot_archive INTERFACE ${ALIQUOT_ARCHIVE_LIBRARY} ZLIB::ZLIB)
# Tar's own files name those of every other format; nothing calls them, so they and what they want are left out.
target_link_options(aliquot_archive INTERFACE -Wl,--gc-sections)
