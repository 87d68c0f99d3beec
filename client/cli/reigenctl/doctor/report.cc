#include "client/cli/reigenctl/doctor/report.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "runtime/gpudirect/distance.h"
#include "runtime/gpudirect/mode.h"

namespace reigen::ctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLevels[] = {"ok", "note", "problem"};
// Of another host's report: more is not one.
constexpr size_t kMaxFindings = 10000;

const char* Name(Level level) { return kLevels[static_cast<size_t>(level)]; }

std::optional<Level> ParseLevel(const std::string& text) {
  for (const Level level : {Level::kOk, Level::kNote, Level::kProblem}) {
    if (text == Name(level)) return level;
  }
  return std::nullopt;
}

Level Worst(const std::vector<Finding>& findings) {
  Level worst = Level::kOk;
  for (const Finding& finding : findings) worst = std::max(worst, finding.level);
  return worst;
}

Json PathsJson(const std::vector<GpuPath>& paths) {
  Json json = Json::array();
  for (const GpuPath& path : paths) {
    json.push_back({{"gpu", path.gpu},
                    {"device", path.rdma_device},
                    {"distance", gpudirect::ToString(path.distance)},
                    {"mode", gpudirect::ToString(path.verdict.mode)},
                    {"reason", path.verdict.reason},
                    {"flush", path.flush.read_back},
                    {"flush_reason", path.flush.reason},
                    {"remedy", path.verdict.remedy}});
  }
  return json;
}

// The string at `key`; empty if there is none.
std::string Text(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

std::vector<std::string> Texts(const Json& object, const char* key) {
  std::vector<std::string> texts;
  const auto at = object.find(key);
  if (at == object.end() || !at->is_array()) return texts;
  for (const Json& each : *at) {
    if (each.is_string()) texts.push_back(each.get<std::string>());
  }
  return texts;
}

// What a terminal shows as it is, whoever wrote it.
std::string Printable(const std::string& text) {
  std::string plain = text;
  std::replace_if(
      plain.begin(), plain.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return plain;
}

size_t Width(const std::vector<Finding>& findings) {
  size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.subject.size());
  return std::min<size_t>(width, 24);
}

std::string Padded(const std::string& text, size_t width) {
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}

std::string Lines(const std::vector<Finding>& findings) {
  constexpr size_t kLevelWidth = 8;
  const size_t width = Width(findings);
  std::string text, area;
  for (const Finding& finding : findings) {
    if (finding.area != area) {
      area = finding.area;
      text += "  " + Printable(area) + "\n";
    }
    const bool problem = finding.level == Level::kProblem;
    text += "    " + Padded(problem ? "PROBLEM" : Name(finding.level), kLevelWidth) +
            Padded(Printable(finding.subject), width) + "  " + Printable(finding.text) + "\n";
    if (!finding.remedy.empty()) {
      text += "    " + std::string(kLevelWidth + width, ' ') + "  " +
              (problem ? "remedy: " : "better: ") + Printable(finding.remedy) + "\n";
    }
  }
  return text;
}

std::string Summary(const std::vector<Finding>& findings) {
  const int problems = Problems(findings);
  if (problems == 0) return "no problem";
  return std::to_string(problems) + (problems == 1 ? " problem" : " problems");
}

}  // namespace

int Problems(const std::vector<Finding>& findings) {
  return static_cast<int>(
      std::count_if(findings.begin(), findings.end(),
                    [](const Finding& f) { return f.level == Level::kProblem; }));
}

Json FindingsJson(const std::vector<Finding>& findings) {
  Json json = Json::array();
  for (const Finding& finding : findings) {
    Json& each = json.emplace_back(Json{{"level", Name(finding.level)},
                                        {"area", finding.area},
                                        {"subject", finding.subject},
                                        {"text", finding.text}});
    if (!finding.remedy.empty()) each["remedy"] = finding.remedy;
  }
  return json;
}

Json ReportJson(const Report& report, const Json& facts) {
  return Json{{"host", report.host},
              {"version", report.version},
              {"verdict", Name(Worst(report.findings))},
              {"findings", FindingsJson(report.findings)},
              {"transport", report.transport},
              {"addresses", report.addresses},
              {"rdma_ports", report.rdma_ports},
              {"rdma_kinds", report.rdma_kinds},
              {"rdma_mtu_bytes", report.rdma_mtu_bytes},
              {"gpu_rdma", PathsJson(report.gpu_paths)},
              {"facts", facts}};
}

StatusOr<Report> ParseReport(const Json& json) {
  const Status bad = InvalidArgument("its answer is no report of reigenctl doctor");
  if (!json.is_object()) return bad;
  Report report;
  report.host = Text(json, "host");
  report.version = Text(json, "version");
  report.transport = Text(json, "transport");
  report.addresses = Texts(json, "addresses");
  report.rdma_ports = Texts(json, "rdma_ports");
  report.rdma_kinds = Texts(json, "rdma_kinds");
  const auto mtu = json.find("rdma_mtu_bytes");
  if (mtu != json.end() && mtu->is_number_unsigned()) report.rdma_mtu_bytes = mtu->get<uint32_t>();
  const auto findings = json.find("findings");
  if (findings == json.end() || !findings->is_array() || findings->size() > kMaxFindings) {
    return bad;
  }
  for (const Json& each : *findings) {
    if (!each.is_object()) return bad;
    const std::optional<Level> level = ParseLevel(Text(each, "level"));
    if (!level) return bad;
    report.findings.push_back({*level, Text(each, "area"), Text(each, "subject"),
                               Text(each, "text"), Text(each, "remedy")});
  }
  return report;
}

std::string ReportText(const Report& report) {
  const std::string version = report.version.empty() ? "" : "Reigen " + report.version + ", ";
  return FindingsText(report.host + ": " + version + Summary(report.findings), report.findings);
}

std::string FindingsText(const std::string& title, const std::vector<Finding>& findings) {
  return Printable(title) + "\n" + Lines(findings);
}

}  // namespace reigen::ctl
