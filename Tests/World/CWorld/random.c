#define _GNU_SOURCE
// The random numbers of a method are all of OpenSSL's only that way.
#define OPENSSL_API_COMPAT 10100
#include "world.h"

#include <dlfcn.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/random.h>

ssize_t __wrap_getrandom(void *, size_t, unsigned);

static int fill(unsigned char *bytes, int count) {
  return __wrap_getrandom(bytes, (size_t)count, 0) == count;
}

static int status(void) { return 1; }

void own_random(void) {
  static const RAND_METHOD method = {.bytes = fill, .pseudorand = fill, .status = status};
  RAND_set_rand_method(&method);
}

/// Takes the library's place. That a code is stretched for a long time is another test's promise.
int EVP_PBE_scrypt(
  const char *code, size_t code_size, const unsigned char *salt, size_t salt_size, uint64_t cost, uint64_t block,
  uint64_t lanes, uint64_t limit, unsigned char *result, size_t size) {
  (void)block, (void)lanes;
  typeof(EVP_PBE_scrypt) *stretch = dlsym(RTLD_NEXT, "EVP_PBE_scrypt");
  return stretch(code, code_size, salt, salt_size, cost < 2 ? cost : 2, 1, 1, limit, result, size);
}
