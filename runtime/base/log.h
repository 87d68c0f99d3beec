// The only way to spdlog. Writes to stderr, asynchronously: when nobody reads
// stderr, the oldest lines are lost and nothing waits.
//
// Keys in fixed order: rank= host= epoch= seq= tensor= peer=. info = a change of
// state with its reason; debug = per plan. Not in libreigen.so.
#ifndef REIGEN_RUNTIME_BASE_LOG_H_
#define REIGEN_RUNTIME_BASE_LOG_H_

#include <spdlog/spdlog.h>

#include <string>

namespace reigen {

// Once, at the start of a program. `program` stands at the head of each line;
// `level` is trace, debug, info, warning, error or off (others mean warning).
void StartLogging(const std::string& program, const std::string& level);
// Writes out what is queued and ends the thread. Call before the program ends.
void StopLogging();

}  // namespace reigen

#define REIGEN_DEBUG(...) SPDLOG_LOGGER_CALL(spdlog::default_logger_raw(), spdlog::level::debug, __VA_ARGS__)
#define REIGEN_INFO(...) SPDLOG_LOGGER_CALL(spdlog::default_logger_raw(), spdlog::level::info, __VA_ARGS__)
#define REIGEN_WARN(...) SPDLOG_LOGGER_CALL(spdlog::default_logger_raw(), spdlog::level::warn, __VA_ARGS__)
#define REIGEN_ERROR(...) SPDLOG_LOGGER_CALL(spdlog::default_logger_raw(), spdlog::level::err, __VA_ARGS__)

#endif  // REIGEN_RUNTIME_BASE_LOG_H_
