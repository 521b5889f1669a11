// SPDX-License-Identifier: Apache-2.0
#include "os/regular_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>

#include "os/temporary_directory.h"

namespace aliquot::os {
namespace {

namespace fs = std::filesystem;

class RegularFile : public testing::Test {
protected:
    [[nodiscard]] fs::path file(const std::string& name) const { return directory_.path() / name; }
    fs::path written(const std::string& name) const {
        std::ofstream(file(name)) << "content";
        return file(name);
    }
    static ErrorCode refusal(const fs::path& place, const RegularFileOptions& options = {}) {
        const auto opened = open_regular(place, options);
        EXPECT_FALSE(opened) << place;
        return opened ? ErrorCode::kInternal : opened.error().code;
    }
    TemporaryDirectory directory_;
};

TEST_F(RegularFile, IsOpenedToReadOrToWrite) {
    const fs::path place = written("a");
    const auto read = open_regular(place);
    ASSERT_TRUE(read) << read.error().message;
    char byte = 0;
    EXPECT_EQ(::pread(read->get(), &byte, 1, 0), 1);
    EXPECT_EQ(byte, 'c');
    EXPECT_LT(::pwrite(read->get(), "x", 1, 0), 0);
    const auto write = open_regular(place, {.write = true});
    ASSERT_TRUE(write) << write.error().message;
    EXPECT_EQ(::pwrite(write->get(), "x", 1, 0), 1);
    EXPECT_EQ(refusal(file("nowhere")), ErrorCode::kNotFound);
}

TEST_F(RegularFile, IsNoLinkUnlessLinksAreFollowed) {
    const fs::path place = written("a");
    fs::create_symlink(place, file("link"));
    EXPECT_EQ(refusal(file("link")), ErrorCode::kInvalidInput);
    EXPECT_TRUE(open_regular(file("link"), {.follow = true}));
    const auto opened = open_regular(place);
    ASSERT_TRUE(opened);
    EXPECT_TRUE(open_regular("/proc/self/fd/" + std::to_string(opened->get()), {.follow = true}));
}

/// Number of times that somebody has opened what is watched.
unsigned opened_times(int watch) {
    alignas(inotify_event) std::array<char, 4096> events{};
    const ssize_t got = ::read(watch, events.data(), events.size());
    return got <= 0 ? 0 : static_cast<unsigned>(got) / sizeof(inotify_event);
}

TEST_F(RegularFile, WhatIsNoneIsNotEvenOpened) {
    ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0666), 0);
    fs::create_directory(file("directory"));
    const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const std::string name = file("socket").native();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_LT(name.size(), sizeof address.sun_path);
    std::memcpy(address.sun_path, name.data(), name.size());
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    std::vector<fs::path> places{file("pipe"), file("directory"), file("socket")};
    // The node of a device whose opening alone may do something; root only.
    if (::mknod(file("device").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0) {
        places.push_back(file("device"));
    }
    const Descriptor watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    for (const fs::path& place : places) {
        ASSERT_GE(::inotify_add_watch(watch.get(), place.c_str(), IN_OPEN), 0);
        for (const bool write : {false, true}) {
            EXPECT_EQ(refusal(place, {.write = write}), ErrorCode::kInvalidInput);
        }
    }
    EXPECT_EQ(opened_times(watch.get()), 0U);
}

TEST_F(RegularFile, OfAnotherFileSystemIsNotOpened) {
    const fs::path place = written("a");
    const auto opened = open_regular(place);
    ASSERT_TRUE(opened);
    const Descriptor memory(::memfd_create("another", MFD_CLOEXEC));
    const auto here = device_of(opened->get());
    const auto there = device_of(memory.get());
    ASSERT_TRUE(here && there);
    EXPECT_TRUE(open_regular(place, {.only_on = here}));
    EXPECT_EQ(refusal(place, {.only_on = there}), ErrorCode::kInvalidInput);
}

TEST_F(RegularFile, OnWhichSomebodyHoldsALeaseKeepsNobodyWaiting) {
    const fs::path place = written("a");
    const Descriptor holder(::open(place.c_str(), O_RDWR | O_CLOEXEC));
    const auto before = std::signal(SIGIO, SIG_IGN);  // how the holder is asked to give it up
    if (::fcntl(holder.get(), F_SETLEASE, F_WRLCK) != 0) {
        GTEST_SKIP() << "no leases on this file system";
    }
    EXPECT_EQ(refusal(place), ErrorCode::kUnavailable);
    std::signal(SIGIO, before);
}

}  // namespace
}  // namespace aliquot::os
