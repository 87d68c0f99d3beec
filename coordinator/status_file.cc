#include "coordinator/status_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "proto/control/handshake.h"
#include "runtime/base/unique_fd.h"

namespace reigen::coordinator {

Status WriteStatusFile(const std::string& folder, const control::StatusFile& content) {
  const std::string path = folder + "/" + control::kStatusFileName;
  const std::string first = path + ".new";
  const std::string bytes = content.SerializeAsString();
  UniqueFd fd(open(first.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoStatus(StatusCode::kInternal, "make " + first);
  if (write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return ErrnoStatus(StatusCode::kInternal, "write " + first);
  }
  if (rename(first.c_str(), path.c_str()) != 0) {
    return ErrnoStatus(StatusCode::kInternal, "make " + path);
  }
  return OkStatus();
}

}  // namespace reigen::coordinator
