// A raw socket at a transport's door, for tests of what comes there.
#ifndef REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_STRANGER_H_
#define REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_STRANGER_H_

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <string>

#include "runtime/base/unique_fd.h"
#include "runtime/transport/tcp/address.h"

namespace reigen::transport {

// A caller without manners.
class Stranger {
 public:
  Stranger(const std::string& endpoint, const std::string& scheme) {
    const SocketAddress address = ParseEndpoint(endpoint, scheme).value();
    fd_.Reset(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd_.get(), address.get(), address.bytes), 0);
  }
  void Say(const std::string& bytes) {
    EXPECT_EQ(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  std::string Hear(size_t bytes) {
    std::string heard(bytes, '\0');
    size_t have = 0;
    while (have < bytes) {
      const ssize_t got = recv(fd_.get(), heard.data() + have, bytes - have, MSG_DONTWAIT);
      if (got <= 0) break;
      have += static_cast<size_t>(got);
    }
    heard.resize(have);
    return heard;
  }
  bool closed() {
    char byte;
    const ssize_t got = recv(fd_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    return got == 0 || (got < 0 && errno != EAGAIN);
  }

 private:
  UniqueFd fd_;
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_CONFORMANCE_STRANGER_H_
