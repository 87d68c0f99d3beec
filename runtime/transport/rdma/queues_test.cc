// Goal: control messages never meet an empty queue; data is spread over queues, each
// share is ended once, and what a queue refuses is an error.
// Method: two ends over the fake verbs.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <set>

#include "runtime/base/clock.h"
#include "runtime/transport/rdma/control_queue.h"
#include "runtime/transport/rdma/data_writer.h"
#include "runtime/transport/rdma/fake/fake_fabric.h"
#include "runtime/transport/rdma/landings.h"
#include "runtime/transport/rdma/rdma_limits.h"

namespace reigen::transport::rdma {
namespace {

Tag MakeTag(uint64_t sequence) {
  return {.collective = {.epoch = 1, .sequence = sequence, .stream = 0}};
}

// Queue pairs of two devices, connected one to one.
class QueuesTest : public testing::Test {
 protected:
  struct End {
    std::unique_ptr<Device> device;
    std::unique_ptr<CompletionQueue> completions;
    std::vector<WorkQueue> queues;
  };

  void Make(size_t count, const QpLimits& limits) {
    const char* names[2] = {"a0", "b0"};
    for (int i : {0, 1}) {
      fabric_.AddDevice(i, names[i], "10.0.0." + std::to_string(i + 1));
      ends_[i].device = std::move(fabric_.VerbsOf(i)->Open(names[i])).value();
      ends_[i].completions = std::move(ends_[i].device->CreateCompletionQueue(100000)).value();
      for (size_t q = 0; q < count; ++q) {
        ends_[i].queues.emplace_back(std::move(
            ends_[i].device->CreateQueuePair(ends_[i].completions.get(), limits, 1, 0)).value());
      }
    }
    for (size_t q = 0; q < count; ++q) {
      for (int i : {0, 1}) {
        PathAttributes path;
        path.remote_qp = ends_[1 - i].queues[q].pair().number();
        ASSERT_TRUE(ends_[i].queues[q].pair().Connect(path).ok());
      }
    }
  }

  std::vector<WorkCompletion> Poll(int end) {
    std::vector<WorkCompletion> out(1000);
    out.resize(ends_[end].completions->Poll(out).value());
    return out;
  }

  FakeFabric fabric_;
  End ends_[2];
};

class ControlQueueTest : public QueuesTest {
 protected:
  void SetUp() override {
    QpLimits limits;
    limits.send_wrs = limits.receive_wrs = kControlQueue;
    limits.inline_bytes = 128;
    Make(1, limits);
    for (int i : {0, 1}) {
      memory_[i].resize(ControlQueue::kMemoryBytes);
      regions_[i] = std::move(ends_[i].device->Register(memory_[i], Access::kLocal)).value();
      control_[i] = std::make_unique<ControlQueue>(&ends_[i].queues[0], std::span(memory_[i]),
                                                   regions_[i]->local_key());
      ASSERT_TRUE(control_[i]->PostReceives().ok());
    }
  }

  // Takes what has come; returns the frames.
  std::vector<Frame> Take(int end) {
    std::vector<Frame> frames;
    for (const WorkCompletion& completion : Poll(end)) {
      EXPECT_EQ(completion.status, WorkStatus::kSuccess);
      const WorkId id = WorkId::Decode(completion.id);
      ends_[end].queues[0].OnCompletion(id.kind);
      if (id.kind == WorkKind::kControlSend) {
        if (control_[end]->OnSent(id.value)) ++sent_[end];
        continue;
      }
      const auto received = control_[end]->OnReceived(id.value, completion.bytes);
      EXPECT_TRUE(received.ok()) << received.status().ToString();
      if (received->has_frame) {
        frames.push_back(received->frame);
        payloads_.emplace_back(received->payload.begin(), received->payload.end());
        places_.push_back(received->place);
      }
      EXPECT_TRUE(control_[end]->Release(id.value).ok());
    }
    return frames;
  }

  Status SendEager(int end, uint64_t sequence, std::span<const std::byte> payload) {
    OutFrame out;
    out.frame.kind = FrameKind::kEager;
    out.frame.length = payload.size();
    out.frame.tag = MakeTag(sequence);
    out.payload = payload;
    return control_[end]->Send(out, nullptr);
  }

