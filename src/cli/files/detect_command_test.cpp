// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.h"
#include "command_line/command.h"
#include "os/temporary_directory.h"

namespace aliquot::cli {
namespace {

using testing::HasSubstr;

/// `aliquot detect` in this process; `input` is its standard input.
class Detect : public testing::Test {
protected:
    int detect(std::vector<std::string> words, const std::string& input = "") {
        out_.str("");
        err_.str("");
        command_line::Command program;
        Context context{.out = out_, .err = err_};
        add_detect_command(program, context);
        std::istringstream in(input);
        auto* const real_in = std::cin.rdbuf(in.rdbuf());
        std::cin.clear();
        words.insert(words.begin(), "detect");
        program.parse(std::move(words));
        std::cin.rdbuf(real_in);
        return context.exit_code;
    }
    std::string file(const std::string& name, const std::string& text) {
        const std::string path = (directory_.path() / name).string();
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }
    os::TemporaryDirectory directory_;
    std::ostringstream out_;
    std::ostringstream err_;
};

TEST_F(Detect, AnswersEveryLineWithTheObjectOfItsContract) {
    EXPECT_EQ(detect({"--lines", "-"}, "FROM x\\nRUN pip install vllm\n\nTrain on 4x A100 80GB"),
              kOk);
    std::istringstream lines(out_.str());
    std::vector<nlohmann::json> answers;
    for (std::string line; std::getline(lines, line);)
        answers.push_back(nlohmann::json::parse(line));
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(answers[0]["label"], "gpu");
    EXPECT_EQ(answers[0]["evidence"][0]["text"], "vllm");
    EXPECT_EQ(answers[0]["evidence"][0]["start"], 23);
    EXPECT_EQ(answers[0]["evidence"][0]["end"], 27);
    EXPECT_EQ(answers[1]["label"], "cpu");
    EXPECT_EQ(answers[2]["gpu_count"], 4);
    EXPECT_EQ(answers[2]["gpu_memory_gib"], 80);
    EXPECT_EQ(answers[2]["gpu_type"], "a100");
}

TEST_F(Detect, AnswersEachEmptyLine) {
    EXPECT_EQ(detect({"--lines", "-"}, "\n\n\n"), kOk);
    const std::string all = out_.str();
    const auto first = all.substr(0, all.find('\n') + 1);
    EXPECT_EQ(all, first + first + first);
    EXPECT_EQ(nlohmann::json::parse(first)["label"], "cpu");
}

TEST_F(Detect, AnswersLinesThatAreLongerThanWhatItReadsAtOnce) {
    const std::string input =
        std::string(200000, 'a') + " GPU\n\n" + std::string(70000, 'b') + "\r\nno GPU needed";
    EXPECT_EQ(detect({"--lines", "-"}, input), kOk);
    std::istringstream lines(out_.str());
    std::vector<std::string> labels;
    for (std::string line; std::getline(lines, line);)
        labels.push_back(nlohmann::json::parse(line)["label"]);
    EXPECT_EQ(labels, (std::vector<std::string>{"gpu", "cpu", "cpu", "cpu"}));
}

TEST_F(Detect, RefusesADirectoryOfLines) {
    EXPECT_EQ(detect({"--lines", directory_.path().string()}), kUsage);
    EXPECT_THAT(err_.str(), HasSubstr("is a directory"));
}

TEST_F(Detect, JudgesByKeywordsAloneUnderBothNamesOfTheOption) {
    EXPECT_EQ(detect({"--legacy", "--lines", "-"}, "one billion CVs\n"), kOk);
    const std::string former = out_.str();
    out_.str("");
    EXPECT_EQ(detect({"--keywords-only", "--lines", "-"}, "one billion CVs\n"), kOk);
    EXPECT_EQ(out_.str(), former);
    const auto answer = nlohmann::json::parse(out_.str());
    EXPECT_EQ(answer["label"], "gpu");
    EXPECT_EQ(answer["gpu_count"], 4);
    EXPECT_EQ(answer["gpu_memory_gib"], 64);
    EXPECT_EQ(answer["gpu_type"], "a100");
}

TEST_F(Detect, ReadsAFileByItsNameAndShowsTheArithmetic) {
    EXPECT_EQ(detect({"--explain", file("requirements.txt", "vllm\n")}), kOk);
    EXPECT_THAT(out_.str(), HasSubstr("read as requirements"));
    EXPECT_THAT(out_.str(), HasSubstr("stack \"vllm\" at 0"));
    EXPECT_THAT(out_.str(), HasSubstr("score; above 0 means GPU"));
    EXPECT_EQ(detect({"-o", "json", file("a\"b", "GPU \xFF")}), kOk);
    const auto list = nlohmann::json::parse(out_.str());
    EXPECT_EQ(list["kind"], "DetectionList");
    EXPECT_EQ(list["items"][0]["label"], "gpu");
    EXPECT_EQ(list["items"][0]["gpuType"], list["items"][0]["gpu_type"]);
    EXPECT_EQ(detect({"-o", "yaml", file("Dockerfile", "FROM debian\n")}), kOk);
    EXPECT_THAT(out_.str(), HasSubstr("kind: dockerfile"));
}

TEST_F(Detect, JudgesALongFileByItsHeadAndSaysSo) {
    EXPECT_EQ(detect({file("long.txt", std::string(6U << 20U, 'x'))}), kOk);
    EXPECT_THAT(err_.str(), HasSubstr("longer than 1 MiB"));
}

TEST_F(Detect, RefusesWhatItCannotRead) {
    EXPECT_EQ(detect({(directory_.path() / "none").string()}), kUsage);
    EXPECT_THAT(err_.str(), HasSubstr("No such file"));
    EXPECT_EQ(detect({directory_.path().string()}), kUsage);
    EXPECT_EQ(detect({}), kUsage);
    EXPECT_EQ(detect({"--lines", (directory_.path() / "none").string()}), kUsage);
}

}  // namespace
}  // namespace aliquot::cli
