// SPDX-License-Identifier: Apache-2.0
#include "os/temporary_directory.h"

#include <cstdlib>
#include <string>
#include <system_error>

namespace aliquot::os {

TemporaryDirectory::TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "aliquot.XXXXXX").native();
    if (::mkdtemp(name.data()) == nullptr) {
        throw std::filesystem::filesystem_error("mkdtemp", name,
                                                std::error_code(errno, std::generic_category()));
    }
    path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
    if (kept_) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace aliquot::os
