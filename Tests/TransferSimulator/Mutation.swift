/// Mistakes that the drivers of a simulation make on purpose, around the real logic: each must be found out.
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
  /// What the source no longer has is not dropped.
  case forgetDropped
  /// A new session sends everything that was held once more.
  case ignoreLedger
  /// An item that the destination cannot hold is forgotten before everything is compared.
  case forgetRefused
}
