/// One thread at a time, in an order that a seed decides.
///
/// The linker's --wrap leads the calls of the product's objects here, and not those of the C library
/// or of the runtime. A thread that `world_run` has started, or that such a thread started, is a strand:
/// it has the baton while it runs, and hands it on at locks, waits, and calls that change or sync
/// files. Time passes only while every strand waits.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// What every strand of a run has done, for its report.
struct world_counts {
  uint64_t switches;
  /// A number that is the same if, and only if, the order was.
  uint64_t trace;
  /// How many nanoseconds have passed.
  uint64_t time;
  /// Whether every strand waited for another one, without a moment.
  bool is_stuck;
};

/// Runs bodies as strands until all have ended; a stuck run ends too, with its strands left waiting.
struct world_counts world_run(uint64_t seed, int count, void (*body)(void *context, int number), void *context);

/// From here on what was written before is lost, and each open file is told so once, as the kernel does:
/// by the next call that syncs it, or its file system.
void world_lose_writes(void);
