#include "worker/gpu/command_book.h"

#include <utility>

#include "runtime/base/check.h"

namespace reigen::worker {

void CommandBook::Add(Done done, Time now) {
  if (out_.empty()) {
    since_ = now;
    warned_ = false;
  }
  out_.push_back(std::move(done));
  ++wanted_;
}

CommandBook::Done CommandBook::Take(Time now) {
  REIGEN_CHECK(!out_.empty());
  Done done = std::move(out_.front());
  out_.pop_front();
  if (done) --wanted_;
  since_ = now;
  warned_ = false;
  return done;
}

std::vector<CommandBook::Done> CommandBook::GiveUp() {
  std::vector<Done> dones;
  for (Done& done : out_) {
    if (done) dones.push_back(std::exchange(done, nullptr));
  }
  wanted_ = 0;
  return dones;
}

std::optional<Time> CommandBook::waiting_since() const {
  return wanted_ > 0 ? std::optional<Time>(since_) : std::nullopt;
}

}  // namespace reigen::worker
