#include "runtime/transport/rdma/setup.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/transport/rdma/rdma_limits.h"

namespace reigen::transport::rdma {
namespace {

enum Kind : uint8_t { kOffer = 1, kQueues = 2, kReady = 3, kBye = 4 };

class Writer {
 public:
  template <typename T>
  void Number(T value) {
    for (size_t i = 0; i < sizeof(T); ++i) {
      bytes_ += static_cast<char>((static_cast<uint64_t>(value) >> (8 * i)) & 0xff);
    }
  }
  void Text(const std::string& text, size_t most) {
    const size_t count = std::min(text.size(), most);
    Number<uint16_t>(static_cast<uint16_t>(count));
    bytes_ += text.substr(0, count);
  }
  void Address(const Gid& gid) { bytes_.append(gid.bytes.begin(), gid.bytes.end()); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// After the first byte that is not there everything reads as 0; done() tells.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T Number() {
    uint64_t value = 0;
    const auto from = Take(sizeof(T));
    for (size_t i = 0; i < from.size(); ++i) {
      value |= uint64_t{static_cast<uint8_t>(from[i])} << (8 * i);
    }
    return static_cast<T>(value);
  }
  std::string Text(size_t most) {
    const size_t count = Number<uint16_t>();
    if (count > most) good_ = false;
    const auto from = Take(good_ ? count : 0);
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  Gid Address() {
    Gid gid;
    const auto from = Take(gid.bytes.size());
    if (!from.empty()) std::memcpy(gid.bytes.data(), from.data(), from.size());
    return gid;
  }
  bool done() const { return good_ && bytes_.empty(); }

 private:
  std::span<const std::byte> Take(size_t count) {
    if (!good_ || count > bytes_.size()) {
      good_ = false;
      return {};
    }
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }

  std::span<const std::byte> bytes_;
  bool good_ = true;
};

Kind Write(const Offer& offer, Writer& out) {
  REIGEN_CHECK(offer.rails.size() <= kMaxRails, "ports");
  out.Number<uint32_t>(kSetupVersion);
  out.Number<uint16_t>(offer.channels);
  out.Number<uint8_t>(static_cast<uint8_t>(offer.rails.size()));
  for (const RailAddress& rail : offer.rails) {
    out.Text(rail.device, kMaxNameBytes);
    out.Number(rail.port);
    out.Number(static_cast<uint8_t>(rail.layer));
    out.Number(static_cast<uint8_t>(rail.gid_type));
    out.Address(rail.gid);
    out.Number(rail.lid);
    out.Number(static_cast<uint8_t>(rail.global_only ? 1 : 0));
    out.Number(rail.pkey);
    out.Number(rail.mtu_bytes);
    out.Number(rail.max_message_bytes);
    out.Number(rail.max_queues);
  }
  for (const std::vector<PortName>* ports : {&offer.left_out, &offer.spare}) {
    REIGEN_CHECK(ports->size() <= kMaxLeftOut, "ports that are left out");
    out.Number<uint8_t>(static_cast<uint8_t>(ports->size()));
    for (const PortName& port : *ports) {
      out.Text(port.device, kMaxNameBytes);
      out.Number(port.port);
    }
  }
  return kOffer;
}

Kind Write(const Queues& queues, Writer& out) {
  out.Number<uint8_t>(static_cast<uint8_t>(queues.queues.size()));
  for (const QueueAddress& queue : queues.queues) {
    out.Number(queue.number);
    out.Number(queue.psn);
  }
  return kQueues;
}

Kind Write(const Ready&, Writer&) { return kReady; }

Kind Write(const Bye& bye, Writer& out) {
  out.Text(bye.reason, kMaxTextBytes);
  return kBye;
}

StatusOr<SetupMessage> ReadOffer(Reader& in) {
  const auto version = in.Number<uint32_t>();
  if (version != kSetupVersion) {
    return InvalidArgument("it speaks version " + std::to_string(version) +
                           " of the RDMA set-up, this is version " + std::to_string(kSetupVersion));
  }
  Offer offer;
  offer.channels = in.Number<uint16_t>();
  const size_t rails = in.Number<uint8_t>();
  if (offer.channels < 1 || offer.channels > kMaxChannels || rails > kMaxRails) {
    return InvalidArgument("it offers " + std::to_string(offer.channels) + " channels over " +
                           std::to_string(rails) + " ports");
  }
  for (size_t i = 0; i < rails; ++i) {
    RailAddress& rail = offer.rails.emplace_back();
    rail.device = in.Text(kMaxNameBytes);
    rail.port = in.Number<uint8_t>();
    rail.layer = static_cast<LinkLayer>(in.Number<uint8_t>());
    rail.gid_type = static_cast<GidType>(in.Number<uint8_t>());
    rail.gid = in.Address();
    rail.lid = in.Number<uint16_t>();
    rail.global_only = in.Number<uint8_t>() != 0;
    rail.pkey = in.Number<uint16_t>();
    rail.mtu_bytes = in.Number<uint32_t>();
    rail.max_message_bytes = in.Number<uint32_t>();
    rail.max_queues = in.Number<uint8_t>();
    const bool known_layer =
        rail.layer == LinkLayer::kInfiniBand || rail.layer == LinkLayer::kEthernet;
    if (!known_layer || rail.gid_type > GidType::kRoceV2) {
      return InvalidArgument("it offers a port of a kind that is not known here");
    }
  }
  for (std::vector<PortName>* ports : {&offer.left_out, &offer.spare}) {
    const size_t count = in.Number<uint8_t>();
    if (count > kMaxLeftOut) {
      return InvalidArgument("it names " + std::to_string(count) + " ports that it leaves out");
    }
    for (size_t i = 0; i < count; ++i) {
      PortName& port = ports->emplace_back();
      port.device = in.Text(kMaxNameBytes);
      port.port = in.Number<uint8_t>();
    }
  }
  return offer;
}

StatusOr<SetupMessage> ReadQueues(Reader& in) {
  Queues queues;
  const size_t count = in.Number<uint8_t>();
  if (count > kMaxChannels + 1) {
    return InvalidArgument("it has " + std::to_string(count) + " queues");
  }
  for (size_t i = 0; i < count; ++i) {
    QueueAddress& queue = queues.queues.emplace_back();
    queue.number = in.Number<uint32_t>();
    queue.psn = in.Number<uint32_t>();
  }
  return queues;
}

StatusOr<SetupMessage> ReadBody(uint8_t kind, Reader& in) {
  switch (kind) {
    case kOffer:
      return ReadOffer(in);
    case kQueues:
      return ReadQueues(in);
    case kReady:
      return Ready();
    case kBye:
      return Bye{in.Text(kMaxTextBytes)};
    default:
      return InvalidArgument("a set-up message of kind " + std::to_string(kind));
  }
}

}  // namespace

std::string Encode(const SetupMessage& message) {
  Writer body;
  const Kind kind = std::visit([&](const auto& each) { return Write(each, body); }, message);
  Writer out;
  out.Number<uint32_t>(static_cast<uint32_t>(body.bytes().size()));
  out.Number<uint8_t>(kind);
  return out.bytes() + body.bytes();
}

StatusOr<size_t> SetupBodyBytes(std::span<const std::byte, kSetupHeaderBytes> header) {
  Reader in(header);
  const auto bytes = in.Number<uint32_t>();
  if (bytes > kMaxSetupBytes) {
    return InvalidArgument("a set-up message of " + std::to_string(bytes) + " bytes");
  }
  return bytes;
}

StatusOr<SetupMessage> DecodeSetup(uint8_t kind, std::span<const std::byte> body) {
  Reader in(body);
  REIGEN_ASSIGN_OR_RETURN(SetupMessage message, ReadBody(kind, in));
  if (!in.done()) {
    return InvalidArgument("a set-up message of kind " + std::to_string(kind) + " and " +
                           std::to_string(body.size()) + " bytes is not well-formed");
  }
  return message;
}

}  // namespace reigen::transport::rdma
