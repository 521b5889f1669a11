// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

#include "kubelet/plugin_options.h"

namespace aliquot::kubelet {

/// The status of a plugin, written by its threads and read by anybody. Thread-safe.
class StatusBoard {
public:
    void set(PluginStatus::State state, unsigned streams) {
        const std::scoped_lock lock(mutex_);
        status_.state = state;
        status_.streams = streams;
    }

    /// error   empty: kubelet has registered us
    void note_registration(const std::string& error) {
        const std::scoped_lock lock(mutex_);
        status_.last_error = error;
        if (error.empty()) ++status_.registrations;
    }

    void note_allocation() {
        const std::scoped_lock lock(mutex_);
        ++status_.allocations;
    }

    [[nodiscard]] PluginStatus read() const {
        const std::scoped_lock lock(mutex_);
        return status_;
    }

private:
    mutable std::mutex mutex_;
    PluginStatus status_;
};

}  // namespace aliquot::kubelet
