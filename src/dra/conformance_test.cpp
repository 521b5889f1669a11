// SPDX-License-Identifier: Apache-2.0
// From what is published to what a container is held to: the slices pass an API server's rules, the classes of
// deploy/dra find the devices, kube-scheduler's algorithm allocates, Prepare decides. Each case of src/dra/cases has a
// mode, claims, and behind the line "# gives" what each of them gets.
#include <gtest/gtest.h>

#include "base/text.h"
#include "claims/allocate.h"
#include "claims/validation.h"
#include "document/build.h"
#include "document/path.h"
#include "document/yaml.h"
#include "dra/prepare.h"
#include "dra/slices.h"
#include "dra/test_node.h"
#include "k8s/memory_amount.h"
#include "os/root.h"
#include "tests/case_files.h"

namespace aliquot::dra {
namespace {

using document::text_at;
using document::Value;

constexpr std::string_view kMark = "\n# gives\n";

std::vector<Value> documents_in(const std::string& text) {
    auto stream = document::parse_yaml(text);
    EXPECT_TRUE(stream.errors.empty()) << stream.errors.front().message;
    return stream.documents;
}

/// A node with two H100s, of which case files say how they are published.
class Scene {
public:
    explicit Scene(const std::string& mode) {
        gpu::Inventory inventory = test_inventory(2);
        sharing::Offer offer;
        Mode chosen = Mode::kWhole;
        if (mode == "consumable") chosen = Mode::kConsumable;
        if (mode == "fixed") {
            chosen = Mode::kFixed;
            offer.resources = {{.name = "nvidia.com/gpu",
                                .gpus = {{.gpu = inventory.gpus[0],
                                          .replicas = 2,
                                          .limits = {.memory_bytes = 32ULL << 30U}}}}};
        }
        if (mode == "mig") {
            inventory.gpus[0].mig_enabled = true;
            for (unsigned start = 0; start < 2; ++start) {
                inventory.gpus[0].mig_devices.push_back({.uuid = {"MIG-" + std::to_string(start)},
                                                         .profile = "1g.10gb",
                                                         .placement = {start, 1},
                                                         .memory_bytes = 10ULL << 30U,
                                                         .gpu_slices = 1,
                                                         .compute_slices = 1});
            }
        }
        devices = devices_of(inventory, offer, {}, chosen);
        for (const auto& write : plan_slices({"node-1", "uid"}, devices, {}).write) {
            for (const auto& problem : claims::slice_problems(*write.object.find("spec"))) {
                ADD_FAILURE() << problem.field << ": " << problem.message << " " << problem.value;
            }
            cluster.slices.push_back(claims::read_slice(write.object));
        }
        const auto classes = os::Root(ALIQUOT_SOURCE_DIR).read("/deploy/dra/device-classes.yaml");
        EXPECT_TRUE(classes);
        for (const Value& one : documents_in(*classes)) {
            claims::DeviceClass made = claims::read_class(one);
            cluster.classes.emplace(made.name, std::move(made));
        }
    }

    std::string give(claims::Claim claim) {
        claim.uid = "uid-" + claim.name;
        const auto answer = claims::allocate(
            cluster, {"node-1"}, {claim}, [this] { return "share-" + std::to_string(++shares); });
        if (!answer.failure.empty()) return "pending: " + answer.failure;
        claim.allocation = answer.allocations.front();
        claim.reserved_for = {{.resource = "pods", .name = "p", .uid = "p"}};
        cluster.claims.push_back(claim);
        const auto made =
            decide_prepare({"default", claim.name, claim.uid}, claim,
                           {.devices = devices, .pool = "node-1", .prepared = prepared});
        if (!made) return "refused: " + made.error().message;
        prepared.insert_or_assign(claim.uid, *made);
        std::vector<std::string> parts;
        for (const PreparedDevice& one : made->devices) parts.push_back(text_of(one));
        return join(parts, "; ");
    }

    static std::string text_of(const PreparedDevice& one) {
        std::string text = one.request + " = " + one.device;
        if (one.admin) text += " (admin)";
        if (one.limits.memory_bytes)
            text += ", memory " + k8s::bytes_text(*one.limits.memory_bytes);
        if (one.limits.compute_percent)
            text += ", compute " + std::to_string(*one.limits.compute_percent);
        if (one.limits.weight) text += ", weight " + std::to_string(*one.limits.weight);
        return text;
    }

    std::vector<Device> devices;
    claims::Cluster cluster;
    PreparedClaims prepared;
    unsigned shares = 0;
};

TEST(DraConformance, EachClaimGetsWhatItsCaseSays) {
    for (const auto& path : cases::files({"src/dra/cases"}, ".yaml")) {
        SCOPED_TRACE(path);
        const std::string text = cases::read(path);
        const auto mark = text.find(kMark);
        ASSERT_NE(mark, std::string::npos);
        const std::string first = text.substr(0, text.find('\n'));
        Scene scene(std::string(after(first, "mode: ")));
        std::string told;
        for (const Value& one : documents_in(text.substr(0, mark))) {
            const std::string kind = text_at(one, "kind");
            if (kind != "ResourceClaim" && kind != "ResourceClaimTemplate") continue;
            claims::Claim claim =
                kind == "ResourceClaim" ? claims::read_claim(one) : claims::read_template(one);
            claim.name = text_at(one, "metadata.name");
            const std::string place = kind == "ResourceClaim" ? "spec" : "spec.spec";
            for (const auto& problem :
                 claims::claim_problems(*document::at_path(one, place), place)) {
                ADD_FAILURE() << claim.name << ": " << problem.field << ": " << problem.message;
            }
            claim.name_space = "default";
            told += "# " + claim.name + ": " + scene.give(claim) + "\n";
        }
        const std::string inputs = text.substr(0, mark + kMark.size());
        if (cases::rewrites(path, inputs + told)) continue;
        EXPECT_EQ(told, text.substr(mark + kMark.size()));
    }
}

}  // namespace
}  // namespace aliquot::dra
