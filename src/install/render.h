// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "install/values.h"

namespace aliquot::install {

/// One object, as YAML text with its comments.
struct Manifest {
    std::string api_version;
    std::string kind;
    std::string namespace_name;  // empty: of the cluster
    std::string name;
    std::string yaml;  // ends with a line break, has no "---"

    /// "DaemonSet aliquot-system/aliquot-agent"
    [[nodiscard]] std::string title() const;
};

/// All objects, in the order in which they can be applied: what others need comes first. The same
/// values give the same bytes.
///
/// values   checked
std::vector<Manifest> render(const Values& values);

/// The documents of a YAML text as manifests; documents without an object are left out.
/// errors   kInvalidInput: no YAML, or an object without kind or name
Result<std::vector<Manifest>> split_manifests(std::string_view text);

/// As one stream of documents, for kubectl and for Git.
std::string to_yaml(const std::vector<Manifest>& manifests);
/// An object as the API server takes it.
std::string to_json(const Manifest& manifest);

/// The pod that takes away what an agent has left on a host: runs aliquot-agent --clean-up once.
Manifest clean_up_pod(const Values& values, const std::string& node);

/// The chart's templates, from the same source: "templates/agent.yaml" -> text.
std::map<std::string, std::string> chart_files();

}  // namespace aliquot::install
