#include "client/cli/reigenrun/rsh.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reigen::run {
namespace {

using Words = std::vector<std::string>;
const Words kCommand = {"/opt/my dir/reigen-worker", "guard"};

TEST(RshWordsTest, SshIsTheDefaultAndNeverAsks) {
  const auto words = RshWords({.ssh_port = 2222, .ssh_identity_file = "/k y"}, "b", kCommand);
  ASSERT_TRUE(words.ok());
  EXPECT_EQ(*words, (Words{"ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=30", "-p", "2222",
                           "-i", "/k y", "b", "'/opt/my dir/reigen-worker' guard"}));
}

TEST(RshWordsTest, TemplatesTakeHostCommandAndQuoted) {
  EXPECT_EQ(*RshWords({.command_template = "ip netns exec {host} {command}"}, "n1", kCommand),
            (Words{"ip", "netns", "exec", "n1", "/opt/my dir/reigen-worker", "guard"}));
  EXPECT_EQ(*RshWords({.command_template = "rsh -l 'a b' me@{host} {quoted}"}, "n1", kCommand),
            (Words{"rsh", "-l", "a b", "me@n1", "'/opt/my dir/reigen-worker' guard"}));
}

TEST(RshWordsTest, RefusesTemplatesThatCannotWork) {
  for (const char* bad : {"ssh {host}", "ssh {host} x{command}", "ssh 'x {host} {command}", "{command}"}) {
    const auto words = RshWords({.command_template = bad}, "n1", kCommand);
    EXPECT_FALSE(words.ok()) << bad;
    EXPECT_NE(Message(words.status()).find("--rsh"), std::string::npos);
  }
}

TEST(QuoteForShellTest, PlainWordsStayPlain) {
  EXPECT_EQ(QuoteForShell("/usr/bin/x-1.2_3"), "/usr/bin/x-1.2_3");
  EXPECT_EQ(QuoteForShell(""), "''");
  EXPECT_EQ(QuoteForShell("a b"), "'a b'");
  EXPECT_EQ(QuoteForShell("it's"), "'it'\\''s'");
  EXPECT_EQ(QuoteForShell("$HOME;*"), "'$HOME;*'");
}

TEST(SplitWordsTest, ReadsBackWhatWasQuoted) {
  const Words odd = {"a b", "it's", "", "back\\slash", "bang!", "\"", "plain"};
  std::string line;
  for (const std::string& word : odd) line += QuoteForShell(word) + " \t";
  EXPECT_EQ(*SplitWords(line), odd);
}

}  // namespace
}  // namespace reigen::run
