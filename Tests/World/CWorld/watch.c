// What a relay needs: a watch of descriptors, signals, and pipes through which it moves bytes. A process has
// one watch; it and the pipes are its own memory.
#define _GNU_SOURCE
#include "world.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
  int file;
  struct epoll_event event;
} watched[most_polled];
static int watched_count;

static struct {
  unsigned char bytes[ring_size];
  uint32_t start, count;
} pipes[64];

void world_starve(int process, uint64_t nanoseconds) {
  world->processes[process].starved_until = world->now + nanoseconds;
  world_say("it gets no more descriptors");
}

bool is_starved(void) { return own()->starved_until > world->now; }

uint64_t world_waits(int process) { return world->processes[process].waits; }

int world_sockets(int process) {
  int count = 0;
  for (int i = 0; i < most_files; i++) count += world->processes[process].files[i].kind == socket_object;
  return count;
}

// MARK: The watch

REAL(int, epoll_create1, int flags) {
  if (self < 0) return __real_epoll_create1(flags);
  watched_count = 0;
  return number_of(watch_object, 0);
}

static int place_of(int file) {
  int place = 0;
  while (place < watched_count && watched[place].file != file) place++;
  return place;
}

void unwatch(int file) {
  int place = place_of(file);
  if (place == watched_count) return;
  memmove(&watched[place], &watched[place + 1], sizeof watched[0] * (size_t)(watched_count - place - 1));
  watched_count--;
}

REAL(int, epoll_ctl, int watch, int operation, int file, struct epoll_event *event) {
  if (file_of(watch)->kind != watch_object) return __real_epoll_ctl(watch, operation, file, event);
  int place = place_of(file);
  if (operation == EPOLL_CTL_ADD) {
    if (place < watched_count) return fail(EEXIST);
    if (is_starved()) return fail(ENOSPC);
    if (watched_count == most_polled) abort();
    watched[watched_count++].file = file;
  } else if (place == watched_count) {
    return fail(ENOENT);
  }
  if (operation == EPOLL_CTL_DEL) unwatch(file);
  else watched[place].event = *event;
  return 0;
}

REAL(int, epoll_wait, int watch, struct epoll_event *found, int most, int timeout) {
  if (file_of(watch)->kind != watch_object) return __real_epoll_wait(watch, found, most, timeout);
  struct pollfd files[most_polled];
  for (int i = 0; i < watched_count; i++) {
    files[i] = (struct pollfd){.fd = watched[i].file, .events = (short)watched[i].event.events};
  }
  own()->waits++;
  __wrap_poll(files, (nfds_t)watched_count, timeout);
  int count = 0;
  for (int i = 0; i < watched_count && count < most; i++) {
    if (files[i].revents == 0) continue;
    found[count] = watched[i].event;
    found[count++].events = (uint32_t)files[i].revents;
  }
  return count;
}

// MARK: Signals

REAL(int, signalfd, int file, const sigset_t *signals, int flags) {
  return self < 0 ? __real_signalfd(file, signals, flags) : number_of(signal_object, world->strands[self].process);
}

REAL(ssize_t, read, int file, void *bytes, size_t count) {
  if (file_of(file)->kind != signal_object) return __real_read(file, bytes, count);
  if (own()->signals == 0) return fail(EAGAIN);
  own()->signals--;
  memcpy(bytes, &(struct signalfd_siginfo){.ssi_signo = SIGTERM}, count);
  return (ssize_t)count;
}

// MARK: Pipes

REAL(int, pipe2, int ends[2], int flags) {
  if (self < 0) return __real_pipe2(ends, flags);
  if (is_starved()) return fail(EMFILE);
  bool used[sizeof pipes / sizeof pipes[0]] = {false};
  for (int i = 0; i < most_files; i++) {
    if (own()->files[i].kind == pipe_object) used[own()->files[i].object] = true;
  }
  int place = 0;
  while (used[place]) if (++place == (int)sizeof used) abort();
  pipes[place].start = pipes[place].count = 0;
  for (int i = 0; i < 2; i++) ends[i] = number_of(pipe_object, place);
  return 0;
}

REAL(ssize_t, splice, int from, off64_t *from_place, int to, off64_t *to_place, size_t most, unsigned flags) {
  bool fills = file_of(to)->kind == pipe_object;
  if (!fills && file_of(from)->kind != pipe_object) {
    return __real_splice(from, from_place, to, to_place, most, flags);
  }
  typeof(&pipes[0]) pipe = &pipes[file_of(fills ? to : from)->object];
  if (pipe->count == 0) pipe->start = 0;
  uint32_t end = pipe->start + pipe->count, room = fills ? ring_size - end : pipe->count;
  if (room == 0) return fail(EAGAIN);
  size_t part = most < room ? most : room;
  ssize_t count = fills ? __wrap_recv(from, pipe->bytes + end, part, 0)
                        : __wrap_send(to, pipe->bytes + pipe->start, part, MSG_NOSIGNAL);
  if (count <= 0) return count;
  if (!fills) pipe->start += (uint32_t)count;
  pipe->count += fills ? (uint32_t)count : -(uint32_t)count;
  return count;
}
