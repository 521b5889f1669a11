// SPDX-License-Identifier: Apache-2.0
#include "lint/families.h"

namespace aliquot::lint {

void check_claims(const File& /*file*/, const Set& /*set*/, const Facts* /*facts*/,
                  Report& /*report*/) {}

}  // namespace aliquot::lint
