// SPDX-License-Identifier: Apache-2.0
#include "dra/slices.h"

#include <gtest/gtest.h>

#include <set>

#include "document/build.h"
#include "document/path.h"
#include "dra/test_node.h"

namespace aliquot::dra {
namespace {

using document::Value;

const NodeIdentity kNode{"node-1", "uid-1"};

std::vector<Device> devices(std::size_t count) {
    std::vector<Device> made;
    for (std::size_t index = 0; index < count; ++index) {
        const std::string name = "gpu-" + std::to_string(index);
        made.push_back({.name = name, .published = document::make_mapping({{"name", name}})});
    }
    return made;
}

/// An API server that keeps what it is given.
class Server {
public:
    std::size_t carry_out(const SliceChanges& changes) {
        for (const StoredSlice& gone : changes.remove) {
            std::erase_if(slices, [&](const StoredSlice& one) { return one.name == gone.name; });
        }
        for (const SliceChanges::Write& write : changes.write) {
            Value object = write.object;
            if (!write.present) {
                const std::string name =
                    document::text_at(object, "metadata.generateName") + std::to_string(++names_);
                document::append(object.entries[2].second, "name", name);
            }
            const StoredSlice stored = read_stored_slice(object, kNode);
            std::erase_if(slices, [&](const StoredSlice& one) { return one.name == stored.name; });
            slices.push_back(stored);
        }
        return changes.remove.size() + changes.write.size();
    }
    std::size_t publish(const std::vector<Device>& wanted) {
        return carry_out(plan_slices(kNode, wanted, slices));
    }
    /// What kube-scheduler asks of a pool.
    void expect_complete(std::size_t count) const {
        ASSERT_EQ(slices.size(), count);
        std::set<std::int64_t> generations;
        for (const StoredSlice& slice : slices) {
            generations.insert(slice.generation);
            EXPECT_EQ(slice.count, static_cast<std::int64_t>(count));
        }
        EXPECT_EQ(generations.size(), 1U);
    }
    std::vector<StoredSlice> slices;

private:
    unsigned names_ = 0;
};

TEST(DraSlices, WritesOnlyWhatChanges) {
    Server server;
    EXPECT_EQ(server.publish(devices(3)), 1U);
    server.expect_complete(1);
    EXPECT_EQ(server.publish(devices(3)), 0U);
    EXPECT_EQ(server.slices[0].generation, 1);
    EXPECT_EQ(server.publish(devices(2)), 1U);
    EXPECT_EQ(server.slices[0].generation, 1) << "one slice alone keeps its generation";
    EXPECT_TRUE(server.slices[0].name.starts_with("00000-gpu.aliquot.dev-node-1-"));
}

TEST(DraSlices, HasOneEmptySliceForNoDevice) {
    Server server;
    EXPECT_EQ(server.publish({}), 1U);
    server.expect_complete(1);
    EXPECT_EQ(server.slices[0].spec.find("devices"), nullptr);
}

TEST(DraSlices, ShardsBeyondTheLimits) {
    Server server;
    server.publish(devices(128));
    server.expect_complete(1);
    server.publish(devices(129));
    server.expect_complete(2);
    EXPECT_EQ(server.slices[0].generation, 2);
    EXPECT_EQ(server.publish(devices(129)), 0U);
    std::vector<Device> tainted = devices(65);
    document::append(tainted[3].published, "taints", document::make_sequence());
    Server other;
    other.publish(tainted);
    other.expect_complete(2);
}

TEST(DraSlices, UndoesForeignEdits) {
    Server server;
    server.publish(devices(129));
    server.slices[1].spec = document::make_mapping({{"driver", "gpu.aliquot.dev"}});
    EXPECT_EQ(server.publish(devices(129)), 1U);
    server.expect_complete(2);
    server.slices.pop_back();  // somebody removed one: all are written, as a new generation
    EXPECT_EQ(server.publish(devices(129)), 2U);
    server.expect_complete(2);
    EXPECT_EQ(server.slices[0].generation, 2);
}

TEST(DraSlices, RemovesWhatIsNotItsOwn) {
    Server server;
    server.publish(devices(1));
    StoredSlice stray = server.slices[0];
    stray.name = "node-1-gpu.aliquot.dev-abcde";
    stray.place.reset();
    server.slices.push_back(stray);
    StoredSlice of_old_node = server.slices[0];
    of_old_node.name = "00000-gpu.aliquot.dev-node-1-old";
    of_old_node.owned = false;
    server.slices.push_back(of_old_node);
    const auto changes = plan_slices(kNode, devices(1), server.slices);
    EXPECT_EQ(changes.remove.size(), 2U);
    EXPECT_TRUE(changes.write.empty());
}

TEST(DraSlices, DoesNotMindHowAmountsAreSpelt) {
    std::vector<Device> one = devices(1);
    const auto with = [](const char* value) {
        return document::make_mapping(
            {{"name", "gpu-0"}, {"capacity", document::make_mapping({{"memory", value}})}});
    };
    one[0].published = with("81920Mi");
    Server server;
    server.publish(one);
    one[0].published = with("80Gi");
    EXPECT_EQ(server.publish(one), 0U);
    one[0].published = with("79Gi");
    EXPECT_EQ(server.publish(one), 1U);
}

TEST(DraSlices, KeepsTheTimesOfTaints) {
    const auto tainted = [](bool timed) {
        std::vector<Device> made = devices(1);
        Value taint = document::make_mapping({{"key", "k"}, {"effect", "NoSchedule"}});
        if (timed) document::append(taint, "timeAdded", "2026-01-01T00:00:00Z");
        Value taints = document::make_sequence();
        taints.items.push_back(taint);
        document::append(made[0].published, "taints", taints);
        return made;
    };
    Server server;
    server.publish(tainted(true));
    EXPECT_EQ(server.publish(tainted(false)), 0U);
    EXPECT_EQ(server.publish(devices(1)), 1U) << "and it goes when the device recovers";
}

TEST(DraSlices, NoticesWhatWasDropped) {
    const auto probe = probe_slice(kNode, Feature::kConsumable);
    EXPECT_TRUE(dropped_fields(probe, probe).empty());
    Value stored = probe;
    auto& device = stored.entries[3].second.entries[3].second.items[0];
    ASSERT_EQ(device.entries[1].first.scalar, "allowMultipleAllocations");
    device.entries.erase(device.entries.begin() + 1);
    const auto dropped = dropped_fields(probe, stored);
    ASSERT_EQ(dropped.size(), 1U);
    EXPECT_EQ(dropped[0], "allowMultipleAllocations of probe (feature gate DRAConsumableCapacity)");
}

}  // namespace
}  // namespace aliquot::dra
