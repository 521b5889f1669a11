// SPDX-License-Identifier: Apache-2.0
#include "sim/smi/xml_writer.h"

namespace aliquot::sim::smi {

std::string XmlWriter::escaped(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        if (c == '&') {
            safe += "&amp;";
        } else if (c == '<') {
            safe += "&lt;";
        } else if (c == '>') {
            safe += "&gt;";
        } else if (c == '"') {
            safe += "&quot;";
        } else {
            safe += c;
        }
    }
    return safe;
}

void XmlWriter::open(const std::string& name, const std::string& attributes) {
    indent();
    text_ += "<" + name + attributes + ">\n";
    ++level_;
}

void XmlWriter::close(const std::string& name) {
    --level_;
    indent();
    text_ += "</" + name + ">\n";
}

void XmlWriter::element(const std::string& name, std::string_view value) {
    indent();
    text_ += "<" + name + ">" + escaped(value) + "</" + name + ">\n";
}

}  // namespace aliquot::sim::smi
