// SPDX-License-Identifier: Apache-2.0
#include "agent/guard_events.h"

#include <utility>

#include "base/log.h"

namespace aliquot::agent {

void GuardEvents::note(GuardEvent event) {
    event.at = std::chrono::system_clock::now();
    log::warning("guard." + std::string(to_text(event.kind)),
                 {{"container", event.container}, {"message", event.message}});
    const std::scoped_lock lock(mutex_);
    events_.push_back(std::move(event));
    if (events_.size() > kMost) events_.pop_front();
}

std::vector<GuardEvent> GuardEvents::list() const {
    const std::scoped_lock lock(mutex_);
    return {events_.begin(), events_.end()};
}

}  // namespace aliquot::agent
