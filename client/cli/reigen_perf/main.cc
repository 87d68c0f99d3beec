// reigen-perf: how fast the job's collectives are, and whether they are right.
#include <cstdio>
#include <vector>

#include "client/c/reigen.h"
#include "client/cli/reigen_perf/measure.h"
#include "client/cli/reigen_perf/options.h"
#include "client/cli/reigen_perf/report.h"

namespace reigen::perf {
namespace {

bool WriteFile(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  return std::fclose(file) == 0 && written;
}

int Run(const Options& options) {
  Require(reigen_init(), "init");
  const bool speaks = reigen_rank() == 0;
  const bool json_only = options.json_path == "-";
  const int ranks = reigen_size();
  const int hosts = reigen_cross_size();
  if (speaks && !json_only) std::puts(TableHead(options, ranks, hosts).c_str());
  std::vector<Row> rows;
  uint64_t wrong = 0;
  {
    Measure measure(options);
    for (const Operation& operation : options.operations) {
      for (const reigen_dtype dtype : options.dtypes) {
        if (!IsSupported(operation, dtype)) continue;
        for (const uint64_t count : Counts(options, dtype)) {
          rows.push_back(measure.Run(operation, dtype, count));
          wrong += rows.back().wrong.value_or(0);
          if (speaks && !json_only) {
            std::puts(TableLine(rows.back()).c_str());
            std::fflush(stdout);
          }
        }
      }
    }
  }
  if (speaks && !options.json_path.empty()) {
    const std::string json = Json(options, ranks, hosts, rows) + "\n";
    if (json_only) {
      std::fputs(json.c_str(), stdout);
    } else if (!WriteFile(options.json_path, json)) {
      std::fprintf(stderr, "reigen-perf: cannot write %s\n", options.json_path.c_str());
      wrong = 1;
    }
  }
  if (speaks && !json_only && options.check) {
    std::printf("# wrong elements on all ranks: %llu\n", static_cast<unsigned long long>(wrong));
  }
  Require(reigen_shutdown(), "shutdown");
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace reigen::perf

int main(int argc, char** argv) {
  int exit_code = 0;
  const auto options = reigen::perf::ParseOptions(argc, argv, &exit_code);
  return options ? reigen::perf::Run(*options) : exit_code;
}
