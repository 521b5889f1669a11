// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

/// Whether twice the input is at most 2.3 times the work, for texts that are made of the corpus by
/// repeating a line, a field or a character many times: a reader that looks back at what it has read
/// takes four times as long. The work is processor time of this thread, so what else runs beside it
/// hardly counts; only what takes long enough to be measured is judged, and only the best of several
/// tries, so that a disturbed measurement does not fail. 0: yes; 1: no, and what was said tells how.
int check_complexity(const std::filesystem::path& corpus);
