// SPDX-License-Identifier: Apache-2.0
//
// Runs sim/smi/cases/*.txt: a node, then commands with what they print. A case file has
//     gpus a2:2            one node for the file; also: driver 535.129.03, fault 1 lost 0,
//                          mig 3g.20gb,1g.5gb*4, processors 2 (else: the machine's)
//     $ nvidia-smi -L      a command; the lines up to "=> CODE" are its output
// ALIQUOT_UPDATE_CASES=1 writes the files anew from what the program prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "os/spawner.h"
#include "os/temporary_directory.h"
#include "sim/node/node.h"

namespace aliquot::sim::smi {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path kLibrary = fs::path(ALIQUOT_SIM_DIR) / "libnvidia-ml.so.1";
const fs::path kProgram = fs::path(ALIQUOT_SIM_DIR) / "nvidia-smi";

struct Finished {
    std::string output;
    int code = -1;
};

Finished run(const fs::path& program, const std::vector<std::string>& arguments,
             const fs::path& scratch) {
    const fs::path output = scratch / "output";
    fs::remove(output);
    os::Command command;
    command.argv = {program.native()};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.environment = os::current_environment();
    command.environment.erase("ALIQUOT_SIM_STATE");
    command.environment.erase("ALIQUOT_SIM_VISIBLE_DEVICES");
    command.environment.erase("LD_LIBRARY_PATH");
    command.output_path = output.native();
    auto process = os::Process::start(command);
    if (!process) return {process.error().message, -1};
    const auto exit = process->wait(60s);
    std::ifstream file(output);
    std::stringstream text;
    text << file.rdbuf();
    return {text.str(), exit ? exit->code : -1};
}

bool fits(char letter, char pattern) {
    const auto byte = static_cast<unsigned char>(letter);
    if (pattern == 'A') return std::isalpha(byte) != 0;
    if (pattern == '9') return std::isdigit(byte) != 0 || letter == ' ';
    return letter == pattern;
}

/// Writes `pattern` over all that looks like it: A is a letter, 9 a digit or a blank.
std::string overwrite(std::string text, std::string_view pattern) {
    for (std::size_t at = 0; at + pattern.size() <= text.size(); ++at) {
        if (std::equal(pattern.begin(), pattern.end(),
                       text.begin() + static_cast<std::ptrdiff_t>(at),
                       [](char mask, char letter) { return fits(letter, mask); })) {
            text.replace(at, pattern.size(), pattern);
        }
    }
    return text;
}

/// Times are of today; everything else must be the same on every day.
std::string without_times(const std::string& text) {
    return overwrite(overwrite(text, "AAA AAA 99 99:99:99 9999"), "9999/99/99 99:99:99.999");
}

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
}

Result<FaultKind> fault_of(const std::string& name) {
    if (name == "lost") return FaultKind::kLost;
    if (name == "error") return FaultKind::kCallError;
    if (name == "ecc") return FaultKind::kEccUncorrected;
    if (name == "temperature") return FaultKind::kTemperature;
    return Error{ErrorCode::kInvalidInput, "no such fault: " + name};
}

/// Makes a node from the head of a case file.
class CaseNode {
public:
    void read(const std::string& line) {
        const auto words = words_of(line);
        if (words.empty() || line.starts_with('#')) return;
        if (words[0] == "gpus") {
            auto request = parse_gpu_request(words.at(1));
            ASSERT_TRUE(request) << line;
            options_.gpus.push_back(*request);
        } else if (words[0] == "driver") {
            options_.driver_version = words.at(1);
        } else if (words[0] == "processors") {
            options_.processors = static_cast<unsigned>(std::stoul(words.at(1)));
        } else if (words[0] == "mig") {
            options_.mig.push_back(words.size() > 1 ? words[1] : "");
        } else {
            ASSERT_EQ(words[0], "fault") << line;
            faults_.push_back(words);
        }
    }
    void make() {
        auto node = Node::create(directory(), options_, kLibrary, kProgram);
        ASSERT_TRUE(node) << node.error().message;
        for (const auto& words : faults_) {
            const auto kind = fault_of(words.at(2));
            ASSERT_TRUE(kind) << kind.error().message;
            ASSERT_TRUE(node->inject(static_cast<unsigned>(std::stoul(words.at(1))), *kind,
                                     std::stoull(words.at(3))));
        }
    }
    [[nodiscard]] fs::path directory() const { return scratch_.path() / "node"; }
    [[nodiscard]] const fs::path& scratch() const { return scratch_.path(); }

private:
    os::TemporaryDirectory scratch_;
    NodeOptions options_;
    std::vector<std::vector<std::string>> faults_;
};

