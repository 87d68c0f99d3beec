// How a job ends: the first cause decides about code and message; what happens
// afterwards is its consequence.
//
// Threads: as an int. Time is a parameter.
#ifndef REIGEN_COORDINATOR_CORE_LIFE_H_
#define REIGEN_COORDINATOR_CORE_LIFE_H_

#include <optional>
#include <string>

#include "coordinator/core/membership.h"
#include "proto/control/control.pb.h"
#include "runtime/base/clock.h"

namespace reigen::coordinator {

// Exit codes of a job that no rank's own code decides.
inline constexpr int kDiedWithoutShutdown = 70;
inline constexpr int kHostLost = 71;
inline constexpr int kStalled = 73;
inline constexpr int kLauncherGone = 129;  // as of a hang-up

struct JobVerdict {
  int code = 0;
  std::string reason = {};
  int rank = -1;  // the first that failed
  int host = -1;  // the one it happened on
};

// What the end of a rank's process means for the job; none: it was a good end.
std::optional<JobVerdict> VerdictOf(const control::RankEnded& ended, const Membership& membership);

class Life {
 public:
  // Counts if it is the first. Workers are told at `end_at`, or when every rank has
  // ended before that.
  bool Decide(JobVerdict verdict, Time end_at);
  const std::optional<JobVerdict>& verdict() const { return verdict_; }

  // True once, when workers are to be told.
  bool TakeEnd(bool all_ended, Time now);
  bool ended() const { return ended_; }

  // A lost link is mostly the consequence of a lost host: the cause gets `patience`
  // to be seen first.
  void ComplainOfLink(JobVerdict verdict, Time now);
  std::optional<JobVerdict> OverdueComplaint(Duration patience, Time now) const;

  // A rank that fails while another has left and not yet ended may only fail because
  // of that one ("rank r has left"), which is still on its way out: if it ends badly
  // it was the cause. Its end gets `patience` to be seen.
  void Suspect(JobVerdict verdict, Time now);
  bool suspects() const { return suspect_.has_value(); }
  std::optional<JobVerdict> OverdueSuspect(bool all_left_have_ended, Duration patience,
                                           Time now) const;

 private:
  std::optional<JobVerdict> verdict_;
  Time end_at_{};
  bool ended_ = false;
  std::optional<JobVerdict> complaint_;
  Time complained_{};
  std::optional<JobVerdict> suspect_;
  Time suspected_{};
};

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_LIFE_H_
