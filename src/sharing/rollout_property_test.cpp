// SPDX-License-Identifier: Apache-2.0
// Random sequences of configurations, pods, restarts and faults, with a kubelet that hears late:
// no part of a GPU is ever promised to two holders, and what is idle follows the configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "gpu/replica_id.h"
#include "sharing/rollout.h"

namespace aliquot::sharing {
namespace {

constexpr std::uint64_t kGi = 1ULL << 30U;
constexpr std::uint64_t kMemory = 80 * kGi;
constexpr unsigned kGpus = 3;
constexpr char kGpu[] = "nvidia.com/gpu";

/// What a pod was given when it was admitted.
struct Held {
    std::string pod;
    std::string resource;
    std::string id;
    OfferedGpu promise;
};

/// A node: its driver, its kubelet and an agent that goes by roll_out() alone.
class World {
public:
    explicit World(std::uint64_t seed) : random_(seed) {
        for (unsigned i = 0; i < kGpus; ++i) {
            inventory_.gpus.push_back({.index = i,
                                       .uuid = {"GPU-" + std::to_string(i)},
                                       .minor = i,
                                       .model = "NVIDIA H100 80GB HBM3",
                                       .memory_bytes = kMemory,
                                       .compute_major = 9,
                                       .mig_capable = true});
        }
        configure();
        round();
    }

    void step() {
        switch (pick(16)) {
            case 0:
            case 1:
                configure();
                break;
            case 2:
            case 3:
            case 4:
            case 5:
                admit();
                break;
            case 6:
            case 7:
                end_pod();
                break;
            case 8:
                restart();
                break;
            case 9:
                cut();
                break;
            case 10:
                fall_ill();
                break;
            case 11:
                kubelet_silent_ = pick(2) == 0;
                said_ << "silent " << kubelet_silent_ << "\n";
                break;
            case 12:
                disk_full_ = pick(2) == 0;
                said_ << "full " << disk_full_ << "\n";
                break;
            default:
                break;
        }
        if (pick(3) > 0) kubelet_listens();
        if (pick(4) > 0) round();
        check();
    }

    /// All pods end, and nothing fails any more: the node is as it is configured.
    void settle() {
        pods_.clear();
        kubelet_silent_ = false;
        disk_full_ = false;
        for (int i = 0; i < 4; ++i) {
            kubelet_listens();
            round();
        }
        EXPECT_TRUE(last_.is_settled()) << history();
        EXPECT_TRUE(is_same_service(served_by(last_.offer), served_by(wanted()))) << history();
    }

    [[nodiscard]] std::string history() const { return said_.str(); }
    [[nodiscard]] unsigned admitted() const { return admitted_; }
    [[nodiscard]] unsigned switched() const { return switched_; }
    [[nodiscard]] unsigned waited() const { return waited_; }

private:
    std::uint64_t pick(std::uint64_t below) { return random_() % below; }

    void configure() {
        config_ = {};
        constexpr std::array kStrategies{MigStrategy::kNone, MigStrategy::kMixed,
                                         MigStrategy::kSingle};
        config_.flags.mig_strategy = kStrategies.at(pick(3));
        if (pick(4) > 0) {
            config_.sharing.mechanism =
                pick(4) == 0 ? grant::Mechanism::kMps : grant::Mechanism::kTimeSlicing;
            SharedResource entry{.name = kGpu, .replicas = static_cast<unsigned>(2 + pick(7))};
            if (pick(2) == 0) entry.limits.memory_bytes = kMemory / entry.replicas / (1 + pick(3));
            if (pick(3) == 0) entry.limits.compute_percent = 10 + static_cast<unsigned>(pick(20));
            if (pick(3) == 0) entry.rename = "nvidia.com/gpu.shared";
            if (pick(3) == 0) {
                entry.devices.all = false;
                entry.devices.indices = {static_cast<unsigned>(pick(kGpus))};
            }
            config_.sharing.resources = {entry};
        }
        // As the agent does: a configuration that this node cannot serve is refused.
        if (make_offer(config_, inventory_)) {
            said_ << "configure " << static_cast<int>(config_.sharing.mechanism) << "\n";
        } else {
            config_ = {};
        }
    }

    Offer wanted() {
        auto offer = make_offer(config_, inventory_);
        if (offer) return *std::move(offer);
        config_ = {};
        return *make_offer(config_, inventory_);
    }

