// Prints the filter of a confined process's system calls, as this architecture assembles it: for
// each way of filtering its number, then one instruction a line.

#include "CCalls.h"

#include <stdio.h>

int main(void) {
  for (int ways = 0; ways < 4; ways++) {
    static struct csystem_calls filter;
    if (csystem_write_calls(&filter, ways) == -1) return 1;
    printf("ways %d\n", ways);
    for (size_t index = 0; index < filter.length; index++) {
      const struct sock_filter *one = &filter.code[index];
      printf("%u %u %u %u\n", one->code, one->jt, one->jf, one->k);
    }
  }
}
