import MigrationSystem

/// Decides, step by step, how something that is staged gets a name that must be free.
///
/// Nothing that exists is replaced. Where the kernel's rename promises that, it is one step. Elsewhere a file gets a second name
/// and loses the first. A directory, or a file that can have no second name, is renamed over an empty entry of that name which
/// was made for it: the kernel refuses that for a directory into which anything was put, and a file is looked at before.
struct Placing: Equatable {
  /// The next thing to do.
  enum Step: Equatable {
    /// Rename as far as the kernel promises to replace nothing.
    case rename
    /// Tell the journal, for good, that something empty at the place, or a second name, is ours from now on.
    case announce
    /// Give a file its name beside the staged one.
    case link
    /// Remove the staged name of a file that has both.
    case unstage
    /// Make something empty of that name.
    case claim
    /// Look whether a claim is still the one that was made, and empty.
    case examineClaim
    /// Rename over the claim.
    case renameOverClaim
    /// Remove the claim, where the file system does not rename over it.
    case releaseClaim
    /// Look whether the name is free.
    case examineName
    /// Rename to the name that was free just now.
    case renameIntoFree
    /// Tell the journal that nothing at the place is ours, and end so.
    case withdraw
    /// Remove the claim if that is possible, and end with the error.
    case giveUp(SystemError)
    case ended(Outcome)
  }

  /// How it ends.
  enum Outcome: Equatable {
    case placed
    /// Another program's entry has the name.
    case taken
    case failed(SystemError)
  }

  /// What came of a step.
  enum Answer: Equatable {
    case done
    /// What was looked for is not so.
    case no
    case failed(SystemError)
  }

  private(set) var step: Step
  private let isDirectory: Bool

  /// Starts; without `asksKernel` as if the kernel had refused to promise anything.
  init(isDirectory: Bool, asksKernel: Bool) {
    self.isDirectory = isDirectory
    step = asksKernel ? .rename : .announce
  }

  /// Goes on with what came of the step.
  mutating func take(_ answer: Answer) {
    step =
      switch answer {
      case .done: next
      // An entry that is no longer ours is another's.
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
    // Some file systems rename over nothing at all; a claim that is not empty any more cannot be removed either.
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
  /// A rename was refused for what has the new name, or since the file system never renames over anything.
  fileprivate var isReplacingRefused: Bool { isTaken || isPermissionDenied || isRenameFlagRefused }
  /// A name that was free is not any more.
  fileprivate var isTaken: Bool { isNotEmpty || isNotDirectory || isDirectory }
}
