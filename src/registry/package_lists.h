// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pools/image_contract.h"

namespace aliquot::registry {

/// What a file of an image tells of the packages that are in it.
enum class ListKind : std::uint8_t {
    kNone,    // nothing
    kDpkg,    // Debian, Ubuntu: var/lib/dpkg/status, status.d/* of distroless images
    kApk,     // Alpine: lib/apk/db/installed
    kPython,  // *.dist-info/METADATA, *.egg-info/PKG-INFO
    kConda,   // conda-meta/*.json
    kRunner,  // GitHub's runner: bin/Runner.Listener.deps.json
    kTool,  // cmake, ninja or ccache in a folder "bin" that no package manager put there: its name says all
};

/// path   from the image's root, without a slash before it
ListKind kind_of(std::string_view path);

/// The packages that such a file names; what it cannot be read as is passed over.
void add_packages(ListKind kind, std::string_view path, std::string_view text,
                  std::vector<pools::ImagePackage>& packages);

}  // namespace aliquot::registry
