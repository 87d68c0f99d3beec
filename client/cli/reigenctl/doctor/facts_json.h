// What the probes found, as JSON. Pure. Keys are those of runtime/probe/facts.h; what
// is not there is null, an empty string or an empty list.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_FACTS_JSON_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_FACTS_JSON_H_

#include <nlohmann/json.hpp>

#include "runtime/probe/facts.h"

namespace reigen::ctl {

nlohmann::ordered_json FactsJson(const probe::HostFacts& facts);

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_FACTS_JSON_H_
