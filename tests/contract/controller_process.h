// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot::contract {

/// An aliquot-controller as a process of its own, on ports that are free.
class ControllerProcess {
public:
    /// more   further words of the command line
    ControllerProcess(const std::string& kubeconfig, const std::string& namespace_name,
                      const std::string& configuration, const std::vector<std::string>& more);

    [[nodiscard]] std::string said() const;
    /// The number behind `mark` once it has been said; 0: it was not, or not in time.
    [[nodiscard]] unsigned number_behind(const std::string& mark) const;
    [[nodiscard]] unsigned webhook_port() const { return number_behind("webhook_port="); }
    [[nodiscard]] bool says(const std::string& text) const;
    os::Process& process() { return process_; }

private:
    const os::TemporaryDirectory directory_;
    os::Process process_;
};

}  // namespace aliquot::contract
