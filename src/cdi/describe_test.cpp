// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>

#include "cdi/spec.h"
#include "os/temporary_directory.h"

namespace aliquot::cdi {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr const char* kLib = "/usr/lib/x86_64-linux-gnu/";

Mount mount(const std::string& host, const std::string& container) {
    return {.host_path = host,
            .container_path = container,
            .options = {"ro", "nosuid", "nodev", "rbind", "rprivate"}};
}

class DescribeNode : public testing::Test {
protected:
    void file(const std::string& path) { ASSERT_TRUE(root_.write_atomically(path, "x")); }
    void link(const std::string& path, const std::string& target) {
        ASSERT_TRUE(root_.make_directories(fs::path(path).parent_path().native()));
        fs::create_symlink(target, root_.resolve(path));
    }
    /// As a driver package installs it.
    void install(const std::string& prefix, const std::string& library, const std::string& soname) {
        file(prefix + library + ".580.65.06");
        link(prefix + soname, library + ".580.65.06");
    }

    static gpu::Gpu gpu(unsigned index) {
        gpu::Gpu gpu;
        gpu.index = index;
        gpu.uuid = {"GPU-" + std::string(1, static_cast<char>('a' + index))};
        gpu.minor = index;
        gpu.pci = {.domain = 0, .bus = 0x3b + index, .device = 0};
        return gpu;
    }

    os::TemporaryDirectory directory_;
    os::Root root_{directory_.path()};
    gpu::Inventory inventory_{.driver_version = "580.65.06", .gpus = {gpu(0), gpu(1)}};
};

TEST_F(DescribeNode, NamesEveryGpuByUuidAndAllOfThem) {
    install(kLib, "libnvidia-ml.so", "libnvidia-ml.so.1");
    inventory_.gpus[1].health = {.state = gpu::Health::State::kUnhealthy, .reason = "Xid 79"};
    const auto spec = describe_node(root_, inventory_, {});
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->kind, "k8s.device-plugin.nvidia.com/gpu");
    ASSERT_EQ(spec->devices.size(), 3U);
    const DeviceNode first{.path = "/dev/nvidia0", .permissions = "rw"};
    const DeviceNode second{.path = "/dev/nvidia1", .permissions = "rw"};
    EXPECT_EQ(spec->devices[0].name, "GPU-a");
    EXPECT_THAT(spec->devices[0].edits.device_nodes, ElementsAre(first));
    EXPECT_EQ(spec->devices[1].name, "GPU-b");
    EXPECT_EQ(spec->devices[2].name, "all");
    EXPECT_THAT(spec->devices[2].edits.device_nodes, ElementsAre(first, second));
    EXPECT_THAT(spec->edits.environment, ElementsAre("NVIDIA_VISIBLE_DEVICES=void"));
    EXPECT_THAT(problems_of(*spec), testing::IsEmpty());
    EXPECT_EQ(minimum_version(*spec), "0.3.0");
}

TEST_F(DescribeNode, NamesThemByIndexWhenAsked) {
    install(kLib, "libcuda.so", "libcuda.so.1");
    const auto spec = describe_node(root_, inventory_, {.by_index = true});
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->devices[0].name, "0");
    EXPECT_EQ(spec->devices[1].name, "1");
    EXPECT_EQ(minimum_version(*spec), "0.5.0");
}

