# SPDX-License-Identifier: Apache-2.0
#
# cmake -DINPUT=file.tsv -DOUTPUT=file.cpp -DNAME=kFile -P embed_text.cmake
#   Writes a C++ file whose string_view aliquot::catalog::NAME is the text of INPUT.
#   -DHEADER=folder/embedded.h -DNAMESPACE=aliquot::folder: declared elsewhere.
if(NOT DEFINED HEADER)
  set(HEADER catalog/embedded.h)
endif()
if(NOT DEFINED NAMESPACE)
  set(NAMESPACE aliquot::catalog)
endif()
file(READ ${INPUT} text)
string(FIND "${text}" ")tsv\"" clash)
if(NOT clash EQUAL -1)
  message(FATAL_ERROR "${INPUT} holds the end mark of a raw string")
endif()
get_filename_component(title ${INPUT} NAME)
file(WRITE ${OUTPUT} "// SPDX-License-Identifier: Apache-2.0
// Generated from ${title}; do not edit.
#include \"${HEADER}\"

namespace ${NAMESPACE} {
const std::string_view ${NAME} = R\"tsv(${text})tsv\";
}  // namespace ${NAMESPACE}
")
