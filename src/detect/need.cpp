// SPDX-License-Identifier: Apache-2.0
#include "detect/need.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "detect/match.h"
#include "detect/quantity.h"

namespace aliquot::detect {
namespace {

constexpr std::size_t kWindow = 56;     // bytes to each side of the evidence
constexpr std::size_t kKeyWindow = 80;  // bytes, of a key that goes with a switch
constexpr unsigned kMostGpus = 100000;
constexpr double kUsableOfLargest = 76;  // GiB of a card of 80 GB
constexpr unsigned kMostSupposed = 64;   // GPUs that a model is parted over
constexpr double kLargestCard = 300;     // GiB: more is the host's, or that of several cards

KeyKind kind_of_key_at(std::string_view text, std::size_t start) {
    return start > 0 && text[start - 1] == '-' ? KeyKind::kFlag : KeyKind::kName;
}

/// Keys that give the count beside what asks for a GPU without one.
struct CountKey {
    std::string_view ask;  // in the evidence
    std::string_view key;
};
constexpr std::array<CountKey, 4> kCountKeys = {{{"driver: nvidia", "count"},
                                                 {"capabilities", "count"},
                                                 {"accelerator", "devices"},
                                                 {"accelerate launch", "num_processes"}}};

constexpr std::array<std::string_view, 10> kCountFlags = {"tp",
                                                          "tp-size",
                                                          "tensor-parallel-size",
                                                          "tensor_parallel_size",
                                                          "num_processes",
                                                          "num-processes",
                                                          "nproc_per_node",
                                                          "nproc-per-node",
                                                          "num_gpus",
                                                          "num-gpus"};

class Reader {
public:
    Reader(std::string_view text, std::span<const Evidence> evidence)
        : text_(text), evidence_(evidence) {}

    Need read() {
        for (const Evidence& one : evidence_) read(one);
        if (!need_.count) read_flags();
        if (need_.count) need_.count_reason = "stated";
        const double together = need_.memory_gib ? 0 : estimate();
        if (!need_.count) suppose_count(together);
        if (together > 0) {
            need_.memory_gib = std::round(together / need_.count.value_or(1) * 10) / 10;
        }
        return need_;
    }

private:
    void read(const Evidence& evidence) {
        if (evidence.weight <= 0 || evidence.scope == Scope::kSwitchedOff) return;
        if (evidence.scope == Scope::kNegated) return;
        if (evidence.source == Source::kAsk) read_switch(evidence);
        if (evidence.source <= Source::kStack) read_key(evidence);
        const std::size_t from = evidence.start > kWindow ? evidence.start - kWindow : 0;
        const std::size_t to = std::min(text_.size(), evidence.end + kWindow);
        const bool cards = evidence.source <= Source::kHardware;
        // All of a short text is around each piece of its evidence.
        const auto same = [&](const Window& one) { return one.from == from && one.to == to; };
        const auto known = std::find_if(windows_.begin(), windows_.end(), same);
        const bool is_new = known == windows_.end();
        if (!is_new && (!cards || known->cards)) return;
        const auto words = words_of(text_, from, to);
        if (cards) read_cards(words);
        if (!is_new) {
            known->cards = true;
            return;
        }
        windows_.push_back({from, to, cards});
        for (std::size_t i = 0; i < words.size(); ++i) {
            billions_ = std::max(billions_, billions_at(words, i));
        }
        read_manner(words);
    }

    void set_count(unsigned count) {
        if (count == 0 || count > kMostGpus) return;
        if (!need_.count || *need_.count < count) need_.count = count;
    }

    void set_memory(double gib) {
        if (gib <= 0 || need_.memory_gib) return;
        need_.memory_gib = std::round(gib * 10) / 10;
        need_.memory_reason = "stated";
    }

