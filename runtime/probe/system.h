// Probes what a job needs of any machine: shared memory, limits, a place for sockets.
#ifndef REIGEN_RUNTIME_PROBE_SYSTEM_H_
#define REIGEN_RUNTIME_PROBE_SYSTEM_H_

#include <string>

#include "runtime/probe/facts.h"

namespace reigen::probe {

// `runtime_base` is where runtime folders are made. Makes and removes a file there, and
// a child process; call it while the process has one thread.
SystemFacts ProbeSystem(const std::string& runtime_base);

// Makes a folder, a file and a socket's name in it, and removes them.
FolderFacts ProbeFolder(const std::string& path);

}  // namespace reigen::probe

#endif  // REIGEN_RUNTIME_PROBE_SYSTEM_H_
