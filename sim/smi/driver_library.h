// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "abi/nvml.h"
#include "os/dynamic_library.h"

namespace aliquot::sim::smi {

/// What a call answered; `value` counts only when ok().
template <class T>
struct Reading {
    nvmlReturn_t code = NVML_ERROR_UNKNOWN;
    T value{};
    [[nodiscard]] bool ok() const { return code == NVML_SUCCESS; }
};

/// libnvidia-ml.so.1 as this program finds it: that of the simulated node it belongs to, else the
/// loader's way, else in a lib directory above the program. Not thread-safe.
class DriverLibrary {
public:
    /// program   the path the program was started by; links in it are not followed
    /// Returns nullptr when there is no such library.
    static std::unique_ptr<DriverLibrary> open(const std::string& program);
    ~DriverLibrary();
    DriverLibrary(const DriverLibrary&) = delete;
    DriverLibrary& operator=(const DriverLibrary&) = delete;

    nvmlReturn_t init();
    [[nodiscard]] std::string error_text(nvmlReturn_t code) const;

    /// Calls a function by its symbol name; a missing one answers NVML_ERROR_FUNCTION_NOT_FOUND.
    template <class Function, class... Arguments>
    nvmlReturn_t call(const char* name, Arguments... arguments) const {
        const auto function = reinterpret_cast<Function>(file_.symbol(name));
        return function == nullptr ? NVML_ERROR_FUNCTION_NOT_FOUND : function(arguments...);
    }

private:
    explicit DriverLibrary(os::DynamicLibrary file) : file_(std::move(file)) {}
    os::DynamicLibrary file_;
    bool initialised_ = false;
};

#define SMI_CALL(library, function, ...) \
    (library).call<decltype(&function)>(#function __VA_OPT__(, ) __VA_ARGS__)

/// The directory of the simulated node that `program` belongs to: ALIQUOT_SIM_STATE, else the
/// nearest above the program that holds a node's state; empty when there is none.
std::string node_directory(const std::string& program);

}  // namespace aliquot::sim::smi
