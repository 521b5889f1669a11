// SPDX-License-Identifier: Apache-2.0
#include "scheduling/gang_claim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/json.h"

namespace aliquot::scheduling {
namespace {

using Source = GangClaim::Source;
using testing::HasSubstr;

constexpr char kOwnedByJob[] =
    R"("ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"o1","controller":true}])";

GangClaim claim_of(const std::string& metadata, const std::string& spec = "{}") {
    const auto object = document::parse_json(R"({"metadata":{"namespace":"team","name":"p",)" +
                                             metadata + R"(},"spec":)" + spec + "}");
    EXPECT_TRUE(object) << metadata;
    return object ? read_gang_claim(k8s::read_pod(*object), *object) : GangClaim{};
}

GangSize size_of(const GangClaim& claim, const std::string& object) {
    const auto size = read_gang_size(claim, object);
    EXPECT_TRUE(size) << object;
    return size ? *size : GangSize{};
}

TEST(GangClaim, IsALabelWithASizeAsLabelOrAnnotation) {
    for (const char* const metadata :
         {R"("labels":{"aliquot.dev/gang":"train","aliquot.dev/gang-size":"4"})",
          R"("labels":{"aliquot.dev/gang":"train"},"annotations":{"aliquot.dev/gang-size":"4"})"}) {
        const GangClaim claim = claim_of(metadata);
        EXPECT_EQ(claim.source, Source::kLabel);
        EXPECT_EQ(claim.key, "team/gang/train");
        EXPECT_EQ(claim.size, 4U);
        EXPECT_EQ(claim.wrong, "");
    }
}

TEST(GangClaim, WithASizeThatIsNoneSaysWhatIsExpected) {
    for (const char* const size : {"0", "1025", "-1", "4x", "four", " 4", "4294967300"}) {
        const GangClaim claim = claim_of(R"("labels":{"aliquot.dev/gang":"g"},"annotations":{)"
                                         R"("aliquot.dev/gang-size":")" +
                                         std::string(size) + "\"}");
        EXPECT_THAT(claim.wrong, HasSubstr("expected 1 to 1024")) << size;
        EXPECT_EQ(claim.size, 0U) << size;
    }
    EXPECT_EQ(claim_of(R"("labels":{"aliquot.dev/gang":"g","aliquot.dev/gang-size":"1024"})").size,
              1024U);
    EXPECT_THAT(claim_of(R"("labels":{"aliquot.dev/gang":"g"})").wrong,
                HasSubstr("aliquot.dev/gang-size"));
}

TEST(GangClaim, ComesFromJobJobSetAndPodGroup) {
    const std::string owner = kOwnedByJob;
    const std::string index = R"("labels":{"batch.kubernetes.io/job-completion-index":"0"},)";
    EXPECT_EQ(claim_of(index + owner).key, "team/job/o1");
    EXPECT_EQ(claim_of(owner).key, "") << "a Job without indexes is work in any order";
    const GangClaim named = claim_of(R"("labels":{"aliquot.dev/gang":"train"},)" + owner);
    EXPECT_EQ(named.source, Source::kJob);
    EXPECT_EQ(named.name, "train");
    EXPECT_TRUE(named.is_named);
    const GangClaim set = claim_of(
        R"("labels":{"batch.kubernetes.io/job-completion-index":"0",)"
        R"("jobset.sigs.k8s.io/jobset-name":"s","jobset.sigs.k8s.io/replicatedjob-name":"w",)"
        R"("jobset.sigs.k8s.io/restart-attempt":"2"},)" +
        owner);
    EXPECT_EQ(set.source, Source::kJobSet);
    EXPECT_EQ(set.key, "team/jobset/s/2");
    EXPECT_EQ(set.part, "w");
    const GangClaim group =
        claim_of(index + owner, R"({"schedulingGroup":{"podGroupName":"g-0"}})");
    EXPECT_EQ(group.source, Source::kPodGroup);
    EXPECT_EQ(group.object, "g-0");
    EXPECT_EQ(claim_of(R"("labels":{"aliquot.dev/gang":"none",)"
                       R"("batch.kubernetes.io/job-completion-index":"0"},)" +
                       owner)
                  .key,
              "");
}

TEST(GangSize, OfAJobIsWhatRunsAtOnce) {
    const GangClaim claim{.source = Source::kJob};
    const GangClaim named{.source = Source::kJob, .is_named = true};
    const char* const all =
        R"({"spec":{"parallelism":4,"completions":4,"completionMode":"Indexed"}})";
    EXPECT_TRUE(size_of(claim, all).is_gang);
    EXPECT_EQ(size_of(claim, all).size, 4U);
    const char* const some =
        R"({"spec":{"parallelism":4,"completions":9,"completionMode":"Indexed"}})";
    EXPECT_FALSE(size_of(claim, some).is_gang) << "they come one after the other";
    EXPECT_EQ(size_of(named, some).size, 4U);
    EXPECT_EQ(size_of(named, R"({"spec":{"parallelism":4,"completions":2}})").size, 2U);
    EXPECT_EQ(size_of(named, R"({"spec":{}})").size, 1U);
    EXPECT_FALSE(
        size_of(claim, R"({"spec":{"parallelism":1,"completions":1,"completionMode":"Indexed"}})")
            .is_gang);
    EXPECT_FALSE(read_gang_size(claim, "{"));
}

TEST(GangSize, OfAJobSetIsOfAllItsJobsOrOfThoseThatStartTogether) {
    const GangClaim claim{.source = Source::kJobSet};
    const std::string jobs =
        R"("replicatedJobs":[{"name":"driver","template":{"spec":{}}},)"
        R"({"name":"worker","replicas":2,"template":{"spec":{"parallelism":4,"completions":4}}}])";
    EXPECT_EQ(size_of(claim, "{\"spec\":{" + jobs + "}}").size, 9U);
    const GangSize ordered = size_of(
        claim, R"({"spec":{"startupPolicy":{"startupPolicyOrder":"InOrder"},)" + jobs + "}}");
    EXPECT_EQ(ordered.parts.at("driver"), 1U);
    EXPECT_EQ(ordered.parts.at("worker"), 8U);
    const GangSize depends =
        size_of(claim, R"({"spec":{"replicatedJobs":[{"name":"a","replicas":2,"template":{}},)"
                       R"({"name":"b","dependsOn":[{"name":"a","status":"Ready"}]}]}})");
    EXPECT_EQ(depends.parts.at("a"), 2U);
    EXPECT_GT(size_of(claim, R"({"spec":{"replicatedJobs":[{"name":"a","replicas":4000000000,)"
                             R"("template":{"spec":{"parallelism":4000000000}}}]}})")
                  .size,
              kMostMembers);
}

TEST(GangSize, OfAPodGroupIsTheMinCountOfItsPolicy) {
    const GangClaim claim{.source = Source::kPodGroup};
    EXPECT_EQ(size_of(claim, R"({"spec":{"schedulingPolicy":{"gang":{"minCount":3}}}})").size, 3U);
    EXPECT_FALSE(size_of(claim, R"({"spec":{"schedulingPolicy":{"basic":{}}}})").is_gang);
}

}  // namespace
}  // namespace aliquot::scheduling
