#define _GNU_SOURCE

#include "CLandlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// As of version 6; older kernels take the first fields.
struct ruleset {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;
  uint64_t scoped;
};

enum {
  right_execute = 1 << 0,
  right_write_file = 1 << 1,
  right_read_file = 1 << 2,
  right_read_directory = 1 << 3,
  right_make_device_from = 6,
  right_refer = 1 << 13,
  right_truncate = 1 << 14,
  right_device_ioctl = 1 << 15,
  rights_of_version_1 = (1 << 13) - 1,
  // Character and block devices: data migrations never create them.
  rights_of_devices = 1 << 6 | 1 << 11,
  rights_of_files = right_execute | right_write_file | right_read_file | right_truncate,
  connections = 3,
  // Sockets without a path, and signals.
  scopes = 3,
};

int csystem_landlock_version(void) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? (int)version : 0;
}

// The bytes of a ruleset that a kernel knows.
static size_t size_for(int version) { return version >= 6 ? sizeof(struct ruleset) : version >= 4 ? 16 : 8; }

static uint64_t known_rights(int version) {
  uint64_t rights = rights_of_version_1;
  if (version >= 2) rights |= right_refer;
  if (version >= 3) rights |= right_truncate;
  if (version >= 5) rights |= right_device_ioctl;
  return rights;
}

static uint64_t rights_for(enum csystem_access access) {
  const uint64_t reading = right_read_file | right_read_directory;
  switch (access) {
  case csystem_access_read: return reading;
  case csystem_access_execute: return reading | right_execute;
  case csystem_access_write:
    return (rights_of_version_1 | right_refer | right_truncate) & ~(uint64_t)(right_execute | rights_of_devices);
  }
  return 0;
}

static int allow(int ruleset, const struct csystem_rule *rule, uint64_t known) {
  int place = open(rule->path, O_PATH | O_CLOEXEC);
  if (place == -1) return rule->is_optional && (errno == ENOENT || errno == ENOTDIR || errno == EACCES) ? 0 : -1;
  struct stat status;
  if (fstat(place, &status) == -1) return -1;
  uint64_t rights = rights_for(rule->access) & known;
  if (!S_ISDIR(status.st_mode)) rights &= rights_of_files;
  struct landlock_path_beneath_attr attribute = {.allowed_access = rights, .parent_fd = place};
  int result = (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attribute, 0);
  close(place);
  return result;
}

int csystem_confine_files(const struct csystem_rule *rules, size_t rule_count) {
  int version = csystem_landlock_version();
  if (version == 0) return 0;
  struct ruleset attribute = {.handled_access_fs = known_rights(version), connections, scopes};
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attribute, size_for(version), 0);
  if (ruleset == -1) return -1;
  for (size_t index = 0; index < rule_count; index++) {
    if (allow(ruleset, &rules[index], attribute.handled_access_fs) == -1) return -1;
  }
  return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}

static int confine_writing(int version, const char *const *directories, size_t count) {
  const uint64_t changing = rights_for(csystem_access_write) & ~rights_for(csystem_access_read);
  struct ruleset attribute = {
      .handled_access_fs = (changing | rights_of_devices) & known_rights(version), .scoped = scopes};
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attribute, size_for(version), 0);
  if (ruleset == -1) return -1;
  static const char *const devices[] = {"/dev/null", "/dev/tty"};
  enum { device_count = sizeof devices / sizeof devices[0] };
  int result = 0;
  for (size_t index = 0; index < count + device_count && result == 0; index++) {
    struct csystem_rule rule = {
        .path = index < count ? directories[index] : devices[index - count],
        .access = csystem_access_write,
        .is_optional = index >= count,
    };
    result = allow(ruleset, &rule, attribute.handled_access_fs);
  }
  if (result == 0) result = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (result == 0) result = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
  close(ruleset);
  return result;
}

int csystem_confine_writing(const char *const *directories, size_t count) {
  int version = csystem_landlock_version();
  // Before version 2, Landlock forbade every move between directories.
  if (version < 2) return 0;
  return confine_writing(version, directories, count) == 0 ? 1 : -1;
}
