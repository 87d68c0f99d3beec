// The program of a host: `guard` is what the launcher starts there, `serve` is the
// worker proper, started by the guard.
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "runtime/base/version.h"
#include "worker/guard/guard.h"
#include "worker/guard/tree_end.h"
#include "worker/serve/serve_main.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "guard") == 0) {
    // The running file itself, even if it was replaced on disk meanwhile.
    return reigen::worker::Guard(
               {.program = "/proc/self/exe", .hooks = reigen::worker::RealTreeHooks()})
        .Run();
  }
  if (argc == 4 && std::strcmp(argv[1], "serve") == 0 && std::strcmp(argv[2], "--folder") == 0) {
    prctl(PR_SET_NAME, "reigen-worker");  // /proc/self/exe gave it the name "exe"
    const int code = reigen::worker::ServeMain(argv[3]);
    // Threads of gRPC may still be closing the last stream: its static objects must
    // not be destroyed under them, as `return` would do.
    _exit(code);
  }
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
    std::printf("reigen-worker %s\n", reigen::kVersion);
    return 0;
  }
  std::fprintf(stderr,
               "usage: reigen-worker guard       (started by reigenrun on each host)\n"
               "       reigen-worker serve ...   (started by the guard)\n"
               "       reigen-worker --version\n");
  return 2;
}
