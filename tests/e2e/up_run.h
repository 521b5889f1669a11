// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "os/exchange.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"

/// `aliquot up` as a user runs it: the built programs, the examples, a simulated node.
namespace aliquot {

namespace fs = std::filesystem;
using namespace std::chrono_literals;  // NOLINT(google-global-names-in-headers): tests only
using nlohmann::json;
using testing::HasSubstr;

inline constexpr auto kPatience = 100s;  // for a machine that is busy with other things

inline std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline bool eventually(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
        if (holds()) return true;
        std::this_thread::sleep_for(10ms);
    }
    return false;
}

inline fs::path example(const std::string& name) {
    return fs::path(ALIQUOT_SOURCE_DIR) / "examples" / name;
}

struct Ran {
    int code = -1;
    std::string out;
    std::string err;
};

class UpTest : public testing::Test {
protected:
    void SetUp() override {
        fs::create_directories(tmp());
        fs::create_directories(state());
    }
    /// Whatever happened, `up` leaves nothing in TMPDIR.
    void TearDown() override { EXPECT_TRUE(fs::is_empty(tmp())) << "left in TMPDIR"; }

    fs::path tmp() const { return directory_.path() / "t"; }
    fs::path state() const { return directory_.path() / "state"; }
    fs::path file(const std::string& name, const std::string& text) const {
        std::ofstream(directory_.path() / name) << text;
        return directory_.path() / name;
    }

    os::Command command(const std::vector<std::string>& arguments) const {
        os::Command command;
        command.argv = {"sh", "-c", "exec \"$0\" \"$@\" >out 2>err",
                        fs::path(ALIQUOT_BIN_DIR) / "aliquot", "up"};
        command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
        command.environment = os::current_environment();
        command.environment["TMPDIR"] = tmp().native();
        command.working_directory = directory_.path().native();
        return command;
    }
    os::Process start(const std::vector<std::string>& arguments) const {
        auto process = os::Process::start(command(arguments));
        EXPECT_TRUE(process) << process.error().message;
        return *std::move(process);
    }
    Ran run(const std::vector<std::string>& arguments) const {
        os::Process process = start(arguments);
        const auto exit = process.wait(std::chrono::milliseconds(kPatience));
        EXPECT_TRUE(exit) << "did not end";
        return {.code = exit ? exit->code : -1,
                .out = read(directory_.path() / "out"),
                .err = read(directory_.path() / "err")};
    }
    /// The state as JSON of an example that must settle.
    json once(const std::string& name, std::vector<std::string> gpus) const {
        std::vector<std::string> arguments;
        for (std::string& gpu : gpus) {
            arguments.emplace_back("--gpu");
            arguments.push_back(std::move(gpu));
        }
        arguments.insert(arguments.end(), {"--config", example(name) / "config.yaml", example(name),
                                           "--once", "-o", "json", "--state", state()});
        const Ran ran = run(arguments);
        EXPECT_EQ(ran.code, 0) << ran.err;
        return json::parse(ran.out, nullptr, false);
    }
    std::string log_of(const std::string& pod, const std::string& container) const {
        return read(state() / "logs" / ("default_" + pod + "_" + container + ".log"));
    }

    os::TemporaryDirectory directory_;
};

/// Of an agent's state, the tenants of its first GPU that have this name; with processes only.
inline json tenants_with_processes(const json& state, const std::string& pod) {
    json found = json::array();
    if (!state.is_object() || !state.contains("gpus") || state["gpus"].empty()) return found;
    for (const json& part : state["gpus"][0]["parts"]) {
        for (const json& tenant : part["tenants"]) {
            if (tenant.value("pod", "") == pod && !tenant["processes"].empty())
                found.push_back(tenant);
        }
    }
    return found;
}

}  // namespace aliquot
