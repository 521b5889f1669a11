// SPDX-License-Identifier: Apache-2.0
//
// Questions about MIG that every NVIDIA driver answers alike, simulated or real. On a real machine
// they are asked of a GPU whose mode is on and that nobody has cut; it is left as it was found.
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "tests/contract/nvml_library.h"

namespace aliquot::contract {
namespace {

struct Profile {
    unsigned index = 0;
    nvmlGpuInstanceProfileInfo_t info{};
    std::vector<nvmlGpuInstancePlacement_t> placements;
};

class MigContract : public NvmlLibrary {
protected:
    void SetUp() override {
        make_node({{.model = "a100-40", .count = 2}});
        if (!is_real()) {
            ASSERT_TRUE(node().cut(1, ""));
        }
        initialise();
        for (nvmlDevice_t candidate : devices()) {
            unsigned current = 0;
            unsigned pending = 0;
            const auto mode = CALL(nvmlDeviceGetMigMode)(candidate, &current, &pending);
            if (mode == NVML_SUCCESS && current == NVML_DEVICE_MIG_ENABLE &&
                instances(candidate) == 0)
                gpu_ = candidate;
            else
                other_ = candidate;
        }
        if (gpu_ == nullptr) GTEST_SKIP() << "no GPU in MIG mode that nobody has cut";
    }
    void TearDown() override {
        for (nvmlComputeInstance_t instance : compute_) CALL(nvmlComputeInstanceDestroy)(instance);
        for (nvmlGpuInstance_t instance : made_) CALL(nvmlGpuInstanceDestroy)(instance);
    }

