// SPDX-License-Identifier: Apache-2.0
#include "guard/node_page.h"

#include <cerrno>
#include <cstring>

#include "guard/hand_over.h"
#include "guard/kernel.h"
#include "guard/ledger.h"
#include "guard/lock.h"

namespace aliquot::guard {
namespace {

ThreadLock g_lock;
abi::NodePage* g_page = nullptr;
unsigned g_process = 0;
char g_path[kMaxPath] = {};
/// A second open file of the page, to ask who holds which byte. Not for programs that close every
/// descriptor: then nobody is found dead, and turns go on by time.
int g_probe = -1;

/// Whether a page stands in the file, to be read only.
bool has_content(int file) {
    std::uint64_t magic = 0;
    return kernel::size_of(file) >= static_cast<long>(sizeof(abi::NodePage)) &&
           kernel::call(SYS_pread64, file, kernel::as_long(&magic), sizeof magic, 0) ==
               static_cast<long>(sizeof magic) &&
           magic != 0;
}

/// Writes the head of a page into an empty file, one process at a time. Nobody is waited for without
/// end: the lock is one that any container can take and keep.
void make_content(int file) {
    constexpr std::uint64_t kMakingLock = abi::kSlotLockOffset - 1;
    constexpr int kTries = 200;
    constexpr std::uint64_t kBetweenTries = 1'000'000;  // ns
    for (int i = 0; i < kTries && !has_content(file); ++i) {
        if (kernel::lock_byte(file, F_OFD_SETLK, F_WRLCK, kMakingLock) != 0) {
            kernel::sleep_ns(kBetweenTries);
            continue;
        }
        if (kernel::size_of(file) == 0) kernel::call(SYS_ftruncate, file, sizeof(abi::NodePage));
        if (kernel::size_of(file) >= static_cast<long>(sizeof(abi::NodePage)) &&
            !has_content(file)) {
            struct {
                std::uint64_t magic;
                std::uint32_t abi, size;
            } head = {abi::kNodeMagic, abi::kRegionAbi, sizeof(abi::NodePage)};
            kernel::call(SYS_pwrite64, file, kernel::as_long(&head), sizeof head, 0);
        }
        kernel::lock_byte(file, F_OFD_SETLK, F_UNLCK, kMakingLock);
        return;
    }
}

/// An open page with content; made where the file is empty. -1: it cannot be had.
int open_page(const char* path) {
    int file = kernel::open(path, O_RDWR | O_CREAT, 0666);
    if (file == -ENXIO || file == -ECONNREFUSED) {  // a socket cannot be opened
        const int handed = receive(path);
        if (handed < 0) return -1;
        file = open_again(handed);
        kernel::close(handed);
    }
    if (file < 0) return -1;
    if (!has_content(file)) make_content(file);
    return file;
}

bool holds(int file, abi::NodePage*& page) {
    if (kernel::size_of(file) < static_cast<long>(sizeof(abi::NodePage))) return false;
    page = static_cast<abi::NodePage*>(
        kernel::map(sizeof(abi::NodePage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    if (page == nullptr) return false;
    if (page->magic == abi::kNodeMagic && page->abi == abi::kRegionAbi &&
        page->size == sizeof(abi::NodePage))
        return true;
    kernel::unmap(page, sizeof(abi::NodePage));
    return false;
}

/// Takes an entry whose byte nobody holds, and holds it as long as this process lives.
bool enter(abi::NodePage& page, int file, std::uint64_t region) {
    unsigned index = kNone;
    for (const bool any : {false, true})
        for (unsigned i = 0; i < abi::kNodeProcesses && index == kNone; ++i) {
            if (!any && page.processes[i].owner.load() != 0) continue;
            if (kernel::lock_byte(file, F_OFD_SETLK, F_WRLCK, abi::kSlotLockOffset + i) == 0)
                index = i;
        }
    if (index == kNone) return false;
    constexpr std::size_t kPage = 4096;
    void* anchor = kernel::map(kPage, PROT_NONE, MAP_SHARED, file, 0);
    if (anchor == nullptr) return false;
    kernel::call(SYS_madvise, kernel::as_long(anchor), kPage, MADV_DONTFORK);
    page.processes[index].region.store(region);
    page.processes[index].owner.store(static_cast<std::uint64_t>(kernel::own_pid()) << 32 |
                                      ((random_number() & 0xffff'ffff) | 1));
    g_process = index;
    return true;
}

int probe() {
    // By path where there is one: a descriptor that stays open is the program's to close.
    const int file = kernel::open(g_path, O_RDWR);
    return file >= 0 ? file : g_probe;
}
void end_probe(int file) {
    if (file >= 0 && file != g_probe) kernel::close(file);
}

}  // namespace

abi::NodePage* open_node_page(const char* path, std::uint64_t region, unsigned& process) {
    const ThreadLocked locked(g_lock);
    if (g_page != nullptr) {
        process = g_process;
        return g_page;
    }
    const int file = open_page(path);
    if (file < 0) return nullptr;
    abi::NodePage* page = nullptr;
    const bool whole = holds(file, page);
    const bool entered = whole && enter(*page, file, region);
    // For questions about others an open file of its own: one's own locks are not in the way.
    const int by_path = entered ? kernel::open(path, O_RDWR) : -1;
    if (by_path >= 0)
        kernel::close(by_path);
    else if (entered)
        g_probe = open_again(file);
    kernel::close(file);
    if (!entered) return nullptr;
    const std::size_t length = std::strlen(path);
    std::memcpy(g_path, path, length < kMaxPath ? length + 1 : 0);
    g_page = page;
    process = g_process;
    return page;
}

bool is_region_alive(abi::NodePage& page, std::uint64_t region) {
    const int file = probe();
    if (file < 0) return true;
    bool alive = false;
    for (unsigned i = 0; i < abi::kNodeProcesses && !alive; ++i)
        alive = page.processes[i].owner.load(std::memory_order_relaxed) != 0 &&
                page.processes[i].region.load(std::memory_order_relaxed) == region &&
                kernel::byte_is_locked(file, abi::kSlotLockOffset + i);
    end_probe(file);
    return alive;
}

bool lock_page(std::atomic<std::uint32_t>& word, unsigned process) {
    const std::uint32_t self = process + 1;
    const std::uint64_t since = kernel::now_ns();
    constexpr std::uint64_t kPatience = 1'000'000;
    for (;;) {
        std::uint32_t holder = 0;
        if (word.compare_exchange_strong(holder, self, std::memory_order_acquire)) return true;
        const std::uint64_t waited = kernel::now_ns() - since;
        if (waited > kPatience) {
            const unsigned index = holder - 1;
            const int file = probe();
            const bool dead = index >= abi::kNodeProcesses ||
                              (file >= 0 && index != process &&
                               !kernel::byte_is_locked(file, abi::kSlotLockOffset + index));
            end_probe(file);
            if (dead && word.compare_exchange_strong(holder, self, std::memory_order_acquire))
                return true;
            if (!dead && waited > 10 * kPatience) return false;
        }
        kernel::wait(word, holder, 100'000, true);
    }
}

void unlock_page(std::atomic<std::uint32_t>& word, unsigned process) {
    std::uint32_t self = process + 1;
    if (word.compare_exchange_strong(self, 0, std::memory_order_release))
        kernel::wake(word, 1, true);
}

void forget_node_page() {
    g_lock.forget();
    if (g_page != nullptr) kernel::unmap(g_page, sizeof(abi::NodePage));
    g_page = nullptr;
    g_probe = -1;
}

}  // namespace aliquot::guard
