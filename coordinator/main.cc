// reigen-coordinator: one per job, started by reigenrun, never by hand.
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "coordinator/process.h"
#include "runtime/base/version.h"

namespace {

constexpr char kHelp[] =
    "Usage: reigen-coordinator [--help | --version]\n"
    "\n"
    "Agrees with the workers of one job which tensors are ready everywhere and in\n"
    "which order they run. reigenrun starts it and speaks to it through pipes; to look\n"
    "inside a running job use reigenctl.\n";

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::printf("reigen-coordinator %s\n", reigen::kVersion);
    return 0;
  }
  if (argc != 1) {
    std::fprintf(stderr, "reigen-coordinator: unknown argument '%s'\n%s", argv[1], kHelp);
    return 2;
  }
  if (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO)) {
    std::fprintf(stderr, "reigen-coordinator: is started by reigenrun, not by hand\n");
    return 2;
  }
  return reigen::coordinator::RunProcess(STDIN_FILENO, STDOUT_FILENO);
}
