// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "document/json.h"
#include "dra/keeper.h"
#include "dra/test_node.h"

namespace aliquot::dra {

inline constexpr std::string_view kGuards = "/guards";

/// A node whose guard keeps a file for each claim, and an API server that knows the claims that are given.
class Node {
public:
    explicit Node(std::filesystem::path base) : root(std::move(base)) {
        state.pool = "node-1";
        use(Mode::kConsumable);
    }

    void use(Mode mode) {
        const gpu::Inventory inventory = test_inventory(2);
        state.devices = devices_of(inventory, {}, {}, mode);
        state.node = {.kind = "node/gpu", .edits = {.environment = {"DRIVER=1"}}};
        for (const gpu::Gpu& gpu : inventory.gpus) {
            state.node.devices.push_back(
                {.name = gpu.uuid.text,
                 .edits = {.device_nodes = {{.path = "/dev/nvidia" + std::to_string(gpu.minor)}}}});
        }
    }

    Keeper::Sources sources() {
        return {
            .read_claim = [this](const ClaimName& claim) -> Result<document::Value> {
                const auto found = claims.find(claim.name);
                if (found == claims.end()) return Error{ErrorCode::kNotFound, "not found"};
                return *document::parse_json(found->second);
            },
            .read_pod = [this](const std::string&,
                               const std::string& name) -> Result<document::Value> {
                if (reads_pod) reads_pod();
                const auto found = pods.find(name);
                if (found == pods.end()) return Error{ErrorCode::kUnavailable, "no answer"};
                return *document::parse_json(found->second);
            },
            .guard = [this](std::span<const std::string> ids, grant::Grant& grant) -> Result<Done> {
                if (!guard_fails.empty()) return Error{ErrorCode::kUnavailable, guard_fails};
                grant.mounts.push_back({.container_path = "/guard", .host_path = "/host/guard"});
                return root.write_atomically(std::string(kGuards) + "/" + ids.front(), "x");
            },
            .unguard = [this](const std::string& uid) -> Result<Done> {
                const auto names = root.list(kGuards);
                if (!names) return Done{};
                for (const std::string& name : *names) {
                    if (name.starts_with(uid + "-"))
                        (void)root.remove(std::string(kGuards) + "/" + name);
                }
                return Done{};
            }};
    }
    std::unique_ptr<Keeper> start(const std::string& boot = "boot-1") {
        Keeper::Sources all = sources();
        if (completes) completes(all);
        auto keeper = std::make_unique<Keeper>(
            root, std::move(all),
            Keeper::Options{.state_directory = "/state", .cdi_directory = "/cdi", .boot = boot});
        (void)keeper->publish(state);
        return keeper;
    }
    ClaimName allocate(const std::string& name, const std::string& memory, unsigned compute,
                       unsigned gpu = 0) {
        claims[name] =
            R"({"metadata":{"namespace":"ai","name":")" + name + R"(","uid":"uid-)" + name +
            R"("},"status":{"reservedFor":[{"resource":"pods","name":"pod-)" + name +
            R"(","uid":"p"}],"allocation":{"devices":{"results":[{"request":"gpu","driver":)"
            R"("gpu.aliquot.dev","pool":"node-1","device":"gpu-0000-)" +
            (gpu == 0 ? "65" : "66") +
            R"(-00-0","shareID":"share-1","consumedCapacity":{"memory":")" + memory +
            R"(","compute":")" + std::to_string(compute) + R"("}}]}}}})";
        pods["pod-" + name] = R"({"spec":{}})";
        return {"ai", name, "uid-" + name};
    }
    std::vector<std::string> files(std::string_view directory, std::string_view ending = "") const {
        std::vector<std::string> found;
        const auto names = root.list(directory);
        if (!names) return found;
        for (const std::string& name : *names) {
            if (name.ends_with(ending) && !name.starts_with('.')) found.push_back(name);
        }
        return found;
    }

    os::Root root;
    NodeState state;
    std::map<std::string, std::string> claims;
    std::map<std::string, std::string> pods;
    std::function<void()> reads_pod;                    // called when one is read
    std::function<void(Keeper::Sources&)> completes{};  // what a keeper is given, too
    std::string guard_fails;
};

}  // namespace aliquot::dra
