// SPDX-License-Identifier: Apache-2.0
#include "agent/serving.h"

#include <algorithm>
#include <array>
#include <set>

#include "agent/host_spec.h"
#include "base/log.h"

namespace aliquot::agent {
namespace {

constexpr std::array<std::string_view, 4> kControlNodes{
    "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"};

std::vector<std::string> control_nodes_of(const os::Root& root, const std::string& dev_root) {
    std::vector<std::string> found;
    for (const std::string_view node : kControlNodes) {
        if (root.exists(dev_root + std::string(node))) found.emplace_back(node);
    }
    return found;
}

/// The links between the GPUs of one resource, by their position in it.
std::vector<std::vector<gpu::LinkScore>> links_of(const sharing::Resource& resource,
                                                  const gpu::Inventory& inventory) {
    if (inventory.links.size() != inventory.gpus.size()) return {};
    std::vector<std::size_t> positions;
    for (const sharing::OfferedGpu& offered : resource.gpus) {
        const gpu::Gpu* known = inventory.find(offered.gpu.uuid);
        if (known == nullptr) return {};
        positions.push_back(static_cast<std::size_t>(known - inventory.gpus.data()));
    }
    std::vector<std::vector<gpu::LinkScore>> links;
    for (const std::size_t row : positions) {
        auto& scores = links.emplace_back();
        for (const std::size_t column : positions) {
            scores.push_back(column < inventory.links[row].size() ? inventory.links[row][column]
                                                                  : 0);
        }
    }
    return links;
}

std::string join(std::string directory, std::string_view name) {
    while (directory.ends_with('/')) directory.pop_back();
    return directory + "/" + std::string(name);
}

}  // namespace

Serving::Serving(const os::Root& root, RecentGrants& grants, Options options)
    : root_(root), grants_(grants), options_(std::move(options)) {}

Serving::~Serving() {
    for (auto& [name, served] : served_) {
        if (served.plugin) served.plugin->stop(kubelet::StopReason::kRestart);
    }
    if (!cdi_file_) return;
    const auto removed = cdi_file_->remove();
    if (!removed) log::warning("cdi.not_removed", {{"why", removed.error().message}});
}

Result<Done> Serving::apply(const Settings& settings, const sharing::Offer& offer,
                            const gpu::Inventory& inventory) {
    std::optional<Error> first;
    const auto note = [&](Result<Done> outcome) {
        if (!outcome && !first) first = std::move(outcome).error();
    };
    // The CDI file first: kubelet may hand out a name of it as soon as a resource is registered.
    note(write_cdi(settings, inventory));
    withdraw_all_but(offer);
    sharing::GrantOptions grant = settings.grant;
    grant.control_nodes = control_nodes_of(root_, settings.dev_root);
    for (const sharing::Resource& resource : offer.resources) {
        note(serve(resource, {.resource = resource,
                              .links = links_of(resource, inventory),
                              .policy = settings.policy,
                              .grant = grant}));
    }
    if (first) return *std::move(first);
    return Done{};
}

void Serving::withdraw_all_but(const sharing::Offer& offer) {
    for (auto entry = served_.begin(); entry != served_.end();) {
        const bool stays = std::ranges::find(offer.resources, entry->first,
                                             &sharing::Resource::name) != offer.resources.end();
        if (stays) {
            ++entry;
            continue;
        }
        log::info("resource.withdrawn", {{"resource", entry->first}});
        if (entry->second.plugin) entry->second.plugin->stop(kubelet::StopReason::kResourceGone);
        const std::scoped_lock lock(mutex_);
        entry = served_.erase(entry);
    }
}

Result<Done> Serving::serve(const sharing::Resource& resource, AllocationInput input) {
    std::vector<grant::Device> devices = resource.devices();
    const auto found = served_.find(resource.name);
    if (found != served_.end()) {
        found->second.decider->publish(std::move(input));
        found->second.plugin->update(devices);
        const std::scoped_lock lock(mutex_);
        found->second.devices = std::move(devices);
        return Done{};
    }
    Served served{.decider = std::make_unique<ResourceDecider>(resource.name, grants_,
                                                               options_.complete, options_.plans)};
    served.decider->publish(std::move(input));
    kubelet::PluginOptions plugin{.resource = resource.name,
                                  .socket_name = sharing::socket_name(resource.name),
                                  .paths = options_.kubelet,
                                  .registration = options_.registration};
    served.plugin = std::make_unique<kubelet::DevicePlugin>(root_, plugin, *served.decider);
    const auto started = served.plugin->start(devices);
    if (!started) {
        log::error("resource.not_served",
                   {{"resource", resource.name}, {"why", started.error().message}});
        return started;
    }
    log::info(
        "resource.offered",
        {{"resource", resource.name}, {"devices", devices.size()}, {"shared", resource.shared}});
    served.devices = std::move(devices);
    const std::scoped_lock lock(mutex_);
    served_.emplace(resource.name, std::move(served));
    return Done{};
}

Result<Done> Serving::write_cdi(const Settings& settings, const gpu::Inventory& inventory) {
    if (!settings.uses_cdi()) {
        if (!cdi_file_) return Done{};
        auto removed = cdi_file_->remove();
        cdi_file_.reset();
        return removed;
    }
    // Nothing to name; what was written stays, since containers may start again while the driver is away.
    if (inventory.gpus.empty()) return Done{};
    const sharing::GrantOptions& grant = settings.grant;
    const auto spec =
        host_spec(root_, settings, inventory,
                  {.vendor = grant.cdi_vendor,
                   .device_class = grant.cdi_class,
                   .by_index = grant.id_strategy == sharing::DeviceIdStrategy::kIndex});
    if (!spec) {
        log::error("cdi.not_written", {{"why", spec.error().message}});
        return spec.error();
    }
    if (!cdi_file_) {
        cdi_file_.emplace(root_, join(options_.cdi_directory,
                                      grant.cdi_vendor + "-" + grant.cdi_class + ".json"));
    }
    auto written = cdi_file_->write(*spec);
    if (!written) log::error("cdi.not_written", {{"why", written.error().message}});
    return written;
}

std::vector<ServedResource> Serving::status() const {
    const std::scoped_lock lock(mutex_);
    std::vector<ServedResource> result;
    for (const auto& [name, served] : served_) {
        const auto healthy = std::ranges::count(served.devices, true, &grant::Device::healthy);
        result.push_back({.name = name,
                          .devices = static_cast<unsigned>(served.devices.size()),
                          .healthy = static_cast<unsigned>(healthy),
                          .plugin = served.plugin->status()});
    }
    return result;
}

}  // namespace aliquot::agent
