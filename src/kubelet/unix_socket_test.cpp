// SPDX-License-Identifier: Apache-2.0
#include "kubelet/unix_socket.h"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>

#include "kubelet/back_off.h"
#include "os/temporary_directory.h"

namespace aliquot::kubelet {
namespace {

TEST(Listener, LeavesThePathToASuccessor) {
    const os::TemporaryDirectory temporary;
    const auto path = temporary.path() / "a.sock";
    auto first = Listener::open(path);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->place(), Listener::Place::kOurs);
    auto second = Listener::open(path);
    ASSERT_TRUE(second);
    EXPECT_EQ(first->place(), Listener::Place::kTaken);
    first->remove();
    EXPECT_EQ(second->place(), Listener::Place::kOurs);
    EXPECT_TRUE(connect_unix(path));
    second->remove();
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Listener, LeavesNothingElseInTheDirectory) {
    const os::TemporaryDirectory temporary;
    const auto listener = Listener::open(temporary.path() / "a.sock");
    ASSERT_TRUE(listener);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(temporary.path()), {}), 1);
    std::filesystem::remove(temporary.path() / "a.sock");
    EXPECT_EQ(listener->place(), Listener::Place::kGone);
}

/// The names that come into a directory, as kubelet's plugin watcher sees them.
std::set<std::string> names_that_come(const std::filesystem::path& directory,
                                      const std::function<void()>& act) {
    const Descriptor watcher(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    EXPECT_GE(::inotify_add_watch(watcher.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO), 0);
    act();
    std::set<std::string> names;
    alignas(inotify_event) std::array<char, 4096> buffer{};
    for (;;) {
        const auto bytes = ::read(watcher.get(), buffer.data(), buffer.size());
        if (bytes <= 0) return names;
        for (std::size_t at = 0; at < static_cast<std::size_t>(bytes);) {
            inotify_event event{};
            std::memcpy(&event, buffer.data() + at, sizeof event);
            names.insert(buffer.data() + at + sizeof event);
            at += sizeof event + event.len;
        }
    }
}

TEST(Listener, InPlaceIsMetUnderNoOtherName) {
    const os::TemporaryDirectory temporary;
    const auto path = temporary.path() / "a-reg.sock";
    std::optional<Result<Listener>> first;
    std::optional<Result<Listener>> second;
    EXPECT_EQ(names_that_come(temporary.path(),
                              [&] {
                                  first.emplace(Listener::open(path, Making::kInPlace));
                                  second.emplace(Listener::open(path, Making::kInPlace));
                              }),
              std::set<std::string>{"a-reg.sock"});
    ASSERT_TRUE(*first && *second);
    EXPECT_EQ((*first)->place(), Listener::Place::kTaken);
    EXPECT_EQ((*second)->place(), Listener::Place::kOurs);
    EXPECT_TRUE(connect_unix(path));
    EXPECT_EQ(std::filesystem::status(path).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(Listener, AcceptsWhatWaitsAndSaysWhenNobodyDoes) {
    const os::TemporaryDirectory temporary;
    auto listener = Listener::open(temporary.path() / "a.sock");
    ASSERT_TRUE(listener);
    auto nobody = listener->accept();
    ASSERT_TRUE(nobody);
    EXPECT_FALSE(*nobody);
    const auto client = connect_unix(temporary.path() / "a.sock");
    ASSERT_TRUE(client);
    auto somebody = listener->accept();
    ASSERT_TRUE(somebody);
    EXPECT_TRUE(*somebody);
}

TEST(Listener, NamesWhatIsWrongWithAPath) {
    const os::TemporaryDirectory temporary;
    const auto missing = Listener::open(temporary.path() / "no" / "a.sock");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
    const auto deep = temporary.path() / std::string(100, 'd');
    std::filesystem::create_directories(deep);
    EXPECT_TRUE(Listener::open(deep / "short.sock"));
    const auto name_too_long = Listener::open(deep / std::string(120, 'n'));
    ASSERT_FALSE(name_too_long);
    EXPECT_EQ(name_too_long.error().code, ErrorCode::kInvalidInput);
}

TEST(ConnectUnix, TellsNobodyThereFromNobodyListening) {
    const os::TemporaryDirectory temporary;
    const auto path = temporary.path() / "a.sock";
    EXPECT_EQ(connect_unix(path).error().code, ErrorCode::kNotFound);
    {
        const auto listener = Listener::open(path);
        ASSERT_TRUE(listener);
        std::filesystem::create_hard_link(path, temporary.path() / "stays");
    }
    EXPECT_EQ(connect_unix(temporary.path() / "stays").error().code, ErrorCode::kUnavailable);
}

TEST(BackOff, DoublesUpToItsLimit) {
    using std::chrono::milliseconds;
    BackOff back_off(milliseconds(1000), milliseconds(30'000));
    for (const int seconds : {1, 2, 4, 8, 16, 30, 30})
        EXPECT_EQ(back_off.next(), milliseconds(seconds * 1000));
    back_off.reset();
    EXPECT_EQ(back_off.next(), milliseconds(1000));
}

}  // namespace
}  // namespace aliquot::kubelet
