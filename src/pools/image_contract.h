// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace aliquot::pools {

/// One package of an image's bill of materials.
struct ImagePackage {
    std::string name;
    std::string version;
    friend bool operator==(const ImagePackage&, const ImagePackage&) = default;
};

/// Reads SPDX 2.x JSON ("packages") or CycloneDX JSON ("components"), as syft, trivy and docker make them.
/// errors   kInvalidInput: neither of them; more than 200,000 packages
Result<std::vector<ImagePackage>> read_bill_of_materials(std::string_view text);

/// One thing that a contract asks for.
struct ContractItem {
    std::string what;      // "CUDA 12.1"
    std::string found;     // "cuda-cudart-12-1 12.1.105-1"; empty: it is missing
    std::string expected;  // "a package cuda-cudart-12-1"
};

/// Names of the contracts that are known: "ci-cuda".
std::vector<std::string_view> contract_names();

/// What an image has of a contract, item by item. ci-cuda: Ubuntu 22.04, CUDA 12.1, cuDNN, cmake, ninja, ccache, the
/// runner of GitHub Actions, numpy, PyYAML.
/// errors   kInvalidInput: no such contract
Result<std::vector<ContractItem>> check_contract(std::string_view contract,
                                                 const std::vector<ImagePackage>& packages);

}  // namespace aliquot::pools
