// A bucket that travels between hosts.
#ifndef REIGEN_RUNTIME_COLLECTIVE_NETWORK_RUN_H_
#define REIGEN_RUNTIME_COLLECTIVE_NETWORK_RUN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/collective/lane.h"
#include "runtime/collective/layout.h"
#include "runtime/collective/memory_work.h"
#include "runtime/collective/posts.h"
#include "runtime/collective/run.h"
#include "runtime/collective/schedule.h"
#include "runtime/collective/scratch.h"
#include "runtime/collective/segment_task.h"

namespace reigen::collective {

// Executes the schedule of this host, whatever the algorithm: up to 2 * channels
// lanes (lane.h), each with at most one receive out, and one send except in a
// tree. A segment received in step s is worked on and sent in step s + 1 without
// waiting for other segments.
//
// Order of operands: fixed by schedule and layout alone (R2).
// Memory:  two buffers per lane, from the stream's window while this is the oldest
//          unfinished bucket of the stream, else (and beyond that) from surplus.
//          Inbound data goes only there; so do final values before they are sent.
//          On GPUs a lane is one leader's, and so are its buffers.
// In place: a rank's output is written only with final values, and an element's
//          final value exists only after this host's inputs of it were read (R1).
class NetworkRun final : public Run, private Poster {
 public:
  // Requires: CheckPlan(bucket) is Ok.
  NetworkRun(Bucket bucket, RunContext& context);
  ~NetworkRun() override;

  void Advance() override;
  size_t posts_out() const override { return posts_out_; }

 private:
  bool StartLane(Lane& lane);
  bool TakeBuffers(Lane& lane);
  std::byte* TakeBuffer(Scratch& scratch);
  void GiveBackIfIdle(Lane& lane);

  void AdvanceLane(Lane& lane);
  bool AdvanceStep(Lane& lane, const Step& step);
  void Load(Lane& lane, const Step& step);
  void PostRecv(Lane& lane, const Step& step);
  void PostSend(Lane& lane, const Step& step);
  void MakeOutcome(Lane& lane, const Step& step);
  void Posted(const Status& status, LaneBuffer& buffer, bool& flag);
  void OnPost(uint64_t token, const Status& status) override;

  bool Exists(uint32_t part, const Lane& lane) const {
    return layout_.SegmentElements(part, lane.segment) > 0;
  }
  transport::Tag TagOf(uint32_t number, SegmentId id) const;
  std::byte* At(const LaneBuffer& buffer, bool final) const {
    return buffer.memory + (final ? final_offset_ : 0);
  }
  size_t BytesOf(SegmentId id, bool final) const;
  size_t NumberOf(const Lane& lane) const { return static_cast<size_t>(&lane - lanes_.data()); }
  void DoWith(Lane& lane, LaneBuffer& a, LaneBuffer& b, const SegmentTask& task, bool* flag);

  const std::vector<Step> steps_;
  const Layout layout_;
  const std::unique_ptr<MemoryWork> work_;
  const uint64_t segments_;  // numbers that any part has
  size_t final_offset_;      // of final values in a buffer, behind partial sums
  size_t buffer_bytes_;
  std::vector<Lane> lanes_;
  uint64_t next_segment_ = 0;
  size_t running_ = 0;  // lanes
  size_t posts_out_ = 0;
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_NETWORK_RUN_H_
