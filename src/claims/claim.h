// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "claims/device.h"
#include "claims/selector.h"
#include "document/value.h"

namespace aliquot::claims {

/// What the field `opaque` holds, with the requests that it is for; none: all.
struct Configuration {
    std::vector<std::string> requests{};
    document::Value opaque{};
};

struct DeviceClass {
    std::string name{};
    std::vector<Selector> selectors{};
    std::vector<Configuration> configurations{};
    std::string extended_resource{};  // empty: none of its own
    std::string created{};            // RFC 3339
};

/// One way to fulfil a request.
struct SubRequest {
    std::string name{};  // below its request; empty: `exactly`
    std::string device_class{};
    std::vector<Selector> selectors{};
    bool all = false;  // allocationMode All
    std::int64_t count = 1;
    bool admin = false;
    std::vector<k8s::Toleration> tolerations{};
    Amounts capacity{};  // as written: with or without domain
    document::Value tolerations_node{};
};

struct Request {
    std::string name{};
    std::vector<SubRequest> subrequests{};  // firstAvailable in its order; one of `exactly`
    /// "gpu" or "gpu/large"
    [[nodiscard]] std::string name_of(const SubRequest& subrequest) const {
        return subrequest.name.empty() ? name : name + "/" + subrequest.name;
    }
};

struct Constraint {
    std::vector<std::string> requests{};  // none: all
    std::string attribute{};              // qualified
    bool distinct = false;                // all different; else all the same
    /// `request` "gpu", `subrequest` "large" or empty.
    [[nodiscard]] bool covers(const std::string& request, const std::string& subrequest) const;
};

/// One device of an allocation.
struct Allocated {
    std::string request{};  // "gpu" or "gpu/large"
    DeviceId device{};
    bool admin = false;
    std::string share{};  // a UUID; empty: the whole device
    Amounts consumed{};   // by the name as the device writes it
    document::Value tolerations_node{};
    std::vector<std::string> binding_conditions{};
    std::vector<std::string> binding_failures{};
};

struct Allocation {
    std::vector<Allocated> devices{};
    std::vector<std::pair<std::string, Configuration>>
        configurations{};     // "FromClass", "FromClaim"
    std::string node_name{};  // empty: every node reaches the devices
};

struct Consumer {
    std::string resource{};  // "pods"
    std::string name{};
    std::string uid{};
};

struct Claim {
    std::string name_space{};
    std::string name{};
    std::string uid{};
    std::vector<Request> requests{};
    std::vector<Constraint> constraints{};
    std::vector<Configuration> configurations{};
    std::optional<Allocation> allocation{};
    std::vector<Consumer> reserved_for{};
    [[nodiscard]] std::string full_name() const { return name_space + "/" + name; }
};

DeviceClass read_class(const document::Value& object);
Claim read_claim(const document::Value& object);
/// Of a ResourceClaimTemplate the claim that it makes, without names.
Claim read_template(const document::Value& object);

/// status.allocation
document::Value write_allocation(const Allocation& allocation);

}  // namespace aliquot::claims
