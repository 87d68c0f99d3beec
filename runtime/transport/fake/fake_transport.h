// The fake's Transport and Link.
#ifndef REIGEN_RUNTIME_TRANSPORT_FAKE_FAKE_TRANSPORT_H_
#define REIGEN_RUNTIME_TRANSPORT_FAKE_FAKE_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/transport/fake/fake_network.h"
#include "runtime/transport/fake/fake_pipe.h"
#include "runtime/transport/link.h"
#include "runtime/transport/link_core.h"

namespace reigen::transport {

class FakeLink : public Link {
 public:
  FakeLink(FakeTransport* transport, const Peer& peer, Time deadline);
  ~FakeLink() override;

  Status PostSend(std::span<const std::byte> data, const Tag& tag, uint64_t cookie) override;
  Status PostRecv(std::span<std::byte> data, const Tag& tag, uint64_t cookie) override;
  size_t Poll(std::span<Completion> out) override { return core_.Poll(out); }
  void Close() override;
  Status error() const override { return core_.status(); }

  int peer() const { return peer_; }
  bool waiting() const { return core_.open() && pipe_ == nullptr; }
  void Join(std::shared_ptr<FakePipe> pipe, int side);
  FakePipe* pipe() { return core_.open() ? pipe_.get() : nullptr; }
  void Progress(Time now);
  std::optional<Time> NextDeadline() const;

 private:
  void Fail(const Status& why);

  FakeTransport* const transport_;
  const int peer_;
  const std::string ends_;  // "a -> b (fake)"
  const Time deadline_;     // to be connected
  LinkCore core_;
  std::shared_ptr<FakePipe> pipe_;
  int side_ = 0;
  bool dirty_ = false;  // posted to since the last Progress()
};

class FakeTransport : public Transport {
 public:
  FakeTransport(FakeNetwork* network, int host, const std::string& name);
  ~FakeTransport() override;

  const char* name() const override { return "fake"; }
  std::vector<std::string> addresses() const override { return {"fake:" + std::to_string(host_)}; }
  StatusOr<std::unique_ptr<Region>> Register(std::span<std::byte> memory) override;
  std::unique_ptr<Link> Connect(const Peer& peer) override;
  size_t EagerBytes() const override;
  int event_fd() const override { return -1; }
  void Progress(Time now) override;
  std::optional<Time> NextDeadline() const override;

  int host() const { return host_; }
  const std::string& host_name() const { return name_; }
  void CheckRegistered(std::span<const std::byte> data) const;
  void Remove(FakeLink* link);
  void Kill() { dead_ = true; }
  bool dead() const { return dead_; }
  const std::vector<FakeLink*>& links() const { return links_; }

 private:
  class FakeRegion;

  FakeNetwork* const network_;
  const int host_;
  const std::string name_;
  std::vector<FakeLink*> links_;
  std::multimap<const std::byte*, size_t> regions_;
  bool dead_ = false;
};

}  // namespace reigen::transport

#endif  // REIGEN_RUNTIME_TRANSPORT_FAKE_FAKE_TRANSPORT_H_
