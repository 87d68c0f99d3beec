#include "client/cli/reigenrun/rsh.h"

#include <cctype>
#include <cstddef>

namespace reigen::run {
namespace {

std::string QuoteAll(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + QuoteForShell(word);
  return line;
}

std::string Replaced(std::string text, const std::string& name, const std::string& value) {
  for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size()) {
    text.replace(at, name.size(), value);
  }
  return text;
}

}  // namespace

std::string QuoteForShell(const std::string& word) {
  bool plain = !word.empty();
  std::string quoted = "'";
  for (char c : word) {
    const bool safe = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                      std::string("_./:=@+,-").find(c) != std::string::npos;
    plain = plain && safe;
    // Shells differ about these inside quotes; outside, after a backslash, they agree.
    if (c == '\'' || c == '\\' || c == '!') {
      quoted += std::string("'\\") + c + "'";
    } else {
      quoted += c;
    }
  }
  return plain ? word : quoted + "'";
}

StatusOr<std::vector<std::string>> SplitWords(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;  // a word, perhaps an empty quoted one
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
      inside = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (inside) words.push_back(word);
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote != 0) return InvalidArgument(std::string("a quote (") + quote + ") is not closed");
  if (inside) words.push_back(word);
  return words;
}

StatusOr<std::vector<std::string>> RshWords(const RshOptions& options, const std::string& host,
                                            const std::vector<std::string>& command) {
  if (options.command_template.empty()) {
    std::vector<std::string> words = {"ssh", "-T", "-o", "BatchMode=yes", "-o",
                                      "ConnectTimeout=" + std::to_string(options.connect_timeout_s)};
    if (options.ssh_port != 0) words.insert(words.end(), {"-p", std::to_string(options.ssh_port)});
    if (!options.ssh_identity_file.empty()) {
      words.insert(words.end(), {"-i", options.ssh_identity_file});
    }
    words.insert(words.end(), {host, QuoteAll(command)});
    return words;
  }
  StatusOr<std::vector<std::string>> parts = SplitWords(options.command_template);
  if (!parts.ok()) return Annotate(parts.status(), "--rsh");
  std::vector<std::string> words;
  bool has_command = false;
  for (const std::string& part : *parts) {
    if (part == "{command}") {
      words.insert(words.end(), command.begin(), command.end());
      has_command = true;
      continue;
    }
    if (part.find("{command}") != std::string::npos) {
      return InvalidArgument("--rsh: {command} must be a word of its own, in \"" + part +
                             "\" use {quoted}");
    }
    has_command = has_command || part.find("{quoted}") != std::string::npos;
    words.push_back(Replaced(Replaced(part, "{host}", host), "{quoted}", QuoteAll(command)));
  }
  if (!has_command) return InvalidArgument("--rsh: {command} or {quoted} is missing");
  if (words.size() <= command.size() && words == command) {
    return InvalidArgument("--rsh: it does not say how to reach {host}");
  }
  return words;
}

}  // namespace reigen::run
