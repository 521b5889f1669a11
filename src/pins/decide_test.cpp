// SPDX-License-Identifier: Apache-2.0
// The failure table of docs/internals/dra.md, row by row, as decisions.
#include "pins/decide.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/time_text.h"
#include "pins/test_world.h"

namespace aliquot::pins {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using Json = nlohmann::json;
using std::chrono::seconds;
using Kind = Act::Kind;

/// So long after the claims of test_claim() were made.
std::chrono::system_clock::time_point after(int passed) {
    return *parse_rfc3339("2026-11-28T10:00:00Z") + seconds(passed);
}

std::string gpu_of(const Act& act) {
    return Json::parse(act.json)["metadata"]["annotations"].value("aliquot.dev/pinned-gpu", "");
}
std::string tries_of(const Act& act) {
    return Json::parse(act.json)["metadata"]["annotations"]["aliquot.dev/pins"];
}

class Pins : public testing::Test {
protected:
    Pins() {
        world.nodes = {test_node("a"), test_node("b")};
        world.slices = {test_slice("a", {"GPU-a"}), test_slice("b", {"GPU-b"})};
    }
    const PinnedPod& add(const TestPod& pod) {
        world.pods.push_back(test_pod(pod));
        return world.pods.back();
    }
    /// A pod that runs with its claim's part of a GPU.
    void run(const std::string& name, const std::string& node, int priority = 0,
             const std::string& memory = "16Gi", int compute = 100) {
        const PinnedPod& pod = add({.name = name, .priority = priority, .node = node});
        world.claims.push_back(allocated(test_claim(pod, 1, "GPU-" + node), node,
                                         "GPU-" + node + "-dev", memory, compute));
    }
    std::vector<Act> look(int passed = 0) { return decide(world, rules, after(passed)); }

