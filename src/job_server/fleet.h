// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/request.h"
#include "placement/placement.h"
#include "queue/planner.h"

namespace aliquot::job_server {

/// A GPU or MIG device that jobs can get.
struct Device {
    std::string index;  // "0", of a MIG device "0:1"
    std::string uuid;
    std::string model;  // "NVIDIA A2"
    std::uint64_t memory_bytes = 0;
    bool is_mig = false;
    // Of a MIG device:
    std::string gpu{};        // UUID of the GPU that it is a part of
    std::string gpu_model{};  // that GPU's
    std::uint32_t share =
        1'000'000'000;  // billionths of that GPU: the larger of compute and memory
};

/// The devices of a machine as the planner sees them: nodes of GPUs that are alike; a MIG device is a node of its own, since
/// a program uses one of them at a time. Immutable.
class Fleet {
public:
    explicit Fleet(std::vector<Device> devices);

    /// errors   of queue::Planner::add_node()
    Result<Done> add_to(queue::Planner& planner) const;
    /// What the planner is asked for. errors: kInvalidInput: no such model here, or not so many GPUs of one model
    [[nodiscard]] Result<placement::Request> request_of(const jobs::Request& request) const;
    [[nodiscard]] std::vector<std::string> devices_at(
        const std::vector<placement::Placement>& where) const;
    /// Empty: one of them is not here (any more).
    [[nodiscard]] std::vector<placement::Placement> places_of(
        const std::vector<std::string>& uuids) const;
    [[nodiscard]] const std::vector<Device>& devices() const { return devices_; }

private:
    struct Node {
        std::string model;
        std::vector<std::size_t> devices;  // by place in devices_
    };
    [[nodiscard]] std::vector<std::string> models_of(const std::string& type) const;

    std::vector<Device> devices_;
    std::vector<Node> nodes_;  // the last one has no GPU: for jobs that run on the CPU
};

/// "a2", "a100-80:8": GPUs of the catalogue that are not there, to try things out.
/// first    index of the first of them
/// errors   kInvalidInput
Result<std::vector<Device>> simulated_devices(const std::string& words, unsigned first);

}  // namespace aliquot::job_server