    std::vector<Profile> profiles(nvmlDevice_t device) {
        std::vector<Profile> found;
        for (unsigned index = 0; index < NVML_GPU_INSTANCE_PROFILE_COUNT; ++index) {
            Profile profile{.index = index};
            const auto result =
                CALL(nvmlDeviceGetGpuInstanceProfileInfo)(device, index, &profile.info);
            if (result != NVML_SUCCESS) continue;
            unsigned count = 0;
            EXPECT_EQ(CALL(nvmlDeviceGetGpuInstancePossiblePlacements_v2)(device, profile.info.id,
                                                                          nullptr, &count),
                      NVML_SUCCESS);
            profile.placements.resize(count);
            EXPECT_EQ(CALL(nvmlDeviceGetGpuInstancePossiblePlacements_v2)(
                          device, profile.info.id, profile.placements.data(), &count),
                      NVML_SUCCESS);
            found.push_back(std::move(profile));
        }
        return found;
    }
    unsigned instances(nvmlDevice_t device) {
        unsigned all = 0;
        for (const Profile& profile : profiles(device)) {
            std::vector<nvmlGpuInstance_t> room(profile.info.instanceCount);
            unsigned count = 0;
            EXPECT_EQ(CALL(nvmlDeviceGetGpuInstances)(device, profile.info.id, room.data(), &count),
                      NVML_SUCCESS);
            all += count;
        }
        return all;
    }
    /// The profile that can be there most often: the smallest.
    Profile small() {
        Profile best;
        for (const Profile& profile : profiles(gpu_)) {
            if (profile.info.instanceCount > best.info.instanceCount) best = profile;
        }
        return best;
    }
    nvmlGpuInstance_t make(unsigned profile, const nvmlGpuInstancePlacement_t* place = nullptr) {
        nvmlGpuInstance_t instance = nullptr;
        const auto result =
            place == nullptr
                ? CALL(nvmlDeviceCreateGpuInstance)(gpu_, profile, &instance)
                : CALL(nvmlDeviceCreateGpuInstanceWithPlacement)(gpu_, profile, place, &instance);
        EXPECT_EQ(result, NVML_SUCCESS);
        if (result == NVML_SUCCESS) made_.push_back(instance);
        return instance;
    }
    nvmlComputeInstance_t fill(nvmlGpuInstance_t instance, unsigned slices) {
        for (unsigned index = 0; index < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; ++index) {
            nvmlComputeInstanceProfileInfo_t info{};
            if (CALL(nvmlGpuInstanceGetComputeInstanceProfileInfo)(instance, index, 0, &info) !=
                    NVML_SUCCESS ||
                info.sliceCount != slices) {
                continue;
            }
            nvmlComputeInstance_t made = nullptr;
            EXPECT_EQ(CALL(nvmlGpuInstanceCreateComputeInstance)(instance, info.id, &made),
                      NVML_SUCCESS);
            compute_.push_back(made);
            return made;
        }
        ADD_FAILURE() << "no compute profile of " << slices << " slices";
        return nullptr;
    }
    /// The MIG device of a compute instance.
    nvmlDevice_t device_of(nvmlComputeInstance_t compute) {
        nvmlComputeInstanceInfo_t wanted{};
        nvmlGpuInstanceInfo_t parent{};
        EXPECT_EQ(CALL(nvmlComputeInstanceGetInfo_v2)(compute, &wanted), NVML_SUCCESS);
        EXPECT_EQ(CALL(nvmlGpuInstanceGetInfo)(wanted.gpuInstance, &parent), NVML_SUCCESS);
        unsigned most = 0;
        EXPECT_EQ(CALL(nvmlDeviceGetMaxMigDeviceCount)(gpu_, &most), NVML_SUCCESS);
        for (unsigned index = 0; index < most; ++index) {
            nvmlDevice_t device = nullptr;
            if (CALL(nvmlDeviceGetMigDeviceHandleByIndex)(gpu_, index, &device) != NVML_SUCCESS) {
                continue;
            }
            unsigned gi = 0;
            unsigned ci = 0;
            EXPECT_EQ(CALL(nvmlDeviceGetGpuInstanceId)(device, &gi), NVML_SUCCESS);
            EXPECT_EQ(CALL(nvmlDeviceGetComputeInstanceId)(device, &ci), NVML_SUCCESS);
            if (gi == parent.id && ci == wanted.id) return device;
        }
        ADD_FAILURE() << "no MIG device of instance " << parent.id << "/" << wanted.id;
        return nullptr;
    }
    std::string uuid_of(nvmlDevice_t device) {
        std::array<char, NVML_DEVICE_UUID_V2_BUFFER_SIZE> uuid{};
        EXPECT_EQ(CALL(nvmlDeviceGetUUID)(device, uuid.data(), uuid.size()), NVML_SUCCESS);
        return uuid.data();
    }
    std::string name_of(nvmlDevice_t device) {
        std::array<char, NVML_DEVICE_NAME_V2_BUFFER_SIZE> name{};
        EXPECT_EQ(CALL(nvmlDeviceGetName)(device, name.data(), name.size()), NVML_SUCCESS);
        return name.data();
    }
    unsigned left(unsigned profile) {
        unsigned count = 4711;
        EXPECT_EQ(CALL(nvmlDeviceGetGpuInstanceRemainingCapacity)(gpu_, profile, &count),
                  NVML_SUCCESS);
        return count;
    }

