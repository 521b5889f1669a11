// SPDX-License-Identifier: Apache-2.0
#include "agent/config_source.h"

#include "base/log.h"

namespace aliquot::agent {

ConfigSource::ConfigSource(const os::Root& root, std::string file, std::string state_directory,
                           sharing::Compatibility compatibility, SupplyConfig supply)
    : root_(root),
      file_(std::move(file)),
      last_good_(std::move(state_directory) + "/last-good-config.yaml"),
      compatibility_(compatibility),
      supply_(std::move(supply)) {}

std::optional<os::FileStatus::Identity> ConfigSource::identity() const {
    const auto status = root_.status(file_);  // follows links: a ConfigMap is a chain of them
    if (!status) return std::nullopt;
    return status->identity;
}

ReadSource ConfigSource::read_supplied() {
    supplied_ = supply_();
    file_ = supplied_.name;
    const node::ConfigChoice& choice = supplied_.choice;
    if (!choice.problem.empty()) return {.problem = choice.problem};
    if (choice.key.empty()) return {.config = sharing::Config{}};
    ReadSource result{.text = choice.text};
    auto read = sharing::read_config(file_, result.text, compatibility_);
    result.config = std::move(read.config);
    result.findings = std::move(read.findings);
    return result;
}

ReadSource ConfigSource::read() {
    if (supply_) return read_supplied();
    if (file_.empty()) return {.config = sharing::Config{}};
    seen_ = identity();
    auto text = root_.read(file_);
    if (!text) return {.problem = text.error().message};
    ReadSource result{.text = *std::move(text)};
    auto read = sharing::read_config(file_, result.text, compatibility_);
    result.config = std::move(read.config);
    result.findings = std::move(read.findings);
    return result;
}

Result<ReadSource> ConfigSource::read_last_good() {
    if (file_.empty() && !supply_) {
        return Error{ErrorCode::kNotFound, "there is no configuration of which a copy is kept"};
    }
    auto text = root_.read(last_good_);
    if (!text) return text.error();
    ReadSource result{.text = *std::move(text)};
    auto read = sharing::read_config(last_good_, result.text, compatibility_);
    if (!read.config) {
        return Error{ErrorCode::kInvalidInput,
                     last_good_ + ": " +
                         (read.findings.empty() ? "no configuration" : read.findings[0].message)};
    }
    result.config = std::move(read.config);
    kept_ = result.text;
    return result;
}

bool ConfigSource::changed() {
    if (supply_) return supply_().version != supplied_.version;
    return !file_.empty() && identity() != seen_;
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
