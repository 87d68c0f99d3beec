// How the SDK's parts report what can happen: a code of the C interface and a
// text that names tensor, ranks and values. (No absl in this library.)
#ifndef REIGEN_CLIENT_C_RESULT_H_
#define REIGEN_CLIENT_C_RESULT_H_

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "client/c/reigen.h"

namespace reigen::sdk {

struct [[nodiscard]] Result {
  reigen_status code = REIGEN_OK;
  std::string text;

  bool ok() const { return code == REIGEN_OK; }
};

inline Result Ok() { return {}; }
inline Result Fail(reigen_status code, std::string text) { return {code, std::move(text)}; }
inline Result Invalid(std::string text) { return {REIGEN_INVALID_ARGUMENT, std::move(text)}; }
// "WHAT: text of errno".
inline Result FailErrno(reigen_status code, const std::string& what, int error = errno) {
  return {code, what + ": " + std::strerror(error)};
}

}  // namespace reigen::sdk

#define REIGEN_SDK_RETURN_IF_ERROR(expr)                           \
  do {                                                             \
    ::reigen::sdk::Result reigen_sdk_result_ = (expr);             \
    if (!reigen_sdk_result_.ok()) return reigen_sdk_result_;       \
  } while (0)

#endif  // REIGEN_CLIENT_C_RESULT_H_
