// SPDX-License-Identifier: Apache-2.0
#include "claims/constraint.h"

#include <algorithm>

namespace aliquot::claims {

std::string ConstraintState::add(const Device& device, const std::string& request,
                                 const std::string& subrequest) {
    if (!constraint_->covers(request, subrequest)) return {};
    const std::string& attribute = constraint_->attribute;
    const auto found = device.attributes.find(attribute);
    if (found == device.attributes.end()) return "it has no attribute " + attribute;
    const cel::Value& value = found->second;
    if (constraint_->distinct) {
        if (std::ranges::find(values_, value) != values_.end()) {
            return "distinctAttribute " + attribute + ": another device has " + value.text() +
                   " too";
        }
    } else if (!values_.empty() && !(values_.front() == value)) {
        return "matchAttribute " + attribute + ": " + value.text() + ", another device has " +
               values_.front().text();
    }
    values_.push_back(value);
    return {};
}

void ConstraintState::remove(const std::string& request, const std::string& subrequest) {
    if (constraint_->covers(request, subrequest) && !values_.empty()) values_.pop_back();
}

}  // namespace aliquot::claims
