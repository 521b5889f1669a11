// SPDX-License-Identifier: Apache-2.0
#include "claims/capacity.h"

namespace aliquot::claims {
namespace {

using Nanos = Quantity::Nanos;
constexpr Nanos kWhole = 1'000'000'000;

/// Policies count in whole ones, rounded up.
Nanos whole_ones(const Quantity& amount) {
    const Nanos nanos = amount.nanos();
    return (nanos + (nanos > 0 ? kWhole - 1 : 0)) / kWhole * kWhole;
}

Error too_much(const Quantity& requested, const Quantity& most) {
    return {ErrorCode::kInvalidInput,
            "requested " + requested.canonical() + ", " + most.canonical() + " at most"};
}

Result<Quantity> next_value(const RequestPolicy& policy, const Quantity& requested) {
    for (const Quantity& value : policy.values) {
        if (whole_ones(value) >= whole_ones(requested)) return value;
    }
    return too_much(requested, policy.values.back());
}

Result<Quantity> in_range(const RequestPolicy& policy, const Quantity& requested) {
    Nanos amount = whole_ones(requested);
    const Nanos least = whole_ones(*policy.min);
    if (amount < least) return *policy.min;
    bool moved = false;
    if (policy.step) {
        const Nanos step = whole_ones(*policy.step);
        const Nanos over = step > 0 ? (amount - least) % step : 0;
        moved = over > 0;
        if (moved) amount += step - over;
    }
    if (policy.max && amount > whole_ones(*policy.max)) return too_much(requested, *policy.max);
    return moved ? Quantity::of(amount, requested.format()) : requested;
}

}  // namespace

Result<Quantity> taken(const Capacity& capacity, const Quantity* requested) {
    const auto& policy = capacity.policy;
    if (requested == nullptr) {
        return policy && policy->taken_by_default ? *policy->taken_by_default : capacity.value;
    }
    Result<Quantity> amount = *requested;
    if (policy && !policy->values.empty()) amount = next_value(*policy, *requested);
    if (policy && policy->values.empty() && policy->min) amount = in_range(*policy, *requested);
    if (amount && amount->nanos() > capacity.value.nanos()) {
        return too_much(*requested, capacity.value);
    }
    return amount;
}

Result<Amounts> taken_of(const Device& device, const std::string& driver,
                         const Amounts& requested) {
    std::map<std::string, const Quantity*> wanted;
    for (const auto& [name, amount] : requested) {
        const std::string full = qualified(name, driver);
        if (!device.capacity.contains(full)) {
            return Error{ErrorCode::kInvalidInput, "capacity " + name + ": the device has none"};
        }
        wanted.emplace(full, &amount);
    }
    Amounts sum;
    for (const auto& [name, capacity] : device.capacity) {
        const auto found = wanted.find(name);
        const Quantity* const amount = found == wanted.end() ? nullptr : found->second;
        if (!device.shared && amount == nullptr) continue;
        const auto took = taken(capacity, amount);
        const std::string shown = short_name(name, driver);
        if (!took) {
            return Error{ErrorCode::kInvalidInput,
                         "capacity " + shown + ": " + took.error().message};
        }
        if (device.shared) sum.insert_or_assign(shown, *took);
    }
    return sum;
}

std::string over_capacity(const Device& device, const std::string& driver, const Amounts& used,
                          const Amounts& more) {
    for (const auto& [name, amount] : more) {
        const auto capacity = device.capacity.find(qualified(name, driver));
        if (capacity == device.capacity.end()) continue;
        const auto before = used.find(name);
        const Nanos held = before == used.end() ? 0 : before->second.nanos();
        const Quantity& all = capacity->second.value;
        if (held + amount.nanos() <= all.nanos()) continue;
        const Nanos left = all.nanos() > held ? all.nanos() - held : 0;
        return "capacity " + name + ": the claim takes " + amount.canonical() + ", " +
               Quantity::of(left, all.format()).canonical() + " of " + all.canonical() + " left";
    }
    return {};
}

void add(Amounts& sum, const Amounts& more) {
    for (const auto& [name, amount] : more) {
        const auto found = sum.find(name);
        if (found == sum.end()) {
            sum.emplace(name, amount);
        } else {
            found->second =
                Quantity::of(found->second.nanos() + amount.nanos(), found->second.format());
        }
    }
}

void subtract(Amounts& sum, const Amounts& less) {
    for (const auto& [name, amount] : less) {
        const auto found = sum.find(name);
        if (found == sum.end()) continue;
        found->second =
            Quantity::of(found->second.nanos() - amount.nanos(), found->second.format());
    }
}

}  // namespace aliquot::claims
