/// Mistakes that a simulation makes on purpose, around the real logic or at an engine's edge: each must be found out.
public enum Mutation: String, CaseIterable, Sendable {
  /// A frame is acknowledged before it is in the files and the journal.
  case acknowledgeBeforeWriting
  /// A sync makes the journal durable, and not what it vouches for.
  case journalBeforeSyncing
  /// A changed source looks as it did before.
  case ignoreFingerprint
  /// After a power loss everything in the journal is believed.
  case trustWholeJournal
  /// A second change behind the same time stamp is not waited for.
  case ignoreGranularity
  /// A file that changed is sent in its next state while parts of the last one are under way.
  case forgetWhatIsUnderWay
  /// What the source no longer has is not dropped.
  case forgetDropped
  /// A new session sends everything that was held once more.
  case ignoreLedger
  /// An item that the destination cannot hold is forgotten before everything is compared.
  case forgetRefused
  /// A stream that replaces another one does not say so.
  case forgetWhomAnHeirReplaces
  /// An older session goes on when a newer one begins.
  case leaveOlderSessionUnfenced
  /// The user's stop is lost where it comes between two sessions.
  case loseStopBetweenSessions
  /// An import ends behind the session that began it, and how it ended is lost.
  case loseOutcomeOfImport
  /// A sync that failed counts as one that did not.
  case forgetFailedSync
  /// The receiver counts its sender as away though it is there.
  case countPresentSenderAsAway
  /// What an older session says at its end counts as said by the newer one.
  case concludeAnotherSession
}
