// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tests/contract/guard/driver.h"
#include "tests/contract/guard/probe.h"
#include "tests/contract/guard/spin.h"

namespace aliquot::guardkit::checks {

inline constexpr std::uint64_t kMillisecond = 1'000'000;

/// A kernel that runs for a time.
class Spin {
public:
    Spin() {
        CUmodule module = nullptr;
        if (CU(cuModuleLoadData)(&module, kSimulatedSpin) != CUDA_SUCCESS)
            CHECK_OK(CU(cuModuleLoadData)(&module, kSpin));
        CHECK_OK(CU(cuModuleGetFunction)(&function_, module, "spin"));
        launch_ = CU(cuLaunchKernel);
        wait_ = CU(cuStreamSynchronize);
    }
    CUresult launch(CUstream stream, std::uint64_t nanoseconds, unsigned blocks = 100) const {
        void* arguments[] = {&nanoseconds};
        return launch_(function_, blocks, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
    }
    CUresult wait(CUstream stream) const { return wait_(stream); }

private:
    CUfunction function_ = nullptr;
    decltype(&cuLaunchKernel) launch_;
    decltype(&cuStreamSynchronize) wait_;
};

}  // namespace aliquot::guardkit::checks
