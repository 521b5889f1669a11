// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/nvml_library.h"

#include <cstdlib>

namespace aliquot::contract {

NvmlLibrary::NvmlLibrary() {
    const char* const named = std::getenv("ALIQUOT_NVML_LIBRARY");  // NOLINT(concurrency-mt-unsafe)
    real_ = named != nullptr && *named != '\0';
    const std::string path = real_ ? named : ALIQUOT_SIM_DIR "/libnvidia-ml.so.1";
    auto library = os::DynamicLibrary::open({path});
    EXPECT_TRUE(library) << library.error().message;
    if (library) library_ = *std::move(library);
    if (!real_) {
        ::setenv("ALIQUOT_SIM_STATE", directory_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
        ::unsetenv("ALIQUOT_SIM_VISIBLE_DEVICES");             // NOLINT(concurrency-mt-unsafe)
    }
}

NvmlLibrary::~NvmlLibrary() {
    while (initialised_ > 0) {
        --initialised_;
        EXPECT_EQ(CALL(nvmlShutdown)(), NVML_SUCCESS);
    }
    if (!real_) ::unsetenv("ALIQUOT_SIM_STATE");  // NOLINT(concurrency-mt-unsafe)
}

void NvmlLibrary::make_node(std::vector<sim::GpuRequest> gpus) {
    if (real_) return;
    auto made = sim::Node::create(directory_, {.gpus = std::move(gpus)},
                                  ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", {});
    ASSERT_TRUE(made) << made.error().message;
    node_ = *std::move(made);
}

void NvmlLibrary::initialise() {
    ASSERT_EQ(CALL(nvmlInit_v2)(), NVML_SUCCESS);
    ++initialised_;
}

std::vector<nvmlDevice_t> NvmlLibrary::devices() {
    unsigned count = 0;
    EXPECT_EQ(CALL(nvmlDeviceGetCount_v2)(&count), NVML_SUCCESS);
    std::vector<nvmlDevice_t> all;
    for (unsigned i = 0; i < count; ++i) all.push_back(device(i));
    return all;
}

nvmlDevice_t NvmlLibrary::device(unsigned index) {
    nvmlDevice_t found = nullptr;
    EXPECT_EQ(CALL(nvmlDeviceGetHandleByIndex_v2)(index, &found), NVML_SUCCESS);
    return found;
}

}  // namespace aliquot::contract
