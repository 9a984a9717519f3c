/// What a transfer is about, before any of it is sent.
package struct SourceSummary: Sendable {
  package let contents: Offer.Contents
  package let total: Tally
  /// What the files take on disk.
  package let allocated: UInt64
  package let flags: Offer.Flags

  package init(contents: Offer.Contents, total: Tally, allocated: UInt64, flags: Offer.Flags) {
    self.contents = contents
    self.total = total
    self.allocated = allocated
    self.flags = flags
  }
}
