#include "client/cli/reigenctl/jobs.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "proto/control/handshake.h"
#include "runtime/base/runtime_folder.h"
#include "runtime/base/unique_fd.h"

namespace reigen::ctl {
namespace {

// A few addresses, a name and a secret.
constexpr off_t kMaxFileBytes = 64 << 10;

std::optional<control::StatusFile> ReadStatusFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat st;
  if (!fd.valid() || fstat(fd.get(), &st) != 0) return std::nullopt;
  if (!S_ISREG(st.st_mode) || st.st_uid != getuid() || st.st_size > kMaxFileBytes) {
    return std::nullopt;
  }
  std::string bytes(static_cast<size_t>(st.st_size), '\0');
  control::StatusFile file;
  if (read(fd.get(), bytes.data(), bytes.size()) != st.st_size || !file.ParseFromString(bytes)) {
    return std::nullopt;
  }
  if (file.pid() <= 0 || (kill(file.pid(), 0) != 0 && errno == ESRCH)) return std::nullopt;
  return file;
}

}  // namespace

std::vector<control::StatusFile> FindJobs(const std::string& base) {
  const std::string prefix =
      std::filesystem::path(RuntimeFolderPath(base, "")).filename().string();
  std::vector<control::StatusFile> jobs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(base, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with("-c")) continue;
    auto file = ReadStatusFile(entry.path().string() + "/" + control::kStatusFileName);
    if (file) jobs.push_back(std::move(*file));
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const auto& a, const auto& b) { return a.job() < b.job(); });
  return jobs;
}

}  // namespace reigen::ctl
