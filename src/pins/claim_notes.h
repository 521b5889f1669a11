// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace aliquot::pins {

// Annotations of the claims that we make.
inline constexpr char kTriesNote[] = "aliquot.dev/pins";      // how often a GPU was chosen
inline constexpr char kGpuNote[] = "aliquot.dev/pinned-gpu";  // uuids, with commas; absent: any

}  // namespace aliquot::pins
