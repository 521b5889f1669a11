// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "abi/nvml.h"
#include "os/dynamic_library.h"
#include "os/temporary_directory.h"
#include "sim/node/node.h"

namespace aliquot::contract {

/// A libnvidia-ml.so.1: the file that ALIQUOT_NVML_LIBRARY names (a real driver's, on a machine
/// with a GPU), else the one that was built, over a simulated node of its own.
class NvmlLibrary : public ::testing::Test {
protected:
    NvmlLibrary();
    ~NvmlLibrary() override;

    /// The simulated node, made on first use. Skipping tests that need one is up to them.
    void make_node(std::vector<sim::GpuRequest> gpus);
    [[nodiscard]] bool is_real() const { return real_; }
    sim::Node& node() { return *node_; }
    [[nodiscard]] const std::filesystem::path& node_directory() const { return directory_; }

    /// nvmlInit_v2, and nvmlShutdown at the end of the test.
    void initialise();

    template <class Function>
    Function function(const char* name) {
        auto* const found = reinterpret_cast<Function>(library_->symbol(name));
        if (found == nullptr) ADD_FAILURE() << "the library has no " << name;
        return found;
    }
    [[nodiscard]] bool has(const char* name) const { return library_->symbol(name) != nullptr; }

    std::vector<nvmlDevice_t> devices();
    nvmlDevice_t device(unsigned index);

private:
    os::TemporaryDirectory temporary_;
    std::filesystem::path directory_ = temporary_.path() / "node";
    std::optional<sim::Node> node_;
    std::optional<os::DynamicLibrary> library_;
    unsigned initialised_ = 0;
    bool real_ = false;
};

/// CALL(nvmlDeviceGetName)(device, ...): the library's function of that name.
#define CALL(name) (function<decltype(&(name))>(#name))

}  // namespace aliquot::contract