    void read_switch(const Evidence& evidence) {
        const Value value =
            value_behind(text_, evidence.end, kind_of_key_at(text_, evidence.start));
        const std::string_view name = text_.substr(evidence.start, evidence.end - evidence.start);
        const auto ends = [&](std::string_view tail) { return name.ends_with(tail); };
        if (ends("LAYERS")) return;
        if (ends("layers") || ends("ngl") || ends("use_gpu") || ends("cuda") || ends("cores") ||
            ends("percentage")) {
            return;
        }
        if (ends("gpumem")) return set_memory(value.number / 1024.0);  // MiB
        if (ends("gpu-mem")) return set_memory(value.number);
        if (ends("DEVICES") || ends("device")) {
            const bool first = value.form == Value::Form::kOff &&
                               text_.substr(evidence.end, 4).find('0') != std::string_view::npos;
            if (value.form == Value::Form::kNumber || first) set_count(1);
            if (value.form == Value::Form::kList) set_count(value.number);
            return;
        }
        if (value.form == Value::Form::kNumber) {
            set_count(value.number);
        }
        if (name.size() > 2 && name.back() >= '0' && name.back() <= '9') {  // "gpus 2"
            set_count(static_cast<unsigned>(name.back() - '0'));
        }
    }

    /// `count: 2` beside `driver: nvidia`, `devices=4` beside `accelerator="gpu"`.
    void read_key(const Evidence& evidence) {
        const std::string_view name = text_.substr(evidence.start, evidence.end - evidence.start);
        for (const auto& [ask, key] : kCountKeys) {
            if (name.find(ask) == std::string_view::npos) continue;
            if (key == "count") read_device_ids(evidence.start);
            const std::size_t from = evidence.start > kKeyWindow ? evidence.start - kKeyWindow : 0;
            const std::string_view near = text_.substr(from, evidence.end + kKeyWindow - from);
            const std::size_t at = near.find(key);
            if (at == std::string_view::npos) continue;
            const Value value = value_behind(near, at + key.size(), kind_of_key_at(near, at));
            const bool counted =
                value.form == Value::Form::kNumber || value.form == Value::Form::kList;
            if (counted) set_count(value.number);
        }
    }

    /// `device_ids: ["0", "1"]` behind `driver: nvidia`, in one line or in several.
    void read_device_ids(std::size_t from) {
        const std::string_view near = text_.substr(from, 2 * kKeyWindow);
        constexpr std::string_view kKey = "device_ids:";
        const std::size_t at = near.find(kKey);
        if (at == std::string_view::npos) return;
        std::string_view list = near.substr(at + kKey.size());
        const std::size_t open = list.find_first_not_of(" \t\r\n");
        if (open == std::string_view::npos || (list[open] != '[' && list[open] != '-')) return;
        const bool flow = list[open] == '[';
        list = list.substr(open + (flow ? 1 : 0), flow ? list.find(']') - open - 1 : list.size());
        unsigned ids = flow && !list.empty() ? 1 : 0;
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (flow && list[i] == ',') ++ids;
            if (flow || list[i] != '-') continue;
            // Any item but a number or its text ends the list.
            const std::size_t value = list.find_first_not_of(" \"'", i + 1);
            if (value == std::string_view::npos || list[value] < '0' || list[value] > '9') break;
            ++ids;
        }
        set_count(ids);
    }

    /// `--tp 4`, `--num_processes 2`: flags that say how many, when no piece of the evidence does.
    void read_flags() {
        for (std::size_t at = text_.find("--"); at != std::string_view::npos;
             at = text_.find("--", at + 2)) {
            const std::string_view rest = text_.substr(at + 2);
            if (!rest.starts_with('t') && !rest.starts_with('n')) continue;
            for (const std::string_view flag : kCountFlags) {
                if (!rest.starts_with(flag)) continue;
                const Value value = value_behind(text_, at + 2 + flag.size(), KeyKind::kFlag);
                if (value.form == Value::Form::kNumber) set_count(value.number);
            }
        }
    }

    [[nodiscard]] bool is_denied(const Word& word) const {
        return std::any_of(evidence_.begin(), evidence_.end(), [&](const Evidence& one) {
            return one.scope == Scope::kNegated && one.source <= Source::kHardware &&
                   word.begin < one.end && one.start < word.end;
        });
    }

    /// "more than one A100", "no V100 please"
    static bool is_turned_down(std::string_view before) {
        return before == "than" || before == "no" || before == "not";
    }

