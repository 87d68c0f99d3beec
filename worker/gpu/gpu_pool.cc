#include "worker/gpu/gpu_pool.h"

#include <algorithm>
#include <memory>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "worker/gpu/command_format.h"
#include "worker/session/packets.h"

namespace reigen::worker {
namespace {

std::string SecondsText(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

}  // namespace

GpuPool::GpuPool(Options options, DeviceTrainers* trainers, GpuScratch* scratch)
    : options_(std::move(options)),
      trainers_(trainers),
      scratch_(scratch),
      state_(options_.ranks.size()) {}

// --- the loop ----------------------------------------------------------------------------

void GpuPool::BeginEpoch() {
  FreeEnded();
  std::erase_if(leaders_, [this](int local) { return state_[local].ended; });
  told_.clear();
  mirror_why_.clear();
}

void GpuPool::Progress(Time now) {
  now_ = now;
  if (end_by_ && now >= *end_by_) {
    end_by_.reset();
    over_ = Aborted("the job has ended");
  }
  for (size_t local = 0; local < state_.size(); ++local) {
    if (!over_.ok()) GiveUp(static_cast<int>(local), over_);
  }
  CheckAnswers(now);
  for (const auto& call : std::exchange(calls_, {})) call();
}

void GpuPool::CheckAnswers(Time now) {
  for (size_t i = 0; i < state_.size(); ++i) {
    const auto since = state_[i].book.waiting_since();
    if (!since) continue;
    const int local = static_cast<int>(i);
    const Duration waited = now - *since;
    if (waited >= options_.answer_limit) {
      state_[i].stuck = true;
      GiveUp(local, DeadlineExceeded(Name(local) + " has answered no GPU command for " +
                                     SecondsText(waited)));
    } else if (waited >= options_.warn_after && !state_[i].book.warned()) {
      state_[i].book.set_warned();
      REIGEN_WARN("rank={} has answered no GPU command for {}", options_.ranks[i],
                  SecondsText(waited));
    }
  }
}

std::optional<Time> GpuPool::NextDeadline() const {
  if (!calls_.empty()) return Time::min();
  std::optional<Time> next = end_by_;
  for (const Trainer& trainer : state_) {
    const auto since = trainer.book.waiting_since();
    if (!since) continue;
    const Time time =
        *since + (trainer.book.warned() ? options_.answer_limit : options_.warn_after);
    next = next ? std::min(*next, time) : time;
  }
  return next;
}

void GpuPool::EndAll(const Status& why) {
  over_ = why;
  do {
    Progress(now_);
  } while (!calls_.empty());
}

void GpuPool::FreeEnded() {
  for (size_t i = 0; i < state_.size(); ++i) {
    if (!state_[i].ended || !state_[i].gave_memory) continue;
    const int local = static_cast<int>(i);
    scratch_->Release(Name(local) + " has left");
    if (!state_[i].memory_stays) arenas_.Remove(local);
    state_[i].gave_memory = false;
  }
}

void GpuPool::GiveUp(int local, const Status& why) {
  for (CommandBook::Done& done : state_[local].book.GiveUp()) {
    calls_.push_back([done = std::move(done), why] { done(why); });
  }
}

// --- commands ------------------------------------------------------------------------------

collective::Scratch& GpuPool::scratch(int leader) {
  return scratch_->state() == GpuScratch::State::kReady ? scratch_->of(leaders_[leader])
                                                        : no_scratch_;
}

Status GpuPool::WhyNoCommands(int local) const {
  if (!over_.ok()) return over_;
  if (state_[local].ended) return Unavailable(Name(local) + " is gone");
  if (state_[local].stuck) return DeadlineExceeded(Name(local) + " answers no GPU command");
  return OkStatus();
}

StatusOr<local::MemoryPlace> GpuPool::Locate(int local, const std::byte* at,
                                             uint64_t bytes) const {
  const std::span<std::byte> host = scratch_->host_memory();
  if (at >= host.data() && at < host.data() + host.size()) {
    const auto offset = static_cast<uint64_t>(at - host.data());
    if (bytes > host.size() - offset) return Internal("a command reaches beyond the scratch");
    return local::MemoryPlace{.owner = local::kHostScratchOwner, .offset = offset};
  }
  const ArenaEntry* const entry = arenas_.Find(at);
  if (entry == nullptr) return Internal("a command works on memory that is in no device arena");
  const auto offset = static_cast<uint64_t>(at - entry->base);
  if (bytes > entry->bytes - offset) return Internal("a command reaches beyond its arena");
  std::string why;
  if (ReachOf(*entry, local, &why) != ArenaEntry::Reach::kOpen) {
    return Internal(Name(local) + " has not opened an arena of " + Name(entry->owner));
  }
  return local::MemoryPlace{.arena = entry->id,
                            .owner = static_cast<uint16_t>(entry->owner),
                            .offset = offset};
}

void GpuPool::Submit(int leader, collective::GpuCommand command,
                     std::function<void(const Status&)> done) {
  const int local = leaders_[leader];
  Status status = WhyNoCommands(local);
  FormattedCommand formatted;
  if (status.ok()) {
    auto made = FormatCommand(command, [this, local](const std::byte* at, uint64_t bytes) {
      return Locate(local, at, bytes);
    });
    status = made.status();
    if (made.ok()) formatted = std::move(*made);
  }
  if (!status.ok()) {
    calls_.push_back([done = std::move(done), status] { done(status); });
    return;
  }
  Order(local, formatted.slot, std::move(formatted.words),
        [done = std::move(done)](const StatusOr<local::DoneSlot>& answer) {
          done(answer.status());
        });
}

void GpuPool::Order(int local, const local::CommandSlot& slot, std::vector<CommandWord> words,
                    CommandBook::Done done) {
  trainers_->SendCommand(local, slot, std::move(words));
  state_[local].book.Add(std::move(done), now_);
}

void GpuPool::OnCommandDone(int local, const local::DoneSlot& slot) {
  const CommandBook::Done done = state_[local].book.Take(now_);
  if (!done) return;
  StatusOr<local::DoneSlot> answer = slot;
  if (slot.code != local::ResultCode::kOk) {
    const std::string text =
        TextOf({slot.text, std::min<size_t>(slot.text_bytes, sizeof slot.text)});
    answer = Internal(Name(local) + "'s GPU: " + (text.empty() ? "an error without a text" : text));
  }
  calls_.push_back([done, answer] { done(answer); });
}

// --- memory ----------------------------------------------------------------------------------

void GpuPool::OnDeviceArena(int local, DeviceArena arena) {
  Trainer& trainer = state_[local];
  if (trainer.ended) {  // the first of a new session
    arenas_.Remove(local);
    trainer = Trainer();
    trainer.ended = false;
  }
  trainer.gave_memory = true;
  if (std::find(leaders_.begin(), leaders_.end(), local) == leaders_.end()) {
    leaders_.push_back(local);
    if (scratch_->state() == GpuScratch::State::kNone) {
      REIGEN_INFO("rank={} gpu={} gpu-direct: not needed (one host)", options_.ranks[local],
                  arena.bus_id.empty() ? "?" : arena.bus_id);
    }
    if (!told_.empty()) trainers_->SendDeviceUse(local, false, told_);
  }
  for (const DeviceArenas::Offer& offer : arenas_.Add(local, arena)) {
    trainers_->SendPeerArena(offer.to, offer.arena);
  }
  if (arena.kind == local::DeviceArenaKind::kScratch) scratch_->Add(local, std::move(arena));
}

void GpuPool::OnPeerArenaOpened(int local, int owner, uint32_t arena, const Status& status) {
  arenas_.Opened(local, owner, arena, status);
}

void GpuPool::OnHostScratchMapped(int local, const Status& status) {
  scratch_->OnMapped(local, status);
}

void GpuPool::OnNoDeviceUse(int local, const std::string& why) {
  NotForGood(Name(local) + " has no tensors on its GPU: " + why);
}

void GpuPool::OnSessionEnded(int local, bool memory_stays) {
  if (state_[local].ended) return;
  state_[local].ended = true;
  state_[local].memory_stays = memory_stays;
  GiveUp(local, Unavailable(Name(local) + " is gone"));
}

}  // namespace reigen::worker
