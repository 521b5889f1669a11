// SPDX-License-Identifier: Apache-2.0
//
// `aliquot lint` as CI has it: a process, its files, its exit codes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot {
namespace {

constexpr std::chrono::seconds kLimit{60};

const char* const kJob =
    "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: train\nspec:\n  backoffLimit: 1\n  "
    "activeDeadlineSeconds: 60\n"
    "  ttlSecondsAfterFinished: 60\n  template:\n    spec:\n      containers:\n      - name: c\n"
    "        image: example.com/train:1.2.3\n        resources:\n          requests: {cpu: 1, "
    "memory: 1Gi}\n"
    "          limits: {memory: 1Gi, nvidia.com/gpu: 1}\n";

class LintProgram : public ::testing::Test {
protected:
    std::string run(const std::string& words) {
        const auto path = directory_.path() / "output";
        std::filesystem::remove(path);
        auto environment = os::current_environment();
        environment["PATH"] = std::string(ALIQUOT_BIN_DIR ":") + environment["PATH"];
        auto process = os::Process::start(
            {.argv = {"sh", "-c",
                      "cd " + directory_.path().native() + "/work && aliquot lint " + words},
             .environment = environment,
             .output_path = path.native()});
        EXPECT_TRUE(process) << process.error().message;
        const auto exit = process->wait(kLimit);
        EXPECT_TRUE(exit) << words;
        code_ = exit ? exit->code : -1;
        return bytes(path);
    }

    void write(const std::string& name, const std::string& text) {
        const auto path = directory_.path() / "work" / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
    }
    [[nodiscard]] std::string read(const std::string& name) const {
        return bytes(directory_.path() / "work" / name);
    }
    static std::string bytes(const std::filesystem::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    void SetUp() override { std::filesystem::create_directories(directory_.path() / "work"); }

    os::TemporaryDirectory directory_;
    int code_ = 0;
};

TEST_F(LintProgram, FindsWhatTheApiWouldRefuse) {
    write("job.yaml", kJob);
    const std::string out = run("-o json .");
    EXPECT_EQ(code_, 1) << out;
    const auto json = nlohmann::json::parse(out);
    EXPECT_EQ(json["schemaVersion"], 1);
    ASSERT_FALSE(json["findings"].empty());
    for (const auto& one : json["findings"]) {
        for (const char* key :
             {"file", "line", "column", "rule", "severity", "message", "why", "fix", "doc"}) {
            EXPECT_TRUE(one.contains(key)) << key;
        }
    }
    EXPECT_TRUE(out.contains("JOB001")) << out;
    run("--fail-on never .");
    EXPECT_EQ(code_, 0);
}

TEST_F(LintProgram, ReadsTheStandardInput) {
    write("job.yaml", kJob);
    const std::string out = run("- < job.yaml");
    EXPECT_EQ(code_, 1);
    EXPECT_TRUE(out.contains("<stdin>:")) << out;
    EXPECT_TRUE(out.contains("JOB001")) << out;
}

TEST_F(LintProgram, SaysWhatIsNotThere) {
    const std::string out = run("missing.yaml");
    EXPECT_EQ(code_, 2);
    EXPECT_TRUE(out.contains("missing.yaml")) << out;
    run("");
    EXPECT_EQ(code_, 2);
    run("-o rubbish .");
    EXPECT_EQ(code_, 2);
}

TEST_F(LintProgram, IsToldWhatToLeaveOut) {
    write("deploy/job.yaml", kJob);
    write("vendor/job.yaml", kJob);
    write(".aliquot.yaml", "rules: {JOB001: off}\npaths: {ignore: [old]}\n");
    write("old/job.yaml", kJob);
    EXPECT_FALSE(run(".").contains("JOB001"));
    EXPECT_EQ(code_, 0);
    write(".aliquot.yaml", "rules: {JOB001: loud}\n");
    EXPECT_TRUE(run(".").contains(".aliquot.yaml:1"));
    EXPECT_EQ(code_, 2);
}

TEST_F(LintProgram, ABaselineHidesWhatWasThereBefore) {
    write("job.yaml", kJob);
    run("-o json=base.json job.yaml");
    EXPECT_EQ(run("--baseline base.json job.yaml"), "");
    EXPECT_EQ(code_, 0);
    write("job.yaml", std::string(kJob) + "---\n" + kJob);
    EXPECT_TRUE(run("--baseline base.json job.yaml").contains("JOB001"));
    EXPECT_EQ(code_, 1);
}

TEST_F(LintProgram, WritesSeveralFormatsAtOnce) {
    write("job.yaml", kJob);
    const std::string out = run("-o github -o sarif=a.sarif -o junit=a.xml job.yaml");
    EXPECT_TRUE(out.contains("::error file=job.yaml,line=")) << out;
    const auto sarif = nlohmann::json::parse(read("a.sarif"));
    EXPECT_EQ(sarif["version"], "2.1.0");
    const auto& result = sarif["runs"][0]["results"][0];
    EXPECT_TRUE(result["partialFingerprints"].contains("aliquot/v1"));
    EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "job.yaml");
    EXPECT_FALSE(sarif["runs"][0]["tool"]["driver"]["rules"][0]["helpUri"].empty());
    EXPECT_TRUE(read("a.xml").contains("<testcase classname=\"aliquot.lint\" name=\"job.yaml\">"));
}

TEST_F(LintProgram, MendsWhatIsMechanicalAndNothingElse) {
    std::string job = kJob;
    job.replace(job.find("{cpu: 1, memory: 1Gi}"), 21, "{cpu: 1, memory: 1Gi, nvidia.com/gpu: 2}");
    job.insert(job.find("      containers:"), "      restartPolicy: Never\n");
    write("job.yaml", job);
    EXPECT_TRUE(run("--diff job.yaml").contains("--- job.yaml"));
    EXPECT_EQ(read("job.yaml"), job);
    run("--fix job.yaml");
    EXPECT_EQ(code_, 0) << run("job.yaml");
    EXPECT_NE(read("job.yaml"), job);
    EXPECT_EQ(run("--diff job.yaml"), "");
}

TEST_F(LintProgram, WritesSettingsToBeginWith) {
    EXPECT_EQ(run("--init"), "wrote .aliquot.yaml\n");
    EXPECT_EQ(code_, 0);
    run("--init");
    EXPECT_EQ(code_, 2);
    const auto rules = nlohmann::json::parse(run("--rules -o json"));
    EXPECT_GT(rules["rules"].size(), 30U);
}

}  // namespace
}  // namespace aliquot
