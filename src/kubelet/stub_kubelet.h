// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace grpc {
class Channel;
}

/// For the tests of this folder: a kubelet of few words whose every misbehaviour can be ordered. Not sim/kubelet,
/// which keeps kubelet's rules: here Register hangs, nobody listens, a stream is dropped by mistake, and every
/// message is kept as it was on the wire.
namespace aliquot::kubelet {

/// How a stub kubelet treats plugins.
struct StubBehaviour {
    std::string refuse_with;  // Register fails with this
    bool listen = true;       // opens ListAndWatch after Register
    bool hang = false;        // Register never answers
    bool dial_back = true;    // asks the plugin for its options inside Register
};

/// A device as it was on the wire: health, and "none" or the NUMA nodes.
using SeenDevices = std::map<std::string, std::string>;  // id -> "Healthy none", "Unhealthy 0"

/// What a stub kubelet has seen since it was made.
struct Seen {
    unsigned registers = 0;  // Register calls, refused ones too
    unsigned accepted = 0;
    std::string resource;
    std::string endpoint;
    bool preferred_in_request = false;  // options of the request
    bool preferred_in_dial_back = false;
    std::vector<SeenDevices> lists;
    unsigned streams_opened = 0;
    unsigned streams_ended = 0;
};

class StubKubelet {
public:
    explicit StubKubelet(std::filesystem::path directory);
    ~StubKubelet();
    StubKubelet(const StubKubelet&) = delete;
    StubKubelet& operator=(const StubKubelet&) = delete;

    /// Removes every socket of the directory and listens.
    void start();
    void stop();

    void behave(StubBehaviour behaviour);
    void hang_up();  // ends the streams, as kubelet does by mistake

    [[nodiscard]] Seen seen() const;
    /// Waits for an event, never for time to pass; false after ten seconds.
    bool wait(const std::function<bool(const Seen&)>& condition) const;

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

/// A channel to a socket; `authority` as given (kubelet 1.36: "localhost"; older: the path).
std::shared_ptr<grpc::Channel> dial(const std::filesystem::path& socket,
                                    const std::string& authority = "localhost");

}  // namespace aliquot::kubelet
