// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cel/evaluate.h"
#include "claims/device.h"

namespace aliquot::claims {

/// `device` as the expression of a selector sees it. A device that is not asked about
/// allowMultipleAllocations is one that says false.
cel::Variables variables_of(const Device& device, const std::string& driver);

/// A CEL expression over one device, read once.
class Selector {
public:
    explicit Selector(std::string text);
    [[nodiscard]] const std::string& text() const { return text_; }
    /// Why it is none; empty: it is one.
    [[nodiscard]] const std::string& error() const { return error_; }
    /// errors   kInvalidInput: it is none, or fails on this device (an attribute that it has not)
    [[nodiscard]] Result<bool> matches(const cel::Variables& device) const;

private:
    std::string text_;
    std::optional<cel::Expression> expression_;
    std::string error_;
};

}  // namespace aliquot::claims
