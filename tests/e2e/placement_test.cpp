// SPDX-License-Identifier: Apache-2.0
//
// `aliquot simulate placement` and `aliquot explain placement` as a user has them: the program, its
// files, its exit codes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::seconds kLimit{60};
constexpr const char* kExample = ALIQUOT_SOURCE_DIR "/examples/placement";

class PlacementProgram : public ::testing::Test {
protected:
    /// Runs a shell line in which `aliquot` is ours, in an empty folder; code_ is its exit code.
    std::string shell(const std::string& script) {
        auto values = os::current_environment();
        values["PATH"] = std::string(ALIQUOT_BIN_DIR ":") + values["PATH"];
        const auto output = temporary_.path() / "output";
        std::filesystem::remove(output);  // a process appends
        const std::string in_folder = "cd \"$0\" && " + script;
        auto process =
            os::Process::start({.argv = {"sh", "-c", in_folder, temporary_.path().native()},
                                .environment = values,
                                .output_path = output.native()});
        EXPECT_TRUE(process) << process.error().message;
        if (!process) return "";
        const auto exit = process->wait(kLimit);
        EXPECT_TRUE(exit) << script;
        code_ = exit ? exit->code : -1;
        return read("output");
    }

    std::string simulate(const std::string& words) {
        return shell("aliquot simulate placement --nodes " + nodes_ + " --pods " + pods_ + ' ' +
                     words);
    }

