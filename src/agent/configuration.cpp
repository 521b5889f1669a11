// SPDX-License-Identifier: Apache-2.0
#include "agent/configuration.h"

#include <utility>

#include "agent/served_record.h"
#include "base/log.h"

namespace aliquot::agent {

Configuration::Configuration(const os::Root& root, const Options& options, StatusBoard& board,
                             SupplyConfig supply)
    : root_(root),
      options_(options),
      source_(root, supply ? "" : options.config_file, options.state_directory,
              options.compatibility, std::move(supply)),
      board_(board) {}

std::string Configuration::served_instead() const {
    switch (standing_) {
        case Standing::kAsked:
        case Standing::kLastGood:
            return "the last good configuration is served";
        case Standing::kAsBefore:
            return "there is no good configuration to go back to (" + last_good_problem_ +
                   "), so each device stays as it was served, and new ones are not offered";
        case Standing::kBuiltIn:
            return "there never was a good configuration here, so whole GPUs are served";
    }
    return "";
}

node::ConfigStatus Configuration::told() const {
    const node::ConfigChoice& choice = source_.supplied().choice;
    return {.source = choice.source,
            .key = choice.key,
            .served = refused_.empty(),
            .problem = refused_,
            .instead = refused_.empty() ? "" : served_instead()};
}

Result<Done> Configuration::load() {
    pending_ = source_.read();
    if (auto settings = settled(pending_)) {
        settings_ = *std::move(settings);
        is_new_ = true;
        return Done{};
    }
    const std::string why = settle_problem_;
    const bool found = fall_back();
    refuse(why);
    if (found) return Done{};
    return Error{ErrorCode::kInvalidInput, refused_};
}

bool Configuration::stand_on(const ReadSource& read, Standing standing) {
    auto settings = settled(read);
    if (!settings) return false;
    settings_ = *std::move(settings);
    standing_ = standing;
    return true;
}

/// To what is known to be good. False: to nothing. An agent that reads a file, alone on its machine,
/// ends then: whoever starts it sees why.
bool Configuration::fall_back() {
    auto last = source_.read_last_good();
    if (last) {
        if (stand_on(*last, Standing::kLastGood)) return true;
        last_good_problem_ = settle_problem_;
    } else {
        last_good_problem_ = last.error().message;
    }
    if (source_.supplied().version == 0) return false;
    const bool never = !last && last.error().code == ErrorCode::kNotFound &&
                       !root_.exists(served_record_path(options_.state_directory));
    return stand_on({.config = sharing::Config{}},
                    never ? Standing::kBuiltIn : Standing::kAsBefore);
}

bool Configuration::reload(bool forced) {
    forced_ = forced_ || forced;
    if (!source_.is_reading()) {
        if (!forced_ && !source_.changed()) return false;
        forced_ = false;
        source_.begin();
    }
    auto read = source_.take();
    if (!read) return false;
    pending_ = *std::move(read);
    auto settings = settled(pending_);
    if (!settings) {
        refuse(settle_problem_);
        return false;
    }
    if (!is_new_) {  // else what is served is still that of before
        before_ = settings_;
        standing_before_ = standing_;
    }
    settings_ = *std::move(settings);
    standing_ = Standing::kAsked;
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
    is_new_ = false;
    bool found = before_.has_value();
    if (found) {
        settings_ = *std::exchange(before_, std::nullopt);
        standing_ = standing_before_;
        if (standing_ == Standing::kAsked) standing_ = Standing::kLastGood;
    } else {
        found = fall_back();
    }
    refuse(why);
    return found;
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
    log::error("config.refused",
               {{"file", source_.file()}, {"why", why}, {"serving", served_instead()}});
    board_.set_config({.file = source_.file(),
                       .state = ConfigState::kRefused,
                       .problem = why,
                       .findings = pending_.findings});
}

}  // namespace aliquot::agent
