// What can happen is a Status; what must not is a REIGEN_CHECK (check.h).
#ifndef REIGEN_RUNTIME_BASE_STATUS_H_
#define REIGEN_RUNTIME_BASE_STATUS_H_

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace reigen {

using absl::Status;
using absl::StatusCode;
using absl::StatusOr;

inline Status OkStatus() { return Status(); }

// Debian's Abseil has a string_view of its own: build from std::string here.
inline Status MakeStatus(StatusCode code, const std::string& message) {
  return Status(code, absl::string_view(message.data(), message.size()));
}
inline Status InvalidArgument(const std::string& m) {
  return MakeStatus(StatusCode::kInvalidArgument, m);
}
inline Status FailedPrecondition(const std::string& m) {
  return MakeStatus(StatusCode::kFailedPrecondition, m);
}
inline Status ResourceExhausted(const std::string& m) {
  return MakeStatus(StatusCode::kResourceExhausted, m);
}
inline Status Unavailable(const std::string& m) { return MakeStatus(StatusCode::kUnavailable, m); }
inline Status DeadlineExceeded(const std::string& m) {
  return MakeStatus(StatusCode::kDeadlineExceeded, m);
}
inline Status NotFound(const std::string& m) { return MakeStatus(StatusCode::kNotFound, m); }
inline Status Aborted(const std::string& m) { return MakeStatus(StatusCode::kAborted, m); }
inline Status Unauthenticated(const std::string& m) {
  return MakeStatus(StatusCode::kUnauthenticated, m);
}
inline Status Internal(const std::string& m) { return MakeStatus(StatusCode::kInternal, m); }

inline std::string Message(const Status& s) {
  return std::string(s.message().data(), s.message().size());
}

// "WHAT: text of errno".
inline Status ErrnoStatus(StatusCode code, const std::string& what, int error = errno) {
  return MakeStatus(code, what + ": " + std::strerror(error));
}

// Same code, with who/where put in front: "rank 3 <- rank 2 (tcp): reset by peer".
inline Status Annotate(const Status& s, const std::string& context) {
  if (s.ok()) return s;
  return MakeStatus(s.code(), context + ": " + Message(s));
}

}  // namespace reigen

#define REIGEN_RETURN_IF_ERROR(expr)                 \
  do {                                               \
    ::reigen::Status reigen_status_ = (expr);        \
    if (!reigen_status_.ok()) return reigen_status_; \
  } while (0)

#define REIGEN_CONCAT_INNER_(a, b) a##b
#define REIGEN_CONCAT_(a, b) REIGEN_CONCAT_INNER_(a, b)
// REIGEN_ASSIGN_OR_RETURN(auto x, F());
#define REIGEN_ASSIGN_OR_RETURN(lhs, expr)                \
  auto REIGEN_CONCAT_(reigen_or_, __LINE__) = (expr);     \
  if (!REIGEN_CONCAT_(reigen_or_, __LINE__).ok())         \
    return REIGEN_CONCAT_(reigen_or_, __LINE__).status(); \
  lhs = std::move(REIGEN_CONCAT_(reigen_or_, __LINE__)).value()

#endif  // REIGEN_RUNTIME_BASE_STATUS_H_
