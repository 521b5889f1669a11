// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "findings/finding.h"
#include "node/config_choice.h"
#include "os/root.h"
#include "sharing/config.h"

namespace aliquot::agent {

/// One reading of the configuration file.
struct ReadSource {
    std::string text;
    std::optional<sharing::Config> config;  // empty: `findings` or `problem` say why
    std::vector<findings::Finding> findings;
    std::string problem;  // the file itself cannot be read; empty otherwise
};

/// A configuration that comes from elsewhere than a file of this host.
struct SuppliedConfig {
    std::string name;           // for messages: "aliquot-config/a2"; empty: the built-in one
    node::ConfigChoice choice;  // its problem: the text is not to be had
    std::uint64_t version = 0;  // another one: what is above may be, too
};
using SupplyConfig = std::function<SuppliedConfig()>;  // called by any thread

/// The configuration file (or what stands for it) and the copy of the last one that was served,
/// beneath a Root. A bad new file must not take GPUs away: not while the agent runs, nor when it
/// starts anew. Not thread-safe: begin() has a thread of its own, but who calls it need not know.
class ConfigSource {
public:
    /// file     host path; empty: there is none, and every reading is the default configuration
    /// supply   asked instead of reading the file; empty: the file it is
    ConfigSource(const os::Root& root, std::string file, std::string state_directory,
                 sharing::Compatibility compatibility, SupplyConfig supply = {});

    /// Reads now, and returns when that is done.
    ReadSource read();

    /// Begins to read on a thread of its own, so that a large text keeps nobody waiting; nothing
    /// when that goes on already. Where no thread is to be had, take() reads.
    void begin();
    [[nodiscard]] bool is_reading() const { return reading_.valid(); }
    /// What begin() has read; empty: nothing was begun, or it goes on.
    std::optional<ReadSource> take();
    /// Waits for the end of what begin() has begun, at most so long. For tests.
    void wait(std::chrono::milliseconds limit) const;

    /// The copy that keep() left.
    /// errors   kNotFound: there is none; else it cannot be read or understood any more
    Result<ReadSource> read_last_good();

    /// Has the file changed (its identity, not only its text) since the last read() or take()?
    bool changed();

    /// Remembers `text` as good. That it cannot be written is no error: the agent runs on.
    void keep(std::string_view text);

    /// The file, or the name of what was supplied last.
    [[nodiscard]] const std::string& file() const { return file_; }
    /// Whether the last reading was of something that is written somewhere.
    [[nodiscard]] bool has_text() const { return !file_.empty(); }
    /// What was supplied last.
    [[nodiscard]] const SuppliedConfig& supplied() const { return supplied_; }

private:
    /// All that a reading brings.
    struct Reading {
        ReadSource source;
        std::string file;
        std::optional<os::FileStatus::Identity> seen;
        SuppliedConfig supplied;
    };
    [[nodiscard]] Reading read_all(std::string file) const;
    [[nodiscard]] Reading read_supplied() const;
    [[nodiscard]] ReadSource understood(const std::string& file, std::string text) const;
    ReadSource adopt(Reading reading);
    [[nodiscard]] std::optional<os::FileStatus::Identity> identity(const std::string& file) const;

    const os::Root& root_;
    std::string file_;
    const std::string last_good_;  // host path
    const sharing::Compatibility compatibility_;
    std::optional<os::FileStatus::Identity> seen_;
    std::string kept_;
    const SupplyConfig supply_;
    SuppliedConfig supplied_;
    std::future<Reading> reading_;  // last: it uses the others
};

}  // namespace aliquot::agent