class Case : public testing::TestWithParam<fs::path> {};

TEST_P(Case, PrintsWhatItSays) {
    std::ifstream file(GetParam());
    CaseNode node;
    std::string line;
    std::string renewed;
    while (std::getline(file, line) && !line.starts_with("$ ")) {
        renewed += line + "\n";
        ASSERT_NO_FATAL_FAILURE(node.read(line));
    }
    ASSERT_NO_FATAL_FAILURE(node.make());
    while (line.starts_with("$ ")) {
        const std::string command = line;
        std::string expected;
        int code = 0;
        while (std::getline(file, line)) {
            if (line.starts_with("=> ")) {
                code = std::stoi(line.substr(3));
                break;
            }
            expected += line + "\n";
        }
        auto words = words_of(command);
        ASSERT_GE(words.size(), 2U);
        words.erase(words.begin(), words.begin() + 2);
        const Finished made = run(node.directory() / "bin/nvidia-smi", words, node.scratch());
        const std::string output = without_times(made.output);
        renewed += command + "\n" + output + "=> " + std::to_string(made.code) + "\n";
        if (std::getenv("ALIQUOT_UPDATE_CASES") == nullptr) {  // NOLINT(concurrency-mt-unsafe)
            EXPECT_EQ(output, expected) << command;
            EXPECT_EQ(made.code, code) << command;
        }
        if (!std::getline(file, line)) break;
        renewed += line.starts_with("$ ") ? "" : line + "\n";
        while (!line.starts_with("$ ") && std::getline(file, line)) {
            if (!line.starts_with("$ ")) renewed += line + "\n";
        }
    }
    if (std::getenv("ALIQUOT_UPDATE_CASES") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
        std::ofstream(GetParam()) << renewed;
    }
}

