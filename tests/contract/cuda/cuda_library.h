// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "abi/cuda.h"
#include "os/temporary_directory.h"
#include "sim/node/node.h"

namespace aliquot::contract {

/// A libcuda.so.1: the file that ALIQUOT_CUDA_LIBRARY names (a real driver's, on a machine with a
/// GPU), else the one that was built, over a simulated node. A process uses a driver once, so every
/// piece of a test that does runs in a child of its own; what it expects counts for the test.
class CudaLibrary : public ::testing::Test {
protected:
    using Environment = std::map<std::string, std::string>;

    CudaLibrary();

    /// The node, in place of the one there was.
    void make_node(const std::vector<std::string>& gpus, int cuda_version = 13000);
    sim::Node& node() { return *node_; }
    [[nodiscard]] bool is_real() const { return real_; }

    /// Runs `body` in a child that has opened the library. Returns when it has ended.
    void in_process(const std::function<void()>& body, const Environment& environment = {});
    /// The same, without waiting: the child's pid. finish() waits.
    pid_t start_process(const std::function<void()>& body, const Environment& environment = {});
    void finish(pid_t child);

    void SetUp() override;
    void TearDown() override;

private:
    os::TemporaryDirectory temporary_;
    std::optional<sim::Node> node_;
    std::vector<pid_t> children_;
    bool real_ = false;
    std::string path_;
};

/// The same for tests that need a simulated node: skipped on a real driver.
class SimulatedCuda : public CudaLibrary {
protected:
    void SetUp() override {
        if (is_real()) GTEST_SKIP() << "needs a simulated node";
    }
};

/// In such a child: an entry point by its exported name.
void* cuda_symbol(const char* name);

/// CALL(cuMemAlloc_v2)(&address, bytes)
#define CALL(name) (reinterpret_cast<decltype(&(name))>(::aliquot::contract::cuda_symbol(#name)))

/// In such a child: cuInit and a context on a device.
CUcontext make_context(CUdevice device = 0);
std::size_t free_memory();
CUdeviceptr allocate(std::size_t bytes);

/// A kernel of the images that the simulation can compute; "anything else" has any name.
CUfunction load_kernel(const char* name);
inline constexpr const char* kImage =
    "aliquot-kernels 1\nkernel vector_add\nkernel fill\nkernel matmul\nkernel spin\n";
/// Gives the device this much work.
void spin(std::uint64_t nanoseconds, CUstream stream = nullptr);

}  // namespace aliquot::contract
