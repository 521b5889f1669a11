// SPDX-License-Identifier: Apache-2.0
#include "cli/host/top_driver.h"

#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "cli/host/process_facts.h"
#include "nvml/driver.h"
#include "nvml/meters.h"
#include "os/clock.h"
#include "os/host_name.h"
#include "os/root.h"
#include "pods/census.h"
#include "telemetry/json.h"
#include "telemetry/sampler.h"

namespace aliquot::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kFirstLook{1000};
constexpr std::chrono::milliseconds kBetweenLists{5000};

class DriverSource final : public TopSource {
public:
    DriverSource(const fs::path& base, std::string name)
        : base_(base), name_(std::move(name)), host_("/"), census_(host_, clock_, {}, {}) {}

    Result<Done> open(const nvml::DriverOptions& options) {
        auto driver = nvml::Driver::open(base_, options);
        if (!driver) return std::move(driver).error();
        driver_ = *std::move(driver);
        auto meters = nvml::Meters::open(base_, options);
        if (!meters) return std::move(meters).error();
        meters_ = *std::move(meters);
        if (auto listed = list(); !listed) return listed;
        sampler_ = std::make_unique<telemetry::Sampler>(
            clock_, telemetry::Sampler::Sources{*meters_, census_, [this] { return observed_; }},
            telemetry::SamplerOptions{.node = os::host_name("node")});
        return Done{};
    }

    TopUpdate poll(const std::stop_token& stop) override {
        if (clock_.now() - listed_ >= kBetweenLists) static_cast<void>(list().ok());
        census_.refresh();
        sampler_->look();
        if (first_) {
            // How busy something is shows only between two looks.
            std::mutex mutex;
            std::condition_variable_any pause;
            std::unique_lock lock(mutex);
            pause.wait_for(lock, stop, kFirstLook, [] { return false; });
            sampler_->look();
            first_ = false;
        }
        const auto seen = sampler_->snapshots().get().value;
        TopUpdate update{.any = seen != nullptr};
        update.cluster.now = std::chrono::system_clock::now();
        update.cluster.agents = {{.address = name_, .snapshot = seen}};
        if (seen) update.cluster.agents.front().processes = read_process_facts(*seen);
        update.states = {seen ? telemetry::to_json(*seen) : std::string()};
        return update;
    }

private:
    Result<Done> list() {
        listed_ = clock_.now();
        auto inventory = driver_->enumerate(gpu::Links::kLeaveOut);
        if (!inventory) {
            observed_.driver_problem = inventory.error().message;
            return std::move(inventory).error();
        }
        observed_.driver_problem.clear();
        observed_.inventory = *std::move(inventory);
        return Done{};
    }

    os::SystemClock clock_;
    os::Root base_;
    std::string name_;
    os::Root host_;
    pods::Census census_;
    std::unique_ptr<nvml::Driver> driver_;
    std::unique_ptr<nvml::Meters> meters_;
    telemetry::Observed observed_;
    os::TimePoint listed_{};
    bool first_ = true;
    std::unique_ptr<telemetry::Sampler> sampler_;  // last: it uses the others
};

}  // namespace

Result<std::unique_ptr<TopSource>> open_driver_source(const DriverChoice& choice) {
    auto source = std::make_unique<DriverSource>(
        host_of(choice), choice.node_state.empty() ? choice.driver_root : choice.node_state);
    if (auto opened = source->open(driver_options(choice)); !opened)
        return std::move(opened).error();
    return std::unique_ptr<TopSource>(std::move(source));
}

std::string agent_of_node(const std::string& node_state) {
    std::error_code problem;
    const fs::path node = fs::absolute(node_state, problem).lexically_normal();
    for (const fs::path& place : {node / "agent.sock", node.parent_path() / "agent.sock",
                                  node / "run/aliquot/agent.sock"}) {
        // The socket itself: the way to it may be longer than an address may be.
        const fs::path socket = fs::canonical(place, problem);
        if (!problem && fs::is_socket(socket, problem)) return "unix:" + socket.native();
    }
    return "";
}

}  // namespace aliquot::cli
