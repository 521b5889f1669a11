// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace aliquot::cost_store {

/// A PostgreSQL server of this machine's own programs, on a socket of its own, for as long as the object lives.
class TestServer {
public:
    TestServer() {
        namespace fs = std::filesystem;
        std::error_code none;
        fs::path programs;
        for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", none)) {
            if (fs::exists(version.path() / "bin/postgres")) programs = version.path() / "bin";
        }
        installed_ = !programs.empty();
        if (!installed_) return;
        std::string pattern = "/tmp/aliquot-pg-XXXXXX";
        directory_ = ::mkdtemp(pattern.data());
        std::string as;  // PostgreSQL refuses to run as root
        if (::geteuid() == 0) {
            as = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
            if (::chown(directory_.c_str(), 65'534, 65'534) != 0) return;
        }
        const std::string data = directory_ + "/data";
        const std::string quiet = " >" + directory_ + ".log 2>&1";
        if (run(as + programs.native() + "/initdb -A trust -U aliquot -D " + data + quiet) != 0) {
            return;
        }
        started_ = run(as + programs.native() + "/pg_ctl -w -D " + data + " -o \"-h '' -k " +
                       directory_ + "\" start" + quiet) == 0;
        stop_ = as + programs.native() + "/pg_ctl -m immediate -w -D " + data + " stop" + quiet;
    }
    ~TestServer() {
        if (started_) run(stop_);
        std::error_code none;
        std::filesystem::remove_all(directory_, none);
        std::filesystem::remove(directory_ + ".log", none);
    }
    TestServer(const TestServer&) = delete;
    TestServer& operator=(const TestServer&) = delete;

    /// Whether this machine has the programs: a test is left out where it has not, and fails where they do not start.
    [[nodiscard]] bool installed() const { return installed_; }
    [[nodiscard]] bool started() const { return started_; }
    /// What the programs said.
    [[nodiscard]] std::string said() const {
        std::ifstream log(directory_ + ".log");
        return {std::istreambuf_iterator<char>(log), {}};
    }
    [[nodiscard]] std::string address() const {
        return "postgresql:///postgres?user=aliquot&host=" + directory_;
    }

private:
    static int run(const std::string& command) {
        return std::system(
            ("cd / && " + command).c_str());  // NOLINT(concurrency-mt-unsafe, cert-env33-c)
    }
    std::string directory_;
    std::string stop_;
    bool installed_ = false;
    bool started_ = false;
};

}  // namespace aliquot::cost_store
