// Numbers for names: the worker is told each name once, requests carry the
// number. When all numbers are taken, the name unused for longest gives up its
// own.
//
//   (unknown) --Pin--> in use (by pending requests) --Unpin--> idle --Pin of another--> (unknown)
//
// Threads: any; a leaf lock.
#ifndef REIGEN_CLIENT_C_NAME_TABLE_H_
#define REIGEN_CLIENT_C_NAME_TABLE_H_

#include <cstdint>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/c/result.h"

namespace reigen::sdk {

class NameTable {
 public:
  struct Pinned {
    uint32_t id = 0;
    bool is_new = false;  // to be defined for the worker before its use
  };

  explicit NameTable(uint32_t max_names) : max_names_(max_names) {}

  // Takes all names into use at once. A name in use already, or twice in
  // `names`, is InvalidArgument ("duplicate"), and then nothing is taken.
  Result Pin(std::span<const std::string> names, std::vector<Pinned>* pinned);
  void Unpin(std::span<const uint32_t> ids);

 private:
  struct Entry {
    std::string name;
    bool in_use = false;
    std::list<uint32_t>::iterator idle;  // valid when not in use
  };

  void UnpinLocked(uint32_t id);

  const uint32_t max_names_;
  std::mutex mutex_;
  std::vector<Entry> entries_;  // by id
  std::unordered_map<std::string, uint32_t> ids_;
  std::list<uint32_t> idle_;  // used last at the end
};

}  // namespace reigen::sdk

#endif  // REIGEN_CLIENT_C_NAME_TABLE_H_