  std::vector<std::byte> memory_[2];
  std::unique_ptr<MemoryRegion> regions_[2];
  std::unique_ptr<ControlQueue> control_[2];
  std::vector<std::vector<std::byte>> payloads_;
  std::vector<Place> places_;
  size_t sent_[2] = {};
};

TEST_F(ControlQueueTest, CarriesFramesPayloadsAndPlaces) {
  std::vector<std::byte> payload(kEagerBytes, std::byte{7});
  ASSERT_TRUE(SendEager(0, 1, payload).ok());
  OutFrame credit;
  credit.frame.kind = FrameKind::kCredit;
  credit.frame.length = 1 << 20;
  credit.frame.tag = MakeTag(2);
  Place place;
  place.address = 0x123456789abc;
  place.keys = {1, 2, 3, 4, 5, 6, 7, 0xffffffff};
  place.slot = kMaxSlot;
  place.rails = {0b10110011, 0b10000001};
  place.write = true;
  ASSERT_TRUE(control_[0]->Send(credit, &place).ok());
  const auto frames = Take(1);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].tag, MakeTag(1));
  EXPECT_EQ(payloads_[0], payload);
  EXPECT_EQ(frames[1].kind, FrameKind::kCredit);
  EXPECT_EQ(places_[1].address, place.address);
  EXPECT_EQ(places_[1].keys, place.keys);
  EXPECT_EQ(places_[1].slot, place.slot);
  EXPECT_EQ(places_[1].rails, place.rails);
  EXPECT_TRUE(places_[1].write);
}

// Whoever may send does, whoever may take does, in any order: no message ever comes
// without a receive for it, and the window never runs dry for good.
TEST_F(ControlQueueTest, TheWindowKeepsReceivesAheadOfSendsForEver) {
  std::mt19937 random(3);
  uint64_t sent[2] = {};
  size_t got[2] = {};
  for (int round = 0; round < 20000; ++round) {
    const int end = static_cast<int>(random() % 2);
    if (random() % 3 != 0) {
      for (size_t burst = random() % 80; burst > 0 && control_[end]->CanSend(); --burst) {
        ASSERT_TRUE(SendEager(end, ++sent[end], {}).ok());
      }
    } else {
      got[end] += Take(end).size();
      ASSERT_TRUE(control_[end]->GiveBack().ok());
    }
    ASSERT_EQ(fabric_.missing_receives(), 0u) << round;
  }
  for (int settle = 0; settle < 4; ++settle) {
    for (int end : {0, 1}) {
      got[end] += Take(end).size();
      ASSERT_TRUE(control_[end]->GiveBack().ok());
    }
  }
  EXPECT_GT(sent[0], 10000u);
  EXPECT_EQ(got[0], sent[1]);
  EXPECT_EQ(got[1], sent[0]);
  EXPECT_EQ(sent_[0], sent[0]);
  EXPECT_TRUE(control_[0]->CanSend());
}

TEST_F(ControlQueueTest, AStoppedPeerIsSentAWindowAndNoMore) {
  size_t sent = 0;
  while (control_[0]->CanSend()) {
    ASSERT_TRUE(SendEager(0, ++sent, {}).ok());
    Take(0);
  }
  EXPECT_EQ(sent, kControlWindow);
  EXPECT_EQ(fabric_.missing_receives(), 0u);
}

TEST_F(ControlQueueTest, BytesThatAreNoMessageAreRefused) {
  std::mt19937 random(5);
  ASSERT_TRUE(SendEager(0, 1, {}).ok());
  const auto completions = Poll(1);
  ASSERT_EQ(completions.size(), 1u);
  const uint64_t slot = WorkId::Decode(completions[0].id).value;
  std::byte* const at = memory_[1].data() + (kControlQueue + slot) * ControlQueue::kSlotBytes;
  const std::vector<std::byte> good(at, at + ControlQueue::kSlotBytes);
  EXPECT_TRUE(control_[1]->OnReceived(slot, completions[0].bytes).ok());
  for (uint32_t bytes = 0; bytes < completions[0].bytes; ++bytes) {
    EXPECT_FALSE(control_[1]->OnReceived(slot, bytes).ok()) << bytes;
  }
  EXPECT_FALSE(control_[1]->OnReceived(slot, completions[0].bytes + 1).ok()) << "payload of 0";
  EXPECT_FALSE(control_[1]->OnReceived(slot, ControlQueue::kSlotBytes + 1).ok());
  at[0] = std::byte{65};
  EXPECT_FALSE(control_[1]->OnReceived(slot, completions[0].bytes).ok()) << "takes more than sent";
  for (int round = 0; round < 5000; ++round) {
    std::copy(good.begin(), good.end(), at);
    for (int flips = 0; flips < 3; ++flips) {
      at[random() % (ControlQueue::kHeaderBytes + ControlQueue::kPlaceBytes)] =
          static_cast<std::byte>(random());
    }
    (void)control_[1]->OnReceived(slot, random() % (ControlQueue::kSlotBytes + 1));
  }
}

