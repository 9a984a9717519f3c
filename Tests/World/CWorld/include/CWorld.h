/// One thread at a time, in an order that a seed decides; and the time, the network and the files of
/// the processes that these threads belong to.
///
/// The linker's --wrap leads the calls of the product's objects here, and not those of the C library
/// or of the runtime. A thread that `world_run` or `world_start` has started, or that such a thread
/// started, is a strand: it has the baton while it runs, and hands it on at locks, waits, and calls
/// that change or sync files. Time passes only while every strand waits, apart from a little for each
/// call. The thread that has begun the world directs it: it has the baton whenever no strand has it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What every strand has done since the world began, for its report.
struct world_counts {
  uint64_t switches;
  /// A number that is the same if, and only if, the order and the events were.
  uint64_t trace;
  /// How many nanoseconds have passed.
  uint64_t time;
  /// The places where another strand could go on.
  uint64_t points;
  /// How often a disk has lost what was written.
  uint64_t losses;
  /// Whether every strand waited for another one, without a moment.
  bool is_stuck;
};

/// Runs bodies as strands of this process until all have ended; a stuck run ends too, with its strands
/// left waiting.
struct world_counts world_run(uint64_t seed, int count, void (*body)(void *context, int number), void *context);

/// From here on what was written before is lost, in most files, and each open file is told so once, as the
/// kernel does: by the next call that syncs it, if it is one of these, and by the next one for its file system.
void world_lose_writes(void);

/// From here on the network and each sync of a file system take up to so many nanoseconds.
void world_slow(uint64_t network, uint64_t sync);

/// Writes are lost at the next sync of a file system, or at the next one that is not the only one of its
/// process at that moment. That is an alarm.
void world_lose_at_sync(bool when_not_alone);

/// From here on the disk is small, and has so many bytes that are not its reserve.
void world_narrow(uint64_t room);

/// From here on the devices meet through a relay at this port, and have addresses of their own. Whether
/// connections past it get no answer: those to a device that waits, and those to one that has connected.
void world_relay(uint16_t port, bool waiting, bool connected);

/// A user sees a figure of a process, which the other one may read.
void world_notice(uint64_t figure);
uint64_t world_noticed(void);

// What has happened so many times: parts that failed at the receiver, and pairings by a code.
enum world_event { WORLD_FAILED, WORLD_PAIRED, WORLD_EVENTS };
void world_happens(enum world_event event);
uint64_t world_happened(enum world_event event);

/// From here on a file's changes are dated with the last tick of so many nanoseconds.
void world_tick(uint64_t nanoseconds);

/// From here on this folder cannot be opened; 0 for none.
void world_shut(uint64_t folder);

/// From here on the disk has no room for what is written below this folder; NULL for none.
void world_refuse(const char *folder);

// The director's calls.

/// Begins a world of several processes. With `traces`, each event is a line on standard output.
void world_begin(uint64_t seed, bool traces);

/// The counts so far.
struct world_counts world_count(void);

/// A number below a bound, as the seed decides.
uint64_t world_draw(uint64_t bound);

/// Fills memory as a seed decides.
void world_fill(void *bytes, size_t count, uint64_t seed);

/// Writes a line into the trace.
void world_say(const char *line);

/// Starts a process with one strand, which runs a body; its result is the process's. Returns its number.
int world_start(int (*body)(void *context), void *context);

enum world_news {
  /// The moment has come.
  world_moment,
  /// A process has ended.
  world_ended,
  /// The number of points has passed.
  world_alarm,
  /// Every strand waits for another one, without a moment.
  world_stuck,
};

/// Lets the strands go on until there is news, at a moment at the latest, or after a number of points
/// (0: without an end).
enum world_news world_turn(uint64_t until, uint64_t points);

/// What a process has told, such as a figure of its result.
uint64_t world_told(int process);

/// A process tells a figure.
void world_tell(uint64_t figure);

/// The result of a process that has ended; -1 while it runs, and if it has died.
int world_result(int process);

/// How many threads and descriptors a process that has ended had left.
int world_left(int process);

/// A process gets no more descriptors for so many nanoseconds.
void world_starve(int process, uint64_t nanoseconds);

/// How often a process has waited for its watch, and how many sockets it has.
uint64_t world_waits(int process);
int world_sockets(int process);

/// Ends a process at once. If its machine ends with it, its connections fall silent; else they end.
void world_kill(int process, bool with_machine);

/// Its user asks a process to stop, also by a signal.
void world_ask(int process);

/// Waits until this process is asked to stop; returns false if it has answered before.
bool world_await_asking(void);

/// Waits until this process has answered; returns false if that takes so many nanoseconds.
bool world_await_answer(uint64_t nanoseconds);

/// This process does no more of what it may be asked to stop.
void world_answer(void);

/// Until it ends, this process goes on more often than others.
void world_favour(int process);

/// So many made folders from here on there is an alarm.
void world_alarm_at_folder(uint64_t count);

/// A few points after so many messages from here on there is an alarm.
void world_alarm_at_message(uint64_t count);

/// What has happened to a file.
enum world_change {
  /// It has these bytes from `a` on.
  world_content,
  /// It has the size `a`.
  world_size,
  /// It reads as zeros from `a` on, for `b` bytes.
  world_hole,
  world_mode,
  /// It is dated with the second `a` and the nanosecond `b`.
  world_time,
  /// A name in the folder, which follows, leads to it; `a` is its mode. Without a file the name is gone. A
  /// link's target follows the name and a zero. With `b`, it is one step with the next such change.
  world_entry,
  /// It was synced.
  world_synced,
  /// Everything was synced.
  world_all_synced,
  /// Content of it that was not synced by now is lost.
  world_lost,
};

/// One entry of the log of changes; `size` bytes follow.
struct world_logged {
  uint32_t kind, process;
  uint64_t file, folder;
  int64_t a, b;
  uint64_t size;
};

/// The log of changes of all processes, and its length.
const unsigned char *world_log(uint64_t *length);

/// Bytes that a sender has said on a connection, or was told; `size` bytes follow.
struct world_said {
  uint32_t connection;
  bool is_told;
  uint64_t size;
};

/// The plaintext of all connections that senders have begun, and its length.
const unsigned char *world_spoken(uint64_t *length);

/// A file of the director's replaces another one, and has its number and times.
void world_replace(uint64_t file, uint64_t new_file);

/// A file of the director's has changed.
void world_touch(uint64_t file);

/// Cuts a connection, as the seed decides which, or lets nothing pass on it for some time. Returns
/// whether there was one.
bool world_cut(uint64_t for_nanoseconds);

/// Starts this program again, where its addresses and hashes are not the same each time, without what it
/// has inherited; from here on OpenSSL's random numbers are the seed's, in strands.
void world_settle(char **arguments);

/// From here on this process and its children have a file system of their own, in which there is nothing
/// but folders for two devices.
void world_ground(void);

/// Makes a copy of this process, which has only one thread, on one of the processors.
int world_fork(int processor);
