// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tests/contract/guard/driver.h"

/// Every kind of allocation that takes memory of a GPU, behind one face.
namespace aliquot::guardkit {

/// What an allocation gave; which field counts follows from the kind.
struct Held {
    CUdeviceptr pointer = 0;
    CUarray array = nullptr;
    CUmipmappedArray mipmaps = nullptr;
    CUmemGenericAllocationHandle handle = 0;
    CUmemoryPool pool = nullptr;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    std::vector<CUarray> arrays;
};

struct Kind {
    const char* name;
    /// Bytes of device memory that one allocation takes; what is asked for can be less.
    std::uint64_t bytes;
    /// What may be counted beyond that: granularity, pool slack.
    std::uint64_t slack;
    /// On failure `held` is as it was, which is itself checked by allocate_once().
    CUresult (*allocate)(Held& held);
    CUresult (*release)(Held& held);
};

const Kind& kind_named(const char* name);

/// Allocates; checks on a refusal that the outputs were left alone.
CUresult allocate_once(const Kind& kind, Held& held);

/// The current context's stream for asynchronous kinds, made once.
CUstream work_stream();

/// A call that this driver has not (CUDA_ERROR_NOT_SUPPORTED): skips.
void skip_when_unsupported(CUresult result, const char* what);

}  // namespace aliquot::guardkit
