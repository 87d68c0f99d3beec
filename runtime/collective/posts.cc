#include "runtime/collective/posts.h"

#include <array>
#include <string>

#include "runtime/base/check.h"

namespace reigen::collective {

using transport::Completion;
using transport::Link;
using transport::OpResult;
using transport::Tag;

StatusOr<Link*> Posts::LinkOf(int host) const {
  Link* const link = link_to_(host);
  if (link == nullptr) return Unavailable("no link to host " + std::to_string(host));
  return link;
}

uint64_t Posts::Enter(int host, Poster* poster, uint64_t token) {
  if (free_.empty()) {
    free_.push_back(records_.size());
    records_.emplace_back();
  }
  const uint64_t cookie = free_.back();
  free_.pop_back();
  records_[cookie] = {poster, token, host};
  return cookie;
}

Status Posts::Entered(Status posted, Link* link, uint64_t cookie) {
  if (!posted.ok()) {
    free_.push_back(cookie);
    return posted;
  }
  ++used_[link];
  ++out_;
  return posted;
}

Status Posts::Send(int host, std::span<const std::byte> data, const Tag& tag, Poster* poster,
                   uint64_t token) {
  REIGEN_ASSIGN_OR_RETURN(Link * link, LinkOf(host));
  const uint64_t cookie = Enter(host, poster, token);
  return Entered(link->PostSend(data, tag, cookie), link, cookie);
}

Status Posts::Recv(int host, std::span<std::byte> data, const Tag& tag, Poster* poster,
                   uint64_t token) {
  REIGEN_ASSIGN_OR_RETURN(Link * link, LinkOf(host));
  const uint64_t cookie = Enter(host, poster, token);
  return Entered(link->PostRecv(data, tag, cookie), link, cookie);
}

size_t Posts::Poll() {
  size_t taken = 0;
  for (auto it = used_.begin(); it != used_.end();) {
    taken += PollLink(it->first, it->second);
    it = it->second == 0 ? used_.erase(it) : std::next(it);
  }
  return taken;
}

size_t Posts::PollLink(Link* link, size_t& link_out) {
  std::array<Completion, 64> completions;
  size_t taken = 0;
  while (link_out > 0) {
    const size_t count = link->Poll(completions);
    for (size_t i = 0; i < count; ++i) {
      const Completion& completion = completions[i];
      REIGEN_CHECK(completion.cookie < records_.size() && link_out > 0, "a completion of no post");
      const Record record = records_[completion.cookie];
      free_.push_back(completion.cookie);
      --link_out;
      --out_;
      record.poster->OnPost(record.token, StatusOf(completion.result, *link, record.host));
    }
    taken += count;
    if (count < completions.size()) break;
  }
  return taken;
}

Status Posts::StatusOf(OpResult result, const Link& link, int host) const {
  const std::string where = "link to host " + std::to_string(host);
  switch (result) {
    case OpResult::kOk:
      return OkStatus();
    case OpResult::kCancelled:
      return Unavailable(where + ": closed here");
    case OpResult::kPlanMismatch:
      return FailedPrecondition(where + ": plan mismatch, the peer's message has another length");
    case OpResult::kLinkLost:
      break;
  }
  const Status error = link.error();
  return Unavailable(where + ": " + (error.ok() ? "lost" : Message(error)));
}

}  // namespace reigen::collective
