// Which of the launcher's variables the trainers get. Pure.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_ENVIRONMENT_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace reigen::run {

// All of `environment`, byte for byte, but
//   _                            the shell's note of the program it started;
//   REIGEN_SOCKET, REIGEN_RANK, REIGEN_SIZE, REIGEN_{LOCAL,CROSS}_{RANK,SIZE},
//   REIGEN_JOB                   set anew for each trainer;
// and, for a host that is not this machine, what describes this login session:
//   DISPLAY, XAUTHORITY, WAYLAND_DISPLAY, XDG_RUNTIME_DIR, XDG_SESSION_ID,
//   DBUS_SESSION_BUS_ADDRESS, SSH_AUTH_SOCK, SSH_AGENT_PID, SSH_CLIENT,
//   SSH_CONNECTION, SSH_TTY, TMUX, TMUX_PANE, STY, WINDOWID, HOSTNAME.
std::vector<std::string> TrainersEnvironment(const std::vector<std::string>& environment,
                                             bool this_machine);

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_ENVIRONMENT_H_
