// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/engine.h"

namespace aliquot::sim::trace {

/// Free GPU compute of a node in milli that tasks of one type cannot use: all of it when no task of
/// the type fits (too little CPU, too few large enough GPUs, another model) or when the type asks
/// for no GPU; else what is free on GPUs that are too small for it. GPUs in MIG mode count by their
/// free memory slices. (F_n(m) of the FGD paper, USENIX ATC'23, section 4.)
double unusable_milli(const placement::NodeSpec& spec, const placement::NodeState& state,
                      const placement::Request& type,
                      std::span<const placement::MigGeometry> geometries);

/// Free compute of one GPU.
double free_milli(const placement::DeviceState& device);

/// What Engine::fragmented_milli() says, kept up to date node by node; for reading it often.
class FragmentationMeter {
public:
    /// Both must outlive the meter.
    FragmentationMeter(const placement::Engine& engine,
                       std::span<const placement::MigGeometry> geometries);

    void touched(placement::NodeId node);  // its state may have changed
    void all_touched();
    [[nodiscard]] double milli();

private:
    [[nodiscard]] double of_node(placement::NodeId node) const;

    const placement::Engine& engine_;
    std::span<const placement::MigGeometry> geometries_;
    std::vector<placement::TaskType> types_;
    std::vector<double> of_nodes_;
    std::vector<placement::NodeId> stale_;
    std::vector<bool> is_stale_;
    bool all_stale_ = true;
};

}  // namespace aliquot::sim::trace
