// SPDX-License-Identifier: Apache-2.0
// Lines of the input are device ids as kubelet might send them. Whatever they are: a parsed id
// writes itself back, a preference holds only ids that were offered and each once, and a grant is
// of GPUs that exist.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "gpu/replica_id.h"
#include "sharing/offer.h"

using namespace aliquot;

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

sharing::Resource four_gpus(unsigned replicas) {
    sharing::Resource resource{.name = "nvidia.com/gpu", .shared = replicas > 1};
    for (unsigned i = 0; i < 4; ++i) {
        sharing::OfferedGpu offered{.replicas = replicas};
        offered.gpu.index = i;
        offered.gpu.uuid = {"GPU-" + std::to_string(i)};
        resource.gpus.push_back(offered);
    }
    return resource;
}

std::vector<std::string> lines_of(const std::uint8_t* data, std::size_t size) {
    std::vector<std::string> lines(1);
    for (std::size_t i = 0; i < size && lines.size() < 64; ++i) {
        if (data[i] == '\n') {
            lines.emplace_back();
        } else {
            lines.back() += static_cast<char>(data[i]);
        }
    }
    return lines;
}

void check_preference(const sharing::Resource& resource, const std::vector<std::string>& ids,
                      std::size_t size, sharing::AllocationPolicy policy) {
    const std::vector<std::string> must(ids.begin(), ids.begin() + (ids.size() > 2 ? 1 : 0));
    const auto chosen = sharing::prefer(resource, {}, policy, ids, must, size);
    require(chosen.size() <= std::max(size, must.size()));
    require(std::set<std::string>(chosen.begin(), chosen.end()).size() == chosen.size());
    for (const auto& id : chosen) require(std::ranges::find(ids, id) != ids.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t wanted = data[0] % 16U;
    const std::vector<std::string> ids = lines_of(data + 1, size - 1);
    for (const std::string& id : ids) {
        const auto parsed = gpu::parse_replica_id(id);
        if (parsed) require(gpu::parse_replica_id(gpu::to_text(*parsed)).ok());
    }
    for (const unsigned replicas : {1U, 3U}) {
        const sharing::Resource resource = four_gpus(replicas);
        for (const auto policy :
             {sharing::AllocationPolicy::kDistributed, sharing::AllocationPolicy::kPacked}) {
            check_preference(resource, ids, wanted, policy);
        }
        const auto grant = sharing::make_grant(resource, {}, ids, "nonce");
        if (grant) require(!grant->shares.empty() && grant->shares.size() <= 4);
    }
    return 0;
}
