// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/guard/counting.h"

#include <unistd.h>

#include "tests/contract/guard/driver.h"
#include "tests/contract/guard/ledger_view.h"

namespace aliquot::guardkit {

std::uint64_t counted(unsigned gpu) {
    if (!environment("ALIQUOT_GUARD_KIT_FOREIGN").empty()) {
        const View view = memory_view();
        return view.total - view.free;
    }
    return LedgerView::read().tracked(::getpid(), gpu);
}

void check_sums(unsigned gpu) {
    if (!environment("ALIQUOT_GUARD_KIT_FOREIGN").empty()) return;
    // A copy is not one moment: somebody may be between two stores.
    const bool equal = eventually([&] {
        const LedgerView view = LedgerView::read();
        return view.used(gpu) == view.sum_of_slots(gpu);
    });
    const LedgerView view = LedgerView::read();
    if (!equal) CHECK_EQ(view.used(gpu), view.sum_of_slots(gpu));
    CHECK_GE(view.peak(gpu), view.used(gpu));
}

void check_peak(std::uint64_t limit, unsigned gpu) {
    if (environment("ALIQUOT_GUARD_KIT_FOREIGN").empty())
        CHECK_LE(LedgerView::read().peak(gpu), limit);
}

void check_physical(std::uint64_t limit, unsigned gpu) {
    CHECK_LE(physical_used(gpu), physical_base(gpu) + limit);
}

}  // namespace aliquot::guardkit
