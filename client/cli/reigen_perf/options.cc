#include "client/cli/reigen_perf/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>

#include "runtime/base/version.h"

namespace reigen::perf {
namespace {

struct DtypeEntry {
  reigen_dtype dtype;
  const char* name;
  size_t bytes;
};

constexpr DtypeEntry kDtypes[] = {
    {REIGEN_FLOAT16, "float16", 2}, {REIGEN_BFLOAT16, "bfloat16", 2},
    {REIGEN_FLOAT32, "float32", 4}, {REIGEN_FLOAT64, "float64", 8},
    {REIGEN_INT8, "int8", 1},       {REIGEN_UINT8, "uint8", 1},
    {REIGEN_INT16, "int16", 2},     {REIGEN_INT32, "int32", 4},
    {REIGEN_INT64, "int64", 8},     {REIGEN_BOOL, "bool", 1},
};

const Operation kOperations[] = {
    {"sum", false, REIGEN_SUM},         {"average", false, REIGEN_AVERAGE},
    {"min", false, REIGEN_MIN},         {"max", false, REIGEN_MAX},
    {"product", false, REIGEN_PRODUCT}, {"broadcast", true, REIGEN_SUM},
};

// Takes names of a comma-separated list (or "all") out of a table.
template <typename Entry, size_t kCount, typename Take>
std::string ParseList(const std::string& text, const Entry (&table)[kCount], Take take) {
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    bool found = false;
    for (const Entry& entry : table) {
      if (word == "all" || word == entry.name) {
        take(entry);
        found = true;
      }
    }
    if (!found) return "'" + word + "' is not known";
    begin = end + 1;
  }
  return "";
}

// "1000x4KiB": so many tensors of one size.
std::string ParseTensors(const std::string& text, Options* options) {
  const size_t x = text.find('x');
  const std::optional<uint64_t> count = ParseBytes(text.substr(0, x));
  const std::optional<uint64_t> bytes =
      x == std::string::npos ? std::nullopt : ParseBytes(text.substr(x + 1));
  if (!count || !bytes || *count == 0) return "'" + text + "' is not like 1000x4KiB";
  options->tensors = *count;
  options->min_bytes = options->max_bytes = *bytes;
  return "";
}

std::string ParseOneSize(const std::string& text, uint64_t* bytes) {
  const std::optional<uint64_t> parsed = ParseBytes(text);
  if (!parsed) return "'" + text + "' is not a size like 4, 64KiB or 1M";
  *bytes = *parsed;
  return "";
}

// What only shows with all options known; empty: none.
std::string MistakeIn(const Options& options) {
  if (options.min_bytes > options.max_bytes) return "--min is more than --max";
  for (const Operation& operation : options.operations) {
    for (const reigen_dtype dtype : options.dtypes) {
      if (IsSupported(operation, dtype)) return "";
    }
  }
  return "no such operation: bool has no average";
}

}  // namespace

std::optional<uint64_t> ParseBytes(const std::string& text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return std::nullopt;
  std::string unit(rest, end);
  for (char& c : unit) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  int shift = 0;
  if (unit.empty() || unit == "B") {
    shift = 0;
  } else if (unit == "K" || unit == "KIB") {
    shift = 10;
  } else if (unit == "M" || unit == "MIB") {
    shift = 20;
  } else if (unit == "G" || unit == "GIB") {
    shift = 30;
  } else {
    return std::nullopt;
  }
  if (value > (UINT64_MAX >> shift)) return std::nullopt;
  return value << shift;
}

std::vector<uint64_t> Counts(const Options& options, reigen_dtype dtype) {
  if (!options.counts.empty()) return options.counts;
  std::vector<uint64_t> counts;
  for (uint64_t bytes = options.min_bytes; bytes <= options.max_bytes; bytes *= options.factor) {
    counts.push_back(bytes / DtypeBytes(dtype));
    if (bytes == 0 || bytes > options.max_bytes / options.factor) break;
  }
  return counts;
}

std::optional<Options> ParseOptions(int argc, char** argv, int* exit_code) {
  Options options;
  CLI::App app("Measures Reigen's collectives. Run it under reigenrun; rank 0 prints.");
  app.name("reigen-perf");
  const auto add = [&app](const char* name, const char* initial, const char* help, auto parse) {
    // The check is the parser: it runs once for each value.
    return app.add_option_function<std::string>(name, [](const std::string&) {}, help)
        ->check(parse)
        ->default_str(initial);
  };
  add("--op", "sum", "sum,average,min,max,product,broadcast or all", [&](const std::string& text) {
    return ParseList(text, kOperations,
                     [&](const Operation& entry) { options.operations.push_back(entry); });
  });
  add("--dtype", "float32", "names separated by commas, or all", [&](const std::string& text) {
    return ParseList(text, kDtypes,
                     [&](const DtypeEntry& entry) { options.dtypes.push_back(entry.dtype); });
  });
  add("--min", "4", "smallest size (bytes; KiB, MiB, GiB)",
      [&](const std::string& text) { return ParseOneSize(text, &options.min_bytes); });
  add("--max", "64MiB", "largest size",
      [&](const std::string& text) { return ParseOneSize(text, &options.max_bytes); });
  app.add_option("--counts", options.counts, "elements of a tensor, in place of sizes: 1,7,1023")
      ->delimiter(',');
  add("--tensors", "", "so many tensors at once, for example 1000x4KiB",
      [&](const std::string& text) { return ParseTensors(text, &options); });
  add("--memory", "arena", "arena (shared with the worker) or heap", [&](const std::string& text) {
    options.memory = text == "heap" ? Memory::kHeap : Memory::kArena;
    return text == "heap" || text == "arena" ? std::string() : "neither arena nor heap";
  });
  app.add_option("--factor", options.factor, "each size is the last one times this")
      ->check(CLI::Range(2, 1024))
      ->capture_default_str();
  app.add_option("--iters", options.iterations, "timed iterations; their median is shown")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--warmup", options.warmup, "iterations before them")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  app.add_flag("--check", options.check, "compare every element on every rank");
  app.add_option("--json", options.json_path, "write the results to this file (- = output)")
      ->check([](const std::string& text) {
        return text.empty() ? "its value is empty" : std::string();
      });
  app.set_version_flag("-v,--version", std::string("reigen-perf ") + kVersion);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    *exit_code = app.exit(asked);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "reigen-perf: %s\n", error.what());
    *exit_code = 2;
    return std::nullopt;
  }
  if (options.operations.empty()) options.operations.push_back(kOperations[0]);
  if (options.dtypes.empty()) options.dtypes.push_back(REIGEN_FLOAT32);
  if (const std::string mistake = MistakeIn(options); !mistake.empty()) {
    std::fprintf(stderr, "reigen-perf: %s\n", mistake.c_str());
    *exit_code = 2;
    return std::nullopt;
  }
  *exit_code = 0;
  return options;
}

const char* DtypeName(reigen_dtype dtype) {
  for (const DtypeEntry& entry : kDtypes) {
    if (entry.dtype == dtype) return entry.name;
  }
  return "invalid";
}

size_t DtypeBytes(reigen_dtype dtype) {
  for (const DtypeEntry& entry : kDtypes) {
    if (entry.dtype == dtype) return entry.bytes;
  }
  return 1;
}

bool IsSupported(const Operation& operation, reigen_dtype dtype) {
  return operation.is_broadcast || operation.op != REIGEN_AVERAGE || dtype != REIGEN_BOOL;
}

}  // namespace reigen::perf
