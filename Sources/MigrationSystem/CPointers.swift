/// A place in which a caller wants a result, as functions of C take it: a pointer, or none.
///
/// It is used only while the function runs that was given the pointer.
@safe package struct ResultPlace<Value> {
  private let place: UnsafeMutablePointer<Value>?

  /// Takes the pointer of a caller.
  @safe package init(_ place: UnsafeMutablePointer<Value>?) { unsafe self.place = unsafe place }

  /// Whether the caller wants a result.
  package var isWanted: Bool { unsafe place != nil }

  /// Stores the result, if the caller wants one.
  package func store(_ value: Value) { unsafe place?.pointee = value }
}

extension String {
  /// Copies a text that a function of C has returned; nil for none.
  @safe package init?(ofC text: UnsafePointer<CChar>?) {
    guard let text = unsafe text else { return nil }
    unsafe self.init(cString: text)
  }
}
