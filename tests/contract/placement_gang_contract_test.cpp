// SPDX-License-Identifier: Apache-2.0
//
// Gangs under aliquot-controller --placement as a process: all of their pods are let go, or none. Asked of the same
// API servers as placement_contract_test.cpp.
#include <csignal>

#include "tests/contract/placement_world.h"

namespace aliquot::contract {
namespace {

const kube_client::Resource kDefinitions{.group = "apiextensions.k8s.io",
                                         .version = "v1",
                                         .plural = "customresourcedefinitions",
                                         .kind = "CustomResourceDefinition",
                                         .namespaced = false};
const kube_client::Resource kJobSets{
    .group = "jobset.x-k8s.io", .version = "v1alpha2", .plural = "jobsets", .kind = "JobSet"};

class GangContract : public PlacementContract {
protected:
    /// A gated pod of a gang of `size`.
    Json member(const std::string& name, unsigned size, unsigned count = 1,
                const std::string& gang = "train") {
        Json made = pod_of(name, count);
        made["metadata"]["labels"] = {{"aliquot.dev/gang", gang},
                                      {"aliquot.dev/gang-size", std::to_string(size)}};
        return made;
    }
    static Json owner(const std::string& kind, const std::string& name, const std::string& uid) {
        return Json::array({{{"apiVersion", kind == "Job" ? "batch/v1" : "apps/v1"},
                             {"kind", kind},
                             {"name", name},
                             {"uid", uid},
                             {"controller", true}}});
    }
    bool all_released(const std::vector<std::string>& names) {
        return becomes_true([&] {
            return std::all_of(names.begin(), names.end(),
                               [&](const auto& name) { return is_released(name); });
        });
    }
    std::size_t count_released(const std::vector<std::string>& names) {
        return static_cast<std::size_t>(std::count_if(
            names.begin(), names.end(), [&](const auto& name) { return is_released(name); }));
    }
    void remove(const std::string& name) {
        ASSERT_TRUE(api().remove(resources::pods(), key(name), {.grace_seconds = 0})) << name;
    }
    void bind(const std::string& name) {
        const auto plan = plan_of(name);
        ASSERT_TRUE(plan) << name;
        ASSERT_TRUE(api().bind(key(name), plan->targets.at(0).node)) << name;
    }
    /// The controller has looked at all that came before: a pod that comes later is let go.
    void wait_for_a_look(const ControllerProcess& controller) {
        const std::string name = "look" + std::to_string(++looks_);
        Json foreign = pod_of(name, 1);
        foreign["spec"]["containers"][0]["resources"]["limits"] = {{"other.example/gpu", "1"}};
        create(foreign);
        ASSERT_TRUE(becomes_true([&] { return is_released(name); })) << controller.said();
    }

