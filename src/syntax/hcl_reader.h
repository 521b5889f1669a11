// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "syntax/block.h"

/// Reads the bodies of blocks in HCL. Inside src/syntax only.
namespace aliquot::syntax {

/// How names of a body are written down.
enum class HclNames : std::uint8_t {
    kOfApi,     // as the Kubernetes API has them: "nodeSelector", "containers" for "container"
    kAsWritten  // a block that comes several times becomes a list
};

/// One pass over a text; linear, any bytes.
class HclReader {
public:
    /// `text` is what is read; `block` gives places to what stands in it.
    HclReader(const Block& block, std::string_view text, HclNames names)
        : block_(block), text_(text), names_(names) {}

    /// The body whose '{' stands before `at`. Returns whether it ends; where is end().
    bool read(std::size_t at, Value& body) {
        at_ = at;
        gaps_ = false;
        broken_ = false;
        return read_body(body, "", 0);
    }
    [[nodiscard]] std::size_t end() const { return at_; }
    [[nodiscard]] bool has_gaps() const { return gaps_; }  // parts are computed

private:
    bool read_body(Value& mapping, std::string_view outer, int depth);
    bool read_block(Value& mapping, std::string_view name, std::size_t begin,
                    std::string_view outer, int depth);
    bool read_value(Value& value, int depth);
    bool read_list(Value& list, int depth);
    bool read_map(Value& mapping, int depth);
    bool skip_expression();
    bool skip_heredoc();
    [[nodiscard]] std::string name_of(std::string_view written) const;
    std::size_t end_of_string(std::size_t quote) const;
    void skip_blanks(bool lines);
    char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    std::string_view read_name();

    const Block& block_;
    std::string_view text_;
    HclNames names_;
    std::size_t at_ = 0;
    bool gaps_ = false;
    bool broken_ = false;  // no use to go on
};

}  // namespace aliquot::syntax
