// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "abi/nvml.h"
#include "nvml/call_thread.h"
#include "os/dynamic_library.h"

namespace aliquot::nvml {

/// What the calls of one library leave behind.
struct CallWatch {
    std::shared_ptr<CallPosition> position;
    bool driver_gone = false;  // some call was answered "not initialised" or "driver not loaded"
};

/// One function of the library, or its absence: a missing one answers
/// NVML_ERROR_FUNCTION_NOT_FOUND, as an old library is expected to.
template <class Signature>
class Function;

template <class Answer, class... Arguments>
class Function<Answer (*)(Arguments...)> {
public:
    Function(const os::DynamicLibrary& library, CallWatch& watch, const char* name)
        : name_(name),
          pointer_(reinterpret_cast<Answer (*)(Arguments...)>(library.symbol(name))),
          watch_(&watch) {}

    explicit operator bool() const { return pointer_ != nullptr; }
    [[nodiscard]] const char* name() const { return name_; }

    nvmlReturn_t operator()(Arguments... arguments) const {
        if (pointer_ == nullptr) return NVML_ERROR_FUNCTION_NOT_FOUND;
        watch_->position->store(name_);
        const nvmlReturn_t answer = pointer_(arguments...);
        watch_->position->store(nullptr);
        if (answer == NVML_ERROR_UNINITIALIZED || answer == NVML_ERROR_DRIVER_NOT_LOADED) {
            watch_->driver_gone = true;
        }
        return answer;
    }

private:
    const char* name_;
    Answer (*pointer_)(Arguments...);
    CallWatch* watch_;
};

}  // namespace aliquot::nvml
