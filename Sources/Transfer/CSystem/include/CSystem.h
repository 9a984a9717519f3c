#pragma once

// Functions of the kernel that Swift cannot use: calls that glibc does not wrap, wraps only for GNU
// sources, or offers only as variadic functions or macros. Each returns the call's result and
// leaves errno unchanged.

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "CAttributes.h"
#include "CDetach.h"
#include "CProgram.h"
#include "CSpawn.h"
#include "CView.h"

// Declared, not included: for Swift, an included header becomes part of this module.
struct sockaddr;
struct stat;

// Flags that glibc defines for GNU sources only.
extern const int csystem_open_path; // O_PATH
extern const int csystem_rename_no_replace; // RENAME_NOREPLACE
extern const int csystem_rename_exchange; // RENAME_EXCHANGE

// Opens a path inside `directory`, without following any link. -1 with ENOSYS on kernels older than
// 5.6.
int csystem_open_beneath(int directory, const char *path, int flags);

// Renames with flags; -1 with ENOSYS or EINVAL if the kernel or the file system cannot.
int csystem_rename(int from_directory, const char *from, int to_directory, const char *to, unsigned flags);

// Sets the permission bits of a name without following a link.
int csystem_set_mode(int directory, const char *name, mode_t mode);

// Sets the modification time of `directory` itself (name NULL) or of a name in it, and the access
// time to now.
int csystem_set_modified(int directory, const char *name, int64_t seconds, long nanoseconds);

// Extended attributes of an open file: lists all names with their terminators, reads, sets and
// removes one attribute.
ssize_t csystem_list_attributes(int descriptor, char *names, size_t size);
// The same list for a name in a directory, even for a symbolic link; opens nothing.
ssize_t csystem_list_attributes_at(int directory, const char *name, char *names, size_t size);
ssize_t csystem_get_attribute(int descriptor, const char *name, void *value, size_t size);
int csystem_set_attribute(int descriptor, const char *name, const void *value, size_t size);
int csystem_remove_attribute(int descriptor, const char *name);

int csystem_sync_file_system(int descriptor);
// Replaces the descriptor's file by an unusable one, which cannot be read, written or used to open
// other files, and closes the file that it had.
int csystem_let_go(int descriptor);
ssize_t csystem_read_entries(int directory, void *buffer, size_t size);
off_t csystem_seek_data(int descriptor, off_t offset);
off_t csystem_seek_hole(int descriptor, off_t offset);
// Makes a range read as zeros without changing the size; EOPNOTSUPP if the file system has no
// holes.
int csystem_punch_hole(int descriptor, off_t offset, off_t length);
// copy_file_range, which moves both offsets.
ssize_t csystem_copy_range(int from, off_t *offset, int to, off_t *place, size_t length);
// The file system of an open file: a number that, unlike the device's, usually stays the same after
// a restart (zero if there is none), and the kernel's number of its type.
int csystem_file_system(int descriptor, uint64_t *identifier, uint64_t *type);
// The UUID of the file system of an open file, as the kernel has it (6.9 and later); -1 if it has none.
int csystem_file_system_uuid(int descriptor, uint64_t *high, uint64_t *low);
// The result of fstat, requested from the server or daemon behind the file system and not from the
// kernel's cache.
int csystem_fresh_status(int descriptor, struct stat *status);
// The result of fstatat for a name, without following a link, and the file system's flags as statx
// reports them; no flags without statx.
int csystem_flagged_status(int directory, const char *name, struct stat *status, uint64_t *flags);
// The result of fstatat for a name, without following a link, and the number of its mount; zero if
// the kernel does not report it. An empty name is the directory itself.
int csystem_mounted_status(int directory, const char *name, struct stat *status, uint64_t *mount);

// All of these close on exec; sockets and event descriptors do not block.
int csystem_duplicate(int descriptor);
int csystem_socket(int family);
int csystem_datagram_socket(int family);
int csystem_accept(int socket, struct sockaddr *address, uint32_t *length);
int csystem_event(void);
int csystem_clear_event(int descriptor);
int csystem_signal_event(int descriptor);

// A watch of descriptors by epoll. Each descriptor has a name; the events have poll's numbers.
// `csystem_watch_set` takes EPOLL_CTL_ADD (1), EPOLL_CTL_DEL (2) or EPOLL_CTL_MOD (3).
struct csystem_watched {
  uint64_t name;
  uint32_t events;
};
int csystem_watch(void);
int csystem_watch_set(int watch, int operation, int descriptor, uint64_t name, uint32_t events);
int csystem_watch_wait(int watch, struct csystem_watched *found, int most, int milliseconds);

