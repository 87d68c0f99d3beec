// The command that starts a program on another host. Pure.
#ifndef REIGEN_CLIENT_CLI_REIGENRUN_RSH_H_
#define REIGEN_CLIENT_CLI_REIGENRUN_RSH_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace reigen::run {

struct RshOptions {
  // Words with {host}, {command} (a word of its own: becomes the words of the
  // command) and {quoted} (the whole command as one word for a shell). Empty: ssh.
  std::string command_template{};
  int ssh_port = 0;               // 0: ssh's own choice
  std::string ssh_identity_file{};  // empty: ssh's own choice
  int connect_timeout_s = 30;
};

// The words to execute here so that `command` runs on `host`.
StatusOr<std::vector<std::string>> RshWords(const RshOptions& options, const std::string& host,
                                            const std::vector<std::string>& command);

// One word for any of sh, bash, zsh, fish, csh.
std::string QuoteForShell(const std::string& word);

// Splits as a shell does: blanks separate, '...', "..." and \ quote. Nothing else
// is special.
StatusOr<std::vector<std::string>> SplitWords(const std::string& text);

}  // namespace reigen::run

#endif  // REIGEN_CLIENT_CLI_REIGENRUN_RSH_H_
