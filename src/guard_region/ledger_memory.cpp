// SPDX-License-Identifier: Apache-2.0
#include "guard_region/ledger_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <string>
#include <utility>

#include "abi/region.h"
#include "base/number.h"
#include "base/take_text.h"
#include "guard_region/ledger_file.h"
#include "guard_region/uuid.h"
#include "os/regular_file.h"

namespace aliquot::guard_region {
namespace {

constexpr char kLedgerName[] = "aliquot-ledger";
constexpr std::size_t kMostFiles = 4096;  // of one process
constexpr ::mode_t kEveryonesMode = 0666;
constexpr unsigned kLedgerSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

bool write_totals(int fd, std::span<const Totals> totals) {
    const auto put = [fd](std::size_t at, const void* bytes, std::size_t size) {
        return write_at(fd, bytes, size, static_cast<long>(at));
    };
    using Device = abi::DeviceLedger;
    std::size_t at = offsetof(abi::Ledger, devices);
    for (const Totals& one :
         totals.first(std::min<std::size_t>(totals.size(), abi::kRegionDevices))) {
        const auto uuid = parse_uuid(one.uuid);
        if (!uuid) continue;
        const std::array<std::pair<std::size_t, std::uint64_t>, 6> figures{
            {{offsetof(Device, denied), one.denied},
             {offsetof(Device, denied_bytes), one.denied_bytes},
             {offsetof(Device, gpu_ns), one.gpu_ns},
             {offsetof(Device, throttled_ns), one.throttled_ns},
             {offsetof(Device, launches), one.launches},
             {offsetof(Device, overruns), one.overruns}}};
        for (const auto& [offset, figure] : figures) {
            if (!put(at + offset, &figure, sizeof figure)) return false;
        }
        if (!put(at + offsetof(Device, uuid), &*uuid, sizeof *uuid)) return false;
        at += sizeof(Device);
    }
    return true;
}

/// One that an agent made, or as good as: it is as large as it will ever be. Its head is that of every
/// kRegionAbi; unmade: only the region's number.
bool is_ledger_of(int fd, std::uint64_t region) {
    const int seals = ::fcntl(fd, F_GET_SEALS);
    struct stat status {};
    if (seals < 0 || (static_cast<unsigned>(seals) & kLedgerSeals) != kLedgerSeals ||
        ::fstat(fd, &status) != 0 ||
        static_cast<std::uint64_t>(status.st_size) > kMostLedgerBytes) {
        return false;
    }
    std::array<std::uint64_t, 3> head{};  // magic, abi and size, region
    static_assert(offsetof(abi::Ledger, region) == 2 * sizeof(std::uint64_t));
    if (::pread(fd, head.data(), sizeof head, 0) != sizeof head || head[2] != region) return false;
    const bool unmade = head[0] == 0;
    return unmade || (head[0] == abi::kLedgerMagic &&
                      head[1] >> 32U == static_cast<std::uint64_t>(status.st_size));
}

bool is_named(const std::string& path) {
    std::array<char, 64> target{};
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size() - 1);
    return length > 0 &&
           std::string_view(target.data()).starts_with(std::string("/memfd:") + kLedgerName);
}

struct LedgerFound {
    Descriptor fd;
    unsigned holders = 0;
};
using LedgersFound = std::map<ino_t, LedgerFound>;

void count_holder(Descriptor fd, LedgersFound& found) {
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) return;
    LedgerFound& one = found[status.st_ino];
    if (!one.fd) one.fd = std::move(fd);
    ++one.holders;
}

/// Looks through one directory of links; a process counts once. A container's own files can bear the
/// name, and be pipes, devices, or held by leases: what is not memory is not opened.
bool look_into(const os::Root& root, const std::string& directory, std::uint64_t region,
               const os::RegularFileOptions& how, LedgersFound& found) {
    const auto names = root.list(directory, kMostFiles);
    if (!names) return false;
    for (const std::string& name : *names) {
        const std::string path = root.resolve(directory + "/" + name).native();
        if (!is_named(path)) continue;
        auto fd = os::open_regular(path, how);
        if (!fd || !is_ledger_of(fd->get(), region)) continue;
        count_holder(*std::move(fd), found);
        return true;
    }
    return false;
}

/// Which mount a process' open file is on; empty: nobody tells us. All memory is on one.
std::string mount_of(const os::Root& root, const std::string& process, const std::string& number) {
    constexpr std::size_t kMostText = 4096;
    constexpr std::string_view kMount = "mnt_id:";
    const auto text = root.read(process + "/fdinfo/" + number, kMostText);
    if (!text) return {};
    for (std::string_view rest = *text; !rest.empty();) {
        std::string_view line = take_line(rest);
        if (take_word(line) == kMount) return std::string(take_word(line));
    }
    return {};
}

