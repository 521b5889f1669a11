// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// The names that Terraform's provider has for the words of the Kubernetes API. Inside src/syntax only.
namespace aliquot::syntax {

struct HclKind {
    std::string_view resource;  // "kubernetes_deployment", of which there is one with "_v1", too
    std::string_view version;
    std::string_view kind;
};
/// nullptr: no object that rules look at.
const HclKind* find_hcl_kind(std::string_view resource);

/// Blocks that may come several times, and what the API calls the list of them: "containers" for
/// "container". Empty: it comes once.
std::string hcl_list_name(std::string_view block, std::string_view outer);

}  // namespace aliquot::syntax
