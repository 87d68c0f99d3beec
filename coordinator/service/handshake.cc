#include "coordinator/service/handshake.h"

#include "proto/control/handshake.h"

namespace reigen::coordinator {

StatusOr<control::Challenge> Handshake::OnHello(const control::Hello& hello) {
  if (std::exchange(state_, State::kFailed) != State::kHello) {
    return Unauthenticated("Hello in the wrong place");
  }
  if (hello.version() != control::kVersion) {
    return FailedPrecondition("protocol version " + std::to_string(hello.version()) +
                              " speaks to version " + std::to_string(control::kVersion) +
                              "; one job runs one version of Reigen");
  }
  if (hello.role() != role_ || hello.nonce().size() != control::kNonceBytes) {
    return Unauthenticated("Hello is not of this protocol");
  }
  hello_ = hello;
  nonce_ = control::MakeNonce();
  state_ = State::kProof;
  control::Challenge challenge;
  challenge.set_nonce(nonce_);
  challenge.set_mac(
      control::CoordinatorMac(secret_, role_, hello.host(), hello.nonce(), nonce_));
  return challenge;
}

Status Handshake::OnProof(const control::Proof& proof) {
  if (std::exchange(state_, State::kFailed) != State::kProof) {
    return Unauthenticated("Proof in the wrong place");
  }
  const std::string mac =
      control::ClientMac(secret_, role_, hello_.host(), hello_.nonce(), nonce_);
  if (!control::SameMac(mac, proof.mac())) {
    return Unauthenticated("the job's secret is another one");
  }
  state_ = State::kProved;
  return OkStatus();
}

}  // namespace reigen::coordinator
