// SPDX-License-Identifier: Apache-2.0
#include "guard/exported.h"

#include <sys/stat.h>

#include <cstring>

#include "guard/kernel.h"
#include "guard/ledger.h"

namespace aliquot::guard {
namespace {

constexpr int kDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr int kFabric = 8;      // CU_MEM_HANDLE_TYPE_FABRIC
constexpr std::size_t kFabricBytes = 64;

/// What one export can be known by.
struct Identity {
    std::uint64_t device;
    std::uint64_t inode;  // 0 and no device: a fabric handle, or no open descriptor
    std::uint64_t token;  // of a fabric handle
    int number;           // of the descriptor
    bool own_inode;       // no other file has it
};
struct Export {
    Identity identity;
    std::uint32_t physical;
    bool used;
    bool open;  // when last looked
};
constexpr std::uint32_t kMost = 1 << 16;

Export* g_exports;
std::uint32_t g_made = 0;

bool look_at(int number, Identity& identity) {
    struct stat status = {};
    if (kernel::call(SYS_fstat, number, kernel::as_long(&status)) != 0) return false;
    identity.device = status.st_dev;
    identity.inode = status.st_ino;
    identity.number = number;
    identity.own_inode =
        S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
    return true;
}

bool same_file(const Identity& a, const Identity& b) {
    return a.token == 0 && a.device == b.device && a.inode == b.inode &&
           (a.own_inode || a.number == b.number);
}

Identity of_fabric(const void* exported) {
    Identity identity = {};
    const auto* bytes = static_cast<const unsigned char*>(exported);
    identity.token = 0xcbf2'9ce4'8422'2325u;
    for (std::size_t i = 0; i < kFabricBytes; ++i)
        identity.token = (identity.token ^ bytes[i]) * 0x100'0000'01b3u;
    identity.number = -1;
    return identity;
}

void mark_open(int number) {
    Identity identity = {};
    if (!look_at(number, identity)) return;
    for (std::uint32_t i = 0; i < g_made; ++i)
        if (g_exports[i].used && same_file(g_exports[i].identity, identity))
            g_exports[i].open = true;
}

}  // namespace

bool add_export(std::uint32_t physical, CUmemAllocationHandleType type, const void* exported) {
    Export added = {};
    added.physical = physical;
    added.used = true;
    added.open = true;
    if (type == kDescriptor) {
        int number = -1;
        std::memcpy(&number, exported, sizeof number);
        added.identity.number = number;
        look_at(number, added.identity);
    } else if (type == kFabric) {
        added.identity = of_fabric(exported);
    } else {
        return false;
    }
    if (g_exports == nullptr)
        g_exports =
            static_cast<Export*>(kernel::map(kMost * sizeof(Export), PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    std::uint32_t place = 0;
    while (g_exports != nullptr && place < g_made && g_exports[place].used) ++place;
    const bool keeps = type == kDescriptor;
    if (g_exports == nullptr || place == kMost) return keeps;
    g_exports[place] = added;
    if (place == g_made) ++g_made;
    return keeps;
}

std::uint32_t find_export(CUmemAllocationHandleType type, const void* exported) {
    Identity identity = {};
    if (type == kDescriptor) {
        if (!look_at(static_cast<int>(reinterpret_cast<std::intptr_t>(exported)), identity))
            return kNone;
    } else if (type == kFabric && exported != nullptr) {
        identity = of_fabric(exported);
    } else {
        return kNone;
    }
    for (std::uint32_t i = 0; i < g_made; ++i) {
        const Export& one = g_exports[i];
        if (!one.used) continue;
        const bool fabric = identity.token != 0 && one.identity.token == identity.token;
        if (fabric || (identity.token == 0 && same_file(one.identity, identity)))
            return one.physical;
    }
    return kNone;
}

void look_for_descriptors() {
    for (std::uint32_t i = 0; i < g_made; ++i) g_exports[i].open = false;
    const int directory = kernel::open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
    if (directory < 0) {  // only the numbers themselves can be looked at
        for (std::uint32_t i = 0; i < g_made; ++i)
            if (g_exports[i].used) mark_open(g_exports[i].identity.number);
        return;
    }
    struct Entry {  // of getdents64
        std::uint64_t inode;
        std::int64_t offset;
        unsigned short length;
        unsigned char type;
        char name[1];
    };
    alignas(Entry) char buffer[4096];
    for (;;) {
        const long size =
            kernel::call(SYS_getdents64, directory, kernel::as_long(buffer), sizeof buffer);
        if (size <= 0) break;
        for (long at = 0; at < size;) {
            const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
            int number = 0;
            for (const char* digit = entry->name; *digit >= '0' && *digit <= '9'; ++digit)
                number = number * 10 + (*digit - '0');
            if (entry->name[0] != '.' && number != directory) mark_open(number);
            at += entry->length;
        }
    }
    kernel::close(directory);
}

std::uint32_t take_closed() {
    for (std::uint32_t i = 0; i < g_made; ++i) {
        Export& one = g_exports[i];
        if (!one.used || one.open || one.identity.token != 0) continue;
        one.used = false;
        return one.physical;
    }
    return kNone;
}

void drop_tokens(std::uint32_t physical) {
    for (std::uint32_t i = 0; i < g_made; ++i)
        if (g_exports[i].used && g_exports[i].physical == physical) g_exports[i].used = false;
}

void forget_exports() {
    if (g_exports != nullptr) kernel::unmap(g_exports, kMost * sizeof(Export));
    g_exports = nullptr;
    g_made = 0;
}

}  // namespace aliquot::guard
