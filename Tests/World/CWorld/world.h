/// What the parts of the world share. Only the holder of the baton touches it.
#pragma once

#include "CWorld.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

enum { most_strands = 128, most_processes = 128, most_files = 1024, most_polled = 96, most_objects = 1024 };
enum { most_inodes = 1 << 14 };
enum { most_sockets = 128, ring_size = 1 << 16, most_segments = 32, most_callers = 16 };
/// The ports of connections are below that of a receiver.
enum { next_port = 40000, first_port = 47470 };

#define NEVER UINT64_MAX

/// The clocks of the world begin at these.
enum { first_second = 1000000000, first_uptime = 100000 };

enum state { over, ready, waiting, polling };
enum kind { no_object, event_object, timer_object, socket_object, watch_object, signal_object, pipe_object };

/// A descriptor of a process that leads to something of the world.
struct file {
  enum kind kind;
  int object;
};

struct polled {
  struct file file;
  short wanted;
};

struct strand {
  enum state state;
  int process;
  /// What it waits for in its process: a mutex, a condition or a strand; or a lock of any process.
  const void *wanted;
  uint64_t until;
  struct polled files[most_polled];
  int file_count;
  /// 1 when it has the baton.
  unsigned turn;
  pthread_t thread;
};

struct process {
  pid_t id;
  int result;
  bool is_alive;
  /// The threads and descriptors that it had left when it ended.
  int left;
  uint64_t figure;
  /// Whether its user has asked it to stop, and whether it has.
  bool is_asked, has_answered;
  /// How many signals it has not read, how often it has waited for its watch, and until when it gets no more
  /// descriptors.
  unsigned signals;
  uint64_t waits, starved_until;
  /// How many of its strands sync a file system.
  int syncing;
  struct file files[most_files];
  /// The lost writes that each open file has been told of.
  unsigned told[most_files], told_of_all[most_files];
};

/// Bytes on their way to a socket.
struct way {
  unsigned char bytes[ring_size];
  uint32_t start, count;
  struct {
    uint64_t arrival;
    uint32_t size;
  } segments[most_segments];
  uint32_t first, segment_count;
  uint64_t last_arrival;
  bool is_ended;
};

enum socket_state { unused, fresh, listening, connected };

struct socket {
  enum socket_state state;
  int peer, error, process;
  uint16_t port, remote_port;
  bool is_silent, has_shut, shares_port;
  /// From when on it is connected.
  uint64_t since;
  uint64_t stalled_until;
  int callers[most_callers];
  int caller_count;
  uint32_t swallowed;
  struct way in;
};

/// What a status says of a file that the world has changed.
struct inode {
  ino_t real;
  uint32_t number;
  uint64_t changed, modified;
  /// Whether content of it was not synced yet; and the last loss that has taken some.
  bool is_dirty;
  unsigned lost;
};

/// The most bytes of the log of changes.
enum { log_size = 1 << 28 };

struct world {
  struct strand strands[most_strands];
  struct process processes[most_processes];
  int count, process_count, running;
  uint64_t random, now, alarm;
  bool has_alarm, has_ended, traces;
  /// Whether the trace is that of the order alone.
  bool has_order_only;
  struct world_counts counts;
  unsigned losses;
  /// The longest ways of bytes, and syncs of file systems.
  uint64_t network, sync;
  bool loses, loses_at_two;
  /// Where the disk is full; 0 for a large one.
  uint64_t end_of_disk;
  ino_t shut;
  uint64_t tick;
  /// The folder below which nothing can be written.
  char refused[64];
  bool is_refusing;
  int favoured;
  uint64_t folders_to_alarm, messages_to_alarm;
  uint64_t events[most_objects];
  uint64_t timers[most_objects];
  bool events_used[most_objects], timers_used[most_objects];
  struct socket sockets[most_sockets];
  uint16_t next_port;
  /// The port of the relay through which the devices meet; 0 for none. Which connections past it fail: those to
  /// a device that waits, and those to one that has connected.
  uint16_t relay;
  bool walls[2];
  uint64_t notice;
  uint64_t happened[WORLD_EVENTS];
  struct inode inodes[most_inodes];
  uint32_t inode_count;
  uint64_t logged, spoken;
  uint32_t connections;
};

extern struct world *world;
/// The strand that this thread is, -1 for none.
extern _Thread_local int self;

#define REAL(result, name, ...) \
  result __real_##name(__VA_ARGS__); \
  result __wrap_##name(__VA_ARGS__)

static inline struct process *own(void) { return &world->processes[world->strands[self].process]; }
static inline struct file *file_of(int number) {
  static struct file nothing;
  return self >= 0 && 0 <= number && number < most_files ? &own()->files[number] : &nothing;
}

uint64_t draw(void);
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void note_bytes(const void *bytes, size_t count);
/// A place where another strand may go on: mostly this one does.
void point(void);
void wait_as(enum state state, const void *wanted, uint64_t until);
void wake(const void *wanted, int process, int most);
/// The same in this process.
void wake_own(const void *wanted, int most);

/// From when on a file is ready for what is wanted of it.
uint64_t ready_from(struct file file, short wanted);
/// What a file is ready for now.
short readiness(struct file file, short wanted);
void close_object(struct file *file);
/// A descriptor of this process, whose number the kernel gives, and that leads to an object of the world.
int number_of(enum kind kind, int object);
int fail(int error);

// Sockets.
struct socket *socket_of(struct file file);
struct socket *peer_of(struct socket *socket);
/// From when on something can be read, if nothing more is sent.
uint64_t arrival(struct socket *socket);
void close_socket(int number);
ssize_t __wrap_send(int, const void *, size_t, int);
ssize_t __wrap_recv(int, void *, size_t, int);
void silence(int process);
int __wrap_poll(struct pollfd *, nfds_t, int);
/// A descriptor is closed: a watch has it no longer.
void unwatch(int file);
/// Whether this process gets no more descriptors.
bool is_starved(void);

// The log of changes, for what a power loss leaves.

/// Begins an empty log.
void begin_log(void);
/// The same, of what senders say.
void begin_spoken(void);
/// Notes a change of an open file, or that it was synced.
void log_file(enum world_change kind, int file, int64_t a, int64_t b, const void *bytes, size_t count);
/// The same for a name.
void log_item(enum world_change kind, int folder, const char *path, int64_t a, int64_t b);
/// Notes that a name leads to its item from now on, or that it is gone; with `is_joined`, in one step with
/// the next such change.
void log_loss(ino_t file);
void log_entry(int folder, const char *path, bool is_joined);
int __real_fstat(int, struct stat *);
int __real_fstatat(int, const char *, struct stat *, int);
void release_locks(void);
/// From here on OpenSSL's random numbers are the seed's, in strands.
void own_random(void);
