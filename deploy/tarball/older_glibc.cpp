// SPDX-License-Identifier: Apache-2.0
//
// What GCC's runtime and Debian 12's archives call of glibc 2.35 and 2.36, made of what 2.34 has. Linked into the
// programs of the tarball only (ALIQUOT_PORTABLE), and seen by nobody outside of them.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace {

struct Search {
    std::uintptr_t address = 0;
    dl_find_object* found = nullptr;
};

/// The loaded object that `search` asks for: where it lies and its table for unwinding.
int look(dl_phdr_info* object, std::size_t /*size*/, void* argument) {
    auto& search = *static_cast<Search*>(argument);
    std::uintptr_t first = UINTPTR_MAX;
    std::uintptr_t last = 0;
    const ElfW(Phdr)* table = nullptr;
    bool inside = false;
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = object->dlpi_phdr[i];
        const std::uintptr_t start = object->dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_GNU_EH_FRAME) table = &part;
        if (part.p_type != PT_LOAD) continue;
        if (start < first) first = start;
        if (start + part.p_memsz > last) last = start + part.p_memsz;
        inside = inside || (search.address >= start && search.address < start + part.p_memsz);
    }
    if (!inside || table == nullptr) return 0;
    search.found->dlfo_map_start = reinterpret_cast<void*>(first);
    search.found->dlfo_map_end = reinterpret_cast<void*>(last);
    search.found->dlfo_eh_frame = reinterpret_cast<void*>(object->dlpi_addr + table->p_vaddr);
    return 1;
}

}  // namespace

// The names and types are glibc's.
extern "C" {

__attribute__((visibility("hidden"))) int _dl_find_object(void* address,
                                                          dl_find_object* result) noexcept {
    *result = {};
    Search search{reinterpret_cast<std::uintptr_t>(address), result};
    return ::dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}

__attribute__((visibility("hidden"))) void arc4random_buf(void* buffer, std::size_t size) noexcept {
    auto* at = static_cast<unsigned char*>(buffer);
    while (size > 0) {
        const ssize_t got = ::getrandom(at, size, 0);
        if (got < 0 && errno != EINTR) std::abort();  // as glibc does: there is no way to say it
        if (got <= 0) continue;
        at += got;
        size -= static_cast<std::size_t>(got);
    }
}

__attribute__((visibility("hidden"))) std::uint32_t arc4random() noexcept {
    std::uint32_t number = 0;
    arc4random_buf(&number, sizeof number);
    return number;
}
}
