// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/latest.h"
#include "gpu/meters.h"
#include "os/clock.h"
#include "pods/census.h"
#include "telemetry/device_account.h"
#include "telemetry/scene.h"
#include "telemetry/snapshot.h"

namespace aliquot::telemetry {

/// What others know of the node: the GPUs with their health, how they are offered, what guards say.
struct Observed {
    gpu::Inventory inventory;
    std::string driver_problem;
    std::map<gpu::Uuid, std::vector<gpu::SeenXid>> last_xids;
    std::map<gpu::Uuid, std::vector<XidCount>> xids;
    std::shared_ptr<const Offered> offered;                                  // null: nothing yet
    std::shared_ptr<const std::vector<guard_region::RegionStatus>> regions;  // null: no guards
};

struct SamplerOptions {
    std::chrono::milliseconds interval{1000};
    std::chrono::milliseconds deadline{800};  // for one look at all GPUs
    /// While some GPU waits for a reset to change its MIG mode: nobody may have it open then, so
    /// looks are rare and the driver is given back after each.
    std::chrono::milliseconds interval_before_reset{10'000};
    std::string node;
    std::optional<double> price_per_gpu_hour;
    AccountOptions accounts{};
};

/// Looks at the GPUs at its own pace and publishes what it all adds up to. Nobody who reads
/// snapshots causes a call into the driver or to kubelet. Two threads once started: one looks, one
/// keeps up with the pods, so that a kubelet that hangs delays no look.
class Sampler {
public:
    struct Sources {
        gpu::Meters& meters;
        pods::Census& census;
        std::function<Observed()> observed;
        /// Keeps what will be told, before anybody can have read it; empty: nothing is kept.
        std::function<void(const Snapshot&)> keep{};
    };

    /// clock and sources   must outlive this
    Sampler(os::Clock& clock, Sources sources, SamplerOptions options);
    ~Sampler();

    void start();

    /// Goes on with the counters that an earlier agent has kept; before start() and look().
    void resume(Snapshot kept) { kept_ = std::move(kept); }

    /// One look, on the calling thread; not beside start().
    void look();

    [[nodiscard]] const Latest<Snapshot>& snapshots() const { return latest_; }

private:
    void run(const std::stop_token& stop);
    void follow_pods(const std::stop_token& stop);
    std::vector<Result<gpu::Reading>> read(const gpu::Inventory& inventory);
    void note_failures(const std::vector<Result<gpu::Reading>>& readings, Moment now);
    Layout layout_of(const gpu::Gpu& gpu, const Observed& observed,
                     const pods::Holders* holders) const;

    os::Clock& clock_;
    Sources sources_;
    SamplerOptions options_;
    DeviceAccount& account_of(const gpu::Uuid& gpu);
    void keep(const Snapshot& snapshot) const;

    std::map<gpu::Uuid, DeviceAccount> accounts_;
    Snapshot kept_;  // of an earlier agent: the GPUs that were not seen since
    SamplingStatus sight_;
    bool reset_awaited_ = false;
    std::uint64_t sequence_ = 0;
    Latest<Snapshot> latest_;
    std::jthread pods_thread_;
    std::jthread thread_;  // last: they use all the others
};

}  // namespace aliquot::telemetry
