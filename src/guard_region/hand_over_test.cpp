// SPDX-License-Identifier: Apache-2.0
#include "guard_region/hand_over.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "os/temporary_directory.h"

namespace aliquot::guard_region {
namespace {

namespace fs = std::filesystem;

TEST(HandOver, OneWhoListensAnewIsThereAtEveryMomentAndForEveryUser) {
    const os::TemporaryDirectory directory;
    const fs::path file = directory.path() / "ledger";
    auto first = listen_at(file);
    ASSERT_TRUE(first) << first.error().message;
    std::atomic<bool> over{false};
    std::atomic<unsigned> looks{0};
    std::atomic<unsigned> bad{0};
    std::thread looker([&] {
        while (!over) {
            struct stat status {};
            const bool there = ::stat(file.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
            if (!there || (status.st_mode & 0666U) != 0666U) ++bad;
            ++looks;
        }
    });
    constexpr unsigned kTimes = 500;
    constexpr unsigned kLooks = 500;
    for (unsigned i = 0; i < kTimes || looks < kLooks; ++i) {
        const auto listener = listen_at(file);
        EXPECT_TRUE(listener) << listener.error().message;
        if (!listener) break;
    }
    over = true;
    looker.join();
    EXPECT_EQ(bad, 0U);
    // And nothing else lies there.
    EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), {}), 1);
}

TEST(HandOver, WhereNobodyMayWriteTheReasonIsSaid) {
    const auto listener = listen_at("/proc/no/such/ledger");
    ASSERT_FALSE(listener);
    EXPECT_NE(listener.error().message.find("/proc/no/such/ledger"), std::string::npos);
}

}  // namespace
}  // namespace aliquot::guard_region
