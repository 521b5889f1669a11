// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "gpu/hardware.h"
#include "nvml/library.h"

namespace aliquot::nvml {

/// The event set of a session: which GPUs it listens to and what they reported. Used by one thread.
class FaultEvents {
public:
    using Watched = std::vector<std::pair<nvmlDevice_t, gpu::Uuid>>;

    /// One look. `listening` is false when no GPU of this driver sends events or the set broke:
    /// then nothing was waited for.
    struct Look {
        std::vector<gpu::FaultEvent> events;
        bool listening = true;
    };

    /// Listens to `gpus` and no others; false when it does so already. A GPU that cannot be
    /// listened to (no events, lost) is left out.
    bool listen(const Library& library, const Watched& gpus);
    /// Waits at most `wait` for the first event and takes the ones behind it.
    Look look(const Library& library, std::chrono::milliseconds wait);
    void close(const Library& library);
    /// The driver has taken the set with it.
    void forget();
    /// Whether every GPU given to listen() is heard.
    [[nodiscard]] bool complete() const { return heard_.size() == wanted_.size(); }

private:
    Watched wanted_;
    Watched heard_;
    nvmlEventSet_t set_ = nullptr;
};

}  // namespace aliquot::nvml
