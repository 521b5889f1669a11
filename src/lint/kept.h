// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lint/file.h"

/// What the directories of a file say of it. Any thread.
namespace aliquot::lint {

/// Whether a file lies where a project keeps what was: its old releases, archives, proposals of
/// their day, and what its own tests read.
bool is_kept(const File& file);

/// Whether nobody is to run what the file shows any more, or yet: an archive, or the text of a
/// proposal. What is no error there is advice at most.
bool is_record(const File& file);

}  // namespace aliquot::lint
