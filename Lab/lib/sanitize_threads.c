// Loaded behind liblsan0 into the tests that run with it, because of two faults of that library:
//
// - It keeps a table of all threads that a process has ever had, and reads it without a lock, also
//   while it grows and moves. So it grows here, before there is a second thread. Its size is a power
//   of two: beyond 2,048 threads it has room for as many more, which is twice what the whole
//   transfers of continuous integration need.
// - When a thread was joined, it looks for the thread's handle in that table. Meanwhile another
//   thread may have got the same handle, which is an address in its stack; that thread's join then
//   finds the first one again, and ends the process. Each thread that can be joined gets an address
//   that no other one has had.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { most_threads = 2100 };

typedef int create_thread(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static int is_test(void) { return strstr(program_invocation_short_name, ".xctest") != NULL; }

// Gives a thread a stack that stays when it has ended.
static int set_stack(pthread_attr_t *attributes) {
  size_t size = 0, page = (size_t)sysconf(_SC_PAGESIZE);
  int code = pthread_attr_getstacksize(attributes, &size);
  if (code != 0) return code;
  char *low = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (low == MAP_FAILED) return EAGAIN;
  if (mprotect(low, page, PROT_NONE) != 0) return errno;
  return pthread_attr_setstack(attributes, low + page, size);
}

// liblsan0 calls this one, and this one calls the C library's.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
  create_thread *next = (create_thread *)dlsym(RTLD_NEXT, "pthread_create");
  int state = PTHREAD_CREATE_JOINABLE;
  if (attributes != NULL) pthread_attr_getdetachstate(attributes, &state);
  if (state != PTHREAD_CREATE_JOINABLE || !is_test()) return next(thread, attributes, body, argument);
  size_t size = 0;
  pthread_attr_t own;
  pthread_attr_init(&own);
  if (attributes != NULL && pthread_attr_getstacksize(attributes, &size) == 0) pthread_attr_setstacksize(&own, size);
  int code = set_stack(&own);
  if (code == 0) code = next(thread, &own, body, argument);
  pthread_attr_destroy(&own);
  return code;
}

static void *end_at_once(void *argument) { return argument; }

__attribute__((constructor)) static void grow(void) {
  if (!is_test()) return;
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (int made = 0; made < most_threads; made++) {
    pthread_t thread;
    if (pthread_create(&thread, &detached, end_at_once, NULL) != 0) break;
  }
  pthread_attr_destroy(&detached);
}
