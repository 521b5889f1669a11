// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "base/colour.h"
#include "document/value.h"

/// Does a cluster really give what it promises: test pods, GPUs that compute, shares that hold.
namespace aliquot::verify {

enum class Verdict : std::uint8_t { kOk, kFailed, kSkipped };
/// "ok", "failed", "skipped".
std::string_view to_text(Verdict result);

/// What one step found.
struct Step {
    std::string id;    // "nodes", "agent", "labels", "pod", "visible", "arithmetic", "share", ...
    std::string node;  // empty: of the cluster
    Verdict result = Verdict::kOk;
    std::string message;   // one line
    std::string evidence;  // what was seen, word for word; may be empty
    std::string fix;       // what to do; empty unless it failed
};

struct Report {
    std::vector<Step> steps;  // of the cluster first, then by node
    bool stopped = false;     // somebody ended it
    bool could_look = true;   // the API server spoke to us
    [[nodiscard]] bool success() const;
    [[nodiscard]] unsigned count(Verdict result) const;
};

/// A line for each step, evidence and fix of what failed, the verdict.
void print_text(std::ostream& out, const Report& report, Colour colour, double seconds);
/// {"success","stopped","summary":{"ok","failed","skipped"},"steps":[{"id","node","result","message",
/// "evidence","fix"}]}; keys and order are a contract.
document::Value to_value(const Report& report);

}  // namespace aliquot::verify
