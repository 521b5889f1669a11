// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/hardware.h"
#include "gpu/inventory.h"
#include "os/root.h"
#include "os/temporary_directory.h"
#include "sim/cluster/environment.h"
#include "sim/node/node.h"

namespace aliquot::sim::cluster {

struct HostOptions {
    std::vector<std::string> gpus;  // "a2", "h100-80:8"; {"real"}: this machine's own
    std::vector<std::string> mig;   // [GPU=]LAYOUT, as sim::NodeOptions::mig; not with "real"
    std::filesystem::path state;    // keeps the simulated node and the logs; empty: temporary
    bool keep = false;              // leave everything where it is
    std::string config_file;        // empty: no sharing
    std::filesystem::path program_directory;  // where our programs are
};

/// The machine that `up` plays: the file tree that agent and kubelet see as their host (--root),
/// the GPUs in it, and the folders for logs and working directories. The destructor removes what it
/// made. Not thread-safe.
class Host {
public:
    /// errors   kInvalidInput: no such model; kNotFound: no driver on this machine, a library of
    ///          ours is missing; kConflict: `state` holds a node already; kPermission, kUnavailable
    static Result<std::unique_ptr<Host>> make(const HostOptions& options);
    ~Host();
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    [[nodiscard]] const os::Root& root() const { return *root_; }
    /// Host path of the driver, for the agent.
    [[nodiscard]] const std::string& driver_root() const { return driver_root_; }
    /// Host path of the configuration, for the agent; empty: none.
    [[nodiscard]] const std::string& config_path() const { return config_path_; }
    [[nodiscard]] const std::filesystem::path& logs() const { return logs_; }
    [[nodiscard]] bool keeps_logs() const { return keeps_logs_; }
    /// Empty for a real machine.
    [[nodiscard]] std::string node_directory() const;

    /// The GPUs as they are now.
    /// errors   kUnavailable: the driver does not answer
    Result<gpu::Inventory> look();

    /// What a process needs besides its own variables to see the driver and exactly these GPUs.
    [[nodiscard]] Environment driver_environment(const std::vector<std::string>& gpus) const;
    /// The same for the agent: every GPU.
    [[nodiscard]] Environment agent_environment() const;

    /// A new empty folder for a process.
    Result<std::string> working_directory(const std::string& name);

private:
    explicit Host(HostOptions options) : options_(std::move(options)) {}
    Result<Done> prepare();
    Result<Done> make_simulated_node();
    Result<Done> use_real_driver();

    HostOptions options_;
    std::optional<os::TemporaryDirectory> temporary_;
    std::filesystem::path base_;  // the temporary directory
    std::filesystem::path logs_;
    bool keeps_logs_ = false;
    std::optional<os::Root> root_;
    std::string driver_root_;
    std::string config_path_;
    std::optional<sim::Node> node_;
    std::filesystem::path node_directory_;
    std::filesystem::path agent_link_;
    std::unique_ptr<gpu::Sensors> driver_;  // of a real machine
};

}  // namespace aliquot::sim::cluster