    void admit() {
        std::vector<std::pair<std::string, std::string>> free;
        for (const auto& [resource, ids] : listed_) {
            for (const std::string& id : ids) {
                const bool held = std::ranges::any_of(pods_, [&](const Held& one) {
                    return one.resource == resource && one.id == id;
                });
                if (!held) free.emplace_back(resource, id);
            }
        }
        if (free.empty()) return;
        const auto [resource, id] = free[pick(free.size())];
        // The agent's word: from what it serves now, though kubelet has heard of it late.
        for (const Resource& one : last_.offer.resources) {
            if (one.name != resource) continue;
            const std::vector<std::string> ids{id};
            if (!make_grant(one, {}, ids, "n")) continue;
            const auto device = std::ranges::find_if(one.gpus, [&](const OfferedGpu& offered) {
                return replica_of(offered, id).has_value();
            });
            pods_.push_back({.pod = "a/" + std::to_string(admitted_++),
                             .resource = resource,
                             .id = id,
                             .promise = *device});
            said_ << "admit " << resource << " " << id << "\n";
        }
    }

    void end_pod() {
        if (pods_.empty()) return;
        const auto one = pods_.begin() + static_cast<std::ptrdiff_t>(pick(pods_.size()));
        said_ << "end " << one->id << "\n";
        pods_.erase(one);
    }

    /// Of the agent, which kubelet sees; sometimes with a record that was damaged meanwhile.
    void restart() {
        served_ = recorded_;
        records_lost_ = recorded_lost_;
        if (pick(6) == 0) {
            records_lost_ = true;
            served_.clear();
        }
        listed_.clear();
        closed_.clear();
        for (const auto& one : served_) closed_.insert(one.first);
        said_ << "restart, lost " << records_lost_ << "\n";
        round();
    }

    /// Somebody changes the MIG devices of a GPU, also of one that pods hold.
    void cut() {
        gpu::Gpu& gpu = inventory_.gpus[pick(kGpus)];
        const std::string name = "MIG-" + std::to_string(gpu.index) + "-";
        if (pick(3) == 0) {
            gpu.mig_enabled = false;
            gpu.mig_devices.clear();
        } else {
            gpu.mig_enabled = true;
            if (gpu.mig_devices.size() > 3) gpu.mig_devices.erase(gpu.mig_devices.begin());
            gpu.mig_devices.push_back({.uuid = {name + std::to_string(cuts_++)},
                                       .index = static_cast<unsigned>(gpu.mig_devices.size()),
                                       .profile = pick(2) == 0 ? "1g.10gb" : "2g.20gb",
                                       .memory_bytes = 10 * kGi});
        }
        said_ << "cut " << gpu.index << " into " << gpu.mig_devices.size() << "\n";
    }

    void fall_ill() {
        gpu::Health& health = inventory_.gpus[pick(kGpus)].health;
        health.state = health.ok() ? gpu::Health::State::kUnhealthy : gpu::Health::State::kHealthy;
    }

    /// kubelet takes the newest list.
    void kubelet_listens() {
        listed_.clear();
        for (const Resource& resource : last_.offer.resources) {
            for (const auto& device : resource.devices()) {
                if (device.healthy) listed_[resource.name].insert(device.id);
            }
        }
    }

    void round() {
        RolloutFacts facts{.served = served_, .records_lost = records_lost_};
        for (const Held& one : pods_) facts.holds.push_back({one.resource, one.id, one.pod});
        if (kubelet_silent_) facts.holds_problem = "kubelet does not answer";
        if (disk_full_) facts.record_problem = "no space left on device";
        for (const gpu::Uuid& uuid : closed_) {
            const bool given = std::ranges::any_of(listed_, [&](const auto& entry) {
                return std::ranges::any_of(entry.second, [&](const std::string& id) {
                    return gpu::device_of(id) == uuid.text;
                });
            });
            if (!given) facts.withdrawn.insert(uuid);
        }
        last_ = roll_out(wanted(), inventory_, facts);
        records_lost_ = last_.records_lost;
        if (!disk_full_) {
            recorded_ = last_.served;
            recorded_lost_ = records_lost_;
        } else {
            for (const auto& [uuid, served] : last_.served) {
                if (served_.contains(uuid)) {
                    EXPECT_TRUE(
                        is_same_service({{uuid, served_.at(uuid)}}, {{uuid, served}}) ||
                        keeps_promises(served_.at(uuid), served.resource.name, served.device))
                        << history();
                }
            }
        }
        served_ = last_.served;
        switched_ += static_cast<unsigned>(last_.switched.size());
        waited_ += last_.waiting.empty() ? 0 : 1;
        closed_.clear();
        for (const auto& one : served_) closed_.insert(one.first);
        for (const Resource& resource : last_.offer.resources) {
            for (const OfferedGpu& device : resource.gpus) {
                const bool lists = device.healthy() && (!device.only || !device.only->empty());
                if (lists) closed_.erase(device.uuid());
            }
        }
    }

