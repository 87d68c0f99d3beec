#include "coordinator/core/life.h"

namespace reigen::coordinator {

std::optional<JobVerdict> VerdictOf(const control::RankEnded& ended,
                                    const Membership& membership) {
  if (ended.code() == 0 && !ended.attached()) return std::nullopt;
  const int host = membership.ranks()[ended.rank()].host;
  const std::string who =
      "rank " + std::to_string(ended.rank()) + " on " + membership.HostText(host);
  const std::string detail = ended.detail().empty() ? "" : " (" + ended.detail() + ")";
  JobVerdict verdict{.code = ended.code(), .rank = ended.rank(), .host = host};
  if (ended.code() == 0) {
    verdict.code = kDiedWithoutShutdown;
    verdict.reason = who + " ended with code 0 after init, without shutdown" + detail;
  } else if (ended.signal() != 0) {
    verdict.reason = who + " died of signal " + std::to_string(ended.signal()) + detail;
  } else {
    verdict.reason = who + " ended with code " + std::to_string(ended.code()) + detail;
  }
  return verdict;
}

bool Life::Decide(JobVerdict verdict, Time end_at) {
  if (verdict_) return false;
  verdict_ = std::move(verdict);
  end_at_ = end_at;
  return true;
}

bool Life::TakeEnd(bool all_ended, Time now) {
  if (!verdict_ || ended_ || (now < end_at_ && !all_ended)) return false;
  ended_ = true;
  return true;
}

void Life::ComplainOfLink(JobVerdict verdict, Time now) {
  if (complaint_) return;
  complaint_ = std::move(verdict);
  complained_ = now;
}

std::optional<JobVerdict> Life::OverdueComplaint(Duration patience, Time now) const {
  return complaint_ && now - complained_ >= patience ? complaint_ : std::nullopt;
}

void Life::Suspect(JobVerdict verdict, Time now) {
  if (suspect_) return;
  suspect_ = std::move(verdict);
  suspected_ = now;
}

std::optional<JobVerdict> Life::OverdueSuspect(bool all_left_have_ended, Duration patience,
                                               Time now) const {
  if (!suspect_ || (!all_left_have_ended && now - suspected_ < patience)) return std::nullopt;
  return suspect_;
}

}  // namespace reigen::coordinator
