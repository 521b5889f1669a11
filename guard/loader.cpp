// SPDX-License-Identifier: Apache-2.0
#include "guard/loader.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <cstring>
#include <type_traits>

#include "guard/kernel.h"

extern "C" {
/// Where this library begins and ends: the linker says so.
extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));
aliquot::guard::Loader guard_loader __attribute__((visibility("hidden"))) = {};
}

namespace aliquot::guard {
namespace {

/// What the dynamic section of a loaded object tells.
struct Dynamic {
    ElfW(Addr) base = 0;
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    const std::uint32_t* hash = nullptr;      // DT_HASH
    const std::uint32_t* gnu_hash = nullptr;  // DT_GNU_HASH
    const ElfW(Half) * versions = nullptr;
    const char* soname = nullptr;
    const ElfW(Rela) * relocations = nullptr;  // without those of the procedure linkage table
    std::size_t relocation_count = 0;
    std::size_t relative_count = 0;  // of these, in front: without a symbol
};

/// entry   the first of that section; nullptr: there is none
Dynamic dynamic_at(ElfW(Addr) base, const ElfW(Dyn) * entry) {
    Dynamic found;
    found.base = base;
    if (entry == nullptr) return found;
    // The loader has made addresses of most of these; in the vdso they are offsets.
    const auto at = [&](ElfW(Addr) value) { return value < base ? value + base : value; };
    ElfW(Addr) soname = 0;
    for (; entry->d_tag != DT_NULL; ++entry) {
        const ElfW(Addr) value = entry->d_un.d_ptr;
        switch (entry->d_tag) {
            case DT_SYMTAB:
                found.symbols = kernel::as_pointer<const ElfW(Sym)>(at(value));
                break;
            case DT_STRTAB:
                found.strings = kernel::as_pointer<const char>(at(value));
                break;
            case DT_HASH:
                found.hash = kernel::as_pointer<const std::uint32_t>(at(value));
                break;
            case DT_GNU_HASH:
                found.gnu_hash = kernel::as_pointer<const std::uint32_t>(at(value));
                break;
            case DT_VERSYM:
                found.versions = kernel::as_pointer<const ElfW(Half)>(at(value));
                break;
            case DT_SONAME:
                soname = value;
                break;
            case DT_RELA:
                found.relocations = kernel::as_pointer<const ElfW(Rela)>(at(value));
                break;
            case DT_RELASZ:
                found.relocation_count = value / sizeof(ElfW(Rela));
                break;
            case DT_RELACOUNT:
                found.relative_count = value;
                break;
            default:
                break;
        }
    }
    if (found.relocations == nullptr) found.relocation_count = 0;
    if (soname != 0 && found.strings != nullptr) found.soname = found.strings + soname;
    return found;
}

Dynamic dynamic_of(const dl_phdr_info& object) {
    const ElfW(Dyn)* entry = nullptr;
    for (unsigned i = 0; i < object.dlpi_phnum; ++i)
        if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry =
                kernel::as_pointer<const ElfW(Dyn)>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
    return dynamic_at(object.dlpi_addr, entry);
}

/// Symbols in the table, where a hash table of the old kind tells.
std::uint32_t symbol_count(const Dynamic& object) {
    return object.hash != nullptr ? object.hash[1] : 0;
}

std::uint32_t gnu_hash_of(const char* name) {
    std::uint32_t hash = 5381;
    for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
    return hash;
}

/// The symbols that may have a name: those of its bucket, or all.
struct Candidates {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
    std::uint32_t hash = 0;
    const std::uint32_t* hashes = nullptr;  // by symbol, the last bit aside; nullptr: not known
    [[nodiscard]] bool may_be(std::uint32_t i) const {
        return hashes == nullptr || (hashes[i] | 1U) == (hash | 1U);
    }
};

Candidates candidates(const Dynamic& object, const char* name) {
    if (object.gnu_hash == nullptr || object.gnu_hash[0] == 0) return {.end = symbol_count(object)};
    const std::uint32_t buckets = object.gnu_hash[0];
    const std::uint32_t offset = object.gnu_hash[1];
    const std::uint32_t* bucket =
        object.gnu_hash + 4 + object.gnu_hash[2] * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
    Candidates found{.hash = gnu_hash_of(name), .hashes = bucket + buckets - offset};
    found.first = found.end = bucket[found.hash % buckets];
    if (found.first < offset) return found;  // an empty bucket
    while ((found.hashes[found.end] & 1) == 0) ++found.end;
    ++found.end;
    return found;
}

/// A function's address; the default version where there are several.
void* function_in(const Dynamic& object, const char* name) {
    if (object.symbols == nullptr || object.strings == nullptr) return nullptr;
    void* found = nullptr;
    const Candidates all = candidates(object, name);
    for (std::uint32_t i = all.first; i < all.end; ++i) {
        if (!all.may_be(i)) continue;
        const ElfW(Sym)& symbol = object.symbols[i];
        if (symbol.st_shndx == SHN_UNDEF || (symbol.st_info & 0xf) != STT_FUNC) continue;
        if (std::strcmp(object.strings + symbol.st_name, name) != 0) continue;
        found = kernel::as_pointer<void>(object.base + symbol.st_value);
        constexpr ElfW(Half) kHidden = 0x8000;  // not the default version
        if (object.versions == nullptr || (object.versions[i] & kHidden) == 0) break;
    }
    return found;
}

const char* base_name(const char* path) {
    const char* slash = std::strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

bool begins(const char* text, const char* start) {
    return text != nullptr && std::strncmp(text, start, std::strlen(start)) == 0;
}

int look_for_loader(dl_phdr_info* object, std::size_t, void* data) {
    auto& found = *static_cast<Loader*>(data);
    const char* name = base_name(object->dlpi_name);
    // Until glibc 2.34 these lay in libdl.so.2, since then in libc.so.6.
    if (!begins(name, "libc.so") && !begins(name, "libdl.so")) return 0;
    const Dynamic dynamic = dynamic_of(*object);
    const auto take = [&](auto& slot, const char* symbol) {
        if (slot == nullptr)
            slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(
                function_in(dynamic, symbol));
    };
    take(found.dlsym, "dlsym");
    take(found.dlvsym, "dlvsym");
    take(found.dlopen, "dlopen");
    take(found.dlerror, "dlerror");
    take(found.dlmopen, "dlmopen");
    take(found.dlclose, "dlclose");
    take(found.dladdr, "dladdr");
    return found.dlerror != nullptr && found.dlsym != nullptr && found.dlvsym != nullptr &&
                   found.dlopen != nullptr && found.dlmopen != nullptr && found.dlclose != nullptr
               ? 1
               : 0;
}

struct Place {
    const void* address;
    const char* name;
    bool inside;
};

int look_for_place(dl_phdr_info* object, std::size_t, void* data) {
    auto& place = *static_cast<Place*>(data);
    const auto address = reinterpret_cast<ElfW(Addr)>(place.address);
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        const ElfW(Addr) start = object->dlpi_addr + segment.p_vaddr;
        if (segment.p_type != PT_LOAD || address < start || address >= start + segment.p_memsz)
            continue;
        place.inside = begins(base_name(object->dlpi_name), place.name) ||
                       begins(dynamic_of(*object).soname, place.name);
        return 1;
    }
    return 0;
}

}  // namespace

extern "C" __attribute__((visibility("hidden"))) void guard_find_loader() {
    Loader found = {};
    dl_iterate_phdr(look_for_loader, &found);
    // Each word by itself: two threads may do this at once, with the same result.
    __atomic_store_n(&guard_loader.dlerror, found.dlerror, __ATOMIC_RELEASE);
    __atomic_store_n(&guard_loader.dlmopen, found.dlmopen, __ATOMIC_RELEASE);
    __atomic_store_n(&guard_loader.dlclose, found.dlclose, __ATOMIC_RELEASE);
    __atomic_store_n(&guard_loader.dladdr, found.dladdr, __ATOMIC_RELEASE);
    __atomic_store_n(&guard_loader.dlsym, found.dlsym, __ATOMIC_RELEASE);
    __atomic_store_n(&guard_loader.dlvsym, found.dlvsym, __ATOMIC_RELEASE);
    __atomic_store_n(&guard_loader.dlopen, found.dlopen, __ATOMIC_RELEASE);
}

const Loader& loader() {
    if (__atomic_load_n(&guard_loader.dlopen, __ATOMIC_ACQUIRE) == nullptr) guard_find_loader();
    return guard_loader;
}

namespace {

/// Of a loaded object in any namespace: what dl_iterate_phdr() tells of those in ours.
bool object_of(const void* address, Dl_info& info, dl_phdr_info& object) {
    if (loader().dladdr == nullptr || loader().dladdr(address, &info) == 0 ||
        info.dli_fbase == nullptr)
        return false;
    const auto base = reinterpret_cast<ElfW(Addr)>(info.dli_fbase);
    const auto* header = static_cast<const ElfW(Ehdr)*>(info.dli_fbase);
    if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
    object.dlpi_phdr = kernel::as_pointer<const ElfW(Phdr)>(base + header->e_phoff);
    object.dlpi_phnum = header->e_phnum;
    object.dlpi_name = info.dli_fname;
    object.dlpi_addr = base;
    for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
        if (object.dlpi_phdr[i].p_type != PT_LOAD) continue;
        object.dlpi_addr = base - object.dlpi_phdr[i].p_vaddr / 4096 * 4096;
        break;
    }
    return true;
}

}  // namespace

