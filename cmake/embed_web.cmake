# SPDX-License-Identifier: Apache-2.0
#
# cmake "-DFILES=index.html;app.js" -DFOLDER=web -DOUTPUT=assets.cpp -P embed_web.cmake
#   Writes a C++ file with the table of aliquot::page::assets(). Once it is in the binary, no file is read.
set(rows "")
set(count 0)
foreach(name IN LISTS FILES)
  file(READ ${FOLDER}/${name} text)
  string(FIND "${text}" ")web\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${name} holds the end mark of a raw string")
  endif()
  if(name MATCHES "\\.js$")
    set(type "text/javascript; charset=utf-8")
  elseif(name MATCHES "\\.css$")
    set(type "text/css; charset=utf-8")
  elseif(name MATCHES "\\.html$")
    set(type "text/html; charset=utf-8")
  else()
    message(FATAL_ERROR "${name}: no content type for it")
  endif()
  string(APPEND rows "    {\"${name}\", \"${type}\", R\"web(${text})web\"},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUTPUT} "// SPDX-License-Identifier: Apache-2.0
// Generated from web/; do not edit.
#include <array>

#include \"page/assets.h\"

namespace aliquot::page {
namespace {
constexpr std::array<Asset, ${count}> kAssets{{
${rows}}};
}  // namespace
std::span<const Asset> assets() { return kAssets; }
}  // namespace aliquot::page
")
