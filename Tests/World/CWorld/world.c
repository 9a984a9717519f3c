#define _GNU_SOURCE
#include "CWorld.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { most_strands = 64, most_files = 4096 };
static const uint64_t never = UINT64_MAX;

enum state { over, ready, waiting, polling };

struct strand {
  enum state state;
  /// What it waits for: a mutex, a condition or a strand.
  const void *wanted;
  uint64_t until;
  struct pollfd *files;
  nfds_t file_count;
  pthread_cond_t turn;
  pthread_t thread;
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t all_over;
  struct strand strands[most_strands];
  int count, running;
  uint64_t random, now, begun, points;
  struct world_counts counts;
  /// The lost writes that each open file has been told of.
  unsigned losses, told[most_files];
  /// When each timer rings, in virtual time; 0 for other files.
  uint64_t timers[most_files];
} world = {.lock = PTHREAD_MUTEX_INITIALIZER, .all_over = PTHREAD_COND_INITIALIZER};

static _Thread_local int self = -1;

#define REAL(result, name, ...) \
  result __real_##name(__VA_ARGS__); \
  result __wrap_##name(__VA_ARGS__)

int __real_poll(struct pollfd *, nfds_t, int);
int __real_pthread_mutex_lock(pthread_mutex_t *);
int __real_pthread_mutex_trylock(pthread_mutex_t *);
int __real_pthread_mutex_unlock(pthread_mutex_t *);
int __real_pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
int __real_pthread_cond_signal(pthread_cond_t *);
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static uint64_t draw(void) {
  uint64_t value = (world.random += 0x9E3779B97F4A7C15);
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

// MARK: The baton

static bool is_ready(struct strand *one) {
  switch (one->state) {
  case ready: return true;
  case polling: return one->until <= world.now || __real_poll(one->files, one->file_count, 0) != 0;
  case waiting: return one->until <= world.now;
  default: return false;
  }
}

/// The strand that runs next, or -1 if all are over, or stuck.
static int next_strand(void) {
  while (true) {
    int candidates[most_strands], count = 0;
    uint64_t moment = never;
    bool is_all_over = true;
    for (int i = 0; i < world.count; i++) {
      struct strand *one = &world.strands[i];
      if (one->state == over) continue;
      is_all_over = false;
      if (is_ready(one)) candidates[count++] = i;
      if (one->until < moment) moment = one->until;
    }
    if (count > 0) return candidates[draw() % count];
    if (is_all_over) return -1;
    if (moment == never) {
      world.counts.is_stuck = true;
      return -1;
    }
    world.now = moment;
  }
}

/// Hands the baton on, and waits until it comes back. Under the lock.
static void hand_on(void) {
  int mine = self, next = next_strand();
  if (next == mine) return;
  world.running = next;
  if (next < 0) {
    __real_pthread_cond_signal(&world.all_over);
  } else {
    world.counts.switches++;
    world.counts.trace = (world.counts.trace ^ (world.points << 8 | (uint64_t)next)) * 0x100000001B3;
    __real_pthread_cond_signal(&world.strands[next].turn);
  }
  if (mine < 0 || world.strands[mine].state == over) return;
  while (world.running != mine) __real_pthread_cond_wait(&world.strands[mine].turn, &world.lock);
}

static void wait_as(enum state state, const void *wanted, uint64_t until) {
  struct strand *me = &world.strands[self];
  me->state = state;
  me->wanted = wanted;
  me->until = until;
  hand_on();
  me->state = ready;
  me->wanted = NULL;
  me->until = never;
}

static void wake(const void *wanted, int most) {
  for (int i = 0; i < world.count && most > 0; i++) {
    if (world.strands[i].state != waiting || world.strands[i].wanted != wanted) continue;
    world.strands[i].state = ready;
    most--;
  }
}

/// A place where another strand may go on: mostly this one does.
static void point(void) {
  if (self < 0) return;
  int error = errno;
  __real_pthread_mutex_lock(&world.lock);
  world.points++;
  if (draw() % 3 == 0) hand_on();
  __real_pthread_mutex_unlock(&world.lock);
  errno = error;
}

// MARK: Threads

struct start {
  void *(*body)(void *);
  void *context;
  int number;
};

static int add_strand(void) {
  int number = world.count++;
  if (number >= most_strands) abort();
  struct strand *one = &world.strands[number];
  *one = (struct strand){.state = ready, .until = never};
  pthread_cond_init(&one->turn, NULL);
  return number;
}

static void *begin_strand(void *raw) {
  struct start start = *(struct start *)raw;
  free(raw);
  self = start.number;
  __real_pthread_mutex_lock(&world.lock);
  while (world.running != self) __real_pthread_cond_wait(&world.strands[self].turn, &world.lock);
  __real_pthread_mutex_unlock(&world.lock);
  void *result = start.body(start.context);
  __real_pthread_mutex_lock(&world.lock);
  world.strands[self].state = over;
  wake(&world.strands[self], most_strands);
  hand_on();
  self = -1;
  __real_pthread_mutex_unlock(&world.lock);
  return result;
}

static int start_strand(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *context) {
  struct start *start = malloc(sizeof *start);
  int number = add_strand();
  *start = (struct start){.body = body, .context = context, .number = number};
  int code = __real_pthread_create(thread, attributes, begin_strand, start);
  if (code != 0) abort();
  world.strands[number].thread = *thread;
  return code;
}

REAL(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *context) {
  if (self < 0) return __real_pthread_create(thread, attributes, body, context);
  __real_pthread_mutex_lock(&world.lock);
  int code = start_strand(thread, attributes, body, context);
  __real_pthread_mutex_unlock(&world.lock);
  point();
  return code;
}

REAL(int, pthread_join, pthread_t thread, void **result) {
  if (self >= 0) {
    __real_pthread_mutex_lock(&world.lock);
    for (int i = 0; i < world.count; i++) {
      struct strand *one = &world.strands[i];
      if (pthread_equal(one->thread, thread) && one->state != over) wait_as(waiting, one, never);
    }
    __real_pthread_mutex_unlock(&world.lock);
  }
  return __real_pthread_join(thread, result);
}

struct body {
  void (*run)(void *, int);
  void *context;
  int number;
};

static void *run_body(void *raw) {
  struct body *body = raw;
  body->run(body->context, body->number);
  return NULL;
}

struct world_counts world_run(uint64_t seed, int count, void (*run)(void *, int), void *context) {
  struct body bodies[most_strands];
  pthread_t threads[most_strands];
  __real_pthread_mutex_lock(&world.lock);
  world.count = world.now = world.points = world.losses = 0;
  memset(world.told, 0, sizeof world.told);
  world.random = seed;
  world.counts = (struct world_counts){.trace = 0xCBF29CE484222325};
  struct timespec start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  world.begun = (uint64_t)start.tv_sec * 1000000000 + (uint64_t)start.tv_nsec;
  for (int i = 0; i < count; i++) {
    bodies[i] = (struct body){.run = run, .context = context, .number = i};
    start_strand(&threads[i], NULL, run_body, &bodies[i]);
  }
  world.running = -1;
  hand_on();
  while (world.running >= 0) __real_pthread_cond_wait(&world.all_over, &world.lock);
  world.counts.time = world.now;
  struct world_counts counts = world.counts;
  __real_pthread_mutex_unlock(&world.lock);
  if (!counts.is_stuck) for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  return counts;
}

// MARK: Locks and conditions

REAL(int, pthread_mutex_lock, pthread_mutex_t *mutex) {
  if (self < 0) return __real_pthread_mutex_lock(mutex);
  point();
  while (__real_pthread_mutex_trylock(mutex) != 0) {
    __real_pthread_mutex_lock(&world.lock);
    wait_as(waiting, mutex, never);
    __real_pthread_mutex_unlock(&world.lock);
  }
  return 0;
}

REAL(int, pthread_mutex_trylock, pthread_mutex_t *mutex) {
  point();
  return __real_pthread_mutex_trylock(mutex);
}

REAL(int, pthread_mutex_unlock, pthread_mutex_t *mutex) {
  int code = __real_pthread_mutex_unlock(mutex);
  if (self < 0) return code;
  __real_pthread_mutex_lock(&world.lock);
  wake(mutex, most_strands);
  __real_pthread_mutex_unlock(&world.lock);
  return code;
}

static int wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until) {
  __real_pthread_mutex_lock(&world.lock);
  __real_pthread_mutex_unlock(mutex);
  wake(mutex, most_strands);
  wait_as(waiting, condition, until);
  bool is_late = until <= world.now;
  __real_pthread_mutex_unlock(&world.lock);
  __wrap_pthread_mutex_lock(mutex);
  return is_late ? ETIMEDOUT : 0;
}

