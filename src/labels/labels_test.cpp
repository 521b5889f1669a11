// SPDX-License-Identifier: Apache-2.0
#include "labels/labels.h"

#include <gmock/gmock.h>

#include "labels/sysfs.h"
#include "os/temporary_directory.h"

namespace aliquot::labels {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;

gpu::Gpu a_gpu(const std::string& uuid, const std::string& model, std::uint64_t mib, unsigned major,
               unsigned minor) {
    gpu::Gpu gpu;
    gpu.uuid = {uuid};
    gpu.model = model;
    gpu.memory_bytes = mib << 20U;
    gpu.compute_major = major;
    gpu.compute_minor = minor;
    return gpu;
}

gpu::MigDevice a_slice(const std::string& uuid, const std::string& profile, unsigned slices,
                       std::uint64_t mib, unsigned multiprocessors) {
    return {.uuid = {uuid},
            .profile = profile,
            .memory_bytes = mib << 20U,
            .gpu_slices = slices,
            .compute_slices = slices,
            .multiprocessors = multiprocessors,
            .copy_engines = slices};
}

class Node : public testing::Test {
protected:
    Node() {
        inventory.driver_version = "580.65.06";
        inventory.cuda_version = 13000;
    }
    void add_a2(unsigned count = 1) {
        for (unsigned i = 0; i < count; ++i) {
            inventory.gpus.push_back(
                a_gpu("GPU-a2-" + std::to_string(i), "NVIDIA A2", 15'356, 8, 6));
        }
    }
    void add_a100(std::vector<gpu::MigDevice> slices) {
        gpu::Gpu gpu = a_gpu("GPU-a100-" + std::to_string(inventory.gpus.size()),
                             "NVIDIA A100-SXM4-40GB", 40'960, 8, 0);
        gpu.index = static_cast<unsigned>(inventory.gpus.size());
        gpu.mig_capable = true;
        gpu.mig_enabled = !slices.empty();
        gpu.mig_devices = std::move(slices);
        inventory.gpus.push_back(gpu);
    }
    void share(unsigned replicas, const std::string& name = "nvidia.com/gpu", bool mps = false) {
        sharing::Resource resource{.name = name, .shared = true};
        for (const gpu::Gpu& gpu : inventory.gpus) {
            resource.gpus.push_back(
                {.gpu = gpu,
                 .replicas = replicas,
                 .shared_by = mps ? grant::Mechanism::kMps : grant::Mechanism::kTimeSlicing});
        }
        offer.resources = {resource};
    }
    [[nodiscard]] NodeFacts facts() const {
        return {.inventory = inventory,
                .offer = offer,
                .mig_strategy = strategy,
                .machine = "PowerEdge R750xa\n",
                .pci_class = classes};
    }
    [[nodiscard]] Labels features() const { return feature_labels(facts()); }

    gpu::Inventory inventory;
    sharing::Offer offer;
    sharing::MigStrategy strategy = sharing::MigStrategy::kNone;
    std::map<gpu::Uuid, std::uint32_t> classes;
};

TEST_F(Node, WithAWholeGpuSaysEverythingOfIt) {
    add_a2();
    EXPECT_EQ(to_feature_file(features()), R"(nvidia.com/cuda.driver-version.full=580.65.06
nvidia.com/cuda.driver-version.major=580
nvidia.com/cuda.driver-version.minor=65
nvidia.com/cuda.driver-version.revision=06
nvidia.com/cuda.driver.major=580
nvidia.com/cuda.driver.minor=65
nvidia.com/cuda.driver.rev=06
nvidia.com/cuda.runtime-version.full=13.0
nvidia.com/cuda.runtime-version.major=13
nvidia.com/cuda.runtime-version.minor=0
nvidia.com/cuda.runtime.major=13
nvidia.com/cuda.runtime.minor=0
nvidia.com/gpu.compute.major=8
nvidia.com/gpu.compute.minor=6
nvidia.com/gpu.count=1
nvidia.com/gpu.family=ampere
nvidia.com/gpu.machine=PowerEdge-R750xa
nvidia.com/gpu.memory=15356
nvidia.com/gpu.mode=unknown
nvidia.com/gpu.product=NVIDIA-A2
nvidia.com/gpu.replicas=1
nvidia.com/gpu.sharing-strategy=none
nvidia.com/mig.capable=false
nvidia.com/mps.capable=false
nvidia.com/vgpu.present=false
)");
}

TEST_F(Node, SharedByTimeSlicesSaysSo) {
    add_a2(2);
    share(4);
    EXPECT_THAT(
        features(),
        IsSupersetOf({Pair("nvidia.com/gpu.product", "NVIDIA-A2-SHARED"),
                      Pair("nvidia.com/gpu.count", "2"), Pair("nvidia.com/gpu.replicas", "4"),
                      Pair("nvidia.com/gpu.sharing-strategy", "time-slicing")}));
    share(4, "nvidia.com/gpu.shared");
    EXPECT_EQ(features().at("nvidia.com/gpu.product"), "NVIDIA-A2") << "the name tells it";
    share(4, "nvidia.com/gpu", true);
    EXPECT_THAT(features(), IsSupersetOf({Pair("nvidia.com/gpu.sharing-strategy", "mps"),
                                          Pair("nvidia.com/mps.capable", "true")}));
}

TEST_F(Node, OfOneMigProfileIsThatProfileUnderSingle) {
    strategy = sharing::MigStrategy::kSingle;
    add_a100({a_slice("MIG-0", "1g.5gb", 1, 4864, 14), a_slice("MIG-1", "1g.5gb", 1, 4864, 14)});
    EXPECT_THAT(
        features(),
        IsSupersetOf(
            {Pair("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"),
             Pair("nvidia.com/gpu.count", "2"), Pair("nvidia.com/gpu.memory", "4864"),
             Pair("nvidia.com/gpu.multiprocessors", "14"), Pair("nvidia.com/gpu.slices.gi", "1"),
             Pair("nvidia.com/gpu.engines.copy", "1"), Pair("nvidia.com/mig.strategy", "single")}));
}

TEST_F(Node, OfSeveralProfilesIsInvalidUnderSingle) {
    strategy = sharing::MigStrategy::kSingle;
    add_a100({a_slice("MIG-0", "3g.20gb", 3, 19'968, 42), a_slice("MIG-1", "1g.5gb", 1, 4864, 14)});
    const Labels labels = features();
    EXPECT_THAT(
        labels,
        IsSupersetOf({Pair("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-INVALID"),
                      Pair("nvidia.com/gpu.count", "0"), Pair("nvidia.com/gpu.replicas", "0"),
                      Pair("nvidia.com/gpu.memory", "0"),
                      Pair("nvidia.com/gpu.sharing-strategy", "")}));
    EXPECT_FALSE(labels.contains("nvidia.com/gpu.slices.gi"));
}

TEST_F(Node, UnderMixedEachProfileHasItsOwn) {
    strategy = sharing::MigStrategy::kMixed;
    add_a100({a_slice("MIG-0", "1g.10gb+me", 1, 9856, 14), a_slice("MIG-1", "1g.5gb", 1, 4864, 14),
              a_slice("MIG-2", "1g.5gb", 1, 4864, 14)});
    add_a100({});
    offer.resources = {{.name = "nvidia.com/mig-1g.5gb", .shared = true}};
    offer.resources[0].gpus = {
        {.gpu = inventory.gpus[0], .mig = inventory.gpus[0].mig_devices[1], .replicas = 3}};
    EXPECT_THAT(
        features(),
        IsSupersetOf(
            {Pair("nvidia.com/gpu.count", "2"), Pair("nvidia.com/gpu.replicas", "1"),
             Pair("nvidia.com/mig-1g.5gb.count", "2"), Pair("nvidia.com/mig-1g.5gb.replicas", "3"),
             Pair("nvidia.com/mig-1g.5gb.product", "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"),
             Pair("nvidia.com/mig-1g.10gb.me.count", "1"),
             Pair("nvidia.com/mig-1g.10gb.me.sharing-strategy", "none"),
             Pair("nvidia.com/mig.strategy", "mixed")}));
}

TEST_F(Node, OfSeveralModelsIsLabelledByTheOneThatMostHave) {
    inventory.gpus.push_back(a_gpu("GPU-t4", "Tesla T4", 15'360, 7, 5));
    add_a2(2);
    EXPECT_THAT(features(), IsSupersetOf({Pair("nvidia.com/gpu.product", "NVIDIA-A2"),
                                          Pair("nvidia.com/gpu.count", "2"),
                                          Pair("nvidia.com/gpu.family", "ampere")}));
}

TEST_F(Node, SaysWhetherItsGpusDrawPictures) {
    add_a2(2);
    classes[inventory.gpus[0].uuid] = 0x030200;
    EXPECT_EQ(features().at("nvidia.com/gpu.mode"), "unknown") << "of one nothing is known";
    classes[inventory.gpus[1].uuid] = 0x030200;
    EXPECT_EQ(features().at("nvidia.com/gpu.mode"), "compute");
    classes[inventory.gpus[1].uuid] = 0x030000;
    EXPECT_EQ(features().at("nvidia.com/gpu.mode"), "unknown") << "they differ";
}

TEST_F(Node, WithoutGpusHasNoLabels) {
    EXPECT_THAT(features(), IsEmpty());
    EXPECT_THAT(profile_labels(Profile::kPresent, facts()), IsEmpty());
}

TEST_F(Node, HasTheLabelsThatPeopleSetByHand) {
    add_a2();
    EXPECT_THAT(profile_labels(Profile::kType, facts()),
                ElementsAre(Pair("gpu-memory", "16gb"), Pair("gpu-type", "a2")));
    EXPECT_THAT(profile_labels(Profile::kAccelerator, facts()),
                ElementsAre(Pair("accelerator", "nvidia-gpu")));
    EXPECT_THAT(profile_labels(Profile::kResource, facts()),
                ElementsAre(Pair("nvidia.com/gpu", "true")));
    EXPECT_THAT(profile_labels(Profile::kRole, facts()), ElementsAre(Pair("role", "gpu")));
    inventory.gpus.clear();
    add_a100({});
    EXPECT_THAT(profile_labels(Profile::kModel, facts()),
                ElementsAre(Pair("accelerator", "nvidia-tesla-a100")));
    inventory.gpus = {a_gpu("GPU-v", "Tesla V100-SXM2-16GB", 16'384, 7, 0)};
    EXPECT_THAT(profile_labels(Profile::kModel, facts()),
                ElementsAre(Pair("accelerator", "nvidia-tesla-v100")));
}

TEST(LabelValue, IsOneThatKubernetesTakes) {
    EXPECT_EQ(label_value("NVIDIA A100-SXM4-40GB"), "NVIDIA-A100-SXM4-40GB");
    EXPECT_EQ(label_value("  Standard PC (Q35 + ICH9, 2009)\n"), "Standard-PC-Q35-ICH9-2009");
    EXPECT_EQ(label_value("-x-"), "x");
    EXPECT_EQ(label_value(std::string(80, 'a')).size(), 63U);
    EXPECT_EQ(label_value("(*)"), "");
}

TEST(ChangeLabels, TouchesOnlyItsOwn) {
    const Labels present{
        {"accelerator", "old"}, {"role", "db"}, {"stale", "1"}, {"zone", "a"}, {"same", "x"}};
    const Change change =
        change_labels(present, {"accelerator", "stale"},
                      {{"accelerator", "new"}, {"role", "gpu"}, {"same", "x"}, {"fresh", "1"}});
    EXPECT_THAT(change.set, ElementsAre(Pair("accelerator", "new"), Pair("fresh", "1")));
    EXPECT_THAT(change.remove, ElementsAre("stale"));
    EXPECT_THAT(change.foreign, ElementsAre("role"));
    EXPECT_THAT(change.ours, ElementsAre("accelerator", "fresh"));
}

TEST(ChangeLabels, WithNothingToDoDoesNothing) {
    const Labels wanted{{"a", "1"}};
    const Change change = change_labels(wanted, {"a"}, wanted);
    EXPECT_TRUE(change.empty());
    EXPECT_THAT(change.ours, ElementsAre("a"));
    const Change gone = change_labels({{"a", "1"}, {"b", "2"}}, {"a"}, {});
    EXPECT_THAT(gone.remove, ElementsAre("a"));
    EXPECT_THAT(gone.ours, IsEmpty());
}

TEST(Sysfs, TellsMachineAndPciClass) {
    const os::TemporaryDirectory directory;
    const os::Root root(directory.path());
    EXPECT_EQ(machine_name(root), "");
    ASSERT_TRUE(root.write_atomically("/sys/class/dmi/id/product_name", "ProLiant\n"));
    ASSERT_TRUE(root.write_atomically("/sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n"));
    gpu::Inventory inventory;
    gpu::Gpu gpu = a_gpu("GPU-0", "NVIDIA A2", 1, 8, 6);
    gpu.pci = {.bus = 0x3b};
    inventory.gpus = {gpu};
    EXPECT_EQ(machine_name(root), "ProLiant\n");
    EXPECT_EQ(pci_classes(root, inventory).at(gpu.uuid), 0x030200U);
}

}  // namespace
}  // namespace aliquot::labels
