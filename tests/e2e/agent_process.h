// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "os/spawner.h"

namespace aliquot::e2e {

/// aliquot-agent on the node whose root directory is `root`, with a driver in /driver; its log is agent.log there.
/// Without metrics, where `words` do not say otherwise.
inline Result<os::Process> start_agent_on(const std::filesystem::path& root,
                                          std::vector<std::string> words) {
    std::vector<std::string> all{ALIQUOT_BIN_DIR "/aliquot-agent", "--root", root.native(),
                                 "--driver-root", "/driver"};
    if (std::ranges::find(words, "--metrics-listen") == words.end())
        all.insert(all.end(), {"--metrics-listen", "off"});
    all.insert(all.end(), std::make_move_iterator(words.begin()),
               std::make_move_iterator(words.end()));
    return os::Process::start({.argv = std::move(all),
                               .environment = os::current_environment(),
                               .working_directory = root.native(),
                               .output_path = (root / "agent.log").native()});
}

}  // namespace aliquot::e2e
