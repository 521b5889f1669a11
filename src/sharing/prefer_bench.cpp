// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include "gpu/replica_id.h"
#include "sharing/offer.h"

namespace aliquot::sharing {
namespace {

Resource resource_of(unsigned gpus, unsigned replicas) {
    Resource resource{.name = "nvidia.com/gpu", .shared = replicas > 1};
    for (unsigned i = 0; i < gpus; ++i) {
        OfferedGpu offered{.replicas = replicas};
        offered.gpu.index = i;
        offered.gpu.uuid = {"GPU-8a6b1c1e-0000-4000-8000-00000000000" + std::to_string(i)};
        resource.gpus.push_back(offered);
    }
    return resource;
}

std::vector<std::string> all_ids(const Resource& resource) {
    std::vector<std::string> ids;
    for (const auto& device : resource.devices()) ids.push_back(device.id);
    return ids;
}

/// range(0) GPUs, range(1) replicas each, range(2) wanted.
void prefer_all(benchmark::State& state) {
    const Resource resource =
        resource_of(static_cast<unsigned>(state.range(0)), static_cast<unsigned>(state.range(1)));
    const auto ids = all_ids(resource);
    const auto wanted = static_cast<std::size_t>(state.range(2));
    for (auto round : state) {
        (void)round;
        auto chosen = prefer(resource, {}, AllocationPolicy::kDistributed, ids, {}, wanted);
        benchmark::DoNotOptimize(chosen);
    }
}
BENCHMARK(prefer_all)
    ->Args({8, 100, 1})
    ->Args({8, 100, 4})
    ->Args({8, 4, 2})
    ->Args({8, 1, 4})
    ->Args({16, 1, 8});

void grant_one(benchmark::State& state) {
    const Resource resource = resource_of(8, static_cast<unsigned>(state.range(0)));
    const std::vector<std::string> ids{resource.devices().back().id};
    for (auto round : state) {
        (void)round;
        auto grant = make_grant(resource, {}, ids, "nonce");
        benchmark::DoNotOptimize(grant);
    }
}
BENCHMARK(grant_one)->Arg(1)->Arg(100);

}  // namespace
}  // namespace aliquot::sharing
