// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace aliquot::vision {

/// When waiting pictures leave together.
struct BatchRule {
    std::size_t most = 8;
    std::chrono::microseconds most_wait{2000};  // of the oldest; 0: nobody waits for company
};

struct BatchStep {
    std::size_t take = 0;               // that many now; 0: wait
    std::chrono::microseconds wait{0};  // so long at most, when pictures wait; 0: until one comes
};

/// What to do when the device is free. Pure.
/// oldest   how long the first has waited
/// coming   how many further pictures are on their way (being decoded): with none, nobody is waited for
BatchStep next_batch(const BatchRule& rule, std::size_t waiting, std::chrono::microseconds oldest,
                     std::size_t coming);

/// The size a batch is padded to, so that a device sees few shapes: the next power of two, at most `most`.
std::size_t padded_batch(std::size_t count, std::size_t most);

/// What is known of the memory that a worker may use.
struct BatchMemory {
    std::uint64_t limit_bytes = 0;  // of the share
    std::uint64_t fixed_bytes = 0;  // of that already taken: contexts, libraries, what others hold
    std::uint64_t weights_bytes = 0;
    std::uint64_t sample_bytes =
        0;  // of one picture, inputs, outputs and what is between; 0: not known
};

struct BatchChoice {
    std::size_t batch = 1;
    std::string formula;            // how it came about
    std::uint64_t arena_bytes = 0;  // what the runtime may take: limit - fixed - reserve
};

/// floor_pow2(0.8 x GiB of the share), and what fits into the rest if that is less. At least 1, at most `most`.
BatchChoice choose_batch(const BatchMemory& memory, std::size_t most);

}  // namespace aliquot::vision
