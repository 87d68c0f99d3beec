// How the two ends of a socket prove to each other that they know the job's
// secret, without showing it. Pure: bytes in, bytes out.
//
//   dialler (lower host number)               acceptor
//   Hello{magic, version, job, hosts, -->
//         channel, session, nonce}       <--  Challenge{nonce, MAC "acceptor"}
//   Proof{MAC "dialler"}             -->
//                                        <--  Welcome, once its Link is there too
//   frames ...                       <-->     frames ...
//
// Each MAC covers its role, the whole Hello and the acceptor's nonce: nothing said
// once can be said again, or be said by the other role, for another channel, host
// or job. The Hello names a session, so that the channels of one link find
// together and those of an attempt given up do not join them.
#ifndef REIGEN_RUNTIME_TRANSPORT_TCP_HANDSHAKE_H_
#define REIGEN_RUNTIME_TRANSPORT_TCP_HANDSHAKE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/base/status.h"

namespace reigen::transport {

inline constexpr uint32_t kLinkVersion = 1;

// What both ends must agree on, and who this one is.
struct Identity {
  std::string job;
  std::string secret;
  int host = 0;
};

struct Hello {
  uint32_t from = 0;  // host numbers
  uint32_t to = 0;
  uint16_t channel = 0;
  uint16_t channels = 1;
  uint64_t session = 0;
  std::string nonce;
};

inline constexpr size_t kNonceBytes = 32;
inline constexpr size_t kHelloStartBytes = 12;  // magic and version: strangers end here
inline constexpr size_t kHelloBytes = 80;
inline constexpr size_t kChallengeBytes = 64;
inline constexpr size_t kProofBytes = 32;
inline constexpr size_t kWelcomeBytes = 8;

// Common to both roles. Give OnMessage exactly wanted() bytes, no more: what
// follows may be frames. An error ends the socket. Output is to be sent whole.
class Handshake {
 public:
  virtual ~Handshake() = default;
  virtual size_t wanted() const = 0;  // 0: nothing more
  virtual Status OnMessage(std::span<const std::byte> message) = 0;
  std::string TakeOutput();
  // The other end has proved itself.
  bool authentic() const { return authentic_; }

 protected:
  std::string output_;
  bool authentic_ = false;
};

class DialHandshake : public Handshake {
 public:
  // The nonce of `hello` is filled in.
  DialHandshake(const Identity& identity, Hello hello);
  size_t wanted() const override;
  Status OnMessage(std::span<const std::byte> message) override;
  bool welcome() const { return welcome_; }

 private:
  const Identity identity_;
  std::string hello_;  // as sent
  bool welcome_ = false;
};

class AcceptHandshake : public Handshake {
 public:
  explicit AcceptHandshake(const Identity& identity) : identity_(identity) {}
  size_t wanted() const override;
  Status OnMessage(std::span<const std::byte> message) override;
  const Hello& hello() const { return parsed_; }
  static std::string Welcome();

 private:
  Status OnHello();

  const Identity identity_;
  std::string hello_;  // as received
  std::string nonce_;  // sent in the Challenge
  Hello parsed_;
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_TCP_HANDSHAKE_H_
