// SPDX-License-Identifier: Apache-2.0
// How programs find the driver's entry points.
#include <dlfcn.h>

#include <cstring>
#include <set>

#include "tests/contract/cuda/cuda_library.h"

namespace aliquot::contract {
namespace {

struct Row {
    const char* base;
    int version;
    bool per_thread;
    const char* exported;
};

constexpr Row kRows[] = {
#define CUDA_SYMBOL(base, version, per_thread, exported) \
    {#base, version, (per_thread) != 0, #exported},
#include "abi/cuda_symbols.inc"
#undef CUDA_SYMBOL
};

class CudaEntryPoints : public CudaLibrary {};
class SimulatedCudaEntryPoints : public SimulatedCuda {};

/// What must be handed out: of the newest version not above the wanted one, per thread if asked.
const Row* expected(const char* base, int version, bool per_thread) {
    const Row* best = nullptr;
    for (const Row& row : kRows) {
        if (std::strcmp(row.base, base) != 0 || row.version > version) continue;
        if (row.per_thread && !per_thread) continue;
        const bool better = best == nullptr || (row.per_thread && !best->per_thread) ||
                            (row.per_thread == best->per_thread && row.version > best->version);
        if (better) best = &row;
    }
    return best;
}

TEST_F(CudaEntryPoints, AreAllThere) {
    in_process([] {
        for (const Row& row : kRows) EXPECT_NE(cuda_symbol(row.exported), nullptr);
    });
}

TEST_F(CudaEntryPoints, AreHandedOutForEachVersionAndKindOfStreamBeforeInitialisation) {
    in_process([] {
        std::set<int> versions;
        for (const Row& row : kRows) {
            versions.insert(row.version - 10);
            versions.insert(row.version);
        }
        auto* const get = CALL(cuGetProcAddress_v2);
        for (const Row& row : kRows) {
            for (const int version : versions) {
                if (version > 13000) continue;
                for (const cuuint64_t flags : {0U, 1U, 2U}) {
                    void* pointer = &pointer;
                    CUdriverProcAddressQueryResult status = -1;
                    ASSERT_EQ(get(row.base, &pointer, version, flags, &status), CUDA_SUCCESS);
                    const Row* const meant = expected(row.base, version, flags == 2);
                    if (meant == nullptr) {
                        ASSERT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT) << row.base;
                        ASSERT_EQ(pointer, nullptr);
                        continue;
                    }
                    ASSERT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS) << row.base << " " << version;
                    ASSERT_EQ(pointer, cuda_symbol(meant->exported)) << row.base << " " << version;
                }
            }
        }
    });
}

TEST_F(CudaEntryPoints, OfUnknownNamesAreNone) {
    in_process([] {
        for (const char* name : {"", "cuNoSuchThing", "cudaMalloc"}) {
            void* pointer = &pointer;
            CUdriverProcAddressQueryResult status = -1;
            EXPECT_EQ(CALL(cuGetProcAddress_v2)(name, &pointer, 12000, 0, &status), CUDA_SUCCESS);
            EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
            EXPECT_EQ(pointer, nullptr);
            EXPECT_EQ(CALL(cuGetProcAddress)(name, &pointer, 12000, 0), CUDA_SUCCESS);
        }
        void* pointer = nullptr;
        EXPECT_EQ(CALL(cuGetProcAddress_v2)(nullptr, &pointer, 12000, 0, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
        EXPECT_EQ(CALL(cuGetProcAddress_v2)("cuInit", nullptr, 12000, 0, nullptr),
                  CUDA_ERROR_INVALID_VALUE);
    });
}

TEST_F(SimulatedCudaEntryPoints, NewerThanTheDriverAreNotHandedOut) {
    make_node({"a2"}, 12010);
    in_process([] {
        void* pointer = nullptr;
        auto* const get = CALL(cuGetProcAddress_v2);
        EXPECT_EQ(get("cuInit", &pointer, 12020, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
        CUdriverProcAddressQueryResult status = -1;
        EXPECT_EQ(get("cuMemPrefetchAsync", &pointer, 12010, 0, &status), CUDA_SUCCESS);
        EXPECT_EQ(pointer, cuda_symbol("cuMemPrefetchAsync"));
        EXPECT_EQ(get("cuCtxGetDevResource", &pointer, 12010, 0, &status), CUDA_SUCCESS);
        EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        int version = 0;
        EXPECT_EQ(CALL(cuDriverGetVersion)(&version), CUDA_SUCCESS);
        EXPECT_EQ(version, 12010);
    });
}

TEST_F(CudaEntryPoints, ThatNeedInitialisationSayThatItIsMissing) {
    in_process([] {
        CUdeviceptr address = 0;
        int count = 0;
        std::size_t bytes = 0;
        EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, 1), CUDA_ERROR_NOT_INITIALIZED);
        EXPECT_EQ(CALL(cuDeviceGetCount)(&count), CUDA_ERROR_NOT_INITIALIZED);
        EXPECT_EQ(CALL(cuMemGetInfo_v2)(&bytes, &bytes), CUDA_ERROR_NOT_INITIALIZED);
        EXPECT_EQ(CALL(cuInit)(0), CUDA_SUCCESS);
        EXPECT_EQ(CALL(cuMemAlloc_v2)(&address, 1), CUDA_ERROR_INVALID_CONTEXT);
    });
}

}  // namespace
}  // namespace aliquot::contract
