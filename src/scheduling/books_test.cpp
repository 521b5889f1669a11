// SPDX-License-Identifier: Apache-2.0
#include "scheduling/books.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "scheduling/plan.h"
#include "scheduling/test_books.h"

namespace aliquot::scheduling {
namespace {

using Kind = Decision::Kind;

constexpr char kShared[] = "nvidia.com/gpu.shared";

TEST(Books, TellHowManyPodsOfAnOwnerHaveAPlace) {
    Books books;
    books.set_node(node("a", kShared, 1, 4));
    for (const char* const name : {"p", "q", "r"}) {
        GpuPod one = pod(name, kShared, 1);
        one.owner = "job-1";
        books.set_pod(one);
        if (name[0] == 'p') books.set_pod(bound(one, "a"));
        if (name[0] == 'q') (void)books.decide(one);
    }
    const std::map<std::string, std::size_t> expected{{"job-1", 2}};
    EXPECT_EQ(books.placed_of({"job-1", "job-2"}), expected) << "r has none yet";
}

TEST(Books, PlaceAPodOnSeveralNodesAndFreeTheOthersWhenItIsBound) {
    Books books;
    for (const char* const name : {"a", "b", "c", "d"}) books.set_node(node(name, kShared, 1, 4));
    const Decision decision = books.decide(pod("p", kShared, 1));
    ASSERT_EQ(decision.kind, Kind::kPlaced) << decision.why;
    ASSERT_EQ(decision.targets.size(), 3U);
    unsigned kept = 0;
    for (const GpuBooking& row : books.gpus()) kept += row.units - row.free;
    EXPECT_EQ(kept, 3U);
    books.set_pod(bound(pod("p", kShared, 1), decision.targets[1].node));
    kept = 0;
    for (const GpuBooking& row : books.gpus()) {
        kept += row.units - row.free;
        if (row.node == decision.targets[1].node) {
            EXPECT_THAT(row.pods, testing::ElementsAre("team/p"));
        }
    }
    EXPECT_EQ(kept, 1U);
    EXPECT_EQ(books.self_check(), "");
}

TEST(Books, WantOneGpuForUnitsThatMpsServesTogether) {
    Books books({.targets = 1});
    ServedNode half = node("half", kShared, 2, 8);
    half.on_one_gpu = {kShared};
    books.set_node(half);
    ASSERT_EQ(books.decide(pod("p1", kShared, 5)).kind, Kind::kPlaced);
    ASSERT_EQ(books.decide(pod("p2", kShared, 5)).kind, Kind::kPlaced);
    // Six units are free on the node, and no GPU has more than three: kube-scheduler sees the sum alone.
    const Decision third = books.decide(pod("p3", kShared, 5));
    EXPECT_EQ(third.kind, Kind::kWaits);
    EXPECT_THAT(third.why, testing::HasSubstr("at most 3 of one GPU"));
    EXPECT_EQ(books.decide(pod("p4", kShared, 3)).kind, Kind::kPlaced);
    EXPECT_EQ(books.decide(pod("p5", kShared, 9)).kind, Kind::kNever);
}

TEST(Books, TakeUnitsOfOneContainerFromDifferentGpusWhereTheyAreReplicas) {
    Books books({.targets = 1});
    books.set_node(node("a", kShared, 2, 4));
    const Decision decision = books.decide(pod("p", kShared, 2));
    ASSERT_EQ(decision.kind, Kind::kPlaced);
    EXPECT_THAT(decision.targets[0].units.at(kShared),
                testing::ElementsAre(testing::Pair("GPU-a-0", 1), testing::Pair("GPU-a-1", 1)));
    EXPECT_EQ(books.self_check(), "");
}

TEST(Books, PlaceSeveralWholeGpusOnOneNode) {
    Books books;
    books.set_node(node("a", kWhole, 8, 1));
    books.set_node(node("b", kWhole, 8, 1));
    const Decision decision = books.decide(pod("p", kWhole, 8));
    ASSERT_EQ(decision.kind, Kind::kPlaced);
    ASSERT_EQ(decision.targets.size(), 1U);
    EXPECT_EQ(decision.targets[0].units.at(kWhole).size(), 8U);
    EXPECT_EQ(books.decide(pod("q", kWhole, 8)).kind, Kind::kPlaced);
    EXPECT_EQ(books.decide(pod("r", kWhole, 8)).kind, Kind::kWaits);
    EXPECT_EQ(books.decide(pod("s", kWhole, 9)).kind, Kind::kNever);
    books.forget("p");
    EXPECT_EQ(books.decide(pod("r", kWhole, 8)).kind, Kind::kPlaced);
}

TEST(Books, KeepANodeForAPodThatHasWaitedLong) {
    Books books({.targets = 1});
    books.set_node(node("a", kWhole, 2, 1));
    books.set_node(node("b", kWhole, 2, 1));
    books.set_pod(bound(pod("a1", kWhole, 1), "a"));
    books.set_pod(bound(pod("a2", kWhole, 1), "a"));
    books.set_pod(bound(pod("b1", kWhole, 1), "b"));
    const GpuPod big = pod("big", kWhole, 2);
    ASSERT_EQ(books.decide(big).kind, Kind::kWaits);
    EXPECT_EQ(books.keep_for(big), "b");
    const Decision small = books.decide(pod("small", kWhole, 1));
    EXPECT_EQ(small.kind, Kind::kWaits);
    books.set_node(node("a", kShared, 1, 1));  // then nobody else could take it
    EXPECT_EQ(books.what_if(pod("small", kWhole, 1)).kind, Kind::kWaits);
    EXPECT_THAT(small.why, testing::HasSubstr("is kept for team/big, which has waited long"));
    GpuPod urgent = pod("urgent", kWhole, 1);
    urgent.priority = 1;
    EXPECT_EQ(books.what_if(urgent).kind, Kind::kPlaced);
    books.set_node(node("b", kWhole, 2, 1));
    EXPECT_EQ(books.keep_for(big), "b") << "a look at the node does not end it";
    books.remove_pod("b1");
    EXPECT_EQ(books.decide(big).kind, Kind::kPlaced);
    books.forget("big");
    books.keep_only_for({});
    EXPECT_EQ(books.decide(pod("small", kWhole, 1)).kind, Kind::kPlaced);
    EXPECT_EQ(books.keep_for(pod("huge", kWhole, 3)), "") << "no node would do";
}

TEST(Books, SayWhatIsServedByNobodyOfUs) {
    Books books;
    books.set_node(node("a", kWhole, 1, 1));
    EXPECT_EQ(books.decide(pod("p", "amd.com/gpu", 1)).kind, Kind::kNotServed);
    EXPECT_TRUE(books.serves(kWhole));
    EXPECT_FALSE(books.serves("amd.com/gpu"));
}

TEST(Books, ObeyLabelsTaintsAndClosedNodes) {
    Books books;
    ServedNode tainted = node("tainted", kWhole, 1, 1);
    tainted.taints = {{"dedicated", "ml", "NoSchedule"}};
    ServedNode closed = node("closed", kWhole, 1, 1);
    closed.is_open = false;
    ServedNode zoned = node("zoned", kWhole, 1, 1);
    zoned.labels["zone"] = "b";
    books.set_node(tainted);
    books.set_node(closed);
    books.set_node(zoned);
    GpuPod wants = pod("p", kWhole, 1);
    wants.where.labels["zone"] = "b";
    const Decision decision = books.decide(wants);
    ASSERT_EQ(decision.targets.size(), 1U);
    EXPECT_EQ(decision.targets[0].node, "zoned");
    wants.uid = "q";
    wants.where.labels["zone"] = "c";
    const Decision none = books.decide(wants);
    EXPECT_EQ(none.kind, Kind::kNever);
    EXPECT_THAT(none.why, testing::HasSubstr("3 may not take it"));
}

TEST(Books, WaitForNodesThatAreNotReadyButNotForTaintsThatStay) {
    Books books;
    ServedNode one = node("a", kWhole, 1, 1);
    one.is_open = false;
    one.taints = {{"node.kubernetes.io/not-ready", "", "NoSchedule"},
                  {"aliquot.dev/gpu-unhealthy", "true", "NoSchedule"}};
    books.set_node(one);
    EXPECT_EQ(books.decide(pod("p", kWhole, 1)).kind, Kind::kWaits);
    one.taints.push_back({"dedicated", "others", "NoSchedule"});
    books.set_node(one);
    EXPECT_EQ(books.decide(pod("p", kWhole, 1)).kind, Kind::kNever);
}

TEST(Books, CountCpuOverAllResourcesOfANode) {
    Books books;
    ServedNode mixed = node("a", kWhole, 1, 1);
    mixed.cpu_milli = 4000;
    mixed.gpus.push_back({"GPU-a-1", {{kShared, 4}}});
    books.set_node(mixed);
    GpuPod first = pod("p", kWhole, 1);
    first.cpu_milli = 3500;
    ASSERT_EQ(books.decide(first).kind, Kind::kPlaced);
    const Decision second = books.decide(pod("q", kShared, 1));
    EXPECT_EQ(second.kind, Kind::kWaits);
    EXPECT_THAT(second.why, testing::HasSubstr("CPU or memory"));
}

TEST(Books, BookWhatWasGrantedAndMoveWhatIsOnlyPlanned) {
    Books books({.targets = 1});
    books.set_node(node("a", kShared, 2, 2));
    GpuPod other = bound(pod("other", kShared, 2), "a");
    const Decision planned = books.decide(pod("p", kShared, 1));
    const std::string gpu = planned.targets[0].units.at(kShared).begin()->first;
    ServedNode told = node("a", kShared, 2, 2);
    told.granted["other"][kShared][gpu] = 2;
    books.set_pod(other);
    books.set_node(told);
    EXPECT_EQ(free_on(books, gpu), 0U);
    unsigned free = 0;
    for (const GpuBooking& row : books.gpus()) free += row.free;
    EXPECT_EQ(free, 1U);  // the planned one went to the other GPU
    EXPECT_EQ(books.overbooked(), 0U);
    EXPECT_EQ(books.self_check(), "");
}

TEST(Books, GoOnWithAnEarlierLeadersPlan) {
    Books before({.targets = 2});
    Books after({.targets = 2});
    for (const char* const name : {"a", "b"}) {
        before.set_node(node(name, kShared, 1, 1));
        after.set_node(node(name, kShared, 1, 1));
    }
    const Decision decision = before.decide(pod("p", kShared, 1));
    after.adopt(pod("p", kShared, 1), decision.targets);
    EXPECT_TRUE(after.is_assumed("p"));
    EXPECT_EQ(after.decide(pod("q", kShared, 1)).kind, Kind::kWaits);
    after.set_pod(bound(pod("p", kShared, 1), "a"));
    EXPECT_EQ(after.decide(pod("q", kShared, 1)).targets.at(0).node, "b");
}

TEST(Books, TakeAnEarlierLeadersPlanOfAPodThatIsBoundByNow) {
    Books books;
    books.set_node(node("a", kShared, 2, 2));
    GpuPod held = bound(pod("p", kShared, 1), "a");
    held.plan = to_json(Plan{.targets = {{.node = "a", .units = {{kShared, {{"GPU-a-1", 1}}}}}}});
    books.set_pod(held);  // nothing is granted yet
    EXPECT_EQ(free_on(books, "GPU-a-1"), 1U);
    EXPECT_EQ(free_on(books, "GPU-a-0"), 2U);
}

TEST(Books, SurviveNodesThatComeGoAndChange) {
    Books books;
    books.set_pod(bound(pod("early", kShared, 1), "a"));  // its node is not known yet
    books.set_node(node("a", kShared, 1, 4));
    EXPECT_EQ(free_on(books, "GPU-a-0"), 3U);
    books.set_node(node("a", kShared, 1, 8));
    EXPECT_EQ(free_on(books, "GPU-a-0"), 7U);
    books.remove_node("a");
    EXPECT_TRUE(books.gpus().empty());
    EXPECT_EQ(books.decide(pod("p", kShared, 1)).kind, Kind::kNotServed);
    books.set_node(node("a", kShared, 1, 4));
    EXPECT_EQ(free_on(books, "GPU-a-0"), 3U);
    books.remove_pod("early");
    EXPECT_EQ(free_on(books, "GPU-a-0"), 4U);
    EXPECT_EQ(books.self_check(), "");
}

/// A cluster of a test's own: kube-scheduler takes any of the targets, agents grant what they like.
class RandomCluster {
public:
    explicit RandomCluster(unsigned seed) : random_(seed) {
        const unsigned nodes = 3 + number(6);
        for (unsigned i = 0; i < nodes; ++i) put_node("n" + std::to_string(i));
    }

