import MigrationSystem

/// Decides, step by step, how a staged item gets a name that must be free.
///
/// Nothing that exists is replaced. If the kernel can rename without replacing, one step suffices.
/// Otherwise a file gets a second name and then loses the first. A directory, or a file that cannot
/// have a second name, is renamed over an empty entry that was created under that name (the claim).
/// The kernel refuses to rename over a directory that is not empty, and the import checks a file
/// beforehand.
struct Placing: Equatable {
  /// The next step.
  enum Step: Equatable {
    /// Rename, if the kernel can do so without replacing.
    case rename
    /// Record in the journal, durably, that an empty entry or a second name at the destination is
    /// this import's.
    case announce
    /// Give a file its final name in addition to the staged name.
    case link
    /// Remove the staged name of a file that has both names.
    case unstage
    /// Create an empty entry of that name.
    case claim
    /// Check that a claim is still the entry that was created, and empty.
    case examineClaim
    /// Rename over the claim.
    case renameOverClaim
    /// Remove the claim, because the file system does not rename over it.
    case releaseClaim
    /// Check whether the name is free.
    case examineName
    /// Rename to the name that has just been free.
    case renameIntoFree
    /// Record in the journal that the entry at the destination is not this import's, and end.
    case withdraw
    /// Remove the claim if possible, and end with the error.
    case giveUp(SystemError)
    case ended(Outcome)
  }

  /// The result.
  enum Outcome: Equatable {
    case placed
    /// The name belongs to an entry of another program.
    case taken
    case failed(SystemError)
  }

  /// The result of a step.
  enum Answer: Equatable {
    case done
    /// The check was negative.
    case no
    case failed(SystemError)
  }

  private(set) var step: Step
  private let isDirectory: Bool

  /// Starts; without `asksKernel`, as if the kernel could not rename without replacing.
  init(isDirectory: Bool, asksKernel: Bool) {
    self.isDirectory = isDirectory
    step = asksKernel ? .rename : .announce
  }

  /// Continues with the result of the step.
  mutating func take(_ answer: Answer) {
    step =
      switch answer {
      case .done: next
      // An entry that is no longer this import's belongs to another program.
      case .no: .withdraw
      case .failed(let error): afterFailure(error)
      }
  }

  private var next: Step {
    switch step {
    case .announce: isDirectory ? .claim : .link
    case .link: .unstage
    case .claim: isDirectory ? .renameOverClaim : .examineClaim
    case .examineClaim: .renameOverClaim
    case .releaseClaim: .examineName
    case .examineName: .renameIntoFree
    case .rename, .unstage, .renameOverClaim, .renameIntoFree: .ended(.placed)
    case .withdraw: .ended(.taken)
    case .giveUp(let error): .ended(.failed(error))
    case .ended: step
    }
  }

  private func afterFailure(_ error: SystemError) -> Step {
    switch step {
    case .rename where error.isRenameFlagRefused: .announce
    case .rename where error.isAlreadyExisting: .ended(.taken)
    case .link where error.isAlreadyExisting, .claim where error.isAlreadyExisting: .withdraw
    case .link where error.isLinkRefused: .claim
    // Some file systems do not rename over any entry; a claim that is no longer empty cannot be
    // removed either.
    case .renameOverClaim where error.isReplacingRefused: .releaseClaim
    case .releaseClaim where error.isNotFound: .examineName
    case .releaseClaim where error.isNotEmpty, .renameIntoFree where error.isTaken: .withdraw
    case .examineClaim, .renameOverClaim: .giveUp(error)
    case .giveUp(let first): .ended(.failed(first))
    case .ended: step
    case .rename, .announce, .link, .unstage, .claim, .releaseClaim, .examineName, .renameIntoFree, .withdraw:
      .ended(.failed(error))
    }
  }
}

extension SystemError {
  /// A rename was refused because of the entry that has the new name, or because the file system
  /// never renames over entries.
  fileprivate var isReplacingRefused: Bool { isTaken || isPermissionDenied || isRenameFlagRefused }
  /// A name that was free is taken now.
  fileprivate var isTaken: Bool { isNotEmpty || isNotDirectory || isDirectory }
}
