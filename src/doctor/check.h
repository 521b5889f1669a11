// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.h"

namespace aliquot::doctor {

/// Where a piece of evidence was read.
enum class Source : std::uint8_t { kFile, kCommand, kApi, kLog };
std::string_view to_text(Source source);

/// What was read, the value seen, the value expected. No finding without it.
struct Evidence {
    std::string path;  // its beginning says the source: see source_of()
    unsigned line = 0;
    std::string value;
    std::string expected;
};

/// "k8s/..." is the API, "cmd/..." a command, "logs/..." and /var/log a log, all else a file.
Source source_of(std::string_view path);

struct Said;
/// What an object of the cluster said, as evidence.
Evidence evidence_of(const Said& said, std::string expected = {});

/// The most that a fix does to what runs on the node.
enum class Risk : std::uint8_t {
    kNone,
    kRestartPods,
    kRestartRuntime,
    kRestartKubelet,
    kReloadModule,
    kDrain,
    kDrainReboot,
    kReboot,
    kDataLoss,
};
std::string_view to_text(Risk risk);

struct Fix {
    enum class Kind : std::uint8_t { kCommand, kEdit, kNote };
    Kind kind = Kind::kNote;
    Risk risk = Risk::kNone;
    std::string text;
};
std::string_view to_text(Fix::Kind kind);

enum class Outcome : std::uint8_t { kOk, kWarning, kFailed, kSkipped, kUnknown };
std::string_view to_text(Outcome outcome);

enum class Confidence : std::uint8_t { kCertain, kLikely, kGuess };
std::string_view to_text(Confidence confidence);

/// What one check says.
struct Verdict {
    Outcome outcome = Outcome::kOk;
    Confidence confidence = Confidence::kCertain;
    std::string message;
    std::vector<Evidence> evidence;
    std::vector<Fix> fixes;

    Verdict& because(Evidence one) &;
    Verdict& because(const Location& place, std::string expected = {}) &;
    Verdict& fix(std::string command, Risk risk = Risk::kNone) &;
    Verdict& note(std::string text) &;
    Verdict& edit(std::string text, Risk risk = Risk::kNone) &;
    Verdict& as(Confidence how) &;
};

Verdict ok(std::string message);
Verdict failed(std::string message);
Verdict warning(std::string message);
/// The question could not be answered; the message is the reason.
Verdict unknown(std::string reason);
/// The question does not arise here: "no container runtime was found".
Verdict not_here(std::string reason);

enum class Level : std::uint8_t {
    kHardware,
    kDriver,
    kNvml,
    kRuntime,
    kKubelet,
    kPlugin,
    kNode,
    kScheduling,
    kContainer,
    kRun
};
inline constexpr unsigned kLevels = 10;
/// "hardware", "kernel driver", ... as categories are named.
std::string_view to_text(Level level);

/// One check: a pure function from facts to a verdict.
struct Check {
    std::string_view id;
    Level level;
    /// Its failure keeps the levels above from working: they are not run.
    bool fatal;
    /// Ids (or "DRV*") whose failure explains this one: then it is not run. Between blanks.
    std::string_view after;
    Verdict (*judge)(const Facts& facts);
    /// Of a host's level, but API objects alone can answer it: it is asked of a cluster as well.
    bool of_objects = false;
};

// The tables, one file each, in the order of judging: what explains comes before what it explains.
std::span<const Check> hardware_checks();
std::span<const Check> driver_checks();
std::span<const Check> nvml_checks();
std::span<const Check> gpu_state_checks();
std::span<const Check> xid_checks();
std::span<const Check> runtime_checks();
std::span<const Check> toolkit_checks();
std::span<const Check> kubelet_checks();
std::span<const Check> plugin_checks();
std::span<const Check> operator_checks();
std::span<const Check> node_label_checks();
std::span<const Check> agent_checks();
std::span<const Check> node_checks();
std::span<const Check> scheduling_checks();
std::span<const Check> container_checks();
std::span<const Check> start_checks();
std::span<const Check> mps_checks();
std::span<const Check> performance_checks();
std::span<const Check> pod_performance_checks();
std::span<const Check> slow_checks();

/// All of them, in the order of judging.
std::vector<Check> all_checks();

}  // namespace aliquot::doctor
