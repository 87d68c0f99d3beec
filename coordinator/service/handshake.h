// The coordinator's side of the proof of the job's secret (proto/control/handshake.h).
//
//   kHello --Hello--> kProof --Proof--> kProved        anything else: an error
//
// Threads: as an int.
// Errors:  what the other side did wrong; the text is for it, too.
#ifndef REIGEN_COORDINATOR_SERVICE_HANDSHAKE_H_
#define REIGEN_COORDINATOR_SERVICE_HANDSHAKE_H_

#include <string>
#include <string_view>
#include <utility>

#include "proto/control/control.pb.h"
#include "runtime/base/status.h"

namespace reigen::coordinator {

class Handshake {
 public:
  // `role`: the only one that is welcome on this stream.
  Handshake(std::string secret, std::string_view role) : secret_(std::move(secret)), role_(role) {}

  StatusOr<control::Challenge> OnHello(const control::Hello& hello);
  Status OnProof(const control::Proof& proof);

  bool proved() const { return state_ == State::kProved; }
  int host() const { return hello_.host(); }

 private:
  enum class State { kHello, kProof, kProved, kFailed };

  std::string secret_;
  std::string role_;
  State state_ = State::kHello;
  control::Hello hello_;
  std::string nonce_;
};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_SERVICE_HANDSHAKE_H_
