#include "runtime/base/runtime_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

namespace reigen {
namespace {

constexpr char kLockName[] = "/lock";
// A folder gets its name only when its lock is held. One without a lock file, or
// still under its first name, is stale when it is older than this.
constexpr time_t kUnlockedAgeSeconds = 60;

std::string Prefix() { return "reigen-" + std::to_string(getuid()) + "-"; }

std::vector<std::string> EntriesOf(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open_folder(opendir(folder.c_str()), &closedir);
  if (!open_folder) return names;
  while (const dirent* entry = readdir(open_folder.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

std::string VariableOr(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

// What the file system refused, with what people can do about it.
Status Refusal(StatusCode code, const std::string& what) {
  const Status status = ErrnoStatus(code, what);
  return MakeStatus(code, Message(status) + "; let REIGEN_RUNTIME_DIR or TMPDIR name another folder");
}

// Whether nobody holds its lock. Keeps the lock in `*held` so that two sweepers do
// not meet.
bool IsStale(const std::string& path, bool named, UniqueFd* held) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != getuid()) {
    return false;
  }
  const bool old = std::time(nullptr) - info.st_mtime > kUnlockedAgeSeconds;
  UniqueFd lock(open((path + kLockName).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!lock.valid()) return errno == ENOENT && old;
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return false;
  *held = std::move(lock);
  return named || old;
}

}  // namespace

std::string RuntimeBase(const std::string& configured) {
  if (!configured.empty()) return configured;
  return VariableOr("REIGEN_RUNTIME_DIR", VariableOr("TMPDIR", "/tmp"));
}

std::string RuntimeFolderPath(const std::string& base, const std::string& name) {
  return base + "/" + Prefix() + name;
}

StatusOr<RuntimeFolder> RuntimeFolder::Create(const std::string& base, const std::string& name) {
  RuntimeFolder folder;
  folder.path_ = RuntimeFolderPath(base, name);
  const std::string first =
      base + "/." + Prefix() + "new-" + std::to_string(getpid()) + "-" + name;
  if (mkdir(first.c_str(), 0700) != 0) return Refusal(StatusCode::kInternal, "mkdir " + first);
  folder.lock_.Reset(open((first + kLockName).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  Status status;
  if (!folder.lock_.valid() || flock(folder.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    status = Refusal(StatusCode::kInternal, "lock in " + first);
  } else if (rename(first.c_str(), folder.path_.c_str()) != 0) {
    status = Refusal(StatusCode::kFailedPrecondition, "make " + folder.path_);
  }
  if (!status.ok()) {
    RemoveRuntimeFolder(first);
    return status;
  }
  return folder;
}

void RuntimeFolder::Remove() {
  if (path_.empty()) return;
  RemoveRuntimeFolder(path_);
  lock_.Reset();
  path_.clear();
}

void RemoveRuntimeFolder(const std::string& path) {
  for (const std::string& name : EntriesOf(path)) unlink((path + "/" + name).c_str());
  rmdir(path.c_str());
}

int SweepRuntimeFolders(const std::string& base) {
  int removed = 0;
  for (const std::string& name : EntriesOf(base)) {
    const bool named = name.starts_with(Prefix());
    if (!named && !name.starts_with("." + Prefix() + "new-")) continue;
    UniqueFd held;
    const std::string path = base + "/" + name;
    if (!IsStale(path, named, &held)) continue;
    RemoveRuntimeFolder(path);
    ++removed;
  }
  return removed;
}

}  // namespace reigen