    /// A kind as a CustomResourceDefinition; it may be there already.
    void define(const std::string& group, const std::string& version, const std::string& kind) {
        std::string singular = kind;
        std::transform(singular.begin(), singular.end(), singular.begin(),
                       [](char c) { return static_cast<char>(std::tolower(c)); });
        const Json schema{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
        const Json definition{
            {"metadata",
             {{"name", singular + "s." + group},
              {"annotations", {{"api-approved.kubernetes.io", "https://example.com/1"}}}}},
            {"spec",
             {{"group", group},
              {"scope", "Namespaced"},
              {"names",
               {{"plural", singular + "s"},
                {"singular", singular},
                {"kind", kind},
                {"listKind", kind + "List"}}},
              {"versions", Json::array({{{"name", version},
                                         {"served", true},
                                         {"storage", true},
                                         {"schema", {{"openAPIV3Schema", schema}}}}})}}}};
        (void)api().create(kDefinitions, "", definition.dump());
    }
    /// The simulated server has none of its own.
    void define_pod_groups() {
        define("scheduling.k8s.io", "v1alpha2", "PodGroup");
        const auto there = [&] {
            return bool(api().find_resource("scheduling.k8s.io/v1alpha2", "PodGroup"));
        };
        ASSERT_TRUE(becomes_true(there, 30s));
    }

    unsigned looks_ = 0;
};

TEST_P(GangContract, NoPodIsLetGoUntilAllExistAndFitAtOnce) {
    const std::string a = add_node("a", 2, 1, false);
    add_node("b", 2, 1, false);
    const auto controller = start();
    create("held", 1);
    ASSERT_TRUE(becomes_true([&] { return is_released("held"); })) << controller->said();
    bind("held");
    const std::vector<std::string> names{"p1", "p2", "p3", "p4"};
    for (const char* const name : {"p1", "p2", "p3"}) create(member(name, 4));
    wait_for_a_look(*controller);
    EXPECT_EQ(count_released(names), 0U) << "there is room for those three, but one is missing";
    create(member("p4", 4));
    wait_for_a_look(*controller);
    EXPECT_EQ(count_released(names), 0U) << "three GPUs are free, and four are asked for";
    create("alone", 1);
    ASSERT_TRUE(becomes_true([&] { return is_released("alone"); })) << "nobody is kept back by it";
    remove("alone");
    remove("held");
    ASSERT_TRUE(all_released(names)) << controller->said();
    std::map<std::string, unsigned> gpus;
    for (const std::string& name : names) {
        const auto plan = plan_of(name);
        ASSERT_TRUE(plan) << name;
        ASSERT_EQ(plan->targets.size(), 1U) << "what is kept is enough for all, once";
        for (const auto& [gpu, units] : plan->targets[0].units.at(resource_)) gpus[gpu] += units;
    }
    EXPECT_EQ(gpus.size(), 4U);
}

TEST_P(GangContract, TwoGangsThatDoNotFitTogetherComeOneAfterTheOther) {
    add_node("a", 4, 1, false);
    const std::vector<std::string> first{"a1", "a2", "a3"};
    const std::vector<std::string> second{"b1", "b2", "b3"};
    for (unsigned i = 0; i < 3; ++i) {  // their pods come by turns
        create(member(first[i], 3, 1, "first"));
        create(member(second[i], 3, 1, "second"));
    }
    const auto controller = start();
    ASSERT_TRUE(becomes_true([&] {
        return count_released(first) == 3 || count_released(second) == 3;
    })) << controller->said();
    wait_for_a_look(*controller);
    const bool is_first = count_released(first) == 3;
    const auto& ahead = is_first ? first : second;
    const auto& behind = is_first ? second : first;
    EXPECT_EQ(count_released(behind), 0U);
    for (const std::string& name : ahead) bind(name);
    wait_for_a_look(*controller);
    EXPECT_EQ(count_released(behind), 0U);
    for (const std::string& name : ahead) remove(name);
    EXPECT_TRUE(all_released(behind)) << controller->said();
}

TEST_P(GangContract, AnIndexedJobWhosePodsRunAtOnceIsAGang) {
    add_node("a", 2, 1, false);
    Json job{{"metadata", {{"name", "train"}}},
             {"spec",
              {{"parallelism", 3},
               {"completions", 3},
               {"completionMode", "Indexed"},
               {"suspend", true},
               {"template",
                {{"spec",
                  {{"restartPolicy", "Never"},
                   {"containers",
                    Json::array({{{"name", "main"}, {"image", "none.invalid/c:1"}}})}}}}}}}};
    make(resources::jobs(), job.dump());
    const auto made = api().get(resources::jobs(), key("train"));
    ASSERT_TRUE(made) << made.failure().message;
    const auto controller = start();
    const auto add = [&](const std::string& name, bool opts_out) {
        Json one = pod_of(name, 1);
        one["metadata"]["ownerReferences"] = owner("Job", "train", made->uid);
        one["metadata"]["labels"] = {{"batch.kubernetes.io/job-completion-index", "0"}};
        if (opts_out) one["metadata"]["labels"]["aliquot.dev/gang"] = "none";
        create(one);
    };
    for (const char* const name : {"p0", "p1"}) add(name, false);
    wait_for_a_look(*controller);
    EXPECT_EQ(count_released({"p0", "p1"}), 0U) << controller->said();
    add("p2", false);
    wait_for_a_look(*controller);
    EXPECT_EQ(count_released({"p0", "p1", "p2"}), 0U) << "two GPUs are there";
    add("p3", true);
    EXPECT_TRUE(becomes_true([&] { return is_released("p3"); })) << controller->said();
    add_node("b", 1, 1, false);
    add_node("c", 1, 1, false);
    EXPECT_TRUE(all_released({"p0", "p1", "p2"})) << controller->said();
}

TEST_P(GangContract, AJobSetIsAGangOfAllItsJobs) {
    define("jobset.x-k8s.io", "v1alpha2", "JobSet");
    const Json set{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                   {"kind", "JobSet"},
                   {"metadata", {{"name", "s"}}},
                   {"spec",
                    {{"replicatedJobs",
                      Json::array({{{"name", "driver"}, {"template", {{"spec", Json::object()}}}},
                                   {{"name", "worker"},
                                    {"replicas", 2},
                                    {"template", {{"spec", {{"parallelism", 1}}}}}}})}}}};
    ASSERT_TRUE(
        becomes_true([&] { return bool(api().create(kJobSets, space_, set.dump())); }, 30s));
    add_node("a", 4, 1, false);
    const auto controller = start();
    const auto add = [&](const std::string& name, const std::string& part) {
        Json one = pod_of(name, 1);
        one["metadata"]["ownerReferences"] =
            owner("Job", name, "11111111-2222-3333-4444-555555555555");
        one["metadata"]["labels"] = {{"jobset.sigs.k8s.io/jobset-name", "s"},
                                     {"jobset.sigs.k8s.io/replicatedjob-name", part}};
        create(one);
    };
    add("d", "driver");
    add("w0", "worker");
    wait_for_a_look(*controller);
    EXPECT_EQ(count_released({"d", "w0"}), 0U) << controller->said();
    add("w1", "worker");
    EXPECT_TRUE(all_released({"d", "w0", "w1"})) << controller->said();
}

/// Alpha in Kubernetes 1.36: --feature-gates=GenericWorkload=true, --runtime-config=scheduling.k8s.io/v1alpha2=true.
TEST_P(GangContract, APodGroupSaysHowManyStartTogether) {
    if (std::string_view(GetParam().name) == "simulated") define_pod_groups();
    const auto groups = api().find_resource("scheduling.k8s.io/v1alpha2", "PodGroup");
    if (!groups) GTEST_SKIP() << "this API server has no PodGroups of scheduling.k8s.io/v1alpha2";
    const Json group{{"apiVersion", "scheduling.k8s.io/v1alpha2"},
                     {"kind", "PodGroup"},
                     {"metadata", {{"name", "g"}}},
                     {"spec", {{"schedulingPolicy", {{"gang", {{"minCount", 3}}}}}}}};
    const auto made = api().create(*groups, space_, group.dump());
    ASSERT_TRUE(made) << made.failure().message;
    add_node("a", 4, 1, false);
    const auto controller = start();
    const auto add = [&](const std::string& name) {
        Json one = pod_of(name, 1);
        one["spec"]["schedulingGroup"] = {{"podGroupName", "g"}};
        create(one);
    };
    add("p1");
    add("p2");
    wait_for_a_look(*controller);
    EXPECT_EQ(count_released({"p1", "p2"}), 0U) << controller->said();
    add("p3");
    EXPECT_TRUE(all_released({"p1", "p2", "p3"})) << controller->said();
    add("p4");
    EXPECT_TRUE(all_released({"p4"})) << "one more than the least\n" << controller->said();
}

TEST_P(GangContract, AMemberThatIsMadeAgainRejoinsTheGangThatRuns) {
    for (const char* const rack : {"one", "two"}) {
        for (const char* const name : {"a", "b"}) {
            const std::string node = add_node(std::string(rack) + name, 1, 1, false);
            const Json patch{{"metadata", {{"labels", {{"example.com/rack", rack}}}}}};
            ASSERT_TRUE(api().patch(resources::nodes(), {"", node}, patch.dump()));
        }
    }
    const auto controller = start();
    const auto add = [&](const std::string& name) {
        Json one = member(name, 2);
        one["metadata"]["annotations"] = {
            {"aliquot.dev/gang-required-topology", "example.com/rack"}};
        create(one);
    };
    add("p1");
    add("p2");
    ASSERT_TRUE(all_released({"p1", "p2"})) << controller->said();
    bind("p1");
    bind("p2");
    const std::string rack = plan_of("p1")->targets.at(0).node.substr(space_.size() + 1, 3);
    EXPECT_EQ(plan_of("p2")->targets.at(0).node.substr(space_.size() + 1, 3), rack);
    remove("p2");
    std::this_thread::sleep_for(1100ms);  // creationTimestamp counts seconds
    add("p3");
    ASSERT_TRUE(all_released({"p3"})) << controller->said();
    EXPECT_EQ(plan_of("p3")->targets.at(0).node.substr(space_.size() + 1, 3), rack);
}

TEST_P(GangContract, TheNextLeaderFinishesWhatTheOneBeforeBegan) {
    constexpr unsigned kMembers = 40;
    add_node("a", 8, 8);
    std::vector<std::string> names;
    for (unsigned i = 0; i < kMembers; ++i) names.push_back("p" + std::to_string(i));
    for (const std::string& name : names) create(member(name, kMembers));
    const auto first = start();
    ASSERT_TRUE(becomes_true([&] { return is_released(names.front()); })) << first->said();
    first->process().signal(SIGKILL);
    ASSERT_TRUE(first->process().wait(10s));
    const auto second = start();
    EXPECT_TRUE(all_released(names)) << second->said();
    EXPECT_FALSE(second->said().contains("placement.remade")) << second->said();
}

TEST_P(GangContract, WhatAGangHoldsInPartIsTakenBack) {
    const std::string a = add_node("a", 1, 1, false);
    // As a leader leaves it that dies in the middle, when somebody takes the other place meanwhile.
    const scheduling::Plan plan{.generation = 7,
                                .asked = {{"main", resource_, 1}},
                                .targets = {{.node = a, .units = {{resource_, {{"GPU-a-0", 1}}}}}}};
    Json held = member("p1", 2);
    held["metadata"]["ownerReferences"] =
        owner("ReplicaSet", "r", "11111111-2222-3333-4444-555555555555");
    held["metadata"]["annotations"] = {{"aliquot.dev/plan", to_json(plan)}};
    held["spec"].erase("schedulingGates");
    // Nobody binds it, also where a kube-scheduler runs.
    held["spec"]["schedulerName"] = "none.invalid";
    create(held);
    create(member("p2", 2));
    create("waits", 1);
    const auto controller = start({"--placement-unfit-patience", "2s"});
    EXPECT_TRUE(becomes_true([&] {
        const Json now = pod("p1");
        return now.empty() || now["metadata"].contains("deletionTimestamp");
    })) << controller->said();
    EXPECT_TRUE(becomes_true([&] { return is_released("waits"); })) << controller->said();
    EXPECT_FALSE(is_released("p2"));
}

TEST_P(GangContract, OneThatCouldNeverFitStaysWholeAndIsTold) {
    add_node("a", 2, 1, false);
    const auto controller = start();
    for (const char* const name : {"p1", "p2", "p3"}) create(member(name, 3));
    const auto told = [&] {
        const auto events = api().list(resources::events(), {.namespace_name = space_});
        return events &&
               std::any_of(events->items.begin(), events->items.end(), [](const auto& one) {
                   return one.json.find("the cluster has room for 2, were it empty") !=
                          std::string::npos;
               });
    };
    EXPECT_TRUE(becomes_true(told)) << controller->said();
    EXPECT_EQ(count_released({"p1", "p2", "p3"}), 0U);
    Json wrong = member("x1", 2, 1, "wrong");
    wrong["metadata"]["labels"]["aliquot.dev/gang-size"] = "several";
    create(wrong);
    wait_for_a_look(*controller);
    EXPECT_FALSE(is_released("x1"));
}

TEST_P(GangContract, OneThatAsksForWhatNobodyOfUsServesIsLetGoWhenItIsWhole) {
    add_node("a", 2, 1, false);
    const auto controller = start();
    const auto add = [&](const std::string& name) {
        Json one = member(name, 2);
        one["spec"]["containers"][0]["resources"]["limits"] = {{"other.example/gpu", "1"}};
        create(one);
    };
    add("p1");
    wait_for_a_look(*controller);
    EXPECT_FALSE(is_released("p1"));
    add("p2");
    EXPECT_TRUE(all_released({"p1", "p2"})) << controller->said();
    EXPECT_FALSE(plan_of("p1"));
}

INSTANTIATE_TEST_SUITE_P(Api, GangContract,
                         testing::Values(KubeParam{"simulated", simulated_kube_world},
                                         KubeParam{"real", real_kube_world}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace aliquot::contract
