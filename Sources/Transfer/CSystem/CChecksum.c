#include "CSystem.h"

#include <pthread.h>
#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

// CRC-32C with reflected bits (RFC 3720). A lane is the CRC of every third word of 8 bytes. The
// three lanes are independent, so a processor computes them side by side.

enum { word = 8, lanes = 3 };

#define EACH_WORD(STEP)                                                                                               \
  uint32_t lane0 = crc[0], lane1 = crc[1], lane2 = crc[2];                                                            \
  for (; count >= lanes * word; bytes += lanes * word, count -= lanes * word) {                                       \
    uint64_t words[lanes];                                                                                            \
    memcpy(words, bytes, sizeof words);                                                                               \
    lane0 = STEP(lane0, words[0]), lane1 = STEP(lane1, words[1]), lane2 = STEP(lane2, words[2]);                      \
  }                                                                                                                   \
  crc[0] = lane0, crc[1] = lane1, crc[2] = lane2

// tables[n][b]: the remainder of the byte b with n zero bytes behind it.
static uint32_t tables[word][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_tables(void) {
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0x82F63B78 & -(crc & 1));
    tables[0][byte] = crc;
  }
  for (int zeros = 1; zeros < word; zeros++) {
    for (int byte = 0; byte < 256; byte++) {
      uint32_t crc = tables[zeros - 1][byte];
      tables[zeros][byte] = crc >> 8 ^ tables[0][crc & 0xFF];
    }
  }
}

static uint32_t step_byte(uint32_t crc, unsigned char byte) { return crc >> 8 ^ tables[0][(crc ^ byte) & 0xFF]; }

static uint32_t step_word(uint32_t crc, uint64_t bytes) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  bytes = __builtin_bswap64(bytes);
#endif
  bytes ^= crc;
  crc = 0;
  for (int at = 0; at < word; at++) crc ^= tables[word - 1 - at][bytes >> (8 * at) & 0xFF];
  return crc;
}

static size_t plain(const unsigned char *bytes, size_t count, uint32_t crc[lanes]) {
  EACH_WORD(step_word);
  return count;
}

#if defined(__x86_64__)
#include <nmmintrin.h>
#define STEP(crc, bytes) ((uint32_t)_mm_crc32_u64(crc, bytes))
__attribute__((target("sse4.2")))
#elif defined(__aarch64__)
#define STEP(crc, bytes) __builtin_arm_crc32cd(crc, bytes)
__attribute__((target("crc")))
#endif
#ifdef STEP
static size_t hardware(const unsigned char *bytes, size_t count, uint32_t crc[lanes]) {
  EACH_WORD(STEP);
  return count;
}
#endif

static int has_hardware(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2");
#elif defined(__aarch64__)
  return (getauxval(AT_HWCAP) & 1 << 7) != 0; // HWCAP_CRC32
#else
  return 0;
#endif
}

void csystem_check_lanes(const void *bytes, size_t count, int is_plain, uint32_t crc[lanes]) {
  pthread_once(&once, fill_tables);
  for (int lane = 0; lane < lanes; lane++) crc[lane] = UINT32_MAX;
  size_t rest;
#ifdef STEP
  if (!is_plain && has_hardware()) rest = hardware(bytes, count, crc);
  else
#endif
    rest = plain(bytes, count, crc);
  const unsigned char *last = (const unsigned char *)bytes + (count - rest);
  for (size_t at = 0; at < rest; at++) crc[at / word] = step_byte(crc[at / word], last[at]);
  for (int lane = 0; lane < lanes; lane++) crc[lane] = ~crc[lane];
}
