// The handshake's two machines, and endpoint texts, against anything. Must hold:
// no crash, and nobody gets in who does not know the secret.
#include <span>

#include "runtime/base/check.h"
#include "runtime/transport/tcp/address.h"
#include "runtime/transport/tcp/handshake.h"
#include "tests/fuzz/fuzz.h"

namespace reigen::transport {
namespace {

void Feed(Handshake& handshake, std::string bytes) {
  while (handshake.wanted() > 0 && bytes.size() >= handshake.wanted()) {
    const std::string message = bytes.substr(0, handshake.wanted());
    bytes.erase(0, message.size());
    if (!handshake.OnMessage(std::as_bytes(std::span(message))).ok()) break;
    handshake.TakeOutput();
  }
  REIGEN_CHECK(!handshake.authentic(), "no way in without the secret");
}

void ReadEndpoint(const std::string& text) {
  const auto address = ParseEndpoint(text, "tcp");
  if (!address.ok()) return;
  const auto again = ParseEndpoint("tcp:" + Format(*address), "tcp");
  REIGEN_CHECK(again.ok(), "what is printed can be read");
  REIGEN_CHECK(again->port() == address->port(), "the same port");
}

}  // namespace

void Try(uint32_t which, const std::string& bytes) {
  if (which == 0) {
    AcceptHandshake accept({"job", "secret", 1});
    Feed(accept, bytes);
  } else if (which == 1) {
    Hello hello;
    hello.to = 1;
    DialHandshake dial({"job", "secret", 0}, hello);
    Feed(dial, bytes);
  } else {
    ReadEndpoint(bytes);
  }
}

}  // namespace reigen::transport

namespace reigen {

std::vector<std::string> FuzzSeeds() {
  transport::Hello hello;
  hello.to = 1;
  transport::DialHandshake dial({"job", "secret", 0}, hello);
  const std::string said = dial.TakeOutput();
  const auto bytes = std::as_bytes(std::span(said));
  transport::AcceptHandshake accept({"job", "secret", 1});
  (void)accept.OnMessage(bytes.first(transport::kHelloStartBytes));
  (void)accept.OnMessage(bytes.subspan(transport::kHelloStartBytes));
  return {'\0' + said + std::string(transport::kProofBytes, 'p'), '\1' + accept.TakeOutput(),
          "\2tcp:127.0.0.1:4000", "\2tcp:[::1]:4000", "\2tcp:[fe80::1%lo]:1"};
}

}  // namespace reigen

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reigen::FuzzInput input(data, size);
  const uint32_t which = input.Below(3);
  reigen::transport::Try(which, size > 1 ? input.Bytes(size - 1) : std::string());
  return 0;
}
