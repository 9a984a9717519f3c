import MigrationWire

extension ExportDescription {
  /// What is wrong with it, as a clause that can follow the extension's name; nil if nothing is.
  package var fault: String? {
    if estimate < 0 { return "estimates its export at \(estimate) bytes, which is less than nothing" }
    // What cannot be said over the channel.
    do throws(Violation) {
      _ = try ExtensionMessage(ExtensionMessage.described(self).encoded)
      return nil
    } catch {
      return "describes its export against the rules (\(error))"
    }
  }
}
