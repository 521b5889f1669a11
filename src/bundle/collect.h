// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "bundle/tree.h"
#include "os/root.h"

/// Reading a host or a directory into a Tree. Needs no root; what cannot be read is an entry that
/// says why.
namespace aliquot::bundle {

/// The files of a host that checks ask for: a fixed list, see collect.cpp.
Tree collect_host(const os::Root& root);

/// A directory that stands for something: a host's root (proc, sys, etc, ...), a bundle's tree
/// (host/NODE/..., k8s, logs), or both. What hosts have is read by the list of collect_host(); the
/// folders cmd, k8s, logs and agent whole.
/// errors   kNotFound, kPermission, kInvalidInput: no directory, or nothing in it that we know
Result<Tree> collect_directory(const std::string& directory);

/// The bounds of one tree: a file is read up to 4 MiB (its end when it is a log), a list of objects up to
/// 32 MiB, as half of it tells nothing; all of them up to 64 MiB.
inline constexpr std::size_t kMostFileBytes = 4U << 20U;
inline constexpr std::size_t kMostObjectBytes = 32U << 20U;
inline constexpr std::size_t kMostTreeBytes = 64U << 20U;
/// Of the file with this name in a tree: "k8s/pods.json".
constexpr std::size_t most_bytes_of(std::string_view name) {
    return name.starts_with("k8s/") ? kMostObjectBytes : kMostFileBytes;
}

}  // namespace aliquot::bundle