    void step() {
        const unsigned kind = number(12);
        if (kind < 5) arrive();
        if (kind >= 5 && kind < 8) bind_one();
        if (kind == 8 || kind == 9) end_one();
        if (kind == 10)
            put_node("n" + std::to_string(number(static_cast<unsigned>(nodes_.size()))));
        if (kind == 11) foreign();
        check();
    }

private:
    unsigned number(unsigned below) { return static_cast<unsigned>(random_() % below); }

    void put_node(const std::string& name) {
        const auto before = nodes_.find(name);
        const bool whole =
            before == nodes_.end() ? number(2) == 0 : before->second.gpus[0].units.contains(kWhole);
        ServedNode made = whole ? node(name, kWhole, 1 + number(8), 1)
                                : node(name, kShared, 1 + number(4), 2 + number(7));
        if (before != nodes_.end()) {  // healthy GPUs and readiness change, units do not
            made.gpus = before->second.gpus;
            made.on_one_gpu = before->second.on_one_gpu;
            made.is_open = number(4) != 0;
        } else if (!whole && number(2) == 0) {
            made.on_one_gpu = {kShared};
        }
        for (const auto& [uid, one] : running_) {
            if (one.pod.node == name) made.granted[uid] = one.units;
        }
        nodes_[name] = made;
        books_.set_node(made);
    }

