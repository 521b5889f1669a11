// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "k8s/names.h"

namespace aliquot::sim::apiserver {

using k8s::check_dns_label;
using k8s::check_dns_subdomain;
using k8s::check_label_key;
using k8s::check_label_value;

/// What is wrong with a name; empty: nothing. The words are those that clients know.
std::string check_path_segment(std::string_view name);  // of RBAC objects
std::string check_env_name(std::string_view name);

}  // namespace aliquot::sim::apiserver
