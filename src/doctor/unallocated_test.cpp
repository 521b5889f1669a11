// SPDX-License-Identifier: Apache-2.0
// Each file of src/doctor/claim_cases: a cluster in which the pod "default/job" waits for its claim, and behind the
// line "# says" what doctor says of it.
#include "doctor/unallocated.h"

#include <gtest/gtest.h>

#include "document/yaml.h"
#include "tests/case_files.h"

namespace aliquot::doctor {
namespace {

Facts facts_of(std::string_view text) {
    Facts facts;
    facts.cluster.known = true;
    for (const char* const kind :
         {"Node", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass"}) {
        facts.cluster.objects[kind];
    }
    const auto stream = document::parse_yaml(text);
    EXPECT_TRUE(stream.errors.empty()) << stream.errors.front().message;
    for (const Value& one : stream.documents) {
        Object object{.kind = text_at(one, {"kind"}),
                      .name = text_at(one, {"metadata", "name"}),
                      .space = text_at(one, {"metadata", "namespace"}),
                      .body = one,
                      .path = "k8s/objects.json"};
        facts.cluster.objects[object.kind].push_back(std::move(object));
    }
    return facts;
}

class UnallocatedCase : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(UnallocatedCase, IsExplained) {
    constexpr std::string_view kMark = "\n# says\n";
    const std::string file = cases::read(GetParam());
    const auto mark = file.find(kMark);
    ASSERT_NE(mark, std::string::npos);
    const Facts facts = facts_of(std::string_view(file).substr(0, mark));
    const Object* const pod = facts.cluster.find("Pod", "default", "job");
    ASSERT_NE(pod, nullptr);
    const PendingCause cause = why_unallocated(facts, *pod);
    std::string says =
        "# " + (cause.id.empty() ? "nothing" : cause.id + ": " + cause.verdict.message) + "\n";
    for (const Evidence& one : cause.verdict.evidence) says += "#   " + one.value + "\n";
    for (const Fix& one : cause.verdict.fixes) says += "#   fix: " + one.text + "\n";
    if (cases::rewrites(GetParam(), file.substr(0, mark + kMark.size()) + says)) return;
    EXPECT_EQ(says, file.substr(mark + kMark.size()));
}

INSTANTIATE_TEST_SUITE_P(Claims, UnallocatedCase,
                         testing::ValuesIn(cases::files({"src/doctor/claim_cases"}, ".yaml")),
                         [](const auto& one) { return cases::name(one.param); });

}  // namespace
}  // namespace aliquot::doctor
