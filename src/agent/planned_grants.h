// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "scheduling/plan.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// What the controller planned for pods that are bound to this node and have not been given it yet. kubelet does
/// not say for whom it asks, and need not: pods that ask for the same are alike, so the oldest plan of that shape
/// is served, and afterwards the node tells who got what. A plan only picks among the ids that kubelet offers: a
/// forged one can name another free GPU, and nothing else. Thread-safe.
class PlannedGrants {
public:
    /// Looks for plans that are newer than what is known; must end within kLongestLook.
    using Refresh = std::function<void()>;
    static constexpr std::chrono::milliseconds kLongestLook{200};

    /// A pod of this node. Nothing changes for one that is known.
    void set(const std::string& uid, const std::string& created, const scheduling::Plan& plan,
             const std::string& node);
    void erase(const std::string& uid);
    /// These pods hold devices: their plans are done.
    void note_holders(const std::set<std::string>& uids);
    void set_refresh(Refresh refresh);

    /// The ids that are planned for the next container that asks for `size` of this resource; empty: none are,
    /// or they cannot be had (then the agent chooses by itself). must_include is always part of it.
    std::vector<std::string> prefer(const sharing::Resource& resource,
                                    std::span<const std::string> available,
                                    std::span<const std::string> must_include, std::size_t size);
    /// A container was given these.
    void note_granted(const sharing::Resource& resource, std::span<const std::string> ids);

    [[nodiscard]] std::size_t size() const;  // plans that are not served yet

private:
    struct Planned {
        std::string uid;
        std::string created;  // RFC 3339
        std::vector<scheduling::DeviceRequest> asked;
        scheduling::DeviceUnits units;
    };
    using Units = std::map<std::string, unsigned>;  // by GPU
    [[nodiscard]] Planned* oldest(const std::string& resource, std::size_t size);
    static std::optional<std::vector<std::string>> choose(const sharing::Resource& resource,
                                                          const Units& planned,
                                                          std::span<const std::string> available,
                                                          std::span<const std::string> must_include,
                                                          std::size_t size);

    mutable std::mutex mutex_;
    std::vector<Planned> planned_;  // by age
    std::set<std::string> served_;  // uids whose plans are done
    Refresh refresh_;
};

/// The uuid of the GPU that each device of the resource is of, MIG devices of theirs.
std::map<std::string, std::string> gpus_of_devices(const sharing::Resource& resource);

}  // namespace aliquot::agent
