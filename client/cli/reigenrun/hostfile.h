// Reading the file that --hostfile names; hosts.h says what is in it.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_HOSTFILE_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_HOSTFILE_H_

#include <string>

#include "runtime/base/status.h"

namespace reigen::run {

// The whole text. InvalidArgument, with the path: it cannot be read, is a folder, or
// is too long to be one.
StatusOr<std::string> ReadHostfile(const std::string& path);

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_HOSTFILE_H_
