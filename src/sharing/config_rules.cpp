// SPDX-License-Identifier: Apache-2.0
#include "sharing/config_rules.h"

#include <array>

namespace aliquot::sharing {

std::span<const Rule> config_rules() {
    static constexpr std::array kRules{
        Rule{rule::kVersion, "'version' is not v1"},
        Rule{rule::kNoResources, "a sharing block has no list of resources"},
        Rule{rule::kReplicasPlace,
             "'replicas' does not stand in an entry of sharing.timeSlicing.resources"},
        Rule{rule::kSwitchPlace,
             "'renameByDefault' or 'failRequestsGreaterThanOne' does not stand under "
             "sharing.timeSlicing"},
        Rule{rule::kReplicas, "'replicas' is missing, below 2 or no whole number"},
        Rule{rule::kRootResources,
             "'resources' at the top of the file: a list, or patterns that have no effect"},
        Rule{rule::kDiscarded, "'devices' or 'rename', which NVIDIA's plugin discards"},
        Rule{rule::kBothMechanisms, "both timeSlicing and mps"},
        Rule{rule::kMpsAndMig, "MPS together with MIG"},
        Rule{rule::kMpsClients, "more replicas than MPS has clients (48)"},
        Rule{rule::kUnknownKey, "a key that does not exist"},
        Rule{rule::kNotOffered, "a resource name that no node offers"},
        Rule{rule::kNamespace, "a ConfigMap in a namespace where the plugin does not look"},
        Rule{rule::kNoDefault,
             "no devicePlugin.config.default: nodes without a label share nothing"},
        Rule{rule::kManyReplicas, "very many replicas"},
        Rule{rule::kMigStrategies, "flags.migStrategy differs from the operator's mig.strategy"},
        Rule{rule::kSyntax, "no YAML: tabs, broken indentation, bytes that are not text"},
        Rule{rule::kDuplicateKey, "a key that stands twice in one mapping"},
        Rule{rule::kSecondDocument, "a second YAML document, which nobody reads"},
        Rule{rule::kType, "a value of the wrong type"},
        Rule{rule::kLetterCase, "a key in the wrong letter case"},
        Rule{rule::kWrongPlace, "a known key in the wrong place"},
        Rule{rule::kWord, "a value that is not one of the allowed words, or not an absolute path"},
        Rule{rule::kResourceName,
             "a malformed resource name, one of another vendor, or one above 63 characters"},
        Rule{rule::kDevices, "'devices' is not one of: all, a count, a list"},
        Rule{rule::kNeverMatches, "an entry that an earlier entry leaves no GPU"},
        Rule{rule::kLimit, "'memory', 'compute', 'weight' or 'slack' out of range"},
        Rule{rule::kDuration, "a duration without unit, or none at all"},
        Rule{rule::kImex, "an IMEX channel other than 0"},
        Rule{rule::kMpsRoot, "MPS without flags.mpsRoot"},
        Rule{rule::kSameResource, "one resource in two entries"},
        Rule{rule::kNoName, "an entry without 'name'"},
        Rule{rule::kOtherFile, "not a sharing configuration"},
        Rule{rule::kHelmDocuments, "a Helm values file of several documents: Helm reads one"},
        Rule{rule::kHelmConfigName,
             "devicePlugin.config names a ConfigMap or a key that is not there"},
    };
    return kRules;
}

}  // namespace aliquot::sharing
