// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "lint/families.h"

/// The parts of the family of commands. Inside src/lint only.
namespace aliquot::lint {

/// kubectl, microk8s kubectl, oc, k.
bool is_kubectl(const Command& command, std::string_view verb);
/// Text of the command and of what it pipes into, up to five of them.
std::string pipeline_text(const File& file, const Command& command);
/// kubectl, docker, podman exec: the command runs in a container.
bool runs_in_container(const Command& command);

void check_kubectl_run(const File& file, const Command& command, Report& report);   // SH001, SH002
void check_nvidia_tools(const Command& command, Report& report);                    // SH003
void check_sources(const File& file, const Command& command, Report& report);       // SH004
void check_node_queries(const File& file, const Command& command, Report& report);  // SH005, SH006
void check_toolkit(const File& file, const Command& command, Report& report);       // SH007
void check_fence_words(const File& file, Report& report);                           // SH008
void check_restart(const File& file, const Set& set, const Command& command,
                   Report& report);                                                 // SH010
void check_measurements(const File& file, const Command& command, Report& report);  // SH011
void check_patch(const File& file, const Command& command, Report& report);         // SH013
/// Whether the text around it says not to run it.
bool warns_of_commands(const File& file);
bool is_warned_of(const File& file, const Command& command);
void check_names(const File& file, const Set& set, Report& report);  // SH012

}  // namespace aliquot::lint
