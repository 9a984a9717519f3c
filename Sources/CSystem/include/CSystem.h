#pragma once

// What Swift cannot see of the kernel: calls that glibc wraps not at all, only for GNU sources, or
// only as variadic functions or macros. Each returns what the call returns and leaves errno alone.

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "CDetach.h"
#include "CSpawn.h"
#include "CView.h"

// Declared, not included: a header that is included here becomes part of this module for Swift.
struct sockaddr;
struct stat;

// Flags that glibc defines for GNU sources only.
extern const int csystem_open_path; // O_PATH
extern const int csystem_rename_no_replace; // RENAME_NOREPLACE
extern const int csystem_rename_exchange; // RENAME_EXCHANGE

// Opens beneath `directory`, following no link of any kind. -1 with ENOSYS where the kernel is older than 5.6.
int csystem_open_beneath(int directory, const char *path, int flags);

// Renames with flags; -1 with ENOSYS or EINVAL where kernel or file system cannot.
int csystem_rename(int from_directory, const char *from, int to_directory, const char *to, unsigned flags);

// Sets permission bits of a name without following a link.
int csystem_set_mode(int directory, const char *name, mode_t mode);

// Sets the modification time of `directory` itself (name NULL) or of a name in it, which counts as an access.
int csystem_set_modified(int directory, const char *name, int64_t seconds, long nanoseconds);

// Extended attributes of an open file: all names with their terminators, one value, setting and removing one.
ssize_t csystem_list_attributes(int descriptor, char *names, size_t size);
// The same list of a name in a directory, be it a symbolic link; nothing is opened.
ssize_t csystem_list_attributes_at(int directory, const char *name, char *names, size_t size);
ssize_t csystem_get_attribute(int descriptor, const char *name, void *value, size_t size);
int csystem_set_attribute(int descriptor, const char *name, const void *value, size_t size);
int csystem_remove_attribute(int descriptor, const char *name);

int csystem_sync_file_system(int descriptor);
// Makes a descriptor stand for nothing that can be read, written or opened beneath: what it stood for is closed.
int csystem_let_go(int descriptor);
ssize_t csystem_read_entries(int directory, void *buffer, size_t size);
off_t csystem_seek_data(int descriptor, off_t offset);
off_t csystem_seek_hole(int descriptor, off_t offset);
int csystem_advise_sequential(int descriptor);
int csystem_advise_needed(int descriptor, off_t offset, off_t length);
// Makes a range read as zeros without changing the size; EOPNOTSUPP where the file system has no holes.
int csystem_punch_hole(int descriptor, off_t offset, off_t length);
// The file system of an open file: a number that, other than the device's, mostly outlives a restart, zero where there is
// none; and which one it is, as the kernel numbers them.
int csystem_file_system(int descriptor, uint64_t *identifier, uint64_t *type);
// What fstat says, asked of the server or daemon behind the file system, whatever the kernel remembers of it.
int csystem_fresh_status(int descriptor, struct stat *status);

// All close on exec; sockets and event descriptors do not block.
int csystem_duplicate(int descriptor);
int csystem_socket(int family);
int csystem_datagram_socket(int family);
int csystem_accept(int socket, struct sockaddr *address, uint32_t *length);
int csystem_event(void);
int csystem_clear_event(int descriptor);
int csystem_signal_event(int descriptor);

// Two connected sockets for packets between processes; they block, and close on exec.
int csystem_packet_pair(int sockets[2]);
// Sends one packet, and with it a descriptor unless that is -1.
ssize_t csystem_send_packet(int socket, const void *bytes, size_t size, int descriptor, int wait);
// Receives one packet, and the descriptor that came with it (-1 if none; others are closed). 0 when the other end is gone; -1
// with EBADMSG for a packet without a byte, and with EMSGSIZE for one that is longer than the buffer: both are received then.
ssize_t csystem_receive_packet(int socket, void *buffer, size_t size, int *descriptor, int wait);

// A datagram as it came: its size, the interface that it came in by, its hop limit (-1 where the kernel does not say), and
// the kernel's form of the sender's address.
struct csystem_datagram {
  uint32_t size;
  uint32_t interface;
  int32_t hop_limit;
  uint32_t is_cut; // whether there was no room for all of it
  unsigned char sender[28];
};

// Makes a datagram socket send to a multicast group by one interface and tell where each datagram came from; packets are sent
// with 255 hops, and programs of this device get them too. Nothing comes of groups that the socket has not joined.
int csystem_prepare_multicast(int socket, int family, uint32_t interface);
// Joins a group at an interface.
int csystem_join_group(int socket, uint32_t interface, const struct sockaddr *group, uint32_t length);
// Sends a datagram by an interface, without waiting.
ssize_t csystem_send_datagram(
    int socket, const void *bytes, size_t size, const struct sockaddr *to, uint32_t length, uint32_t interface);
// Receives up to `count` (at most 32) datagrams that are there, each into its own `each` bytes of `bytes`; how many, or -1.
int csystem_receive_datagrams(int socket, void *bytes, size_t each, struct csystem_datagram *found, uint32_t count);

// A socket that asks the kernel about interfaces and hears of their changes: of those in `groups`. It does not block.
int csystem_route_socket(uint32_t groups);
extern const uint32_t csystem_interface_changes; // the groups of changes of links and of addresses
// Asks for all links (0) or all addresses (1); what comes back is to be received until its end.
int csystem_ask_interfaces(int socket, int what);

// A timer on CLOCK_BOOTTIME that becomes readable once `nanoseconds` (absolute, above zero) have passed.
int csystem_timer(void);
int csystem_set_timer(int timer, int64_t nanoseconds);

// Blocks the signals in the calling thread and returns a descriptor to read them from.
int csystem_signals(const int *signals, size_t count);
// The next signal's number, or -1 with EAGAIN.
int csystem_next_signal(int descriptor);

ssize_t csystem_random(void *buffer, size_t size);
int csystem_thread_id(void);
int csystem_name_thread(const char *name);

// Marks the calling thread as an event loop's for as long as it lives.
void csystem_enter_loop(void);
void csystem_leave_loop(void);
int csystem_is_loop(void);

// Lets standard output be written line by line, whatever it leads to.
int csystem_buffer_lines(void);

// Makes the process one that is never dumped into a core file, and that only root may follow or read the memory of.
int csystem_keep_memory_secret(void);

// Lets the allocator ask the system for each large piece of memory, and give it back at once, in a process that goes on for
// long: the C library would keep more and more of them, one for each arena of its threads.
void csystem_keep_little_memory(void);

// Gives the memory that the allocator keeps for later back to the system, where the C library can.
void csystem_return_free_memory(void);

// Columns of the terminal, or -1.
int csystem_terminal_width(int descriptor);

// How many bytes a TCP socket has taken that the other end has not acknowledged; -1 on failure.
int csystem_waiting_bytes(int descriptor);

// Describes an error number in `buffer` or a constant, whichever the C library likes.
const char *csystem_error_text(int error, char *buffer, size_t size);