void find_exports(const void* handle, const char* names, void** found) {
    const auto* object = static_cast<const link_map*>(handle);
    const Dynamic dynamic =
        object == nullptr ? Dynamic{} : dynamic_at(object->l_addr, object->l_ld);
    for (; *names != '\0'; names += std::strlen(names) + 1) *found++ = function_in(dynamic, names);
}

void* exported_by_guard(const char* name) {
    return function_in(dynamic_at(reinterpret_cast<ElfW(Addr)>(&__ehdr_start), _DYNAMIC), name);
}

bool is_driver(const void* address) {
    Dl_info info = {};
    dl_phdr_info object = {};
    if (!object_of(address, info, object)) return false;
    const Dynamic dynamic = dynamic_of(object);
    // Wrappers export some of the driver's names; nobody but a driver has these.
    for (const char* name : {"cuInit", "cuMemAlloc_v2", "cuGetExportTable", "cuDriverGetVersion",
                             "cuDevicePrimaryCtxRetain"})
        if (function_in(dynamic, name) == nullptr) return false;
    return true;
}

bool same_object(const void* one, const void* other) {
    Dl_info first = {};
    Dl_info second = {};
    return loader().dladdr != nullptr && loader().dladdr(one, &first) != 0 &&
           loader().dladdr(other, &second) != 0 && first.dli_fbase == second.dli_fbase;
}

