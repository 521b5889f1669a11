// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aliquot::sim::smi {

/// A text with an element a line, a tab in for each level.
class XmlWriter {
public:
    static std::string escaped(std::string_view text);

    /// attributes   " id=\"...\"", escaped already
    void open(const std::string& name, const std::string& attributes = "");
    void close(const std::string& name);
    void element(const std::string& name, std::string_view value);
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    void indent() { text_.append(level_, '\t'); }
    std::string text_;
    std::size_t level_ = 0;
};

}  // namespace aliquot::sim::smi
