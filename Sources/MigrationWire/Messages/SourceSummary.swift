/// The summary of a transfer, before any of its data is sent.
package struct SourceSummary: Sendable {
  package let contents: Offer.Contents
  package let total: Tally
  /// The files' space on disk.
  package let allocated: UInt64
  package let flags: Offer.Flags

  package init(contents: Offer.Contents, total: Tally, allocated: UInt64, flags: Offer.Flags) {
    self.contents = contents
    self.total = total
    self.allocated = allocated
    self.flags = flags
  }
}
