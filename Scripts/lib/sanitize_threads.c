// Loaded into the tests that run with liblsan0. That library keeps a table of all threads that a
// process has ever had, and reads it without a lock, also while it grows and moves. So it grows
// here, before there is a second thread. Its size is a power of two: beyond 2,048 threads it has
// room for as many more, which is twice what the whole transfers of continuous integration need.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { most_threads = 2100 };

static void *end_at_once(void *argument) { return argument; }

__attribute__((constructor)) static void grow(void) {
  if (strstr(program_invocation_short_name, ".xctest") == NULL) return;
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (int made = 0; made < most_threads; made++) {
    pthread_t thread;
    if (pthread_create(&thread, &detached, end_at_once, NULL) != 0) break;
  }
  pthread_attr_destroy(&detached);
}
