// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace aliquot::registry {

/// Gives the bytes of a layer to `take`, as they come, until it answers false or all are there.
using LayerSource =
    std::function<Result<Done>(const std::function<bool(std::string_view bytes)>& take)>;

/// What is looked for in a layer.
struct LayerReader {
    /// A member, by its path from the root; true: its content is wanted.
    std::function<bool(const std::string& path)> wants;
    std::function<void(const std::string& path, std::string text)> take;
};

/// Reads a layer, a tar file with or without gzip, while it comes: the source runs on a thread of its own, and at most
/// some KiB lie in between. Wanted files have at most 64 MiB; larger ones are an error, as are more than five million members.
/// errors   kInvalidInput: no such file, or beyond a limit; what the source fails with
Result<Done> read_layer(const LayerSource& source, const LayerReader& reader);

}  // namespace aliquot::registry
