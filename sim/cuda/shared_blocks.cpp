// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/shared_blocks.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>

namespace aliquot::sim {
namespace {

/// Writes the blocks' content into a new file. -1: no file can be made.
int copied_to_file(std::uint64_t address, std::uint64_t bytes) {
    const int file = ::memfd_create("cuda-ipc", MFD_CLOEXEC);
    if (file < 0) return -1;
    bool good = ::ftruncate(file, static_cast<off_t>(bytes)) == 0;
    for (std::uint64_t done = 0; good && done < bytes;) {
        const ssize_t written = ::pwrite(file, reinterpret_cast<const void*>(address + done),
                                         bytes - done, static_cast<off_t>(done));
        good = written > 0;
        if (good) done += static_cast<std::uint64_t>(written);
    }
    if (good) return file;
    ::close(file);
    return -1;
}

}  // namespace

SharedBlocks share_blocks(Device& device, std::uint64_t address) {
    const std::lock_guard lock(device.mutex);
    if (!device.arena.contains(address)) return {};
    const auto blocks = device.arena.blocks_at(address);
    if (!blocks) return {};
    auto& files = device.shared_files;
    auto found = files.find(blocks->address);
    if (found == files.end()) {
        // Untouched blocks hold nothing but zeros, as a new file does.
        const std::uint64_t copied = blocks->touched ? blocks->span : 0;
        const int file = copied_to_file(blocks->address, copied);
        if (file < 0) return {};
        if (::ftruncate(file, static_cast<off_t>(blocks->span)) != 0 ||
            ::mmap(reinterpret_cast<void*>(blocks->address), blocks->span, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
            ::close(file);
            return {};
        }
        found = files.emplace(blocks->address, file).first;
    }
    struct stat status {};
    if (::fstat(found->second, &status) != 0) return {};
    return {.file = found->second, .inode = status.st_ino, .address = blocks->address};
}

void unshare_blocks(Device& device, std::uint64_t address, std::uint64_t bytes) {
    const auto found = device.shared_files.find(address);
    if (found == device.shared_files.end()) return;
    ::mmap(reinterpret_cast<void*>(address), bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    ::close(found->second);
    device.shared_files.erase(found);
}

}  // namespace aliquot::sim
