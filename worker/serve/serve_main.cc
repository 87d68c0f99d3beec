#include "worker/serve/serve_main.h"

#include <cstdio>

namespace reigen::worker {

int ServeMain(const std::string& folder) {
  std::fprintf(stderr, "reigen-worker: serving %s is not in this build\n", folder.c_str());
  return 1;
}

}  // namespace reigen::worker