class DataWriterTest : public QueuesTest {
 protected:
  void SetUp() override {
    QpLimits limits;
    limits.send_wrs = kDataSends;
    limits.receive_wrs = 1000;
    Make(kQueues, limits);
    source_.resize(kBytes);
    target_.resize(kBytes);
    for (size_t i = 0; i < kBytes; ++i) source_[i] = static_cast<std::byte>(i * 131 >> 3);
    auto registration = std::make_shared<Registration>();
    registration->regions.push_back(
        std::move(ends_[0].device->Register(source_, Access::kRelaxed)).value());
    registration->local_keys[0] = registration->regions[0]->local_key();
    registration->rails = {1, 1};
    use_ = registration;
    region_ = std::move(ends_[1].device->Register(target_, Access::kRelaxed)).value();
    std::vector<DataWriter::Queue> queues;
    for (WorkQueue& queue : ends_[0].queues) queues.push_back({&queue, {0, 0}});
    writer_ = std::make_unique<DataWriter>(queues, 8 << 20);
    for (size_t q = 0; q < kQueues; ++q) {
      ReceiveWork work;
      work.id = WorkId{WorkKind::kDataReceive, static_cast<uint8_t>(q), 0}.Encode();
      ASSERT_TRUE(ends_[1].queues[q].Receive(std::vector<ReceiveWork>(1000, work)).ok());
    }
  }

  void Add(uint64_t sequence, size_t bytes, bool announce) {
    DataWriter::Message message;
    message.frame.kind = FrameKind::kData;
    message.frame.length = bytes;
    message.frame.tag = MakeTag(sequence);
    message.payload = std::span(source_).first(bytes);
    message.place.address = reinterpret_cast<uint64_t>(target_.data());
    message.place.keys[0] = region_->remote_key();
    message.place.keys.fill(region_->remote_key());
    message.place.rails = target_rails_;
    message.place.slot = static_cast<uint32_t>(sequence);
    message.announce = announce;
    message.use = use_;
    writer_->Add(message);
  }

  // The messages that have ended at the sender.
  std::vector<uint64_t> Complete() {
    std::vector<uint64_t> ended;
    for (const WorkCompletion& completion : Poll(0)) {
      EXPECT_EQ(completion.status, WorkStatus::kSuccess);
      const WorkId id = WorkId::Decode(completion.id);
      ends_[0].queues[id.queue - 1u].OnCompletion(id.kind);
      const auto message = writer_->OnSent(id.queue, id.value);
      if (message) ended.push_back(message->frame.tag.collective.sequence);
    }
    return ended;
  }

  static constexpr size_t kQueues = 3;
  static constexpr size_t kBytes = 24 << 20;
  std::vector<std::byte> source_, target_;
  Rails target_rails_ = {1, 1};
  MemoryUse use_;
  std::unique_ptr<MemoryRegion> region_;
  std::unique_ptr<DataWriter> writer_;
};

TEST(PieceBytesTest, PiecesAreNeitherTinyNorAboveWhatTheDeviceTakes) {
  constexpr uint64_t kDevice = 8 << 20;
  for (uint64_t bytes : {uint64_t{4097}, uint64_t{65536}, uint64_t{1} << 20, uint64_t{1} << 34}) {
    for (size_t queues : {1, 2, 15}) {
      const uint64_t piece = PieceBytes(bytes, queues, kDevice);
      EXPECT_LE(piece, kDevice);
      EXPECT_LE(piece, kMaxPieceBytes);
      EXPECT_GE(piece, kMinPieceBytes);
    }
  }
  EXPECT_EQ(PieceBytes(1 << 20, 1, 4096), 4096u) << "a device that takes little";
  EXPECT_LE(PieceBytes(1 << 20, 4, kDevice), uint64_t{1 << 20} / 4) << "some for every queue";
}

