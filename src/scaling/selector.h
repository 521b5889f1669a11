// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::scaling {

using Labels = std::map<std::string, std::string>;

/// A Kubernetes label selector: "app=web,tier in (a,b),!canary".
class Selector {
public:
    enum class Operator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist };
    struct Requirement {
        std::string key;
        Operator what = Operator::kExists;
        std::vector<std::string> values;
    };

    /// An empty text selects all.
    /// errors   kInvalidInput: not such a text
    static Result<Selector> parse(std::string_view text);

    [[nodiscard]] bool empty() const { return requirements_.empty(); }
    [[nodiscard]] bool matches(const Labels& labels) const;
    [[nodiscard]] const std::vector<Requirement>& requirements() const { return requirements_; }

private:
    std::vector<Requirement> requirements_;
};

}  // namespace aliquot::scaling
