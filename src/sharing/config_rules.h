// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

/// The rules that read_config() and check_config_file() report: the one table of their ids. An id
/// keeps its meaning for ever; docs/guide/config.md has the same table.
namespace aliquot::sharing {

struct Rule {
    std::string_view id;
    std::string_view meaning;  // one line, for people
};

std::span<const Rule> config_rules();

namespace rule {
inline constexpr std::string_view kVersion = "DPC001";
inline constexpr std::string_view kNoResources = "DPC002";
inline constexpr std::string_view kReplicasPlace = "DPC003";
inline constexpr std::string_view kSwitchPlace = "DPC004";
inline constexpr std::string_view kReplicas = "DPC005";
inline constexpr std::string_view kRootResources = "DPC006";
inline constexpr std::string_view kDiscarded = "DPC007";
inline constexpr std::string_view kBothMechanisms = "DPC008";
inline constexpr std::string_view kMpsAndMig = "DPC009";
inline constexpr std::string_view kMpsClients = "DPC010";
inline constexpr std::string_view kUnknownKey = "DPC012";
inline constexpr std::string_view kNotOffered = "DPC015";
inline constexpr std::string_view kNamespace = "DPC016";
inline constexpr std::string_view kNoDefault = "DPC017";
inline constexpr std::string_view kManyReplicas = "DPC018";
inline constexpr std::string_view kMigStrategies = "DPC019";
inline constexpr std::string_view kSyntax = "DPC020";
inline constexpr std::string_view kDuplicateKey = "DPC021";
inline constexpr std::string_view kSecondDocument = "DPC022";
inline constexpr std::string_view kType = "DPC023";
inline constexpr std::string_view kLetterCase = "DPC024";
inline constexpr std::string_view kWrongPlace = "DPC025";
inline constexpr std::string_view kWord = "DPC026";
inline constexpr std::string_view kResourceName = "DPC027";
inline constexpr std::string_view kDevices = "DPC028";
inline constexpr std::string_view kNeverMatches = "DPC029";
inline constexpr std::string_view kLimit = "DPC030";
inline constexpr std::string_view kDuration = "DPC031";
inline constexpr std::string_view kImex = "DPC032";
inline constexpr std::string_view kMpsRoot = "DPC033";
// DPC034 said that MPS was not served; it is never given again.
inline constexpr std::string_view kSameResource = "DPC035";
inline constexpr std::string_view kNoName = "DPC036";
inline constexpr std::string_view kOtherFile = "DPC037";
inline constexpr std::string_view kHelmDocuments = "GOP004";
inline constexpr std::string_view kHelmConfigName = "GOP005";
}  // namespace rule

}  // namespace aliquot::sharing
