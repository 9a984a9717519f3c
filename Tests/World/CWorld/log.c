#define _GNU_SOURCE
#include "world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char *all;

void begin_log(void) {
  if (all) munmap(all, log_size);
  all = mmap(NULL, log_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) abort();
}

const unsigned char *world_log(uint64_t *length) {
  *length = world->logged;
  return all;
}

static void append(struct world_logged entry, const void *bytes, const void *more, size_t more_size) {
  if (world->has_order_only) return;
  entry.process = (uint32_t)world->strands[self].process;
  // The next entry is aligned.
  uint64_t whole = (sizeof entry + entry.size + 7) / 8 * 8, first = entry.size - more_size;
  if (world->logged + whole > log_size) abort();
  unsigned char *place = all + world->logged;
  memcpy(place, &entry, sizeof entry);
  if (first > 0) memcpy(place + sizeof entry, bytes, first);
  if (more_size > 0) memcpy(place + sizeof entry + first, more, more_size);
  world->logged += whole;
}

void log_file(enum world_change kind, int file, int64_t a, int64_t b, const void *bytes, size_t count) {
  struct stat status;
  if (self < 0 || __real_fstat(file, &status) != 0) return;
  append((struct world_logged){.kind = kind, .file = status.st_ino, .a = a, .b = b, .size = count}, bytes, NULL, 0);
}

void log_loss(ino_t file) {
  int mine = self;
  if (mine < 0) self = 0;
  append((struct world_logged){.kind = world_lost, .file = file}, NULL, NULL, 0);
  self = mine;
}

void log_item(enum world_change kind, int folder, const char *path, int64_t a, int64_t b) {
  struct stat status;
  if (self < 0 || __real_fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  append((struct world_logged){.kind = kind, .file = status.st_ino, .a = a, .b = b}, NULL, NULL, 0);
}

void log_entry(int folder, const char *path, bool is_joined) {
  if (self < 0) return;
  struct stat item = {0}, parent;
  const char *name = strrchr(path, '/');
  char above[4096];
  snprintf(above, sizeof above, "%.*s", name ? (int)(name - path) : 0, path);
  name = name ? name + 1 : path;
  if (*above ? __real_fstatat(folder, above, &parent, 0) != 0 : __real_fstat(folder, &parent) != 0) return;
  if (__real_fstatat(folder, path, &item, AT_SYMLINK_NOFOLLOW) != 0) memset(&item, 0, sizeof item);
  char target[4097] = {0};
  ssize_t length = S_ISLNK(item.st_mode) ? readlinkat(folder, path, target + 1, sizeof target - 1) : -1;
  size_t more = length < 0 ? 0 : (size_t)length + 1;
  append(
    (struct world_logged){
      .kind = world_entry, .file = item.st_ino, .folder = parent.st_ino, .a = item.st_mode,
      .b = is_joined, .size = strlen(name) + more},
    name, target, more);
}
