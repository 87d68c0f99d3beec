#include "client/cli/reigenrun/binaries.h"

#include <limits.h>
#include <unistd.h>

#include <vector>

namespace reigen::run {
namespace {

std::string Parent(const std::string& path) { return path.substr(0, path.rfind('/')); }

}  // namespace

StatusOr<std::string> OwnPath() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0 || n == static_cast<ssize_t>(sizeof path)) {
    return ErrnoStatus(StatusCode::kInternal, "/proc/self/exe");
  }
  return std::string(path, static_cast<size_t>(n));
}

StatusOr<std::string> FindProgramOfOurs(const std::string& own_path,
                                        const std::string& override_folder,
                                        const std::string& name, const std::string& build_folder) {
  std::vector<std::string> places;
  if (!override_folder.empty()) {
    places.push_back(override_folder + "/" + name);
  } else {
    const std::string folder = Parent(own_path);
    places.push_back(folder + "/" + name);
    // In a build: BIN/client/cli/reigenrun/reigenrun and BIN/worker/reigen-worker.
    places.push_back(Parent(Parent(Parent(folder))) + "/" + build_folder + "/" + name);
  }
  std::string listed;
  for (const std::string& place : places) {
    if (access(place.c_str(), X_OK) == 0) return place;
    listed += (listed.empty() ? "" : ", ") + place;
  }
  return NotFound("cannot find " + name + ": looked at " + listed +
                  " (REIGEN_BIN names the folder of the programs)");
}

}  // namespace reigen::run
