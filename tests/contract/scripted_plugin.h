// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "grant/grant.h"

namespace aliquot::contract {

/// A device plugin that does what a test tells it, mistakes included: the least that kubelet
/// accepts, without a state machine. Thread-safe.
class ScriptedPlugin {
public:
    /// What the plugin answers. An error text becomes an rpc error of code Unknown.
    struct Script {
        bool preferred_allocation = true;
        bool pre_start_required = false;
        std::string options_error;
        std::function<std::vector<std::string>(std::vector<std::string> available,
                                               std::vector<std::string> must_include,
                                               unsigned size)>
            prefer;  // empty: the first of `available`
        std::string prefer_error;
        grant::Grant grant;  // beside DEVICES=<ids>
        std::string allocate_error;
        bool answer_nothing = false;  // Allocate: zero container responses
        std::string pre_start_error;
    };
    /// What kubelet asked so far.
    struct Seen {
        unsigned preferences = 0;
        unsigned allocations = 0;
        unsigned pre_starts = 0;
        unsigned streams = 0;  // open ones
        std::vector<std::string> last_available;
        std::vector<std::string> last_must_include;
        bool notified_registered = false;  // plugins_registry
        std::string notified_error;
    };

    ScriptedPlugin();
    ~ScriptedPlugin();  // as stop()

    /// Listens; a file that is in the way goes. The same socket serves the plugin watcher too, as
    /// `resource` of `type`.
    bool start(const std::string& socket, const std::string& resource = "nvidia.com/gpu",
               const std::string& type = "DevicePlugin");
    /// Breaks all streams, as the end of the process does.
    void stop();

    void script(const Script& script);
    void set_devices(std::vector<grant::Device> devices);
    [[nodiscard]] Seen seen() const;
    /// Waits (10 s at most) until `condition` holds for what was seen.
    bool wait(const std::function<bool(const Seen&)>& condition) const;

    /// Calls Register. Returns the error's text; empty: accepted.
    static std::string register_with(const std::string& kubelet_socket, const std::string& endpoint,
                                     const std::string& resource = "nvidia.com/gpu",
                                     const std::string& version = "v1beta1");

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::contract
