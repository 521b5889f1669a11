// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "bundle/tree.h"

/// Trees as files: facts (one JSON) and bundles (.tgz, the layout that --root reads as well). See
/// docs/internals/bundle.md.
namespace aliquot::bundle {

/// {"schemaVersion":"1","taken":...,"complete":...,"entries":[{"path","kind","text"|"hex",...}]}
std::string facts_to_json(const Tree& tree);
/// errors   kInvalidInput: no JSON, no such document, an entry without path
Result<Tree> facts_from_json(std::string_view text);

/// A gzipped tar: meta.json, host/NODE/..., k8s/..., logs/...; the same tree gives the same bytes.
/// errors   kInternal: zlib refused
Result<std::string> to_bundle(const Tree& tree, const std::string& node);

/// Reads what to_bundle() wrote, and the tarballs of others: gpu-operator's must-gather and
/// `microk8s inspect` are put under the names that we know.
/// errors   kInvalidInput: no gzipped tar; more than 256 MiB or 100,000 files; a broken header
Result<Tree> from_bundle(std::string_view bytes);

/// The part of from_bundle() behind gzip.
Result<Tree> from_tar(std::string_view bytes);

/// Reads either, by its content.
Result<Tree> load_tree(const std::string& file);

}  // namespace aliquot::bundle
