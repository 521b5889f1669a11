// SPDX-License-Identifier: Apache-2.0
#include "agent/feature_file.h"

#include <chrono>

#include "agent/node_labels.h"
#include "base/log.h"

namespace aliquot::agent {

FeatureFile::~FeatureFile() { remove(); }

void FeatureFile::remove() {
    if (written_path_.empty()) return;
    (void)root_.remove(written_path_);
    written_path_.clear();
    written_.clear();
}

void FeatureFile::apply(const Settings& settings, const sharing::Offer& offer,
                        const gpu::Inventory& inventory) {
    const auto& gfd = settings.config.flags.gfd;
    const std::string path = path_.empty() ? gfd.output_file.value_or("") : path_;
    if (path != written_path_) remove();
    if (path.empty() || inventory.gpus.empty()) return;
    labels::Labels labels = node_labels(root_, settings, offer, inventory, profiles_);
    if (path == written_path_ && labels == written_) return;
    labels::Labels told = labels;
    if (!gfd.no_timestamp.value_or(false)) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        told["nvidia.com/gfd.timestamp"] =
            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now).count());
    }
    constexpr std::uint32_t kMode = 0644;
    const auto done = root_.write_atomically(path, labels::to_feature_file(told), kMode);
    if (!done) {
        if (complained_of_ != done.error().message) {
            log::error("labels.not_written", {{"file", path}, {"why", done.error().message}});
        }
        complained_of_ = done.error().message;
        return;
    }
    complained_of_.clear();
    log::info("labels.written", {{"file", path}, {"labels", labels.size()}});
    written_path_ = path;
    written_ = std::move(labels);
}

}  // namespace aliquot::agent
