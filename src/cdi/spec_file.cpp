// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "cdi/spec.h"

namespace aliquot::cdi {
namespace {

constexpr std::size_t kMaxBytes = 4U << 20U;

}  // namespace

SpecFile::SpecFile(const os::Root& root, std::string path) : root_(root), path_(std::move(path)) {}

Result<Done> SpecFile::write(const Spec& spec) {
    auto content = to_json(spec);
    if (!content) return std::move(content).error();
    // What is there is compared, not what we remember: somebody may have removed or changed it.
    const auto present = root_.read(path_, kMaxBytes);
    if (!present || *present != *content) {
        auto written = root_.write_atomically(path_, *content);
        if (!written) return std::move(written).error().during("write CDI spec");
    }
    return Done{};
}

Result<Done> SpecFile::remove() {
    auto removed = root_.remove(path_);
    if (!removed) return std::move(removed).error().during("remove CDI spec");
    return Done{};
}

}  // namespace aliquot::cdi
