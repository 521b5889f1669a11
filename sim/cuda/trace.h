// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A line for each call of the driver's interface, where ALIQUOT_SIM_CUDA_TRACE says: a file, or
/// "stderr". Thread-safe.
namespace aliquot::sim {

extern bool tracing;  // set once, when the library is loaded

void trace(const char* entry_point, const char* remark);

/// To stand at the beginning of each entry point.
inline void called(const char* entry_point) {
    if (tracing) [[unlikely]]
        trace(entry_point, "");
}

}  // namespace aliquot::sim
