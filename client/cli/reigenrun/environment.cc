#include "client/cli/reigenrun/environment.h"

#include <algorithm>
#include <iterator>

namespace reigen::run {
namespace {

constexpr const char* kNever[] = {
    "_", "REIGEN_SOCKET", "REIGEN_RANK", "REIGEN_SIZE", "REIGEN_LOCAL_RANK", "REIGEN_LOCAL_SIZE",
    "REIGEN_CROSS_RANK", "REIGEN_CROSS_SIZE", "REIGEN_JOB"};

constexpr const char* kOnlyHere[] = {
    "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "XDG_SESSION_ID",
    "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_CLIENT", "SSH_CONNECTION",
    "SSH_TTY", "TMUX", "TMUX_PANE", "STY", "WINDOWID", "HOSTNAME"};

template <size_t n>
bool Contains(const char* const (&names)[n], const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

std::vector<std::string> TrainersEnvironment(const std::vector<std::string>& environment,
                                             bool this_machine) {
  std::vector<std::string> kept;
  for (const std::string& entry : environment) {
    const std::string name = entry.substr(0, entry.find('='));
    if (Contains(kNever, name) || (!this_machine && Contains(kOnlyHere, name))) continue;
    kept.push_back(entry);
  }
  return kept;
}

}  // namespace reigen::run
