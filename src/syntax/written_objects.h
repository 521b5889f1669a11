// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/block.h"

/// Objects that a program writes in its own form.
namespace aliquot::syntax {

struct WrittenObject {
    Value node;         // as YAML would have it; marks are places of the file
    bool gaps = false;  // parts of it are computed: what is not written may be there
};

/// `resource "kubernetes_deployment" "x" { ... }` of Terraform and OpenTofu. Linear; any bytes. Values
/// that are computed become placeholders.
std::vector<WrittenObject> read_hcl_objects(const Block& block);

/// A block of Terraform as it is written: `resource "aws_eks_node_group" "gpu" { ... }`.
struct HclBlock {
    std::string type;                 // "resource"
    std::vector<std::string> labels;  // "aws_eks_node_group", "gpu"
    Value body;                       // names as they are written; computed values are placeholders
};
/// All blocks that begin a line. Linear; any bytes.
std::vector<HclBlock> read_hcl_blocks(const Block& block);

/// Whether a dict that asks for an amount of this resource ("nvidia.com/gpu") is of interest.
using ResourceChoice = bool (*)(std::string_view resource);

/// Dicts of Python that are manifests, or parts of pods with such a resource, and calls of the client library:
/// `client.V1Container(...)`, `V1ResourceRequirements(limits={...})`.
std::vector<WrittenObject> read_python_objects(const Block& block, ResourceChoice is_wanted);

/// Whether a mapping is an object of the Kubernetes API: it names its kind and version and has contents.
bool is_manifest(const Value& node);

/// "node_selector" -> "nodeSelector".
std::string camel_case(std::string_view name);
/// A scalar, or a key, with its place.
Value written_scalar(const Block& block, std::size_t offset, std::string text, Value::Kind kind);
/// Adds `key: value` that stands at `offset`.
void add_written(const Block& block, Value& mapping, std::size_t offset, std::string key,
                 Value value);
/// The mapping at a path of keys; nullptr: there is none.
Value* mapping_below(Value& mapping, std::initializer_list<std::string_view> path);
/// What a bare word is: a number, a truth value, nothing; kString for all else.
Value::Kind kind_of_word(std::string_view word);

}  // namespace aliquot::syntax
