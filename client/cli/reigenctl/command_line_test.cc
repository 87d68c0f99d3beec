#include "client/cli/reigenctl/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reigen::ctl {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string Mistake(const std::vector<std::string>& words, const std::string& variable = "") {
  return Message(ParseCommandLine(words, variable).status());
}

TEST(CommandLineTest, AMistakeIsOneLineThatNamesTheWord) {
  const struct {
    std::vector<std::string> words;
    const char* named;
  } kCases[] = {
      {{}, "no command"},
      {{"nosuch"}, "nosuch"},
      {{"status", "more"}, "more"},
      {{"status", "doctor"}, "doctor"},
      {{"--nosuch"}, "--nosuch"},
      {{"doctor", "--nosuch"}, "--nosuch"},
      {{"doctor", "--transport", "nope"}, "--transport: nope"},
      {{"doctor", "--gpu-direct", "nope"}, "--gpu-direct: nope"},
      {{"doctor", "--hostfile", "f", "-H", "a"}, "--hostfile"},
      {{"doctor", "--timeout", "nan"}, "nan"},
      {{"doctor", "-H"}, "--hosts"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(Mistake(c.words), AllOf(HasSubstr(c.named), Not(HasSubstr("\n")))) << c.named;
  }
}

// An unset variable of the user's script must not turn into the default.
TEST(CommandLineTest, AnEmptyValueIsRefused) {
  for (const char* const option :
       {"--hosts", "--hostfile", "--rsh", "--reigenctl-path", "--ssh-identity-file",
        "--network-interface", "--rdma-devices"}) {
    EXPECT_THAT(Mistake({"doctor", option, ""}),
                AllOf(StartsWith(option), HasSubstr("its value is empty")));
  }
  EXPECT_EQ(Mistake({"doctor", "-H", ""}), "--hosts: its value is empty");
  EXPECT_EQ(Mistake({"status", "--job", ""}), "--job: its value is empty");
}

TEST(CommandLineTest, HelpAndVersionAreTexts) {
  for (const char* const word : {"-v", "--version"}) {
    const StatusOr<CommandLine> line = ParseCommandLine({word}, "");
    ASSERT_TRUE(line.ok());
    EXPECT_THAT(line->text, StartsWith("reigenctl 0."));
  }
  EXPECT_THAT(ParseCommandLine({"-h"}, "")->text, HasSubstr("doctor"));
  EXPECT_THAT(ParseCommandLine({"doctor", "--help"}, "")->text, HasSubstr("--transport"));
}

TEST(CommandLineTest, GpuDirectIsTheFlagElseTheVariable) {
  EXPECT_EQ(ParseCommandLine({"doctor"}, "")->doctor.wishes.gpu_direct, "auto");
  EXPECT_EQ(ParseCommandLine({"doctor"}, "require")->doctor.wishes.gpu_direct, "require");
  EXPECT_EQ(ParseCommandLine({"doctor", "--gpu-direct", "off"}, "require")
                ->doctor.wishes.gpu_direct,
            "off");
  EXPECT_THAT(Mistake({"doctor"}, "of"), HasSubstr("REIGEN_GPU_DIRECT"));
  EXPECT_TRUE(ParseCommandLine({"status"}, "of").ok());
}

TEST(CommandLineTest, EachCommandHasItsOptions) {
  const StatusOr<CommandLine> status = ParseCommandLine({"status", "--json", "--job", "a"}, "");
  ASSERT_TRUE(status.ok());
  EXPECT_FALSE(status->is_doctor);
  EXPECT_TRUE(status->status.json);
  EXPECT_EQ(status->status.job, "a");
  const StatusOr<CommandLine> doctor = ParseCommandLine({"doctor", "-H", "a,b"}, "");
  ASSERT_TRUE(doctor.ok());
  EXPECT_TRUE(doctor->is_doctor);
  EXPECT_EQ(doctor->doctor.hosts, "a,b");
  EXPECT_GT(doctor->doctor.wishes.registered_bytes, 0u);
}

}  // namespace
}  // namespace reigen::ctl
