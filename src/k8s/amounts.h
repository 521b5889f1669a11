// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace aliquot::document {
struct Value;
}

namespace aliquot::k8s {

/// By resource, in its unit: cores, bytes, devices.
using Amounts = std::map<std::string, double>;

/// A mapping of quantities, as requests, limits, capacity are; what is no quantity is 0. nullptr: none.
Amounts read_amounts(const document::Value* mapping);

/// Devices are counted whole, a part of one as one; less than none are none.
std::uint64_t whole(double amount);
/// The same of one resource; 0: it is not among them.
std::uint64_t count_of(const Amounts& amounts, const std::string& resource);

}  // namespace aliquot::k8s