TEST_F(DescribeNode, NamesMigDevicesWithTheirCapabilities) {
    install(kLib, "libnvidia-ml.so", "libnvidia-ml.so.1");
    inventory_.gpus[1].mig_enabled = true;
    inventory_.gpus[1].mig_devices = {{.uuid = {"MIG-x"},
                                       .index = 0,
                                       .profile = "3g.20gb",
                                       .gpu_instance_cap = 12,
                                       .compute_instance_cap = 13},
                                      {.uuid = {"MIG-GPU-b/7/0"}, .index = 1},
                                      {.uuid = {"MIG-y"},
                                       .index = 4,
                                       .profile = "1c.3g.20gb",
                                       .gpu_instance_cap = 12,
                                       .compute_instance_cap = 14}};
    auto spec = describe_node(root_, inventory_, {});
    ASSERT_TRUE(spec) << spec.error().message;
    ASSERT_EQ(spec->devices.size(), 5U);  // the name of an old driver's device is not one for CDI
    EXPECT_EQ(spec->devices[2].name, "MIG-x");
    const DeviceNode parent{.path = "/dev/nvidia1", .permissions = "rw"};
    const DeviceNode instance{.path = "/dev/nvidia-caps/nvidia-cap12", .permissions = "rw"};
    const DeviceNode first{.path = "/dev/nvidia-caps/nvidia-cap13", .permissions = "rw"};
    const DeviceNode second{.path = "/dev/nvidia-caps/nvidia-cap14", .permissions = "rw"};
    EXPECT_THAT(spec->devices[2].edits.device_nodes, ElementsAre(parent, instance, first));
    EXPECT_THAT(spec->devices[3].edits.device_nodes, ElementsAre(parent, instance, second));
    const DeviceNode other{.path = "/dev/nvidia0", .permissions = "rw"};
    EXPECT_EQ(spec->devices[4].name, "all");
    EXPECT_THAT(spec->devices[4].edits.device_nodes,
                ElementsAre(other, parent, instance, first, second));
    spec = describe_node(root_, inventory_, {.by_index = true});
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->devices[2].name, "1:0");
    EXPECT_EQ(spec->devices[4].name, "1:4");
}

TEST_F(DescribeNode, MountsTheVersionedFileUnderEveryNameThatProgramsAskFor) {
    install(kLib, "libcuda.so", "libcuda.so.1");
    link(std::string(kLib) + "libcuda.so", "libcuda.so.1");
    file(std::string(kLib) + "libnvidia-ml.so.580.65.06");  // without its SONAME link
    file(std::string(kLib) + "libc.so.6");
    install(std::string(kLib) + "vdpau/", "libvdpau_nvidia.so", "libvdpau_nvidia.so.1");
    const auto spec = describe_node(root_, inventory_, {});
    ASSERT_TRUE(spec) << spec.error().message;
    const std::string lib = kLib;
    const std::string cuda = lib + "libcuda.so.580.65.06";
    const std::string ml = lib + "libnvidia-ml.so.580.65.06";
    const std::string vdpau = lib + "vdpau/libvdpau_nvidia.so.580.65.06";
    EXPECT_THAT(spec->edits.mounts,
                ElementsAre(mount(cuda, lib + "libcuda.so"), mount(cuda, lib + "libcuda.so.1"),
                            mount(cuda, cuda), mount(ml, ml), mount(ml, lib + "libnvidia-ml.so.1"),
                            mount(vdpau, lib + "vdpau/libvdpau_nvidia.so.1"), mount(vdpau, vdpau)));
}

TEST_F(DescribeNode, LeavesOutWhatAnUpdateLeftBehind) {
    install(kLib, "libcuda.so", "libcuda.so.1");
    file(std::string(kLib) + "libcuda.so.535.104.05");
    const auto spec = describe_node(root_, inventory_, {});
    ASSERT_TRUE(spec) << spec.error().message;
    const std::string old = std::string(kLib) + "libcuda.so.535.104.05";
    EXPECT_THAT(spec->edits.mounts, Not(Contains(mount(old, old))));
    EXPECT_EQ(spec->edits.mounts.size(), 2U);
}

