// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/root.h"
#include "sim/kubelet/local_channel.h"

namespace aliquot::sim {

/// kubelet's plugin manager for one directory of sockets (plugins_registry): registers what
/// appears, de-registers what goes, and tries again with growing pauses what failed. A socket that
/// was removed and made anew counts as both. Names that begin with '.' are not seen;
/// sub-directories are. Owns one thread.
class PluginWatcher {
public:
    /// Called from the watcher's thread, one at a time.
    struct Handler {
        /// Errors are told to the plugin.
        std::function<Result<Done>(const std::string& name,
                                   const std::vector<std::string>& versions)>
            validate;
        std::function<Result<Done>(const std::string& name, const std::string& socket,
                                   const Stopped& stopped)>
            connect;
        std::function<void(const std::string& name, const std::string& socket)> disconnect;
    };
    /// By the type that a plugin says it is of: "DevicePlugin", "DRAPlugin".
    using Handlers = std::map<std::string, Handler>;

    /// errors   kPermission: the directory cannot be made
    static Result<std::unique_ptr<PluginWatcher>> start(const os::Root& root,
                                                        const std::string& directory,
                                                        std::chrono::milliseconds interval,
                                                        Handlers handlers);
    ~PluginWatcher();  // registered plugins stay so

private:
    class Implementation;
    explicit PluginWatcher(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace aliquot::sim
