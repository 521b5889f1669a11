// SPDX-License-Identifier: Apache-2.0
// Each file of src/claims/mistakes: objects, and behind the line "# says" what an API server has against them.
#include "claims/validation.h"

#include <gtest/gtest.h>

#include "document/path.h"
#include "document/yaml.h"
#include "tests/case_files.h"

namespace aliquot::claims {
namespace {

std::string said_of(const document::Value& object) {
    const std::string kind = document::text_at(object, "kind");
    const document::Value* const spec = object.find("spec");
    auto problems = kind == "ResourceSlice" ? slice_problems(*spec)
                    : kind == "DeviceClass" ? class_problems(*spec)
                                            : claim_problems(*spec);
    if (const document::Value* const status = object.find("status")) {
        for (Problem& one : status_problems(*status, *spec)) problems.push_back(std::move(one));
    }
    std::string text = "# " + kind + "\n";
    const char* const kinds[] = {"required", "invalid",   "forbidden",
                                 "too many", "duplicate", "unsupported"};
    for (const Problem& one : problems) {
        text += "#   " + std::to_string(one.mark.line) + ":" + std::to_string(one.mark.column) +
                " " + one.field + ": " + kinds[static_cast<int>(one.kind)] + " " + one.value +
                ": " + one.message + "\n";
    }
    return text;
}

class MistakeCase : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(MistakeCase, IsSaid) {
    constexpr std::string_view kMark = "\n# says\n";
    const std::string file = cases::read(GetParam());
    const auto mark = file.find(kMark);
    ASSERT_NE(mark, std::string::npos);
    std::string says;
    for (const document::Value& one : document::parse_yaml(file.substr(0, mark)).documents) {
        says += said_of(one);
    }
    if (cases::rewrites(GetParam(), file.substr(0, mark + kMark.size()) + says)) return;
    EXPECT_EQ(says, file.substr(mark + kMark.size()));
}

INSTANTIATE_TEST_SUITE_P(Claims, MistakeCase,
                         testing::ValuesIn(cases::files({"src/claims/mistakes"}, ".yaml")),
                         [](const auto& one) { return cases::name(one.param); });

}  // namespace
}  // namespace aliquot::claims
