#define _GNU_SOURCE
#include "world.h"

#include <ifaddrs.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

struct socket *socket_of(struct file file) {
  return file.kind == socket_object ? &world->sockets[file.object] : NULL;
}

struct socket *peer_of(struct socket *socket) { return socket->peer < 0 ? NULL : &world->sockets[socket->peer]; }

// MARK: Bytes on their way

/// How many bytes have arrived.
static uint32_t arrived(struct socket *socket) {
  struct way *way = &socket->in;
  if (socket->stalled_until > world->now || socket->is_silent) return 0;
  uint32_t count = 0;
  for (uint32_t i = 0; i < way->segment_count; i++) {
    uint32_t place = (way->first + i) % most_segments;
    if (way->segments[place].arrival > world->now) break;
    count += way->segments[place].size;
  }
  return count;
}

uint64_t arrival(struct socket *socket) {
  struct way *way = &socket->in;
  if (socket->error != 0) return 0;
  if (socket->is_silent) return NEVER;
  uint64_t moment = NEVER;
  if (way->segment_count > 0) moment = way->segments[way->first].arrival;
  else if (way->is_ended) moment = way->last_arrival;
  if (moment == NEVER) return NEVER;
  return moment > socket->stalled_until ? moment : socket->stalled_until;
}

static void carry(struct socket *to, const unsigned char *bytes, uint32_t count) {
  struct way *way = &to->in;
  uint32_t place = (way->start + way->count) % ring_size, first = ring_size - place < count ? ring_size - place : count;
  memcpy(way->bytes + place, bytes, first);
  memcpy(way->bytes, bytes + first, count - first);
  way->count += count;
  uint64_t moment = world->now + 50000 + draw() % world->network;
  if (moment < way->last_arrival) moment = way->last_arrival;
  way->last_arrival = moment;
  if (way->segment_count == most_segments) {
    uint32_t last = (way->first + way->segment_count - 1) % most_segments;
    way->segments[last].size += count;
    way->segments[last].arrival = moment;
    return;
  }
  uint32_t next = (way->first + way->segment_count++) % most_segments;
  way->segments[next].arrival = moment;
  way->segments[next].size = count;
}

static void take(struct way *way, unsigned char *bytes, uint32_t count, bool stays) {
  uint32_t first = ring_size - way->start < count ? ring_size - way->start : count;
  memcpy(bytes, way->bytes + way->start, first);
  memcpy(bytes + first, way->bytes, count - first);
  if (stays) return;
  way->start = (way->start + count) % ring_size;
  way->count -= count;
  while (count > 0) {
    uint32_t *size = &way->segments[way->first].size;
    uint32_t part = *size < count ? *size : count;
    *size -= part;
    count -= part;
    if (*size > 0) continue;
    way->first = (way->first + 1) % most_segments;
    way->segment_count--;
  }
}

// MARK: Connections

static int add_socket(void) {
  for (int i = 0; i < most_sockets; i++) {
    struct socket *one = &world->sockets[i];
    if (one->state != unused) continue;
    memset(one, 0, offsetof(struct socket, in));
    one->in.start = one->in.count = one->in.first = one->in.segment_count = 0;
    one->in.last_arrival = 0;
    one->in.is_ended = false;
    one->state = fresh;
    one->peer = -1;
    one->process = world->strands[self].process;
    return i;
  }
  abort();
}

REAL(int, socket, int family, int type, int protocol) {
  if (self < 0 || (type & 0xF) != SOCK_STREAM || (family != AF_INET && family != AF_INET6))
    return __real_socket(family, type, protocol);
  return number_of(socket_object, add_socket());
}

static uint16_t port_of(const struct sockaddr *address) { return ntohs(((const struct sockaddr_in *)address)->sin_port); }

static int listener_at(uint16_t port) {
  for (int i = 0; i < most_sockets; i++) {
    if (world->sockets[i].state == listening && world->sockets[i].port == port) return i;
  }
  return -1;
}

REAL(int, bind, int file, const struct sockaddr *address, socklen_t length) {
  struct socket *socket = socket_of(*file_of(file));
  if (!socket) return __real_bind(file, address, length);
  uint16_t port = port_of(address);
  int there = port == 0 ? -1 : listener_at(port);
  if (there >= 0 && !(socket->shares_port && world->sockets[there].shares_port)) return fail(EADDRINUSE);
  socket->port = port != 0 ? port : world->next_port++;
  return 0;
}

REAL(int, listen, int file, int backlog) {
  struct socket *socket = socket_of(*file_of(file));
  if (!socket) return __real_listen(file, backlog);
  socket->state = listening;
  note("listens on %d", socket->port);
  return 0;
}

