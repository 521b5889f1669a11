// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "install/template.h"
#include "install/values.h"

namespace aliquot::install {

/// What the marks of our templates mean for these values; without the clean-up pod's.
Meaning meaning_of(const Values& values);

/// The same for the chart: which of its values say it.
const HelmWords& helm_words();

}  // namespace aliquot::install
