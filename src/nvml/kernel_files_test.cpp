// SPDX-License-Identifier: Apache-2.0
#include "nvml/kernel_files.h"

#include <gtest/gtest.h>

#include "nvml/library.h"
#include "os/temporary_directory.h"

namespace aliquot::nvml {
namespace {

TEST(PciAddress, IsReadInBothSpellings) {
    const gpu::PciAddress expected{.domain = 1, .bus = 0x3b, .device = 2};
    EXPECT_EQ(parse_pci_address("0001:3b:02.0"), expected);
    EXPECT_EQ(parse_pci_address("00000001:3B:02.0"), expected);
    for (const auto* text : {"", "3b:00.0", "0000:3b:00", "0000:xy:00.0", "0000:3b:00:0"}) {
        EXPECT_EQ(parse_pci_address(text), std::nullopt) << text;
    }
}

TEST(KernelFiles, AreFoundBeneathTheDriverRootToo) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    ASSERT_TRUE(root.write_atomically("/sim/sys/bus/pci/devices/0000:01:00.0/numa_node", "3\n"));
    ASSERT_TRUE(root.write_atomically("/sim/proc/driver/nvidia/gpus/0000:01:00.0/information",
                                      "Model: \t NVIDIA A2\nGPU UUID: \t GPU-????????\n"));
    const KernelFiles files(root, "/sim");
    EXPECT_EQ(files.numa_node({0, 1, 0}), 3U);
    const auto gpus = files.gpus();
    ASSERT_EQ(gpus.size(), 1U);
    EXPECT_EQ(gpus[0].model, "NVIDIA A2");
    EXPECT_EQ(gpus[0].uuid.text, "");
    EXPECT_EQ(gpus[0].minor, std::nullopt);
    EXPECT_EQ(files.module_version(), "");
}

TEST(MigMinors, AreReadLineByLine) {
    const auto minors = MigMinors::parse(
        "config 1\nmonitor 2\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\n"
        "gpu1/gi7/access 200\ngpu0/gix/access 5\ngpu0/gi2/access\ngpu0/gi3/ci1/other 7");
    EXPECT_EQ(minors.of(0, 1), 12U);
    EXPECT_EQ(minors.of(0, 1, 0), 13U);
    EXPECT_EQ(minors.of(1, 7), 200U);
    EXPECT_EQ(minors.of(1, 7, 0), std::nullopt);
    EXPECT_EQ(minors.of(0, 2), std::nullopt);
    EXPECT_EQ(minors.of(0, 3, 1), std::nullopt);
}

TEST(LibraryCandidates, AreTheUsualPlacesBeneathTheDriverRoot) {
    const os::Root root("/host");
    const auto packaged = library_candidates(root, "/run/nvidia/driver");
    EXPECT_EQ(packaged.front(), "/host/run/nvidia/driver/lib/libnvidia-ml.so.1");
    EXPECT_EQ(packaged.size(), 7U);
    const auto own = library_candidates(root, "/");
    EXPECT_EQ(own[1], "/host/usr/lib64/libnvidia-ml.so.1");
    EXPECT_EQ(own.back(), "libnvidia-ml.so.1");
    const auto file = library_candidates(root, "/opt/x.so.d/libnvidia-ml.so.580");
    EXPECT_EQ(file.front(), "/host/opt/x.so.d/libnvidia-ml.so.580");
}

}  // namespace
}  // namespace aliquot::nvml