    void read_cards(const std::vector<Word>& words) {
        for (std::size_t i = 0; i < words.size(); ++i) {
            const std::string type = type_at(words, i);
            const bool card = !type.empty();
            const double profile = profile_gibibytes(words[i].text);
            if (!card && profile <= 0 && !is_gpu_word(words[i].text) && words[i].text != "vram") {
                continue;
            }
            if (is_denied(words[i]) || (i > 0 && is_turned_down(words[i - 1].text))) continue;
            if (card && need_.type.empty()) need_.type = type;
            if (profile > 0) need_.memory_gib.reset();  // a slice, not the card that it is of
            set_memory(profile);
            read_count(words, i, card || profile > 0);
            read_memory(words, i, card);
        }
    }

    /// Do the two words stand side by side, with no mark that parts them?
    [[nodiscard]] bool together(const Word& left, const Word& right) const {
        const std::string_view gap = text_.substr(left.end, right.begin - left.end);
        return gap.find_first_of(",;:.\n/|=\"") == std::string_view::npos;
    }

    void read_count(const std::vector<Word>& words, std::size_t at, bool card) {
        const std::string_view word = words[at].text;
        if (const std::size_t x = word.find('x'); card && x != std::string_view::npos && x > 0) {
            const std::string_view before = word.substr(0, x);
            const bool leads = before.find_first_not_of("0123456789") == std::string_view::npos;
            const unsigned count = count_of(leads ? before : word.substr(x));
            if (count > 0) return set_count(count);
        }
        if (!card && word != "gpu" && word != "gpus" && word != "card" && word != "cards") return;
        std::size_t from = at;
        const auto goes_along = [&](std::size_t i) {
            const bool names_next = i > 0 && words[i - 1].text == "gaudi";  // "Gaudi 3 card"
            if (names_next || words[i].text == "gaudi" || is_card_name(words[i].text)) return true;
            return is_gpu_word(words[i].text) || !type_at(words, i).empty() ||
                   gibibytes_at(words, i) > 0 || words[i].text == "gb" || words[i].text == "of";
        };
        while (from > 0 && at - from < 4 && together(words[from - 1], words[from]) &&
               goes_along(from - 1)) {
            --from;
        }
        if (from > 0 && together(words[from - 1], words[from])) {
            const bool half =
                from > 2 && words[from - 3].text == "half" && words[from - 1].text == "dozen";
            set_count(half ? 6 : count_of(words[from - 1].text));
        }
        read_count_behind(words, at);
    }

    /// "A100 x 4", "H100 80GB x8", "gpus: 4"
    void read_count_behind(const std::vector<Word>& words, std::size_t at) {
        std::size_t next = at + 1;
        if (next < words.size() && gibibytes_at(words, next) > 0) {
            next += words[next].text.back() >= 'a' ? 1 : 2;
        }
        if (next >= words.size()) return;
        const std::string_view word = words[next].text;
        if (word == "x" && next + 1 < words.size())
            return set_count(count_of(words[next + 1].text));
        if (word.size() > 1 && word[0] == 'x') return set_count(count_of(word));
        const std::string_view name = words[at].text;
        if (name != "gpu" && name != "gpus") return;
        const Value value = value_behind(text_, words[at].end, KeyKind::kName);
        const bool counted = value.form == Value::Form::kNumber || value.form == Value::Form::kList;
        if (counted && value.number <= 1024) set_count(value.number);
    }

    /// "GPU with at least 32 GB": nothing but words that join lies between, or almost nothing.
    static bool leads_to(const std::vector<Word>& words, std::size_t at, std::size_t to,
                         std::size_t close) {
        static constexpr auto kJoining =
            word_list({"with",   "at",     "least", "of",   "a",     "minimum", "min",
                       "having", "memory", "vram",  "ti",   "super", "card",    "gpu",
                       "gpus",   "cards",  "and",   "over", "about", "more",    "than"});
        if (to <= at + close) return true;
        for (std::size_t i = at + 1; i < to; ++i) {
            const std::string_view word = words[i].text;
            const bool number = i == at + 1 && word[0] >= '0' && word[0] <= '9';  // "rtx 3060"
            if (!number && !among(word, kJoining)) return false;
        }
        return true;
    }