REAL(int, connect, int file, const struct sockaddr *address, socklen_t length) {
  struct socket *socket = socket_of(*file_of(file));
  if (!socket) return __real_connect(file, address, length);
  point();
  if (socket->port == 0) socket->port = world->next_port++;
  socket->remote_port = port_of(address);
  socket->state = connected;
  socket->since = world->now + 100000 + draw() % 3000000;
  if (world->relay != 0 && socket->remote_port != world->relay && world->walls[socket->remote_port < first_port]) {
    note("connects to %d, and gets no answer", socket->remote_port);
    socket->since = NEVER;
    return fail(EINPROGRESS);
  }
  int there = listener_at(socket->remote_port);
  note("connects to %d%s", socket->remote_port, there < 0 ? ", where nothing listens" : "");
  struct socket *listener = there < 0 ? NULL : &world->sockets[there];
  if (!listener || listener->caller_count == most_callers) {
    socket->error = ECONNREFUSED;
    return fail(EINPROGRESS);
  }
  int number = add_socket();
  struct socket *other = &world->sockets[number];
  other->state = connected;
  other->process = listener->process;
  other->port = listener->port;
  other->remote_port = socket->port;
  other->since = socket->since;
  other->peer = file_of(file)->object;
  socket->peer = number;
  listener->callers[listener->caller_count++] = number;
  return fail(EINPROGRESS);
}

static void name(uint16_t port, struct sockaddr *address, socklen_t *length) {
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
  // Devices that need a relay know their own addresses.
  name.sin_addr.s_addr = htonl(world->relay != 0 ? 0xC0000201 : INADDR_LOOPBACK);
  if (!address) return;
  memcpy(address, &name, *length < sizeof name ? *length : sizeof name);
  *length = sizeof name;
}

REAL(int, accept4, int file, struct sockaddr *address, socklen_t *length, int flags) {
  struct socket *socket = socket_of(*file_of(file));
  if (!socket) return __real_accept4(file, address, length, flags);
  for (int i = 0; i < socket->caller_count; i++) {
    int number = socket->callers[i];
    struct socket *caller = &world->sockets[number];
    if (caller->since > world->now) continue;
    if (is_starved()) return fail(EMFILE);
    memmove(&socket->callers[i], &socket->callers[i + 1], sizeof(int) * (size_t)(socket->caller_count - i - 1));
    socket->caller_count--;
    name(caller->remote_port, address, length);
    note("accepts %d", number);
    return number_of(socket_object, number);
  }
  return fail(EAGAIN);
}

REAL(int, getsockname, int file, struct sockaddr *address, socklen_t *length) {
  struct socket *socket = socket_of(*file_of(file));
  if (!socket) return __real_getsockname(file, address, length);
  name(socket->port, address, length);
  return 0;
}

REAL(int, getpeername, int file, struct sockaddr *address, socklen_t *length) {
  struct socket *socket = socket_of(*file_of(file));
  if (!socket) return __real_getpeername(file, address, length);
  name(socket->remote_port, address, length);
  return 0;
}

REAL(int, setsockopt, int file, int level, int option, const void *value, socklen_t length) {
  struct socket *socket = socket_of(*file_of(file));
  if (!socket) return __real_setsockopt(file, level, option, value, length);
  if (level == SOL_SOCKET && option == SO_REUSEPORT) socket->shares_port = true;
  return 0;
}

REAL(int, getsockopt, int file, int level, int option, void *value, socklen_t *length) {
  struct socket *socket = socket_of(*file_of(file));
  if (!socket) return __real_getsockopt(file, level, option, value, length);
  int answer = 0;
  if (level == SOL_SOCKET && option == SO_ERROR) answer = socket->since <= world->now ? socket->error : 0;
  if (level == IPPROTO_TCP && option == TCP_MAXSEG) answer = 1448;
  memcpy(value, &answer, sizeof answer);
  *length = sizeof answer;
  return 0;
}

REAL(int, ioctl, int file, unsigned long request, void *value) {
  struct socket *socket = socket_of(*file_of(file));
  // The identity of the file system would be another one each time.
  if (self >= 0 && !socket) return fail(ENOTTY);
  if (!socket || request != SIOCOUTQ) return __real_ioctl(file, request, value);
  struct socket *peer = peer_of(socket);
  *(int *)value = peer ? (int)(peer->in.count - arrived(peer)) : 0;
  return 0;
}

/// Takes bytes that no end reads, as long as there is room.
static ssize_t swallow(struct socket *socket, size_t count) {
  uint32_t room = ring_size - socket->swallowed;
  if (room == 0) return fail(EAGAIN);
  uint32_t part = count < room ? (uint32_t)count : room;
  socket->swallowed += part;
  return part;
}

