package import MigrationWire

/// A device's record of one part of a transfer, which a later run begins with.
package struct PartRecord: Equatable, Sendable {
  /// At a receiver: the key of the part's staging, and the totals of the first offer.
  package struct Begun: Equatable, Sendable {
    package let keys: TransferKeys
    package let totals: PartTotals
    /// The absolute path of the directory where it is staged; nil for the transfer's destination.
    package var elsewhere: [UInt8]?
    /// The folder of the destination where it arrives; nil for the destination itself.
    package var folder: ArchivePath?
    /// The classes of its items that are taken.
    package var taken = ArrivalClasses.all

    package init(keys: TransferKeys, totals: PartTotals, elsewhere: [UInt8]? = nil, folder: ArchivePath? = nil) {
      self.keys = keys
      self.totals = totals
      self.elsewhere = elsewhere
      self.folder = folder
    }
  }

  /// Its end: at a receiver for a sender that missed the answer, at a sender the receiver's DONE.
  package struct Finished: Equatable, Sendable {
    package let done: Done
    /// In seconds since 1970.
    package let at: Int64

    package init(done: Done, at: Int64) { (self.done, self.at) = (done, at) }
  }

  package var begun: Begun?
  /// Whether the part has arrived completely, so that its import may have begun.
  package var isConcluded = false
  /// The number of items that could not be sent, at the last count.
  package var unsent: UInt64
  /// The number of roots left out, at the last count.
  package var refusedRoots: UInt64
  /// The named items that are not stored, once everything is imported.
  package var notStored: [NotStored]
  package var finished: Finished?

  package init(
    unsent: UInt64 = 0, refusedRoots: UInt64 = 0, notStored: [NotStored] = [], finished: Finished? = nil
  ) {
    self.unsent = unsent
    self.refusedRoots = refusedRoots
    self.notStored = notStored
    self.finished = finished
  }
}
