// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "sim/cuda/stream.h"

/// Functions of the program that a stream calls when it reaches them: from a thread of ours, one
/// after the other, which starts with the first of them.
namespace aliquot::sim {

/// To be called when the stream has done what it was given so far.
void add_host_call(CUstream_st& stream, std::function<void()> call);

/// A number that a stream keeps of its last call; 0: it had none.
bool host_calls_done(std::uint64_t number);
void wait_for_host_calls(std::uint64_t number);

}  // namespace aliquot::sim
