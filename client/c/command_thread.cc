#include "client/c/command_thread.h"

#include <string>
#include <utility>
#include <variant>

#include "client/c/command_reader.h"
#include "proto/local/fixed_text.h"

namespace reigen::sdk {
namespace {

// A small command is done while this thread asks without a pause.
constexpr auto kBusyTime = std::chrono::microseconds(30);
constexpr auto kPause = std::chrono::microseconds(50);

local::ResultCode CodeOf(reigen_status status) {
  if (status > REIGEN_INTERNAL) return local::ResultCode::kInternal;
  return static_cast<local::ResultCode>(status);  // the numbers are the same
}

}  // namespace

CommandThread::CommandThread(Session* session, MirrorCalls mirrors)
    : session_(*session), mirrors_(std::move(mirrors)) {}

Result CommandThread::Start(const std::shared_ptr<cuda::Device>& device) {
  device_ = device;
  if (thread_.Post([this] { Run(); })) return Ok();
  return Fail(REIGEN_RESOURCE_EXHAUSTED, "no thread is to be had");
}

void CommandThread::AddArena(std::shared_ptr<DeviceArena> arena) {
  const std::lock_guard lock(mutex_);
  memory_.Add(static_cast<uint16_t>(session_.place().local_rank), arena->id(), arena->address(),
              arena->bytes());
  arenas_.push_back(std::move(arena));
}

void CommandThread::Stop() {
  stopping_.store(true);
  session_.commands().Interrupt();
  thread_.Stop();
}

void CommandThread::Run() {
  peers_ = std::make_shared<PeerMemory>(device_,
                                        static_cast<uint32_t>(session_.place().local_rank));
  CommandQueue& queue = session_.commands();
  while (!session_.ended() && !stopping_.load()) {
    const uint32_t seen = queue.head();
    TakeNews();
    const bool sane = TakeCommands() && AnswerEnded(seen);
    if (!sane) session_.Break("the worker of this host wrote bad commands");
  }
  End();
}

// What the GPU was given still uses memory.
void CommandThread::End() {
  for (const Out& out : out_) {
    // If that fails the GPU is lost: whoever uses it next is told.
    if (out.end != nullptr) static_cast<void>(out.end->Wait().ok());
  }
  for (Out& out : out_) KeepIfTouched(out);
  out_.clear();
  device_->KeepIfTouched(std::exchange(peers_, nullptr));
}

void CommandThread::KeepIfTouched(Out& out) {
  if (out.mirror) device_->KeepIfTouched(std::make_shared<Mirror>(std::move(*out.mirror)));
}

void CommandThread::TakeNews() {
  for (const DeviceNews& news : session_.TakeNews()) {
    cuda::CuAddress address = 0;
    if (const auto* arena = std::get_if<local::PeerArena>(&news)) {
      local::PeerArenaOpened answer;
      answer.local_rank = arena->local_rank;
      answer.arena = arena->arena;
      Result opened = arena->local_rank < local::kHostScratchOwner
                          ? peers_->Open(*arena, &address)
                          : Invalid("no local rank " + std::to_string(arena->local_rank));
      answer.code = static_cast<uint32_t>(CodeOf(opened.code));
      local::PutText(opened.text, answer.why_not);
      if (opened.ok()) {
        const std::lock_guard lock(mutex_);
        memory_.Add(static_cast<uint16_t>(arena->local_rank), arena->arena, address,
                    arena->bytes);
      }
      opened = session_.Send(answer);
    } else if (const auto* scratch = std::get_if<HostScratchFile>(&news)) {
      local::HostScratchMapped answer;
      Result mapped = peers_->Map(*scratch, &address);
      answer.code = static_cast<uint32_t>(CodeOf(mapped.code));
      local::PutText(mapped.text, answer.why_not);
      if (mapped.ok()) {
        const std::lock_guard lock(mutex_);
        memory_.Add(local::kHostScratchOwner, 0, address, scratch->bytes);
      }
      mapped = session_.Send(answer);
    }
  }
}

// False: the worker wrote nonsense that has no answer.
bool CommandThread::TakeCommands() {
  taken_.clear();
  if (!session_.commands().Take(&taken_)) return false;
  for (std::span<const local::Slot> left = taken_; !left.empty();) {
    const uint64_t slots = SlotsOf(HeadOf(left[0]));
    if (slots > left.size()) return false;
    StartOne(left.first(slots));
    left = left.subspan(slots);
  }
  return true;
}

void CommandThread::StartOne(std::span<const local::Slot> slots) {
  const local::CommandSlot head = HeadOf(slots[0]);
  Out out;
  out.id = head.id;
  out.started = busy_since_ = Now();
  Start(slots, head, &out);
  out_.push_back(std::move(out));
}

void CommandThread::Start(std::span<const local::Slot> slots, const local::CommandSlot& head,
                          Out* out) {
  if (head.kind == local::CommandKind::kMirror && head.item_count == 0) {
    out->request = head.request;
    out->result = mirrors_.start(head.request, &out->mirror.emplace());
    if (out->result.ok()) out->end = std::move(out->mirror->end);
    return;
  }
  cuda::Command command;
  {
    const std::lock_guard lock(mutex_);
    out->result = ReadCommand(slots, memory_, &command);
  }
  if (out->result.ok()) out->result = device_->StartCommand(command, &out->end);
  if (!out->result.ok()) out->end.reset();
}

// Answers those that are done, in order; sleeps for a moment, or until there is news, if
// none is. False: the worker has no room for its answer.
bool CommandThread::AnswerEnded(uint32_t seen) {
  CommandQueue& queue = session_.commands();
  bool answered = false;
  while (!out_.empty()) {
    Out& first = out_.front();
    bool done = first.end == nullptr;
    if (!done) {
      Result asked = first.end->Ask(first.started, &done);
      if (!asked.ok()) first.result = std::move(asked);
      done = done || !first.result.ok();
    }
    if (!done) break;
    if (!Answer(first)) return false;
    out_.pop_front();
    answered = true;
  }
  if (answered) {
    queue.WakeWorker();
    busy_since_ = Now();
  } else if (out_.empty()) {
    queue.Sleep(seen, Time::max());
  } else if (Now() - busy_since_ >= kBusyTime) {
    queue.Sleep(seen, Now() + kPause);
  }
  return true;
}

bool CommandThread::Answer(Out& out) {
  local::DoneSlot done;
  done.id = out.id;
  done.code = CodeOf(out.result.code);
  done.text_bytes = local::PutText(out.result.text, done.text);
  if (out.result.ok() && out.mirror) {
    done.arena = out.mirror->to.file()->id();
    done.offset = out.mirror->to.offset();
    mirrors_.end(out.request, std::move(out.mirror->to));
  } else if (!out.result.ok()) {
    KeepIfTouched(out);
  }
  return session_.commands().PutDone(done);
}

}  // namespace reigen::sdk
