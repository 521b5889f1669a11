// SPDX-License-Identifier: Apache-2.0
#include "agent/config_source.h"

#include <system_error>

#include "base/log.h"

namespace aliquot::agent {

ConfigSource::ConfigSource(const os::Root& root, std::string file, std::string state_directory,
                           sharing::Compatibility compatibility, SupplyConfig supply)
    : root_(root),
      file_(std::move(file)),
      last_good_(std::move(state_directory) + "/last-good-config.yaml"),
      compatibility_(compatibility),
      supply_(std::move(supply)) {}

std::optional<os::FileStatus::Identity> ConfigSource::identity(const std::string& file) const {
    const auto status = root_.status(file);  // follows links: a ConfigMap is a chain of them
    if (!status) return std::nullopt;
    return status->identity;
}

ReadSource ConfigSource::understood(const std::string& file, std::string text) const {
    ReadSource result{.text = std::move(text)};
    auto read = sharing::read_config(file, result.text, compatibility_);
    result.config = std::move(read.config);
    result.findings = std::move(read.findings);
    return result;
}

ConfigSource::Reading ConfigSource::read_supplied() const {
    Reading reading{.supplied = supply_()};
    reading.file = reading.supplied.name;
    const node::ConfigChoice& choice = reading.supplied.choice;
    if (!choice.problem.empty()) {
        reading.source = {.problem = choice.problem};
    } else if (choice.key.empty()) {
        reading.source = {.config = sharing::Config{}};
    } else {
        reading.source = understood(reading.file, choice.text);
    }
    return reading;
}

ConfigSource::Reading ConfigSource::read_all(std::string file) const {
    if (supply_) return read_supplied();
    if (file.empty()) return {.source = {.config = sharing::Config{}}};
    const auto seen = identity(file);
    auto text = root_.read(file);
    ReadSource source =
        text ? understood(file, *std::move(text)) : ReadSource{.problem = text.error().message};
    return {.source = std::move(source), .file = std::move(file), .seen = seen};
}

ReadSource ConfigSource::adopt(Reading reading) {
    file_ = std::move(reading.file);
    seen_ = reading.seen;
    supplied_ = std::move(reading.supplied);
    return std::move(reading.source);
}

ReadSource ConfigSource::read() { return adopt(read_all(file_)); }

void ConfigSource::begin() {
    if (is_reading()) return;
    const auto work = [this, file = file_] { return read_all(file); };
    try {
        reading_ = std::async(std::launch::async, work);
    } catch (const std::system_error&) {
        reading_ = std::async(std::launch::deferred, work);
    }
}

void ConfigSource::wait(std::chrono::milliseconds limit) const {
    if (is_reading()) (void)reading_.wait_for(limit);
}

std::optional<ReadSource> ConfigSource::take() {
    if (!is_reading() ||
        reading_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) {
        return std::nullopt;
    }
    return adopt(reading_.get());
}

Result<ReadSource> ConfigSource::read_last_good() {
    if (file_.empty() && !supply_) {
        return Error{ErrorCode::kNotFound, "there is no configuration of which a copy is kept"};
    }
    auto text = root_.read(last_good_);
    if (!text) return text.error();
    ReadSource result = understood(last_good_, *std::move(text));
    if (!result.config) {
        return Error{
            ErrorCode::kInvalidInput,
            last_good_ + ": " +
                (result.findings.empty() ? "no configuration" : result.findings[0].message)};
    }
    kept_ = result.text;
    return result;
}

bool ConfigSource::changed() {
    if (supply_) return supply_().version != supplied_.version;
    return !file_.empty() && identity(file_) != seen_;
}

void ConfigSource::keep(std::string_view text) {
    if (supply_ && file_.empty()) {  // the built-in one: an older text must not come back
        (void)root_.remove(last_good_);
        kept_.clear();
        return;
    }
    if (file_.empty() || text == kept_) return;
    if (const auto before = root_.read(last_good_); before && *before == text) {
        kept_ = text;  // an earlier run kept it: spare the disk
        return;
    }
    const auto written = root_.write_atomically(last_good_, text, 0600);
    if (!written) {
        log::warning("config.not_kept", {{"why", written.error().message}});
        return;
    }
    kept_ = text;
}

}  // namespace aliquot::agent