TEST_F(DataWriterTest, EveryByteArrivesAndEachShareEndsOnce) {
  for (size_t bytes : {size_t{4097}, size_t{300001}, size_t{5} << 20, kBytes}) {
    std::fill(target_.begin(), target_.end(), std::byte{0});
    Add(7, bytes, /*announce=*/false);
    std::vector<uint64_t> ended;
    std::map<uint8_t, int> notices;
    Landings landings;
    std::set<uint32_t> immediates;
    while (!writer_->idle()) {
      ASSERT_TRUE(writer_->Pump().ok());
      for (uint64_t id : Complete()) ended.push_back(id);
    }
    for (const WorkCompletion& completion : Poll(1)) {
      ++notices[WorkId::Decode(completion.id).queue];
      immediates.insert(completion.immediate);
    }
    EXPECT_EQ(ended, std::vector<uint64_t>{7});
    ASSERT_EQ(immediates.size(), 1u);
    EXPECT_EQ(*immediates.begin() >> 28, notices.size()) << "shares said and shares ended";
    for (const auto& [queue, count] : notices) EXPECT_EQ(count, 1) << int{queue};
    EXPECT_TRUE(std::equal(source_.begin(), source_.begin() + static_cast<ptrdiff_t>(bytes),
                           target_.begin()));
    if (bytes > 1 << 20) {
      EXPECT_EQ(notices.size(), kQueues);
    }
  }
  EXPECT_EQ(fabric_.missing_receives(), 0u);
}

TEST_F(DataWriterTest, AnAnnouncedMessageEndsEachShareAndSaysThatAnAnnouncementFollows) {
  Landings landings;
  Add(0, 1 << 20, /*announce=*/true);
  ASSERT_EQ(landings.Open(MakeTag(0), 1 << 20, nullptr), 0u);
  ASSERT_TRUE(writer_->Pump().ok());
  EXPECT_EQ(Complete(), std::vector<uint64_t>{0});
  const std::vector<WorkCompletion> notices = Poll(1);
  EXPECT_EQ(notices.size(), kQueues);
  for (const WorkCompletion& notice : notices) {
    const auto landed = landings.Arrived(notice.immediate, 0);
    ASSERT_TRUE(landed.ok() && !landed->has_value());
  }
  const auto landed = landings.Announced(MakeTag(0), 1 << 20);
  ASSERT_TRUE(landed.ok() && landed->has_value());
  EXPECT_TRUE(std::equal(source_.begin(), source_.begin() + (1 << 20), target_.begin()));
}

TEST_F(DataWriterTest, NoMoreIsOnItsWayThanAQueueMayHold) {
  fabric_.Hold();
  for (uint64_t id = 1; id <= 100; ++id) Add(id, 200000, false);
  ASSERT_TRUE(writer_->Pump().ok());
  for (const WorkQueue& queue : ends_[0].queues) EXPECT_LE(queue.out(), kDataSends);
  fabric_.Release();
  size_t ended = Complete().size();
  while (!writer_->idle()) {
    ASSERT_TRUE(writer_->Pump().ok());
    ended += Complete().size();
  }
  EXPECT_EQ(ended, 100u);
}

TEST_F(DataWriterTest, AMessageHoldsItsMemoryUntilItHasEnded) {
  fabric_.Hold();
  const long before = use_.use_count();
  Add(1, 1 << 20, false);
  ASSERT_TRUE(writer_->Pump().ok());
  EXPECT_GT(use_.use_count(), before);
  fabric_.Release();
  EXPECT_EQ(Complete().size(), 1u);
  EXPECT_EQ(use_.use_count(), before);
}

// Queue i is of rail i at both ends here.
class DataWriterRailsTest : public DataWriterTest {
 protected:
  void SetUp() override {
    DataWriterTest::SetUp();
    std::vector<DataWriter::Queue> queues;
    for (int i = 0; i < 3; ++i) {
      queues.push_back({&ends_[0].queues[static_cast<size_t>(i)], {i, i}});
    }
    writer_ = std::make_unique<DataWriter>(queues, 8 << 20);
    auto registration = std::make_shared<Registration>();
    registration->local_keys.fill(use_->local_keys[0]);
    source_rails_ = registration.get();
    held_ = std::exchange(use_, registration);
  }
  void AddBy(uint64_t sequence, size_t bytes, Rails source, Rails target) {
    source_rails_->rails = source;
    target_rails_ = target;
    Add(sequence, bytes, /*announce=*/false);
  }
  std::vector<size_t> Out() const {
    std::vector<size_t> out;
    for (const WorkQueue& queue : ends_[0].queues) out.push_back(queue.out());
    return out;
  }
  MemoryUse held_;
  Registration* source_rails_ = nullptr;
};

