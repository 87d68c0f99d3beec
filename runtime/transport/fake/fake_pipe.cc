#include "runtime/transport/fake/fake_pipe.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace reigen::transport {

Duration FakePipe::Delay() {
  if (options_.max_delay == options_.min_delay) return options_.min_delay;
  std::uniform_int_distribution<Duration::rep> delay(options_.min_delay.count(),
                                                     options_.max_delay.count());
  return Duration(delay(random_));
}

size_t FakePipe::PickChannel(const LinkCore& core) {
  if (!core.HasOutput(/*channel_zero=*/false)) return 0;
  return std::uniform_int_distribution<size_t>(0, queues_[0].size() - 1)(random_);
}

void FakePipe::Send(int side, LinkCore& core, Time now) {
  const auto index = static_cast<size_t>(side);
  while (core.HasOutput(/*channel_zero=*/true)) {
    const size_t channel = PickChannel(core);
    Queue& queue = queues_[index][channel];
    std::optional<OutFrame> out = core.NextFrame(channel == 0);
    InFlight flight;
    flight.frame = out->frame;
    flight.source = out->payload;
    const Time last = queue.frames.empty() ? now : std::max(now, queue.frames.back().landed_at);
    flight.left_at = last + Delay();
    flight.arrives_at = flight.left_at + Delay();
    flight.landed_at = flight.arrives_at + Delay();
    queue.frames.push_back(std::move(flight));
  }
  for (Queue& queue : queues_[index]) Leave(queue, core, now);
}

void FakePipe::Leave(Queue& queue, LinkCore& core, Time now) {
  for (; queue.left < queue.frames.size(); ++queue.left) {
    InFlight& flight = queue.frames[queue.left];
    if (flight.left_at > now) return;
    flight.bytes.assign(flight.source.begin(), flight.source.end());
    core.OnSent(flight.frame);
    const bool drop = std::uniform_real_distribution<>(0, 1)(random_) < options_.drop_probability;
    if (drop) Kill(now + options_.detect_after, "a frame was dropped");
    if (frames_left_ && (*frames_left_)-- == 0) {
      frames_left_.reset();
      Kill(now + options_.detect_after, "killed after so many frames");
    }
  }
}

Status FakePipe::ReceiveChannel(Queue& queue, LinkCore& core, Time now) {
  while (queue.left > 0) {
    InFlight& flight = queue.frames.front();
    if (flight.arrives_at > now) return OkStatus();
    if (!flight.landing) {
      REIGEN_ASSIGN_OR_RETURN(flight.into, core.OnFrame(flight.frame));
      flight.landing = true;
    }
    if (flight.frame.PayloadBytes() > 0) {
      if (flight.landed_at > now) return OkStatus();
      std::memcpy(flight.into.data(), flight.bytes.data(), flight.bytes.size());
      core.OnPayload(flight.frame);
    }
    queue.frames.pop_front();
    --queue.left;
  }
  return OkStatus();
}

Status FakePipe::Receive(int side, LinkCore& core, Time now) {
  const auto peer = static_cast<size_t>(1 - side);
  if (dead_at_ && *dead_at_ <= now) return Unavailable(dead_why_);
  if (dead_at_) return OkStatus();  // nothing moves any more; the ends learn it later
  bool empty = true;
  for (Queue& queue : queues_[peer]) {
    REIGEN_RETURN_IF_ERROR(ReceiveChannel(queue, core, now));
    empty = empty && queue.frames.empty();
  }
  if (closed_[peer] && empty) return Unavailable("closed by the peer");
  return OkStatus();
}

void FakePipe::CloseSide(int side) {
  const auto index = static_cast<size_t>(side);
  closed_[index] = true;
  for (Queue& queue : queues_[index]) {
    // What has not left the sender's memory never will, nor what comes after it.
    queue.frames.resize(queue.left);
  }
  for (Queue& queue : queues_[1 - index]) queue = Queue();
}

void FakePipe::Kill(Time at, const std::string& why) {
  if (dead_at_) return;
  dead_at_ = at;
  dead_why_ = why;
}

std::optional<Time> FakePipe::NextEvent(int side) const {
  if (dead_at_) return dead_at_;
  const auto index = static_cast<size_t>(side);
  std::optional<Time> next;
  const auto consider = [&next](Time time) { next = next ? std::min(*next, time) : time; };
  for (const Queue& queue : queues_[index]) {
    if (queue.left < queue.frames.size()) consider(queue.frames[queue.left].left_at);
  }
  bool empty = true;
  for (const Queue& queue : queues_[1 - index]) {
    if (queue.frames.empty()) continue;
    empty = false;
    const InFlight& first = queue.frames.front();
    if (queue.left > 0) consider(first.landing ? first.landed_at : first.arrives_at);
  }
  if (closed_[1 - index] && empty) consider(Time{});
  return next;
}

}  // namespace reigen::transport
