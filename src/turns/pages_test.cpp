// SPDX-License-Identifier: Apache-2.0
#include "turns/pages.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <functional>

#include "tests/other_user.h"
#include "turns/fake_container.h"

namespace aliquot::turns {
namespace {

Pages made() {
    const abi::DeviceUuid uuid{{1, 2, 3}};
    auto pages = Pages::make({&uuid, 1});
    if (!pages) throw std::runtime_error(pages.error().message);
    return *std::move(pages);
}

Descriptor opened_again(const Descriptor& file) {
    const std::string path = "/proc/self/fd/" + std::to_string(file.get());
    return Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
}

/// Whether a process of another user, and one of root, can do none of this.
bool nobody_can(const std::function<bool()>& act) {
    for (const bool drop : {false, true}) {
        if (drop && !may_become_nobody()) continue;
        const pid_t child = ::fork();
        if (child == 0) {
            if (drop && ::setuid(kNobody) != 0) ::_exit(2);
            ::_exit(act() ? 1 : 0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        if (status != 0) return false;
    }
    return true;
}

TEST(Pages, SayWhatTheyAreAndOfWhichDevices) {
    const Pages pages = made();
    EXPECT_EQ(pages.wants().magic, abi::kWantsMagic);
    EXPECT_EQ(pages.turns().magic, abi::kTurnsMagic);
    EXPECT_EQ(pages.turns().devices[0].uuid.bytes[2], 3);
    EXPECT_EQ(pages.turns().devices[1].uuid.bytes[0], 0);
    const std::vector<abi::DeviceUuid> many(abi::kRegionDevices + 1);
    EXPECT_EQ(Pages::make(many).error().code, ErrorCode::kInvalidInput);
}

TEST(Pages, WhatAContainerWantsIsReadAndWhatItIsToldIsSeen) {
    const Pages pages = made();
    FakeContainer container(*pages.open());
    ASSERT_TRUE(container.has_pages());
    container.wants().devices[0].asked.store(7);
    EXPECT_EQ(pages.wants().devices[0].asked.load(), 7U);
    pages.turns().devices[0].word.store(9);
    EXPECT_EQ(container.word(), 9U);
}

TEST(Pages, ThePageOfTurnsCanBeWrittenByNobodyElse) {
    const Pages pages = made();
    const auto files = pages.open();
    ASSERT_TRUE(files);
    const Descriptor& turns = (*files)[1];
    void* const mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, turns.get(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    const auto can_map = [](const Descriptor& file) {
        return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0) !=
               MAP_FAILED;
    };
    EXPECT_TRUE(nobody_can([&] { return can_map(turns); }));
    EXPECT_TRUE(nobody_can([&] { return ::mprotect(mapped, 4096, PROT_WRITE) == 0; }));
    EXPECT_TRUE(nobody_can([&] {
        ::fchmod(turns.get(), 0666);
        const Descriptor again = opened_again(turns);
        return again && (can_map(again) || ::pwrite(again.get(), "x", 1, 0) > 0);
    }));
    EXPECT_TRUE(nobody_can([&] {
        const Descriptor again = opened_again(turns);
        const int file = again ? again.get() : turns.get();
        return ::ftruncate(file, 0) == 0 ||
               ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0;
    }));
    ::munmap(mapped, 4096);
}

TEST(Pages, ThePageOfWantsCannotChangeItsSize) {
    const Pages pages = made();
    const auto files = pages.open();
    ASSERT_TRUE(files);
    for (const off_t size : {0, 1, 1 << 20}) {
        EXPECT_NE(::ftruncate((*files)[0].get(), size), 0);
        EXPECT_EQ(errno, EPERM);
    }
    EXPECT_NE(::fcntl((*files)[0].get(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

}  // namespace
}  // namespace aliquot::turns
