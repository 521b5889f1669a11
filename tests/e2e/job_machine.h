// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "os/exchange.h"
#include "os/root.h"
#include "os/spawner.h"
#include "os/temporary_directory.h"

namespace aliquot {

/// `aliquot serve` with two simulated GPUs in a directory of its own, and `aliquot job` that asks it.
class JobTest : public testing::Test {
protected:
    static constexpr const char* kAliquot = ALIQUOT_BIN_DIR "/aliquot";
    static constexpr std::chrono::seconds kPatience{60};

    void SetUp() override {
        std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
        start_server();
    }
    void TearDown() override {
        if (!HasFailure() && server_) {
            // What runs outlives the server: it ends before the directory goes.
            for (const auto& job : listed()) run({"job", "cancel", job["id"].dump()});
            eventually([&] { return listed().empty(); });
        }
        server_.reset();
    }

    void start_server() {
        os::Command command;
        command.argv = {kAliquot,   "serve",   "--state", state().native(),
                        "--socket", address(), "--grace", "1"};
        command.argv.insert(command.argv.end(), gpus_.begin(), gpus_.end());
        command.argv.insert(command.argv.end(), more_.begin(), more_.end());
        command.environment = os::current_environment();
        for (const auto& [name, value] : server_variables_) command.environment[name] = value;
        command.output_path = directory_.path() / "server.log";
        auto started = os::Process::start(command);
        ASSERT_TRUE(started) << started.error().message;
        server_.emplace(*std::move(started));
        eventually([&] { return run({"job", "list"}).exit.code == 0; });
    }
    void kill_server() {
        server_->signal(SIGKILL);
        server_->wait(std::chrono::seconds(30));
        server_.reset();
    }

    os::Exchange run(std::vector<std::string> words, const std::string& input = "") {
        os::Command command;
        command.argv = {kAliquot};
        command.argv.insert(command.argv.end(), words.begin(), words.end());
        command.environment = os::current_environment();
        command.environment["ALIQUOT_JOBS"] = address();
        for (const auto& [name, value] : variables_) command.environment[name] = value;
        command.working_directory = directory_.path();
        auto done = os::exchange(command, input,
                                 {.deadline = std::chrono::seconds(120), .output_bytes = 8 << 20});
        EXPECT_TRUE(done) << done.error().message;
        return done ? *done : os::Exchange{};
    }
    /// The number of a job that runs `script`.
    std::string submit(const std::string& script, std::vector<std::string> words = {}) {
        words.insert(words.begin(), {"job", "submit"});
        words.insert(words.end(), {"--", "sh", "-c", script});
        const auto done = run(words);
        EXPECT_EQ(done.exit.code, 0) << done.output;
        return done.output.substr(0, done.output.find('\n'));
    }
    nlohmann::json show(const std::string& id) {
        return nlohmann::json::parse(run({"job", "show", id, "-o", "json"}).output, nullptr, false);
    }
    std::string state_of(const std::string& id) { return show(id).value("state", ""); }
    nlohmann::json listed() {
        return nlohmann::json::parse(run({"job", "list", "-o", "json"}).output, nullptr,
                                     false)["jobs"];
    }
    template <class Condition>
    void eventually(const Condition& condition) {
        const auto end = std::chrono::steady_clock::now() + kPatience;
        while (!condition()) {
            ASSERT_LT(std::chrono::steady_clock::now(), end)
                << os::Root("/").read((directory_.path() / "server.log").native()).ok();
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
    }
    void reaches(const std::string& id, const std::string& word) {
        eventually([&] { return state_of(id) == word; });
    }
    std::string content(const std::filesystem::path& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    [[nodiscard]] std::filesystem::path state() const { return directory_.path() / "state"; }
    [[nodiscard]] std::string address() const {
        return "unix:" + (directory_.path() / "jobs.sock").native();
    }

    os::TemporaryDirectory directory_;
    std::vector<std::string> gpus_{"--gpu", "a2:2"};
    std::vector<std::string> more_;
    std::map<std::string, std::string> variables_;  // of what run() starts
    std::map<std::string, std::string> server_variables_;
    std::optional<os::Process> server_;
};

}  // namespace aliquot
