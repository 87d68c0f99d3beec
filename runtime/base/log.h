// The only way to spdlog. Writes to stderr, asynchronously: when nobody reads
// stderr, the oldest lines are lost and nothing waits.
//
// Keys in fixed order: rank= host= epoch= seq= tensor= peer=. info = a change of
// state with its reason; debug = per plan. Not in libreigen.so.
#ifndef REIGEN_RUNTIME_BASE_LOG_H_
#define REIGEN_RUNTIME_BASE_LOG_H_

#include <fmt/core.h>

#include <string>

namespace reigen {

// Once, at the start of a program. `program` stands at the head of each line;
// `level` is trace, debug, info, warning, error or off (others mean warning).
void StartLogging(const std::string& program, const std::string& level);
// Writes out what is queued and ends the thread. Call before the program ends.
void StopLogging();
// For programs that do not start logging: tests, benchmarks. Initially info.
void SetLogLevel(const std::string& level);

// --- what the macros are made of; spdlog's headers take a second of each compilation ---
enum class LogLevel { kDebug, kInfo, kWarning, kError };
bool LogEnabled(LogLevel level);
void WriteLog(LogLevel level, fmt::string_view format, fmt::format_args args);

template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  WriteLog(level, format, fmt::make_format_args(args...));
}

}  // namespace reigen

// The arguments are evaluated only if the level is written.
#define REIGEN_LOG_(level, ...)                                     \
  do {                                                              \
    if (::reigen::LogEnabled(level)) ::reigen::Log(level, __VA_ARGS__); \
  } while (0)
#define REIGEN_DEBUG(...) REIGEN_LOG_(::reigen::LogLevel::kDebug, __VA_ARGS__)
#define REIGEN_INFO(...) REIGEN_LOG_(::reigen::LogLevel::kInfo, __VA_ARGS__)
#define REIGEN_WARN(...) REIGEN_LOG_(::reigen::LogLevel::kWarning, __VA_ARGS__)
#define REIGEN_ERROR(...) REIGEN_LOG_(::reigen::LogLevel::kError, __VA_ARGS__)

#endif  // REIGEN_RUNTIME_BASE_LOG_H_
