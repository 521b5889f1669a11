// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster/placement_books.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/time_text.h"
#include "kube_client/stub_api.h"

namespace aliquot::cli {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct World {
    World() {
        api.put("/api/v1/nodes", {"", "a"},
                R"({"metadata":{"annotations":{"aliquot.dev/gpus":"[{\"uuid\":\"GPU-1\",)"
                R"(\"healthy\":true,\"offers\":{\"nvidia.com/gpu\":4}}]",)"
                R"("aliquot.dev/granted":"{\"u-held\":{\"nvidia.com/gpu\":{\"GPU-1\":3}}}"}},)"
                R"("status":{"allocatable":{"cpu":"8","memory":"32Gi","nvidia.com/gpu":"4"},)"
                R"("conditions":[{"type":"Ready","status":"True"}]}})");
        api.put("/api/v1/nodes", {"", "other"}, "{}");
        put_pod("held", R"("nodeName":"a",)", "3");
        put_pod("waits", R"("schedulingGates":[{"name":"aliquot.dev/placement"}],)", "2");
        put_pod("small", R"("priority":5,"schedulingGates":[{"name":"aliquot.dev/placement"}],)",
                "1");
        put_pod("plain", "", "");
    }
    void put_pod(const std::string& name, const std::string& spec, const std::string& units) {
        const std::string limits = units.empty() ? "" : R"("nvidia.com/gpu":")" + units + "\"";
        api.put("/api/v1/pods", {"team", name},
                R"({"metadata":{"uid":"u-)" + name + R"("},"spec":{)" + spec +
                    R"("containers":[{"name":"main","resources":{"limits":{)" + limits + "}}}]}}");
    }
    void put_member(const std::string& name, const std::string& units) {
        api.put(
            "/api/v1/pods", {"team", name},
            R"({"metadata":{"uid":"u-)" + name +
                R"(","labels":{"aliquot.dev/gang":"train","aliquot.dev/gang-size":"2"}},"spec":)"
                R"({"schedulingGates":[{"name":"aliquot.dev/placement"}],"containers":[{"name":)"
                R"("main","resources":{"limits":{"nvidia.com/gpu":")" +
                units + R"("}}}]}})");
    }
    std::optional<PlacementPicture> read() { return read_placement(context, api, {}); }

    kube_client::StubApi api;
    std::ostringstream out;
    std::ostringstream err;
    Context context{.out = out, .err = err};
};

TEST(PlacementPicture, BooksWhatNodesAndPodsSay) {
    World world;
    auto picture = world.read();
    ASSERT_TRUE(picture) << world.err.str();
    EXPECT_EQ(picture->nodes.size(), 1U);
    std::vector<std::string> names;
    for (const auto& pod : picture->pods) names.push_back(pod.name);
    EXPECT_THAT(names, ElementsAre("small", "held",
                                   "waits"));  // by priority; who asks for none is not there
    const auto gpus = picture->books.gpus();
    ASSERT_EQ(gpus.size(), 1U);
    EXPECT_EQ(gpus[0].free, 1U);
    EXPECT_THAT(gpus[0].pods, ElementsAre("team/held"));
    EXPECT_EQ(picture->books.what_if(picture->pods[0]).kind, scheduling::Decision::Kind::kPlaced);
    EXPECT_EQ(picture->books.what_if(picture->pods[2]).kind, scheduling::Decision::Kind::kWaits);
}

TEST(PlacementPicture, TellsWhatAGangLacks) {
    World world;
    world.put_member("g0", "1");
    auto picture = world.read();
    ASSERT_TRUE(picture) << world.err.str();
    const auto pod_named = [&](const std::string& name) {
        return *std::find_if(picture->pods.begin(), picture->pods.end(),
                             [&](const auto& pod) { return pod.name == name; });
    };
    EXPECT_FALSE(gang_of(*picture, pod_named("small"), 0));
    auto gang = gang_of(*picture, pod_named("g0"), 5);
    ASSERT_TRUE(gang);
    EXPECT_EQ(gang->why(), "gang team/train: 1 of its 2 pods exists");
    world.put_member("g1", "1");
    picture = world.read();
    gang = gang_of(*picture, pod_named("g1"), 5);
    ASSERT_TRUE(gang);
    EXPECT_THAT(gang->why(), testing::HasSubstr("1 of 2 pods fit now"));
    EXPECT_THAT(gang->decision.fits, ElementsAre(true, false));
    ASSERT_EQ(gang->misses.size(), 1U);
    EXPECT_THAT(gang->misses[0].ends, ElementsAre("team/held"));
}

TEST(PlacementPicture, SaysWhichRightIsMissing) {
    World world;
    world.api.before =
        [](const kube_client::Request&) -> std::optional<kube_client::Outcome<kube_client::Reply>> {
        return kube_client::Reply{403,
                                  R"({"kind":"Status","reason":"Forbidden","message":"nodes is )"
                                  R"(forbidden: User \"x\" cannot list resource \"nodes\" in API )"
                                  R"(group \"\" at the cluster scope"})"};
    };
    EXPECT_FALSE(world.read());
    EXPECT_EQ(world.context.exit_code, kCouldNotRun);
    EXPECT_NE(world.err.str().find("list nodes"), std::string::npos) << world.err.str();
}

TEST(Age, IsToldInTheUnitThatSaysMost) {
    const auto begin = parse_rfc3339("2026-01-01T00:00:00Z");
    ASSERT_TRUE(begin);
    const auto after = [&](std::chrono::seconds time) {
        return age_of("2026-01-01T00:00:00Z", *begin + time);
    };
    EXPECT_EQ(after(-5s), "0s");
    EXPECT_EQ(after(119s), "119s");
    EXPECT_EQ(after(120s), "2m");
    EXPECT_EQ(after(2h), "2h");
    EXPECT_EQ(after(48h), "2d");
    EXPECT_EQ(age_of("yesterday", *begin), "");
}

TEST(PlacementText, NamesUnitsOfGpus) {
    EXPECT_EQ(units_text({{"nvidia.com/gpu", {{"GPU-1", 2}, {"GPU-2", 1}}}}), "GPU-1 x2, GPU-2");
    EXPECT_EQ(units_text({}), "");
}

}  // namespace
}  // namespace aliquot::cli
