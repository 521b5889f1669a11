// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/apiserver/managed_fields.h"
#include "sim/apiserver/server_context.h"

namespace aliquot::sim::apiserver {

/// The body as a value, decoded and with defaults, in the version of the call; warnings about
/// unknown fields are left with the call.
/// errors   400, 415, 422 (fieldValidation=Strict: 400)
Outcome<Value> read_object(Call& call, bool with_defaults = true);
Outcome<Value> decode_object(Call& call, const Value& raw,
                             const std::vector<std::string>& duplicates, bool with_defaults = true);
/// The body as a value, whatever it is.
Outcome<Parsed> read_body(const Call& call);

/// Brings a new object into being: names, admission, validation, managedFields, store.
Outcome<EntryPtr> store_new(Call& call, Value object, bool track = true);

/// Writes a changed object over `old`: what must not change is put back, admission, validation,
/// managedFields (unless they are set already), store. `old` itself when nothing has changed; the
/// last version when that was the end of an object that was being deleted.
struct Written {
    EntryPtr entry;
    bool lost_race = false;  // somebody else wrote in between: look again
};
Outcome<Written> store_changed(Call& call, const EntryPtr& old, Value object, bool track = true);

/// The entry in the form the Accept header asks for.
HttpAnswer answer_entry(Call& call, const EntryPtr& entry, int status);

Manager manager_of(const Call& call, bool applies);

}  // namespace aliquot::sim::apiserver