    nvmlDevice_t gpu_ = nullptr;    // in MIG mode
    nvmlDevice_t other_ = nullptr;  // another one, if any
    std::vector<nvmlGpuInstance_t> made_;
    std::vector<nvmlComputeInstance_t> compute_;
};

TEST_F(MigContract, TellsEveryProfileInEachWay) {
    std::set<unsigned> ids;
    const auto all = profiles(gpu_);
    EXPECT_GE(all.size(), 3U);
    for (const Profile& profile : all) {
        EXPECT_TRUE(ids.insert(profile.info.id).second) << profile.info.id;
        EXPECT_GE(profile.placements.size(), profile.info.instanceCount > 1 ? 2U : 1U);
        EXPECT_EQ(left(profile.info.id), profile.info.instanceCount);
        nvmlGpuInstanceProfileInfo_v2_t second{.version = nvmlGpuInstanceProfileInfo_v2};
        ASSERT_EQ(CALL(nvmlDeviceGetGpuInstanceProfileInfoV)(gpu_, profile.index, &second),
                  NVML_SUCCESS);
        EXPECT_EQ(second.id, profile.info.id);
        EXPECT_EQ(second.memorySizeMB, profile.info.memorySizeMB);
        EXPECT_TRUE(
            std::string(second.name).starts_with("MIG " + std::to_string(second.sliceCount) + "g."))
            << second.name;
        nvmlGpuInstanceProfileInfo_v3_t third{.version = nvmlGpuInstanceProfileInfo_v3};
        if (CALL(nvmlDeviceGetGpuInstanceProfileInfoV)(
                gpu_, profile.index, reinterpret_cast<nvmlGpuInstanceProfileInfo_v2_t*>(&third)) ==
            NVML_SUCCESS) {
            EXPECT_EQ(third.multiprocessorCount, profile.info.multiprocessorCount);
            EXPECT_STREQ(third.name, second.name);
        }
        second.version = 1;
        EXPECT_EQ(CALL(nvmlDeviceGetGpuInstanceProfileInfoV)(gpu_, profile.index, &second),
                  NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    }
    nvmlGpuInstanceProfileInfo_t info{};
    EXPECT_EQ(
        CALL(nvmlDeviceGetGpuInstanceProfileInfo)(gpu_, NVML_GPU_INSTANCE_PROFILE_COUNT, &info),
        NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(
        CALL(nvmlDeviceGetGpuInstanceProfileInfo)(gpu_, NVML_GPU_INSTANCE_PROFILE_8_SLICE, &info),
        NVML_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(CALL(nvmlDeviceGetGpuInstanceProfileInfo)(gpu_, 0, nullptr),
              NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(MigContract, MakesAnInstanceWhereItWasAsked) {
    const Profile profile = small();
    const auto place = profile.placements.at(1);
    nvmlGpuInstance_t instance = make(profile.info.id, &place);
    nvmlGpuInstanceInfo_t info{};
    ASSERT_EQ(CALL(nvmlGpuInstanceGetInfo)(instance, &info), NVML_SUCCESS);
    EXPECT_EQ(info.device, gpu_);
    EXPECT_EQ(info.profileId, profile.info.id);
    EXPECT_EQ(info.placement.start, place.start);
    EXPECT_EQ(info.placement.size, place.size);
    EXPECT_EQ(left(profile.info.id), profile.info.instanceCount - 1);

    nvmlGpuInstance_t again = nullptr;
    EXPECT_EQ(CALL(nvmlDeviceGetGpuInstanceById)(gpu_, info.id, &again), NVML_SUCCESS);
    EXPECT_EQ(again, instance);
    std::vector<nvmlGpuInstance_t> listed(profile.info.instanceCount);
    unsigned count = 0;
    ASSERT_EQ(CALL(nvmlDeviceGetGpuInstances)(gpu_, profile.info.id, listed.data(), &count),
              NVML_SUCCESS);
    ASSERT_EQ(count, 1U);
    EXPECT_EQ(listed[0], instance);

    EXPECT_EQ(CALL(nvmlDeviceCreateGpuInstanceWithPlacement)(gpu_, profile.info.id, &place, &again),
              NVML_ERROR_INSUFFICIENT_RESOURCES);
    const nvmlGpuInstancePlacement_t nowhere{.start = 77, .size = place.size};
    EXPECT_NE(
        CALL(nvmlDeviceCreateGpuInstanceWithPlacement)(gpu_, profile.info.id, &nowhere, &again),
        NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlDeviceGetGpuInstanceById)(gpu_, 4711, &again), NVML_ERROR_NOT_FOUND);
}

TEST_F(MigContract, ChoosesAPlaceUntilItIsFull) {
    const Profile profile = small();
    std::set<unsigned> starts;
    for (unsigned i = 0; i < profile.info.instanceCount; ++i) {
        nvmlGpuInstanceInfo_t info{};
        ASSERT_EQ(CALL(nvmlGpuInstanceGetInfo)(make(profile.info.id), &info), NVML_SUCCESS);
        EXPECT_TRUE(starts.insert(info.placement.start).second) << info.placement.start;
    }
    nvmlGpuInstance_t one_more = nullptr;
    EXPECT_EQ(CALL(nvmlDeviceCreateGpuInstance)(gpu_, profile.info.id, &one_more),
              NVML_ERROR_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(left(profile.info.id), 0U);
    EXPECT_NE(CALL(nvmlDeviceCreateGpuInstance)(gpu_, 4711, &one_more), NVML_SUCCESS);
}

TEST_F(MigContract, ShowsAComputeInstanceAsADevice) {
    const Profile profile = small();
    nvmlGpuInstance_t instance = make(profile.info.id);
    EXPECT_EQ(CALL(nvmlGpuInstanceDestroy)(nullptr), NVML_ERROR_INVALID_ARGUMENT);
    nvmlComputeInstance_t compute = fill(instance, profile.info.sliceCount);
    EXPECT_EQ(CALL(nvmlGpuInstanceDestroy)(instance), NVML_ERROR_IN_USE);
    nvmlDevice_t device = device_of(compute);
    ASSERT_NE(device, nullptr);

    unsigned is_mig = 0;
    nvmlDevice_t parent = nullptr;
    EXPECT_EQ(CALL(nvmlDeviceIsMigDeviceHandle)(device, &is_mig), NVML_SUCCESS);
    EXPECT_EQ(is_mig, 1U);
    EXPECT_EQ(CALL(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)(device, &parent), NVML_SUCCESS);
    EXPECT_EQ(parent, gpu_);
    EXPECT_NE(CALL(nvmlDeviceGetDeviceHandleFromMigDeviceHandle)(gpu_, &parent), NVML_SUCCESS);

    nvmlDevice_t found = nullptr;
    const std::string uuid = uuid_of(device);
    EXPECT_TRUE(uuid.starts_with("MIG-")) << uuid;
    EXPECT_EQ(CALL(nvmlDeviceGetHandleByUUID)(uuid.c_str(), &found), NVML_SUCCESS);
    EXPECT_EQ(found, device);
    EXPECT_TRUE(name_of(device).starts_with(name_of(gpu_) + " MIG 1g.")) << name_of(device);

    nvmlDeviceAttributes_t attributes{};
    ASSERT_EQ(CALL(nvmlDeviceGetAttributes_v2)(device, &attributes), NVML_SUCCESS);
    EXPECT_EQ(attributes.gpuInstanceSliceCount, profile.info.sliceCount);
    EXPECT_EQ(attributes.computeInstanceSliceCount, profile.info.sliceCount);
    EXPECT_EQ(attributes.multiprocessorCount, profile.info.multiprocessorCount);
    EXPECT_EQ(attributes.memorySizeMB, profile.info.memorySizeMB);
    EXPECT_NE(CALL(nvmlDeviceGetAttributes_v2)(gpu_, &attributes), NVML_SUCCESS);

    nvmlMemory_t slice{};
    nvmlMemory_t whole{};
    ASSERT_EQ(CALL(nvmlDeviceGetMemoryInfo)(device, &slice), NVML_SUCCESS);
    ASSERT_EQ(CALL(nvmlDeviceGetMemoryInfo)(gpu_, &whole), NVML_SUCCESS);
    EXPECT_LT(slice.total, whole.total / 3);
    EXPECT_EQ(slice.total, slice.used + slice.free);
    unsigned processes = 0;
    EXPECT_EQ(CALL(nvmlDeviceGetComputeRunningProcesses_v3)(device, &processes, nullptr),
              NVML_SUCCESS);
}

TEST_F(MigContract, DoesNotTellUtilization) {
    const Profile profile = small();
    nvmlDevice_t device = device_of(fill(make(profile.info.id), profile.info.sliceCount));
    nvmlUtilization_t busy{};
    EXPECT_EQ(CALL(nvmlDeviceGetUtilizationRates)(gpu_, &busy), NVML_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(CALL(nvmlDeviceGetUtilizationRates)(device, &busy), NVML_ERROR_NOT_SUPPORTED);
    nvmlEventSet_t set = nullptr;
    ASSERT_EQ(CALL(nvmlEventSetCreate)(&set), NVML_SUCCESS);
    EXPECT_NE(CALL(nvmlDeviceRegisterEvents)(device, nvmlEventTypeXidCriticalError, set),
              NVML_SUCCESS);
    EXPECT_EQ(CALL(nvmlEventSetFree)(set), NVML_SUCCESS);
}

TEST_F(MigContract, CutsAnInstanceIntoComputeInstances) {
    unsigned slices = 0;
    nvmlGpuInstance_t instance = nullptr;
    for (const Profile& profile : profiles(gpu_)) {
        if (profile.info.sliceCount != 2 && profile.info.sliceCount != 3) continue;
        instance = make(profile.info.id);
        slices = profile.info.sliceCount;
        break;
    }
    ASSERT_NE(instance, nullptr);
    nvmlComputeInstance_t first = fill(instance, 1);
    nvmlComputeInstance_t second = fill(instance, 1);
    unsigned count = 4711;
    EXPECT_EQ(CALL(nvmlGpuInstanceGetComputeInstanceRemainingCapacity)(instance, 0, &count),
              NVML_SUCCESS);
    EXPECT_EQ(count, slices - 2);
    nvmlComputeInstanceInfo_t a{};
    nvmlComputeInstanceInfo_t b{};
    ASSERT_EQ(CALL(nvmlComputeInstanceGetInfo_v2)(first, &a), NVML_SUCCESS);
    ASSERT_EQ(CALL(nvmlComputeInstanceGetInfo_v2)(second, &b), NVML_SUCCESS);
    EXPECT_EQ(a.device, gpu_);
    EXPECT_EQ(a.gpuInstance, instance);
    EXPECT_NE(a.id, b.id);
    EXPECT_NE(uuid_of(device_of(first)), uuid_of(device_of(second)));
    EXPECT_TRUE(name_of(device_of(first)).find(" MIG 1c.") != std::string::npos);
    std::array<nvmlComputeInstance_t, 8> listed{};
    ASSERT_EQ(CALL(nvmlGpuInstanceGetComputeInstances)(instance, 0, listed.data(), &count),
              NVML_SUCCESS);
    EXPECT_EQ(count, 2U);
    nvmlComputeInstance_t again = nullptr;
    EXPECT_EQ(CALL(nvmlGpuInstanceGetComputeInstanceById)(instance, b.id, &again), NVML_SUCCESS);
    EXPECT_EQ(again, second);
}

TEST_F(MigContract, KnowsOldHandlesNoMore) {
    const Profile profile = small();
    const auto place = profile.placements.front();
    nvmlGpuInstance_t instance = make(profile.info.id, &place);
    nvmlComputeInstance_t compute = fill(instance, profile.info.sliceCount);
    nvmlDevice_t device = device_of(compute);
    const std::string uuid = uuid_of(device);
    ASSERT_EQ(CALL(nvmlComputeInstanceDestroy)(compute), NVML_SUCCESS);
    ASSERT_EQ(CALL(nvmlGpuInstanceDestroy)(instance), NVML_SUCCESS);
    compute_.clear();
    made_.clear();
    if (is_real()) GTEST_SKIP() << "drivers do not promise to survive the rest";
    fill(make(profile.info.id, &place), profile.info.sliceCount);  // of the same ids

    nvmlDevice_t found = nullptr;
    nvmlMemory_t memory{};
    nvmlGpuInstanceInfo_t info{};
    nvmlComputeInstanceInfo_t compute_info{};
    unsigned id = 0;
    EXPECT_EQ(CALL(nvmlDeviceGetHandleByUUID)(uuid.c_str(), &found), NVML_ERROR_NOT_FOUND);
    EXPECT_EQ(CALL(nvmlDeviceGetMemoryInfo)(device, &memory), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(CALL(nvmlDeviceGetGpuInstanceId)(device, &id), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(CALL(nvmlGpuInstanceGetInfo)(instance, &info), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(CALL(nvmlGpuInstanceDestroy)(instance), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(CALL(nvmlComputeInstanceGetInfo_v2)(compute, &compute_info),
              NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(CALL(nvmlComputeInstanceDestroy)(compute), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(MigContract, CutsNothingWhileItsModeIsOff) {
    if (other_ == nullptr) GTEST_SKIP() << "only one GPU";
    unsigned current = 0;
    unsigned pending = 0;
    if (CALL(nvmlDeviceGetMigMode)(other_, &current, &pending) == NVML_SUCCESS && current != 0) {
        GTEST_SKIP() << "every GPU is in MIG mode";
    }
    nvmlGpuInstance_t instance = nullptr;
    nvmlDevice_t device = nullptr;
    EXPECT_EQ(CALL(nvmlDeviceCreateGpuInstance)(other_, 0, &instance), NVML_ERROR_NOT_SUPPORTED);
    EXPECT_NE(CALL(nvmlDeviceGetMigDeviceHandleByIndex)(other_, 0, &device), NVML_SUCCESS);
}

}  // namespace
}  // namespace aliquot::contract
