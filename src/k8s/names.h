// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace aliquot::k8s {

// What is wrong with a name; empty: nothing. The words are those of Kubernetes' API server.
// source   k8s.io/apimachinery/pkg/util/validation

std::string check_dns_label(std::string_view name);      // at most 63 characters
std::string check_dns_subdomain(std::string_view name);  // at most 253
std::string check_label_key(std::string_view key);       // "example.com/name"; also a taint's key
std::string check_label_value(std::string_view value);   // may be empty; also a taint's value

inline bool is_dns_label(std::string_view name) { return check_dns_label(name).empty(); }
inline bool is_dns_subdomain(std::string_view name) { return check_dns_subdomain(name).empty(); }
inline bool is_label_key(std::string_view key) { return check_label_key(key).empty(); }
inline bool is_label_value(std::string_view value) { return check_label_value(value).empty(); }

}  // namespace aliquot::k8s
