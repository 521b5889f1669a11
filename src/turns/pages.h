// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "abi/turns.h"
#include "base/descriptor.h"
#include "base/result.h"

namespace aliquot::turns {

/// The two pages of one container (abi/turns.h), mapped here. Neither can change its size, and of the
/// second no mapping but ours can be writable, whoever opens it by whatever path. Not thread-safe.
class Pages {
public:
    /// devices   at most abi::kRegionDevices, by place
    /// errors    kInvalidInput: too many; kUnavailable: no memory, or a kernel before 5.1, which has
    ///           no F_SEAL_FUTURE_WRITE
    static Result<Pages> make(std::span<const abi::DeviceUuid> devices);
    Pages(Pages&& other) noexcept;
    Pages& operator=(Pages&& other) = delete;
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages();

    /// Anything may stand there, and change between two looks.
    [[nodiscard]] abi::WantsPage& wants() const { return *wants_; }
    [[nodiscard]] abi::TurnsPage& turns() const { return *turns_; }

    /// For processes of the container: wants, turns. The same open files for all, so that what they
    /// keep is no memory of ours.
    /// errors   kUnavailable: too many open files
    [[nodiscard]] Result<std::vector<Descriptor>> open() const;

private:
    Pages() = default;

    Descriptor wants_file_;
    Descriptor turns_file_;  // to be read
    abi::WantsPage* wants_ = nullptr;
    abi::TurnsPage* turns_ = nullptr;
};

}  // namespace aliquot::turns
