// Goal: the MAC is the standard's, so that both ends of any build agree.
// Method: the test vectors of RFC 4231.
#include "runtime/base/hmac.h"

#include <gtest/gtest.h>

#include <string>

namespace reigen {
namespace {

std::string Hex(const Mac& mac) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::byte b : mac) {
    text += kDigits[static_cast<int>(b) >> 4];
    text += kDigits[static_cast<int>(b) & 15];
  }
  return text;
}

TEST(HmacTest, GivesTheValuesOfRfc4231) {
  EXPECT_EQ(Hex(HmacSha256(std::string(20, '\x0b'), std::string("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(Hex(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(Hex(HmacSha256(std::string(131, '\xaa'),
                           "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(HmacTest, TakesAnEmptyKeyAndEmptyData) {
  EXPECT_EQ(Hex(HmacSha256("", "")),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(HmacTest, RandomBytesAreOfTheLengthAskedForAndNeverTheSame) {
  EXPECT_EQ(RandomBytes(0).size(), 0u);
  EXPECT_EQ(RandomBytes(1000).size(), 1000u);
  EXPECT_NE(RandomBytes(16), RandomBytes(16));
}

TEST(HmacTest, EqualMacSeesEveryByteAndTheLength) {
  const Mac mac = HmacSha256("key", "data");
  std::string same(reinterpret_cast<const char*>(mac.data()), mac.size());
  EXPECT_TRUE(EqualMac(mac, same));
  for (size_t i = 0; i < same.size(); ++i) {
    std::string other = same;
    other[i] ^= 1;
    EXPECT_FALSE(EqualMac(mac, other)) << i;
  }
  EXPECT_FALSE(EqualMac(mac, same.substr(1)));
  EXPECT_FALSE(EqualMac(mac, ""));
}

}  // namespace
}  // namespace reigen
