// SPDX-License-Identifier: Apache-2.0
#include "agent/configuration.h"

#include <utility>

#include "base/log.h"

namespace aliquot::agent {

Configuration::Configuration(const os::Root& root, const Options& options, StatusBoard& board,
                             SupplyConfig supply)
    : options_(options),
      source_(root, supply ? "" : options.config_file, options.state_directory,
              options.compatibility, std::move(supply)),
      board_(board) {}

node::ConfigStatus Configuration::told() const {
    const node::ConfigChoice& choice = source_.supplied().choice;
    return {.source = choice.source,
            .key = choice.key,
            .served = refused_.empty(),
            .problem = refused_};
}

Result<Done> Configuration::load() {
    pending_ = source_.read();
    if (auto settings = settled(pending_)) {
        settings_ = *std::move(settings);
        is_new_ = true;
        return Done{};
    }
    refuse(settle_problem_);
    auto last = source_.read_last_good();
    if (last) {
        if (auto settings = settled(*last)) {
            log::warning("config.last_good", {{"file", source_.file()}});
            settings_ = *std::move(settings);
            return Done{};
        }
    }
    if (source_.supplied().version > 0) {
        if (auto settings = settled({.config = sharing::Config{}})) {
            log::warning("config.built_in", {{"why", refused_}});
            settings_ = *std::move(settings);
            return Done{};
        }
    }
    return Error{ErrorCode::kInvalidInput, refused_};
}

bool Configuration::reload(bool forced) {
    if (!forced && !source_.changed()) return false;
    pending_ = source_.read();
    auto settings = settled(pending_);
    if (!settings) {
        refuse(settle_problem_);
        return false;
    }
    before_ = settings_;
    settings_ = *std::move(settings);
    is_new_ = true;
    return true;
}

void Configuration::accept() {
    if (!is_new_) return;
    is_new_ = false;
    before_.reset();
    refused_.clear();
    const bool from_file = source_.has_text();
    source_.keep(pending_.text);
    log::info("config.served", {{"file", from_file ? source_.file() : "(defaults)"}});
    for (const auto& finding : pending_.findings) {
        log::warning("config.finding", {{"file", finding.file},
                                        {"line", finding.line},
                                        {"column", finding.column},
                                        {"rule", finding.rule},
                                        {"message", finding.message}});
    }
    board_.set_config({.file = source_.file(),
                       .state = from_file ? ConfigState::kServed : ConfigState::kDefault,
                       .findings = pending_.findings});
}

bool Configuration::reject(const std::string& why) {
    if (!is_new_) return false;
    refuse(why);
    is_new_ = false;
    if (before_) {
        settings_ = *std::exchange(before_, std::nullopt);
        return true;
    }
    auto last = source_.read_last_good();
    auto settings = last ? settled(*last) : std::nullopt;
    if (!settings) return false;
    log::warning("config.last_good", {{"file", source_.file()}});
    settings_ = *std::move(settings);
    return true;
}

std::optional<Settings> Configuration::settled(const ReadSource& read) {
    if (!read.config) {
        settle_problem_ = read.problem;
        for (const auto& finding : read.findings) {
            if (!settle_problem_.empty()) break;
            if (finding.severity != findings::Severity::kError) continue;
            settle_problem_ = finding.file + ":" + std::to_string(finding.line) + ":" +
                              std::to_string(finding.column) + ": " + finding.rule + " " +
                              finding.message;
        }
        return std::nullopt;
    }
    auto settings = settle(options_, *read.config);
    if (settings) return *std::move(settings);
    settle_problem_ = settings.error().message;
    return std::nullopt;
}

void Configuration::refuse(const std::string& why) {
    refused_ = why;
    log::error(
        "config.refused",
        {{"file", source_.file()}, {"why", why}, {"serving", "the last good configuration"}});
    board_.set_config({.file = source_.file(),
                       .state = ConfigState::kRefused,
                       .problem = why,
                       .findings = pending_.findings});
}

}  // namespace aliquot::agent
