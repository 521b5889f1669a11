// SPDX-License-Identifier: Apache-2.0
#include "top/filter.h"

#include <algorithm>
#include <array>

#include "base/nearest_word.h"
#include "base/sentence.h"
#include "base/text.h"

namespace aliquot::top {
namespace {

struct FilterKey {
    std::string_view name;
    std::string Subject::*of;
};
constexpr std::array<FilterKey, 11> kKeys{{{"node", &Subject::node},
                                           {"gpu", &Subject::gpu},
                                           {"uuid", &Subject::uuid},
                                           {"model", &Subject::model},
                                           {"ns", &Subject::pod_namespace},
                                           {"namespace", &Subject::pod_namespace},
                                           {"pod", &Subject::pod},
                                           {"container", &Subject::container},
                                           {"resource", &Subject::resource},
                                           {"command", &Subject::command},
                                           {"cmd", &Subject::command}}};

Error unknown(const std::string& name) {
    std::vector<std::string_view> names;
    std::string list;
    for (const FilterKey& key : kKeys) {
        names.push_back(key.name);
        list += (list.empty() ? "" : ", ") + std::string(key.name);
    }
    const std::string_view near = nearest_word(name, names);
    return {ErrorCode::kInvalidInput, "nothing is called '" + name + "' in a filter" +
                                          did_you_mean(near) + "; expected words, or one of " +
                                          list + " with =text"};
}

}  // namespace

Result<Filter> Filter::parse(std::string_view text) {
    Filter filter;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        std::string word = lower(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (word.empty()) continue;
        Word made;
        if (word.front() == '!') {
            made.wanted = false;
            word.erase(0, 1);
        }
        const std::size_t equals = word.find('=');
        if (equals != std::string::npos) {
            const std::string name = word.substr(0, equals);
            const auto* const key = std::ranges::find(kKeys, name, &FilterKey::name);
            if (key == kKeys.end()) return unknown(name);
            made.of = key->of;
            word.erase(0, equals + 1);
        }
        if (word.empty()) continue;  // it is still being typed
        made.text = std::move(word);
        filter.words_.push_back(std::move(made));
    }
    return filter;
}

bool Filter::keeps(const Subject& subject) const {
    return std::ranges::all_of(words_, [&](const Word& word) {
        const auto has = [&](std::string Subject::*of) {
            return lower(subject.*of).find(word.text) != std::string::npos;
        };
        if (word.of != nullptr) {
            // The number of a GPU is meant as it is: gpu=1 is not 10. A node has several.
            if (word.of == &Subject::gpu) {
                return ((" " + subject.gpu + " ").find(" " + word.text + " ") !=
                        std::string::npos) == word.wanted;
            }
            return has(word.of) == word.wanted;
        }
        return std::ranges::any_of(kKeys, [&](const FilterKey& key) {
                   return key.of != &Subject::gpu && has(key.of);
               }) == word.wanted;
    });
}

}  // namespace aliquot::top