std::vector<fs::path> case_files() {
    std::vector<fs::path> files;
    for (const auto& entry :
         fs::directory_iterator(fs::path(ALIQUOT_SOURCE_DIR) / "sim/smi/cases")) {
        files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
}

INSTANTIATE_TEST_SUITE_P(Smi, Case, testing::ValuesIn(case_files()),
                         [](const auto& test) { return test.param.stem().native(); });

TEST(Smi, ShowsTheProcessesOfAGpu) {
    const os::TemporaryDirectory scratch;
    const auto directory = scratch.path() / "node";
    auto node = Node::create(directory, {.gpus = {*parse_gpu_request("a2:2")}}, kLibrary, kProgram);
    ASSERT_TRUE(node) << node.error().message;
    const auto pid = static_cast<std::uint32_t>(::getpid());
    ASSERT_TRUE(node->set_process(1, pid, 512ULL << 20U, 40));
    const auto program = directory / "bin/nvidia-smi";
    const std::string pid_text = std::to_string(pid);

    const Finished table = run(program, {}, scratch.path());
    EXPECT_EQ(table.code, 0);
    EXPECT_THAT(table.output, HasSubstr(pid_text + "      C   "));
    EXPECT_THAT(table.output, HasSubstr("512MiB |"));
    const Finished query = run(
        program, {"--query-compute-apps=pid,used_memory,gpu_name", "--format=csv"}, scratch.path());
    EXPECT_EQ(query.output,
              "pid, used_gpu_memory [MiB], gpu_name\n" + pid_text + ", 512 MiB, NVIDIA A2\n");
    const Finished monitor = run(program, {"pmon", "-c", "1", "-i", "1"}, scratch.path());
    EXPECT_THAT(monitor.output, HasSubstr(pid_text + "      C"));
    const Finished busy = run(program, {"-r", "-i", "1"}, scratch.path());
    EXPECT_EQ(busy.code, 19);
    EXPECT_THAT(busy.output, HasSubstr("in use"));
}

TEST(Smi, ShowsAndKeepsWhatRunsOnAMigDevice) {
    const os::TemporaryDirectory scratch;
    const auto directory = scratch.path() / "node";
    auto node = Node::create(
        directory, {.gpus = {*parse_gpu_request("a100-40")}, .mig = {"3g.20gb@0,1g.5gb@4"}},
        kLibrary, kProgram);
    ASSERT_TRUE(node) << node.error().message;
    const auto pid = static_cast<std::uint32_t>(::getpid());
    ASSERT_TRUE(node->set_process(0, pid, 512ULL << 20U, 40, {11, 0}));
    const auto program = directory / "bin/nvidia-smi";
    const Finished table = run(program, {}, scratch.path());
    EXPECT_THAT(table.output, HasSubstr("|  0   11   0   1  |             515MiB /  4864MiB    |"));
    EXPECT_THAT(table.output, HasSubstr("|    0    11    0"));
    const Finished busy = run(program, {"mig", "-dci", "-gi", "11"}, scratch.path());
    EXPECT_EQ(busy.code, 19);
    EXPECT_THAT(busy.output, HasSubstr("In use by another client"));
    EXPECT_EQ(run(program, {"mig", "-dci", "-gi", "1"}, scratch.path()).code, 0);
    EXPECT_EQ(run(program, {"-r", "-i", "0"}, scratch.path()).code, 19);
    EXPECT_EQ(node->gpus()[0].mig_devices.size(), 1U);
    ASSERT_TRUE(node->set_process(0, pid, 0, 0, {11, 0}));
    EXPECT_EQ(run(program, {"-r", "-i", "0"}, scratch.path()).code, 0);
    EXPECT_TRUE(node->gpus()[0].mig_devices.empty());
}

TEST(Smi, AnswersEveryFieldThatItNames) {
    const os::TemporaryDirectory scratch;
    const auto directory = scratch.path() / "node";
    auto node =
        Node::create(directory, {.gpus = {*parse_gpu_request("h100-80")}}, kLibrary, kProgram);
    ASSERT_TRUE(node) << node.error().message;
    const auto program = directory / "bin/nvidia-smi";
    const Finished help = run(program, {"--help-query-gpu"}, scratch.path());
    std::istringstream lines(help.output);
    std::string fields;
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with('"')) continue;
        fields += (fields.empty() ? "" : ",") + line.substr(1, line.find('"', 1) - 1);
        ++count;
    }
    EXPECT_EQ(count, 212U);  // as driver 590
    const Finished query =
        run(program, {"--query-gpu=" + fields, "--format=csv,noheader,nounits"}, scratch.path());
    EXPECT_EQ(query.code, 0);
    std::size_t cells = 1;
    for (auto at = query.output.find(", "); at != std::string::npos;
         at = query.output.find(", ", at + 1))
        ++cells;
    EXPECT_EQ(cells, count) << query.output;
    EXPECT_THAT(query.output, testing::Not(HasSubstr("rror")));
}

TEST(Smi, ResetsALostGpu) {
    const os::TemporaryDirectory scratch;
    const auto directory = scratch.path() / "node";
    auto node = Node::create(directory, {.gpus = {*parse_gpu_request("a2:2")}}, kLibrary, kProgram);
    ASSERT_TRUE(node) << node.error().message;
    ASSERT_TRUE(node->inject(1, FaultKind::kLost, 0));
    const auto program = directory / "bin/nvidia-smi";
    EXPECT_EQ(run(program, {"-L"}, scratch.path()).code, 15);
    EXPECT_EQ(run(program, {"--gpu-reset", "-i", "1"}, scratch.path()).code, 0);
    EXPECT_EQ(run(program, {"-L"}, scratch.path()).code, 0);
}

TEST(Smi, FollowsALinkedNodeAndSaysWhatIsMissing) {
    const os::TemporaryDirectory scratch;
    const auto lone = scratch.path() / "bin" / "nvidia-smi";
    fs::create_directories(lone.parent_path());
    fs::copy_file(kProgram, lone);
    fs::create_directories(scratch.path() / "lib");
    fs::copy_file(kLibrary, scratch.path() / "lib" / "libnvidia-ml.so.1");
    const Finished no_driver = run(lone, {}, scratch.path());  // a library, but no node
    EXPECT_EQ(no_driver.code, 9) << no_driver.output;
    EXPECT_THAT(no_driver.output, HasSubstr("couldn't communicate with the NVIDIA driver"));
    fs::remove_all(scratch.path() / "lib");
    const Finished no_library = run(lone, {}, scratch.path());
    EXPECT_EQ(no_library.code, 12) << no_library.output;
}

}  // namespace
}  // namespace aliquot::sim::smi
