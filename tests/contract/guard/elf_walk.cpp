// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/guard/elf_walk.h"

#include <elf.h>
#include <link.h>

#include <cstring>

namespace aliquot::guardkit {
namespace {

struct Tables {
    ElfW(Addr) base = 0;
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    std::size_t count = 0;
};

std::size_t count_by_gnu_hash(const std::uint32_t* table) {
    const std::uint32_t buckets = table[0];
    const std::uint32_t first = table[1];
    const std::uint32_t bloom_words = table[2];
    const std::uint32_t* const bucket =
        table + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
    std::uint32_t highest = 0;
    for (std::uint32_t i = 0; i < buckets; ++i) {
        if (bucket[i] > highest) highest = bucket[i];
    }
    if (highest < first) return first;
    const std::uint32_t* const chain = bucket + buckets;
    while ((chain[highest - first] & 1U) == 0) ++highest;
    return highest + 1;
}

bool read_tables(const dl_phdr_info& info, Tables& tables) {
    tables = {.base = info.dlpi_addr};
    const ElfW(Dyn)* dynamic = nullptr;
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
        if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic =
                reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    }
    if (dynamic == nullptr) return false;
    const std::uint32_t* hash = nullptr;
    const std::uint32_t* gnu_hash = nullptr;
    for (; dynamic->d_tag != DT_NULL; ++dynamic) {
        const ElfW(Addr) at = dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_SYMTAB) tables.symbols = reinterpret_cast<const ElfW(Sym)*>(at);
        if (dynamic->d_tag == DT_STRTAB) tables.strings = reinterpret_cast<const char*>(at);
        if (dynamic->d_tag == DT_HASH) hash = reinterpret_cast<const std::uint32_t*>(at);
        if (dynamic->d_tag == DT_GNU_HASH) gnu_hash = reinterpret_cast<const std::uint32_t*>(at);
    }
    if (tables.symbols == nullptr || tables.strings == nullptr) return false;
    if (hash != nullptr) tables.count = hash[1];
    if (gnu_hash != nullptr && hash == nullptr) tables.count = count_by_gnu_hash(gnu_hash);
    return tables.count != 0;
}

struct Search {
    const char* library;
    Tables tables;
    bool found = false;
};

int look_at(dl_phdr_info* info, std::size_t /*size*/, void* data) {
    auto& search = *static_cast<Search*>(data);
    if (info->dlpi_name == nullptr || *search.library == '\0') return 0;
    const char* const slash = std::strrchr(info->dlpi_name, '/');
    const char* const file = slash == nullptr ? info->dlpi_name : slash + 1;
    if (std::strstr(file, search.library) == nullptr) return 0;
    search.found = read_tables(*info, search.tables);
    return search.found ? 1 : 0;
}

bool is_defined(const ElfW(Sym) & symbol) {
    const unsigned binding = ELF64_ST_BIND(symbol.st_info);
    return symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
           (binding == STB_GLOBAL || binding == STB_WEAK);
}

struct Holder {
    ElfW(Addr) address;
    std::string name;
};

int holds(dl_phdr_info* info, std::size_t /*size*/, void* data) {
    auto& holder = *static_cast<Holder*>(data);
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
        const auto& part = info->dlpi_phdr[i];
        const ElfW(Addr) from = info->dlpi_addr + part.p_vaddr;
        if (part.p_type != PT_LOAD || holder.address < from ||
            holder.address >= from + part.p_memsz) {
            continue;
        }
        holder.name = info->dlpi_name == nullptr || *info->dlpi_name == '\0' ? "(the program)"
                                                                             : info->dlpi_name;
        return 1;
    }
    return 0;
}

}  // namespace

void* walk_for(const char* library, const char* symbol) {
    Search search{.library = library, .tables = {}};
    ::dl_iterate_phdr(look_at, &search);
    if (!search.found) return nullptr;
    for (std::size_t i = 0; i < search.tables.count; ++i) {
        const auto& one = search.tables.symbols[i];
        if (is_defined(one) && std::strcmp(search.tables.strings + one.st_name, symbol) == 0)
            return reinterpret_cast<void*>(search.tables.base + one.st_value);
    }
    return nullptr;
}

std::vector<LoadedSymbol> symbols_of(const char* library) {
    Search search{.library = library, .tables = {}};
    ::dl_iterate_phdr(look_at, &search);
    std::vector<LoadedSymbol> found;
    if (!search.found) return found;
    for (std::size_t i = 0; i < search.tables.count; ++i) {
        const auto& one = search.tables.symbols[i];
        if (!is_defined(one)) continue;
        found.push_back({.name = search.tables.strings + one.st_name,
                         .address = reinterpret_cast<void*>(search.tables.base + one.st_value),
                         .function = ELF64_ST_TYPE(one.st_info) == STT_FUNC});
    }
    return found;
}

std::string object_of(const void* address) {
    Holder holder{.address = reinterpret_cast<ElfW(Addr)>(address), .name = {}};
    ::dl_iterate_phdr(holds, &holder);
    return holder.name;
}

}  // namespace aliquot::guardkit
