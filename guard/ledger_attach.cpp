// SPDX-License-Identifier: Apache-2.0
// How a process comes to its ledger and to a slot in it.
#include <cerrno>
#include <cstring>

#include "guard/figures.h"
#include "guard/hand_over.h"
#include "guard/kernel.h"
#include "guard/ledger.h"

namespace aliquot::guard {
namespace {

constexpr std::uint64_t kMakingLock = abi::kSlotLockOffset - 1;
/// An agent that is exchanged for another one is away for seconds.
constexpr std::uint64_t kPatienceForAgent = 20'000'000'000;
constexpr const char* kNoAgent =
    "the agent of this node does not hand out the ledger (waited 20 s for it)";
constexpr int kMakingTries = 200;
constexpr std::uint64_t kBetweenTries = 5'000'000;  // ns

template <class T>
T* map_all(int descriptor, bool writable) {
    return static_cast<T*>(kernel::map(sizeof(T), writable ? PROT_READ | PROT_WRITE : PROT_READ,
                                       MAP_SHARED, descriptor, 0));
}

/// Makes the content of a ledger of zeros; the magic number last. Any number of processes may do so
/// at once, and go on where one has died: one of them names the region, the rest is the same of all.
void make_content(abi::Ledger& ledger) {
    std::uint64_t unnamed = 0;
    __atomic_compare_exchange_n(&ledger.region, &unnamed, random_number(), false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    __atomic_store_n(&ledger.abi, abi::kRegionAbi, __ATOMIC_RELAXED);
    __atomic_store_n(&ledger.size, static_cast<std::uint32_t>(sizeof(abi::Ledger)),
                     __ATOMIC_RELAXED);
    __atomic_store_n(&ledger.magic, abi::kLedgerMagic, __ATOMIC_RELEASE);
}

bool is_unmade(const abi::Ledger& ledger) {
    const std::uint32_t abi = __atomic_load_n(&ledger.abi, __ATOMIC_RELAXED);
    return __atomic_load_n(&ledger.magic, __ATOMIC_ACQUIRE) == 0 &&
           (abi == 0 || abi == abi::kRegionAbi);
}

const char* why_no_room(long error) {
    return error == -ENOSPC || error == -EDQUOT || error == -EFBIG
               ? "there is no room for the ledger on its file system"
               : "the ledger cannot be made as large as it has to be";
}

/// Where a file system cannot reserve: zeros are written, by one process at a time.
const char* fill_with_zeros(int file) {
    for (int i = 0; kernel::lock_byte(file, F_OFD_SETLK, F_WRLCK, kMakingLock) != 0; ++i) {
        if (kernel::size_of(file) >= static_cast<long>(sizeof(abi::Ledger))) return nullptr;
        if (i == kMakingTries) return "another process makes the ledger and does not end";
        kernel::sleep_ns(kBetweenTries);
    }
    static constexpr char kZeros[4096] = {};
    long done = kernel::size_of(file);
    while (done >= 0 && done < static_cast<long>(sizeof(abi::Ledger))) {
        const long rest = static_cast<long>(sizeof(abi::Ledger)) - done;
        const long wrote = kernel::call(SYS_pwrite64, file, kernel::as_long(kZeros),
                                        rest < 4096 ? rest : 4096, done);
        done = wrote > 0 ? done + wrote : (wrote == -EINTR ? done : (wrote == 0 ? -EIO : wrote));
    }
    kernel::lock_byte(file, F_OFD_SETLK, F_UNLCK, kMakingLock);
    return done < 0 ? why_no_room(done) : nullptr;
}

/// Makes the whole file the kernel's to find room for now: a mapped page that there is none for
/// later is the end of the program (SIGBUS). An empty file becomes a ledger of zeros.
const char* reserve(int file) {
    // One of another size that stays as it is was not made by a guard.
    for (int i = 0; i < kMakingTries; ++i) {
        const long size = kernel::size_of(file);
        if (size <= 0 || size >= static_cast<long>(sizeof(abi::Ledger))) break;
        if (i == kMakingTries - 1) return "the ledger is too short";
        kernel::sleep_ns(kBetweenTries / 5);
    }
    long done = 0;
    do done = kernel::call(SYS_fallocate, file, 0, 0, sizeof(abi::Ledger));
    while (done == -EINTR);
    if (done == 0) return nullptr;
    if (done != -EOPNOTSUPP && done != -ENOSYS) return why_no_room(done);
    return fill_with_zeros(file);
}

/// For an agent that starts anew: there is no file by which it could find this memory again. High,
/// where no program expects its own, and never used by us: a program that closes it loses nothing.
/// Opened once more, so that a child which inherits it does not hold its parent's slot.
void keep_open(int file) {
    const int own = open_again(file);
    if (own < 0) return;
    for (const long lowest : {1000L, 200L})
        if (kernel::call(SYS_fcntl, own, F_DUPFD_CLOEXEC, lowest) >= 0) break;
    kernel::close(own);
}

constexpr std::size_t kPage = 4096;

/// Whether a lock of the file at `path` lives as long as a page of it is mapped. Of overlayfs a mapping
/// holds the file below, and the lock goes with the last descriptor.
bool mappings_keep_locks(int file, const char* path) {
    constexpr std::uint64_t kTrials = 2 * abi::kSlotLockOffset;
    const std::uint64_t byte = kTrials + (random_number() & 0xffff'ffffu);  // nobody else's
    const int other = kernel::open(path, O_RDWR | O_NONBLOCK);
    if (other < 0) return false;
    void* page = nullptr;
    if (kernel::lock_byte(other, F_OFD_SETLK, F_WRLCK, byte) == 0)
        page = kernel::map(kPage, PROT_NONE, MAP_SHARED, other, 0);
    kernel::close(other);
    const bool kept = page != nullptr && kernel::byte_is_locked(file, byte);
    if (page != nullptr) kernel::unmap(page, kPage);
    return kept;
}

/// The file where few programs have one, and none that this one starts; below 0: no room.
int move_high(int file) {
    for (const long lowest : {1000L, 200L, 0L}) {
        const long moved = kernel::call(SYS_fcntl, file, F_DUPFD_CLOEXEC, lowest);
        if (moved >= 0) return static_cast<int>(moved);
    }
    return -1;
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

ProcessStat stat_of(int pid) {
    char path[32] = "/proc/";
    unsigned at = 6;
    char digits[12];
    unsigned count = 0;
    for (unsigned value = static_cast<unsigned>(pid); value != 0; value /= 10)
        digits[count++] = static_cast<char>('0' + value % 10);
    while (count != 0) path[at++] = digits[--count];
    std::memcpy(path + at, "/stat", 6);
    const int file = kernel::open(path, O_RDONLY);
    if (file < 0) return {};
    char text[1024];
    const long length = kernel::call(SYS_read, file, kernel::as_long(text), sizeof text - 1);
    kernel::close(file);
    if (length <= 0) return {};
    text[length] = '\0';
    ProcessStat stat;
    // The second field is the program's name in brackets, whatever that is.
    const char* cursor = std::strrchr(text, ')');
    for (unsigned field = 3; cursor != nullptr; ++field) {
        cursor = std::strchr(cursor + 1, ' ');
        if (cursor == nullptr) break;
        std::uint64_t value = 0;
        for (const char* digit = cursor + 1; *digit >= '0' && *digit <= '9'; ++digit)
            value = value * 10 + static_cast<unsigned>(*digit - '0');
        // Its first thread may have ended while others go on.
        if (field == 3) stat.has_ended = cursor[1] == 'Z' || cursor[1] == 'X';
        if (field == 20 && value > 1) stat.has_ended = false;
        if (field == 22) stat.start_time = value;
    }
    return stat;
}

const char* Ledger::attach(const Settings& settings) {
    settings_ = &settings;
    slot_ = kNone;
    if (settings.config[0] != '\0')
        if (const char* problem = attach_config(settings.config)) return problem;
    return settings.ledger[0] != '\0' ? attach_ledger(settings.ledger) : attach_private();
}

const char* Ledger::attach_config(const char* path) {
    const int file = kernel::open(path, O_RDONLY | O_NONBLOCK);
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
    // What others' processes of this region need as well, whatever mask of modes this one has.
    constexpr unsigned kAnyUser = 0666;
    int file = kernel::open(path, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, kAnyUser);
    if (file >= 0)
        kernel::call(SYS_fchmod, file, kAnyUser);
    else
        file = open_or_receive(path, kPatienceForAgent);
    if (file == -ECONNREFUSED) return kNoAgent;
    if (file < 0) return "the ledger cannot be opened for writing";
    // Memory of the agent's is as large as it is for ever, and the kernel finds room for it.
    constexpr long kFixed = F_SEAL_SHRINK | F_SEAL_GROW;
    const long seals = kernel::call(SYS_fcntl, file, F_GET_SEALS);
    is_handed_ = seals >= 0 && (seals & kFixed) == kFixed;
    const char* problem = nullptr;
    if (!is_handed_)
        problem = reserve(file);
    else if (kernel::size_of(file) != static_cast<long>(sizeof(abi::Ledger)))
        problem = "the ledger is not of this guard's layout";
    auto* ledger = problem == nullptr ? map_all<abi::Ledger>(file, true) : nullptr;
    if (problem == nullptr && ledger == nullptr) problem = "the ledger cannot be mapped";
    // A slot is alive by a lock: without them every process would be taken for dead.
    if (problem == nullptr && kernel::lock_byte(file, F_OFD_SETLK, F_UNLCK, kMakingLock) != 0)
        problem = "the file system of the ledger has no locks";
    if (problem == nullptr && !is_handed_ && !mappings_keep_locks(file, path)) {
        locks_last_ = false;
        own_pid_namespace_ = inode_of_pid_namespace();
    }
    kernel::close(file);
    if (problem == nullptr) {
        if (is_unmade(*ledger)) make_content(*ledger);
        if (ledger->magic != abi::kLedgerMagic || ledger->abi != abi::kRegionAbi ||
            ledger->size != sizeof(abi::Ledger) || ledger->region == 0)
            problem = "the ledger is not of this guard's layout";
    }
    if (problem == nullptr)
        ledger_ = ledger;
    else if (ledger != nullptr)
        kernel::unmap(ledger, sizeof(abi::Ledger));
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

int Ledger::reopen(std::uint64_t patience_ns) const {
    if (private_) return -1;
    const int file = open_or_receive(settings_->ledger, patience_ns);
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
    const std::uint64_t byte = abi::kSlotLockOffset + index;
    if (kernel::lock_byte(descriptor, F_OFD_SETLK, F_WRLCK, byte) != 0) return false;
    if (slot.owner.load(std::memory_order_relaxed) == 0 || !goes_by_pid(slot) ||
        !lives_by_pid(slot))
        return true;
    kernel::lock_byte(descriptor, F_OFD_SETLK, F_UNLCK, byte);
    return false;
}

void Ledger::forget() {
    slot_ = kNone;
    if (held_ < 0) return;
    // The program may have closed it, and have another file there by now.
    std::uint64_t region = 0;
    const long length = kernel::call(SYS_pread64, held_, kernel::as_long(&region), sizeof region,
                                     offsetof(abi::Ledger, region));
    if (length == sizeof region && region == ledger_->region) kernel::close(held_);
    held_ = -1;
}

/// The slot is ours: nobody else writes what is not fenced.
bool Ledger::enter(std::uint16_t generation, std::uint64_t owner) {
    abi::Slot& slot = ledger_->slots[slot_];
    if (!clear_slot(generation, slot_)) return false;
    for (abi::SlotDevice& device : slot.devices)
        device.contexts.store(0, std::memory_order_relaxed);
    slot.truth_from.store(0, std::memory_order_relaxed);
    slot.start_time = stat_of(kernel::own_pid()).start_time;
    slot.pid_namespace = own_pid_namespace_ = inode_of_pid_namespace();
    slot.owner.store(owner, std::memory_order_release);
    if (high() <= slot_ && !put(ledger_->slots_high, generation, slot_ + 1)) return false;
    return recount(generation);
}

const char* Ledger::join() {
    if (joined()) return nullptr;
    int file = -1;
    if (!private_) {
        file = reopen(kPatienceForAgent);
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
        void* anchor = kernel::map(kPage, PROT_NONE, MAP_SHARED, file, 0);
        if (anchor != nullptr)
            kernel::call(SYS_madvise, kernel::as_long(anchor), kPage, MADV_DONTFORK);
        if (is_handed_) keep_open(file);
        if (!locks_last_) held_ = move_high(file);
        kernel::close(file);
        if (anchor == nullptr || (!locks_last_ && held_ < 0))
            return "the ledger's lock cannot be kept";
    }
    free_of(index);
    slot_ = index;
    for (bool done = false; !done;) {
        const Locked locked(*this);
        done = enter(locked.generation, owner);
    }
    if (high() > 1) reap();
    return nullptr;
}

}  // namespace aliquot::guard
