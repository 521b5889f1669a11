// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/value.h"
#include "k8s/node_selector.h"
#include "k8s/quantity.h"
#include "k8s/taint.h"

/// Devices as drivers publish them, resource.k8s.io/v1. Read leniently: what is missing or of another kind
/// stays empty; validation.h says what is wrong. Pure values, any thread.
/// source   k8s.io/api/resource/v1
namespace aliquot::claims {

using k8s::Quantity;
using Amounts = std::map<std::string, Quantity>;

/// "memory" of the driver "gpu.example.com" is "gpu.example.com/memory"; a name with a domain stays.
std::string qualified(std::string_view name, std::string_view driver);
/// Without the driver's own domain: for messages.
std::string short_name(std::string_view name, std::string_view driver);

/// What a request may take of a capacity that several claims share.
struct RequestPolicy {
    std::optional<Quantity> taken_by_default{};
    std::vector<Quantity> values{};  // ascending; empty: a range, or any
    std::optional<Quantity> min{};   // set: a range
    std::optional<Quantity> max{};
    std::optional<Quantity> step{};
};

struct Capacity {
    Quantity value = Quantity::of(0, Quantity::Format::kDecimal);
    std::optional<RequestPolicy> policy{};
};

/// Which nodes reach a slice or a device; nothing set: by device, or none.
struct Reach {
    std::string node_name{};
    bool all_nodes = false;
    std::vector<k8s::NodeSelectorTerm> terms{};
    [[nodiscard]] bool covers(const std::string& node, const k8s::Labels& labels) const;
};

struct Device {
    std::string name{};
    std::map<std::string, cel::Value> attributes{};  // by qualified name
    std::map<std::string, Capacity> capacity{};      // by qualified name
    std::map<std::string, Amounts> consumes{};       // counter set, counter
    std::vector<k8s::Taint> taints{};
    bool shared = false;  // allowMultipleAllocations
    std::vector<std::string> binding_conditions{};
    std::vector<std::string> binding_failures{};
    Reach reach{};  // with Slice::by_device
};

struct Slice {
    std::string name{};
    std::string driver{};
    std::string pool{};
    std::int64_t generation = 0;
    std::int64_t slices = 0;  // of the pool
    Reach reach{};
    bool by_device = false;
    std::vector<Device> devices{};
    std::map<std::string, Amounts> counters{};  // counter set, counter
};

/// Which device, in the words of an allocation.
struct DeviceId {
    std::string driver;
    std::string pool;
    std::string device;
    friend auto operator<=>(const DeviceId&, const DeviceId&) = default;
};
/// "pool/device"
std::string to_text(const DeviceId& id);

Slice read_slice(const document::Value& object);

}  // namespace aliquot::claims
