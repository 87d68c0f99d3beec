// Shows rows: a table in the manner of nccl-tests, and JSON.
#ifndef REIGEN_CLIENT_CLI_REIGEN_PERF_REPORT_H_
#define REIGEN_CLIENT_CLI_REIGEN_PERF_REPORT_H_

#include <string>
#include <vector>

#include "client/cli/reigen_perf/measure.h"
#include "client/cli/reigen_perf/options.h"

namespace reigen::perf {

std::string TableHead(const Options& options, int ranks, int hosts);
std::string TableLine(const Row& row);
std::string Json(const Options& options, int ranks, int hosts, const std::vector<Row>& rows);

}  // namespace reigen::perf

#endif  // REIGEN_CLIENT_CLI_REIGEN_PERF_REPORT_H_
