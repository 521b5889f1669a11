// SPDX-License-Identifier: Apache-2.0
//
// How `aliquot` starts: without the libraries that only some of its commands need.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot {
namespace {

constexpr std::chrono::seconds kLimit{60};

/// "  name   what it does" of the list of commands.
std::pair<std::string, std::string> words_of(const std::string& line) {
    const auto begin = line.find_first_not_of(' ');
    const auto end = std::min(line.find(' ', begin), line.size());
    const auto text = std::min(line.find_first_not_of(' ', end), line.size());
    return {line.substr(begin, end - begin), line.substr(text)};
}

class Start : public ::testing::Test {
protected:
    std::string run(std::vector<std::string> words,
                    const std::map<std::string, std::string>& variables) {
        words.insert(words.begin(), ALIQUOT_BIN_DIR "/aliquot");
        auto environment = os::current_environment();
        for (const auto& [name, value] : variables) environment[name] = value;
        const auto path = directory_.path() / "output";
        std::filesystem::remove(path);
        auto process = os::Process::start(
            {.argv = words, .environment = environment, .output_path = path.native()});
        EXPECT_TRUE(process) << process.error().message;
        const auto exit = process ? process->wait(kLimit) : std::nullopt;
        code_ = exit ? exit->code : -1;
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    os::TemporaryDirectory directory_;
    int code_ = 0;
};

TEST_F(Start, LoadsNoLibraryOfTheNetwork) {
    const std::string loaded = run({}, {{"LD_TRACE_LOADED_OBJECTS", "1"}});
    EXPECT_NE(loaded.find("libc.so"), std::string::npos) << loaded;
    EXPECT_EQ(loaded.find("libcurl"), std::string::npos) << loaded;
}

TEST_F(Start, EveryCommandIsFoundByTheNameItIsListedUnder) {
    std::istringstream help(run({"--help"}, {}));
    std::string line;
    while (std::getline(help, line) && line != "Commands:") continue;
    int commands = 0;
    for (; std::getline(help, line) && !line.empty(); ++commands) {
        const auto [name, says] = words_of(line);
        const std::string own = run({name, "--help"}, {});
        EXPECT_EQ(code_, 0) << name;
        EXPECT_TRUE(own.starts_with(says)) << name << ": " << own;
        EXPECT_NE(own.find("Usage: aliquot " + name), std::string::npos) << own;
    }
    EXPECT_GE(commands, 20);
    EXPECT_EQ(run({"--version"}, {}), "aliquot " ALIQUOT_VERSION "\n");
    EXPECT_NE(run({"lnit"}, {}).find("did you mean 'lint'?"), std::string::npos);
    EXPECT_NE(run({"completion", "bash"}, {}).find("metrics-api"), std::string::npos);
}

TEST_F(Start, WithoutLibcurlTheCommandsThatAskNobodyWork) {
    std::ofstream(directory_.path() / "libcurl.so.4") << "this is no library, however long it is\n";
    const std::map<std::string, std::string> broken{
        {"LD_LIBRARY_PATH", directory_.path().native()}};
    std::ofstream(directory_.path() / "good.yaml") << "a: 1\n";
    EXPECT_EQ(run({"lint", (directory_.path() / "good.yaml").native()}, broken), "");
    EXPECT_EQ(code_, 0);

    const std::string config = (directory_.path() / "config").native();
    std::ofstream(config) << "apiVersion: v1\nkind: Config\n";
    for (const auto& words :
         std::vector<std::vector<std::string>>{{"node", "list", "--kubeconfig", config},
                                               {"top", "--once", "--agent", "127.0.0.1:9"}}) {
        const std::string said = run(words, broken);
        EXPECT_EQ(code_, 3) << said;
        EXPECT_NE(said.find("libcurl.so.4"), std::string::npos) << said;
        EXPECT_NE(said.find("install libcurl4"), std::string::npos) << said;
    }
}

}  // namespace
}  // namespace aliquot
