// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lint/reading.h"

namespace aliquot::lint {

Block block_of_part(const Block& outer, int index, std::size_t offset, std::string text,
                    Setting setting) {
    Block block;
    block.setting = setting;
    block.parent = index;
    block.heading = outer.heading;
    block.begin = outer.place(offset);
    block.line = block.begin.line;
    block.exact = outer.exact;
    block.set_text(std::move(text));
    const unsigned first = block.begin.column - 1;
    const bool from_start = setting == Setting::kHeredoc;
    const Mark next = outer.place(Mark{2, 1});
    block.shifts = {first, from_start ? first : next.column - 1};
    if (from_start && outer.shifts.size() > 1) {
        block.shifts.clear();
        const Mark inner = outer.exact ? Mark{block.line - outer.line + 1, 1} : Mark{1, 1};
        const unsigned lines = block.lines();
        for (unsigned i = 0; i <= lines; ++i) {
            block.shifts.push_back(outer.place(Mark{inner.line + i, 1}).column - 1);
        }
    }
    return block;
}

Block block_of_enclosed(const Block& outer, int index, const syntax::Enclosed& enclosed) {
    Block block = block_of_part(outer, index, enclosed.offset, enclosed.text, enclosed.setting);
    block.exact = enclosed.exact && outer.exact;
    block.language = enclosed.yaml ? Language::kJson : syntax::sniff(block.text);
    return block;
}

Block block_of_scalar(const File& file, int parent, const Value& scalar) {
    const Block& outer = file.blocks[static_cast<std::size_t>(parent)];
    Block block;
    block.setting = Setting::kValue;
    block.parent = parent;
    block.heading = outer.heading;
    block.begin = scalar.mark;
    block.line = scalar.mark.line;
    block.exact = false;
    block.set_text(scalar.scalar);
    if (!scalar.block || !outer.exact) return block;
    // The line of the `|`: a tag or an anchor may stand before it.
    constexpr unsigned kMostPropertyLines = 4;
    unsigned header = scalar.mark.line;
    std::string_view rest = file.line(header);
    rest.remove_prefix(std::min<std::size_t>(scalar.mark.column - 1, rest.size()));
    while (rest.find('|') == std::string_view::npos) {
        if (rest.find('>') != std::string_view::npos) return block;
        if (++header > scalar.mark.line + kMostPropertyLines) return block;
        rest = file.line(header);
    }
    const auto first = scalar.scalar.find_first_not_of('\n');
    if (first == std::string::npos) return block;
    const unsigned line = header + 1 + static_cast<unsigned>(first);
    const std::string_view decoded =
        std::string_view(scalar.scalar).substr(first, scalar.scalar.find('\n', first) - first);
    const std::string_view raw = file.line(line);
    if (raw.size() < decoded.size()) return block;
    const std::size_t shift = raw.size() - decoded.size();
    block.line = header + 1;
    block.shifts = {static_cast<unsigned>(shift)};
    block.exact = true;
    block.begin = block.place(Mark{1, 1});
    return block;
}

}  // namespace aliquot::lint
