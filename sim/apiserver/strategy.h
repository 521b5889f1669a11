// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sim/apiserver/server_context.h"

namespace aliquot::sim::apiserver {

/// What a built-in kind gets when it is left out. In storage or request version alike.
void apply_defaults(Value& object, const Resource& resource);

/// What is set or cleared when an object is made, and when it is changed at its main endpoint or
/// at one of its subresources.
void prepare_new(Call& call, Value& object);
void prepare_changed(Call& call, const Value& old, Value& object);

/// Whether metadata.generation counts.
bool has_generation(const Resource& resource);

/// PUT of something that is not there makes it.
bool creates_on_update(const Resource& resource);

/// PUT without a resourceVersion is allowed.
bool updates_unconditionally(const Resource& resource);

/// What is wrong with an object; `old` is null for a new one.
std::vector<Cause> validate_object(const Call& call, const Value& object, const Value& old);
/// Parts of it.
void validate_metadata(std::vector<Cause>& causes, const Resource& resource, const Value& object);
void validate_pod_spec(std::vector<Cause>& causes, const Value& spec, const std::string& path);
void validate_schema(std::vector<Cause>& causes, const Value& value, const Type& type,
                     const std::string& path);
std::vector<Cause> validate_definition(const Value& definition);

/// What API servers do by themselves before an object is accepted: namespace, priority, tolerations,
/// runtime class, limit ranges, quotas, webhooks. May change the object.
Outcome<Done> admit(Call& call, Value& object, const Value& old, std::string_view operation);
Outcome<Done> call_mutating_webhooks(Call& call, Value& object, const Value& old,
                                     std::string_view operation);
Outcome<Done> call_validating_webhooks(Call& call, const Value& object, const Value& old,
                                       std::string_view operation);

/// After a write: custom resources come and go, namespaces get their service account.
void after_write(ServerContext& context, const Resource& resource, const Value& object);
void after_removal(ServerContext& context, const Resource& resource, const Value& object);

}  // namespace aliquot::sim::apiserver
