// SPDX-License-Identifier: Apache-2.0
// The sample program over the library as a node's directory carries it.
#include <unistd.h>

#include <string>

#include "tests/contract/cuda/cuda_library.h"

namespace aliquot::contract {
namespace {

class SimulatedCudaSample : public SimulatedCuda {
protected:
    /// Its standard output; the program must end well.
    std::string output_of(const std::string& memory) {
        int ends[2];
        EXPECT_EQ(::pipe(ends), 0);
        const std::string library_path = (node().directory() / "lib").native();
        const pid_t child = start_process(
            [&] {
                ::dup2(ends[1], STDOUT_FILENO);
                const char* const words[] = {"aliquot-cuda-sample", "--memory", memory.c_str(),
                                             "--kernels",           "3",        nullptr};
                ::execv(ALIQUOT_BIN_DIR "/aliquot-cuda-sample", const_cast<char* const*>(words));
                ADD_FAILURE() << "there is no aliquot-cuda-sample";
            },
            {{"LD_LIBRARY_PATH", library_path}});
        ::close(ends[1]);
        std::string text;
        char piece[256];
        for (ssize_t count = 0; (count = ::read(ends[0], piece, sizeof piece)) > 0;) {
            text.append(piece, static_cast<std::size_t>(count));
        }
        ::close(ends[0]);
        finish(child);
        return text;
    }
};

TEST_F(SimulatedCudaSample, ComputesRightOnTheNodesDriver) {
    make_node({"a2"});
    const std::string line = output_of("3Gi");
    EXPECT_EQ(line.find("NVIDIA A2: arithmetic right, 3Gi held, "), 0U) << line;
    EXPECT_NE(line.find("3 kernels in "), std::string::npos) << line;
    EXPECT_GE(node().gpus()[0].memory_peak_bytes, 3ULL << 30);
}

TEST_F(SimulatedCudaSample, HoldsNothingOfWhatItsProcessWasBeforeExec) {
    make_node({"a2"});
    const pid_t child = start_process(
        [] {
            make_context();
            allocate(14ULL << 30);
            const char* const words[] = {"aliquot-cuda-sample", "--memory", "14Gi", nullptr};
            ::execv(ALIQUOT_BIN_DIR "/aliquot-cuda-sample", const_cast<char* const*>(words));
        },
        {{"LD_LIBRARY_PATH", (node().directory() / "lib").native()}});
    finish(child);
}

}  // namespace
}  // namespace aliquot::contract
