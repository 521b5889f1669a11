// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/workload.h"

namespace aliquot::sim::cluster {

using Environment = std::map<std::string, std::string>;

/// What fieldRef can name.
struct PodIdentity {
    std::string name;
    std::string pod_namespace;
    std::string uid;
    std::string node;
    std::map<std::string, std::string> labels;
};

/// Replaces $(NAME) by the variable; $$ is a dollar sign, and $(NAME) of an unknown variable stays
/// as it is. source   Kubernetes, third_party/forked/golang/expansion
std::string expand(std::string_view text, const Environment& variables);

/// The variables of a container: first what the device plugin gave, then the manifest's own, which
/// win and may refer to earlier ones. A fieldRef that cannot be had is left out.
Environment container_environment(const std::map<std::string, std::string>& granted,
                                  const std::vector<Variable>& variables, const PodIdentity& pod);

/// command and args, expanded: the program to run; empty: the image's own entry point.
std::vector<std::string> container_argv(const Container& container, const Environment& variables);

}  // namespace aliquot::sim::cluster
