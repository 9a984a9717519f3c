#define _GNU_SOURCE
#include "world.h"

#include <sys/time.h>
#include <unistd.h>

int __real_pthread_mutex_trylock(pthread_mutex_t *);
int __real_pthread_mutex_unlock(pthread_mutex_t *);

// MARK: Locks and conditions

REAL(int, pthread_mutex_lock, pthread_mutex_t *mutex) {
  if (self < 0) return __real_pthread_mutex_lock(mutex);
  point();
  while (__real_pthread_mutex_trylock(mutex) != 0) wait_as(waiting, mutex, NEVER);
  return 0;
}

REAL(int, pthread_mutex_trylock, pthread_mutex_t *mutex) {
  point();
  return __real_pthread_mutex_trylock(mutex);
}

REAL(int, pthread_mutex_unlock, pthread_mutex_t *mutex) {
  int code = __real_pthread_mutex_unlock(mutex);
  if (self >= 0) wake_own(mutex, most_strands);
  return code;
}

static int wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until) {
  __real_pthread_mutex_unlock(mutex);
  wake_own(mutex, most_strands);
  wait_as(waiting, condition, until);
  bool is_late = until <= world->now;
  __wrap_pthread_mutex_lock(mutex);
  return is_late ? ETIMEDOUT : 0;
}

REAL(int, pthread_cond_wait, pthread_cond_t *condition, pthread_mutex_t *mutex) {
  return self < 0 ? __real_pthread_cond_wait(condition, mutex) : wait_for(condition, mutex, NEVER);
}

static uint64_t moment(const struct timespec *time, uint64_t begin) {
  uint64_t second = (uint64_t)time->tv_sec, nanosecond = (uint64_t)time->tv_nsec;
  return second < begin ? 0 : (second - begin) * 1000000000 + nanosecond;
}

REAL(int, pthread_cond_timedwait, pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *end) {
  if (self < 0) return __real_pthread_cond_timedwait(condition, mutex, end);
  return wait_for(condition, mutex, moment(end, first_uptime));
}

REAL(int, pthread_cond_signal, pthread_cond_t *condition) {
  if (self >= 0) wake_own(condition, 1);
  return __real_pthread_cond_signal(condition);
}

REAL(int, pthread_cond_broadcast, pthread_cond_t *condition) {
  if (self >= 0) wake_own(condition, most_strands);
  return __real_pthread_cond_broadcast(condition);
}

// MARK: Time and the machine

int __wrap_clock_gettime(clockid_t, struct timespec *);

/// The library of TLS gets the time from these.
time_t time(time_t *into) {
  struct timespec now;
  __wrap_clock_gettime(CLOCK_REALTIME, &now);
  if (into) *into = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(struct timeval *restrict into, void *restrict zone) {
  (void)zone;
  struct timespec now;
  __wrap_clock_gettime(CLOCK_REALTIME, &now);
  *into = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

REAL(int, clock_gettime, clockid_t clock, struct timespec *time) {
  if (self < 0) return __real_clock_gettime(clock, time);
  bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  uint64_t begin = is_wall ? first_second : first_uptime;
  *time = (struct timespec){
    .tv_sec = (time_t)(begin + world->now / 1000000000), .tv_nsec = (long)(world->now % 1000000000)};
  return 0;
}

REAL(int, sched_yield, void) {
  point();
  return 0;
}

REAL(long, sysconf, int name) { return self >= 0 && name == _SC_NPROCESSORS_ONLN ? 2 : __real_sysconf(name); }

REAL(pid_t, getpid, void) { return self < 0 ? __real_getpid() : 1000 + world->strands[self].process; }
