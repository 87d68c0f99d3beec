// Where the other programs are.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_BINARIES_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_BINARIES_H_

#include <string>

#include "runtime/base/status.h"

namespace reigen::run {

// The absolute path of `name` (`reigen-worker`): in `override_folder` (REIGEN_BIN)
// if given, else beside the running program, else where a source tree's build has
// it, in `build_folder` (`worker`) of the same build.
StatusOr<std::string> FindProgramOfOurs(const std::string& own_path,
                                        const std::string& override_folder,
                                        const std::string& name, const std::string& build_folder);

// The path of the running program, links resolved.
StatusOr<std::string> OwnPath();

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_BINARIES_H_