void* find_for(const void* caller, const char* name) {
    Dl_info info = {};
    if (loader().dladdr == nullptr || loader().dladdr(caller, &info) == 0 ||
        info.dli_fname == nullptr)
        return nullptr;
    void* handle = loader().dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void* found = handle == nullptr ? nullptr : loader().dlsym(handle, name);
    if (handle != nullptr) loader().dlclose(handle);
    loader().dlerror();
    return found;
}

bool namespace_has_driver(void* handle) {
    const auto* object = static_cast<const link_map*>(handle);
    while (object->l_prev != nullptr) object = object->l_prev;
    for (; object != nullptr; object = object->l_next)
        if (is_driver(object->l_ld)) return true;
    return false;
}

bool lies_in(const void* address, const char* name) {
    Place place{address, name, false};
    dl_iterate_phdr(look_for_place, &place);
    return place.inside;
}

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kAddressTypes[] = {R_X86_64_GLOB_DAT, R_X86_64_64};
#else
constexpr std::uint32_t kAddressTypes[] = {R_AARCH64_GLOB_DAT, R_AARCH64_ABS64};
#endif

/// Writes a zero there, also where the loader has made the page read-only behind itself.
void clear_word(const dl_phdr_info& object, ElfW(Addr) at) {
    const ElfW(Addr) page = getauxval(AT_PAGESZ);
    bool writable = false;
    bool sealed = false;
    for (unsigned i = 0; i < object.dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object.dlpi_phdr[i];
        const ElfW(Addr) start = object.dlpi_addr + segment.p_vaddr;
        const ElfW(Addr) end = start + segment.p_memsz;
        if (segment.p_type == PT_LOAD && at >= start && at < end)
            writable = (segment.p_flags & PF_W) != 0;
        // The loader seals whole pages: not the one in which it ends.
        if (segment.p_type == PT_GNU_RELRO && at >= start / page * page && at < end / page * page)
            sealed = true;
    }
    if (!writable || at % sizeof(ElfW(Addr)) != 0) return;
    auto* const around = kernel::as_pointer<void>(at / page * page);
    const auto protect = [&](long protection) {
        return kernel::call(SYS_mprotect, kernel::as_long(around), static_cast<long>(page),
                            protection) == 0;
    };
    if (sealed && !protect(PROT_READ | PROT_WRITE)) return;
    *kernel::as_pointer<ElfW(Addr)>(at) = 0;
    if (sealed) protect(PROT_READ);
}

struct Definition {
    const char* name;
    const void* ours;
    bool by_another;
};

int look_for_definition(dl_phdr_info* object, std::size_t, void* data) {
    auto& definition = *static_cast<Definition*>(data);
    const void* found = function_in(dynamic_of(*object), definition.name);
    definition.by_another = found != nullptr && found != definition.ours;
    return definition.by_another ? 1 : 0;
}

using IsHook = bool (*)(const char* name);

int unbind_in(dl_phdr_info* object, std::size_t, void* data) {
    const Dynamic dynamic = dynamic_of(*object);
    if (dynamic.symbols == nullptr || dynamic.strings == nullptr) return 0;
    for (std::size_t i = dynamic.relative_count; i < dynamic.relocation_count; ++i) {
        const ElfW(Rela)& relocation = dynamic.relocations[i];
        const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(relocation.r_info));
        if (type != kAddressTypes[0] && type != kAddressTypes[1]) continue;
        const ElfW(Addr) at = object->dlpi_addr + relocation.r_offset;
        const void* const bound = *kernel::as_pointer<const void* const>(at);
        if (bound < &__ehdr_start || bound >= &_end) continue;
        const ElfW(Sym)& symbol = dynamic.symbols[ELF64_R_SYM(relocation.r_info)];
        if (symbol.st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) != STB_WEAK) continue;
        const char* const name = dynamic.strings + symbol.st_name;
        if (!(*static_cast<const IsHook*>(data))(name) || exported_by_guard(name) != bound)
            continue;
        Definition definition{name, bound, false};
        dl_iterate_phdr(look_for_definition, &definition);
        if (!definition.by_another) clear_word(*object, at);
    }
    return 0;
}

}  // namespace

void unbind_weak_references(IsHook is_hook) { dl_iterate_phdr(unbind_in, &is_hook); }

}  // namespace aliquot::guard
