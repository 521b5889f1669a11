// SPDX-License-Identifier: Apache-2.0
#include "dra/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/number.h"
#include "base/text.h"
#include "document/build.h"
#include "document/json.h"
#include "document/path.h"

namespace aliquot::dra {
namespace {

using document::make_mapping;
using document::text_at;
using document::Value;

constexpr std::string_view kFormat = "aliquot-claim 1 ";
constexpr std::string_view kEnding = ".claim";
constexpr std::string_view kBadEnding = ".claim.bad";
constexpr std::size_t kMostFiles = 10'000;
constexpr std::string_view kChanges = "/changes";
constexpr std::size_t kMostBytes = 256U << 10U;
constexpr std::size_t kLongestUid = 64;
constexpr std::array<std::string_view, 3> kKinds{"gpu", "share", "mig"};

/// FNV-1a: against a file that was cut off or changed by accident.
std::string checksum_of(std::string_view bytes) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : bytes) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3ULL;
    }
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
    return text.data();
}

Value limits_value(const grant::Limits& limits) {
    Value value = document::make_mapping();
    if (limits.memory_bytes) document::append(value, "memoryBytes", *limits.memory_bytes);
    if (limits.compute_percent) document::append(value, "computePercent", *limits.compute_percent);
    if (limits.weight) document::append(value, "weight", *limits.weight);
    return value;
}

template <class Number>
std::optional<Number> number_at(const Value& node, std::string_view path) {
    return parse_number<Number>(text_at(node, path));
}

Value device_value(const PreparedDevice& device) {
    Value value = make_mapping({{"request", device.request},
                                {"pool", device.pool},
                                {"device", device.device},
                                {"share", device.share},
                                {"uuid", device.uuid},
                                {"gpu", device.gpu},
                                {"cdi", device.cdi_name},
                                {"kind", kKinds.at(static_cast<std::size_t>(device.kind))},
                                {"admin", device.admin},
                                {"whole", device.whole},
                                {"memoryBytes", device.memory_bytes},
                                {"computePercent", device.compute_percent},
                                {"limits", limits_value(device.limits)}});
    if (device.cut) {
        document::append(value, "cut",
                         make_mapping({{"profile", device.cut->profile},
                                       {"start", device.cut->start},
                                       {"size", device.cut->size}}));
    }
    return value;
}

PreparedDevice read_device(const Value& node) {
    PreparedDevice device{.request = text_at(node, "request"),
                          .pool = text_at(node, "pool"),
                          .device = text_at(node, "device"),
                          .share = text_at(node, "share"),
                          .uuid = text_at(node, "uuid"),
                          .gpu = text_at(node, "gpu"),
                          .cdi_name = text_at(node, "cdi"),
                          .admin = document::is_true(node.find("admin")),
                          .whole = document::is_true(node.find("whole"))};
    const auto kind = std::ranges::find(kKinds, text_at(node, "kind"));
    if (kind != kKinds.end()) device.kind = static_cast<Device::Kind>(kind - kKinds.begin());
    device.memory_bytes = number_at<std::uint64_t>(node, "memoryBytes").value_or(0);
    device.compute_percent = number_at<unsigned>(node, "computePercent").value_or(0);
    device.limits = {.memory_bytes = number_at<std::uint64_t>(node, "limits.memoryBytes"),
                     .compute_percent = number_at<unsigned>(node, "limits.computePercent"),
                     .weight = number_at<unsigned>(node, "limits.weight")};
    if (const Value* const cut = node.find("cut")) {
        device.cut = Cut{.profile = text_at(*cut, "profile"),
                         .start = number_at<unsigned>(*cut, "start").value_or(0),
                         .size = number_at<unsigned>(*cut, "size").value_or(0)};
    }
    return device;
}

Value mount_value(const grant::Grant::Mount& mount) {
    return make_mapping({{"container", mount.container_path},
                         {"host", mount.host_path},
                         {"readOnly", mount.read_only}});
}

}  // namespace

