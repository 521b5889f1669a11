// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "dra/joined.h"
#include "dra/test_claims.h"
#include "mig/stub_partitioner.h"
#include "os/clock.h"

namespace aliquot::dra {

/// Three A100s, GPU-0 at 0000:65:00.0 and so on, that claims cut; they outlive the processes that cut them.
class CutNode {
public:
    explicit CutNode(const std::filesystem::path& base)
        : node(base),
          memory_(::mmap(nullptr, sizeof(mig::StubNode), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        if (memory_ == MAP_FAILED) std::abort();
        stub = new (memory_) mig::StubNode;
        gpus = std::make_shared<mig::StubPartitioner>(*stub);
        for (unsigned i = 0; i < stub->gpus.size(); ++i) gpus->cut(i, "none");
        node.completes = [this](Keeper::Sources& sources) { complete(sources); };
        look();
    }
    ~CutNode() { ::munmap(memory_, sizeof(mig::StubNode)); }
    CutNode(const CutNode&) = delete;
    CutNode& operator=(const CutNode&) = delete;

    [[nodiscard]] gpu::Inventory inventory() const {
        gpu::Inventory all{.driver_version = "580.65.06", .cuda_version = 13000};
        for (unsigned i = 0; i < stub->gpus.size(); ++i) {
            gpu::Gpu one{.index = i,
                         .uuid = {"GPU-" + std::to_string(i)},
                         .minor = i,
                         .model = "NVIDIA A100-SXM4-40GB",
                         .memory_bytes = 40960ULL << 20U,
                         .compute_major = 8,
                         .pci = {.bus = 0x65 + i},
                         .mig_capable = true};
            const auto now = gpus->partitions(one.uuid);
            if (stub->gpus[i].lost) {
                one.health = {.state = gpu::Health::State::kUnhealthy, .reason = "GPU is lost"};
                all.gpus.push_back(std::move(one));
            }
            if (!now) continue;
            one.mig_enabled = now->enabled;
            for (const gpu::MigInstance& instance : now->instances) {
                for (const auto& compute : instance.compute) {
                    one.mig_devices.push_back({.uuid = compute.device,
                                               .profile = profile(*now, instance.profile_id),
                                               .placement = instance.placement});
                }
            }
            all.gpus.push_back(std::move(one));
        }
        return all;
    }

    /// What a keeper that starts is told.
    void look(Mode mode = Mode::kWhole) {
        const gpu::Inventory now = inventory();
        PlaceFacts places;
        for (const gpu::Gpu& one : now.gpus) {
            places.cut_by_claims.emplace(one.uuid, gpus->geometry());
        }
        node.state.devices = devices_of(now, {}, places, mode);
        node.state.node = describe(now);
    }

    /// A claim that was given this device.
    ClaimName allocate(const std::string& name, const std::string& device, bool shared = false) {
        const std::string part =
            R"("shareID":"share-1","consumedCapacity":{"memory":"4Gi","compute":"10"},)";
        node.claims[name] =
            R"({"metadata":{"namespace":"ai","name":")" + name + R"(","uid":"uid-)" + name +
            R"("},"status":{"reservedFor":[{"resource":"pods","name":"p","uid":"p"}],"allocation":)"
            R"({"devices":{"results":[{"request":"gpu","driver":"gpu.aliquot.dev","pool":"node-1",)" +
            (shared ? part : "") + R"("device":")" + device + R"("}]}}}})";
        node.pods["p"] = R"({"spec":{}})";
        return {"ai", name, "uid-" + name};
    }
    std::unique_ptr<Keeper> start(const std::string& boot = "boot-1") { return node.start(boot); }

    [[nodiscard]] std::string text() const {
        return gpus->text(0) + " / " + gpus->text(1) + " / " + gpus->text(2);
    }

    Node node;
    mig::StubNode* stub = nullptr;
    std::shared_ptr<mig::StubPartitioner> gpus;
    std::function<void(std::string_view step)> checkpoint;  // of Cutter::Options

private:
    static std::string profile(const gpu::Partitions& now, unsigned id) {
        return std::ranges::find(now.profiles, id, &gpu::MigProfile::id)->name;
    }

    static cdi::Spec describe(const gpu::Inventory& now) {
        cdi::Spec spec{.kind = "node/gpu", .edits = {.environment = {"DRIVER=1"}}};
        for (const gpu::Gpu& one : now.gpus) {
            const cdi::DeviceNode device{.path = "/dev/nvidia" + std::to_string(one.minor)};
            spec.devices.push_back({.name = one.uuid.text, .edits = {.device_nodes = {device}}});
            for (const gpu::MigDevice& part : one.mig_devices) {
                spec.devices.push_back(
                    {.name = part.uuid.text, .edits = {.device_nodes = {device}}});
            }
        }
        return spec;
    }

    void complete(Keeper::Sources& sources) {
        const auto cutter = std::make_shared<Cutter>(
            node.root, clock_,
            Cutter::Sources{.gpus = [this]() -> Result<std::shared_ptr<gpu::Partitioner>> {
                                return std::shared_ptr<gpu::Partitioner>(gpus);
                            },
                            .inventory = [this]() -> Result<gpu::Inventory> { return inventory(); },
                            .look = [this]() -> Result<Cutter::Seen> {
                                const gpu::Inventory now = inventory();
                                return Cutter::Seen{now, describe(now)};
                            },
                            .reset_along = [this](const std::string& gpu) -> std::set<std::string> {
                                if (!stub->joined) return {};
                                return reset_along(inventory()).at(gpu);
                            }},
            Cutter::Options{.state_directory = "/mig", .checkpoint = checkpoint});
        sources.cut = [cutter](PreparedClaim& claim, const PreparedClaims& prepared,
                               const Cutter::Note& note) {
            return cutter->cut(claim, prepared, note);
        };
        sources.uncut = [cutter](const PreparedClaim& claim, const PreparedClaims& prepared) {
            return cutter->undo(claim, prepared);
        };
    }

    void* memory_;
    os::SystemClock clock_;
};

}  // namespace aliquot::dra
