// SPDX-License-Identifier: Apache-2.0
#include "sim/node/events.h"

#include <atomic>

namespace aliquot::sim {

void push_event(State& state, unsigned gpu, std::uint64_t type, std::uint64_t data,
                const Instance& where) {
    const std::uint64_t sequence = state.next_event;
    state.events[sequence % kMaxEvents] = {.sequence = sequence,
                                           .type = type,
                                           .data = data,
                                           .gpu = gpu,
                                           .gpu_instance = where.gpu_instance,
                                           .compute_instance = where.compute_instance,
                                           .reserved = 0};
    std::atomic_ref(state.next_event).store(sequence + 1, std::memory_order_release);
}

}  // namespace aliquot::sim
