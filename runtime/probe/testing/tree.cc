#include "runtime/probe/testing/tree.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace reigen::probe {

Tree::Tree(const std::string& name) : root_(testing::TempDir() + "/" + name) {
  std::filesystem::remove_all(root_);
  std::filesystem::create_directories(root_);
}

void Tree::File(const std::string& path, const std::string& text) {
  const std::filesystem::path full = root_ + path;
  std::filesystem::create_directories(full.parent_path());
  std::ofstream(full) << text;
}

void Tree::Link(const std::string& path, const std::string& target) {
  const std::filesystem::path full = root_ + path;
  std::filesystem::create_directories(full.parent_path());
  std::filesystem::create_symlink(target, full);
}

}  // namespace reigen::probe
