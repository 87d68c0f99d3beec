// What an engine has posted to its links, and to whom completions belong.
#ifndef REIGEN_RUNTIME_COLLECTIVE_POSTS_H_
#define REIGEN_RUNTIME_COLLECTIVE_POSTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/transport/link.h"

namespace reigen::collective {

// Who posted. OnPost comes exactly once per post, from Posts::Poll, and posts
// nothing itself; `token` is the poster's own. A status that is not Ok names the
// peer and the cause.
class Poster {
 public:
  virtual void OnPost(uint64_t token, const Status& status) = 0;

 protected:
  ~Poster() = default;
};

// Threads: one owner.
// Buffers: borrowed until OnPost. A poster must live until then.
class Posts {
 public:
  using LinkTo = std::function<transport::Link*(int host)>;

  explicit Posts(LinkTo link_to) : link_to_(std::move(link_to)) {}

  // ResourceExhausted: the link's queue is full, try again after Poll().
  // Unavailable: there is no link.
  Status Send(int host, std::span<const std::byte> data, const transport::Tag& tag, Poster* poster,
              uint64_t token);
  Status Recv(int host, std::span<std::byte> data, const transport::Tag& tag, Poster* poster,
              uint64_t token);

  // Takes what the links have completed; returns how many.
  size_t Poll();

  size_t out() const { return out_; }

 private:
  struct Record {
    Poster* poster = nullptr;
    uint64_t token = 0;
    int host = 0;
  };

  StatusOr<transport::Link*> LinkOf(int host) const;
  uint64_t Enter(int host, Poster* poster, uint64_t token);
  Status Entered(Status posted, transport::Link* link, uint64_t cookie);
  size_t PollLink(transport::Link* link, size_t& link_out);
  Status StatusOf(transport::OpResult result, const transport::Link& link, int host) const;

  LinkTo link_to_;
  size_t out_ = 0;
  std::vector<Record> records_;  // index = cookie
  std::vector<uint64_t> free_;
  std::map<transport::Link*, size_t> used_;  // posts out, of links that have some
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_POSTS_H_
