// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "gpu/partitioning.h"
#include "mig/geometry.h"

namespace aliquot::mig {

/// Some A100-40 that live in plain memory: shared between processes when that memory is. For tests, which kill a
/// change at its every step and its recovery at every step of that. sim/nvml would ask for a driver, a library and
/// its state on disk each time; tests/e2e/mig_kill_test.cpp has them.
struct StubNode {
    struct Compute {
        bool used = false;
        unsigned slices = 0;
        bool busy = false;
    };
    struct Instance {
        bool used = false;
        unsigned profile = 0;  // of the geometry
        unsigned start = 0;
        std::array<Compute, 8> compute;
    };
    struct Gpu {
        bool enabled = false;
        bool pending = false;
        bool resetless = true;
        bool in_use = false;
        bool gone = false;
        bool lost = false;  // from the bus: the driver lists it and cannot speak to it
        unsigned resets = 0;
        std::array<Instance, 8> instances;
    };
    std::array<Gpu, 3> gpus;
    bool joined = false;  // by NVLink: a reset of one is a reset of all
    unsigned calls = 0;   // that change something
};

/// gpu::Partitioner over a StubNode, as strict as a driver. A GPU's uuid is "GPU-<n>".
class StubPartitioner final : public gpu::Partitioner {
public:
    explicit StubPartitioner(StubNode& node);

    /// Asked before every changing call: an error is the call's answer.
    std::function<Result<Done>(unsigned gpu, std::string_view call)> fault;

    /// Cuts a GPU by hand: "3g.20gb@0,1g.5gb@4:busy".
    void cut(unsigned gpu, std::string_view instances);
    /// The same words, of what is there; "off" while MIG is off, '!' behind what is half made.
    [[nodiscard]] std::string text(unsigned gpu) const;
    [[nodiscard]] const Geometry& geometry() const { return geometry_; }

    Result<gpu::Partitions> partitions(const gpu::Uuid& gpu) override;
    Result<gpu::ModeChange> set_mode(const gpu::Uuid& gpu, bool enabled) override;
    Result<Done> reset(const gpu::Uuid& gpu,
                       const std::set<gpu::Uuid>& may_lose_instances) override;
    Result<unsigned> create(const gpu::Uuid& gpu, unsigned profile_id,
                            gpu::MigPlacement placement) override;
    Result<unsigned> create_compute(const gpu::Uuid& gpu, unsigned instance,
                                    unsigned slices) override;
    Result<Done> destroy_compute(const gpu::Uuid& gpu, unsigned instance,
                                 unsigned compute) override;
    Result<Done> destroy(const gpu::Uuid& gpu, unsigned instance) override;

private:
    Result<StubNode::Gpu*> open(const gpu::Uuid& gpu, std::string_view call);
    static Result<StubNode::Instance*> find(StubNode::Gpu& gpu, unsigned instance);

    StubNode& node_;
    Geometry geometry_;
};

}  // namespace aliquot::mig