    void arrive() {
        GpuPod made =
            pod("p" + std::to_string(++count_), number(2) == 0 ? kWhole : kShared, 1 + number(4));
        made.spreads = number(4) == 0;
        made.cpu_milli = static_cast<std::int32_t>(number(20'000));
        const Decision decision = books_.decide(made);
        if (decision.kind == Kind::kPlaced) planned_[made.uid] = {made, decision.targets};
    }

    void bind_one() {
        if (planned_.empty()) return;
        auto one = planned_.begin();
        const Target target =
            one->second.second[number(static_cast<unsigned>(one->second.second.size()))];
        const GpuPod made = bound(one->second.first, target.node);
        planned_.erase(one);
        books_.set_pod(made);
        running_[made.uid] = {made, target.units};
        put_node(target.node);  // the agent tells
    }

    void end_one() {
        if (running_.empty()) return;
        const auto one = running_.begin();
        const std::string node = one->second.pod.node;
        books_.remove_pod(one->first);
        running_.erase(one);
        if (nodes_.contains(node)) put_node(node);
    }

    /// A pod that nobody asked us about, on GPUs that are really free.
    void foreign() {
        GpuPod made = pod("f" + std::to_string(++count_), number(2) == 0 ? kWhole : kShared, 1);
        for (const auto& [name, served] : nodes_) {
            for (const ServedGpu& gpu : served.gpus) {
                const auto units = gpu.units.find(made.devices[0].resource);
                if (units == gpu.units.end() || used(name, units->first, gpu.uuid) >= units->second)
                    continue;
                made = bound(made, name);
                running_[made.uid] = {made, {{units->first, {{gpu.uuid, 1}}}}};
                books_.set_pod(made);
                put_node(std::string(name));
                // Plans that counted on it are made again, as the controller does.
                for (const auto& [uid, plan] : planned_) books_.forget(uid);
                planned_.clear();
                return;
            }
        }
    }

    [[nodiscard]] unsigned used(const std::string& name, const std::string& resource,
                                const std::string& gpu) const {
        unsigned sum = 0;
        for (const auto& [uid, one] : running_) {
            const auto of = one.units.find(resource);
            if (one.pod.node != name || of == one.units.end()) continue;
            const auto units = of->second.find(gpu);
            if (units != of->second.end()) sum += units->second;
        }
        return sum;
    }

    void check() {
        ASSERT_EQ(books_.self_check(), "");
        for (const GpuBooking& row : books_.gpus()) {
            ASSERT_GE(row.units - row.free, used(row.node, row.resource, row.gpu))
                << row.node << " " << row.gpu;
        }
        for (const auto& [name, served] : nodes_) {
            for (const ServedGpu& gpu : served.gpus) {
                for (const auto& [resource, units] : gpu.units)
                    ASSERT_LE(used(name, resource, gpu.uuid), units)
                        << "more is held than is there";
            }
        }
    }

    struct Running {
        GpuPod pod;
        DeviceUnits units;
    };
    std::mt19937 random_;
    Books books_;
    std::map<std::string, ServedNode> nodes_;
    std::map<std::string, std::pair<GpuPod, std::vector<Target>>> planned_;
    std::map<std::string, Running> running_;
    unsigned count_ = 0;
};

TEST(Books, NeverPromiseAGpuTwiceWhateverComes) {
    for (unsigned seed = 1; seed <= 24 && !testing::Test::HasFatalFailure(); ++seed) {
        SCOPED_TRACE(seed);
        RandomCluster cluster(seed);
        for (unsigned i = 0; i < 120 && !testing::Test::HasFatalFailure(); ++i) cluster.step();
    }
}

}  // namespace
}  // namespace aliquot::scheduling
