// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "lint/report.h"
#include "lint/set.h"

/// What Jobs and CronJobs have in common. Inside src/lint only.
namespace aliquot::lint {

/// `rule` is JOB001 or CRON001: the pods of a Job may not have the restartPolicy Always.
void check_restart_policy(const File& file, const Object& object, const PodSpec& pod,
                          std::string_view rule, Report& report);

}  // namespace aliquot::lint
