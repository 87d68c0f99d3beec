// The file by which reigenctl finds a running job.
#ifndef REIGEN_COORDINATOR_STATUS_FILE_H_
#define REIGEN_COORDINATOR_STATUS_FILE_H_

#include <string>

#include "proto/control/control.pb.h"
#include "runtime/base/status.h"

namespace reigen::coordinator {

// FOLDER/status.bin, readable by its user alone (it has the job's secret); there
// whole or not at all.
Status WriteStatusFile(const std::string& folder, const control::StatusFile& content);

}  // namespace reigen::coordinator

#endif  // REIGEN_COORDINATOR_STATUS_FILE_H_
