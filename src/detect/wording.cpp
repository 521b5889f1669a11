// SPDX-License-Identifier: Apache-2.0
#include "detect/wording.h"

namespace aliquot::detect {

bool begins_clause(std::string_view between) {
    for (const std::string_view start :
         {": ", ", we ", ", it ", ", they ", ", this ", ", you ", ", so ", " and needs ",
          " and uses ", " and runs ", " and requires "}) {
        if (between.find(start) != std::string_view::npos) return true;
    }
    return false;
}

bool goes_on_with_need(std::string_view between) {
    const std::size_t comma = between.find(',');
    if (comma == std::string_view::npos) return false;
    const std::string_view rest = between.substr(comma);
    for (const std::string_view need : {" needs ", " requires ", " wants ", " give ", " take "}) {
        if (rest.find(need) != std::string_view::npos) return true;
    }
    return false;
}

bool is_left_behind(std::string_view text, const Match& match) {
    constexpr std::size_t kFarthest = 60;  // bytes before it, of the verb
    if (text.substr(match.end, 5) == " out " || text.substr(match.end, 5) == " out.") {
        std::string_view before = text.substr(0, match.begin);
        if (before.ends_with("the ")) before.remove_suffix(4);
        for (const std::string_view verb :
             {"ake ", "aking ", "ook ", "hrow ", "ick ", "eave ", "eft "}) {
            if (before.ends_with(verb)) return true;
        }
    }
    if (!text.substr(match.end, 4).starts_with(" to ")) return false;
    const std::size_t from = match.begin > kFarthest ? match.begin - kFarthest : 0;
    const std::string_view before = text.substr(from, match.begin - from);
    if (!before.ends_with("from ") && !before.ends_with("from the ")) return false;
    for (const std::string_view verb : {"ewrit", "ewrot", "igrat", "witch", "orted ", "oved "}) {
        if (before.find(verb) != std::string_view::npos) return true;
    }
    return false;
}

bool suffices(std::string_view text) {
    for (const std::string_view end : {" is plenty", " is enough", " is fine", " is sufficient",
                                       " is all", " suffices", " will do", " would do"}) {
        if (text.find(end) != std::string_view::npos) return true;
    }
    return false;
}

bool begins_order(std::string_view text, std::size_t at) {
    const bool glued = at > 0 && text[at - 1] != ' ';  // "multi-label"
    while (at > 0 && text[at - 1] == ' ') --at;
    if (at == 0 || std::string_view(".;:,*\n>)\"").find(text[at - 1]) != std::string_view::npos) {
        return true;
    }
    if (text[at - 1] == '-') return !glued;
    const std::string_view before = text.substr(0, at);
    for (const std::string_view word : {"just", "please", "Please", "only", "and", "then", "to"}) {
        if (before.ends_with(word)) return true;
    }
    return false;
}

bool is_counted(std::string_view text, std::size_t at) {
    while (at > 0 && text[at - 1] == ' ') --at;
    const std::string_view before = text.substr(0, at);
    if (before.ends_with("million") || before.ends_with("thousand")) return true;
    if (at > 1 && std::string_view("kKmM").find(text[at - 1]) != std::string_view::npos) --at;
    return at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9';
}

bool is_no(std::string_view text, std::size_t at) {
    return (text[at] | 0x20) == 'n' && text.substr(at + 1, 2) == "o ";
}

bool is_added(std::string_view text, const Match& match) {
    constexpr std::size_t kFarthest = 32;  // bytes before it, of the verb
    const std::size_t from = match.begin > kFarthest ? match.begin - kFarthest : 0;
    const std::string_view before = text.substr(from, match.begin - from);
    for (const std::string_view verb :
         {"dd ", "nclude ", "ppend ", "ttach ", "xport ", "ublish "}) {
        const std::size_t at = before.find(verb);
        if (at != std::string_view::npos &&
            before.find_first_of(".,:;", at) == std::string_view::npos)
            return true;
    }
    return false;
}

bool goes_on_with_order(std::string_view between) {
    const std::size_t joint = between.find(" and ");
    if (joint == std::string_view::npos) return false;
    const std::string_view rest = between.substr(joint + 5);
    for (const std::string_view verb :
         {"attach ", "report ", "post ", "send ", "write ", "publish ", "upload ", "put ", "show ",
          "print ", "store ", "compare ", "plot ", "give ", "tell ", "mail ", "save "}) {
        if (rest.starts_with(verb)) return true;
    }
    return false;
}

bool is_purpose(std::string_view text, std::size_t at) {
    const std::string_view before = text.substr(0, at);
    for (const std::string_view end :
         {"for ", "for the ", "for a ", "for our ", "for my ", " over ", " across "}) {
        if (before.ends_with(end)) return true;
    }
    return false;
}

bool is_with(std::string_view word) { return word == "with" || word == "using" || word == "via"; }

bool is_nor(std::string_view word) { return word == "nor" || word == "Nor"; }

}  // namespace aliquot::detect
