// SPDX-License-Identifier: Apache-2.0
#include "sim/cuda/device_attributes.h"

#include <algorithm>
#include <array>

namespace aliquot::sim {
namespace {

/// What differs from one compute capability to the next.
struct Capability {
    int version;
    int threads_per_multiprocessor;
    int blocks_per_multiprocessor;
    int shared_per_multiprocessor;
    int shared_per_block_most;
    int l2_bytes;
    int single_to_double;
};

constexpr auto kCapabilities = std::to_array<Capability>({
    {60, 2048, 32, 65536, 49152, 4 << 20, 2},
    {61, 2048, 32, 98304, 49152, 3 << 20, 32},
    {70, 2048, 32, 98304, 98304, 6 << 20, 2},
    {75, 1024, 16, 65536, 65536, 4 << 20, 32},
    {80, 2048, 32, 167936, 166912, 40 << 20, 2},
    {86, 1536, 16, 102400, 101376, 6 << 20, 64},
    {89, 1536, 24, 102400, 101376, 48 << 20, 64},
    {90, 2048, 32, 233472, 232448, 50 << 20, 2},
    {100, 2048, 32, 233472, 232448, 126 << 20, 2},
    {120, 1536, 24, 102400, 101376, 96 << 20, 64},
});

const Capability& capability_of(const Device& device) {
    const int version = device.model->compute_major * 10 + device.model->compute_minor;
    const Capability* best = &kCapabilities.front();
    for (const Capability& row : kCapabilities) {
        if (row.version <= version) best = &row;
    }
    return *best;
}

/// The same for every device; most are limits that no program comes near.
struct Fixed {
    int attribute;
    int value;
};

constexpr auto kFixed = std::to_array<Fixed>({
    {1, 1024},     {2, 1024},   {3, 1024},    {4, 64},         {5, 0x7fffffff},  {6, 65535},
    {7, 65535},    {8, 49152},  {9, 65536},   {10, 32},        {11, 0x7fffffff}, {12, 65536},
    {14, 512},     {15, 1},     {17, 0},      {18, 0},         {19, 1},          {21, 131072},
    {22, 131072},  {23, 65536}, {24, 16384},  {25, 16384},     {26, 16384},      {27, 32768},
    {28, 32768},   {29, 2048},  {30, 512},    {31, 1},         {34, 0},          {35, 0},
    {41, 1},       {42, 32768}, {43, 2048},   {44, 1},         {45, 32768},      {46, 32768},
    {47, 8192},    {48, 8192},  {49, 32768},  {51, 32},        {52, 32768},      {53, 32768},
    {54, 2046},    {55, 32768}, {56, 131072}, {57, 65536},     {58, 16384},      {59, 16384},
    {60, 16384},   {61, 32768}, {62, 2048},   {63, 32768},     {64, 32768},      {65, 2048},
    {66, 32768},   {67, 32768}, {68, 2046},   {69, 268435456}, {70, 131072},     {71, 65000},
    {72, 2097120}, {73, 32768}, {74, 32768},  {77, 32768},     {78, 1},          {79, 1},
    {80, 1},       {82, 65536}, {83, 1},      {84, 0},         {86, 0},          {88, 0},
    {89, 1},       {90, 1},     {91, 1},      {92, 0},         {93, 0},          {94, 0},
    {95, 1},       {96, 1},     {98, 1},      {99, 1},         {100, 0},         {101, 0},
    {102, 1},      {103, 1},    {104, 0},     {105, 0},        {107, 0},         {109, 0},
    {110, 0},      {111, 1024}, {112, 1},     {113, 1},        {114, 0},         {115, 1},
    {116, 0},      {117, 0},    {118, 0},     {119, 1},        {121, 1},         {122, 0},
    {123, 0},      {124, 0},    {125, 0},     {127, 0},        {128, 0},         {129, 1},
    {130, 0},      {131, -1},   {133, 0},     {135, 0},        {136, 0},         {137, 0},
    {138, 0},      {141, 1},    {142, 0},     {143, 0},        {144, 0},         {145, 1},
    {146, 0},      {147, 0},
});

constexpr unsigned kNvidia = 0x10de;

std::optional<int> of_model(const Device& device, int attribute) {
    const Model& model = *device.model;
    switch (attribute) {
        case 13:
            return static_cast<int>(model.graphics_mhz) * 1000;
        case 16:
            return static_cast<int>(device.multiprocessors);
        case 20:
            return static_cast<int>(device.compute_mode);
        case 32:
            return model.ecc == Ecc::kOn ? 1 : 0;
        case 33:
            return static_cast<int>(device.pci_bus);
        case 36:
            return static_cast<int>(model.memory_mhz) * 1000;
        case 37:
            return static_cast<int>(model.bus_width_bits);
        case 40:
            return static_cast<int>(model.copy_engines);
        case 50:
            return static_cast<int>(device.pci_domain);
        case 75:
            return model.compute_major;
        case 76:
            return model.compute_minor;
        case 85:
            return device.ordinal;
        case 120:
            return model.compute_major >= 9 ? 1 : 0;
        case 126:
            return model.compute_major >= 9 ? 4 : 1;
        case 132:
            return model.compute_major >= 9 && device.account.device().where.whole_gpu() ? 1 : 0;
        case 134:
            return device.numa_node;
        case 139:
            return static_cast<int>(unsigned{model.pci_device} << 16 | kNvidia);
        case 140:
            return static_cast<int>(unsigned{model.pci_subsystem} << 16 | kNvidia);
        default:
            return std::nullopt;
    }
}

}  // namespace

std::optional<int> device_attribute(const Device& device, int attribute) {
    if (const auto value = of_model(device, attribute)) return value;
    const Capability& capability = capability_of(device);
    switch (attribute) {
        case 38:
            return capability.l2_bytes;
        case 39:
            return capability.threads_per_multiprocessor;
        case 81:
            return capability.shared_per_multiprocessor;
        case 87:
            return capability.single_to_double;
        case 97:
            return capability.shared_per_block_most;
        case 106:
            return capability.blocks_per_multiprocessor;
        case 108:
            return capability.version >= 80 ? capability.l2_bytes * 3 / 4 : 0;
        default:
            break;
    }
    const auto* const found = std::ranges::find(kFixed, attribute, &Fixed::attribute);
    if (found == kFixed.end()) return std::nullopt;
    return found->value;
}

}  // namespace aliquot::sim
