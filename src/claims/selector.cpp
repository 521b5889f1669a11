// SPDX-License-Identifier: Apache-2.0
#include "claims/selector.h"

namespace aliquot::claims {

cel::Variables variables_of(const Device& device, const std::string& driver) {
    const auto by_domain = [](const auto& named, const auto& value_of) {
        std::map<std::string, cel::Map> domains;
        for (const auto& [name, value] : named) {
            const auto slash = name.find('/');
            domains[name.substr(0, slash)].entries.emplace(name.substr(slash + 1), value_of(value));
        }
        cel::Map all{.missing_is_empty = true};
        for (auto& [domain, map] : domains) all.entries.emplace(domain, cel::Value(std::move(map)));
        return cel::Value(std::move(all));
    };
    cel::Map made{
        {{"driver", cel::Value(driver)},
         {"allowMultipleAllocations", cel::Value(device.shared)},
         {"attributes", by_domain(device.attributes, [](const auto& one) { return one; })},
         {"capacity",
          by_domain(device.capacity, [](const Capacity& one) { return cel::Value(one.value); })}}};
    return {{"device", cel::Value(std::move(made))}};
}

Selector::Selector(std::string text) : text_(std::move(text)) {
    auto read = cel::Expression::parse(text_, {"device"});
    if (read) {
        expression_ = *std::move(read);
    } else {
        error_ = read.error().message;
    }
}

Result<bool> Selector::matches(const cel::Variables& device) const {
    if (!expression_) return Error{ErrorCode::kInvalidInput, error_};
    return cel::evaluate_condition(*expression_, device);
}

}  // namespace aliquot::claims
