// SPDX-License-Identifier: Apache-2.0
#include "lint/families.h"
#include "lint/rules/mig_rules.h"

namespace aliquot::lint {

void check_mig(const File& file, const Set& /*set*/, const Facts* facts, Report& report) {
    if (!file.mentions("mig")) return;
    check_mig_configs(file, report);
    check_mig_commands(file, report);
    check_mig_pods(file, facts, report);
    check_mig_statements(file, report);
}

}  // namespace aliquot::lint
