// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sim/node/state.h"

namespace aliquot::sim {

enum class FaultKind : std::uint8_t {
    kXid,        // value: the number; sends the event. 79 also loses the GPU
    kLost,       // every call answers GPU_IS_LOST
    kCallError,  // every call on the GPU answers NVML error `value`
    kHang,  // every call on the GPU blocks until the fault is cleared (or `value` ms; 0: no limit)
    kEccCorrected,  // adds `value` errors; sends the event
    kEccUncorrected,
    kThrottle,        // value: bits of NVML clocks event reasons
    kTemperature,     // value: degrees Celsius; 0: back to what the load gives
    kRemapPending,    // a memory row is replaced with the next reset
    kRemapFailed,     // no spare row was left; a reset does not fix it
    kLinkWidth,       // value: PCIe lanes that the link has come up with
    kRetirePending,   // a page is retired with the next reset (GPUs before Ampere)
    kDriverMismatch,  // of the node: nvmlInit answers LIB_RM_VERSION_MISMATCH
    kClear,           // undoes all of these but the counts of ECC errors
};

/// Changes the state as the fault says. `gpu` exists.
/// where    the instance that an Xid is about; other faults are about the whole GPU
/// errors   kInvalidInput: a value that the fault cannot have; kNotFound: no such instance;
///          kUnsupported: a fault of memory that this GPU does not have
Result<Done> apply_fault(State& state, unsigned gpu, FaultKind kind, std::uint64_t value,
                         const Instance& where = {});

/// What a reset of the GPU fixes, MIG included. No process may use it.
void apply_reset(State& state, unsigned gpu);

/// "lost", "call error 999", "hang", "temperature 95 C", "throttle 0x8"; empty: none.
std::string fault_text(const FaultState& fault);

/// Calls block right now.
bool hangs(const FaultState& fault, std::uint64_t now_ns);

/// What the driver advises after this Xid: 0 nothing, 1 GPU reset, 2 node reboot, 4 drain and reset
/// (assumed where an instance is named: not seen on hardware).
/// source   NVIDIA's catalogue of Xid errors, "recovery action"
unsigned recovery_action_of(std::uint64_t xid, const Instance& where = {});

}  // namespace aliquot::sim