bool is_claim_uid(std::string_view text) {
    return !text.empty() && text.size() <= kLongestUid && text.front() != '-' &&
           std::ranges::all_of(text,
                               [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
}

std::string to_text(const PreparedClaim& claim) {
    Value environment = document::make_mapping();
    for (const auto& [name, value] : claim.environment) document::append(environment, name, value);
    const bool prepared = claim.state == PreparedClaim::State::kPrepared;
    const std::string json = document::to_json_line(
        make_mapping({{"namespace", claim.claim.name_space},
                      {"name", claim.claim.name},
                      {"uid", claim.claim.uid},
                      {"state", prepared ? "PrepareCompleted" : "PrepareStarted"},
                      {"boot", claim.boot},
                      {"pods", claim.pods},
                      {"devices", document::make_sequence(claim.devices, device_value)},
                      {"mounts", document::make_sequence(claim.mounts, mount_value)},
                      {"environment", std::move(environment)}}));
    return std::string(kFormat) + checksum_of(json) + "\n" + json + "\n";
}

Result<PreparedClaim> parse_prepared_claim(std::string_view text) {
    const auto bad = [](const char* why) { return Error{ErrorCode::kInvalidInput, why}; };
    if (!text.starts_with(kFormat)) return bad("not a prepared claim of format 1");
    text.remove_prefix(kFormat.size());
    const auto line = text.find('\n');
    if (line == std::string_view::npos || !text.ends_with('\n')) return bad("cut off");
    const std::string_view json = text.substr(line + 1, text.size() - line - 2);
    if (text.substr(0, line) != checksum_of(json)) return bad("changed: the checksum is another");
    const auto read = document::parse_json(json, {.several = false});
    if (!read) return read.error();
    PreparedClaim claim{.claim = {.name_space = text_at(*read, "namespace"),
                                  .name = text_at(*read, "name"),
                                  .uid = text_at(*read, "uid")},
                        .boot = text_at(*read, "boot")};
    if (!is_claim_uid(claim.claim.uid)) return bad("it has no uid");
    if (text_at(*read, "state") == "PrepareCompleted")
        claim.state = PreparedClaim::State::kPrepared;
    for (const Value& pod : document::items_at(*read, {"pods"})) claim.pods.push_back(pod.scalar);
    for (const Value& one : document::items_at(*read, {"devices"})) {
        claim.devices.push_back(read_device(one));
    }
    for (const Value& one : document::items_at(*read, {"mounts"})) {
        claim.mounts.push_back({.container_path = text_at(one, "container"),
                                .host_path = text_at(one, "host"),
                                .read_only = document::is_true(one.find("readOnly"))});
    }
    for (const auto& [name, value] : document::entries_at(*read, {"environment"})) {
        claim.environment[name.scalar] = value.scalar;
    }
    return claim;
}

Checkpoint::Checkpoint(const os::Root& root, std::string directory, DevicesOf devices_of)
    : root_(root), directory_(std::move(directory)), devices_of_(std::move(devices_of)) {}

std::string Checkpoint::file_of(const std::string& uid) const {
    return directory_ + "/" + uid + std::string(kEnding);
}

std::optional<Checkpoint::Mark> Checkpoint::mark() const {
    const auto status = root_.status(directory_);
    const Descriptor file(
        ::open(root_.resolve(directory_ + std::string(kChanges)).c_str(), O_RDONLY | O_CLOEXEC));
    Mark mark;
    if (!status || !file) return std::nullopt;
    if (::pread(file.get(), &mark.changes, sizeof mark.changes, 0) != sizeof mark.changes)
        return std::nullopt;
    mark.directory = status->identity;
    return mark;
}

/// Before the change: who is killed in between has only made others read again. One write of eight bytes, so never
/// half a number.
void Checkpoint::count_change() const {
    const Descriptor file(::open(root_.resolve(directory_ + std::string(kChanges)).c_str(),
                                 O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    std::uint64_t changes = 0;
    if (!file || ::pread(file.get(), &changes, sizeof changes, 0) < 0) return;
    ++changes;
    if (::pwrite(file.get(), &changes, sizeof changes, 0) != sizeof changes) {
        (void)::ftruncate(file.get(), 0);  // nobody trusts what he remembers
    }
}

Result<const PreparedClaims*> Checkpoint::claims() {
    const auto now = mark();
    if (!now || now != read_at_) {
        read_at_.reset();
        auto read = read_all();
        if (!read) return std::move(read).error().during("read the notes of claims");
        claims_ = *std::move(read);
        read_at_ = mark();
    }
    return &claims_;
}

Result<PreparedClaims> Checkpoint::read_all() const {
    PreparedClaims claims;
    const auto names = root_.list(directory_, kMostFiles);
    if (!names && names.error().code == ErrorCode::kNotFound) return claims;
    if (!names) return names.error();
    if (names->size() >= kMostFiles) {
        return Error{ErrorCode::kUnavailable, root_.resolve(directory_).native() + ": more than " +
                                                  std::to_string(kMostFiles - 1) + " files"};
    }
    std::vector<std::string> lost;
    for (const std::string& name : *names) {
        if (name.starts_with('.')) continue;
        if (name.ends_with(kBadEnding)) {
            lost.push_back(name.substr(0, name.size() - kBadEnding.size()));
        }
        if (!name.ends_with(kEnding)) continue;
        const std::string uid = name.substr(0, name.size() - kEnding.size());
        const auto text = root_.read(directory_ + "/" + name, kMostBytes);
        // What is no note is kInvalidInput: too long for one, a pipe, bytes that do not parse. All else tells nothing.
        if (!text && text.error().code == ErrorCode::kNotFound) continue;
        if (!text && text.error().code != ErrorCode::kInvalidInput) return text.error();
        auto claim = text ? parse_prepared_claim(*text) : Result<PreparedClaim>(text.error());
        if (claim && claim->claim.uid == uid) {
            claims.insert_or_assign(uid, *std::move(claim));
            continue;
        }
        set_aside(name, claim ? "it is of another claim" : claim.error().message);
        lost.push_back(uid);
    }
    for (const std::string& uid : lost) {
        if (auto added = add_lost(uid, claims); !added) return added.error();
    }
    return claims;
}

void Checkpoint::set_aside(const std::string& name, const std::string& why) const {
    const std::string path = directory_ + "/" + name;
    log::error("dra.checkpoint_bad", {{"file", path}, {"why", why}});
    std::error_code problem;
    std::filesystem::rename(root_.resolve(path), root_.resolve(path + ".bad"), problem);
}

/// A note that was made anew since is the better one.
Result<Done> Checkpoint::add_lost(const std::string& uid, PreparedClaims& claims) const {
    if (!is_claim_uid(uid) || claims.contains(uid)) return Done{};
    auto devices = devices_of_(uid);
    if (!devices) return devices.error();
    claims.insert_or_assign(uid, PreparedClaim{.claim = {.uid = uid},
                                               .state = PreparedClaim::State::kLost,
                                               .devices = *std::move(devices)});
    return Done{};
}

Result<Done> Checkpoint::put(const PreparedClaim& claim) {
    const auto before = mark();
    count_change();
    constexpr std::uint32_t kMode = 0600;
    auto written = root_.write_atomically(file_of(claim.claim.uid), to_text(claim), kMode);
    if (!written) return std::move(written).error().during("note a claim");
    (void)root_.remove(file_of(claim.claim.uid) + ".bad");
    claims_.insert_or_assign(claim.claim.uid, claim);
    remember(before);
    return Done{};
}

Result<Done> Checkpoint::erase(const std::string& uid) {
    const auto before = mark();
    count_change();
    for (const std::string& path : {file_of(uid), file_of(uid) + ".bad"}) {
        auto removed = root_.remove(path);
        if (!removed) return std::move(removed).error().during("forget a claim");
    }
    claims_.erase(uid);
    remember(before);
    return Done{};
}

/// Of our own change, where nothing had been missed before it.
void Checkpoint::remember(const std::optional<Mark>& before) {
    if (before && before == read_at_) {
        read_at_ = mark();
    } else {
        read_at_.reset();
    }
}

}  // namespace aliquot::dra
