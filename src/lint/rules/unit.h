// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lint/file.h"
#include "syntax/unit_file.h"

/// A service of systemd as the rules about it see it. Inside src/lint only.
namespace aliquot::lint {

using syntax::UnitLine;

/// What a service does with GPUs.
enum class GpuUse : std::uint8_t {
    kNone,     // nothing that we know, or it lets another program do it: docker, ssh
    kTool,     // it reads or sets them through NVML: exporter, persistence daemon
    kMaybe,    // it computes on them where there are any, else on the CPU
    kCompute,  // it is told to compute on them, or can do nothing else
};

/// One NAME=VALUE of Environment=.
struct UnitVariable {
    std::string name;
    std::string value;
    const UnitLine* line = nullptr;
};

class Unit {
public:
    /// block   kept, not copied
    explicit Unit(const Block& block);

    /// Whether the block is a service: its section, and a program to start.
    [[nodiscard]] bool is_service() const;
    [[nodiscard]] GpuUse gpu_use() const { return use_; }

    [[nodiscard]] const std::vector<UnitLine>& lines() const { return lines_; }
    /// The lines of a key of a section; an empty value takes back those before it.
    [[nodiscard]] std::vector<const UnitLine*> all(std::string_view section,
                                                   std::string_view key) const;
    /// The line that holds, of a key of [Service]; nullptr: there is none.
    [[nodiscard]] const UnitLine* setting(std::string_view key) const;
    /// The line, when its value is a yes.
    [[nodiscard]] const UnitLine* switched_on(std::string_view key) const;
    /// The words of a key's lines.
    [[nodiscard]] std::vector<std::string> words(std::string_view section,
                                                 std::string_view key) const;
    /// What Environment= sets: of a name that is set twice, the last.
    [[nodiscard]] std::vector<UnitVariable> variables() const;
    [[nodiscard]] Mark mark(const UnitLine& line) const { return block_.place(line.offset); }

private:
    const Block& block_;
    std::vector<UnitLine> lines_;
    GpuUse use_ = GpuUse::kNone;
};

/// The words of an Exec line, its program first, without what systemd reads before it ("-", "@", "+", "!").
std::vector<std::string> program_of(const UnitLine& line);

/// The last part of a path.
std::string_view base_name(std::string_view path);

// The families of rules, each of one unit.
void check_unit_devices(const Unit& unit, Report& report);
void check_unit_start(const Unit& unit, Report& report);
void check_unit_environment(const Unit& unit, bool is_literal, Report& report);
void check_unit_paths(const Unit& unit, Report& report);

}  // namespace aliquot::lint
