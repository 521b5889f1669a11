// SPDX-License-Identifier: Apache-2.0
#include "agent/node_labels.h"

#include "labels/sysfs.h"

namespace aliquot::agent {

labels::Labels node_labels(const os::Root& root, const Settings& settings,
                           const sharing::Offer& offer, const gpu::Inventory& inventory,
                           const std::vector<labels::Profile>& profiles) {
    const labels::NodeFacts facts{
        .inventory = inventory,
        .offer = offer,
        .mig_strategy = settings.config.flags.mig_strategy.value_or(sharing::MigStrategy::kNone),
        .machine = labels::machine_name(root),
        .pci_class = labels::pci_classes(root, inventory)};
    labels::Labels labels = labels::feature_labels(facts);
    for (const labels::Profile profile : profiles) {
        labels.merge(labels::profile_labels(profile, facts));
    }
    return labels;
}

}  // namespace aliquot::agent
