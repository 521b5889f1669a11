// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "dra/device.h"
#include "dra/slices.h"
#include "kube_client/api.h"

namespace aliquot::dra {

/// What one look at the API server came to.
struct Published {
    unsigned writes = 0;               // removals, replacements and creations
    std::vector<std::string> dropped;  // dropped_fields() of what was written
};

/// Makes the slices of this node those of `devices`; without devices at all (an empty optional) there are none.
/// errors   of the API server; what was written before one stays
Result<Published> publish_slices(kube_client::Api& api, const std::string& node,
                                 const std::optional<std::vector<Device>>& devices,
                                 const kube_client::Call& call = {});

/// Whether this API server keeps devices with it; asked by a dry run.
/// errors   of the API server
Result<bool> keeps(kube_client::Api& api, const std::string& node, Feature feature,
                   const kube_client::Call& call = {});

/// Keeps the node's slices as they are to be: writes when the devices change, when somebody else has changed a
/// slice, or when kubelet has removed them, which it does when it starts. Has a thread. Thread-safe.
///
/// An API server that drops allowMultipleAllocations would give a GPU that is to be shared whole to the first claim, one
/// that drops counters a GPU and its MIG devices to several: then nothing is published, and `problem` says why. One that drops taints is not told of unhealthy devices.
class Publisher {
public:
    struct Options {
        std::chrono::milliseconds settle{1000};      // after an event, before a look
        std::chrono::milliseconds resync{60'000};    // a look without one
        std::chrono::milliseconds patience{30'000};  // between two undone changes of somebody else
        std::chrono::milliseconds retry_limit{30'000};
    };
    struct Status {
        bool current = false;  // what was set last is published
        std::size_t devices = 0;
        std::uint64_t writes = 0;
        std::string problem;  // of the last look: why not
        std::string refused;  // what this API server drops: nothing is published on it
    };

    /// api   must outlive this
    Publisher(kube_client::Api& api, std::string node, Options options);
    Publisher(kube_client::Api& api, std::string node)
        : Publisher(api, std::move(node), Options{}) {}
    ~Publisher();  // the slices stay: kubelet removes those of a driver that does not come back

    void set(std::optional<std::vector<Device>> devices);
    [[nodiscard]] Status status() const;

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::dra
