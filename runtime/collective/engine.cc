#include "runtime/collective/engine.h"

#include <poll.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/collective/local_run.h"
#include "runtime/collective/network_run.h"
#include "runtime/collective/plan_check.h"
#include "runtime/collective/run.h"
#include "runtime/collective/run_context.h"
#include "runtime/collective/scratch.h"

namespace reigen::collective {
namespace {

// A bucket whose plan makes no sense here: fails at the next Progress().
class RefusedRun final : public Run {
 public:
  RefusedRun(Bucket bucket, RunContext& context, const Status& why)
      : Run(std::move(bucket), context) {
    Fail(why);
  }
  void Advance() override {}
};

class EngineImpl final : public Engine {
 public:
  EngineImpl(const Options& options, LinkTo link_to, WorkExecutor* executor)
      : context_{Scratch(options.scratch), Posts(std::move(link_to)), *executor, options.gpus} {}

  ~EngineImpl() override;

  Status OpenStream(uint32_t stream, uint64_t max_segment_bytes, int max_channels) override;
  void CloseStream(uint32_t stream) override;
  void Start(Bucket bucket) override;
  void Progress(Time now) override;
  void CancelAll(const Status& status) override;
  size_t unfinished() const override { return runs_.size(); }
  size_t posts_out() const override { return context_.posts.out(); }

 private:
  using Runs = std::list<std::unique_ptr<Run>>;

  bool AdvanceAll();
  void Leave(const Run& run);
  void FreeEnded();

  RunContext context_;
  Runs runs_;   // unfinished, in the order of Start()
  Runs ended_;  // their `done` was called, their posts are still out
  std::map<uint32_t, std::deque<Run*>> unfinished_;  // by stream, oldest first
};

EngineImpl::~EngineImpl() {
  REIGEN_CHECK(context_.commands_out == 0, "whoever owns the GPUs ends their commands first");
  while (context_.work_out > 0) {
    pollfd wait{context_.executor.event_fd(), POLLIN, 0};
    poll(&wait, 1, /*timeout_ms=*/100);
    context_.executor.Progress();
  }
  REIGEN_CHECK(posts_out() == 0, "close the links first");
}

Status EngineImpl::OpenStream(uint32_t stream, uint64_t max_segment_bytes, int max_channels) {
  REIGEN_CHECK(max_channels >= 1);
  const size_t segment = Scratch::Rounded(max_segment_bytes) + Scratch::kAlign;
  return context_.scratch.Open(stream, 2 * static_cast<size_t>(max_channels) * segment);
}

void EngineImpl::CloseStream(uint32_t stream) {
  REIGEN_CHECK(!unfinished_.contains(stream), "a bucket of the stream is unfinished");
  context_.scratch.Close(stream);
}

void EngineImpl::Start(Bucket bucket) {
  const uint32_t stream = bucket.id.stream;
  std::unique_ptr<Run> run;
  if (Status plan = CheckPlan(bucket, context_.scratch, context_.gpus); !plan.ok()) {
    run = std::make_unique<RefusedRun>(std::move(bucket), context_, plan);
  } else if (NeedsNetwork(bucket)) {
    run = std::make_unique<NetworkRun>(std::move(bucket), context_);
  } else {
    run = std::make_unique<LocalRun>(std::move(bucket), context_);
  }
  std::deque<Run*>& queue = unfinished_[stream];
  queue.push_back(run.get());
  queue.front()->SetOldest();
  runs_.push_back(std::move(run));
}

void EngineImpl::Progress(Time) {
  for (bool moved = true; moved;) {
    moved = false;
    const size_t work_before = context_.work_out;
    if (work_before > 0) context_.executor.Progress();
    if (context_.work_out < work_before) moved = true;
    if (context_.posts.Poll() > 0) moved = true;
    if (AdvanceAll()) moved = true;
  }
  FreeEnded();
}

// True if a bucket ended (or scratch came back), so that others may go on.
bool EngineImpl::AdvanceAll() {
  const size_t returns = context_.returns;
  const size_t work_out = context_.work_out;
  Runs ended;
  for (auto it = runs_.begin(); it != runs_.end();) {
    const auto here = it++;
    (*here)->Advance();
    if ((*here)->ended()) ended.splice(ended.end(), runs_, here);
  }
  for (const auto& run : ended) Leave(*run);
  const bool any = !ended.empty();
  std::vector<Run*> tell;
  for (const auto& run : ended) tell.push_back(run.get());
  ended_.splice(ended_.end(), ended);
  for (const Run* run : tell) run->CallDone();
  return any || context_.returns != returns || context_.work_out != work_out;
}

void EngineImpl::Leave(const Run& run) {
  const auto queue = unfinished_.find(run.bucket().id.stream);
  std::erase(queue->second, &run);
  if (queue->second.empty()) {
    unfinished_.erase(queue);
  } else {
    queue->second.front()->SetOldest();
  }
}

void EngineImpl::FreeEnded() {
  std::erase_if(ended_, [](const std::unique_ptr<Run>& run) { return run->posts_out() == 0; });
}

void EngineImpl::CancelAll(const Status& status) {
  REIGEN_CHECK(!status.ok());
  for (const auto& run : runs_) run->Fail(status);
}

}  // namespace

std::unique_ptr<Engine> MakeEngine(const Engine::Options& options, Engine::LinkTo link_to,
                                   WorkExecutor* executor) {
  return std::make_unique<EngineImpl>(options, std::move(link_to), executor);
}

}  // namespace reigen::collective
