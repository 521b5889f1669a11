// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "guard/ledger.h"

namespace aliquot::guard {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
inline constexpr abi::DeviceUuid kGpu = {{1, 2, 3}};

/// A ledger in a directory of its own, and processes that use it.
class LedgerTest : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "guard.XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
        set_path(settings_.ledger, directory_ / "ledger");
        settings_.wanted = true;
        for (std::uint64_t& limit : settings_.memory_bytes) limit = 100 * kMiB;
    }
    void TearDown() override {
        while (::umount2((directory_ / "merged").c_str(), MNT_DETACH) == 0 ||
               ::umount2(directory_.c_str(), MNT_DETACH) == 0) {
        }
        std::filesystem::remove_all(directory_);
    }

    static void set_path(char (&to)[kMaxPath], const std::filesystem::path& path) {
        std::strncpy(to, path.c_str(), kMaxPath - 1);
    }

    std::unique_ptr<Ledger> attached() const {
        auto ledger = std::make_unique<Ledger>();
        EXPECT_EQ(ledger->attach(settings_), nullptr);
        return ledger;
    }
    std::unique_ptr<Ledger> joined() const {
        auto ledger = attached();
        EXPECT_EQ(ledger->join(), nullptr);
        EXPECT_EQ(ledger->place_of(kGpu, 0), 0U);
        return ledger;
    }

    /// Runs `work` in a process of its own, which then waits to be killed. Returns once it is done.
    pid_t start(const std::function<void(Ledger&)>& work) const {
        std::array<int, 2> done{};
        EXPECT_EQ(::pipe(done.data()), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            ::close(done[0]);
            const auto ledger = joined();
            work(*ledger);
            if (::write(done[1], "x", 1) != 1) ::_exit(1);
            for (;;) ::pause();
        }
        ::close(done[1]);
        char byte = 0;
        EXPECT_EQ(::read(done[0], &byte, 1), 1);
        ::close(done[0]);
        return child;
    }
    static void kill(pid_t child) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }

    /// From now on the ledger lies on overlayfs. Says what is missing; empty: nothing.
    std::string use_overlay() {
        const auto at = [this](const char* name) { return (directory_ / name).native(); };
        // Of this thread and what it starts.
        if (::unshare(CLONE_NEWNS) != 0 ||
            ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("none", directory_.c_str(), "tmpfs", 0, nullptr) != 0)
            return "needs the right to mount";
        for (const char* name : {"lower", "upper", "work", "merged"})
            std::filesystem::create_directory(directory_ / name);
        const std::string parts =
            "lowerdir=" + at("lower") + ",upperdir=" + at("upper") + ",workdir=" + at("work");
        if (::mount("overlay", at("merged").c_str(), "overlay", 0, parts.c_str()) != 0)
            return "needs overlayfs";
        set_path(settings_.ledger, directory_ / "merged/ledger");
        return "";
    }

    std::filesystem::path directory_;
    Settings settings_;
};

/// Runs `work` in a process of its own. Returns what it returns.
inline int in_a_process(const std::function<int()>& work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace aliquot::guard
