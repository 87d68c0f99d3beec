#include "client/cli/reigenrun/hostfile.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "runtime/base/unique_fd.h"

namespace reigen::run {
namespace {

// The most hosts there may be, with names as long as DNS has.
constexpr size_t kMaxHostfileBytes = size_t{4} << 20;

}  // namespace

StatusOr<std::string> ReadHostfile(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(StatusCode::kInvalidArgument, path);
  std::string text;
  char data[4096];
  ssize_t n;
  while ((n = read(file.get(), data, sizeof data)) != 0) {
    if (n > 0) text.append(data, static_cast<size_t>(n));
    if (n < 0 && errno != EINTR) return ErrnoStatus(StatusCode::kInvalidArgument, path);
    if (text.size() > kMaxHostfileBytes) return InvalidArgument(path + " is no hostfile: too long");
  }
  return text;
}

}  // namespace reigen::run
