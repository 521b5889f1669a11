// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/decider.h"
#include "agent/settings.h"
#include "base/result.h"
#include "cdi/spec.h"
#include "kubelet/device_plugin.h"
#include "os/root.h"

namespace aliquot::agent {

/// One resource on the status page.
struct ServedResource {
    std::string name;
    unsigned devices = 0;
    unsigned healthy = 0;
    kubelet::PluginStatus plugin;
};

/// Carries out an offer: one device plugin per resource, and the CDI file. Changes only what
/// differs: a resource that stays is never re-registered because another one came or went. Not
/// thread-safe, except status().
class Serving {
public:
    struct Options {
        kubelet::KubeletPaths kubelet;
        kubelet::Registration registration = kubelet::Registration::kRegister;
        std::string cdi_directory = "/var/run/cdi";
        CompleteGrant complete{};        // of every grant; may be empty
        PlannedGrants* plans = nullptr;  // what the controller planned; outlives this
    };

    /// root, grants   must outlive this
    Serving(const os::Root& root, RecentGrants& grants, Options options);
    ~Serving();  // stops all plugins and removes the CDI file

    /// Makes kubelet see `offer` under `settings`. A resource whose socket cannot be made is logged
    /// and tried again with the next call; the others are served.
    /// errors   the first thing that could not be done
    Result<Done> apply(const Settings& settings, const sharing::Offer& offer,
                       const gpu::Inventory& inventory);

    [[nodiscard]] std::vector<ServedResource> status() const;

private:
    struct Served {
        std::unique_ptr<ResourceDecider> decider;  // outlives the plugin
        std::unique_ptr<kubelet::DevicePlugin> plugin;
        std::vector<grant::Device> devices;
    };

    Result<Done> serve(const sharing::Resource& resource, AllocationInput input);
    Result<Done> write_cdi(const Settings& settings, const gpu::Inventory& inventory);
    void withdraw_all_but(const sharing::Offer& offer);

    const os::Root& root_;
    RecentGrants& grants_;
    Options options_;
    mutable std::mutex mutex_;  // guards served_ against that
    std::map<std::string, Served> served_;
    std::optional<cdi::SpecFile> cdi_file_;
};

}  // namespace aliquot::agent
