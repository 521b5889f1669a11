// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pools/image_contract.h"
#include "registry/client.h"

namespace aliquot::registry {

/// What is in an image, as far as its lists of packages say.
struct ImageContents {
    std::string digest;    // of the manifest for the platform
    std::string platform;  // "linux/amd64"
    std::size_t layers = 0;
    std::size_t layers_read = 0;
    std::uint64_t bytes_read = 0;
    std::vector<pools::ImagePackage> packages;
    std::vector<std::string> remarks;  // what is in it and was not read
};

/// Whether the packages that were found are all that is wanted: then no further layer is read.
using Enough = std::function<bool(const std::vector<pools::ImagePackage>& packages)>;

/// Reads an image's manifest and the lists of packages in its layers, from the top down, so that what an upper layer
/// deleted or replaced does not count. Nothing is written to disk.
/// platform   "OS/ARCHITECTURE" or "OS/ARCHITECTURE/VARIANT"
/// errors     as the client's; kNotFound: no image for the platform; kUnsupported: an old manifest, a layer that is
///            compressed by other means than gzip; kInvalidInput: a broken manifest, more than 512 layers
Result<ImageContents> read_image(Client& client, const Reference& image,
                                 const std::string& platform, const Enough& enough);

}  // namespace aliquot::registry
