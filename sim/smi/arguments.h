// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Command line arguments, read one after the other.
namespace aliquot::sim::smi {

Error invalid(std::string message);

/// The parts between commas, without blanks around them and without empty ones.
std::vector<std::string> list_in(std::string_view text);

std::string upper(std::string text);

/// The arguments as "name" and "value" pairs are read from: "--loop=3", "--loop 3" and "-l 3".
class Reader {
public:
    explicit Reader(std::span<const std::string> rest) : rest_(rest) {}

    bool next() {
        if (rest_.empty()) return false;
        option_ = rest_.front();
        rest_ = rest_.subspan(1);
        value_.reset();
        const auto equals = option_.find('=');
        if (option_.starts_with("--") && equals != std::string::npos) {
            value_ = option_.substr(equals + 1);
            option_.erase(equals);
        }
        return true;
    }
    [[nodiscard]] const std::string& option() const { return option_; }
    [[nodiscard]] bool is(const char* short_name, const char* long_name) const {
        return option_ == short_name || option_ == long_name;
    }
    /// Also takes the next argument as the value when it is no option.
    std::optional<std::string> value() {
        if (!value_ && !rest_.empty() && !rest_.front().starts_with('-')) {
            value_ = rest_.front();
            rest_ = rest_.subspan(1);
        }
        return value_;
    }

private:
    std::span<const std::string> rest_;
    std::string option_;
    std::optional<std::string> value_;
};

}  // namespace aliquot::sim::smi
