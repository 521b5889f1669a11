// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/settings.h"
#include "gpu/inventory.h"
#include "labels/labels.h"
#include "os/root.h"
#include "sharing/offer.h"

namespace aliquot::agent {

/// Keeps a file of labels for node-feature-discovery's local source in step with what is offered,
/// as NVIDIA's gpu-feature-discovery does. NFD removes labels that the file does not have any more.
/// What cannot be written is logged once; the GPUs are served all the same. Not thread-safe.
class FeatureFile {
public:
    /// root   must outlive this
    /// path   host path; empty: the configuration's flags.gfd.outputFile, else none
    FeatureFile(const os::Root& root, std::string path, std::vector<labels::Profile> profiles)
        : root_(root), path_(std::move(path)), profiles_(std::move(profiles)) {}
    ~FeatureFile();  // removes the file: this agent speaks for the node no more

    /// Writes the file when what it says has changed. A node whose driver has told nothing yet
    /// keeps the file that it has.
    void apply(const Settings& settings, const sharing::Offer& offer,
               const gpu::Inventory& inventory);

private:
    void remove();

    const os::Root& root_;
    std::string path_;
    std::vector<labels::Profile> profiles_;
    std::string written_path_;  // empty: none was written
    labels::Labels written_;
    std::string complained_of_;
};

}  // namespace aliquot::agent
