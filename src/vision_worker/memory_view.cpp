// SPDX-License-Identifier: Apache-2.0
#include "vision_worker/memory_view.h"

#include <sched.h>

#include <algorithm>

#include "base/number.h"
#include "base/text.h"
#include "os/root.h"

namespace aliquot::vision_worker {

vision::BatchMemory batch_memory(const GpuShare& share, std::uint64_t asked_bytes,
                                 std::uint64_t model_bytes) {
    const std::uint64_t taken =
        share.total_bytes > share.free_bytes ? share.total_bytes - share.free_bytes : 0;
    vision::BatchMemory memory{
        .limit_bytes = share.total_bytes, .fixed_bytes = taken, .weights_bytes = model_bytes};
    if (asked_bytes > 0 && asked_bytes < share.total_bytes) {
        // What others hold lies outside of it, unless there is less left than was asked for.
        memory.limit_bytes = std::min(asked_bytes, share.free_bytes);
        memory.fixed_bytes = 0;
    }
    return memory;
}

int cores_of_quota(std::string_view text) {
    const auto words = words_of(text);
    if (words.size() != 2) return 0;
    const auto quota = parse_number<std::uint64_t>(words[0]);
    const auto period = parse_number<std::uint64_t>(words[1]);
    if (!quota || !period || *period == 0) return 0;
    return static_cast<int>(std::clamp<std::uint64_t>(*quota / *period, 1, 1024));
}

int allowed_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    int cores = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    if (const auto text = os::Root().read("/sys/fs/cgroup/cpu.max", 256)) {
        if (const int quota = cores_of_quota(*text); quota > 0) cores = std::min(cores, quota);
    }
    return std::max(cores, 1);
}

}  // namespace aliquot::vision_worker
