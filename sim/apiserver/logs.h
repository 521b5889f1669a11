// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace aliquot::sim::apiserver {

/// What containers have said: no kubelet is here, so a test stores it. Thread-safe.
class LogBox {
public:
    /// pod   "namespace/name"; whether it exists does not matter
    void put(const std::string& pod, const std::string& container, std::string text);
    [[nodiscard]] std::optional<std::string> get(const std::string& pod,
                                                 const std::string& container) const;
    void forget(const std::string& pod);

private:
    mutable std::mutex guard_;
    std::map<std::string, std::map<std::string, std::string>> texts_;
};

}  // namespace aliquot::sim::apiserver
