// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot::sim::apiserver {

/// What is wrong with a name; empty: nothing. The words are those that clients know.
std::string check_dns_label(std::string_view name);      // at most 63 characters
std::string check_dns_subdomain(std::string_view name);  // at most 253
std::string check_label_key(std::string_view key);       // "example.com/name"
std::string check_label_value(std::string_view value);
std::string check_path_segment(std::string_view name);  // of RBAC objects
std::string check_env_name(std::string_view name);

}  // namespace aliquot::sim::apiserver
