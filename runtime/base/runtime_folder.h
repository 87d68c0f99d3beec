// A folder of a running daemon, under REIGEN_RUNTIME_DIR, TMPDIR or /tmp: for its
// socket and the like. Only its user can enter it; a lock held for the daemon's
// life tells the living from what a machine crash left behind.
//
// Threads: one owner.
// Errors:  what the file system refuses is a Status with the path and the remedy.
#ifndef REIGEN_RUNTIME_BASE_RUNTIME_FOLDER_H_
#define REIGEN_RUNTIME_BASE_RUNTIME_FOLDER_H_

#include <string>

#include "runtime/base/status.h"
#include "runtime/base/unique_fd.h"

namespace reigen {

// Where such folders are: `configured` (REIGEN_RUNTIME_DIR of the job) if not
// empty, else this process' REIGEN_RUNTIME_DIR, TMPDIR or /tmp.
std::string RuntimeBase(const std::string& configured);

// The folder's path: BASE/reigen-UID-NAME.
std::string RuntimeFolderPath(const std::string& base, const std::string& name);

class RuntimeFolder {
 public:
  // Makes the folder (0700) with its lock file held. `name` is "JOB-hHOST" or
  // "JOB-c"; one that exists is FailedPrecondition.
  static StatusOr<RuntimeFolder> Create(const std::string& base, const std::string& name);

  RuntimeFolder() = default;
  RuntimeFolder(RuntimeFolder&&) = default;
  RuntimeFolder& operator=(RuntimeFolder&&) = default;
  // The folder stays: Remove() is explicit, so that a daemon that dies of a bug
  // leaves it to whoever watches it.

  const std::string& path() const { return path_; }
  void Remove();

 private:
  std::string path_;
  UniqueFd lock_;
};

// Removes a folder of a dead daemon: its plain files and itself.
void RemoveRuntimeFolder(const std::string& path);

// Removes this user's folders whose daemon is dead. Returns how many.
int SweepRuntimeFolders(const std::string& base);

}  // namespace reigen

#endif  // REIGEN_RUNTIME_BASE_RUNTIME_FOLDER_H_
