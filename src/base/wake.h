// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/descriptor.h"

namespace aliquot {

/// Makes a poll() return, from any thread. Thread-safe.
class Wake {
public:
    /// Without a free descriptor it is empty: descriptor() is -1, which poll() passes over.
    Wake();

    [[nodiscard]] int descriptor() const { return event_.get(); }  // readable after notify()
    void notify() const;
    /// Until the next notify() it is not readable.
    void clear() const;

private:
    Descriptor event_;
};

}  // namespace aliquot
