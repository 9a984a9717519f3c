#include "CCredentials.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

int ccredentials_socket(void) {
  const char *text = getenv("PEER_CREDENTIALS");
  if (!text) return -1;
  char *end;
  long number = strtol(text, &end, 10);
  if (end == text || *end != ':' || number < 3 || number > 1 << 20) return -1;
  unsigned long long inode = strtoull(end + 1, &end, 10);
  struct stat status;
  if (*end || fstat((int)number, &status) == -1) return -1;
  return S_ISSOCK(status.st_mode) && status.st_ino == inode ? (int)number : -1;
}

// Runs before main, and before the start of any other library: no program that this program starts
// gets the socket.
__attribute__((constructor(101))) static void keep_from_children(void) {
  int number = ccredentials_socket();
  if (number != -1) fcntl(number, F_SETFD, FD_CLOEXEC);
}
