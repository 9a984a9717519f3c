// What senders say and are told: the plaintext of their connections.
#define _GNU_SOURCE
#include "world.h"

#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static unsigned char *all;

void begin_spoken(void) {
  if (all) munmap(all, log_size);
  all = mmap(NULL, log_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) abort();
}

const unsigned char *world_spoken(uint64_t *length) {
  *length = world->spoken;
  return all;
}

/// Notes bytes of a connection that this end has begun.
static void speak(SSL *connection, bool is_told, const void *bytes, size_t count) {
  if (self < 0 || world->has_order_only || count == 0 || SSL_is_server(connection)) return;
  struct world_said entry = {.connection = (uint32_t)(uintptr_t)SSL_get_app_data(connection), .is_told = is_told};
  entry.size = count;
  uint64_t whole = (sizeof entry + count + 7) / 8 * 8;
  if (world->spoken + whole > log_size) abort();
  memcpy(all + world->spoken, &entry, sizeof entry);
  memcpy(all + world->spoken + sizeof entry, bytes, count);
  world->spoken += whole;
}

REAL(SSL *, SSL_new, SSL_CTX *context) {
  SSL *connection = __real_SSL_new(context);
  if (self >= 0 && connection) SSL_set_app_data(connection, (void *)(uintptr_t)++world->connections);
  return connection;
}

REAL(int, SSL_write_ex, SSL *connection, const void *bytes, size_t size, size_t *count) {
  int result = __real_SSL_write_ex(connection, bytes, size, count);
  if (result == 1) speak(connection, false, bytes, *count);
  return result;
}

REAL(int, SSL_read_ex, SSL *connection, void *bytes, size_t size, size_t *count) {
  int result = __real_SSL_read_ex(connection, bytes, size, count);
  if (result == 1) speak(connection, true, bytes, *count);
  return result;
}
