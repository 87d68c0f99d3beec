// A network in memory: many hosts in one thread, under virtual time, from a seed.
#ifndef REIGEN_RUNTIME_TRANSPORT_FAKE_FAKE_NETWORK_H_
#define REIGEN_RUNTIME_TRANSPORT_FAKE_FAKE_NETWORK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/transport/link.h"

namespace reigen::transport {

struct FakeOptions {
  uint64_t seed = 1;
  int channels = 2;  // each ordered; frames of different ones overtake each other
  // A frame takes a time drawn between these to leave its sender's memory, and
  // again to arrive. Zero: at the sender's, then the receiver's next Progress().
  Duration min_delay{0};
  Duration max_delay{0};
  Duration connect_deadline = seconds(30);
  // How long until an end learns that its link or the host there is dead.
  Duration detect_after{0};
  // Of a frame to be lost; its link dies then, as a TCP connection would.
  double drop_probability = 0;
};

class FakeTransport;

// Makes the transports of all hosts and carries their frames. Time is what is
// passed to Progress(); it must not go back.
//
// Checks: buffers posted must lie in memory registered with the same transport.
// Threads: one, for the network, its transports and their links.
// Order:   the network outlives its transports, a transport its links.
class FakeNetwork {
 public:
  explicit FakeNetwork(const FakeOptions& options);
  ~FakeNetwork();

  // event_fd() of a fake is -1: there is nothing to sleep on.
  std::unique_ptr<Transport> AddHost(int host, const std::string& name);

  // The link between two hosts breaks: now, or when it has carried so many frames
  // more. A link made anew afterwards works.
  void KillLink(int a, int b);
  void KillLinkAfterFrames(int a, int b, uint64_t frames);

  // The host does nothing from now on; the others' links to it fail.
  void KillHost(int host);

  // For simulators: all hosts at once.
  void Progress(Time now);
  std::optional<Time> NextDeadline() const;

 private:
  friend class FakeTransport;

  const FakeOptions options_;
  std::mt19937_64 random_;
  Time now_{};
  std::map<int, FakeTransport*> hosts_;
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_FAKE_FAKE_NETWORK_H_
