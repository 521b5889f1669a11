// SPDX-License-Identifier: Apache-2.0
// Random clusters and random operations, for every policy: what must hold whatever happens.
#include <gtest/gtest.h>

#include <map>

#include "placement/engine.h"
#include "placement/event_line.h"
#include "placement/random_cluster.h"
#include "sim/trace/published_scorer.h"

namespace aliquot::placement {
namespace {

constexpr unsigned kSeeds = 3;

/// Two engines that get the same operations; one of them goes on detours in between.
class Pair {
public:
    Pair(Policy policy, std::uint64_t seed)
        : dice_(seed), straight_(options(policy, seed)), wandering_(options(policy, seed)) {
        const MigGeometry geometry = seven_slices("A100");
        EXPECT_TRUE(straight_.add_geometry(geometry).ok() &&
                    wandering_.add_geometry(geometry).ok());
        const unsigned nodes = 1 + dice_.below(40);
        for (unsigned i = 0; i < nodes; ++i) add_node();
        set_workload();
    }

    void add_node() {
        const NodeSpec spec = random_node(dice_, straight_.node_count());
        EXPECT_TRUE(straight_.add_node(spec).ok() && wandering_.add_node(spec).ok());
    }
    void set_workload() {
        const auto types = random_workload(dice_);
        straight_.set_workload(types);
        wandering_.set_workload(types);
    }

    /// The same operation on both; the same answers.
    void step() {
        const std::uint64_t seed = dice_.below(1'000'000);
        Dice one(seed);
        Dice other(seed);
        ASSERT_EQ(operation(straight_, one), operation(wandering_, other));
    }

    void detour() {
        const auto before = photo(wandering_);
        const Mark mark = wandering_.mark();
        for (unsigned i = dice_.below(30); i > 0; --i) (void)operation(wandering_, dice_);
        const Mark later = wandering_.mark();
        for (unsigned i = dice_.below(10); i > 0; --i) (void)operation(wandering_, dice_);
        if (dice_.one_in(2)) wandering_.undo_to(later);
        wandering_.undo_to(mark);
        wandering_.commit();
        ASSERT_EQ(photo(wandering_), before);
    }

    void check() {
        ASSERT_EQ(straight_.self_check(), "");
        ASSERT_EQ(wandering_.self_check(), "");
        ASSERT_EQ(photo(straight_), photo(wandering_));
        ASSERT_EQ(overcommitted(straight_), "");
    }

    Dice& dice() { return dice_; }

private:
    static Options options(Policy policy, std::uint64_t seed) {
        Options options;
        options.policy = policy;
        options.published = sim::trace::published_scorer;
        options.seed = seed;
        options.learn = seed % 3 == 2;
        options.learn_every = 40;
        return options;
    }

    static std::string operation(Engine& engine, Dice& dice) {
        const PlacementId id = 1 + dice.below(static_cast<unsigned>(engine.live()) * 2 + 1);
        switch (dice.below(13)) {
            case 0: {
                const Request request = random_request(dice);
                const std::size_t before = engine.live();
                const auto gang = engine.place_gang(request, 1 + dice.below(5));
                if (!gang) {
                    EXPECT_EQ(engine.live(), before);  // all or nothing
                    return outcome_of(gang.error());
                }
                std::string all;
                for (const Placement& one : *gang) all += outcome_of(one) + "\n";
                return all;
            }
            case 1:
            case 2:
            case 3:
                return engine.release(id) ? "released" : "not there";
            case 4: {
                const auto to = engine.elsewhere(id);
                if (!to) return outcome_of(to.error());
                return outcome_of(*to) + (engine.move(id, *to) ? " moved" : " not moved");
            }
            case 5: {
                Placement where{.node = dice.below(engine.node_count() + 1), .devices = {}};
                where.devices.push_back(static_cast<std::uint8_t>(dice.below(8)));
                const Request request = random_request(dice);
                if (dice.one_in(2)) return engine.move(id, where) ? "moved" : "refused";
                const auto restored = engine.restore(request, where);
                return restored ? std::to_string(*restored) : outcome_of(restored.error());
            }
            case 7: {  // two change places, or a third stands in the way
                std::vector<Move> moves;
                const PlacementId other = 1 + dice.below(static_cast<unsigned>(engine.live()) * 2);
                const auto here = engine.placement_of(id);
                const auto there = engine.placement_of(other);
                if (there) moves.push_back({.id = id, .to = *there});
                if (here && !dice.one_in(4)) moves.push_back({.id = other, .to = *here});
                const auto done = engine.rearrange(moves);
                return done ? "rearranged" : outcome_of(done.error());
            }
            case 6: {
                const Request request = random_request(dice);
                const auto would = engine.what_if(request);
                const auto placed = engine.place(request);
                EXPECT_EQ(would.ok(), placed.ok());
                if (!placed) return outcome_of(placed.error());
                // In learning mode place() may take a new workload into account.
                if (!engine.options().learn) {
                    EXPECT_EQ(fields_of(*would), fields_of(*placed));
                    EXPECT_EQ(would->cost.total, placed->cost.total);
                }
                return outcome_of(*placed);
            }
            default: {
                const auto placed = engine.place(random_request(dice));
                return placed ? outcome_of(*placed) : outcome_of(placed.error());
            }
        }
    }

