import MigrationWire

extension ExportDescription {
  /// The fault of the description, as a clause that can follow the extension's name; nil if there
  /// is none.
  package var fault: String? {
    if estimate < 0 { return "estimates its export at \(estimate) bytes, which is negative" }
    // Data that the channel cannot carry.
    do throws(Violation) {
      _ = try ExtensionMessage(ExtensionMessage.described(self).encoded)
      return nil
    } catch {
      return "gives an invalid description of its export (\(error))"
    }
  }
}