REAL(int, pthread_cond_wait, pthread_cond_t *condition, pthread_mutex_t *mutex) {
  return self < 0 ? __real_pthread_cond_wait(condition, mutex) : wait_for(condition, mutex, never);
}

REAL(int, pthread_cond_timedwait, pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *end) {
  if (self < 0) return __real_pthread_cond_timedwait(condition, mutex, end);
  uint64_t moment = (uint64_t)end->tv_sec * 1000000000 + (uint64_t)end->tv_nsec;
  return wait_for(condition, mutex, moment < world.begun ? 0 : moment - world.begun);
}

static void call(pthread_cond_t *condition, int most) {
  if (self < 0) return;
  __real_pthread_mutex_lock(&world.lock);
  wake(condition, most);
  __real_pthread_mutex_unlock(&world.lock);
}

REAL(int, pthread_cond_signal, pthread_cond_t *condition) {
  call(condition, 1);
  return __real_pthread_cond_signal(condition);
}

REAL(int, pthread_cond_broadcast, pthread_cond_t *condition) {
  call(condition, most_strands);
  return __real_pthread_cond_broadcast(condition);
}

// MARK: Time

REAL(int, clock_gettime, clockid_t clock, struct timespec *time) {
  if (self < 0 || (clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)) return __real_clock_gettime(clock, time);
  uint64_t now = world.begun + world.now;
  *time = (struct timespec){.tv_sec = (time_t)(now / 1000000000), .tv_nsec = (long)(now % 1000000000)};
  return 0;
}

