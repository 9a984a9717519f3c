#pragma once

// Starting a process that may do little: the one function between fork and exec, where only the kernel may be called.

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// What a confined process may do with a file, or with everything in a directory.
enum csystem_access {
  csystem_access_read = 1,
  // Also start programs from it and load libraries.
  csystem_access_execute = 2,
  // Also change it and everything in it.
  csystem_access_write = 3,
};

struct csystem_rule {
  const char *path;
  enum csystem_access access;
  // Whether nothing need be there.
  int is_optional;
};

struct csystem_spawn {
  const char *executable;
  char *const *arguments;
  char *const *environment;
  // The current directory of the process.
  const char *directory;
  // Becomes descriptor 3.
  int channel;
  // Becomes descriptor 4, which keeps a lock; -1 for none, and then that leads to nothing.
  int lock;
  // Become descriptors 1 and 2.
  int output;
  int error;
  // Whether the process is confined to the rules; else it may do what this one may.
  int is_confined;
  const struct csystem_rule *rules;
  size_t rule_count;
  // Whether it also gets mounts of its own, which are read-only but for this directory: the rules do not speak of modes,
  // owners and times.
  int is_sealed;
  const char *changeable;
  // Limits: open files, bytes of private memory.
  uint64_t files;
  uint64_t memory;
};

// The version of Landlock that the kernel has, 0 for none.
int csystem_landlock_version(void);

// Whether a process can be kept from making sockets and processes here.
int csystem_has_call_filter(void);

// From now on this thread, and those that it starts, create, change and remove nothing outside of these directories, and the
// few devices that are written to everywhere. 0 where the kernel cannot do that without forbidding moves between directories;
// 1 if it is done, -1 on failure. What is open already stays as it is.
int csystem_confine_writing(const char *const *directories, size_t count);

// Whether a process can be given mounts of its own here. Tries it, with a process.
int csystem_has_own_mounts(void);

// Starts a process; its number, and in `process` a descriptor that becomes readable when it ends. -1 with errno on failure,
// and in `stage` a word for what failed.
//
// The process is killed when the calling *thread* ends. It is in a session of its own, has no other descriptors, its signals
// are as usual, standard input is empty, and it leaves no core. Confined, it cannot make sockets or processes, signal or
// limit others, outlive its parent, or let go of the lock, not even as root, and keeps of root's rights those over files alone.
pid_t csystem_start(const struct csystem_spawn *what, int *process, const char **stage);

// Waits for a process: its exit code, or 256 + signal; -1 on failure.
int csystem_wait(pid_t process);
int csystem_kill(int process);

// The path from which this process has loaded a library whose file has this name; 0 if it has none, or a longer one.
int csystem_loaded_library(const char *name, char *path, size_t size);

int csystem_pipe(int ends[2]);

// The access mode of an open file's descriptor: 0 to read, 1 to write, 2 both; -1 for one that only stands for a path.
int csystem_access_mode(int descriptor);

// Whether a descriptor leads into /proc.
int csystem_is_process_file(int descriptor);
