// SPDX-License-Identifier: Apache-2.0
// Jobs on GPUs with a driver (a simulated node's): shares that hold.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "sim/node/node.h"
#include "tests/e2e/job_machine.h"

namespace aliquot {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kTenant = ALIQUOT_TEST_DIR "/cuda_tenant";

class JobShareTest : public JobTest {
protected:
    void SetUp() override {
        const fs::path where = directory_.path() / "node";
        auto node = sim::Node::create(where, {.gpus = {{.model = "a2", .count = 2}}},
                                      ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", "");
        ASSERT_TRUE(node) << node.error().message;
        node_.emplace(*std::move(node));
        const fs::path driver = where / "lib/libcuda.so.1";
        if (!fs::exists(driver)) fs::create_symlink(ALIQUOT_SIM_DIR "/libcuda.so.1", driver);
        gpus_ = {"--node-state", where.native()};
        JobTest::SetUp();
    }
    /// A job of cuda_tenant with these steps.
    std::string tenant(const std::vector<std::string>& steps,
                       const std::vector<std::string>& flags) {
        std::vector<std::string> words{"job", "submit", "--retries", "0"};
        words.insert(words.end(), {"--env", "ALIQUOT_RUN_DIRECTORY=" + books_.native()});
        words.insert(words.end(), flags.begin(), flags.end());
        words.insert(words.end(), {"--", kTenant});
        words.insert(words.end(), steps.begin(), steps.end());
        const auto done = run(words);
        EXPECT_EQ(done.exit.code, 0) << done.output;
        return done.output.substr(0, done.output.find('\n'));
    }

    std::optional<sim::Node> node_;
    fs::path books_ = directory_.path() / "books";
};

TEST_F(JobShareTest, AShareGetsItsGpuMemoryAndNoMore) {
    const std::string id =
        tenant({"info", "alloc:1073741824", "alloc:3221225472"}, {"--gpu-memory", "2Gi"});
    EXPECT_EQ(run({"job", "wait", id, "--timeout", "60s"}).exit.code, 0)
        << run({"job", "logs", id}).output;
    EXPECT_THAT(run({"job", "logs", id}).output, HasSubstr("total 2147483648\nalloc 0\nalloc 2\n"));
    EXPECT_THAT(show(id)["limits"].get<std::string>(),
                HasSubstr("GPU memory and compute by the guard"));

    const std::string whole = tenant({"alloc:3221225472"}, {"--gpu", "1"});
    EXPECT_EQ(run({"job", "wait", whole, "--timeout", "60s"}).exit.code, 0);
    EXPECT_THAT(run({"job", "logs", whole}).output, HasSubstr("alloc 0\n"));
}

TEST_F(JobShareTest, SharesOfOneGpuRunBesideEachOtherEachWithItsLimit) {
    const fs::path end = directory_.path() / "end";
    std::vector<std::string> ids;
    for (int i = 0; i < 4; ++i) {
        ids.push_back(
            tenant({"info", "alloc:3221225472", "wait:" + end.native()}, {"--gpu-memory", "7Gi"}));
    }
    for (const std::string& id : ids) {
        eventually([&] {
            return run({"job", "logs", id}).output.find("total 7516192768\nalloc 0\n") !=
                   std::string::npos;
        });
    }
    std::map<std::string, int> uses;
    for (const std::string& id : ids) ++uses[show(id)["devices"][0]];
    EXPECT_EQ(uses.size(), 2U);
    std::ofstream(end) << "";
    std::vector<std::string> words{"job", "wait"};
    words.insert(words.end(), ids.begin(), ids.end());
    EXPECT_EQ(run(words).exit.code, 0);
}

}  // namespace
}  // namespace aliquot
