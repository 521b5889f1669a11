// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "catalog/drivers.h"
#include "catalog/embedded.h"
#include "catalog/gpu_instances.h"
#include "catalog/gpu_models.h"
#include "catalog/mig_profiles.h"
#include "catalog/table.h"
#include "catalog/xid.h"

namespace aliquot::catalog {
namespace {

std::string_view key_of(std::string_view text) {
    const GpuModel* const model = find_gpu_model(text);
    return model == nullptr ? std::string_view("?") : model->key;
}

TEST(CatalogTables, SayTheirDateAndSourceAndHaveFullRows) {
    for (const std::string_view text : {kCudaDriverTable, kDriverBranchTable, kGpuInstanceTable,
                                        kGpuModelTable, kMigProfileTable, kXidTable}) {
        const auto table = read_table(text);
        ASSERT_TRUE(table) << table.error().message;
        EXPECT_EQ(table->date.substr(0, 2), "20");
        EXPECT_GT(table->rows.size(), 10U);
        std::set<std::vector<std::string_view>> seen;
        for (const auto& row : table->rows) {
            EXPECT_TRUE(seen.insert(row).second) << "twice: " << row[0] << ' ' << row[1];
            EXPECT_FALSE(row[0].empty());
            for (const auto field : row) {
                EXPECT_FALSE(field.starts_with(' ') || field.ends_with(' ')) << field;
            }
        }
    }
}

TEST(CatalogTables, ThatAreBrokenAreRefused) {
    EXPECT_FALSE(read_table(""));
    EXPECT_FALSE(read_table("a\tb\n1\t2\n"));
    EXPECT_FALSE(read_table("# date: 2026-01-01\n# source: x\na\tb\n1\n"));
    EXPECT_TRUE(read_table("# date: 2026-01-01\n# source: x\na\tb\n1\t-\n"));
}

TEST(GpuModels, AreFoundByTheWordsPeopleUse) {
    EXPECT_EQ(key_of("gtx-1070"), "gtx-1070");
    EXPECT_EQ(key_of("GTX 1070"), "gtx-1070");
    EXPECT_EQ(key_of("NVIDIA GeForce GTX 1070"), "gtx-1070");
    EXPECT_EQ(key_of("1070"), "gtx-1070");
    EXPECT_EQ(key_of("rtx3090"), "rtx-3090");
    EXPECT_EQ(key_of("rtx_3090 24GB"), "rtx-3090");
    EXPECT_EQ(key_of("NVIDIA A2"), "a2");
    EXPECT_EQ(key_of("nvidia-tesla-v100"), "v100");
    EXPECT_EQ(key_of("nvidia-tesla-a100"), "a100-40");
    EXPECT_EQ(key_of("nvidia-a100-80gb"), "a100-80");
    EXPECT_EQ(key_of("nvidia-h100-80gb"), "h100");
    EXPECT_EQ(key_of("A100-SXM4-80GB"), "a100-80");
    EXPECT_EQ(key_of("NVIDIA-A100-SXM4-40GB-SHARED"), "a100-40");
    EXPECT_EQ(key_of("NVIDIA A100 80GB PCIe"), "a100-80-pcie");
    EXPECT_EQ(key_of("NVIDIA H100 80GB HBM3"), "h100");
    EXPECT_EQ(key_of("NVIDIA H100 NVL"), "h100-nvl");
    EXPECT_EQ(key_of("Tesla T4"), "t4");
    EXPECT_EQ(key_of("Tesla V100-SXM2-16GB"), "v100");
    EXPECT_EQ(key_of("V100-32"), "v100-32");
    EXPECT_EQ(key_of("rtx-pro-server-6000"), "rtx-pro-6000");
    EXPECT_EQ(key_of("NVIDIA RTX 6000 Ada Generation"), "rtx-6000-ada");
    EXPECT_EQ(key_of("a100-40"), "a100-40");
    EXPECT_EQ(key_of("NVIDIA GeForce RTX 3060 Laptop GPU"), "rtx-3060-laptop");
    EXPECT_EQ(key_of("NVIDIA-GeForce-RTX-4090-Laptop-GPU-SHARED"), "rtx-4090-laptop");
    EXPECT_EQ(key_of("rtx-4090-mobile"), "rtx-4090-laptop");
    EXPECT_EQ(key_of("3080 Laptop 16GB"), "rtx-3080-laptop-16");
    EXPECT_EQ(key_of("NVIDIA GeForce GTX 1070 Laptop GPU"), "gtx-1070");
    EXPECT_EQ(key_of("RTX 3090 Laptop"), "?")
        << "there is none, and later laptops have less memory";
    EXPECT_EQ(key_of(""), "?");
    EXPECT_EQ(key_of("NVIDIA"), "?");
    EXPECT_EQ(key_of("mi300x"), "?");
}

TEST(GpuModels, HaveSpellingsOfTheirOwn) {
    std::set<std::string_view> keys;
    for (const GpuModel& model : gpu_models()) {
        EXPECT_TRUE(keys.insert(model.key).second) << model.key;
        EXPECT_EQ(find_gpu_model(model.key), &model) << model.key;
        EXPECT_EQ(find_gpu_model(model.name), &model) << model.name;
        for (const auto alias : model.aliases) EXPECT_EQ(find_gpu_model(alias), &model) << alias;
        EXPECT_GT(model.memory_gib, 0) << model.key;
        EXPECT_GE(model.compute.major(), 3U) << model.key;
        EXPECT_GE(model.gpus_per_board, 1U) << model.key;
        EXPECT_EQ(model.mps == MpsClass::kLimits, model.compute.major() >= 7) << model.key;
        EXPECT_LE(model.memory_mib, model.memory_gib * 1024 * 1.03) << model.key;
        for (const auto id : model.pci_ids) EXPECT_EQ(id.size(), 4U) << model.key;
        if (model.has_known_mig()) {
            EXPECT_FALSE(mig_profiles(model).empty()) << model.key;
        }
    }
    EXPECT_EQ(find_gpu_model("a2")->tdp_watts, 60U);
    EXPECT_EQ(find_gpu_model("a2")->cuda_cores, 1280U);
    EXPECT_FALSE(find_gpu_model("a2")->has_mig());
}

TEST(GpuModels, AreToldApartByMemory) {
    EXPECT_EQ(find_gpu_model("a100", 81920)->key, "a100-80");
    EXPECT_EQ(find_gpu_model("a100", 40960)->key, "a100-40");
    EXPECT_EQ(find_gpu_model("v100", 32768)->key, "v100-32");
    EXPECT_EQ(find_gpu_model("rtx3060", 8192)->key, "rtx-3060");
    EXPECT_EQ(find_gpu_model("t4", 0)->key, "t4");
}

TEST(GpuModels, AreFoundByPciId) {
    ASSERT_EQ(gpu_models_with_pci_id("0x20B210DE").size(), 1U);
    EXPECT_EQ(gpu_models_with_pci_id("0x20B210DE")[0]->key, "a100-80");
    EXPECT_EQ(gpu_models_with_pci_id("25b6").size(), 2U);
    EXPECT_TRUE(gpu_models_with_pci_id("ffff").empty());
}

TEST(GpuModels, ThatAreUnknownHaveANeighbour) {
    EXPECT_EQ(nearest_gpu_model("gtx1071"), "gtx-1070");
    EXPECT_EQ(nearest_gpu_model("rtx 3600"), "rtx-3060");
    EXPECT_EQ(nearest_gpu_model("completely-different"), "");
}

TEST(MigProfiles, FitTheirGpu) {
    for (const MigProfile& profile : mig_profiles()) {
        const bool half = profile.family == "a30" || profile.family == "rtx-pro-6000";
        const unsigned length = half ? 4 : 8;
        EXPECT_GE(profile.slices, 1U) << profile.family << ' ' << profile.name;
        EXPECT_LE(profile.slices, 7U);
        EXPECT_GE(profile.most, 1U);
        EXPECT_GT(profile.memory_gib, 4);
        EXPECT_FALSE(profile.starts.empty());
        for (const unsigned start : profile.starts) {
            EXPECT_LE(start + profile.memory_slices, length) << profile.family << profile.name;
        }
        const unsigned named = count_of(profile.name);
        EXPECT_EQ(named, profile.slices) << profile.name;
    }
}

TEST(MigProfiles, AreFoundByEverySpellingOfTheirName) {
    const GpuModel& a100 = *find_gpu_model("a100-80");
    ASSERT_NE(find_mig_profile(a100, "nvidia.com/mig-1g.10gb.me"), nullptr);
    EXPECT_EQ(find_mig_profile(a100, "mig-1g.10gb.me")->name, "1g.10gb+me");
    EXPECT_EQ(find_mig_profile(a100, "3g.40gb")->id, "9");
    EXPECT_EQ(find_mig_profile(a100, "3g.20gb"), nullptr);
    EXPECT_EQ(mig_resource(*find_mig_profile(a100, "1g.10gb+me")), "nvidia.com/mig-1g.10gb.me");
    EXPECT_TRUE(mig_profiles(*find_gpu_model("t4")).empty());
}

TEST(MigProfiles, SayHowManySlicesAWholeGpuHas) {
    EXPECT_EQ(mig_slices(*find_gpu_model("a100-40")), 7U);
    EXPECT_EQ(mig_slices(*find_gpu_model("a30")), 4U);
    EXPECT_EQ(mig_slices(*find_gpu_model("t4")), 0U);
    for (const GpuModel& model : gpu_models()) {
        const unsigned slices = mig_slices(model);
        EXPECT_TRUE(slices == 0 || slices == 4 || slices == 7) << model.key;
    }
}

TEST(Drivers, KnowWhatACudaVersionNeeds) {
    EXPECT_EQ(own_driver(*parse_version("12.8"))->driver, "570.26");
    EXPECT_EQ(own_driver(*parse_version("12.8.1"))->driver, "570.124.06");
    EXPECT_EQ(own_driver(*parse_version("12.8.9"))->driver, "570.124.06");
    EXPECT_EQ(own_driver(*parse_version("12.7")), nullptr);
    EXPECT_EQ(driver_floor(12), "525.60.13");
    EXPECT_EQ(driver_floor(9), "");
    EXPECT_EQ(newest_cuda(*parse_version("535.183.01"))->cuda, *parse_version("12.2.2"));
    EXPECT_EQ(newest_cuda(*parse_version("390.157")), nullptr);
    Version before;
    for (const CudaDriver& row : cuda_drivers()) {
        EXPECT_LT(before, row.cuda);
        before = row.cuda;
    }
}

TEST(Drivers, KnowWhenABranchEnds) {
    const DriverBranch* const old = find_driver_branch(535);
    ASSERT_NE(old, nullptr);
    EXPECT_TRUE(old->ended("2026-11-20"));
    EXPECT_FALSE(old->ended("2026-06-30"));
    EXPECT_FALSE(find_driver_branch(580)->ended("2026-11-20"));
    EXPECT_EQ(find_driver_branch(1), nullptr);
}

TEST(Xids, AreClassified) {
    EXPECT_EQ(find_xid(79)->kind, XidClass::kHardware);
    EXPECT_EQ(word(find_xid(31)->kind), "application");
    EXPECT_EQ(find_xid(119)->kind, XidClass::kDriver);
    EXPECT_EQ(find_xid(63)->kind, XidClass::kInformation);
    EXPECT_TRUE(find_xid(63)->plugin_unhealthy);
    EXPECT_EQ(find_xid(1), nullptr);
    unsigned before = 0;
    for (const Xid& xid : xids()) {
        EXPECT_LT(before, xid.id);
        before = xid.id;
        EXPECT_FALSE(xid.meaning.empty() || xid.action.empty()) << xid.id;
    }
}

TEST(GpuInstances, AllHaveAModelAndAPrice) {
    const auto table = read_table(kGpuInstanceTable);
    EXPECT_EQ(gpu_instances().size(), table->rows.size());
    for (const GpuInstance& one : gpu_instances()) {
        EXPECT_GT(one.usd_per_hour, 0) << one.type;
        EXPECT_GT(one.vcpu, 0U) << one.type;
        EXPECT_LE(one.allocatable_cpu_milli, one.vcpu * 1000) << one.type;
        EXPECT_LE(static_cast<double>(one.allocatable_memory_mib), one.memory_gib * 1024);
    }
}

TEST(GpuInstances, AreFoundByType) {
    const GpuInstance* const small = find_gpu_instance("G4DN.xlarge");
    ASSERT_NE(small, nullptr);
    EXPECT_EQ(small->allocatable_cpu_milli, 3920U);
    EXPECT_EQ(small->allocatable_memory_mib, 14481U);
    EXPECT_EQ(small->model->key, "t4");
    EXPECT_EQ(find_gpu_instance("p4de.24xlarge")->model->key, "a100-80");
    EXPECT_EQ(find_gpu_instance("p4d.24xlarge")->model->key, "a100-40");
    EXPECT_EQ(find_gpu_instance("p3dn.24xlarge")->model->key, "v100-32");
    EXPECT_EQ(find_gpu_instance("g6f.large")->gpu_count, 0U);
    EXPECT_EQ(find_gpu_instance("t3.micro"), nullptr);
    EXPECT_EQ(nearest_gpu_instance("g4dn.2xlarg"), "g4dn.2xlarge");
}

TEST(MigSlices, AreFoundAsPeopleAndLabelsNameThem) {
    struct Row {
        std::string_view text, model, profile;
    };
    constexpr std::array<Row, 9> kRows{{{"a100-80 1g.10gb", "a100-80", "1g.10gb"},
                                        {"A100 MIG 3g.20gb", "a100-40", "3g.20gb"},
                                        {"a100 3g.40gb", "a100-80", "3g.40gb"},
                                        {"H100 1g.10gb+me", "h100", "1g.10gb+me"},
                                        {"NVIDIA-A100-SXM4-80GB-MIG-2g.20gb", "a100-80", "2g.20gb"},
                                        {"mig-1g.5gb", "a100-40", "1g.5gb"},
                                        {"1g.10gb", "a100-40", "1g.10gb"},
                                        {"l4 1g.5gb", "", "1g.5gb"},
                                        {"mystery 1g.5gb", "", "1g.5gb"}}};
    for (const Row& row : kRows) {
        const MigSlice slice = find_mig_slice(row.text);
        ASSERT_NE(slice.profile, nullptr) << row.text;
        EXPECT_EQ(slice.profile->name, row.profile) << row.text;
        EXPECT_EQ(slice.model == nullptr ? "" : slice.model->key, row.model) << row.text;
    }
    for (const std::string_view none : {"", "a100", "mig", "-", "a100 9g.99gb", "1g.10gb a100 x"}) {
        EXPECT_EQ(find_mig_slice(none).profile, nullptr) << none;
    }
}

}  // namespace
}  // namespace aliquot::catalog