static bool is_file(int file) { return 0 <= file && file < most_files; }

REAL(int, timerfd_settime, int timer, int flags, const struct itimerspec *new, struct itimerspec *old) {
  if (self < 0) return __real_timerfd_settime(timer, flags, new, old);
  if (!is_file(timer)) abort();
  uint64_t moment = (uint64_t)new->it_value.tv_sec * 1000000000 + (uint64_t)new->it_value.tv_nsec;
  world.timers[timer] = moment <= world.begun ? 1 : moment - world.begun;
  return 0;
}

REAL(int, close, int file) {
  if (is_file(file)) world.timers[file] = 0;
  return __real_close(file);
}

REAL(int, poll, struct pollfd *files, nfds_t count, int timeout) {
  if (self < 0) return __real_poll(files, count, timeout);
  uint64_t until = timeout < 0 ? never : world.now + (uint64_t)timeout * 1000000;
  for (nfds_t i = 0; i < count; i++) {
    uint64_t moment = is_file(files[i].fd) ? world.timers[files[i].fd] : 0;
    if (moment != 0 && moment < until) until = moment;
  }
  __real_pthread_mutex_lock(&world.lock);
  world.strands[self].files = files;
  world.strands[self].file_count = count;
  wait_as(polling, NULL, until);
  __real_pthread_mutex_unlock(&world.lock);
  int found = __real_poll(files, count, 0);
  for (nfds_t i = 0; i < count; i++) {
    if (!is_file(files[i].fd) || world.timers[files[i].fd] == 0 || world.now < world.timers[files[i].fd]) continue;
    if (files[i].revents == 0) found++;
    files[i].revents |= POLLIN;
  }
  return found;
}

// MARK: Files

void world_lose_writes(void) { world.losses++; }

static bool tells_loss(int file) {
  if (!is_file(file) || self < 0 || world.told[file] == world.losses) return false;
  world.told[file] = world.losses;
  errno = EIO;
  return true;
}

#define SYNCING(name) \
  REAL(int, name, int file) { \
    point(); \
    int code = __real_##name(file); \
    bool is_lost = tells_loss(file); \
    point(); \
    if (is_lost) errno = EIO; \
    return is_lost ? -1 : code; \
  }

SYNCING(fsync)
SYNCING(fdatasync)
SYNCING(syncfs)

#define POINTED(result, name, parameters, arguments) \
  result __real_##name parameters; \
  result __wrap_##name parameters { \
    point(); \
    return __real_##name arguments; \
  }

POINTED(int, flock, (int file, int operation), (file, operation))
POINTED(int, mkdirat, (int folder, const char *name, mode_t mode), (folder, name, mode))
POINTED(int, unlinkat, (int folder, const char *name, int flags), (folder, name, flags))
POINTED(int, renameat2, (int from, const char *name, int to, const char *new, unsigned flags), (from, name, to, new, flags))
POINTED(int, ftruncate, (int file, off_t size), (file, size))
POINTED(ssize_t, pwrite, (int file, const void *bytes, size_t count, off_t place), (file, bytes, count, place))
POINTED(ssize_t, write, (int file, const void *bytes, size_t count), (file, bytes, count))
POINTED(
  long, syscall, (long number, long a, long b, long c, long d, long e, long f), (number, a, b, c, d, e, f))
