// A folder with files and links like those of /sys, for tests of probes.
#ifndef REIGEN_RUNTIME_PROBE_TESTING_TREE_H_
#define REIGEN_RUNTIME_PROBE_TESTING_TREE_H_

#include <string>

namespace reigen::probe {

class Tree {
 public:
  // Below the test's own folder.
  explicit Tree(const std::string& name);
  const std::string& root() const { return root_; }

  // `path` is absolute, within the tree; folders on the way are made.
  void File(const std::string& path, const std::string& text);
  void Link(const std::string& path, const std::string& target);

 private:
  std::string root_;
};

}  // namespace reigen::probe

#endif  // REIGEN_RUNTIME_PROBE_TESTING_TREE_H_
