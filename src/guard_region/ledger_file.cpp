// SPDX-License-Identifier: Apache-2.0
#include "guard_region/ledger_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "guard_region/hand_over.h"
#include "os/root.h"

namespace aliquot::guard_region {
namespace {

constexpr ::mode_t kAnyUser = 0666;

/// Whether anybody holds a lock on `length` bytes from the byte of slot `index`.
bool locked(int fd, unsigned index, unsigned length) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = static_cast<off_t>(abi::kSlotLockOffset + index);
    lock.l_len = length;
    return ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/// Reads on behind what `content` holds, up to `end`, or less where the file ends.
bool read_on(int fd, std::vector<std::byte>& content, std::size_t end) {
    std::size_t have = content.size();
    content.resize(end);
    while (have < end) {
        const ssize_t got =
            ::pread(fd, content.data() + have, end - have, static_cast<off_t>(have));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) break;
        have += static_cast<std::size_t>(got);
    }
    content.resize(have);
    return true;
}

}  // namespace

std::uint64_t random_region() {
    std::random_device source;
    for (;;) {
        const std::uint64_t number = (std::uint64_t{source()} << 32U) | source();
        if (number != 0) return number;
    }
}

bool write_ledger_head(int fd, std::uint64_t region) {
    const std::uint32_t version[2]{abi::kRegionAbi, sizeof(abi::Ledger)};
    static_assert(offsetof(abi::Ledger, size) == offsetof(abi::Ledger, abi) + 4);
    return write_at(fd, &region, sizeof region, offsetof(abi::Ledger, region)) &&
           write_at(fd, version, sizeof version, offsetof(abi::Ledger, abi)) &&
           write_at(fd, &abi::kLedgerMagic, sizeof abi::kLedgerMagic, offsetof(abi::Ledger, magic));
}

Result<Done> create_ledger(const std::filesystem::path& file, std::uint64_t region) {
    const Descriptor fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kAnyUser));
    if (!fd || ::fchmod(fd.get(), kAnyUser) != 0) {
        return os::error_from_errno(errno, file.native());
    }
    // Room first: where there is none, a page that is touched later ends the program (SIGBUS).
    if (const int full = ::posix_fallocate(fd.get(), 0, sizeof(abi::Ledger)); full != 0) {
        ::unlink(file.c_str());
        return os::error_from_errno(full, file.native());
    }
    if (!write_ledger_head(fd.get(), region)) return os::error_from_errno(errno, file.native());
    return Done{};
}

Result<LedgerFile> LedgerFile::open(const std::filesystem::path& file) {
    // O_NONBLOCK: what lies there may be a pipe that nobody writes.
    Descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd && errno == ENXIO) {  // a socket
        auto handed = receive_from(file);
        if (!handed) return std::move(handed).error();
        fd = *std::move(handed);
    }
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) return os::error_from_errno(errno, file.native());
    if (!S_ISREG(status.st_mode)) {
        return Error{ErrorCode::kInvalidInput, file.native() + ": not a regular file"};
    }
    return LedgerFile(file, std::move(fd));
}

Result<LedgerView> LedgerFile::read() const {
    constexpr std::size_t kUsual = kLedgerHead + 4 * sizeof(abi::Slot);  // few have more processes
    struct stat status {};
    std::vector<std::byte> content;
    bool done = ::fstat(fd_.get(), &status) == 0 && read_on(fd_.get(), content, kUsual);
    if (done && content.size() == kUsual && used_end(content) > kUsual) {
        done = read_on(fd_.get(), content, used_end(content));
    }
    if (!done) return os::error_from_errno(errno, file_.native());
    auto view = parse_ledger(content, static_cast<std::uint64_t>(status.st_size));
    if (!view) return std::move(view).error().during(file_.native());
    for (SlotView& slot : view->slots) slot.alive = locked(fd_.get(), slot.index, 1);
    return view;
}

bool LedgerFile::held() const { return locked(fd_.get(), 0, abi::kRegionSlots); }

}  // namespace aliquot::guard_region
