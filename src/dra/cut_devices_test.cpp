// SPDX-License-Identifier: Apache-2.0
// GPUs that claims cut, from what is published to what is prepared; kube-scheduler is src/claims.
#include <gmock/gmock.h>

#include <map>

#include "catalog/gpu_models.h"
#include "claims/allocate.h"
#include "claims/validation.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"
#include "dra/checkpoint.h"
#include "dra/publishable.h"
#include "dra/slices.h"
#include "dra/test_node.h"

namespace aliquot::dra {
namespace {

using document::text_at;
using testing::HasSubstr;
using testing::IsEmpty;

const NodeIdentity kNode{"node-1", "uid-1"};

PlaceFacts all_cut(const gpu::Inventory& inventory) {
    PlaceFacts places;
    const auto geometry = *mig::geometry_of(*catalog::find_gpu_model("h100-80"));
    for (const gpu::Gpu& gpu : inventory.gpus) places.cut_by_claims.emplace(gpu.uuid, geometry);
    return places;
}

std::vector<Device> cut_devices(unsigned gpus, Mode mode = Mode::kConsumable) {
    const gpu::Inventory inventory = test_inventory(gpus);
    return devices_of(inventory, {}, all_cut(inventory), mode);
}

/// The slices of a node, as an API server has them.
std::vector<document::Value> slices_of(const std::vector<Device>& devices) {
    std::vector<document::Value> slices;
    for (const auto& write : plan_slices(kNode, devices, {}).write) {
        slices.push_back(*write.object.find("spec"));
    }
    return slices;
}

TEST(DraCutDevices, AreTheGpuAndAllThatCanBeCutOutOfIt) {
    gpu::Inventory inventory = test_inventory(1);
    inventory.gpus[0].mig_enabled = true;
    inventory.gpus[0].mig_devices = {
        {.uuid = {"MIG-a"},
         .profile = "1g.10gb",
         .placement = {.start = 3, .size = 1},
         .health = {.state = gpu::Health::State::kUnhealthy, .reason = "Xid 94"}}};
    const auto devices = devices_of(inventory, {}, all_cut(inventory), Mode::kWhole);
    ASSERT_EQ(devices.size(), 26U);
    EXPECT_EQ(devices[0].name, "gpu-0000-65-00-0");
    EXPECT_TRUE(devices[0].cut->is_off());
    const auto half = std::ranges::find(devices, "gpu-0000-65-00-0-mig-3g-40gb-4", &Device::name);
    ASSERT_NE(half, devices.end());
    EXPECT_EQ(half->cut, (Cut{"3g.40gb", 4, 4}));
    const document::Value& told = half->published;
    EXPECT_EQ(text_at(told, "attributes.profile.string"), "3g.40gb");
    EXPECT_EQ(text_at(told, "attributes.parentUUID.string"), "GPU-0");
    EXPECT_EQ(told.find("attributes")->find("uuid"), nullptr) << "it is still to be made";
    const auto sick = std::ranges::find(devices, "gpu-0000-65-00-0-mig-1g-10gb-3", &Device::name);
    EXPECT_NE(sick->published.find("taints"), nullptr);
    EXPECT_EQ(half->published.find("taints"), nullptr);
}

TEST(DraCutDevices, GoIntoSlicesThatAnApiServerTakes) {
    for (const unsigned gpus : {1U, 8U, 9U}) {
        SCOPED_TRACE(gpus);
        std::size_t devices = 0;
        std::size_t sets = 0;
        std::size_t slices = 0;
        for (const document::Value& spec : slices_of(cut_devices(gpus))) {
            const auto problems = claims::slice_problems(spec);
            EXPECT_TRUE(problems.empty())
                << problems.front().field << ": " << problems.front().message;
            const std::size_t here = document::items_at(spec, {"devices"}).size();
            const std::size_t counters = document::items_at(spec, {"sharedCounters"}).size();
            EXPECT_TRUE(here == 0 || counters == 0);
            EXPECT_LE(here, kMostTaintedDevices);
            devices += here;
            sets += counters;
            ++slices;
        }
        EXPECT_EQ(devices, gpus * 26U);
        EXPECT_EQ(sets, gpus);
        EXPECT_EQ(slices, (gpus + 7) / 8 + (gpus * 26 + 63) / 64);
    }
}

claims::Claim claim_for(const std::string& name, const std::string& profile) {
    const std::string mig =
        R"({"cel":{"expression":"device.attributes['gpu.aliquot.dev'].profile == ')" + profile +
        R"('"}})";
    return claims::read_claim(*document::parse_json(
        R"({"metadata":{"namespace":"ai","name":")" + name + R"(","uid":")" + name +
        R"("},"spec":{"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":")" +
        (profile.empty() ? "gpu" : "mig") + R"(","selectors":[)" + (profile.empty() ? "" : mig) +
        R"(]}}]}},"status":{"reservedFor":[{"resource":"pods","name":"p","uid":"p"}]}})"));
}

