// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/cuda/cuda_library.h"

#include <dlfcn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace aliquot::contract {
namespace {

void* library = nullptr;  // of a child

}  // namespace

CudaLibrary::CudaLibrary() {
    const char* const named = std::getenv("ALIQUOT_CUDA_LIBRARY");  // NOLINT(concurrency-mt-unsafe)
    real_ = named != nullptr && *named != '\0';
    path_ = real_ ? named : ALIQUOT_SIM_DIR "/libcuda.so.1";
}

void CudaLibrary::SetUp() {
    if (!real_) make_node({"a2"});
}

void CudaLibrary::TearDown() {
    for (const pid_t child : children_) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
}

void CudaLibrary::make_node(const std::vector<std::string>& gpus, int cuda_version) {
    const auto directory = temporary_.path() / "node";
    if (node_) {
        node_.reset();
        ASSERT_TRUE(sim::Node::destroy(directory));
    }
    sim::NodeOptions options{.gpus = {}, .cuda_version = cuda_version};
    for (const std::string& gpu : gpus) {
        const auto request = sim::parse_gpu_request(gpu);
        ASSERT_TRUE(request);
        options.gpus.push_back(*request);
    }
    auto made = sim::Node::create(directory, options, ALIQUOT_SIM_DIR "/libnvidia-ml.so.1", {});
    ASSERT_TRUE(made) << made.error().message;
    node_ = *std::move(made);
}

pid_t CudaLibrary::start_process(const std::function<void()>& body,
                                 const Environment& environment) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child != 0) {
        children_.push_back(child);
        return child;
    }
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_PRELOAD",
                             "ALIQUOT_SIM_VISIBLE_DEVICES"}) {
        ::unsetenv(name);  // NOLINT(concurrency-mt-unsafe)
    }
    if (!real_) {
        const auto directory = temporary_.path() / "node";
        ::setenv("ALIQUOT_SIM_STATE", directory.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    }
    for (const auto& [name, value] : environment) {
        ::setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    }
    library = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << ::dlerror();  // NOLINT(concurrency-mt-unsafe)
    if (library != nullptr) body();
    std::fflush(nullptr);
    ::_exit(HasFailure() ? 1 : 0);
}

void CudaLibrary::finish(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    std::erase(children_, child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
        << "a child ended with " << status << "; what it expected stands above";
}

void CudaLibrary::in_process(const std::function<void()>& body, const Environment& environment) {
    finish(start_process(body, environment));
}

void* cuda_symbol(const char* name) {
    void* const found = ::dlsym(library, name);
    if (found == nullptr) ADD_FAILURE() << "the library has no " << name;
    return found;
}

CUcontext make_context(CUdevice device) {
    EXPECT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
    CUcontext context = nullptr;
    EXPECT_EQ(CALL(cuCtxCreate_v2)(&context, 0, device), CUDA_SUCCESS);
    return context;
}

std::size_t free_memory() {
    std::size_t bytes = 0;
    std::size_t total = 0;
    EXPECT_EQ(CALL(cuMemGetInfo_v2)(&bytes, &total), CUDA_SUCCESS);
    return bytes;
}

CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, bytes), CUDA_SUCCESS) << bytes;
    return address;
}

CUfunction load_kernel(const char* name) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(CALL(cuModuleLoadData)(&module, kImage), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuModuleGetFunction)(&function, module, name), CUDA_SUCCESS);
    return function;
}

void spin(std::uint64_t nanoseconds, CUstream stream) {
    static CUfunction const kernel = load_kernel("spin");
    void* arguments[] = {&nanoseconds};
    EXPECT_EQ(CALL(cuLaunchKernel)(kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr),
              CUDA_SUCCESS);
}

}  // namespace aliquot::contract