REAL(ssize_t, send, int file, const void *bytes, size_t count, int flags) {
  struct socket *socket = socket_of(*file_of(file));
  if (!socket) return __real_send(file, bytes, count, flags);
  point();
  socket = socket_of(*file_of(file));
  if (socket->error != 0) return fail(socket->error);
  struct socket *peer = peer_of(socket);
  if (socket->has_shut) return fail(EPIPE);
  if (!peer) {
    // Nothing comes back from a machine that is off.
    if (socket->is_silent) return swallow(socket, count);
    socket->error = ECONNRESET;
    return fail(EPIPE);
  }
  uint32_t room = ring_size - peer->in.count;
  if (room == 0) return fail(EAGAIN);
  uint32_t part = count < room ? (uint32_t)count : room;
  // A new connection has room for what a relay and a device say, and takes it as a whole.
  if (part > 1 && draw() % 16 == 0 && (world->relay == 0 || part > 512)) part = 1 + (uint32_t)(draw() % part);
  carry(peer, bytes, part);
  if (world->messages_to_alarm > 0 && --world->messages_to_alarm == 0) world->alarm = 1 + draw() % 16;
  note_bytes(bytes, part);
  note("sends %u to %d: %04x", part, socket->peer, (unsigned)world->counts.trace & 0xFFFF);
  return part;
}

REAL(ssize_t, recv, int file, void *bytes, size_t count, int flags) {
  struct socket *socket = socket_of(*file_of(file));
  if (!socket) return __real_recv(file, bytes, count, flags);
  point();
  socket = socket_of(*file_of(file));
  uint32_t there = arrived(socket);
  if (there > 0) {
    uint32_t part = count < there ? (uint32_t)count : there;
    take(&socket->in, bytes, part, flags & MSG_PEEK);
    return part;
  }
  if (socket->error != 0) return fail(socket->error);
  if (arrival(socket) <= world->now && socket->in.is_ended) return 0;
  return fail(EAGAIN);
}

static void end_way(struct socket *to) {
  struct way *way = &to->in;
  way->is_ended = true;
  uint64_t moment = world->now + 50000 + draw() % 2000000;
  if (moment > way->last_arrival) way->last_arrival = moment;
}

REAL(int, shutdown, int file, int how) {
  struct socket *socket = socket_of(*file_of(file));
  if (!socket) return __real_shutdown(file, how);
  socket->has_shut = true;
  if (peer_of(socket)) end_way(peer_of(socket));
  return 0;
}

void close_socket(int number) {
  struct socket *socket = &world->sockets[number], *peer = peer_of(socket);
  for (int i = 0; socket->state == listening && i < socket->caller_count; i++) close_socket(socket->callers[i]);
  if (peer) {
    peer->peer = -1;
    // What was not read is answered by a reset.
    if (socket->in.count > 0) peer->error = ECONNRESET;
    else if (!peer->in.is_ended) end_way(peer);
  }
  socket->state = unused;
}

/// A machine is off: the others hear nothing.
void silence(int process) {
  for (int i = 0; i < most_sockets; i++) {
    struct socket *one = &world->sockets[i];
    if (one->state != connected || one->process != process || one->peer < 0) continue;
    world->sockets[one->peer].is_silent = true;
    world->sockets[one->peer].peer = -1;
    one->peer = -1;
  }
}

void world_relay(uint16_t port, bool waiting, bool connected) {
  world->relay = port;
  world->walls[false] = waiting;
  world->walls[true] = connected;
}

bool world_cut(uint64_t for_nanoseconds) {
  char line[64];
  int candidates[most_sockets], count = 0;
  for (int i = 0; i < most_sockets; i++) {
    if (world->sockets[i].state == connected && world->sockets[i].peer >= 0) candidates[count++] = i;
  }
  if (count == 0) return false;
  struct socket *one = &world->sockets[candidates[draw() % (uint64_t)count]], *peer = peer_of(one);
  snprintf(line, sizeof line, "cuts %d for %llu", one->peer, (unsigned long long)for_nanoseconds);
  world_say(line);
  if (for_nanoseconds > 0) {
    one->stalled_until = world->now + for_nanoseconds;
    if (draw() % 2 == 0) peer->stalled_until = one->stalled_until;
    return true;
  }
  one->peer = peer->peer = -1;
  // Both ends learn it, or one of them, or neither.
  uint64_t who = draw() % 4;
  if (who & 1) one->is_silent = true; else one->error = ECONNRESET;
  if (who & 2) peer->is_silent = true; else peer->error = ECONNRESET;
  return true;
}

REAL(int, getifaddrs, struct ifaddrs **all) {
  if (self < 0) return __real_getifaddrs(all);
  *all = NULL;
  return 0;
}
