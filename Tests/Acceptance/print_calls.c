// Prints the filters of confined processes' system calls, as this architecture assembles them: for
// each a number, then one instruction a line. 0 to 3 are the ways of filtering an extension's, 4 and 5
// are a receiver's, without and with the sockets of services.

#include "CExtensionCalls.h"

#include <stdio.h>

int main(void) {
  for (int number = 0; number < 6; number++) {
    static struct csystem_calls filter;
    if (number < 4) csystem_write_calls(&filter, number);
    else csystem_write_receiver_calls(&filter, number - 4);
    printf("filter %d\n", number);
    for (size_t index = 0; index < filter.length; index++) {
      const struct sock_filter *one = &filter.code[index];
      printf("%u %u %u %u\n", one->code, one->jt, one->jf, one->k);
    }
  }
}
