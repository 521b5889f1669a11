// SPDX-License-Identifier: Apache-2.0
#include "sim/apiserver/logs.h"

namespace aliquot::sim::apiserver {

void LogBox::put(const std::string& pod, const std::string& container, std::string text) {
    const std::lock_guard lock(guard_);
    texts_[pod][container] = std::move(text);
}

std::optional<std::string> LogBox::get(const std::string& pod, const std::string& container) const {
    const std::lock_guard lock(guard_);
    const auto found = texts_.find(pod);
    if (found == texts_.end()) return std::nullopt;
    const auto text = found->second.find(container);
    return text == found->second.end() ? std::nullopt : std::optional(text->second);
}

void LogBox::forget(const std::string& pod) {
    const std::lock_guard lock(guard_);
    texts_.erase(pod);
}

}  // namespace aliquot::sim::apiserver
