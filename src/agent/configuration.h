// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/config_source.h"
#include "agent/options.h"
#include "agent/settings.h"
#include "agent/status_page.h"
#include "base/result.h"
#include "os/root.h"

namespace aliquot::agent {

/// The configuration that is served, and how a new one replaces it. Not thread-safe.
class Configuration {
public:
    /// What settings() stand for.
    enum class Standing : std::uint8_t {
        kAsked,     // the configuration that is asked for
        kLastGood,  // the last one that was good: what is asked for is not
        kAsBefore,  // none that can be read: each device stays as it was served (settings() are the
                    // built-in ones, for what is not about devices)
        kBuiltIn,   // there never was a good one here: whole GPUs
    };

    /// root, options, board   must outlive this
    /// supply                 as ConfigSource's
    Configuration(const os::Root& root, const Options& options, StatusBoard& board,
                  SupplyConfig supply = {});

    /// The first reading: the file, else the last good one. What is supplied, but wrong, gives the
    /// built-in configuration where no device was ever served, else devices stay as they were.
    /// errors   kInvalidInput: there is none to serve
    Result<Done> load();
    /// Looks whether there is another one to read. It is read on a thread of its own: a later call,
    /// which is due soon while is_reading(), brings what was read. True when there are settings to
    /// try.
    /// forced   reads it whether or not it has changed
    bool reload(bool forced);
    [[nodiscard]] bool is_reading() const { return source_.is_reading(); }
    /// Waits until what is being read is there, at most so long. For tests.
    void wait_until_read(std::chrono::milliseconds limit) const { source_.wait(limit); }
    /// The node can serve what settings() says.
    void accept();
    /// It reads well but this node cannot serve it. Returns whether an earlier one holds again.
    bool reject(const std::string& why);

    [[nodiscard]] const Settings& settings() const { return settings_; }
    [[nodiscard]] Standing standing() const { return standing_; }
    [[nodiscard]] const ReadSource& pending() const { return pending_; }
    /// What became of the last reading of what is supplied.
    [[nodiscard]] node::ConfigStatus told() const;

private:
    std::optional<Settings> settled(const ReadSource& read);
    void refuse(const std::string& why);
    bool fall_back();
    bool stand_on(const ReadSource& read, Standing standing);
    [[nodiscard]] std::string served_instead() const;

    const os::Root& root_;
    const Options& options_;
    ConfigSource source_;
    StatusBoard& board_;
    ReadSource pending_;
    Settings settings_;
    Standing standing_ = Standing::kAsked;
    std::optional<Settings> before_;
    Standing standing_before_ = Standing::kAsked;
    std::string last_good_problem_;  // why there is no last good one
    std::string settle_problem_;
    std::string refused_;  // why the last reading is not served; empty: it is
    bool is_new_ = false;
    bool forced_ = false;  // to be read anew, since what is being read may be older than the wish
};

}  // namespace aliquot::agent
