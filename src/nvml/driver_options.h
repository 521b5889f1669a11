// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace aliquot::nvml {

struct DriverOptions {
    /// Host path of the driver installation; the library is searched in its usual places beneath
    /// it, then (when it is "/") as the loader searches. A value with ".so" in it is the library
    /// itself.
    std::string driver_root = "/";
    std::chrono::milliseconds deadline{5000};  // for one call to return to its caller
    /// NVML never finds a lost GPU again by itself: after this time the next enumerate() or probe()
    /// initialises it anew.
    std::chrono::milliseconds reopen_after{10000};
    /// For a reset of a GPU, which takes seconds; everybody else waits for it.
    std::chrono::milliseconds reset_deadline{90'000};
    /// For a change of the MIG mode or of an instance; on a real GPU such a call takes up to a few
    /// seconds.
    std::chrono::milliseconds change_deadline{30'000};
};

}  // namespace aliquot::nvml
