extension TaskExecutor {
  /// The work of a job of this executor, for a thread of the executor's choice. It is done exactly
  /// once.
  package func work(of job: consuming ExecutorJob) -> @Sendable () -> Void {
    let job = UnownedJob(job)
    return { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
