/// Deliberate mistakes of a simulation, around the real logic or at an engine's edge: the checks
/// must detect each of them.
public enum Mutation: String, CaseIterable, Sendable {
  /// A frame is acknowledged before it is in the files and the journal.
  case acknowledgeBeforeWriting
  /// A sync makes the journal durable, but not the data that the journal lists.
  case journalBeforeSyncing
  /// A changed source looks unchanged.
  case ignoreFingerprint
  /// After a power failure, the whole journal is trusted.
  case trustWholeJournal
  /// The sender does not wait for a second change with the same time stamp.
  case ignoreGranularity
  /// A changed file is sent in its new state while parts of the old one are unacknowledged.
  case forgetWhatIsUnderWay
  /// Items that the source no longer has are not dropped.
  case forgetDropped
  /// A new session sends all held data again.
  case ignoreLedger
  /// An item that the destination cannot hold is forgotten before the comparison with FINISH.
  case forgetRefused
  /// A stream that replaces another one does not say so in its JOIN.
  case forgetWhomAnHeirReplaces
  /// An older session continues when a newer one begins.
  case leaveOlderSessionUnfenced
  /// The user's stop is lost if it comes between two sessions.
  case loseStopBetweenSessions
  /// The result of an import that ends after its session is lost.
  case loseOutcomeOfImport
  /// A failed sync counts as successful.
  case forgetFailedSync
  /// The receiver counts its sender as away although it is present.
  case countPresentSenderAsAway
  /// An older session's FINISH counts as that of the newer session.
  case concludeAnotherSession
  /// Data of a part that has failed is written.
  case writeFailedPart
  /// The sender offers the next part before everything of a failed one is written.
  case offerTooEarly
  /// The end of a part is not recorded before the session goes on.
  case forgetFinishedPart
  /// Another run of the receiver does not know the parts that are finished, and judges them again.
  case judgeFinishedPart
}
