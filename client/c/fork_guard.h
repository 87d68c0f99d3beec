// What a child after fork() must know and let go of. Process-wide by nature.
//
// The child of an initialised process never touches the library's locks, and it
// closes the session's sockets at once: the worker would else miss the trainer's
// end while such a child lives on.
//
// Threads: any. CloseInChild's slots are read by the child's only thread.
#ifndef REIGEN_CLIENT_C_FORK_GUARD_H_
#define REIGEN_CLIENT_C_FORK_GUARD_H_

namespace reigen::sdk::fork_guard {

// From the first init on: this process owns the library.
void Arm();
// This process is a child of the one that armed.
bool InForkedChild();

// A descriptor that children close, while it lives.
class Watched {
 public:
  explicit Watched(int fd);
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  int slot_ = -1;
};

}  // namespace reigen::sdk::fork_guard

#endif  // REIGEN_CLIENT_C_FORK_GUARD_H_
