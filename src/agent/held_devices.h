// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"
#include "kubelet/pod_resources.h"
#include "os/clock.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// Who holds a device that is gone.
struct HolderQuestions {
    /// As kubelet's PodResources tells.
    std::function<Result<std::vector<kubelet::Holder>>()> list;
    /// Whether it was granted a moment ago, so that kubelet may not list its pod yet.
    std::function<bool(const gpu::Uuid& device)> just_granted;
};

/// MIG devices that were destroyed while a container holds them. They stay in the offer, unhealthy,
/// until kubelet says that the container is gone. Not thread-safe.
class HeldDevices {
public:
    struct Limits {
        std::size_t most = 256;  // that are kept at once
        std::chrono::milliseconds between_questions{
            2000};  // kubelet limits all its askers together
        std::chrono::milliseconds without_answer{600'000};  // then kubelet's silence means nobody
    };

    /// clock   must outlive this
    HeldDevices(os::Clock& clock, HolderQuestions questions, Limits limits)
        : clock_(clock), questions_(std::move(questions)), limits_(limits) {}

    /// Adds to a new offer what was in earlier ones, is not in `inventory` any more and is held.
    /// Asks kubelet only when something is gone.
    void amend(sharing::Offer& offer, const gpu::Inventory& inventory);

    /// Whether something is kept, so that it is worth to look again soon.
    [[nodiscard]] bool any() const { return !gone_.empty(); }

private:
    /// A device as it was offered, and the resource without its devices.
    struct Offered {
        sharing::Resource resource;
        sharing::OfferedGpu device;
    };
    struct Gone {
        Offered offered;
        os::TimePoint since;
        std::string holder;  // "default/trainer"; empty: not known yet
    };

    void note_vanished(const gpu::Inventory& inventory);
    void ask_who_holds();
    void remember(const sharing::Offer& offer);

    os::Clock& clock_;
    HolderQuestions questions_;
    Limits limits_;
    std::map<gpu::Uuid, Offered> offered_;  // by the last offer
    std::map<gpu::Uuid, Gone> gone_;
    os::TimePoint next_question_{};
};

}  // namespace aliquot::agent
