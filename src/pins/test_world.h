// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "document/json.h"
#include "pins/decide.h"

/// For tests: clusters of nodes whose GPUs are handed out by claims.
namespace aliquot::pins {

inline k8s::Node test_node(const std::string& name, const k8s::Labels& labels = {}) {
    k8s::Node node;
    node.name = name;
    node.labels = labels;
    node.conditions.push_back({.type = "Ready", .status = "True"});
    return node;
}

/// One slice of a node with GPUs of 16Gi that claims share, or of shares of 4Gi for one claim each.
inline claims::Slice test_slice(const std::string& node, const std::vector<std::string>& uuids,
                                bool shared = true) {
    std::string devices;
    for (const std::string& uuid : uuids) {
        const auto device = [&](const std::string& name, const std::string& type,
                                const std::string& more, const std::string& memory) {
            if (!devices.empty()) devices += ",";
            devices += R"({"name":")" + name + R"(",)" + more +
                       R"("attributes":{"type":{"string":")" + type + R"("},"uuid":{"string":")" +
                       uuid + R"("},"productName":{"string":"A2"}},"capacity":{"memory":)" +
                       memory + "}}";
        };
        if (shared) {
            device(
                uuid + "-dev", "gpu", R"("allowMultipleAllocations":true,)",
                R"({"value":"16Gi","requestPolicy":{"default":"16Gi","validRange":{"min":"256Mi",)"
                R"("max":"16Gi","step":"256Mi"}}})");
        } else {
            for (const char* const number : {"0", "1"}) {
                device(uuid + "-share-" + number, "share", "", R"({"value":"4Gi"})");
            }
        }
    }
    return claims::read_slice(*document::parse_json(
        R"({"metadata":{"name":"s"},"spec":{"driver":"gpu.aliquot.dev","nodeName":")" + node +
        R"(","pool":{"name":")" + node + R"(","generation":1,"resourceSliceCount":1},"devices":[)" +
        devices + "]}}"));
}

/// One slice of a node with A100s that are cut when a claim is prepared: of each the whole, two halves and a small
/// part, of four slices.
inline std::vector<claims::Slice> test_cut_slices(const std::string& node,
                                                  const std::vector<std::string>& uuids) {
    std::string devices;
    std::string sets;
    const auto takes = [](unsigned from, unsigned to) {
        std::string counters;
        for (unsigned i = from; i < to; ++i) {
            counters += (counters.empty() ? "\"memory-slice-" : ",\"memory-slice-") +
                        std::to_string(i) + R"(":{"value":"1"})";
        }
        return counters;
    };
    for (const std::string& uuid : uuids) {
        const auto device = [&](const std::string& name, const std::string& attributes,
                                unsigned from, unsigned to) {
            if (!devices.empty()) devices += ",";
            devices += R"({"name":")" + uuid + name + R"(","attributes":{)" + attributes +
                       R"(},"capacity":{"memory":{"value":"16Gi"}},"consumesCounters":[{)"
                       R"("counterSet":")" +
                       uuid + R"(","counters":{)" + takes(from, to) + "}}]}";
        };
        const auto mig = [&](const std::string& profile) {
            return R"("type":{"string":"mig"},"profile":{"string":")" + profile +
                   R"("},"parentUUID":{"string":")" + uuid + "\"}";
        };
        device("-all", R"("type":{"string":"gpu"},"uuid":{"string":")" + uuid + "\"}", 0, 4);
        device("-half-2", mig("2g.10gb"), 2, 4);
        device("-half-0", mig("2g.10gb"), 0, 2);
        device("-small-0", mig("1g.5gb"), 0, 1);
        sets += (sets.empty() ? "" : ",") + (R"({"name":")" + uuid) + R"(","counters":{)" +
                takes(0, 4) + "}}";
    }
    const auto slice = [&](const std::string& name, const std::string& what) {
        return claims::read_slice(
            *document::parse_json(R"({"metadata":{"name":")" + name +
                                  R"("},"spec":{"driver":"gpu.aliquot.dev","nodeName":")" + node +
                                  R"(","pool":{"name":")" + node +
                                  R"(","generation":1,"resourceSliceCount":2},)" + what + "}}"));
    };
    return {slice("0", R"("sharedCounters":[)" + sets + "]"),
            slice("1", R"("devices":[)" + devices + "]")};
}

struct TestPod {
    std::string name;
    std::string request = "memory=8Gi,compute=50";
    int priority = 0;
    std::string node{};
    std::string unschedulable{};
    std::string more_spec{};
    bool leaving = false;
};
inline PinnedPod test_pod(const TestPod& pod) {
    const std::string json =
        R"({"metadata":{"namespace":"ai","name":")" + pod.name + R"(","uid":"u-)" + pod.name +
        R"(","creationTimestamp":"2026-11-28T10:00:00Z",)" +
        (pod.leaving ? R"("deletionTimestamp":"2026-11-28T11:00:00Z",)" : "") +
        R"("labels":{"aliquot.dev/claim":"pinned"},"annotations":{"aliquot.dev/claim":")" +
        pod.request + R"("}},"spec":{"priority":)" + std::to_string(pod.priority) +
        (pod.node.empty() ? "" : R"(,"nodeName":")" + pod.node + "\"") + pod.more_spec +
        R"(,"resourceClaims":[{"name":"aliquot","resourceClaimName":"aq-)" + pod.name +
        R"("}],"containers":[{"name":"main"}]},"status":{"phase":"Pending","conditions":[)" +
        (pod.unschedulable.empty()
             ? ""
             : R"({"type":"PodScheduled","status":"False","reason":"Unschedulable","message":")" +
                   pod.unschedulable + "\"}") +
        "]}}";
    const auto read = read_pinned_pod(json);
    if (!read) throw std::runtime_error("no pinned pod: " + json);
    return *read;
}

/// The claim that `pod` would get, as an API server has it, made at ten o'clock.
inline KnownClaim test_claim(const PinnedPod& pod, unsigned tries, const std::string& gpu) {
    std::vector<std::string> gpus;
    if (!gpu.empty()) gpus.push_back(gpu);
    auto known = read_known_claim(claim_object(pod, tries, gpus, true));
    if (!known) throw std::runtime_error(known.error().message);
    known->claim.uid = "c-" + pod.pod.name;
    known->resource_version = "7";
    known->created = "2026-11-28T10:00:00Z";
    return *known;
}

/// The same, given to its pod by kube-scheduler.
inline KnownClaim allocated(KnownClaim known, const std::string& node, const std::string& device,
                            const std::string& memory, int compute) {
    claims::Allocated part{.request = "gpu",
                           .device = {"gpu.aliquot.dev", node, device},
                           .share = memory.empty() ? "" : "s"};
    if (!memory.empty()) {
        part.consumed.emplace("memory", *k8s::Quantity::parse(memory));
        part.consumed.emplace("compute", *k8s::Quantity::parse(std::to_string(compute)));
    }
    known.claim.allocation = claims::Allocation{.devices = {part}};
    return known;
}

}  // namespace aliquot::pins
