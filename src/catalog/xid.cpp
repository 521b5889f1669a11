// SPDX-License-Identifier: Apache-2.0
#include "catalog/xid.h"

#include <algorithm>
#include <array>
#include <vector>

#include "catalog/embedded.h"
#include "catalog/table.h"

namespace aliquot::catalog {
namespace {

constexpr std::array<std::string_view, 4> kWords{"application", "driver", "hardware",
                                                 "information"};

const std::vector<Xid>& all_xid_rows() {
    static const std::vector<Xid> kXids = [] {
        std::vector<Xid> made;
        const auto table = read_table(kXidTable);
        if (!table) return made;
        for (const auto& row : table->rows) {
            const auto at = std::ranges::find(kWords, row[2]) - kWords.begin();
            made.push_back({count_of(row[0]), row[1],
                            static_cast<XidClass>(at % static_cast<int>(kWords.size())),
                            row[3] == "yes", row[4]});
        }
        return made;
    }();
    return kXids;
}

}  // namespace

std::string_view word(XidClass kind) { return kWords[static_cast<std::size_t>(kind)]; }

std::span<const Xid> xids() { return all_xid_rows(); }

const Xid* find_xid(unsigned id) {
    const auto& known = all_xid_rows();
    const auto found = std::ranges::lower_bound(known, id, {}, &Xid::id);
    return found == known.end() || found->id != id ? nullptr : &*found;
}

}  // namespace aliquot::catalog