    /// Everything that an engine shows of its node_table.
    static std::string photo(const Engine& engine) {
        std::string all = std::to_string(engine.live()) + " " +
                          std::to_string(engine.free_milli()) + " " +
                          std::to_string(engine.free_cpu_beside_gpus()) + " " +
                          std::to_string(engine.departures()) + "\n";
        for (NodeId node = 0; node < engine.node_count(); ++node) {
            const NodeState state = engine.state(node);
            all += std::to_string(state.cpu_milli) + " " + std::to_string(state.memory_mib);
            for (const DeviceState& device : state.devices)
                all += " " + std::to_string(device.milli) + "/" + std::to_string(device.mib) + "/" +
                       std::to_string(device.mig_mask);
            for (const PlacementId id : engine.placements_on(node))
                all +=
                    "\n" + outcome_of(*engine.placement_of(id)) + fields_of(*engine.request_of(id));
            all += "\n";
        }
        return all;
    }

    /// From the live placements alone, without the engine's own node_table.
    static std::string overcommitted(const Engine& engine) {
        for (NodeId node = 0; node < engine.node_count(); ++node) {
            const NodeSpec& spec = engine.node(node);
            std::int64_t cpu = 0;
            std::int64_t memory = 0;
            std::array<std::int64_t, kMostDevices> milli{};
            std::array<std::int64_t, kMostDevices> mib{};
            std::map<std::string, int> words;
            for (const PlacementId id : engine.placements_on(node)) {
                const Request request = *engine.request_of(id);
                cpu += request.cpu_milli;
                memory += request.memory_mib;
                const bool whole = request.gpus > 0 && request.milli == kWholeGpu;
                const Placement placement = *engine.placement_of(id);
                for (const std::uint8_t device : placement.devices) {
                    if (device >= spec.devices) return spec.name + ": no such device";
                    if (!request.mig_profile.empty()) continue;
                    milli[device] += request.milli;
                    mib[device] += whole ? spec.device_mib : request.mib;
                }
                if (!request.anti_affinity.empty() && ++words[request.anti_affinity] > 1)
                    return spec.name + ": two of " + request.anti_affinity;
            }
            if (cpu > spec.cpu_milli || memory > spec.memory_mib)
                return spec.name + ": CPU, memory";
            for (unsigned i = 0; i < spec.devices; ++i)
                if (milli[i] > kWholeGpu || mib[i] > spec.device_mib) return spec.name + ": device";
        }
        return {};
    }

    Dice dice_;
    Engine straight_;
    Engine wandering_;
};

class EngineProperty : public testing::TestWithParam<Policy> {};

TEST_P(EngineProperty, BooksHoldUndoRestoresAndDecisionsRepeat) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Pair pair(GetParam(), seed);
        for (unsigned batch = 0; batch < 4; ++batch) {
            for (unsigned i = 0; i < 40; ++i) pair.step();
            pair.detour();
            for (unsigned i = 0; i < 10; ++i) pair.step();
            pair.check();
            if (testing::Test::HasFatalFailure()) return;
            if (pair.dice().one_in(3)) pair.add_node();
            if (pair.dice().one_in(6)) pair.set_workload();
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Policies, EngineProperty,
                         testing::Values(Policy::kAliquot, Policy::kFgd, Policy::kBestFit,
                                         Policy::kDotProduct, Policy::kPacking, Policy::kClustering,
                                         Policy::kRandom, Policy::kSpread),
                         [](const auto& tested) {
                             std::string word(to_text(tested.param));
                             std::replace(word.begin(), word.end(), '-', '_');
                             return word;
                         });

}  // namespace
}  // namespace aliquot::placement
