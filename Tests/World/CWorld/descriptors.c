#define _GNU_SOURCE
#include "world.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

// MARK: Descriptors

int fail(int error) {
  errno = error;
  return -1;
}

int number_of(enum kind kind, int object) {
  int number = open("/dev/null", O_PATH | O_CLOEXEC);
  if (number < 0 || number >= most_files) abort();
  own()->files[number] = (struct file){.kind = kind, .object = object};
  return number;
}

static int free_place(bool *used) {
  for (int i = 0; i < most_objects; i++) {
    if (used[i]) continue;
    used[i] = true;
    return i;
  }
  abort();
}

// MARK: Events and timers

REAL(int, eventfd, unsigned value, int flags) {
  if (self < 0) return __real_eventfd(value, flags);
  int place = free_place(world->events_used);
  world->events[place] = value;
  return number_of(event_object, place);
}

REAL(int, eventfd_read, int file, eventfd_t *value) {
  if (file_of(file)->kind != event_object) return __real_eventfd_read(file, value);
  uint64_t *count = &world->events[file_of(file)->object];
  *value = *count;
  if (*count == 0) return fail(EAGAIN);
  *count = 0;
  return 0;
}

REAL(int, eventfd_write, int file, eventfd_t value) {
  if (file_of(file)->kind != event_object) return __real_eventfd_write(file, value);
  world->events[file_of(file)->object] += value;
  return 0;
}

REAL(int, timerfd_create, int clock, int flags) {
  if (self < 0) return __real_timerfd_create(clock, flags);
  int place = free_place(world->timers_used);
  world->timers[place] = NEVER;
  return number_of(timer_object, place);
}

REAL(int, timerfd_settime, int timer, int flags, const struct itimerspec *new, struct itimerspec *old) {
  if (file_of(timer)->kind != timer_object) return __real_timerfd_settime(timer, flags, new, old);
  uint64_t second = (uint64_t)new->it_value.tv_sec;
  world->timers[file_of(timer)->object] =
    second < first_uptime ? 0 : (second - first_uptime) * 1000000000 + (uint64_t)new->it_value.tv_nsec;
  return 0;
}

// MARK: Readiness

uint64_t ready_from(struct file file, short wanted) {
  struct socket *socket = socket_of(file);
  switch (file.kind) {
  case event_object: return (wanted & POLLIN) && world->events[file.object] > 0 ? 0 : NEVER;
  case timer_object: return wanted & POLLIN ? world->timers[file.object] : NEVER;
  case signal_object: return world->processes[file.object].signals > 0 ? 0 : NEVER;
  case no_object:
  case watch_object:
  case pipe_object: return NEVER;
  case socket_object: break;
  }
  if (socket->state == listening) {
    uint64_t moment = NEVER;
    for (int i = 0; i < socket->caller_count; i++) {
      uint64_t since = world->sockets[socket->callers[i]].since;
      if (since < moment) moment = since;
    }
    return wanted & POLLIN ? moment : NEVER;
  }
  if (socket->state != connected) return NEVER;
  if (socket->error != 0) return socket->since;
  uint64_t moment = wanted & POLLIN ? arrival(socket) : NEVER;
  struct socket *peer = peer_of(socket);
  bool has_room = peer ? peer->in.count < ring_size : socket->swallowed < ring_size;
  if ((wanted & POLLOUT) && has_room && socket->since < moment) moment = socket->since;
  return moment < socket->since ? socket->since : moment;
}

short readiness(struct file file, short wanted) {
  short found = 0;
  for (int i = 0; i < 2; i++) {
    short one = i == 0 ? POLLIN : POLLOUT;
    if ((wanted & one) && ready_from(file, one) <= world->now) found |= one;
  }
  struct socket *socket = socket_of(file);
  if (socket && socket->state == connected && socket->error != 0 && socket->since <= world->now) found |= POLLERR | POLLHUP;
  return found;
}

REAL(int, poll, struct pollfd *files, nfds_t count, int timeout) {
  if (self < 0) return __real_poll(files, count, timeout);
  struct strand *me = &world->strands[self];
  if (timeout != 0) {
    if (count > most_polled) abort();
    me->file_count = (int)count;
    for (nfds_t i = 0; i < count; i++) me->files[i] = (struct polled){*file_of(files[i].fd), files[i].events};
    wait_as(polling, NULL, timeout < 0 ? NEVER : world->now + (uint64_t)timeout * 1000000);
    me->file_count = 0;
  }
  int found = 0;
  for (nfds_t i = 0; i < count; i++) {
    files[i].revents = readiness(*file_of(files[i].fd), files[i].events);
    if (files[i].revents != 0) found++;
  }
  return found;
}

void close_object(struct file *file) {
  switch (file->kind) {
  case event_object: world->events_used[file->object] = false; break;
  case timer_object: world->timers_used[file->object] = false; break;
  case socket_object: close_socket(file->object); break;
  default: break;
  }
  *file = (struct file){.kind = no_object};
}
