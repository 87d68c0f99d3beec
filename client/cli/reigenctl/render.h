// A job's status as text for people and as JSON. Pure.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_RENDER_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_RENDER_H_

#include <nlohmann/json.hpp>
#include <string>

#include "proto/control/control.pb.h"

namespace reigen::ctl {

std::string StatusText(const control::JobStatus& status);
nlohmann::ordered_json StatusJson(const control::JobStatus& status);

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_RENDER_H_
