// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/physical.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "sim/cuda/driver.h"
#include "sim/cuda/objects.h"

namespace aliquot::sim {
namespace {

// The name of a file with pages of a device says which, for a process that imports it.
constexpr std::string_view kFileName = "cuda-memory-";

std::string uuid_text(const CUuuid& uuid) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const char byte : uuid.bytes) {
        const auto value = static_cast<unsigned char>(byte);
        text += kDigits[value >> 4U];
        text += kDigits[value & 15U];
    }
    return text;
}

/// Exported memory of this process, and how much of it only descriptors keep. Under the lock.
std::set<Physical*>& exported() { return immortal<std::set<Physical*>>(); }
std::atomic<unsigned> exported_only{0};

bool same_file(int left, int right) {
    struct stat a {};
    struct stat b {};
    return ::fstat(left, &a) == 0 && ::fstat(right, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/// Whether this process has its file open beside us.
bool is_open_elsewhere(const Physical& physical) {
    DIR* const directory = ::opendir("/proc/self/fd");
    if (directory == nullptr) return false;
    bool open = false;
    while (const dirent* entry = ::readdir(directory)) {
        const int file = std::atoi(entry->d_name);
        if (entry->d_name[0] != '.' && file != physical.file && file != ::dirfd(directory) &&
            same_file(file, physical.file)) {
            open = true;
        }
    }
    ::closedir(directory);
    return open;
}

void end_if_over(Physical& physical) {
    if (physical.handles > 0 || physical.mappings > 0) return;
    if (physical.exported && is_open_elsewhere(physical)) {
        exported_only = 1;
        return;
    }
    exported().erase(&physical);
    for (const auto& [offset, memory] : physical.bound) drop_mapping(*memory);
    if (physical.device != nullptr && physical.device->contexts > 0) {
        physical.device->account.shrink(physical.bytes);
    }
    if (physical.file >= 0) ::close(physical.file);
    objects<Physical>().destroy(&physical);
}

std::string name_of_file(int file) {
    std::array<char, 256> target{};
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    const ssize_t length = ::readlink(link.c_str(), target.data(), target.size() - 1);
    return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : "";
}

}  // namespace

std::mutex& physical_mutex() { return immortal<std::mutex>(); }

PhysicalMade make_physical(const CUmemAllocationProp& props, std::uint64_t bytes, Device* payer) {
    if (payer != nullptr) {
        const CUresult paid = payer->account.grow(bytes);
        if (paid != CUDA_SUCCESS) return {paid, nullptr};
    }
    Physical* const made = objects<Physical>().make();
    made->device = payer;
    made->props = props;
    made->bytes = bytes;
    return {CUDA_SUCCESS, made};
}

Physical* physical_of(CUmemGenericAllocationHandle handle) {
    auto* const physical = reinterpret_cast<Physical*>(handle);
    return valid(physical) ? physical : nullptr;
}

CUmemGenericAllocationHandle handle_of(Physical& physical) {
    return reinterpret_cast<CUmemGenericAllocationHandle>(&physical);
}

void drop_handle(Physical& physical) {
    if (physical.handles > 0) --physical.handles;
    end_if_over(physical);
}

void drop_mapping(Physical& physical) {
    if (physical.mappings > 0) --physical.mappings;
    end_if_over(physical);
}

int file_of(Physical& physical) {
    if (physical.file >= 0 || physical.multicast) return physical.file;
    std::string name(kFileName);
    name += physical.device == nullptr ? "host" : uuid_text(physical.device->uuid);
    const int file = ::memfd_create(name.c_str(), MFD_CLOEXEC);
    if (file < 0) return -1;
    if (::ftruncate(file, static_cast<off_t>(physical.bytes)) != 0) {
        ::close(file);
        return -1;
    }
    physical.file = file;
    return file;
}

std::optional<int> device_of_file(int file) {
    const std::string name = name_of_file(file);
    const auto at = name.find(kFileName);
    if (at == std::string::npos) return std::nullopt;
    const Driver& driver = Driver::get();
    for (int i = 0; i < static_cast<int>(driver.device_count()); ++i) {
        if (name.find(uuid_text(driver.device(i)->uuid), at) != std::string::npos) return i;
    }
    return -1;
}

void note_export(Physical& physical) {
    physical.exported = true;
    exported().insert(&physical);
}

bool has_exported_only() { return exported_only.load(std::memory_order_relaxed) != 0; }

void drop_closed() {
    if (!has_exported_only()) return;
    exported_only = 0;
    const std::set<Physical*> all = exported();
    for (Physical* const physical : all) end_if_over(*physical);
}

PhysicalMade import_physical(int file) {
    for (Physical* const physical : exported()) {
        if (!same_file(file, physical->file)) continue;
        ++physical->handles;
        return {CUDA_SUCCESS, physical};
    }
    const auto ordinal = device_of_file(file);
    struct stat status {};
    if (!ordinal || ::fstat(file, &status) != 0) return {CUDA_ERROR_INVALID_VALUE, nullptr};
    CUmemAllocationProp props{};
    props.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    props.location = {.type = CU_MEM_LOCATION_TYPE_HOST, .id = 0};
    if (*ordinal >= 0) props.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = *ordinal};
    const int own = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (own < 0) return {CUDA_ERROR_OPERATING_SYSTEM, nullptr};
    const PhysicalMade made =
        make_physical(props, static_cast<std::uint64_t>(status.st_size), nullptr);
    made.physical->file = own;
    return made;
}

}  // namespace aliquot::sim
