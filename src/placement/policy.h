// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace aliquot::placement {

/// Which score chooses the node and the device. All but kAliquot and kSpread are the policies of the
/// FGD paper (USENIX ATC'23), with the rounding and the tie-breaks of its published simulator; their
/// scores are in sim/trace, for comparison.
enum class Policy : std::uint8_t {
    kAliquot,     // ours, the default
    kFgd,         // fragmentation gradient descent
    kBestFit,     // least CPU and GPU left
    kDotProduct,  // least alignment with what is free
    kPacking,     // used devices, then used nodes, then empty ones
    kClustering,  // like beside like
    kRandom,      // any that fits
    kSpread,      // most GPU left
};

/// "aliquot", "fgd", "best-fit", "dot-product", "packing", "clustering", "random", "spread"
std::string_view to_text(Policy policy);
std::optional<Policy> parse_policy(std::string_view word);
std::span<const std::string_view> policy_words();

/// Terms of the cost of Policy::kAliquot, which is "expected loss, in milli GPU". The defaults were
/// tuned on seeds 42 and 43 of the traces default, cpu250, gpushare40, gpuspec33 and multigpu40;
/// those for tasks that come and go on seeds 1 and 2 of the first four and multigpu50.
struct Weights {
    double fragmentation = 0;  // free milli that one more task of a type could no longer use
    double packing = 0;        // tasks of a type that no longer fit, times their size
    double scarcity = 0;       // exponent: how steeply packing counts as a type's slots get rare
    double scarcity_most = 0;  // cap of that factor
    double size = 0;   // exponent of a type's size in its weight; negative: small ones count more
    double waste = 0;  // what of a device is expected to stay unused once filled at random
    double whole = 0;  // a slot for several whole GPUs, times its size, while tasks come and go
    double whole_reserve =
        0;                   // slots, of those that such tasks fill in a full cluster, below which
                             // that counts in full
    double whole_power = 0;  // exponent: how fast it fades when there are more
    double drain = 0;        // of it: a node that becomes such a slot once its tasks end
    double order = 0;        // milli between the first and the last node in rank order
    double price = 0;        // milli per currency unit and hour of a node that this task wakes up
    double power = 0;        // milli per idle watt of a node that this task wakes up
};

Weights default_weights();

}  // namespace aliquot::placement
