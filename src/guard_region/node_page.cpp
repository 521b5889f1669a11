// SPDX-License-Identifier: Apache-2.0
#include "guard_region/node_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <string>

#include "abi/region.h"
#include "os/regular_file.h"

namespace aliquot::guard_region {
namespace {

constexpr char kMemoryName[] = "aliquot-node";
constexpr unsigned kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

bool write_head(int fd) {
    const std::array<std::uint32_t, 2> version{abi::kRegionAbi, sizeof(abi::NodePage)};
    static_assert(offsetof(abi::NodePage, size) == offsetof(abi::NodePage, abi) + 4);
    return ::ftruncate(fd, sizeof(abi::NodePage)) == 0 &&
           write_at(fd, version.data(), sizeof version, offsetof(abi::NodePage, abi)) &&
           write_at(fd, &abi::kNodeMagic, sizeof abi::kNodeMagic, offsetof(abi::NodePage, magic));
}

bool has_head(int fd) {
    std::uint64_t magic = 0;
    std::array<std::uint32_t, 2> version{};
    struct stat status {};
    return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_size == sizeof(abi::NodePage) &&
           ::pread(fd, &magic, sizeof magic, offsetof(abi::NodePage, magic)) == sizeof magic &&
           ::pread(fd, version.data(), sizeof version, offsetof(abi::NodePage, abi)) ==
               sizeof version &&
           magic == abi::kNodeMagic && version[0] == abi::kRegionAbi &&
           version[1] == sizeof(abi::NodePage);
}

/// One that we made, or as good as: it cannot become shorter under anybody's feet.
bool is_node_memory(int fd) {
    const int seals = ::fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (static_cast<unsigned>(seals) & kSeals) == kSeals && has_head(fd);
}

struct Found {
    Descriptor fd;
    unsigned holders = 0;
};

/// A container's own files can bear the name: what is not memory is not opened.
void look_at(const os::Root& root, pid_t pid, const os::RegularFileOptions& how,
             std::map<ino_t, Found>& pages) {
    const std::string directory = "/proc/" + std::to_string(pid) + "/fd";
    constexpr std::size_t kMostFiles = 4096;
    const auto names = root.list(directory, kMostFiles);
    if (!names) return;
    const std::string wanted = std::string("/memfd:") + kMemoryName;
    for (const std::string& name : *names) {
        const std::string path = root.resolve(directory + "/" + name).native();
        std::array<char, 64> target{};
        const ssize_t length = ::readlink(path.c_str(), target.data(), target.size() - 1);
        if (length <= 0 || !std::string_view(target.data()).starts_with(wanted)) continue;
        auto fd = os::open_regular(path, how);
        struct stat status {};
        if (!fd || ::fstat(fd->get(), &status) != 0 || !is_node_memory(fd->get())) continue;
        Found& found = pages[status.st_ino];
        if (!found.fd) found.fd = *std::move(fd);
        ++found.holders;
        return;  // one process counts once
    }
}

}  // namespace

Result<Descriptor> make_node_memory() {
    Descriptor fd(::memfd_create(kMemoryName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd || !write_head(fd.get()) || ::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
        return os::error_from_errno(errno, "node page");
    }
    return fd;
}

Result<Descriptor> find_node_memory(const os::Root& root, std::span<const pid_t> pids) {
    const Descriptor memory(::memfd_create(kMemoryName, MFD_CLOEXEC));
    const auto device = memory ? os::device_of(memory.get()) : std::nullopt;
    if (!device) return os::error_from_errno(errno, "node page");
    const os::RegularFileOptions how{.write = true, .follow = true, .only_on = device};
    std::map<ino_t, Found> pages;
    for (const pid_t pid : pids) look_at(root, pid, how, pages);
    Found* best = nullptr;
    for (auto& [inode, found] : pages) {
        if (best == nullptr || found.holders > best->holders) best = &found;
    }
    if (best == nullptr) {
        return Error{ErrorCode::kNotFound, "no process of a container shows its node page"};
    }
    return std::move(best->fd);
}

Result<Done> make_node_file(const std::filesystem::path& file) {
    constexpr ::mode_t kOwner = 0600;
    const std::string fresh = file.native() + ".new-" + std::to_string(::getpid());
    ::unlink(fresh.c_str());
    const Descriptor fd(::open(fresh.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwner));
    if (!fd || !write_head(fd.get())) {
        const int problem = errno;
        ::unlink(fresh.c_str());
        return os::error_from_errno(problem, file.native());
    }
    // Complete or not there: who comes second takes what the first has made.
    const int linked = ::link(fresh.c_str(), file.c_str());
    const int problem = errno;
    ::unlink(fresh.c_str());
    if (linked == 0) return Done{};
    if (problem != EEXIST) return os::error_from_errno(problem, file.native());
    const Descriptor there(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!there) return os::error_from_errno(errno, file.native());
    if (has_head(there.get())) return Done{};
    return Error{ErrorCode::kInvalidInput,
                 file.native() + ": not a node page of this version; remove it when nothing runs"};
}

}  // namespace aliquot::guard_region
