// SPDX-License-Identifier: Apache-2.0
#include "catalog/drivers.h"

#include <algorithm>
#include <vector>

#include "catalog/embedded.h"
#include "catalog/table.h"

namespace aliquot::catalog {
namespace {

const std::vector<CudaDriver>& toolkits() {
    static const std::vector<CudaDriver> kToolkits = [] {
        std::vector<CudaDriver> made;
        const auto table = read_table(kCudaDriverTable);
        if (!table) return made;
        for (const auto& row : table->rows) {
            made.push_back({parse_version(row[0]).value_or(Version{}), row[1],
                            parse_version(row[1]).value_or(Version{}), row[2] == "known"});
        }
        return made;
    }();
    return kToolkits;
}

const std::vector<DriverBranch>& branches() {
    static const std::vector<DriverBranch> kBranches = [] {
        std::vector<DriverBranch> made;
        const auto table = read_table(kDriverBranchTable);
        if (!table) return made;
        for (const auto& row : table->rows) {
            made.push_back({count_of(row[0]), row[1], row[2], row[3], row[4]});
        }
        return made;
    }();
    return kBranches;
}

}  // namespace

std::span<const CudaDriver> cuda_drivers() { return toolkits(); }

const CudaDriver* own_driver(const Version& cuda) {
    const CudaDriver* found = nullptr;
    for (const CudaDriver& row : toolkits()) {
        if (row.cuda.major() != cuda.major() || row.cuda.minor() != cuda.minor()) continue;
        if (found == nullptr || row.cuda <= cuda) found = &row;
    }
    return found;
}

std::string_view driver_floor(unsigned cuda_major) {
    switch (cuda_major) {
        case 11:
            return "450.80.02";
        case 12:
            return "525.60.13";
        case 13:
            return "580.65.06";
        default:
            return {};
    }
}

const CudaDriver* newest_cuda(const Version& driver) {
    const CudaDriver* found = nullptr;
    for (const CudaDriver& row : toolkits()) {
        if (row.driver_version <= driver) found = &row;
    }
    return found;
}

const DriverBranch* find_driver_branch(unsigned branch) {
    const auto& all = branches();
    const auto found = std::ranges::find(all, branch, &DriverBranch::branch);
    return found == all.end() ? nullptr : &*found;
}

}  // namespace aliquot::catalog