TEST_F(DataWriterRailsTest, AMessageGoesOnlyByRailsThatHaveTheMemory) {
  fabric_.Hold();
  AddBy(1, 4 << 20, {0b111, 0b111}, {0b010, 0b010});
  ASSERT_TRUE(writer_->Pump().ok());
  EXPECT_GT(Out()[1], 0u);
  EXPECT_EQ(Out()[0] + Out()[2], 0u);
  fabric_.Release();
  EXPECT_EQ(Complete(), std::vector<uint64_t>{1});
  AddBy(2, 4 << 20, {0b001, 0b001}, {0b010, 0b010});
  const Status status = writer_->Pump();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(status.ToString().find("no port that has the memory"), std::string::npos);
}

// A GPU with a slow path does not hold up another one.
TEST_F(DataWriterRailsTest, AFullWayHoldsUpOnlyWhatTakesIt) {
  fabric_.Hold();
  AddBy(1, 20 << 20, {0b111, 0b001}, {0b111, 0b001});
  ASSERT_TRUE(writer_->Pump().ok());
  const std::vector<size_t> full = Out();
  EXPECT_EQ(full[1] + full[2], 0u);
  AddBy(2, 1 << 20, {0b111, 0b100}, {0b111, 0b100});
  ASSERT_TRUE(writer_->Pump().ok());
  EXPECT_EQ(Out()[0], full[0]);
  EXPECT_GT(Out()[2], 0u);
  fabric_.Release();
  std::vector<uint64_t> ended;
  while (!writer_->idle()) {
    for (uint64_t id : Complete()) ended.push_back(id);
    ASSERT_TRUE(writer_->Pump().ok());
  }
  for (uint64_t id : Complete()) ended.push_back(id);
  EXPECT_EQ(ended.size(), 2u);
}

TEST_F(DataWriterTest, APostThatIsRefusedIsAnError) {
  fabric_.device("a0").sends_until_post_fails = 2;
  Add(1, 8 << 20, false);
  const Status status = writer_->Pump();
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.ToString().find("ibv_post_send took 0 of 1"), std::string::npos)
      << status.ToString();
}

TEST_F(QueuesTest, APartialPostCountsWhatWasTaken) {
  QpLimits limits;
  limits.receive_wrs = 10;
  Make(1, limits);
  fabric_.device("a0").receives_until_post_fails = 3;
  WorkQueue& queue = ends_[0].queues[0];
  const std::vector<ReceiveWork> work(5, ReceiveWork());
  const Status status = queue.Receive(work);
  EXPECT_NE(status.ToString().find("ibv_post_recv took 3 of 5"), std::string::npos);
  EXPECT_EQ(queue.out(), 3u);
}

// Neither an idle time before counts nor one in which this program did not run.
TEST_F(QueuesTest, AQueueIsSilentOnceItsSendsHadTimeEnoughInWhichItWasAsked) {
  QpLimits limits;
  limits.send_wrs = 4;
  Make(1, limits);
  WorkQueue& queue = ends_[0].queues[0];
  SendWork work;
  work.id = WorkId{WorkKind::kDataSend, 1, 0}.Encode();
  work.opcode = Opcode::kWrite;
  constexpr Duration kLimit = seconds(8);
  const Duration look = kLimit / kLooks;
  Time now{};
  EXPECT_FALSE(queue.Unanswered(now, kLimit));
  now += std::chrono::hours(1);
  EXPECT_FALSE(queue.Unanswered(now, kLimit)) << "nothing is out";
  fabric_.Hold();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(queue.Send(work).ok());
  EXPECT_EQ(queue.sends_out(), 2u);
  now += std::chrono::hours(1);
  EXPECT_FALSE(queue.Unanswered(now, kLimit)) << "only just sent";
  for (int i = 1; i < kLooks; ++i) {
    now += i == 3 ? std::chrono::hours(1) : look;
    EXPECT_FALSE(queue.Unanswered(now, kLimit)) << i;
  }
  queue.OnCompletion(WorkKind::kDataSend);
  now += look;
  EXPECT_FALSE(queue.Unanswered(now, kLimit)) << "one was answered";
  for (int i = 1; i < kLooks; ++i) {
    queue.OnCompletion(WorkKind::kDataReceive);  // says nothing of sends
    EXPECT_FALSE(queue.Unanswered(now += look, kLimit)) << i;
  }
  EXPECT_TRUE(queue.Unanswered(now += look, kLimit));
  queue.OnCompletion(WorkKind::kDataSend);
  EXPECT_FALSE(queue.Unanswered(now += look, kLimit));
  EXPECT_EQ(queue.sends_out(), 0u);
}

}  // namespace
}  // namespace reigen::transport::rdma
