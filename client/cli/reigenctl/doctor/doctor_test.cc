#include "client/cli/reigenctl/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "client/cli/reigenctl/doctor/phrases.h"

namespace reigen::ctl {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

StatusOr<std::vector<Place>> Plan(const DoctorOptions& options, const std::string& file = "") {
  const run::ThisMachine machine{.names = {"localhost", "anna"}, .addresses = {"10.0.0.1"}};
  const auto nobody = [](const std::string&) { return std::vector<std::string>(); };
  return PlanPlaces(options, file, machine, nobody, "/opt/reigen/bin/reigenctl");
}

TEST(DoctorTest, HostsOfTheListAreAskedAsReigenrunWould) {
  DoctorOptions options;
  options.hosts = "anna:2,bert:4";
  options.rsh = "on {host} {command}";
  options.wishes.networks = {"eth0", "10.0.0.0/8"};
  options.wishes.rdma.gid_index = 3;
  const auto places = Plan(options);
  ASSERT_TRUE(places.ok()) << Message(places.status());
  ASSERT_EQ(places->size(), 2u);
  EXPECT_EQ((*places)[0].host, "anna");
  EXPECT_THAT((*places)[0].question.words, IsEmpty());
  EXPECT_THAT((*places)[1].question.words,
              ElementsAre("on", "bert", "/opt/reigen/bin/reigenctl", "doctor", "--json",
                          "--job-hosts", "2", "--transport", "auto", "--gpu-direct", "auto",
                          "--network-interface", "eth0,10.0.0.0/8",
                          "--rdma-gid-index", "3"));
}

// How much memory they lock depends on it, whoever is asked alone.
TEST(DoctorTest, EachHostIsToldOfHowManyHostsTheJobIs) {
  DoctorOptions options;
  options.rsh = "on {host} {command}";
  options.wishes.gpu_direct = "require";
  options.hosts = "anna,bert,carl";
  const std::vector<std::string> words = (*Plan(options))[2].question.words;
  EXPECT_THAT(Join(words, " "), HasSubstr("doctor --json --job-hosts 3 --transport auto "
                                          "--gpu-direct require"));
  options.hosts = "bert";
  EXPECT_THAT(Join((*Plan(options))[0].question.words, " "), HasSubstr("--job-hosts 2 "));
}

TEST(DoctorTest, AHostfileAndAnotherPathThere) {
  DoctorOptions options;
  options.hostfile = "hosts";
  options.reigenctl_path = "/usr/bin/reigenctl";
  const auto places = Plan(options, "carl slots=8\n");
  ASSERT_TRUE(places.ok());
  ASSERT_EQ(places->size(), 1u);
  EXPECT_EQ((*places)[0].question.words.front(), "ssh");
  EXPECT_THAT((*places)[0].question.words.back(), HasSubstr("/usr/bin/reigenctl doctor --json"));
}

// Through ssh a shell reads them.
TEST(DoctorTest, VariablesOfTheLauncherAreTakenAlongAsTheyAre) {
  DoctorOptions options;
  options.hosts = "bert";
  const std::string odd = "REIGEN_RDMA_DEVICES=a b,$(reboot);'c\n\"";
  options.launcher_variables = {"REIGEN_RDMA_MTU=", odd};
  EXPECT_THAT((*Plan(options))[0].question.words.back(),
              EndsWith("--launcher-variable REIGEN_RDMA_MTU= --launcher-variable "
                       "'REIGEN_RDMA_DEVICES=a b,$(reboot);'\\''c\n\"'"));
  options.rsh = "on {host} {command}";
  const std::vector<std::string> words = (*Plan(options))[0].question.words;
  EXPECT_EQ(words[words.size() - 2], "--launcher-variable");
  EXPECT_EQ(words.back(), odd);
}

TEST(DoctorTest, VariablesOfRdmaCountAsForAJob) {
  const auto lookup = [](const std::string& name) -> std::optional<std::string> {
    if (name == "REIGEN_RDMA_QUEUES") return "15";
    if (name == "REIGEN_RDMA_MTU") return "1024";
    return std::nullopt;
  };
  const Wishes wishes = WithVariables(Wishes(), lookup);
  EXPECT_EQ(wishes.queues, 15);
  EXPECT_EQ(wishes.rdma.mtu_bytes, 1024u);
  EXPECT_EQ(wishes.variable_error, "");
  const Wishes wrong = WithVariables(Wishes(), [](const std::string&) { return "x"; });
  EXPECT_THAT(wrong.variable_error, HasSubstr("REIGEN_RDMA_"));
  const Wishes empty = WithVariables(Wishes(), [](const std::string&) { return ""; });
  EXPECT_EQ(empty.variable_error, "");
}

TEST(DoctorTest, MistakesInTheListAreNamed) {
  DoctorOptions options;
  options.hosts = "a:b:c";
  EXPECT_THAT(Message(Plan(options).status()), HasSubstr("-H"));
  options.hosts = "bert";
  options.rsh = "on {host}";
  EXPECT_THAT(Message(Plan(options).status()), HasSubstr("--rsh"));
}

}  // namespace
}  // namespace reigen::ctl
