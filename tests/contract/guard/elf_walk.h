// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Symbols of loaded libraries by reading their tables in memory, past every linker call that a
/// preloaded library can answer. It is a documented way around the guard; the checks use it to ask
/// the driver itself.
namespace aliquot::guardkit {

struct LoadedSymbol {
    std::string name;
    void* address = nullptr;
    bool function = false;
};

/// Address of a defined symbol of the first loaded library whose file name contains `library`;
/// nullptr: not loaded, or not there.
void* walk_for(const char* library, const char* symbol);

/// Everything that library defines for others.
std::vector<LoadedSymbol> symbols_of(const char* library);

/// File name of the loaded object that holds the address; empty: none.
std::string object_of(const void* address);

}  // namespace aliquot::guardkit
