// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lint/facts.h"
#include "lint/report.h"
#include "lint/set.h"

/// The parts of the family MIG. Inside src/lint only.
namespace aliquot::lint {

void check_mig_configs(const File&, Report&);             // MIG001 to MIG003, GOP007
void check_mig_commands(const File&, Report&);            // MIG003, MIG005 to MIG007
void check_mig_pods(const File&, const Facts*, Report&);  // MIG002, 004, 006, 009, 010
void check_mig_statements(const File&, Report&);          // MIG008, MIG011

/// The words of every `-cgi` of one command: ids and profile names.
std::vector<std::string> created_instances(const Command& command);

}  // namespace aliquot::lint