/// Another's open file, opened for ourselves; empty: it is none of that region.
Descriptor take_from(pid_t pid, int number, std::uint64_t region,
                     const os::RegularFileOptions& how) {
    constexpr unsigned kMostKept = 16;
    static std::atomic<unsigned> kept{0};
    if (kept >= kMostKept) return {};
    const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    Descriptor theirs(
        process ? static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), number, 0)) : -1);
    if (!theirs) return {};
    if (::fcntl(theirs.get(), F_GET_SEALS) < 0) {
        // Put there since we looked, by somebody who may keep a close() waiting: left open.
        ++kept;
        (void)theirs.release();
        return {};
    }
    if (!is_ledger_of(theirs.get(), region)) return {};
    // The locks on theirs are to go with them.
    auto own = os::open_regular("/proc/self/fd/" + std::to_string(theirs.get()), how);
    return own ? *std::move(own) : Descriptor();
}

/// For who may trace a process (CAP_SYS_PTRACE), but not enter a directory of another user's.
/// memory   an open file of the mount that all memory is on
/// left     open files that may still be looked at
void look_through(const os::Root& root, pid_t pid, const Descriptor& memory, std::uint64_t region,
                  const os::RegularFileOptions& how, unsigned& left, LedgersFound& found) {
    const std::string mount = mount_of(root, "/proc/self", std::to_string(memory.get()));
    const std::string process = "/proc/" + std::to_string(pid);
    const auto names = root.list(process + "/fdinfo", kMostFiles);
    if (!names || mount.empty()) return;
    for (const std::string& name : *names) {
        const auto number = parse_number<int>(name);
        if (!number) continue;
        if (left == 0) return;
        --left;
        if (mount_of(root, process, name) != mount) continue;
        if (Descriptor fd = take_from(pid, *number, region, how); fd) {
            return count_holder(std::move(fd), found);
        }
    }
}

}  // namespace

Result<Descriptor> make_ledger_memory(std::uint64_t region, std::span<const Totals> totals) {
    Descriptor fd(::memfd_create(kLedgerName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd || ::fchmod(fd.get(), kEveryonesMode) != 0 ||
        ::ftruncate(fd.get(), sizeof(abi::Ledger)) != 0 || !write_totals(fd.get(), totals) ||
        !write_ledger_head(fd.get(), region) || ::fcntl(fd.get(), F_ADD_SEALS, kLedgerSeals) != 0) {
        return os::error_from_errno(errno, "memory for a ledger");
    }
    return fd;
}

Result<Descriptor> make_unmade_ledger(std::uint64_t region, std::uint64_t size) {
    if (size < offsetof(abi::Ledger, region) + sizeof region || size > kMostLedgerBytes) {
        return Error{ErrorCode::kInvalidInput, "a ledger of " + std::to_string(size) +
                                                   " bytes: expected at most " +
                                                   std::to_string(kMostLedgerBytes)};
    }
    Descriptor fd(::memfd_create(kLedgerName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd || ::fchmod(fd.get(), kEveryonesMode) != 0 ||
        ::ftruncate(fd.get(), static_cast<::off_t>(size)) != 0 ||
        !write_at(fd.get(), &region, sizeof region, offsetof(abi::Ledger, region)) ||
        ::fcntl(fd.get(), F_ADD_SEALS, kLedgerSeals) != 0) {
        return os::error_from_errno(errno, "memory for a ledger");
    }
    return fd;
}

Result<Descriptor> find_ledger_memory(const os::Root& root, std::span<const pid_t> pids,
                                      std::uint64_t region) {
    const Descriptor memory(::memfd_create(kLedgerName, MFD_CLOEXEC));
    const auto device = memory ? os::device_of(memory.get()) : std::nullopt;
    if (!device) return os::error_from_errno(errno, "memory for a ledger");
    const os::RegularFileOptions how{.write = true, .follow = true, .only_on = device};
    LedgersFound found;
    unsigned left = 65'536;
    for (const pid_t pid : pids) {
        const std::string process = "/proc/" + std::to_string(pid);
        if (look_into(root, process + "/fd", region, how, found) ||
            look_into(root, process + "/map_files", region, how, found)) {
            continue;
        }
        look_through(root, pid, memory, region, how, left, found);
    }
    LedgerFound* best = nullptr;
    for (auto& [inode, one] : found) {
        if (best == nullptr || one.holders > best->holders) best = &one;
    }
    if (best == nullptr) {
        return Error{ErrorCode::kNotFound, "no process of the container shows its ledger"};
    }
    return std::move(best->fd);
}

}  // namespace aliquot::guard_region
