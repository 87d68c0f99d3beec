#include "runtime/probe/sysfs.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace reigen::probe {

std::optional<std::string> FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<int> FirstNumber(const std::string& path) {
  const std::optional<std::string> line = FirstLine(path);
  int number = 0;
  if (!line) return std::nullopt;
  const auto read = std::from_chars(line->data(), line->data() + line->size(), number);
  if (read.ec != std::errc() || read.ptr != line->data() + line->size()) return std::nullopt;
  return number;
}

std::vector<std::string> Entries(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto at = std::filesystem::directory_iterator(folder, error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string LinkName(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::read_symlink(path, error);
  return error ? "" : target.filename().string();
}

}  // namespace reigen::probe
