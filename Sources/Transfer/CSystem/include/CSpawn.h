#pragma once

// Starts a process with few rights: the one function between fork and exec, where only system calls
// are safe.

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// A confined process's access to a file, or to the contents of a directory.
enum csystem_access {
  csystem_access_read = 1,
  // Also start programs from it and load libraries.
  csystem_access_execute = 2,
  // Also change it and its contents.
  csystem_access_write = 3,
};

struct csystem_rule {
  const char *path;
  enum csystem_access access;
  // Whether the path may be missing.
  int is_optional;
};

struct csystem_spawn {
  const char *executable;
  char *const *arguments;
  char *const *environment;
  // The current directory of the process.
  const char *directory;
  // Becomes descriptor 0; -1 for an empty standard input.
  int input;
  // Becomes descriptor 3.
  int channel;
  // Becomes descriptor 4, which keeps a lock; -1 for none: then descriptor 4 leads to no file.
  int lock;
  // Become descriptors 1 and 2.
  int output;
  int error;
  // Whether the process is confined to the rules; otherwise it has all the rights of this process.
  int is_confined;
  const struct csystem_rule *rules;
  size_t rule_count;
  // Whether it also gets private mounts that are read-only except for this directory: the rules do
  // not cover modes, owners and times.
  int is_sealed;
  const char *changeable;
  // Whether a listener of this process instead answers its calls that change modes, owners, times.
  int is_answered;
  // Limits: open files, bytes of private memory.
  uint64_t files;
  uint64_t memory;
};

// The version of Landlock in the kernel, 0 for none.
int csystem_landlock_version(void);

// Whether a process can be prevented from creating sockets and processes here.
int csystem_has_call_filter(void);

// From now on this thread, and the threads that it starts, can create, change and remove items only
// in these directories. They can still write to the few devices that every program writes to. If
// the kernel can restrict it, they signal only this program's processes, and reach no socket
// without a path of another program. Returns 0 if the kernel would also forbid moves between
// directories; 1 on success, -1 on failure. Open files are not affected.
int csystem_confine_writing(const char *const *directories, size_t count);

// From now on this thread, and the threads and processes that it starts, cannot reach other
// programs by the sockets of this machine's services (unless `reaches_services`), by their memory,
// by queues and keys of the kernel, or by the terminal's input. Tries this in another process
// first. Returns 0 if the trial fails; 1 on success, -1 on failure. Open sockets are not affected.
int csystem_leave_others(int reaches_services);

// Whether a process can get private mounts on this machine. Tries it in another process.
int csystem_has_own_mounts(void);

// Starts a process. Returns its number, in `process` a descriptor that becomes readable when the
// process ends, and in `listener` the descriptor with its calls for csystem_answer, or -1. On
// failure returns -1 with errno, and in `stage` the name of the step that failed. The calling
// thread answers the calls: from then on it has only the rights of csystem_keep_file_rights.
//
// The process is killed when the calling *thread* ends. It is in a session of its own, has no other
// descriptors and default signal handling, and leaves no core file. A
// confined process, even as root, cannot create sockets or processes, signal or limit other
// processes, run in real time, outlive its parent, or release the lock; of root's rights it keeps only
// those over files.
pid_t csystem_start(const struct csystem_spawn *what, int *process, int *listener, const char **stage);

// Waits for a process: its exit code, or 256 + signal; -1 on failure.
int csystem_wait(pid_t process);
int csystem_kill(int process);

// The path from which this process has loaded a library with this file name; 0 if there is none, or
// if the path is too long.
int csystem_loaded_library(const char *name, char *path, size_t size);

int csystem_pipe(int ends[2]);

// The access mode of an open file's descriptor: 0 to read, 1 to write, 2 both; -1 for a descriptor
// that only represents a path.
int csystem_access_mode(int descriptor);
