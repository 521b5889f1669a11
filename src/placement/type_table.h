// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "placement/node_table.h"
#include "placement/workload.h"

namespace aliquot::placement {

inline constexpr unsigned kMostTypes = 128;  // of the target workload; rarer ones are left out
inline constexpr unsigned kBlockOfTypes = 8;

/// The target workload as arrays, and for every state that a single device can be in what each type
/// finds there. A node's worth is then a sum over its devices.
class TypeTable {
public:
    struct Type {
        Shape shape;
        double popularity = 0;
        double seldom = 0;  // TaskType::seldom
        double size =
            0;  // milli GPU of one task, all its GPUs; memory and MIG count by their larger part
        double weight = 0;  // of the type in a node's worth; all together 1
        double nested = 0;  // popularity of all GPU types that can only run where this one can
        double nested_demand = 0;  // popularity times size of the same
    };

    /// size_exponent  a type's weight is its popularity times (size of one device in GPUs)^exponent,
    ///                rounded to a quarter, so that only products and roots are needed
    void reset(const NodeTable& node_table, std::span<const TaskType> types, double size_exponent);

    [[nodiscard]] unsigned count() const { return static_cast<unsigned>(types_.size()); }
    [[nodiscard]] const Type& type(unsigned index) const { return types_[index]; }
    [[nodiscard]] double mean_demand() const { return mean_demand_; }  // milli GPU of a task

    /// The GPU types that one model may run; rows and sums of its nodes have one entry for each.
    struct Model {
        std::vector<std::uint8_t> types;  // indices for type(); those of one GPU come first
        std::vector<std::int32_t> gpus;
        std::vector<std::int32_t> cpu;              // milli
        std::array<float, kMostTypes> per_milli{};  // 1 / cpu; of a type without CPU much
        std::array<float, kMostTypes> per_gpu{};    // 1 / gpus
        std::size_t singles = 0;                    // types of one GPU
        unsigned blocks = 0;                        // of kBlockOfTypes entries
        [[nodiscard]] std::size_t padded() const { return std::size_t{blocks} * kBlockOfTypes; }
        std::array<std::uint32_t, kWholeGpu + 2>
            plain{};  // row by free milli while memory plays no part
    };
    [[nodiscard]] const Model& model(const Node& node) const { return models_[node.model]; }
    [[nodiscard]] const Model& model_at(std::size_t index) const { return models_[index]; }

    /// A device state as a row of the table; rows are made when first met.
    using Row = std::uint32_t;
    Row row(const Node& node, unsigned device) {
        return row(node, node.milli[device], node.free_mib(device), node.is_mig(device));
    }
    Row row(const Node& node, std::uint16_t milli, std::int32_t mib, bool mig);

    /// Sums over the devices of one node, each of one entry per type of its model (Model::padded()), one behind the
    /// other: free milli on devices that take one part of a task, parts of tasks that fit. Rows have the same for one
    /// device. Both may be read kBlockOfTypes entries beyond their end.
    static constexpr std::size_t kMostSums = 2 * std::size_t{kMostTypes} + kBlockOfTypes;
    void sum_up(const Node& node, std::int16_t* sums);
    [[nodiscard]] const std::int16_t* entries(Row row) const { return rows_.data() + starts_[row]; }

    /// A node one of whose devices has been in one state and is in another now; or as it is.
    struct Exchange {
        const std::int16_t* sums;
        const std::int16_t* before = kNothing.data();
        const std::int16_t* after = kNothing.data();
    };
    /// What sums are after that.
    static void exchange(std::int16_t* sums, const Exchange& node, const Model& model);

    static constexpr float kMostSlots = 32'767;
    // Milli of CPU up to which quotients of floats are those of integers: 2^-23 of it are less than half a milli.
    static constexpr std::int32_t kMostExactCpu = 1 << 22U;

    /// What each type of a node's model finds there.
    struct Finds {
        std::array<std::int16_t, kMostTypes> slots;   // tasks that devices and CPU take
        std::array<std::int16_t, kMostTypes> usable;  // free milli; 0 where there is no slot
    };
    static void find(Finds& finds, const Exchange& node, const Model& model, std::int32_t cpu);
    [[nodiscard]] std::int32_t free_milli(Row row) const { return free_[row]; }
    /// Milli expected to stay unused once such a device has been filled at random.
    [[nodiscard]] double waste(Row row) const { return waste_[row]; }
    [[nodiscard]] std::size_t bytes() const;

private:
    static constexpr std::array<std::int16_t, kMostSums> kNothing{};

    /// Cuts what the devices take to what the CPU allows.
    static void limit(Finds& finds, const Model& model, std::int32_t cpu);
    void weigh(const NodeTable& node_table, double size_exponent);
    void nest();
    void expect_waste();
    [[nodiscard]] Row make_row(const Node& node, std::uint16_t milli, std::int32_t mib, bool mig);

    std::vector<Type> types_;
    std::vector<Model> models_;
    std::vector<std::int16_t> rows_;     // one after another, and kBlockOfTypes entries of 0
    std::vector<std::uint32_t> starts_;  // of each row in rows_
    std::vector<std::int32_t> free_;
    std::vector<double> waste_;
    std::array<double, kWholeGpu + 1> share_waste_{};  // by free milli
    bool by_memory_ = false;  // a type asks for GPU memory: rows tell memory apart
    std::unordered_map<std::uint64_t, Row> known_;
    double mean_demand_ = 0;
};

/// x^(quarters/4) by products and square roots only: the same bits on every machine. x >= 0.
double power_of(double x, int quarters);

}  // namespace aliquot::placement
