// SPDX-License-Identifier: Apache-2.0
// How a process comes to its ledger and to a slot in it.
#include <cerrno>
#include <cstring>

#include "guard/kernel.h"
#include "guard/ledger.h"

namespace aliquot::guard {
namespace {

constexpr std::uint64_t kMakingLock = abi::kSlotLockOffset - 1;

template <class T>
T* map_all(int descriptor, bool writable) {
    return static_cast<T*>(kernel::map(sizeof(T), writable ? PROT_READ | PROT_WRITE : PROT_READ,
                                       MAP_SHARED, descriptor, 0));
}

/// Makes the content of a new file; the magic number last.
bool make_content(abi::Ledger& ledger) {
    ledger.abi = abi::kRegionAbi;
    ledger.size = sizeof(abi::Ledger);
    ledger.region = random_number();
    __atomic_store_n(&ledger.magic, abi::kLedgerMagic, __ATOMIC_RELEASE);
    return true;
}

std::uint64_t inode_of_pid_namespace() {
    char target[64] = {};
    const long length = kernel::call(SYS_readlinkat, AT_FDCWD, kernel::as_long("/proc/self/ns/pid"),
                                     kernel::as_long(target), sizeof target - 1);
    std::uint64_t inode = 0;
    for (long i = 0; i < length; ++i)
        if (target[i] >= '0' && target[i] <= '9')
            inode = inode * 10 + static_cast<unsigned>(target[i] - '0');
    return inode;
}

}  // namespace

std::uint64_t random_number() {
    std::uint64_t number = 0;
    constexpr long kNonBlocking = 1;
    if (kernel::call(SYS_getrandom, kernel::as_long(&number), sizeof number, kNonBlocking) !=
        sizeof number)
        number = kernel::now_ns() * 0x9e37'79b9'7f4a'7c15u +
                 static_cast<std::uint64_t>(kernel::own_pid());
    return number == 0 ? 1 : number;
}

std::uint64_t start_time_of(int pid) {
    char path[32] = "/proc/";
    unsigned at = 6;
    char digits[12];
    unsigned count = 0;
    for (unsigned value = static_cast<unsigned>(pid); value != 0; value /= 10)
        digits[count++] = static_cast<char>('0' + value % 10);
    while (count != 0) path[at++] = digits[--count];
    std::memcpy(path + at, "/stat", 6);
    const int file = kernel::open(path, O_RDONLY);
    if (file < 0) return 0;
    char text[1024];
    const long length = kernel::call(SYS_read, file, kernel::as_long(text), sizeof text - 1);
    kernel::close(file);
    if (length <= 0) return 0;
    text[length] = '\0';
    // The second field is the program's name in brackets, whatever that is.
    const char* cursor = std::strrchr(text, ')');
    for (unsigned field = 2; cursor != nullptr && field < 22; ++field)
        cursor = std::strchr(cursor + 1, ' ');
    if (cursor == nullptr) return 0;
    std::uint64_t value = 0;
    for (++cursor; *cursor >= '0' && *cursor <= '9'; ++cursor)
        value = value * 10 + static_cast<unsigned>(*cursor - '0');
    return value;
}

const char* Ledger::attach(const Settings& settings) {
    settings_ = &settings;
    slot_ = kNone;
    if (settings.config[0] != '\0')
        if (const char* problem = attach_config(settings.config)) return problem;
    return settings.ledger[0] != '\0' ? attach_ledger(settings.ledger) : attach_private();
}

const char* Ledger::attach_config(const char* path) {
    const int file = kernel::open(path, O_RDONLY);
    if (file < 0) return "the config cannot be opened";
    const bool whole = kernel::size_of(file) >= static_cast<long>(sizeof(abi::Config));
    const auto* config = whole ? map_all<const abi::Config>(file, false) : nullptr;
    kernel::close(file);
    if (!whole) return "the config is too short";
    if (config == nullptr) return "the config cannot be mapped";
    if (config->magic != abi::kConfigMagic || config->abi != abi::kRegionAbi ||
        config->size != sizeof(abi::Config)) {
        kernel::unmap(const_cast<abi::Config*>(config), sizeof(abi::Config));
        return "the config is not of this guard's layout";
    }
    config_ = config;
    return nullptr;
}

const char* Ledger::attach_ledger(const char* path) {
    const int file = kernel::open(path, O_RDWR | O_CREAT, 0666);
    if (file < 0) return "the ledger cannot be opened for writing";
    // One makes it, the others wait; should the maker die, the kernel drops the lock.
    long locked = 0;
    do locked = kernel::lock_byte(file, F_OFD_SETLKW, F_WRLCK, kMakingLock);
    while (locked == -EINTR);
    if (locked != 0) {
        kernel::close(file);
        return "the file system of the ledger has no locks";
    }
    const long size = kernel::size_of(file);
    const bool fresh = size == 0;
    if (fresh) kernel::call(SYS_ftruncate, file, sizeof(abi::Ledger));
    const bool whole = kernel::size_of(file) >= static_cast<long>(sizeof(abi::Ledger));
    auto* ledger = whole ? map_all<abi::Ledger>(file, true) : nullptr;
    const char* problem = nullptr;
    if (!whole) {
        problem = "the ledger is too short";
    } else if (ledger == nullptr) {
        problem = "the ledger cannot be mapped";
    } else {
        // A maker that died left zeros.
        if (ledger->magic == 0 && ledger->abi <= abi::kRegionAbi) make_content(*ledger);
        if (ledger->magic != abi::kLedgerMagic || ledger->abi != abi::kRegionAbi ||
            ledger->size != sizeof(abi::Ledger) || ledger->region == 0) {
            kernel::unmap(ledger, sizeof(abi::Ledger));
            problem = "the ledger is not of this guard's layout";
        }
    }
    // By hand: the mapping keeps the file open, and so would keep the lock.
    kernel::lock_byte(file, F_OFD_SETLK, F_UNLCK, kMakingLock);
    kernel::close(file);
    if (problem == nullptr) ledger_ = ledger;
    return problem;
}

const char* Ledger::attach_private() {
    auto* ledger = static_cast<abi::Ledger*>(kernel::map(
        sizeof(abi::Ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (ledger == nullptr) return "no memory for the ledger";
    make_content(*ledger);
    private_ = true;
    ledger_ = ledger;
    return nullptr;
}

bool Ledger::is_fail_open(const Settings& settings) const {
    const bool config_says = config_ != nullptr && (config_->flags & abi::kFailOpen) != 0;
    return config_says || (!settings.mounted && settings.fail_open);
}

int Ledger::reopen() const {
    if (private_) return -1;
    const int file = kernel::open(settings_->ledger, O_RDWR);
    if (file < 0) return -1;
    // A program may have changed its root: is it still the same file?
    std::uint64_t region = 0;
    const long length = kernel::call(SYS_pread64, file, kernel::as_long(&region), sizeof region,
                                     offsetof(abi::Ledger, region));
    if (length == sizeof region && region == ledger_->region) return file;
    kernel::close(file);
    return -1;
}

bool Ledger::claim(int descriptor, unsigned index, std::uint64_t owner) {
    abi::Slot& slot = ledger_->slots[index];
    if (private_) {
        std::uint64_t free = slot.owner.load(std::memory_order_relaxed);
        if (free != 0 && is_alive(index, -1)) return false;
        return slot.owner.compare_exchange_strong(free, owner);
    }
    return kernel::lock_byte(descriptor, F_OFD_SETLK, F_WRLCK, abi::kSlotLockOffset + index) == 0;
}

const char* Ledger::join(const Settings& settings) {
    if (joined()) return nullptr;
    int file = -1;
    if (!private_) {
        file = kernel::open(settings.ledger, O_RDWR);
        if (file < 0) return "the ledger cannot be opened again";
    }
    const int pid = kernel::own_pid();
    const std::uint64_t owner =
        static_cast<std::uint64_t>(pid) << 32 | ((random_number() & 0xffff'ffffu) | 1);
    // The lowest ones first, whoever had them: where one program follows the other there is one slot.
    // Then those that nobody has, then those of the dead.
    constexpr unsigned kLowest = 4;
    unsigned index = kNone;
    for (unsigned i = 0; i < kLowest && index == kNone; ++i)
        if (claim(file, i, owner)) index = i;
    for (const bool any : {false, true})
        for (unsigned i = kLowest; i < abi::kRegionSlots && index == kNone; ++i) {
            if (!any && ledger_->slots[i].owner.load(std::memory_order_relaxed) != 0) continue;
            if (claim(file, i, owner)) index = i;
        }
    if (index == kNone) {
        if (file >= 0) kernel::close(file);
        return "every slot of the ledger is taken";
    }
    if (file >= 0) {
        // The lock lives as long as the open file, and that as long as this page: no descriptor
        // that a program may close stays, and a child does not inherit it.
        constexpr std::size_t kPage = 4096;
        void* anchor = kernel::map(kPage, PROT_NONE, MAP_SHARED, file, 0);
        if (anchor != nullptr)
            kernel::call(SYS_madvise, kernel::as_long(anchor), kPage, MADV_DONTFORK);
        kernel::close(file);
        if (anchor == nullptr) return "the ledger's lock cannot be kept";
    }
    // Whoever had this slot may have died inside the lock.
    std::uint32_t word = ledger_->lock.load();
    if ((word & ~abi::kLockWaiters) == index + 1) {
        ledger_->recoveries.fetch_add(1);
        ledger_->lock.store(0);
        kernel::wake(ledger_->lock, 1, true);
    }
    slot_ = index;
    lock();
    clear_slot(index);
    abi::Slot& slot = ledger_->slots[index];
    slot.start_time = start_time_of(pid);
    slot.pid_namespace = inode_of_pid_namespace();
    slot.owner.store(owner, std::memory_order_release);
    if (ledger_->slots_high.load() <= index) ledger_->slots_high.store(index + 1);
    recount();
    unlock();
    if (ledger_->slots_high.load() > 1) reap();
    return nullptr;
}

}  // namespace aliquot::guard
