// SPDX-License-Identifier: Apache-2.0
#include "agent/feature_file.h"

#include <gmock/gmock.h>

#include "base/log.h"
#include "os/temporary_directory.h"

namespace aliquot::agent {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kPath[] = "/etc/kubernetes/node-feature-discovery/features.d/aliquot";

class AFile : public testing::Test {
protected:
    void SetUp() override {
        log::set_sink([this](std::string_view line) { logged.append(line).append("\n"); });
        gpu::Gpu gpu;
        gpu.uuid = {"GPU-0"};
        gpu.model = "NVIDIA A2";
        gpu.memory_bytes = 15'356ULL << 20U;
        inventory.gpus = {gpu};
    }
    void TearDown() override { log::set_sink({}); }
    std::string text() const { return root.read(kPath).ok() ? *root.read(kPath) : ""; }

    os::TemporaryDirectory directory;
    os::Root root{directory.path()};
    gpu::Inventory inventory;
    Settings settings;
    std::string logged;
};

TEST_F(AFile, SaysWhatTheNodeHasAndGoesWithTheAgent) {
    {
        FeatureFile file(root, kPath, {labels::Profile::kType});
        file.apply(settings, {}, inventory);
        EXPECT_THAT(text(), HasSubstr("nvidia.com/gpu.product=NVIDIA-A2\n"));
        EXPECT_THAT(text(), HasSubstr("gpu-type=a2\n"));
        EXPECT_THAT(text(), HasSubstr("nvidia.com/gfd.timestamp="));
    }
    EXPECT_FALSE(root.exists(kPath));
}

TEST_F(AFile, IsWrittenOnlyWhenItSaysSomethingElse) {
    FeatureFile file(root, kPath, {});
    file.apply(settings, {}, inventory);
    const auto first = root.status(kPath);
    file.apply(settings, {}, inventory);
    EXPECT_EQ(first->identity, root.status(kPath)->identity);
    inventory.gpus.push_back(inventory.gpus[0]);
    file.apply(settings, {}, inventory);
    EXPECT_THAT(text(), HasSubstr("nvidia.com/gpu.count=2\n"));
}

TEST_F(AFile, OfADriverThatTellsNothingStays) {
    FeatureFile file(root, kPath, {});
    file.apply(settings, {}, inventory);
    file.apply(settings, {}, {});
    EXPECT_THAT(text(), HasSubstr("nvidia.com/gpu.count=1\n"));
}

TEST_F(AFile, IsNamedByTheConfigurationToo) {
    settings.config.flags.gfd.output_file = "/features/gfd";
    settings.config.flags.gfd.no_timestamp = true;
    FeatureFile file(root, "", {});
    file.apply(settings, {}, inventory);
    ASSERT_TRUE(root.exists("/features/gfd"));
    EXPECT_THAT(*root.read("/features/gfd"), Not(HasSubstr("timestamp")));
    settings.config.flags.gfd.output_file.reset();
    file.apply(settings, {}, inventory);
    EXPECT_FALSE(root.exists("/features/gfd"));
}

TEST_F(AFile, ThatCannotBeWrittenIsComplainedOfOnce) {
    ASSERT_TRUE(root.write_atomically("/etc/kubernetes", "a file where a directory should be"));
    FeatureFile file(root, kPath, {});
    file.apply(settings, {}, inventory);
    const std::size_t once = logged.size();
    EXPECT_THAT(logged, HasSubstr("labels.not_written"));
    file.apply(settings, {}, inventory);
    EXPECT_EQ(logged.size(), once);
}

}  // namespace
}  // namespace aliquot::agent
