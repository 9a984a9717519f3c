// Runs a command and reports its cost, including that of all its children.
//
//   launch REPORT COMMAND [ARGUMENT...]
//
// REPORT becomes one line: begin and end (CLOCK_MONOTONIC, ns), user and system time (µs), peak
// memory of the largest process (KiB), and the exit code. Ended by SIGTERM, it ends the command,
// and reports all the same.
//
// It exists because a process that is started by an interpreter begins with the interpreter's peak
// memory: the system carries the peak of the program before exec over. This program is smaller than
// every one that it measures.

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t child, is_stopped;

static void pass_on(int number) {
    is_stopped = 1;
    if (child > 0) kill(child, number);
}

// Ends the command's remaining children, which are ours by now.
static void end_orphans(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    FILE *list = fopen(path, "r");
    int orphan;
    while (list != NULL && fscanf(list, "%d", &orphan) == 1) kill(orphan, SIGKILL);
    if (list != NULL) fclose(list);
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long microseconds(struct timeval time) { return time.tv_sec * 1000000LL + time.tv_usec; }

int main(int count, char **words) {
    if (count < 3) return 2;
    // The command's remaining children become ours, to be waited for and counted.
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct sigaction action = {.sa_handler = pass_on};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    long long begin = now(), end = begin;
    pid_t started = fork();
    if (started == 0) {
        signal(SIGTERM, SIG_DFL);
        signal(SIGINT, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execvp(words[2], words + 2);
        perror(words[2]);
        _exit(127);
    }
    child = started;
    // The signal may have come before the child was known.
    if (is_stopped && started > 0) kill(started, SIGTERM);
    int code = 1, status;
    for (pid_t ended; started > 0;) {
        if (is_stopped && child == 0) end_orphans();
        if ((ended = wait(&status)) < 0 && errno != EINTR) break;
        if (ended != started) continue;
        child = 0;
        end = now();
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    FILE *report = fopen(words[1], "w");
    if (report == NULL) return 1;
    fprintf(report, "%lld %lld %lld %lld %ld %d\n", begin, end, microseconds(usage.ru_utime), microseconds(usage.ru_stime),
        usage.ru_maxrss, code);
    return fclose(report) == 0 ? code : 1;
}
