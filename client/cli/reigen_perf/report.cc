#include "client/cli/reigen_perf/report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace reigen::perf {
namespace {

const char* MemoryName(const Options& options) {
  return options.memory == Memory::kArena ? "arena" : "heap";
}

}  // namespace

std::string TableHead(const Options& options, int ranks, int hosts) {
  char text[512];
  std::snprintf(text, sizeof(text),
                "# reigen %s, %d ranks on %d hosts, %s memory, in place, %d warm-up and %d timed "
                "iterations, %llu tensor(s) at once\n"
                "# time: median of the slowest rank's; algbw = size / time; busbw: all-reduce "
                "algbw * 2(n-1)/n\n"
                "#%13s %12s %9s %9s %12s %9s %9s %9s\n"
                "#%13s %12s %9s %9s %12s %9s %9s %9s",
                reigen_version(), ranks, hosts, MemoryName(options), options.warmup,
                options.iterations, static_cast<unsigned long long>(options.tensors), "size",
                "count", "type", "redop", "time", "algbw", "busbw", "#wrong", "(B)", "(elements)",
                "", "", "(us)", "(GB/s)", "(GB/s)", "");
  return text;
}

std::string TableLine(const Row& row) {
  char text[256];
  const std::string wrong = row.wrong ? std::to_string(*row.wrong) : "-";
  std::snprintf(text, sizeof(text), "%14llu %12llu %9s %9s %12.2f %9.3f %9.3f %9s",
                static_cast<unsigned long long>(row.bytes),
                static_cast<unsigned long long>(row.count_elems), DtypeName(row.dtype),
                row.operation.name.c_str(), row.seconds * 1e6, row.algorithm_gbps, row.bus_gbps,
                wrong.c_str());
  return text;
}

std::string Json(const Options& options, int ranks, int hosts, const std::vector<Row>& rows) {
  nlohmann::ordered_json document;
  document["version"] = reigen_version();
  document["ranks"] = ranks;
  document["hosts"] = hosts;
  document["memory"] = MemoryName(options);
  document["tensors"] = options.tensors;
  document["iterations"] = options.iterations;
  document["warmup"] = options.warmup;
  document["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json one;
    one["bytes"] = row.bytes;
    one["count"] = row.count_elems;
    one["type"] = DtypeName(row.dtype);
    one["redop"] = row.operation.name;
    one["seconds"] = row.seconds;
    one["min_seconds"] = row.min_seconds;
    one["algbw_gbps"] = row.algorithm_gbps;
    one["busbw_gbps"] = row.bus_gbps;
    one["wrong"] = row.wrong ? nlohmann::ordered_json(*row.wrong) : nlohmann::ordered_json();
    document["rows"].push_back(one);
  }
  return document.dump(2);
}

}  // namespace reigen::perf
