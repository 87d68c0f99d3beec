// `reigenrun --check-build`: what this build can do.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_CHECK_BUILD_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_CHECK_BUILD_H_

#include <string>

namespace reigen::run {

// Whether the `python3` of PATH finds each framework is asked of it.
std::string CheckBuildText();

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_CHECK_BUILD_H_