    [[nodiscard]] std::string read(const std::string& name) const {
        std::ifstream file(temporary_.path() / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(temporary_.path() / name, std::ios::binary) << text;
    }

    os::TemporaryDirectory temporary_;
    std::string nodes_ = std::string(kExample) + "/nodes.csv";
    std::string pods_ = std::string(kExample) + "/pods.csv";
    int code_ = 0;
};

TEST_F(PlacementProgram, PrintsTheContractForEveryPolicy) {
    for (const std::string policy : {"fgd", "best-fit", "dot-product", "packing", "clustering",
                                     "random", "spread", "aliquot"}) {
        const Json json =
            Json::parse(simulate("-o json --seed 4 --policy " + policy), nullptr, false);
        ASSERT_EQ(code_, 0) << policy;
        EXPECT_EQ(json["policy"], policy);
        EXPECT_GT(json["arrivals"].get<int>(), 100);
        EXPECT_LE(json["placed"].get<int>(), json["arrivals"].get<int>());
        for (const char* const load : {"100", "130"}) {
            EXPECT_GT(json["allocation_percent"][load].get<double>(), 60) << policy;
            EXPECT_LE(json["allocation_percent"][load].get<double>(), 100) << policy;
            EXPECT_GE(json["fragmentation_percent"][load].get<double>(), 0) << policy;
        }
        EXPECT_GE(json["seconds"].get<double>(), 0);
    }
    EXPECT_EQ(Json::parse(simulate("-o json"), nullptr, false)["policy"], "aliquot");
}

TEST_F(PlacementProgram, AnOrderFileDecidesWhoComesWhenAndASeedDrawsTheSameAgain) {
    write("order.csv", "P,0\nP,1\nP,2\n");
    const Json json = Json::parse(simulate("-o json --at 1,2 --order order.csv"), nullptr, false);
    EXPECT_EQ(json["arrivals"], 3);
    EXPECT_EQ(json["placed"], 3);
    const auto log = [&](const std::string& seed, const std::string& file) {
        (void)simulate("--seed " + seed + " --log " + file);
        EXPECT_EQ(code_, 0);
        return read(file);
    };
    const std::string first = log("7", "a.csv");
    EXPECT_EQ(first, log("7", "b.csv"));
    EXPECT_NE(first, log("8", "c.csv"));
}

TEST_F(PlacementProgram, ComparesPoliciesAndWritesCurves) {
    const std::string table = simulate("--compare fgd,random --curve curve.svg");
    ASSERT_EQ(code_, 0) << table;
    EXPECT_TRUE(table.contains("\nfgd ")) << table;
    EXPECT_TRUE(table.contains("\nrandom ")) << table;
    EXPECT_TRUE(read("curve.svg").ends_with("</svg>\n"));
    const Json json =
        Json::parse(simulate("--compare all -o json --curve curve.csv"), nullptr, false);
    EXPECT_EQ(json["runs"].size(), 8U);
    EXPECT_TRUE(read("curve.csv").starts_with("policy,load_percent,"));
    (void)simulate("--curve curve.png");
    EXPECT_EQ(code_, 2);
}

TEST_F(PlacementProgram, TellsMovesAndDepartures) {
    const Json moves = Json::parse(simulate("--migrate 0.01 -o json"), nullptr, false);
    ASSERT_EQ(code_, 0);
    EXPECT_LE(moves["migrations"].get<double>(), 0.01 * moves["arrivals"].get<double>());
    EXPECT_GE(moves["gpus_gained"].get<double>(), 0);
    const Json patient = Json::parse(simulate("--patience 50 -o json"), nullptr, false);
    ASSERT_EQ(code_, 0);
    EXPECT_GE(patient["waited"].get<int>(), patient["placed_late"].get<int>());
    (void)simulate("--patience -1");
    EXPECT_EQ(code_, 2);
    const Json stay = Json::parse(simulate("--departures -o json --at 20"), nullptr, false);
    ASSERT_EQ(code_, 0);
    EXPECT_GT(stay["departed"].get<int>(), 0);
    EXPECT_GT(stay["peak_allocation_percent"].get<double>(), 0);
}

TEST_F(PlacementProgram, RefusesABadFileWithItsPlaceAndHalfReadsNothing) {
    write("bad.csv", "sn,cpu_milli,memory_mib,gpu,model\r\nn,8000,1000,two,T4\r\n");
    nodes_ = "bad.csv";
    const std::string said = simulate("-o json --curve c.csv");
    EXPECT_EQ(code_, 2);
    EXPECT_EQ(said,
              "aliquot: bad.csv:2:13: gpu is 'two': a whole number from 0 to 16 was expected\n");
    EXPECT_FALSE(std::filesystem::exists(temporary_.path() / "c.csv"));
    nodes_ = "missing.csv";
    EXPECT_TRUE(simulate("").contains("missing.csv: cannot read it"));
    EXPECT_EQ(code_, 2);
}

TEST_F(PlacementProgram, IsNamedWhereItIsNotBesideAliquot) {
    // Beside it, since it is large where it is built for tests, and /tmp may be small.
    const std::string said = shell(
        "aliquot=$(command -v aliquot) && alone=$(mktemp -d \"$aliquot.XXXXXX\") && "
        "{ ln \"$aliquot\" \"$alone/aliquot\" 2>/dev/null || cp \"$aliquot\" \"$alone\"; }; "
        "\"$alone/aliquot\" --color never simulate placement; code=$?; rm -rf \"$alone\"; "
        "exit $code");
    EXPECT_EQ(code_, 3);
    EXPECT_TRUE(said.contains("/aliquot-placement: No such file or directory: ")) << said;
}

TEST_F(PlacementProgram, AFullDiskIsToldForEveryFileItWrites) {
    for (const char* const words : {"--log /dev/full", "--curve full.csv", "--curve full.svg"}) {
        std::filesystem::remove(temporary_.path() / "full.csv");
        std::filesystem::remove(temporary_.path() / "full.svg");
        (void)shell("ln -s /dev/full full.csv; ln -s /dev/full full.svg");
        const auto said = simulate(std::string("--seed 3 ") + words + " 2>&1 >/dev/null");
        EXPECT_EQ(code_, 3) << words;
        EXPECT_TRUE(said.ends_with(": No space left on device\n")) << said;
    }
}

TEST_F(PlacementProgram, ExplainsTheDecisionThatTheSimulationTook) {
    (void)simulate("--seed 3 --log log.csv");
    const std::string log = read("log.csv");
    const std::string files = "--nodes " + nodes_ + " --pods " + pods_ + " --seed 3 ";
    const Json told = Json::parse(
        shell("aliquot explain placement " + files + "--pod trainer-03 --top 2 -o json"), nullptr,
        false);
    ASSERT_EQ(code_, 0);
    EXPECT_EQ(told["task"], "trainer-03");
    EXPECT_LE(told["alternatives"].size(), 2U);
    const std::string line =
        "place," + told["arrival"].dump() + ',' + told["row"].dump() + ",trainer-03,";
    const auto at = log.find(line);
    ASSERT_NE(at, std::string::npos) << line;
    const std::string rest = log.substr(at, log.find('\n', at) - at);
    EXPECT_TRUE(rest.contains(',' + told["chosen"]["node"].get<std::string>() + ',')) << rest;
    const std::string text = shell("aliquot explain placement " + files + "--pod trainer-03");
    EXPECT_TRUE(text.contains("placed on " + told["chosen"]["node"].get<std::string>())) << text;
    EXPECT_TRUE(shell("aliquot explain placement " + files + "--pod trainer-O3")
                    .contains("did you mean 'trainer-03'?"));
    EXPECT_EQ(code_, 2);
}

}  // namespace
}  // namespace aliquot
