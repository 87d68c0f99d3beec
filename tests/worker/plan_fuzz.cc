// Messages of a coordinator with any content, to a worker with requests. Must hold: no
// crash, a bucket is made only of memory that its trainers gave, every request is
// completed at most once.
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "proto/control/control.pb.h"
#include "runtime/base/check.h"
#include "tests/fuzz/fuzz.h"
#include "worker/core/worker_core.h"

namespace reigen::worker {
namespace {

std::byte g_memory[2][64];

control::CoordinatorMessage Begin() {
  control::CoordinatorMessage message;
  message.mutable_entries()->set_first_entry(1);
  control::EpochBegin& begin = *message.mutable_entries()->add_entry()->mutable_epoch_begin();
  begin.set_epoch(1);
  begin.set_max_segment_bytes(64);
  begin.set_max_channels(2);
  for (int host : {0, 1}) {
    control::HostInfo& info = *begin.add_hosts();
    info.set_host(host);
    for (int i : {0, 1}) info.add_ranks(2 * host + i);
  }
  return message;
}

control::CoordinatorMessage Planned() {
  control::CoordinatorMessage message;
  message.mutable_entries()->set_first_entry(2);
  control::NameDef& name = *message.mutable_entries()->add_entry()->mutable_name_def();
  name.set_id(1);
  name.set_name("x");
  control::Plan& plan = *message.mutable_entries()->add_entry()->mutable_plan();
  plan.set_algorithm(1);
  plan.set_op(static_cast<uint32_t>(ReduceOp::kSum));
  plan.set_dtype(static_cast<uint32_t>(DataType::kFloat32));
  plan.set_wire_dtype(plan.dtype());
  plan.set_prescale(1);
  plan.set_postscale(1);
  plan.set_divisor(1);
  plan.set_segment_bytes(64);
  plan.set_channels(1);
  for (int host : {0, 1}) plan.add_hosts(host);
  control::PlanTensor& tensor = *plan.add_tensors();
  tensor.set_name_id(1);
  tensor.mutable_spec()->set_name("x");
  tensor.mutable_spec()->set_dtype(plan.dtype());
  tensor.mutable_spec()->set_count(4);
  tensor.mutable_spec()->add_shape(4);
  message.mutable_entries()->add_entry()->mutable_fail()->set_name("x");
  message.mutable_entries()->add_entry()->mutable_left()->add_ranks(2);
  return message;
}

// The worker under test and what it has been told.
class Case {
 public:
  Case() : core_(WorkerCore::Options{.host = 1, .ranks = {2, 3}}) {
    for (int local : {0, 1}) Step(InitCalled{local});
    Step(FromCoordinator{Begin()});
    for (int local : {0, 1}) {
      auto spec = std::make_shared<RequestSpec>();
      spec->tensors.push_back({.name = "x", .dtype = DataType::kFloat32, .count = 4, .shape = {4}});
      Submitted event;
      event.local = local;
      event.request.id = 1;
      event.request.name = "x";
      event.request.spec = std::move(spec);
      event.request.data = {g_memory[local]};
      Step(std::move(event));
    }
    Step(Flush{});
  }

  void Step(Event event) {
    std::vector<CollectiveId> started;
    for (const Action& action : core_.Step(std::move(event), Time{})) {
      if (const auto* done = std::get_if<Complete>(&action)) {
        REIGEN_CHECK(completed_.emplace(done->local, done->request).second, "completed twice");
      } else if (const auto* start = std::get_if<StartBucket>(&action)) {
        for (const auto& tensor : start->bucket.tensors) {
          REIGEN_CHECK(tensor.count == 4, "another tensor");
          for (const std::byte* in : tensor.inputs) {
            REIGEN_CHECK(in == g_memory[0] || in == g_memory[1], "others' memory");
          }
        }
        started.push_back(start->bucket.id);
      }
    }
    for (const CollectiveId& id : started) Step(BucketEnded{id, OkStatus()});
  }

 private:
  WorkerCore core_;
  std::set<std::pair<int, uint64_t>> completed_;
};

}  // namespace
}  // namespace reigen::worker

// Each message with one byte of its length before it.
std::vector<std::string> reigen::FuzzSeeds() {
  const std::string planned = worker::Planned().SerializeAsString();
  control::CoordinatorMessage end;
  end.mutable_end()->set_reason("over");
  const std::string ended = end.SerializeAsString();
  const auto framed = [](const std::string& s) {
    return static_cast<char>(s.size()) + s;
  };
  return {framed(planned) + framed(ended), framed(ended) + framed(planned)};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  reigen::FuzzInput input(data, size);
  reigen::worker::Case under_test;
  while (!input.empty()) {
    reigen::control::CoordinatorMessage message;
    if (!message.ParseFromString(input.Bytes(input.Byte()))) continue;
    under_test.Step(reigen::worker::FromCoordinator{std::move(message)});
  }
  return 0;
}
