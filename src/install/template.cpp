// SPDX-License-Identifier: Apache-2.0
#include "install/template.h"

#include <functional>
#include <stdexcept>

namespace aliquot::install {
namespace {

struct Directive {
    enum class Kind : std::uint8_t { kNone, kIf, kElse, kEnd, kList };
    Kind kind = Kind::kNone;
    std::string_view name{};
    std::size_t indent = 0;
};

Directive directive_of(std::string_view line) {
    using enum Directive::Kind;
    const auto first = line.find_first_not_of(' ');
    if (first == std::string_view::npos || line[first] != '#') return {};
    const std::string_view text = line.substr(first);
    if (text == "#else") return {.kind = kElse};
    if (text == "#end") return {.kind = kEnd};
    if (text.starts_with("#if ")) return {.kind = kIf, .name = text.substr(4)};
    if (text.starts_with("#list ")) {
        return {.kind = kList, .name = text.substr(6), .indent = first};
    }
    return {};
}

template <class Map>
const auto& meaning_of(const Map& map, std::string_view name) {
    const auto found = map.find(name);
    if (found == map.end()) {
        throw std::logic_error("template: '" + std::string(name) + "' has no meaning");
    }
    return found->second;
}

bool is_name(std::string_view text) {
    return !text.empty() &&
           text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
}

/// A line with each @name@ replaced by what `word` makes of the name.
std::string filled(std::string_view line,
                   const std::function<std::string(std::string_view)>& word) {
    std::string made;
    for (;;) {
        const auto begin = line.find('@');
        const auto end = begin == std::string_view::npos ? begin : line.find('@', begin + 1);
        if (end == std::string_view::npos) break;
        const auto name = line.substr(begin + 1, end - begin - 1);
        if (is_name(name)) {
            made.append(line.substr(0, begin)).append(word(name));
            line.remove_prefix(end + 1);
        } else {
            made.append(line.substr(0, end));
            line.remove_prefix(end);
        }
    }
    return made.append(line);
}

template <class Visit>
void each_line(std::string_view text, Visit visit) {
    while (!text.empty()) {
        const auto end = text.find('\n');
        visit(text.substr(0, end));
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + 1);
    }
}

}  // namespace

std::string expand(std::string_view text, const Meaning& meaning) {
    using enum Directive::Kind;
    std::string made;
    std::vector<bool> open;  // whether the branch we are in is on, outermost first
    const auto on = [&open] {
        for (const bool one : open) {
            if (!one) return false;
        }
        return true;
    };
    each_line(text, [&](std::string_view line) {
        const Directive found = directive_of(line);
        if (found.kind == kIf) {
            open.push_back(meaning_of(meaning.switches, found.name));
        } else if (found.kind == kElse) {
            open.back() = !open.back();
        } else if (found.kind == kEnd) {
            open.pop_back();
        } else if (!on()) {
            return;
        } else if (found.kind == kList) {
            for (const std::string& one : meaning_of(meaning.lists, found.name)) {
                if (!one.empty()) made.append(found.indent, ' ').append(one);
                made += '\n';
            }
        } else {
            made += filled(line,
                           [&](std::string_view name) { return meaning_of(meaning.words, name); });
            made += '\n';
        }
    });
    if (!open.empty()) throw std::logic_error("template: an #if has no #end");
    return made;
}

std::string to_helm(std::string_view text, const HelmWords& helm) {
    using enum Directive::Kind;
    std::string made;
    each_line(text, [&](std::string_view line) {
        const Directive found = directive_of(line);
        if (found.kind == kIf) {
            const std::string& pipeline = meaning_of(helm.switches, found.name);
            made += "{{- if " + (pipeline.empty() ? "false" : pipeline) + " }}\n";
        } else if (found.kind == kElse) {
            made += "{{- else }}\n";
        } else if (found.kind == kEnd) {
            made += "{{- end }}\n";
        } else if (found.kind == kList) {
            const std::string indent = std::to_string(found.indent);
            made += filled(meaning_of(helm.lists, found.name),
                           [&](std::string_view) { return indent; }) +
                    "\n";
        } else {
            made += filled(line, [&](std::string_view name) {
                return "{{ " + meaning_of(helm.words, name) + " }}";
            });
            made += '\n';
        }
    });
    return made;
}

}  // namespace aliquot::install
