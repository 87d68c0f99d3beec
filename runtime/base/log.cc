#include "runtime/base/log.h"

#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace reigen {
namespace {

// Lines that may wait for a slow stderr before the oldest are dropped.
constexpr size_t kQueueLines = 8192;

spdlog::level::level_enum ParseLevel(const std::string& level) {
  if (level == "trace") return spdlog::level::trace;
  if (level == "debug") return spdlog::level::debug;
  if (level == "info") return spdlog::level::info;
  if (level == "error") return spdlog::level::err;
  if (level == "off") return spdlog::level::off;
  return spdlog::level::warn;
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void StartLogging(const std::string& program, const std::string& level) {
  spdlog::init_thread_pool(kQueueLines, 1);
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = std::make_shared<spdlog::async_logger>(
      program, std::move(sink), spdlog::thread_pool(),
      spdlog::async_overflow_policy::overrun_oldest);
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l: %v");
  logger->set_level(ParseLevel(level));
  logger->flush_on(spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

void StopLogging() { spdlog::shutdown(); }

void SetLogLevel(const std::string& level) { spdlog::set_level(ParseLevel(level)); }

// After StopLogging there is no logger.
bool LogEnabled(LogLevel level) {
  spdlog::logger* const logger = spdlog::default_logger_raw();
  return logger != nullptr && logger->should_log(SpdlogLevel(level));
}

void WriteLog(LogLevel level, fmt::string_view format, fmt::format_args args) {
  spdlog::logger* const logger = spdlog::default_logger_raw();
  if (logger == nullptr) return;
  const std::string text = fmt::vformat(format, args);
  logger->log(SpdlogLevel(level), spdlog::string_view_t(text));
}

}  // namespace reigen
