// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "sim/kubelet/local_channel.h"

namespace aliquot::sim {

/// What a plugin says in Register. Its options are read, but kubelet never looks at them.
struct RegisterCall {
    std::string version;
    std::string endpoint;  // file name in the plugin directory
    std::string resource;
    std::chrono::milliseconds remaining;  // until the plugin gives up
    Stopped stopped;                      // it has given up
};

/// Serves v1beta1.Registration on kubelet.sock until destroyed.
class RegistrationServer {
public:
    /// Called from a thread for each plugin; an error is the answer to the plugin.
    using Handler = std::function<Result<Done>(const RegisterCall&)>;

    /// socket   path for the system call
    /// errors   kUnavailable: cannot listen there
    static Result<std::unique_ptr<RegistrationServer>> listen(const std::string& socket,
                                                              Handler handler);
    ~RegistrationServer();  // waits for the handlers

    /// From now on as if kubelet were killed: the socket stays and refuses connections.
    void leave_socket();

private:
    class Implementation;
    explicit RegistrationServer(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::sim
