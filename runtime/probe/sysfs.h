// Reading what the kernel shows in files. `root` is "" for this machine; tests have
// trees of their own.
#ifndef REIGEN_RUNTIME_PROBE_SYSFS_H_
#define REIGEN_RUNTIME_PROBE_SYSFS_H_

#include <optional>
#include <string>
#include <vector>

namespace reigen::probe {

// The first line, without its end; none if it cannot be read.
std::optional<std::string> FirstLine(const std::string& path);
// The first line as a number; none if it is none.
std::optional<int> FirstNumber(const std::string& path);
// Names of a folder's entries, sorted; empty if it cannot be read.
std::vector<std::string> Entries(const std::string& folder);
// The last part of what a link points to; empty if it is none.
std::string LinkName(const std::string& path);

}  // namespace reigen::probe

#endif  // REIGEN_RUNTIME_PROBE_SYSFS_H_