    [[nodiscard]] gpu::Uuid gpu_of(const Held& held) const { return held.promise.gpu.uuid; }

    void check() {
        for (std::size_t i = 0; i < pods_.size(); ++i) {
            std::uint64_t bytes = 0;
            for (std::size_t j = 0; j < pods_.size(); ++j) {
                if (gpu_of(pods_[i]) != gpu_of(pods_[j])) continue;
                if (i != j) check_pair(pods_[i], pods_[j]);
                bytes += pods_[j].promise.limits.memory_bytes.value_or(0);
            }
            ASSERT_LE(bytes, kMemory) << pods_[i].id << "\n" << history();
            check_listed(pods_[i]);
        }
    }

    [[nodiscard]] bool is_there(const Held& held) const {
        if (!held.promise.mig) return true;
        const auto& devices = inventory_.gpus[held.promise.gpu.index].mig_devices;
        return std::ranges::find(devices, held.promise.mig->uuid, &gpu::MigDevice::uuid) !=
               devices.end();
    }

    /// Two pods on one GPU hold different parts by one promise.
    void check_pair(const Held& a, const Held& b) const {
        const bool same_device = a.promise.uuid() == b.promise.uuid();
        // Of a MIG device that is destroyed nothing is held any more.
        if (!is_there(a) || !is_there(b)) return;
        if (!same_device) {
            ASSERT_TRUE(a.promise.mig && b.promise.mig) << a.id << " " << b.id << "\n" << history();
            return;
        }
        ASSERT_NE(a.id, b.id) << history();
        ASSERT_EQ(a.resource, b.resource) << a.id << " " << b.id << "\n" << history();
        ASSERT_EQ(a.promise.replicas, b.promise.replicas) << a.id << " " << b.id << "\n"
                                                          << history();
        ASSERT_EQ(a.promise.mechanism(), b.promise.mechanism()) << history();
        ASSERT_EQ(a.promise.limits.memory_bytes.has_value(),
                  b.promise.limits.memory_bytes.has_value())
            << history();
    }

    /// What is held is in what is served, under the same limits or under none that is known.
    void check_listed(const Held& held) const {
        unsigned found = 0;
        for (const Resource& resource : last_.offer.resources) {
            if (resource.name != held.resource) continue;
            for (const OfferedGpu& device : resource.gpus) {
                const auto replica = replica_of(device, held.id);
                if (!replica || (device.only && !device.only->contains(*replica))) continue;
                ++found;
                if (device.frozen) continue;
                ASSERT_EQ(device.limits.memory_bytes.has_value(),
                          held.promise.limits.memory_bytes.has_value())
                    << held.id << "\n"
                    << history();
                ASSERT_EQ(device.replicas, held.promise.replicas) << history();
            }
        }
        // A pod that the agent has not looked at since is in what was served before that.
        if (last_.waiting.empty() && last_.closing.empty()) return;
        ASSERT_LE(found, 1U) << held.id << "\n" << history();
    }

    std::mt19937_64 random_;
    gpu::Inventory inventory_;
    Config config_;
    std::vector<Held> pods_;
    std::map<std::string, std::set<std::string>> listed_;  // healthy, as kubelet has heard last
    ServedDevices served_;
    ServedDevices recorded_;
    std::set<gpu::Uuid> closed_;  // nothing of them was listed in the last round
    bool records_lost_ = false;
    bool recorded_lost_ = false;
    bool kubelet_silent_ = false;
    bool disk_full_ = false;
    Rollout last_;
    unsigned admitted_ = 0;
    unsigned switched_ = 0;
    unsigned waited_ = 0;
    unsigned cuts_ = 0;
    std::ostringstream said_;
};

TEST(RolloutProperty, NoGpuHasTwoHoldersWhateverIsConfigured) {
    unsigned admitted = 0;
    unsigned switched = 0;
    unsigned waited = 0;
    for (std::uint64_t seed = 1; seed <= 120; ++seed) {
        World world(seed);
        for (int i = 0; i < 120; ++i) {
            world.step();
            if (testing::Test::HasFatalFailure()) {
                std::cerr << "seed " << seed << ", step " << i << "\n";
                return;
            }
        }
        world.settle();
        if (testing::Test::HasFailure()) {
            std::cerr << "seed " << seed << "\n";
            return;
        }
        admitted += world.admitted();
        switched += world.switched();
        waited += world.waited();
    }
    // The sequences do what they are made for.
    EXPECT_GT(admitted, 1000U);
    EXPECT_GT(switched, 500U);
    EXPECT_GT(waited, 1500U);
}

}  // namespace
}  // namespace aliquot::sharing
