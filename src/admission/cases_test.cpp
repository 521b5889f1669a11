// SPDX-License-Identifier: Apache-2.0
// Runs every src/admission/cases/*.case. Such a file is
//   # what it is about
//   node NAME PRODUCT MEMORY_MIB RESOURCE=MECHANISM/DEVICES/PER_GPU/MEMORY_MIB[/PERCENT] ...  [KEY:VALUE label] ...
//   option runtime-class NAME
//   {the pod, JSON of any number of lines}
//   ---
//   what is decided: "allowed" or "refused CODE: ...", warnings, the operations of the patch.
// UPDATE_CASES=1 rewrites what stands behind the line; look at the difference.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "admission/review.h"
#include "tests/case_files.h"

namespace aliquot::admission {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// "nvidia.com/gpu=mps/8/4/3839/25" as a row of the annotation.
Json row_of(const std::string& word) {
    const std::size_t equals = word.find('=');
    std::istringstream parts(word.substr(equals + 1));
    std::string mechanism;
    std::getline(parts, mechanism, '/');
    Json row{{"resource", word.substr(0, equals)}, {"mechanism", mechanism}};
    for (const char* const key : {"devices", "perGpu", "memoryMiB", "computePercent"}) {
        std::string number;
        if (std::getline(parts, number, '/')) row[key] = std::stoul(number);
    }
    return row;
}

std::shared_ptr<const GpuNode> node_of(std::istringstream line) {
    std::string name;
    std::string product;
    std::string memory;
    line >> name >> product >> memory;
    Json labels{{"kubernetes.io/hostname", name},
                {"nvidia.com/gpu.product", product},
                {"nvidia.com/gpu.memory", memory}};
    Json rows = Json::array();
    Json allocatable = Json::object();
    for (std::string word; line >> word;) {
        if (word.find('=') == std::string::npos) {
            labels[word.substr(0, word.find(':'))] = word.substr(word.find(':') + 1);
            continue;
        }
        rows.push_back(row_of(word));
        allocatable[word.substr(0, word.find('='))] = std::to_string(int{rows.back()["devices"]});
        labels["nvidia.com/gpu.replicas"] = std::to_string(int{rows.back()["perGpu"]});
    }
    const Json node{{"metadata",
                     {{"name", name},
                      {"labels", labels},
                      {"annotations", {{"aliquot.dev/shares", rows.dump()}}}}},
                    {"status", {{"allocatable", allocatable}}}};
    auto read = read_node(node.dump());
    EXPECT_TRUE(read) << node;
    return std::make_shared<const GpuNode>(read.value_or(GpuNode{}));
}

struct Case {
    Cluster cluster;
    PatchOptions options;
    std::string pod;
    std::string head;  // all above the line
    std::string expected;
};

Case parse(const std::string& text) {
    constexpr std::string_view kLine = "---\n";
    const std::size_t at = text.find("\n---\n");
    Case made;
    made.head = at == std::string::npos ? text : text.substr(0, at + 1);
    if (at != std::string::npos) made.expected = text.substr(at + 1 + kLine.size());
    std::istringstream lines(made.head);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("#")) continue;
        if (line.starts_with("node ")) {
            made.cluster.push_back(node_of(std::istringstream(line.substr(5))));
        } else if (line.starts_with("option runtime-class ")) {
            made.options.runtime_class = line.substr(21);
        } else {
            made.pod += line + "\n";
        }
    }
    return made;
}

std::string told(const Decision& decision) {
    std::string text = decision.allowed ? "allowed\n"
                                        : "refused " + std::to_string(decision.code) + ": " +
                                              decision.message + "\n";
    for (const std::string& warning : decision.warnings) text += "warning: " + warning + "\n";
    if (decision.patch.empty()) return text;
    for (const Json& operation : Json::parse(decision.patch)) {
        text += operation["op"].get<std::string>() + " " + operation["path"].get<std::string>() +
                " " + operation["value"].dump() + "\n";
    }
    return text;
}

class AdmissionCase : public testing::TestWithParam<fs::path> {};

TEST_P(AdmissionCase, IsDecidedAsWritten) {
    const Case one = parse(cases::read(GetParam()));
    const std::string found = told(decide(one.pod, one.cluster, one.options));
    if (cases::rewrites(GetParam(), one.head + "---\n" + found)) return;
    EXPECT_EQ(found, one.expected) << "run with UPDATE_CASES=1 if the new text is right";
}

TEST_P(AdmissionCase, IsNotChangedASecondTime) {
    const Case one = parse(cases::read(GetParam()));
    const Decision first = decide(one.pod, one.cluster, one.options);
    if (first.patch.empty()) return;
    const Json patched = Json::parse(one.pod).patch(Json::parse(first.patch));
    const Decision second = decide(patched.dump(), one.cluster, one.options);
    EXPECT_TRUE(second.allowed) << second.message;
    EXPECT_EQ(second.patch, "");
}

INSTANTIATE_TEST_SUITE_P(All, AdmissionCase,
                         testing::ValuesIn(cases::files({"src/admission/cases"})),
                         [](const auto& one) { return cases::name(one.param); });

}  // namespace
}  // namespace aliquot::admission