// Nothing that kube-scheduler gives is refused at Prepare, and it gives until nothing fits.
TEST(DraCutDevices, AreGivenTogetherAsTheyFit) {
    const auto devices = cut_devices(2, Mode::kWhole);
    claims::Cluster cluster;
    std::size_t number = 0;
    for (const document::Value& spec : slices_of(devices)) {
        claims::Slice slice = claims::read_slice(document::make_mapping({{"spec", spec}}));
        slice.name = std::to_string(number++);
        cluster.slices.push_back(std::move(slice));
    }
    for (const char* const type : {"gpu", "mig"}) {
        const std::string expression =
            std::string("device.attributes['gpu.aliquot.dev'].type == '") + type + "'";
        cluster.classes.emplace(type, claims::read_class(*document::parse_json(
                                          std::string(R"({"metadata":{"name":")") + type +
                                          R"("},"spec":{"selectors":[{"cel":{"expression":")" +
                                          expression + R"("}}]}})")));
    }
    PreparedClaims prepared;
    std::map<std::string, unsigned> given;
    const std::vector<std::string> subrequests{"3g.40gb", "1g.10gb", "", "2g.20gb", "7g.80gb"};
    for (unsigned i = 0; i < 40; ++i) {
        const std::string& profile = subrequests[i % subrequests.size()];
        const std::string uid = "c" + std::to_string(i);
        claims::Claim claim = claim_for(uid, profile);
        const auto answer = claims::allocate(cluster, {.name = "node-1"}, {claim},
                                             [] { return std::string("share"); });
        if (answer.allocations.empty()) continue;
        claim.allocation = answer.allocations.front();
        cluster.claims.push_back(claim);
        auto made = decide_prepare({"ai", uid, uid}, claim,
                                   {.devices = devices, .pool = "node-1", .prepared = prepared});
        ASSERT_TRUE(made) << made.error().message;
        ASSERT_TRUE(made->devices.at(0).cut);
        prepared.emplace(uid, *std::move(made));
        ++given[profile];
    }
    EXPECT_EQ(given[""], 1U) << "the other GPU is cut";
    EXPECT_EQ(given["3g.40gb"], 1U);
    EXPECT_EQ(given["1g.10gb"] + given["2g.20gb"] * 2, 4U) << "the other half is full";
    EXPECT_THAT(publishable(devices, prepared).held_back, IsEmpty())
        << "kube-scheduler knows all of that by counters";
}

TEST(DraCutDevices, AreHeldBackBesideWhatNoCounterTells) {
    const auto devices = cut_devices(2);
    PreparedClaims prepared;
    prepared["a"] = {.claim = {"ai", "a", "a"},
                     .state = PreparedClaim::State::kPrepared,
                     .devices = {{.device = "gpu-0000-65-00-0-share-0",
                                  .uuid = "GPU-0",
                                  .gpu = "GPU-0",
                                  .kind = Device::Kind::kShare,
                                  .memory_bytes = 1ULL << 30U}}};
    const auto made = publishable(devices, prepared);
    EXPECT_EQ(made.devices.size(), 26U) << "those of the other GPU";
    EXPECT_THAT(made.held_back.at("gpu-0000-65-00-0-mig-1g-10gb-0"),
                HasSubstr("is held in part by claim ai/a"));
}

// Ampere changes its MIG mode with a reset, which GPUs that NVLink joins have together.
TEST(DraCutDevices, AreHeldBackWhereAResetWouldTakeAlongWhatIsHeld) {
    gpu::Inventory inventory = test_inventory(3);
    for (gpu::Gpu& gpu : inventory.gpus) {
        gpu.compute_major = 8;
        gpu.model = "NVIDIA A100-PCIE-40GB";
    }
    inventory.gpus[0].mig_enabled = true;
    inventory.links = {{0, 400, 20}, {400, 0, 20}, {20, 20, 0}};
    PreparedClaims prepared;
    const auto left = [&] {
        const auto devices = devices_of(inventory, {}, all_cut(inventory), Mode::kWhole);
        std::map<std::string, std::size_t> count;
        for (const Device& one : publishable(devices, prepared).devices) ++count[one.gpu.text];
        return count;
    };
    using Counts = std::map<std::string, std::size_t>;
    EXPECT_EQ(left(), (Counts{{"GPU-0", 26}, {"GPU-1", 26}, {"GPU-2", 26}}));
    prepared["a"] = {.claim = {"ai", "a", "a"},
                     .devices = {{.device = "gpu-0000-65-00-0-mig-3g-40gb-4",
                                  .gpu = "GPU-0",
                                  .kind = Device::Kind::kMig,
                                  .cut = Cut{"3g.40gb", 4, 4}}}};
    EXPECT_EQ(left(), (Counts{{"GPU-0", 26}, {"GPU-1", 1}, {"GPU-2", 26}}))
        << "as a whole, since its mode is off; nothing joins GPU-2 with another";
    inventory.gpus[1].mig_enabled = true;
    EXPECT_EQ(left().at("GPU-1"), 26U) << "counters tell, where all have one mode";
    inventory.links.clear();
    EXPECT_EQ(left().at("GPU-1"), 26U) << "nothing joins them";
    for (gpu::Gpu& gpu : inventory.gpus) gpu.model = "NVIDIA A100-SXM4-40GB";
    EXPECT_EQ(left().at("GPU-1"), 25U) << "by a switch, of which links do not tell";
    for (gpu::Gpu& gpu : inventory.gpus) gpu.compute_major = 9;
    EXPECT_EQ(left().at("GPU-1"), 26U) << "Hopper needs no reset";
}

TEST(DraCutDevices, AreRememberedWithTheirPlace) {
    PreparedClaim claim{.claim = {"ai", "a", "uid-a"},
                        .boot = "b",
                        .devices = {{.device = "gpu-0000-65-00-0-mig-3g-40gb-4",
                                     .gpu = "GPU-0",
                                     .kind = Device::Kind::kMig,
                                     .whole = true,
                                     .cut = Cut{"3g.40gb", 4, 4}},
                                    {.device = "gpu-0000-66-00-0", .cut = Cut{}}}};
    const auto read = parse_prepared_claim(to_text(claim));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, claim);
}

}  // namespace
}  // namespace aliquot::dra
