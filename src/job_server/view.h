// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "document/value.h"
#include "job_server/keeper.h"

/// Jobs as JSON, as api/jobs.yaml says.
namespace aliquot::job_server {

/// What the asker may see: values of variables are told to nobody, program and directory to the owner and root.
enum class Eyes : std::uint8_t { kOwner, kOther };
inline Eyes eyes_of(const User& asker, const Record& of) {
    return asker.uid == 0 || asker.uid == of.user.uid ? Eyes::kOwner : Eyes::kOther;
}

document::Value to_document(const Record& record, Eyes eyes);
document::Value to_document(const std::vector<Transition>& steps);
/// One that waits, and until when.
document::Value pending_document(const Record& record, const Keeper::Overview::Start& when);
document::Value to_document(const Record& record, const Outlook& outlook);

}  // namespace aliquot::job_server
