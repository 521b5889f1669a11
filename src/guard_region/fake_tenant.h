// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <new>
#include <stdexcept>
#include <string_view>

#include "abi/region.h"
#include "base/descriptor.h"
#include "guard_region/hand_over.h"
#include "guard_region/processes.h"
#include "guard_region/uuid.h"

namespace aliquot::guard_region {

/// For tests: plays the guards of a container on a ledger that is there. Throws when it cannot. No simulator: the
/// real guard writes only what is right and at its own time; here a test sets each figure of a ledger.
class FakeTenant {
public:
    explicit FakeTenant(const std::filesystem::path& ledger) : path_(ledger), file_(open()) {
        void* const place = ::mmap(nullptr, sizeof(abi::Ledger), PROT_READ | PROT_WRITE, MAP_SHARED,
                                   file_.get(), 0);
        if (place == MAP_FAILED) throw std::runtime_error("no ledger");
        ledger_ = static_cast<abi::Ledger*>(place);
    }
    ~FakeTenant() { ::munmap(ledger_, sizeof(abi::Ledger)); }
    FakeTenant(const FakeTenant&) = delete;
    FakeTenant& operator=(const FakeTenant&) = delete;

    abi::Ledger& ledger() { return *ledger_; }

    /// Place of a device, claimed when it is new.
    unsigned device(std::string_view uuid) {
        const abi::DeviceUuid name = *parse_uuid(uuid);
        unsigned place = 0;
        while (!is_none(ledger_->devices[place].uuid) && !same(ledger_->devices[place].uuid, name))
            ++place;
        ledger_->devices[place].uuid = name;
        return place;
    }

    /// A process joins with slot `index` and lives until leave().
    void join(unsigned index, std::uint32_t pid, std::uint64_t start_time = 0,
              std::uint64_t pid_namespace = 0) {
        Descriptor fd = open();
        struct flock lock {};
        lock.l_type = F_WRLCK;
        lock.l_whence = SEEK_SET;
        lock.l_start = static_cast<off_t>(abi::kSlotLockOffset + index);
        lock.l_len = 1;
        if (::fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) throw std::runtime_error("slot taken");
        locks_[index] = std::move(fd);
        abi::Slot& slot = ledger_->slots[index];
        slot.start_time = start_time;
        slot.pid_namespace = pid_namespace;
        slot.owner = std::uint64_t{pid} << 32U | (index + 1);
        if (ledger_->slots_high.load() <= index) ledger_->slots_high.word = index + 1;
    }
    void leave(unsigned index) { locks_.erase(index); }

    void use(unsigned index, std::string_view uuid, std::uint64_t tracked,
             std::uint64_t managed = 0, std::uint64_t overhead = 0) {
        abi::SlotDevice& use = ledger_->slots[index].devices[device(uuid)];
        use.tracked_bytes.word = tracked;
        use.managed_bytes.word = managed;
        use.overhead_bytes.word = overhead;
        use.contexts = 1;
        use.changes.fetch_add(1);
    }
    [[nodiscard]] std::uint64_t owner(unsigned index) const {
        return ledger_->slots[index].owner.load();
    }

private:
    /// The file, or what is handed over where a socket is.
    [[nodiscard]] Descriptor open() const {
        Descriptor fd(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
        if (fd || errno != ENXIO) return fd;
        auto handed = receive_from(path_);
        if (!handed) throw std::runtime_error(handed.error().message);
        return *std::move(handed);
    }

    std::filesystem::path path_;
    Descriptor file_;
    abi::Ledger* ledger_ = nullptr;
    std::map<unsigned, Descriptor> locks_;
};

}  // namespace aliquot::guard_region
