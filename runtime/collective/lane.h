// One segment's way through the steps of a collective on this host.
#ifndef REIGEN_RUNTIME_COLLECTIVE_LANE_H_
#define REIGEN_RUNTIME_COLLECTIVE_LANE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/collective/schedule.h"
#include "runtime/collective/scratch.h"

namespace reigen::collective {

// Scratch for one segment.
struct LaneBuffer {
  std::byte* memory = nullptr;  // null: the lane has none now
  int users = 0;                // posts and work that have not come back
};

// Where a lane stands within its current step.
struct StepState {
  bool load_begun = false;
  bool loaded = false;
  bool sent = false;         // the send is posted
  bool recv_posted = false;
  bool received = false;
  bool outcome_begun = false;
  bool outcome_ready = false;
};

// A lane takes one segment of every part through all steps, then the next free
// segment number: the lanes of a collective are small rings that run beside each
// other. It has two buffers, what it holds and what it receives into, which
// change places at each step that receives; so a lane never waits for memory
// once it runs, and one lane is enough for progress: whatever hosts disagree
// about how many lanes they have room for, all of them run the lowest unfinished
// segment number.
//
// On GPUs lanes take their buffers from the scratch of different leaders. A lane
// that finds no room there takes no segment number, so the next number goes to
// whichever lane has memory, of any leader: still no number below next is left
// out, and still one lane is enough. The oldest bucket of a stream finds room at
// each leader, in its window. Between lanes there is no order to be kept: an
// element's inputs are read, and its outputs written, in the lane that has its
// segment, and that lane's work is all one leader's.
struct Lane {
  uint64_t segment = 0;
  size_t step = 0;
  int held = 0;  // index in buffers
  StepState state;
  std::array<LaneBuffer, 2> buffers;
  Scratch* scratch = nullptr;  // that they were taken from
  bool running = false;

  LaneBuffer& holding() { return buffers[held]; }
  LaneBuffer& receiving() { return buffers[1 - held]; }
  bool idle() const { return buffers[0].users == 0 && buffers[1].users == 0; }
};

}  // namespace reigen::collective

#endif  // REIGEN_RUNTIME_COLLECTIVE_LANE_H_
