// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/guard/turns_world.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "guard_region/config_file.h"

namespace aliquot::guardkit {
namespace {

void succeeds(const Result<Done>& done) {
    if (done) return;
    std::fprintf(stderr, "guard kit: %s\n", done.error().message.c_str());
    std::_Exit(3);
}

}  // namespace

TurnsWorld::TurnsWorld(std::filesystem::path directory, std::string uuid)
    : directory_(std::move(directory)), uuid_(std::move(uuid)), sockets_(keeper_) {}

void TurnsWorld::add(const std::string& name, std::uint32_t weight) {
    const auto file = directory_ / (name + ".config");
    guard_region::Settings settings{.container = name, .devices = {}};
    settings.devices.push_back({.uuid = uuid_, .weight = weight});
    const auto made = guard_region::ConfigFile::create(file, settings);
    if (!made) succeeds(made.error());
    add(name, file);
}

void TurnsWorld::add(const std::string& name, const std::filesystem::path& config) {
    succeeds(sockets_.open(name, directory_ / name, config));
}

}  // namespace aliquot::guardkit
