// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/kubelet/device_accounts.h"
#include "sim/kubelet/local_channel.h"

namespace aliquot::sim {

/// kubelet's client of one device plugin. Thread-safe. Every error carries the text that kubelet
/// would show and is kUnavailable if not said otherwise.
class PluginConnection {
public:
    struct Options {
        bool pre_start_required = false;
        bool preferred_allocation = false;
    };

    explicit PluginConnection(std::string socket);
    ~PluginConnection();

    Result<Done> dial(std::chrono::milliseconds timeout, const Stopped& stopped);

    Result<Options> options(std::chrono::milliseconds timeout);
    /// Exactly one container request, as all of kubelet's. The first answer, or none.
    Result<std::vector<std::string>> preferred(const std::vector<std::string>& available,
                                               const std::vector<std::string>& must_include,
                                               unsigned size, std::chrono::milliseconds timeout);
    /// returns  the first ContainerAllocateResponse, serialised
    /// errors   kConflict: an answer without any
    Result<std::string> allocate(const std::vector<std::string>& ids,
                                 std::chrono::milliseconds timeout);
    Result<Done> pre_start(const std::vector<std::string>& ids, std::chrono::milliseconds timeout);

    /// Hands over each message of ListAndWatch; returns when the stream has ended.
    void watch(const std::function<void(std::vector<ListedDevice>)>& message);

    /// Breaks what is under way and closes the connection. Before dial() it does nothing.
    void close();
    /// As close(), and dial() will not succeed any more: kubelet itself ends.
    void abandon();

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::sim
