// SPDX-License-Identifier: Apache-2.0
#include "findings/xml.h"

namespace aliquot::findings {

std::string xml_escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '<') {
            result += "&lt;";
        } else if (c == '>') {
            result += "&gt;";
        } else if (c == '&') {
            result += "&amp;";
        } else if (c == '"') {
            result += "&quot;";
        } else if (c == '\n') {
            result += "&#10;";
        } else {
            result += byte < 0x20U && c != '\t' ? ' ' : c;
        }
    }
    return result;
}

}  // namespace aliquot::findings