// A pipe of about this many bytes, without blocking and closed on exec; and bytes that the kernel
// moves between a pipe and a socket.
int csystem_byte_pipe(int ends[2], int size);
long csystem_move_bytes(int from, int to, size_t most);

// Two connected sockets for packets between processes; they block, and close on exec.
int csystem_packet_pair(int sockets[2]);
// Sends one packet, with a descriptor unless it is -1.
ssize_t csystem_send_packet(int socket, const void *bytes, size_t size, int descriptor, int wait);
// Receives one packet, and the descriptor that came with it (-1 if none; further descriptors are
// closed). Returns 0 when the other end is closed; -1 with EBADMSG for an empty packet, and with
// EMSGSIZE for a packet that is longer than the buffer. Both kinds are consumed.
ssize_t csystem_receive_packet(int socket, void *buffer, size_t size, int *descriptor, int wait);

// A received datagram: its size, the interface on which it arrived, its hop limit (-1 if the kernel
// does not report it), and the sender's address in the kernel's format.
struct csystem_datagram {
  uint32_t size;
  uint32_t interface;
  int32_t hop_limit;
  uint32_t is_cut; // whether it did not fit into the buffer
  unsigned char sender[28];
};

// Makes a datagram socket send to a multicast group through one interface and report where each
// datagram came from. Packets are sent with 255 hops, and programs on this device receive them too.
// Datagrams of groups that the socket has not joined do not arrive.
int csystem_prepare_multicast(int socket, int family, uint32_t interface);
// Joins a group on an interface.
int csystem_join_group(int socket, uint32_t interface, const struct sockaddr *group, uint32_t length);
// Sends a datagram through an interface, without waiting.
ssize_t csystem_send_datagram(
    int socket, const void *bytes, size_t size, const struct sockaddr *to, uint32_t length, uint32_t interface);
// Receives up to `count` (at most 32) waiting datagrams, each into its own `each` bytes of `bytes`.
// Returns their number, or -1.
int csystem_receive_datagrams(int socket, void *bytes, size_t each, struct csystem_datagram *found, uint32_t count);

// A socket that asks the kernel about interfaces and receives their changes, of the kinds in
// `groups`. It does not block.
int csystem_route_socket(uint32_t groups);
extern const uint32_t csystem_interface_changes; // the groups of changes of links and of addresses
// Asks for all links (0) or all addresses (1); receive the answers until their end.
int csystem_ask_interfaces(int socket, int what);

// A timer on CLOCK_BOOTTIME that becomes readable at `nanoseconds` (absolute, above zero).
int csystem_timer(void);
int csystem_set_timer(int timer, int64_t nanoseconds);

// Blocks the signals in the calling thread and returns a descriptor from which to read them.
int csystem_signals(const int *signals, size_t count);
// The next signal's number, or -1 with EAGAIN.
int csystem_next_signal(int descriptor);

ssize_t csystem_random(void *buffer, size_t size);
int csystem_name_thread(const char *name);

// The three lanes of a chunk's check (Protocol.md, 9.3), by the processor's instruction for
// CRC-32C; by a table if the processor has no such instruction, or if `is_plain` is not 0.
void csystem_check_lanes(const void *bytes, size_t count, int is_plain, uint32_t lanes[3]);

// Marks the calling thread as an event loop's thread until it ends.
void csystem_enter_loop(void);
void csystem_leave_loop(void);
int csystem_is_loop(void);

// Makes standard output line-buffered, even if it is a pipe or a file.
int csystem_buffer_lines(void);

// Protects the process: the kernel never writes it to a core file, only root may trace it or read
// its memory, and a crash prints nothing of it.
int csystem_keep_memory_secret(void);

// Makes the allocator request each large block of memory from the system, and return it
// immediately, for a long-running process: otherwise the C library keeps more and more memory, in
// one arena for each thread.
void csystem_keep_little_memory(void);

// Returns the allocator's free memory to the system, if the C library can.
void csystem_return_free_memory(void);

// The number of columns of the terminal, or -1.
int csystem_terminal_width(int descriptor);

// How many bytes a TCP socket has accepted that the other end has not acknowledged; -1 on failure.
int csystem_waiting_bytes(int descriptor);

// For how long the other end of a TCP socket has acknowledged nothing while the kernel sends again, or
// probes; 0 if it does neither.
unsigned csystem_unanswered_milliseconds(int descriptor);

// The word of the command line behind a word, counted from 0; NULL behind the last one.
const char *csystem_next_argument(int number);

// Describes an error number, in `buffer` or in a constant; the C library chooses.
const char *csystem_error_text(int error, char *buffer, size_t size);