    void read_memory(const std::vector<Word>& words, std::size_t at, bool card) {
        for (std::size_t i = at > 4 ? at - 4 : 0; i < words.size() && i < at + 7; ++i) {
            const double gib = gibibytes_at(words, i);
            const bool before = i < at && (!card || i + 3 >= at);
            const bool near = before || (i >= at && leads_to(words, at, i, card ? 2 : 3));
            if (gib <= 0 || gib > kLargestCard || !near || is_host_memory(words, i)) continue;
            set_memory(gib);
        }
    }

    void read_manner(const std::vector<Word>& words) {
        static constexpr auto kAdapters = word_list({"lora", "qlora", "peft"});
        static constexpr auto kFourBit =
            word_list({"qlora", "4bit", "int4", "gptq", "awq", "nf4", "bit", "q4"});
        static constexpr auto kEightBit = word_list({"int8", "8bit", "fp8", "q8"});
        static constexpr auto kTraining =
            word_list({"tune", "tuning", "rlhf", "dpo", "sft", "grpo", "ppo"});
        for (const Word& word : words) {
            const std::string_view name = word.text;
            if (among(name, kAdapters)) adapters_ = true;
            if (among(name, kFourBit)) four_bit_ = true;
            if (among(name, kEightBit)) eight_bit_ = true;
            const bool begins = name.starts_with("finetun") || name.starts_with("pretrain") ||
                                name.starts_with("train") || name.starts_with("retrain");
            if ((begins && name != "pretrained") || among(name, kTraining)) training_ = true;
        }
    }

    /// GPUs in the plural, or all of them, and no number: nobody can tell how many.
    [[nodiscard]] bool leaves_count_open() const {
        return std::any_of(evidence_.begin(), evidence_.end(), [&](const Evidence& one) {
            if (one.weight <= 0 || one.source > Source::kHardware) return false;
            const std::string_view name = text_.substr(one.start, one.end - one.start);
            if (name.ends_with("all") || name.ends_with('s') || name.ends_with('S')) return true;
            const std::string_view rest = text_.substr(one.end, 4);
            return rest.starts_with("=all") || rest.starts_with(" all") ||
                   (rest.starts_with('s') && !is_gpu_word(rest.substr(1)));
        });
    }

    /// One, when it is enough; else as many as a model is parted over.
    void suppose_count(double together) {
        if (together <= 0) {
            if (leaves_count_open()) return;
            need_.count = 1;
            need_.count_reason = "one GPU is enough";
            return;
        }
        unsigned count = 1;
        while (count < kMostSupposed && together / count > kUsableOfLargest) count *= 2;
        need_.count = count;
        need_.count_reason = count == 1 ? "one GPU is enough" : "of 80 GB each, by the memory";
    }

    /// Weights only, with the usual allowance; `aliquot size` knows more. The GiB of all GPUs together;
    /// 0: the text names no size.
    double estimate() {
        if (billions_ <= 0) return 0;
        const double weights = four_bit_ ? 0.55 : eight_bit_ ? 1.0 : 2.0;
        const bool full = training_ && !adapters_ && !four_bit_;
        const double each = full ? 16.0 : weights * 1.2;
        std::array<char, 192> line{};
        std::snprintf(line.data(), line.size(), "%g billion parameters x %g bytes%s (%s)",
                      billions_, each, need_.count.value_or(2) > 1 ? " over all GPUs" : "",
                      full        ? "mixed-precision Adam, activations not counted"
                      : adapters_ ? "weights + 20 %, adapters not counted"
                                  : "weights + 20 %, KV cache not counted");
        need_.memory_reason = line.data();
        return billions_ * 1e9 * each / (1024.0 * 1024.0 * 1024.0);
    }

    /// What was read around a piece of evidence.
    struct Window {
        std::size_t from = 0;
        std::size_t to = 0;
        bool cards = false;
    };

    std::string_view text_;
    std::span<const Evidence> evidence_;
    std::vector<Window> windows_;  // at most one for each piece of evidence
    Need need_;
    double billions_ = 0;
    bool adapters_ = false;
    bool four_bit_ = false;
    bool eight_bit_ = false;
    bool training_ = false;
};

}  // namespace

Need read_need(std::string_view text, std::span<const Evidence> evidence) {
    return Reader(text, evidence).read();
}

}  // namespace aliquot::detect
