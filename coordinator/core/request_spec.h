// Requests as ranks describe them: are two the same, what differs, can it run.
#ifndef REIGEN_COORDINATOR_CORE_REQUEST_SPEC_H_
#define REIGEN_COORDINATOR_CORE_REQUEST_SPEC_H_

#include <memory>
#include <string>
#include <vector>

#include "proto/control/control.pb.h"
#include "runtime/base/status.h"

namespace reigen::coordinator {

// Ranks that described a request in the same way.
struct SpecGroup {
  std::shared_ptr<const control::RequestSpec> spec;
  std::vector<int> ranks;
};

// In every field, also in those that this kind of collective does not use: workers
// compare in the same way.
bool SameSpec(const control::RequestSpec& a, const control::RequestSpec& b);

// "x: ranks disagree on shape: [4,2] on ranks 0,1; [4,3] on rank 2", and so on for
// every field that differs: the same text whoever came first. Requires: two or more
// groups that differ, of one rank or more.
std::string DescribeMismatch(const std::string& name, std::vector<SpecGroup> groups);

// Bounds that every worker keeps: an error ends its stream.
Status CheckBounds(const control::RequestSpec& spec);

// What a trainer may have asked for wrongly: an error fails the request.
Status CheckSupported(const std::string& name, const control::RequestSpec& spec, int size);

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_CORE_REQUEST_SPEC_H_
