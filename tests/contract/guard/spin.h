// SPDX-License-Identifier: Apache-2.0
#pragma once

/// A kernel "spin" that runs for as many nanoseconds as its one argument (64 bits) says, whatever the
/// grid, for cuModuleLoadData. The first is the simulated device's; a driver that knows it not takes
/// the second, which is PTX.
namespace aliquot::guardkit {

inline constexpr char kSimulatedSpin[] = "aliquot-kernels 1\nkernel spin\n";

inline constexpr char kSpin[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry spin(.param .u64 duration)\n{\n"
    ".reg .pred %p<2>;\n.reg .b64 %rd<5>;\n"
    "ld.param.u64 %rd1, [duration];\nmov.u64 %rd2, %globaltimer;\n"
    "again:\nmov.u64 %rd3, %globaltimer;\nsub.u64 %rd4, %rd3, %rd2;\n"
    "setp.lt.u64 %p1, %rd4, %rd1;\n@%p1 bra again;\nret;\n}\n";

}  // namespace aliquot::guardkit