    World world;
    Rules rules;
};

TEST_F(Pins, GpusWithoutAModelAndMoreThanSixteenOfANodeAreSeen) {
    std::vector<std::string> uuids;
    for (int i = 10; i < 30; ++i) uuids.push_back("GPU-" + std::to_string(i));
    world.slices = {test_slice("a", uuids)};
    for (claims::Device& device : world.slices[0].devices) {
        device.attributes.erase("gpu.aliquot.dev/productName");
    }
    std::set<std::string> chosen;
    for (int i = 10; i < 30; ++i) {
        add({.name = "p" + std::to_string(i), .request = "memory=16Gi,compute=100"});
    }
    for (const Act& act : look()) chosen.insert(gpu_of(act));
    EXPECT_EQ(chosen, std::set<std::string>(uuids.begin(), uuids.end()));
}

TEST_F(Pins, AClaimIsMadeForOneGpuThatHasRoom) {
    run("other", "a");
    add({.name = "p"});
    const auto acts = look();
    ASSERT_THAT(acts, SizeIs(1));
    EXPECT_EQ(acts[0].kind, Kind::kCreate);
    EXPECT_EQ(gpu_of(acts[0]), "GPU-b");
    EXPECT_EQ(acts[0].note, "");
    const Json claim = Json::parse(acts[0].json);
    EXPECT_EQ(claim["metadata"]["name"], "aq-p");
    EXPECT_EQ(claim["metadata"]["ownerReferences"][0]["uid"], "u-p");
    EXPECT_EQ(claim["metadata"]["ownerReferences"][0]["controller"], true);
    const Json request = claim["spec"]["devices"]["requests"][0]["exactly"];
    EXPECT_EQ(request["deviceClassName"], "gpu.aliquot.dev");
    EXPECT_EQ(request["capacity"]["requests"], Json({{"memory", "8589934592"}, {"compute", "50"}}));
    EXPECT_EQ(request["selectors"][0]["cel"]["expression"],
              "device.attributes[\"gpu.aliquot.dev\"].uuid == \"GPU-b\"");
}

TEST_F(Pins, PodsOfOneLookDoNotGetTheSameRoom) {
    for (const char* const name : {"p1", "p2", "p3", "p4", "p5"}) add({.name = name});
    std::map<std::string, unsigned> counts;
    for (const Act& act : look()) ++counts[gpu_of(act)];
    EXPECT_THAT(counts, ElementsAre(Pair("", 1U), Pair("GPU-a", 2U), Pair("GPU-b", 2U)));
}

TEST_F(Pins, ARoomThatAWaitingClaimWillTakeIsTaken) {
    const PinnedPod& first = add({.name = "first", .request = "gpu"});
    world.claims.push_back(test_claim(first, 1, "GPU-a"));
    add({.name = "p"});
    const auto acts = look();
    ASSERT_THAT(acts, SizeIs(1));
    EXPECT_EQ(gpu_of(acts[0]), "GPU-b");
}

// Row: device taken in between, node full.
TEST_F(Pins, AClaimThatCannotBeAllocatedIsMadeAnewForAnotherGpu) {
    const PinnedPod& pod = add({.name = "p", .unschedulable = "cannot allocate all claims"});
    world.claims.push_back(test_claim(pod, 1, "GPU-a"));
    EXPECT_THAT(look(9), IsEmpty()) << "kube-scheduler may yet";
    const auto acts = look(10);
    ASSERT_THAT(acts, SizeIs(1));
    EXPECT_EQ(acts[0].kind, Kind::kReplace);
    EXPECT_EQ(acts[0].old_uid, "c-p");
    EXPECT_EQ(acts[0].old_version, "7");
    EXPECT_EQ(gpu_of(acts[0]), "GPU-b");
    EXPECT_EQ(tries_of(acts[0]), "2");
    EXPECT_THAT(acts[0].note, HasSubstr("cannot allocate all claims"));
}

TEST_F(Pins, AfterFiveTriesEachWaitIsTwiceAsLong) {
    const PinnedPod& pod = add({.name = "p", .unschedulable = "no"});
    world.claims.push_back(test_claim(pod, 6, "GPU-a"));
    EXPECT_THAT(look(19), IsEmpty());
    EXPECT_THAT(look(20), SizeIs(1));
    world.claims[0].tries = 1000;
    EXPECT_THAT(look(299), IsEmpty());
    EXPECT_THAT(look(300), SizeIs(1));
}

TEST_F(Pins, APodThatKubeSchedulerHasNotRefusedIsLeftAlone) {
    const PinnedPod& pod = add({.name = "p"});
    world.claims.push_back(test_claim(pod, 1, "GPU-a"));
    EXPECT_THAT(look(3600), IsEmpty());
}

TEST_F(Pins, WhereOnlyTheRestOfAPodDoesNotFitItWaits) {
    run("other", "b");
    const PinnedPod& pod = add({.name = "p", .unschedulable = "Insufficient cpu"});
    world.claims.push_back(test_claim(pod, 1, "GPU-a"));
    EXPECT_THAT(look(60), IsEmpty()) << "its GPU is free and the only one";
}

// Row: allocated but bind failed.
TEST_F(Pins, AClaimThatIsAllocatedKeepsItsGpu) {
    const PinnedPod& pod = add({.name = "p", .unschedulable = "bind failed"});
    world.claims.push_back(allocated(test_claim(pod, 1, "GPU-a"), "a", "GPU-a-dev", "8Gi", 50));
    EXPECT_THAT(look(3600), IsEmpty());
    world.claims[0].claim.allocation.reset();  // kube-scheduler's PostFilter took it back
    EXPECT_THAT(look(3600), SizeIs(1));
}

// Row: claim deleted while kube-scheduler is in PreBind: the pod is retried, and gets the next one.
TEST_F(Pins, AClaimThatIsGoneIsMadeAgain) {
    add({.name = "p", .unschedulable = "claim not found"});
    const auto acts = look();
    ASSERT_THAT(acts, SizeIs(1));
    EXPECT_EQ(acts[0].kind, Kind::kCreate);
}

// Row: autoscaler.
TEST_F(Pins, WhereNothingFitsTheClaimIsMadeForAnyGpu) {
    run("one", "a");
    run("two", "b");
    add({.name = "p"});
    auto acts = look();
    ASSERT_THAT(acts, SizeIs(1));
    EXPECT_EQ(gpu_of(acts[0]), "");
    EXPECT_THAT(acts[0].note, HasSubstr("kube-scheduler takes the first"));
    EXPECT_FALSE(Json::parse(acts[0].json)["spec"]["devices"]["requests"][0]["exactly"].contains(
        "selectors"));
    const PinnedPod& pod = world.pods.back();
    world.pods.back().pod.unschedulable = "cannot allocate all claims";
    world.claims.push_back(test_claim(pod, 1, ""));
    EXPECT_THAT(look(3600), IsEmpty()) << "kube-scheduler and an autoscaler act";
    World none;
    none.pods = {test_pod({.name = "p"})};
    acts = decide(none, rules, after(0));
    ASSERT_THAT(acts, SizeIs(1));
    EXPECT_EQ(gpu_of(acts[0]), "");
}

// Row: pre-emption.
TEST_F(Pins, PodsOfALowerPriorityGoWhereThatIsAllowed) {
    run("low1", "a", 1, "8Gi", 50);
    run("low2", "a", 2, "8Gi", 50);
    run("high", "b", 50);
    add({.name = "p", .priority = 10});
    EXPECT_EQ(look()[0].kind, Kind::kCreate) << "not unless it is asked for";
    rules.preemption = true;
    auto acts = look();
    ASSERT_THAT(acts, SizeIs(1));
    EXPECT_EQ(acts[0].kind, Kind::kEvict);
    EXPECT_THAT(acts[0].victims, ElementsAre(Pair("ai", "low1")));
    world.pods[0] = test_pod({.name = "low1", .priority = 1, .node = "a", .leaving = true});
    EXPECT_THAT(look(), IsEmpty()) << "it is on its way out";
    world.pods.erase(world.pods.begin());
    world.claims.erase(world.claims.begin());
    acts = look();
    ASSERT_THAT(acts, SizeIs(1));
    EXPECT_EQ(gpu_of(acts[0]), "GPU-a");
}

TEST_F(Pins, ForAPodThatNoGpuCouldEverTakeNobodyGoes) {
    run("low", "a");
    run("low2", "b");
    rules.preemption = true;
    add({.name = "p", .request = "memory=20Gi", .priority = 10});
    const auto acts = look();
    ASSERT_THAT(acts, SizeIs(1));
    EXPECT_EQ(acts[0].kind, Kind::kCreate);
}

// Row: foreign claims on our class.
TEST_F(Pins, WhatOtherClaimsHoldIsCounted) {
    KnownClaim foreign;
    foreign.claim.name_space = "other";
    foreign.claim.name = "mine";
    foreign = allocated(foreign, "a", "GPU-a-dev", "", 0);  // all of it
    world.claims.push_back(foreign);
    add({.name = "p"});
    EXPECT_EQ(gpu_of(look()[0]), "GPU-b");
}

// Row: other pods that name the claim, or a claim that somebody else has made by that name.
TEST_F(Pins, AClaimThatWasNotMadeForThePodIsNotTouched) {
    const PinnedPod& pod = add({.name = "p", .unschedulable = "no"});
    KnownClaim claim = test_claim(pod, 1, "GPU-a");
    claim.owner = "somebody else";
    world.claims.push_back(claim);
    auto acts = look(3600);
    ASSERT_THAT(acts, SizeIs(1));
    EXPECT_EQ(acts[0].kind, Kind::kSay);
    world.claims[0].owner = "u-p";
    world.claims[0].tries = 0;
    EXPECT_EQ(look(3600)[0].kind, Kind::kSay);
}

// Row: 1.34/1.35.
TEST_F(Pins, FixedSharesArePinnedWithoutCapacity) {
    world.slices = {test_slice("a", {"GPU-a"}, false)};
    add({.name = "p", .request = "memory=3Gi"});
    add({.name = "q", .request = "memory=5Gi"});
    const auto acts = look();
    ASSERT_THAT(acts, SizeIs(2));
    EXPECT_EQ(gpu_of(acts[0]), "GPU-a");
    const Json request = Json::parse(acts[0].json)["spec"]["devices"]["requests"][0]["exactly"];
    EXPECT_FALSE(request.contains("capacity"));
    EXPECT_EQ(
        request["selectors"][1]["cel"]["expression"],
        "device.capacity[\"gpu.aliquot.dev\"].memory.compareTo(quantity(\"3221225472\")) >= 0");
    EXPECT_EQ(gpu_of(acts[1]), "") << "no share is so large";
}

TEST_F(Pins, NodesThatThePodMayNotGoToAreLeftOut) {
    world.nodes[0].is_cordoned = true;
    add({.name = "p"});
    EXPECT_EQ(gpu_of(look()[0]), "GPU-b");
    world.nodes[0].is_cordoned = false;
    world.nodes[1].taints.push_back({k8s::Taint{"nvidia.com/gpu", "", "NoSchedule"}, ""});
    EXPECT_EQ(gpu_of(look()[0]), "GPU-a");
    world.pods[0] = test_pod({.name = "p",
                              .more_spec = R"(,"nodeSelector":{"zone":"1"},"tolerations":)"
                                           R"([{"operator":"Exists"}])"});
    EXPECT_EQ(gpu_of(look()[0]), "");
    world.nodes[1].labels["zone"] = "1";
    EXPECT_EQ(gpu_of(look()[0]), "GPU-b");
}

TEST_F(Pins, HigherPriorityComesFirst) {
    run("one", "b");
    add({.name = "low", .request = "gpu"});
    add({.name = "high", .request = "gpu", .priority = 5});
    const auto acts = look();
    ASSERT_THAT(acts, SizeIs(2));
    EXPECT_EQ(acts[0].pod + gpu_of(acts[0]), "highGPU-a");
    EXPECT_EQ(acts[1].pod + gpu_of(acts[1]), "low");
}

TEST_F(Pins, PodsThatRunOrLeaveWantNothing) {
    add({.name = "runs", .node = "a"});
    add({.name = "leaves", .leaving = true});
    EXPECT_THAT(look(), IsEmpty());
}

std::vector<std::string> selectors_of(const Act& act, std::size_t request = 0) {
    std::vector<std::string> texts;
    const Json made = Json::parse(act.json)["spec"]["devices"]["requests"][request]["exactly"];
    for (const Json& one : made["selectors"]) texts.push_back(one["cel"]["expression"]);
    return texts;
}

TEST_F(Pins, SeveralGpusAreOfOneNodeAndEachHasARequest) {
    world.slices = {test_slice("a", {"GPU-a", "GPU-b"}), test_slice("b", {"GPU-c", "GPU-d"})};
    run("other", "a", 0, "4Gi", 25);
    world.claims.back().claim.allocation->devices[0].device.device = "GPU-a-dev";
    add({.name = "p", .request = "gpu,count=2"});
    const auto acts = look();
    ASSERT_THAT(acts, SizeIs(1));
    EXPECT_EQ(gpu_of(acts[0]), "GPU-c,GPU-d");
    const Json requests = Json::parse(acts[0].json)["spec"]["devices"]["requests"];
    ASSERT_THAT(requests, SizeIs(2));
    EXPECT_EQ(requests[1]["name"], "gpu-1");
    EXPECT_THAT(selectors_of(acts[0], 1)[0], HasSubstr("uuid == \"GPU-d\""));
    add({.name = "q", .request = "memory=8Gi,compute=50,count=2"});
    EXPECT_EQ(gpu_of(look().at(1)), "GPU-a,GPU-b") << "what is used already is filled first";
    add({.name = "r", .request = "gpu,count=3"});
    EXPECT_EQ(gpu_of(look().at(2)), "") << "kube-scheduler and an autoscaler act";
}

TEST_F(Pins, MigDevicesAreMadeOnOneGpuAsLongAsTheyFit) {
    const auto cut = test_cut_slices("a", {"GPU-a", "GPU-b"});
    world.slices = cut;
    add({.name = "p", .request = "mig=2g.10gb"});
    const auto acts = look();
    ASSERT_THAT(acts, SizeIs(1));
    EXPECT_EQ(gpu_of(acts[0]), "GPU-a");
    EXPECT_EQ(
        Json::parse(acts[0].json)["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"],
        "mig.aliquot.dev");
    EXPECT_THAT(selectors_of(acts[0]), ElementsAre(HasSubstr("parentUUID == \"GPU-a\""),
                                                   HasSubstr("profile == \"2g.10gb\"")));
    // Of those that are decided together each counts for the next.
    add({.name = "q", .request = "mig=2g.10gb"});
    add({.name = "r", .request = "gpu"});
    add({.name = "s", .request = "mig=1g.5gb"});
    std::vector<std::string> gpus;
    for (const Act& act : look()) gpus.push_back(gpu_of(act));
    EXPECT_THAT(gpus, ElementsAre("GPU-a", "GPU-a", "GPU-b", ""));
}

TEST_F(Pins, AGpuThatIsCutIsNoWholeGpuAndTheOtherWayRound) {
    world.slices = test_cut_slices("a", {"GPU-a", "GPU-b"});
    const PinnedPod& small = add({.name = "other", .request = "mig=1g.5gb", .node = "a"});
    world.claims.push_back(allocated(test_claim(small, 1, "GPU-a"), "a", "GPU-a-small-0", "", 0));
    const PinnedPod& whole = add({.name = "whole", .request = "gpu", .node = "a"});
    world.claims.push_back(allocated(test_claim(whole, 1, "GPU-b"), "a", "GPU-b-all", "", 0));
    add({.name = "p", .request = "gpu"});
    add({.name = "q", .request = "mig=2g.10gb"});
    add({.name = "r", .request = "mig=2g.10gb"});
    std::vector<std::string> gpus;
    for (const Act& act : look()) gpus.push_back(gpu_of(act));
    EXPECT_THAT(gpus, ElementsAre("", "GPU-a", "")) << "one half of GPU-a is left";
}

TEST_F(Pins, SeveralMigDevicesMayBeOfOneGpu) {
    world.slices = test_cut_slices("a", {"GPU-a", "GPU-b"});
    add({.name = "p", .request = "mig=2g.10gb,count=3"});
    const auto acts = look();
    ASSERT_THAT(acts, SizeIs(1));
    EXPECT_EQ(gpu_of(acts[0]), "GPU-a,GPU-b");
    EXPECT_THAT(selectors_of(acts[0])[0], HasSubstr("parentUUID in [\"GPU-a\", \"GPU-b\"]"));
    EXPECT_EQ(Json::parse(acts[0].json)["spec"]["devices"]["requests"][0]["exactly"]["count"], 3);
}

}  // namespace
}  // namespace aliquot::pins
