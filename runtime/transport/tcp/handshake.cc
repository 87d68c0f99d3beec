#include "runtime/transport/tcp/handshake.h"

#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/hmac.h"
#include "runtime/transport/tcp/tcp_limits.h"

namespace reigen::transport {
namespace {

const char kMagic[] = "REIGENLK";
const char kWelcome[] = "REIGENOK";
const char kAcceptor[] = "reigen link acceptor";
const char kDialler[] = "reigen link dialler ";
constexpr size_t kMagicBytes = 8;
constexpr size_t kJobBytes = 16;

template <typename T>
void Put(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

template <typename T>
T Get(const std::string& in, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= uint64_t{static_cast<uint8_t>(in[at + i])} << (8 * i);
  }
  return static_cast<T>(value);
}

std::string Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Tells jobs apart in messages; the MACs are what keeps them apart.
std::string JobDigest(const std::string& job) {
  return Text(HmacSha256("reigen job", job)).substr(0, kJobBytes);
}

std::string MacOf(const Identity& identity, const char* role, const std::string& hello,
                  const std::string& nonce) {
  return Text(HmacSha256(identity.secret, role + hello + nonce));
}

bool Equal(const std::string& mac, std::span<const std::byte> given) {
  return EqualMac(std::as_bytes(std::span(mac)), given);
}

}  // namespace

std::string Handshake::TakeOutput() { return std::exchange(output_, {}); }

DialHandshake::DialHandshake(const Identity& identity, Hello hello) : identity_(identity) {
  hello_ = kMagic;
  Put<uint32_t>(hello_, kLinkVersion);
  hello_ += JobDigest(identity.job);
  Put<uint32_t>(hello_, hello.from);
  Put<uint32_t>(hello_, hello.to);
  Put<uint16_t>(hello_, hello.channel);
  Put<uint16_t>(hello_, hello.channels);
  Put<uint64_t>(hello_, hello.session);
  hello_ += RandomBytes(kNonceBytes);
  REIGEN_CHECK(hello_.size() == kHelloBytes, "Hello");
  output_ = hello_;
}

size_t DialHandshake::wanted() const {
  if (!authentic_) return kChallengeBytes;
  return welcome_ ? 0 : kWelcomeBytes;
}

Status DialHandshake::OnMessage(std::span<const std::byte> message) {
  REIGEN_CHECK(message.size() == wanted(), "a whole message");
  if (authentic_) {
    if (Text(message) != kWelcome) return Unauthenticated("no welcome after the proof");
    welcome_ = true;
    return OkStatus();
  }
  const std::string nonce = Text(message.first(kNonceBytes));
  if (!Equal(MacOf(identity_, kAcceptor, hello_, nonce), message.subspan(kNonceBytes))) {
    return Unauthenticated("it does not know this job's secret");
  }
  authentic_ = true;
  output_ += MacOf(identity_, kDialler, hello_, nonce);
  return OkStatus();
}

size_t AcceptHandshake::wanted() const {
  if (authentic_) return 0;
  if (hello_.empty()) return kHelloStartBytes;
  return hello_.size() < kHelloBytes ? kHelloBytes - hello_.size() : kProofBytes;
}

Status AcceptHandshake::OnMessage(std::span<const std::byte> message) {
  REIGEN_CHECK(message.size() == wanted() && !message.empty(), "a whole message");
  if (hello_.size() == kHelloBytes) {
    if (!Equal(MacOf(identity_, kDialler, hello_, nonce_), message)) {
      return Unauthenticated("it does not know this job's secret");
    }
    authentic_ = true;
    return OkStatus();
  }
  hello_ += Text(message);
  if (hello_.size() == kHelloBytes) return OnHello();
  if (hello_.compare(0, kMagicBytes, kMagic) != 0) {
    return Unauthenticated("it does not speak the link protocol");
  }
  const auto version = Get<uint32_t>(hello_, kMagicBytes);
  if (version != kLinkVersion) {
    return Unauthenticated("it speaks version " + std::to_string(version) +
                           " of the link protocol, this is version " +
                           std::to_string(kLinkVersion));
  }
  return OkStatus();
}

Status AcceptHandshake::OnHello() {
  size_t at = kHelloStartBytes;
  if (hello_.compare(at, kJobBytes, JobDigest(identity_.job)) != 0) {
    return Unauthenticated("it belongs to another job");
  }
  at += kJobBytes;
  parsed_.from = Get<uint32_t>(hello_, at);
  parsed_.to = Get<uint32_t>(hello_, at + 4);
  parsed_.channel = Get<uint16_t>(hello_, at + 8);
  parsed_.channels = Get<uint16_t>(hello_, at + 10);
  parsed_.session = Get<uint64_t>(hello_, at + 12);
  parsed_.nonce = hello_.substr(at + 20);
  const auto host = static_cast<uint32_t>(identity_.host);
  if (parsed_.to != host || parsed_.from >= host) {
    return Unauthenticated("it is host " + std::to_string(parsed_.from) + " and looks for host " +
                           std::to_string(parsed_.to) + ", this is host " + std::to_string(host));
  }
  if (parsed_.channels > kMaxChannels || parsed_.channel >= parsed_.channels) {
    return Unauthenticated("channel " + std::to_string(parsed_.channel) + " of " +
                           std::to_string(parsed_.channels));
  }
  nonce_ = RandomBytes(kNonceBytes);
  output_ += nonce_ + MacOf(identity_, kAcceptor, hello_, nonce_);
  return OkStatus();
}

std::string AcceptHandshake::Welcome() { return kWelcome; }

}  // namespace reigen::transport
