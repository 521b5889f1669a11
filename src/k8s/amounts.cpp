// SPDX-License-Identifier: Apache-2.0
#include "k8s/amounts.h"

#include <algorithm>
#include <cmath>

#include "document/value.h"
#include "k8s/quantity.h"

namespace aliquot::k8s {

Amounts read_amounts(const document::Value* mapping) {
    Amounts amounts;
    if (mapping == nullptr) return amounts;
    for (const document::Value::Entry& entry : mapping->entries) {
        amounts[entry.first.scalar] = quantity_value(entry.second.scalar).value_or(0);
    }
    return amounts;
}

std::uint64_t whole(double amount) {
    constexpr double kMost = 9.2e18;  // what a quantity of Kubernetes can be
    return static_cast<std::uint64_t>(std::ceil(std::clamp(amount, 0.0, kMost)));
}

std::uint64_t count_of(const Amounts& amounts, const std::string& resource) {
    const auto found = amounts.find(resource);
    return found == amounts.end() ? 0 : whole(found->second);
}

}  // namespace aliquot::k8s
