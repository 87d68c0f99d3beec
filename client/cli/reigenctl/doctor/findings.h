// What `reigenctl doctor` says of a host, and what is to be known for that.
#ifndef REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_FINDINGS_H_
#define REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_FINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/gpudirect/distance.h"
#include "runtime/gpudirect/flush.h"
#include "runtime/gpudirect/mode.h"
#include "runtime/transport/rdma/choice.h"

namespace reigen::ctl {

enum class Level {
  kOk,
  kNote,     // something is not there, or could be better: jobs run
  kProblem,  // something is broken; there is a remedy
};

struct Finding {
  Level level = Level::kOk;
  std::string area;     // "system", "network", "rdma", "gpu", "hosts"
  std::string subject;  // "eth0", "locked memory"
  std::string text;
  std::string remedy;  // what, where, how; never empty for a problem
};

// What the job to come would ask for.
struct Wishes {
  std::vector<std::string> networks;      // --network-interface
  std::string transport = "auto";         // --transport
  transport::rdma::Wish rdma;             // --rdma-devices, REIGEN_RDMA_MTU; no networks
  std::string variable_error;             // a REIGEN_RDMA_* that makes no sense
  uint64_t registered_bytes = 0;          // memory that RDMA has to lock, with each device
  int queues = 2;                         // for data of an RDMA link; REIGEN_RDMA_QUEUES
  size_t hosts = 2;                       // of the job
  std::string gpu_direct = "auto";        // --gpu-direct, else the launcher's variable
};

// A GPU and an RDMA device: how tensors could go from one to the other.
struct GpuPath {
  int gpu = 0;
  std::string rdma_device;
  gpudirect::Distance distance = gpudirect::Distance::kUnknown;
  gpudirect::Verdict verdict;
  gpudirect::FlushVerdict flush;  // of what the device wrote to a scratch
};

// What links use of RDMA if the job takes one of these addresses of the host.
struct LinkDevices {
  std::vector<std::string> addresses;
  std::vector<std::string> devices;
};

struct Report {
  std::string host;
  std::string version;
  std::vector<Finding> findings;
  // What a job's links would use:
  std::string transport;  // "rdma", "tcp", "none" (a job is refused); empty: not known
  std::vector<std::string> addresses;  // candidates, in order
  std::vector<std::string> rdma_ports;
  std::vector<LinkDevices> link_devices;  // of those ports, if links use them
  std::vector<std::string> usable_alone;  // RDMA devices that links could use if asked to
  std::vector<std::string> rdma_kinds;    // of the ports that links use; sorted
  uint32_t rdma_mtu_bytes = 0;  // the least of those ports
  std::vector<GpuPath> gpu_paths;
};

}  // namespace reigen::ctl

#endif  // REIGEN_CLIENT_CLI_REIGENCTL_DOCTOR_FINDINGS_H_