TEST_F(DescribeNode, GivesHostPathsBelowTheDriverRootAndContainerPathsWithoutIt) {
    install("/run/nvidia/driver/usr/lib64/", "libcuda.so", "libcuda.so.1");
    file("/run/nvidia/driver/usr/bin/nvidia-smi");
    file("/run/nvidia/driver/dev/nvidiactl");
    file("/run/nvidia/driver/dev/nvidia-uvm");
    const auto spec =
        describe_node(root_, inventory_, {.place = {.driver_root = "/run/nvidia/driver/"}});
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_THAT(spec->edits.mounts,
                Contains(mount("/run/nvidia/driver/usr/lib64/libcuda.so.580.65.06",
                               "/usr/lib64/libcuda.so.1")));
    EXPECT_THAT(spec->edits.mounts,
                Contains(mount("/run/nvidia/driver/usr/bin/nvidia-smi", "/usr/bin/nvidia-smi")));
    EXPECT_THAT(
        spec->edits.device_nodes,
        ElementsAre(DeviceNode{"/dev/nvidiactl", "/run/nvidia/driver/dev/nvidiactl", "rw"},
                    DeviceNode{"/dev/nvidia-uvm", "/run/nvidia/driver/dev/nvidia-uvm", "rw"}));
    EXPECT_EQ(spec->devices[0].edits.device_nodes[0].host_path, "/run/nvidia/driver/dev/nvidia0");
}

TEST_F(DescribeNode, TakesDeviceNodesFromTheirOwnRoot) {
    install("/run/nvidia/driver/usr/lib64/", "libcuda.so", "libcuda.so.1");
    file("/dev/nvidiactl");
    const auto spec = describe_node(
        root_, inventory_, {.place = {.driver_root = "/run/nvidia/driver", .dev_root = "/"}});
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_THAT(spec->edits.device_nodes, ElementsAre(DeviceNode{"/dev/nvidiactl", "", "rw"}));
    EXPECT_EQ(spec->devices[0].edits.device_nodes[0].host_path, "");
}

TEST_F(DescribeNode, KeepsTheLinkWhenItsTargetIsOutsideTheInstallation) {
    file("/elsewhere/libnvidia-ml.so.1");
    link("/driver/lib/libnvidia-ml.so.1", root_.resolve("/elsewhere/libnvidia-ml.so.1").native());
    const auto spec = describe_node(root_, inventory_, {.place = {.driver_root = "/driver"}});
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_THAT(spec->edits.mounts,
                ElementsAre(mount("/driver/lib/libnvidia-ml.so.1", "/lib/libnvidia-ml.so.1")));
}

TEST_F(DescribeNode, AddsTheDrmNodesOfAGpu) {
    install(kLib, "libcuda.so", "libcuda.so.1");
    ASSERT_TRUE(root_.make_directories("/sys/bus/pci/devices/0000:3c:00.0/drm/renderD129"));
    ASSERT_TRUE(root_.make_directories("/sys/bus/pci/devices/0000:3c:00.0/drm/card9"));
    file("/dev/dri/renderD129");  // and no card9
    const auto spec = describe_node(root_, inventory_, {});
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_THAT(spec->devices[0].edits.device_nodes, testing::SizeIs(1));
    EXPECT_THAT(spec->devices[1].edits.device_nodes,
                Contains(DeviceNode{"/dev/dri/renderD129", "", "rw"}));
}

TEST_F(DescribeNode, SkipsAGpuWithoutAName) {
    install(kLib, "libcuda.so", "libcuda.so.1");
    inventory_.gpus[0].uuid = {};
    const auto spec = describe_node(root_, inventory_, {});
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->devices.size(), 2U);
    EXPECT_EQ(spec->devices[0].name, "GPU-b");
}

TEST_F(DescribeNode, SaysWhatIsMissing) {
    const auto no_library = describe_node(root_, inventory_, {});
    ASSERT_FALSE(no_library);
    EXPECT_EQ(no_library.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(no_library.error().message, testing::HasSubstr("driver root '/'"));

    install(kLib, "libcuda.so", "libcuda.so.1");
    const auto no_gpu = describe_node(root_, {}, {});
    ASSERT_FALSE(no_gpu);
    EXPECT_EQ(no_gpu.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace aliquot::cdi
