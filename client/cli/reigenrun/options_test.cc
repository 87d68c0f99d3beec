#include "client/cli/reigenrun/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reigen::run {
namespace {

using Words = std::vector<std::string>;

Options Parse(const Words& words) {
  auto parsed = ParseOptions(words);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? parsed->options : Options{};
}

TEST(ParseOptionsTest, HorovodsOneDashNamesWork) {
  const Options o = Parse({"-np", "4", "-hostfile", "hosts", "-prefix-timestamp", "python3", "t.py"});
  EXPECT_EQ(o.np, 4);
  EXPECT_EQ(o.hostfile, "hosts");
  EXPECT_TRUE(o.timestamps);
  EXPECT_EQ(o.command, (Words{"python3", "t.py"}));
  EXPECT_EQ(Parse({"-np=3", "x"}).np, 3);
  EXPECT_EQ(Parse({"--num-proc=3", "x"}).np, 3);
  EXPECT_TRUE(Parse({"-cb"}).check_build);
}

TEST(ParseOptionsTest, TheCommandIsLeftAloneFromItsFirstWord) {
  const Words command = {"python3", "-np", "7", "--verbose", "--x", "a b", "it's", "*", "", "--", "-H"};
  Words words = {"-np", "2", "-H", "a:2"};
  words.insert(words.end(), command.begin(), command.end());
  const Options o = Parse(words);
  EXPECT_EQ(o.np, 2);
  EXPECT_FALSE(o.verbose);
  EXPECT_EQ(o.command, command);
  EXPECT_EQ(Parse({"--verbose", "--", "-odd", "--", "x"}).command, (Words{"-odd", "--", "x"}));
}

TEST(ParseOptionsTest, EveryOptionArrives) {
  const Options o = Parse(
      {"-H", "a:1,b:1", "-p", "2222", "-i", "/key", "--rsh", "x {host} {command}", "--worker-path",
       "/w", "--network-interfaces", "eth0,10.0.0.0/8", "--port-range", "9000-9100",
       "--start-timeout", "5", "--coordinator-timeout", "6.5", "--stall-check-warning-time-seconds",
       "2", "--stall-check-shutdown-time-seconds", "6", "--fusion-threshold-mb",
       "8", "--wire-precision", "fp32", "--gpu-direct", "off", "--output-filename", "out",
       "--log-level", "debug", "--verbose", "--transport", "rdma", "--rdma-devices", "mlx5_0,mlx5_1:2",
       "--rdma-gid-index", "3", "cmd"});
  EXPECT_EQ(o.hosts, "a:1,b:1");
  EXPECT_EQ(o.ssh_port, 2222);
  EXPECT_EQ(o.ssh_identity_file, "/key");
  EXPECT_EQ(o.rsh, "x {host} {command}");
  EXPECT_EQ(o.worker_path, "/w");
  EXPECT_EQ(o.networks, (Words{"eth0", "10.0.0.0/8"}));
  EXPECT_EQ(o.port_range, "9000-9100");
  EXPECT_EQ(o.start_timeout_s, 5);
  EXPECT_EQ(o.coordinator_timeout_s, 6.5);
  EXPECT_EQ(o.stall_warning_s, 2);
  EXPECT_EQ(o.stall_shutdown_s, 6);
  EXPECT_FALSE(o.no_stall_check);
  EXPECT_TRUE(Parse({"--no-stall-check", "cmd"}).no_stall_check);
  EXPECT_EQ(o.fusion_threshold_mb, 8);
  EXPECT_EQ(o.wire_precision, "fp32");
  EXPECT_EQ(o.gpu_direct, "off");
  EXPECT_EQ(o.output_folder, "out");
  EXPECT_EQ(o.log_level, "debug");
  EXPECT_TRUE(o.verbose);
  EXPECT_EQ(o.transport, "rdma");
  EXPECT_EQ(o.rdma_devices, (Words{"mlx5_0", "mlx5_1:2"}));
  EXPECT_EQ(o.rdma_gid_index, 3);
  EXPECT_EQ(o.command, (Words{"cmd"}));
  EXPECT_EQ(Parse({"--network-interface", "eth0", "cmd"}).command, (Words{"cmd"}));
}

TEST(ParseOptionsTest, MistakesAreNamed) {
  const std::vector<Words> mistakes = {
      {"--nope", "x"}, {"-np", "0", "x"}, {"-np", "65537", "x"}, {"-np", "two", "x"}, {"-np"},
      {"-H", "a", "--hostfile", "b", "x"}, {"--wire-precision", "fp8", "x"}, {},
      {"--gpu-direct", "on", "x"}, {"--transport", "ib", "x"}, {"--rdma-gid-index", "-1", "x"},
      {"-np", "2"}, {"--port-range", "9-8", "x"}, {"--port-range", "9", "x"},
      {"--no-stall-check", "--stall-check-shutdown-time-seconds", "6", "x"}};
  for (const Words& words : mistakes) {
    const auto parsed = ParseOptions(words);
    EXPECT_FALSE(parsed.ok()) << (words.empty() ? "nothing" : words[0]);
    EXPECT_FALSE(Message(parsed.status()).empty());
  }
}

TEST(ParseOptionsTest, NumbersAreNumbersAndLimited) {
  for (const char* option : {"--start-timeout", "--coordinator-timeout",
                             "--stall-check-warning-time-seconds",
                             "--stall-check-shutdown-time-seconds", "--fusion-threshold-mb"}) {
    for (const char* value : {"nan", "inf", "-1", "1e300", "five", "5s", ""}) {
      const auto parsed = ParseOptions({option, value, "x"});
      ASSERT_FALSE(parsed.ok()) << option << " " << value;
      EXPECT_LT(Message(parsed.status()).size(), 150u) << Message(parsed.status());
    }
  }
}

TEST(ParseOptionsTest, AnEmptyValueIsNotTheDefault) {
  for (const char* option : {"-H", "--hostfile", "-i", "--rsh", "--worker-path",
                             "--network-interface", "--port-range", "--transport",
                             "--rdma-devices", "--output-filename"}) {
    EXPECT_FALSE(ParseOptions({option, "", "x"}).ok()) << option;
  }
}

TEST(ParseOptionsTest, HelpAndVersionAreText) {
  EXPECT_NE(ParseOptions({"--help"})->text.find("--rsh"), std::string::npos);
  EXPECT_NE(ParseOptions({"--version"})->text.find("reigenrun "), std::string::npos);
}

}  // namespace
}  // namespace reigen::run
