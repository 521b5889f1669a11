// SPDX-License-Identifier: Apache-2.0
#include "agent/status_page.h"

#include <nlohmann/json.hpp>

#include "agent/guard_json.h"
#include "agent/mps_control.h"
#include "agent/mps_json.h"
#include "base/json_value.h"
#include "gpu/json.h"

namespace aliquot::agent {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kLongestSilence{60};

std::string_view text_of(ConfigState state) {
    switch (state) {
        case ConfigState::kServed:
            return "served";
        case ConfigState::kDefault:
            return "default";
        case ConfigState::kRefused:
            return "refused";
    }
    return "";
}

std::string_view text_of(kubelet::PluginStatus::State state) {
    switch (state) {
        case kubelet::PluginStatus::State::kStarting:
            return "starting";
        case kubelet::PluginStatus::State::kWaitingForKubelet:
            return "waiting for kubelet";
        case kubelet::PluginStatus::State::kServing:
            return "serving";
        case kubelet::PluginStatus::State::kStopped:
            return "stopped";
    }
    return "";
}

Json resource_json(const ServedResource& resource) {
    return {{"name", resource.name},
            {"devices", resource.devices},
            {"healthy", resource.healthy},
            {"state", text_of(resource.plugin.state)},
            {"streams", resource.plugin.streams},
            {"registrations", resource.plugin.registrations},
            {"allocations", resource.plugin.allocations},
            {"lastError", resource.plugin.last_error}};
}

Json finding_json(const findings::Finding& finding) {
    return {{"file", finding.file},
            {"line", finding.line},
            {"column", finding.column},
            {"rule", finding.rule},
            {"severity", to_text(finding.severity)},
            {"message", finding.message},
            {"expected", finding.expected},
            {"fix", finding.fix}};
}

}  // namespace

void StatusBoard::beat() {
    const std::scoped_lock lock(mutex_);
    beat_ = clock_.now();
}

void StatusBoard::set_config(Config config) {
    const std::scoped_lock lock(mutex_);
    config_ = std::move(config);
}

void StatusBoard::set_remarks(std::vector<std::string> remarks) {
    const std::scoped_lock lock(mutex_);
    remarks_ = std::move(remarks);
}

StatusBoard::Config StatusBoard::config() const {
    const std::scoped_lock lock(mutex_);
    return config_;
}

std::vector<std::string> StatusBoard::remarks() const {
    const std::scoped_lock lock(mutex_);
    return remarks_;
}

void StatusBoard::set_mps(std::vector<mps::Status> statuses) {
    const std::scoped_lock lock(mutex_);
    mps_ = std::move(statuses);
}

void StatusBoard::set_guard(std::shared_ptr<const GuardSnapshot> snapshot) {
    const std::scoped_lock lock(mutex_);
    guard_ = std::move(snapshot);
}

void StatusBoard::set_metrics_port(unsigned port) {
    const std::scoped_lock lock(mutex_);
    metrics_port_ = port;
}

http::Response StatusBoard::health() const {
    const std::scoped_lock lock(mutex_);
    if (clock_.now() - beat_ < kLongestSilence) return {.body = "ok\n"};
    return {.status = 503, .body = "the reconcile loop has not run for over a minute\n"};
}

http::Response StatusBoard::readiness(const Observation* seen, const Serving& serving) {
    std::string missing;
    if (seen == nullptr) missing += "the GPUs have not been looked at yet\n";
    if (seen != nullptr && seen->inventory.gpus.empty()) {
        missing +=
            seen->driver_problem.empty() ? "this node has no GPU\n" : seen->driver_problem + "\n";
    }
    for (const ServedResource& resource : serving.status()) {
        if (resource.plugin.state == kubelet::PluginStatus::State::kServing) continue;
        missing += resource.name + ": " + std::string(text_of(resource.plugin.state));
        if (!resource.plugin.last_error.empty()) missing += ": " + resource.plugin.last_error;
        missing += "\n";
    }
    if (missing.empty()) return {.body = "ok\n"};
    return {.status = 503, .body = missing};
}

http::Response StatusBoard::status(const Observation* seen, const Serving& serving) const {
    std::vector<mps::Status> mps;
    std::shared_ptr<const GuardSnapshot> guard;
    {
        const std::scoped_lock lock(mutex_);
        mps = mps_;
        guard = guard_;
    }
    Json gpus = Json::array();
    Json page;
    page["version"] = ALIQUOT_VERSION;
    if (seen != nullptr) {
        page["driverVersion"] = seen->inventory.driver_version;
        page["driverProblem"] = seen->driver_problem;
        for (gpu::Gpu gpu : seen->inventory.gpus) {
            note_mps(gpu, mps);
            const auto xids = seen->xids.find(gpu.uuid);
            gpus.push_back(gpu::to_json(
                gpu, xids == seen->xids.end() ? std::span<const gpu::SeenXid>{} : xids->second));
        }
    }
    page["gpus"] = std::move(gpus);
    page["mps"] = mps_json(mps);
    page["guard"] = guard ? guard_json(*guard) : Json(nullptr);
    page["resources"] = Json::array();
    for (const ServedResource& resource : serving.status()) {
        page["resources"].push_back(resource_json(resource));
    }
    const std::scoped_lock lock(mutex_);
    page["config"] = {{"file", config_.file},
                      {"state", text_of(config_.state)},
                      {"problem", config_.problem},
                      {"findings", Json::array()}};
    for (const auto& finding : config_.findings) {
        page["config"]["findings"].push_back(finding_json(finding));
    }
    page["remarks"] = remarks_;
    page["metricsPort"] = metrics_port_ == 0 ? Json(nullptr) : Json(metrics_port_);
    return {.content_type = "application/json", .body = dumped(page, 2) + "\n"};
}

}  // namespace aliquot::agent
