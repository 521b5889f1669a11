// SPDX-License-Identifier: Apache-2.0
#include "placement/migration.h"

namespace aliquot::placement {

Result<Placement> Migration::place(const Request& request) { return engine_.place(request); }
std::vector<Move> Migration::plan(std::uint32_t) { return {}; }
Result<Done> Migration::apply(const std::vector<Move>&) { return Done{}; }

}  // namespace aliquot::placement
