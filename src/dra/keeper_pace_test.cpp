// SPDX-License-Identifier: Apache-2.0
// How long Prepare may take: a thousand pairs beside 32 other claims, notes and CDI files in memory, as on a host.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>

#include "dra/test_claims.h"

namespace aliquot::dra {
namespace {

/// Time that this thread has computed: a busy machine takes none of it.
double computed_ms() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

class InMemory {
public:
    InMemory() { std::filesystem::create_directories(path_); }
    ~InMemory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    InMemory(const InMemory&) = delete;
    InMemory& operator=(const InMemory&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_ = "/dev/shm/aliquot-pace." + std::to_string(::getpid());
};

TEST(DraKeeperPace, IsUnderTwentyMillisecondsForAThousandClaims) {
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no directory in memory";
    const InMemory directory;
    Node node(directory.path());
    const auto keeper = node.start();
    for (unsigned i = 0; i < 32; ++i) {
        ASSERT_TRUE(keeper->prepare(node.allocate("o" + std::to_string(i), "1Gi", 1, i % 2)));
    }
    const ClaimName claim = node.allocate("measured", "3Gi", 25);
    std::vector<double> took;
    for (unsigned i = 0; i < 1000; ++i) {
        const double begin = computed_ms();
        ASSERT_TRUE(keeper->prepare(claim));
        took.push_back(computed_ms() - begin);
        ASSERT_TRUE(keeper->unprepare(claim));
    }
    std::ranges::sort(took);
    EXPECT_LE(took.at(990), 20.0) << "median " << took.at(500);
    EXPECT_EQ(keeper->claims()->size(), 32U);
}

}  // namespace
}  // namespace aliquot::dra
