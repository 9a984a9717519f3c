#define _GNU_SOURCE
#include "world.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct world *world;
_Thread_local int self = -1;

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static uint64_t next(uint64_t *state) {
  uint64_t value = (*state += 0x9E3779B97F4A7C15);
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

uint64_t draw(void) { return next(&world->random); }

void world_fill(void *bytes, size_t count, uint64_t seed) {
  for (size_t i = 0; i < count; i += sizeof seed) {
    uint64_t word = next(&seed);
    memcpy((char *)bytes + i, &word, count - i < sizeof word ? count - i : sizeof word);
  }
}

// MARK: The trace

void note_bytes(const void *bytes, size_t count) {
  const unsigned char *all = bytes;
  uint64_t trace = world->counts.trace;
  for (size_t i = 0; i < count; i += sizeof trace) {
    uint64_t word = 0;
    memcpy(&word, all + i, count - i < sizeof word ? count - i : sizeof word);
    trace = (trace ^ word) * 0x9E3779B97F4A7C15;
    trace ^= trace >> 32;
  }
  world->counts.trace = trace;
}

void note(const char *format, ...) {
  if (self < 0 || world->has_order_only) return;
  int error = errno;
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  int count = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (count >= (int)sizeof line) count = sizeof line - 1;
  note_bytes(line, (size_t)count);
  if (world->traces) {
    char whole[320];
    count = snprintf(
      whole, sizeof whole, "%12.6f %d.%d %s\n", (double)world->now / 1e9, world->strands[self].process, self, line);
    (void)!syscall(SYS_write, 1, whole, count);
  }
  errno = error;
}


// MARK: The baton

enum { director = 0 };

static bool is_ready(struct strand *one) {
  if (one->state == ready) return true;
  if (one->state == over) return false;
  if (one->until <= world->now) return true;
  if (one->state == polling) {
    for (int i = 0; i < one->file_count; i++) {
      if (ready_from(one->files[i].file, one->files[i].wanted) <= world->now) return true;
    }
  }
  return false;
}

static uint64_t moment_of(struct strand *one) {
  uint64_t moment = one->until;
  for (int i = 0; one->state == polling && i < one->file_count; i++) {
    uint64_t from = ready_from(one->files[i].file, one->files[i].wanted);
    if (from < moment) moment = from;
  }
  return moment;
}

/// The strand that runs next; the director if there is news, if all are over, or stuck.
static int next_strand(void) {
  if (world->has_alarm || world->has_ended) return director;
  while (true) {
    int candidates[most_strands], count = 0;
    uint64_t moment = NEVER;
    bool is_all_over = true;
    for (int i = director + 1; i < world->count; i++) {
      struct strand *one = &world->strands[i];
      if (one->state == over) continue;
      is_all_over = false;
      if (is_ready(one)) candidates[count++] = i;
      uint64_t own = moment_of(one);
      if (own < moment) moment = own;
    }
    if (count > 1 && world->favoured > 0 && draw() % 8 != 0) {
      int own = 0;
      for (int i = 0; i < count; i++) {
        if (world->strands[candidates[i]].process == world->favoured) candidates[own++] = candidates[i];
      }
      if (own > 0) count = own;
    }
    if (count > 0) return candidates[draw() % (uint64_t)count];
    uint64_t end = world->strands[director].until;
    if (moment == NEVER && end == NEVER) {
      if (!is_all_over) world->counts.is_stuck = true;
      return director;
    }
    if (end <= moment) {
      if (end > world->now) world->now = end;
      return director;
    }
    world->now = moment;
  }
}

static void pass(int next) {
  world->running = next;
  world->counts.switches++;
  uint64_t order[2] = {world->counts.points, (uint64_t)next};
  note_bytes(order, sizeof order);
  __atomic_store_n(&world->strands[next].turn, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &world->strands[next].turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void await_turn(int mine) {
  unsigned *turn = &world->strands[mine].turn;
  while (__atomic_exchange_n(turn, 0, __ATOMIC_ACQUIRE) == 0) syscall(SYS_futex, turn, FUTEX_WAIT, 0, NULL, NULL, 0);
}

/// Hands the baton on, and waits until it comes back.
static void hand_on(void) {
  int mine = self, next = next_strand();
  if (next == mine) return;
  // A strand that is over does not come back: it may be another thread's as soon as the baton is gone.
  bool is_over = world->strands[mine].state == over;
  pass(next);
  if (!is_over) await_turn(mine);
}

void wait_as(enum state state, const void *wanted, uint64_t until) {
  struct strand *me = &world->strands[self];
  me->state = state;
  me->wanted = wanted;
  me->until = until;
  hand_on();
  me->state = ready;
  me->wanted = NULL;
  me->until = NEVER;
}

void wake(const void *wanted, int process, int most) {
  for (int i = 0; i < world->count && most > 0; i++) {
    struct strand *one = &world->strands[i];
    if (one->state != waiting || one->wanted != wanted || (process >= 0 && one->process != process)) continue;
    one->state = ready;
    most--;
  }
}

void wake_own(const void *wanted, int most) { wake(wanted, world->strands[self].process, most); }

void point(void) {
  if (self <= director) return;
  int error = errno;
  world->counts.points++;
  world->now += 1000;
  if (world->alarm > 0 && --world->alarm == 0) world->has_alarm = true;
  if (world->has_alarm || draw() % 3 == 0) hand_on();
  errno = error;
}

// MARK: Threads

struct start {
  void *(*body)(void *);
  void *context;
  int number;
};

static int add_strand(int process) {
  int number = director + 1;
  while (number < world->count && world->strands[number].state != over) number++;
  if (number >= most_strands) abort();
  if (number == world->count) world->count++;
  struct strand *one = &world->strands[number];
  *one = (struct strand){.state = ready, .until = NEVER, .process = process};
  return number;
}

static void *begin_strand(void *raw) {
  struct start start = *(struct start *)raw;
  free(raw);
  self = start.number;
  await_turn(self);
  void *result = start.body(start.context);
  struct strand *me = &world->strands[self];
  me->state = over;
  wake_own(me, most_strands);
  hand_on();
  self = -1;
  return result;
}

static int start_strand(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *context) {
  struct start *start = malloc(sizeof *start);
  int number = add_strand(world->strands[self].process);
  *start = (struct start){.body = body, .context = context, .number = number};
  int code = __real_pthread_create(thread, attributes, begin_strand, start);
  if (code != 0) abort();
  world->strands[number].thread = *thread;
  return code;
}

REAL(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *context) {
  if (self < 0) return __real_pthread_create(thread, attributes, body, context);
  int code = start_strand(thread, attributes, body, context);
  point();
  return code;
}

REAL(int, pthread_join, pthread_t thread, void **result) {
  if (self < 0) return __real_pthread_join(thread, result);
  for (int i = 0; i < world->count; i++) {
    struct strand *one = &world->strands[i];
    if (one->process != world->strands[self].process || !pthread_equal(one->thread, thread)) continue;
    if (one->state != over) wait_as(waiting, one, NEVER);
  }
  return __real_pthread_join(thread, result);
}

void world_begin(uint64_t seed, bool traces) {
  // One that this process has inherited is another seed's.
  if (world) munmap(world, sizeof *world);
  world = mmap(NULL, sizeof *world, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (world == MAP_FAILED) abort();
  begin_log();
  begin_spoken();
  world->count = director + 1;
  world->process_count = 1;
  world->processes[0].is_alive = true;
  world->strands[director] = (struct strand){.state = ready, .until = NEVER};
  world->random = seed;
  world->traces = traces;
  world->next_port = next_port;
  world_slow(2000000, 0);
  world->counts = (struct world_counts){.trace = 0xCBF29CE484222325};
}

struct world_counts world_count(void) {
  world->counts.time = world->now;
  world->counts.losses = world->losses;
  return world->counts;
}

uint64_t world_draw(uint64_t bound) { return draw() % bound; }

void world_say(const char *line) {
  int mine = self;
  self = mine < 0 ? director : mine;
  note("%s", line);
  self = mine;
}

struct body {
  void (*run)(void *, int);
  void *context;
  int number;
};

static void *run_body(void *raw) {
  struct body *body = raw;
  body->run(body->context, body->number);
  return NULL;
}

struct world_counts world_run(uint64_t seed, int count, void (*run)(void *, int), void *context) {
  struct body bodies[most_strands];
  pthread_t threads[most_strands];
  world_begin(seed, false);
  world->has_order_only = true;
  self = director;
  for (int i = 0; i < count; i++) {
    bodies[i] = (struct body){.run = run, .context = context, .number = i};
    start_strand(&threads[i], NULL, run_body, &bodies[i]);
  }
  world_turn(NEVER, 0);
  struct world_counts counts = world_count();
  self = -1;
  if (!counts.is_stuck) for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
  return counts;
}

// MARK: Processes

/// Notes which descriptors this process has open, or what those lead to that it had not open then; returns
/// how many.
static int look_at_files(bool *open, bool is_end) {
  int count = 0;
  for (int i = 0; i < most_files; i++) {
    bool is_open = fcntl(i, F_GETFD) != -1;
    if (!is_end) open[i] = is_open;
    if (!is_end || !is_open || open[i]) continue;
    char path[32], target[128] = {0};
    snprintf(path, sizeof path, "/proc/self/fd/%d", i);
    (void)!readlink(path, target, sizeof target - 1);
    note("%d leads to %s", i, target);
    count++;
  }
  return count;
}

/// How many other threads this process still has.
static int threads_left(void) {
  int count = 0;
  for (int i = 0; i < world->count; i++) {
    struct strand *one = &world->strands[i];
    count += i != self && one->process == world->strands[self].process && one->state != over;
  }
  return count;
}

int world_start(int (*body)(void *), void *context) {
  self = director;
  int process = world->process_count++;
  if (process >= most_processes) abort();
  int strand = add_strand(process);
  world->processes[process] = (struct process){.result = -1, .is_alive = true};
  pid_t child = fork();
  if (child < 0) abort();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    self = strand;
    world->strands[strand].thread = pthread_self();
    await_turn(self);
    bool open[most_files];
    look_at_files(open, false);
    int result = body(context), left = threads_left();
    // Threads that nothing waits for end soon.
    for (int i = 0; i < 100 && left > 0; i++, left = threads_left()) wait_as(waiting, NULL, world->now + 100000000);
    int files = look_at_files(open, true);
    note("ends with %d, and has left %d threads, %d descriptors", result, left, files);
    left += files;
    own()->result = result;
    own()->left = left;
    world->has_ended = true;
    world->strands[self].until = NEVER;
    pass(director);
    // The director ends it.
    while (true) pause();
  }
  world->processes[process].id = child;
  note("starts process %d", process);
  self = -1;
  return process;
}

static void bury(int number, bool is_silent) {
  struct process *process = &world->processes[number];
  if (!process->is_alive) return;
  kill(process->id, SIGKILL);
  waitpid(process->id, NULL, 0);
  process->is_alive = false;
  if (world->favoured == number) world->favoured = 0;
  for (int i = director + 1; i < world->count; i++) {
    if (world->strands[i].process == number) world->strands[i].state = over;
  }
  if (is_silent) silence(number);
  for (int i = 0; i < most_files; i++) close_object(&process->files[i]);
  release_locks();
}

void world_kill(int process, bool with_machine) {
  self = director;
  note("kills process %d%s", process, with_machine ? " with its machine" : "");
  bury(process, with_machine);
  self = -1;
}

int world_result(int process) { return world->processes[process].result; }

uint64_t world_told(int process) { return world->processes[process].figure; }

void world_tell(uint64_t figure) { own()->figure = figure; }

void world_slow(uint64_t network, uint64_t sync) {
  world->network = network;
  world->sync = sync;
}

void world_ask(int process) {
  world->processes[process].is_asked = true;
  world->processes[process].signals++;
  wake(&world->processes[process], process, most_strands);
  world_say("asks it to stop");
}

bool world_await_asking(void) {
  while (!own()->is_asked && !own()->has_answered) wait_as(waiting, own(), NEVER);
  return !own()->has_answered;
}

bool world_await_answer(uint64_t nanoseconds) {
  uint64_t end = world->now + nanoseconds;
  while (!own()->has_answered && world->now < end) wait_as(waiting, own(), end);
  return own()->has_answered;
}

void world_answer(void) {
  own()->has_answered = true;
  wake_own(own(), most_strands);
}

void world_notice(uint64_t figure) { world->notice = figure; }

uint64_t world_noticed(void) { return world->notice; }

void world_happens(enum world_event event) { world->happened[event]++; }

uint64_t world_happened(enum world_event event) { return world->happened[event]; }

void world_favour(int process) { world->favoured = process; }

void world_alarm_at_folder(uint64_t count) { world->folders_to_alarm = count; }

void world_alarm_at_message(uint64_t count) { world->messages_to_alarm = count; }

int world_left(int process) { return world->processes[process].left; }

enum world_news world_turn(uint64_t until, uint64_t points) {
  world->has_alarm = world->has_ended = world->counts.is_stuck = false;
  world->alarm = points;
  self = director;
  wait_as(waiting, NULL, until);
  self = -1;
  world->alarm = 0;
  if (world->has_ended) {
    for (int i = 1; i < world->process_count; i++) {
      if (world->processes[i].is_alive && world->processes[i].result >= 0) bury(i, false);
    }
    return world_ended;
  }
  if (world->has_alarm) return world_alarm;
  return world->counts.is_stuck ? world_stuck : world_moment;
}
